//! The journal of a gateway's own authority: what it holds, and whether it can have come about.
//!
//! The authority that writes it checks little of it when it reads it again (facts, 2.7). Here it is
//! history from now on, so all of it must fit together: whatever its rules cannot have written is
//! refused, with the place.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::wire::{Receipt, SCHEMA_VERSION};

/// The largest revision that is taken over: far below where numbers end, so that every service has
/// more room to go on than it can use.
pub const IMPORTED_REVISION_MAX: u64 = 1 << 52;

/// The longest journal that is read, in bytes: 64 MiB, some hundred times what 10,000 receipts of
/// the usual length need.
pub const JOURNAL_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A journal, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Journal {
    schema_version: u32,
    targets: BTreeMap<String, u32>,
    revisions: BTreeMap<String, u64>,
    receipts: Vec<Receipt>,
}

/// What a journal holds of one service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journaled {
    /// Its revision before the first of its receipts.
    pub revision: u64,
    /// Its desired count before the first of its receipts.
    pub replicas: u32,
    /// Its receipts, the oldest first: each has made the revision after the one before.
    pub receipts: Vec<Receipt>,
}

/// Why a journal is not taken over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct CorruptJournal {
    /// Where.
    pub place: String,
    /// What is wrong there.
    pub problem: String,
}

fn corrupt<T>(place: impl Into<String>, problem: impl Into<String>) -> Result<T, CorruptJournal> {
    Err(CorruptJournal { place: place.into(), problem: problem.into() })
}

impl Journal {
    /// What it holds of each service, by the contract's names.
    pub fn checked(self) -> Result<BTreeMap<String, Journaled>, CorruptJournal> {
        if self.schema_version != SCHEMA_VERSION {
            let problem = format!("{} is not known: {SCHEMA_VERSION} is", self.schema_version);
            return corrupt("schema_version", problem);
        }
        for service in self.targets.keys().chain(self.revisions.keys()) {
            if service.trim().is_empty() {
                return corrupt("targets and revisions", "a service without a name");
            }
        }
        if let Some(service) = self.targets.keys().find(|it| !self.revisions.contains_key(*it)) {
            return corrupt(format!("targets[{service:?}]"), "it has no revision");
        }
        let mut kept: BTreeMap<&str, Vec<&Receipt>> = BTreeMap::new();
        let mut ids = BTreeSet::new();
        for (at, receipt) in self.receipts.iter().enumerate() {
            let place = format!("receipts[{at}]");
            let request = &receipt.request;
            if !ids.insert(request.operation_id.as_str()) {
                return corrupt(place, format!("a second {:?}", request.operation_id));
            }
            if !self.targets.contains_key(&request.service) {
                return corrupt(place, format!("service {:?} has no target", request.service));
            }
            check_receipt(&place, receipt)?;
            kept.entry(&request.service).or_default().push(receipt);
        }
        let mut services = BTreeMap::new();
        for (service, revision) in &self.revisions {
            let target = self.targets.get(service).copied();
            let receipts = kept.remove(service.as_str()).unwrap_or_default();
            services.insert(service.clone(), journaled(service, *revision, target, &receipts)?);
        }
        Ok(services)
    }
}

/// What is so of every receipt that the contract's rules have made.
fn check_receipt(place: &str, receipt: &Receipt) -> Result<(), CorruptJournal> {
    use super::judge::{Holds, Used, judge};
    let request = &receipt.request;
    let Some(revision) = receipt.revision().filter(|revision| *revision > 0) else {
        return corrupt(place, "its answer names no revision");
    };
    if !receipt.response.accepted {
        return corrupt(place, "its answer is a refusal");
    }
    let holds = Holds { replicas: request.current_replicas.into(), revision: revision - 1 };
    match judge(request, Used::No, holds, None) {
        Ok(_) => Ok(()),
        Err(conflict) => {
            let problem = format!("it could not have been accepted: {}", conflict.message);
            corrupt(place, problem)
        }
    }
}

/// The receipts of a service follow each other, up to where it is.
fn journaled(
    service: &str,
    revision: u64,
    target: Option<u32>,
    receipts: &[&Receipt],
) -> Result<Journaled, CorruptJournal> {
    let place = format!("revisions[{service:?}]");
    if revision > IMPORTED_REVISION_MAX {
        return corrupt(place, format!("{revision} is past {IMPORTED_REVISION_MAX}"));
    }
    let held = target.unwrap_or(0);
    if revision == 0 && held > 0 {
        return corrupt(place, format!("{held} are desired, and nothing was ever accepted"));
    }
    let first = receipts.first().and_then(|receipt| receipt.revision());
    let base = first.map_or(revision, |first| first - 1);
    let replicas = receipts.first().map_or(held, |receipt| receipt.request.current_replicas);
    let (mut at, mut desired) = (base, replicas);
    for receipt in receipts {
        let (made, request) = (receipt.revision().unwrap_or_default(), &receipt.request);
        if made != at + 1 || request.current_replicas != desired {
            let problem = format!(
                "operation {:?} goes from {} to revision {made}, after {desired} at {at}",
                request.operation_id, request.current_replicas
            );
            return corrupt(place, problem);
        }
        (at, desired) = (made, request.desired_replicas);
    }
    if (at, desired) != (revision, held) {
        let problem =
            format!("its receipts end with {desired} at {at}, and it holds {held} at {revision}");
        return corrupt(place, problem);
    }
    let receipts = receipts.iter().map(|receipt| (*receipt).clone()).collect();
    Ok(Journaled { revision: base, replicas, receipts })
}
