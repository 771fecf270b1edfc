//! The authority of the gateway's contract as its rule book tells it (facts, 2.1 to 2.6): a count
//! and a revision for each service and a list of receipts, asked in the order of the checks. It
//! knows nothing of events, intents, fences, clocks or processes.

use std::collections::BTreeMap;

use scalectl::domain::gateway::{Direction, ScaleOperation};

/// What the authority says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Accepted { actual: u32, revision: u64 },
    Replayed { actual: u32, revision: u64 },
    Refused(&'static str),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Authority {
    /// How much all services may have together.
    pub(crate) max: Option<u32>,
    held: BTreeMap<String, (u32, u64)>,
    /// Each with how many there are and the revision that it made, in the order of acceptance.
    pub(crate) receipts: Vec<(ScaleOperation, u32, u64)>,
}

impl Authority {
    /// One whose services may have so much together.
    pub(crate) fn of(max: u32) -> Self {
        Self { max: Some(max), ..Self::default() }
    }

    /// The desired count and the revision of a service.
    pub(crate) fn held(&self, service: &str) -> (u32, u64) {
        self.held.get(service).copied().unwrap_or_default()
    }

    pub(crate) fn knows(&self, service: &str) -> bool {
        self.held.contains_key(service)
    }

    pub(crate) fn apply(&mut self, asked: &ScaleOperation) -> Said {
        let known = self.receipts.iter().find(|(it, ..)| it.operation_id == asked.operation_id);
        if let Some((known, actual, revision)) = known {
            let (actual, revision) = (*actual, *revision);
            return if known == asked {
                Said::Replayed { actual, revision }
            } else {
                Said::Refused("operation_conflict")
            };
        }
        if asked.schema_version != 1 {
            return Said::Refused("unsupported_schema");
        }
        if asked.operation_id.trim().is_empty() || asked.service.trim().is_empty() {
            return Said::Refused("invalid_request");
        }
        let (replicas, revision) = self.held(&asked.service);
        let is_of_now = asked.expected_revision == Some(revision.to_string());
        if !is_of_now || asked.current_replicas != replicas {
            return Said::Refused("stale_revision");
        }
        let goes = asked.desired_replicas.cmp(&asked.current_replicas);
        if goes.is_gt() != (asked.direction == Direction::Up) || goes.is_eq() {
            return Said::Refused("invalid_direction");
        }
        let others = self.held.iter().filter(|(service, _)| **service != asked.service);
        let others: u64 = others.map(|(_, (replicas, _))| u64::from(*replicas)).sum();
        let is_full =
            |max: u32| u64::from(asked.desired_replicas) > u64::from(max).saturating_sub(others);
        if self.max.is_some_and(is_full) {
            return Said::Refused("capacity_exceeded");
        }
        let (actual, revision) = (asked.desired_replicas, revision + 1);
        self.held.insert(asked.service.clone(), (actual, revision));
        self.receipts.push((asked.clone(), actual, revision));
        Said::Accepted { actual, revision }
    }

    /// Somebody has seen how many there are after an operation.
    pub(crate) fn finalize(&mut self, asked: &ScaleOperation, ready: u32, made: u64) -> Said {
        let known = self.receipts.iter_mut().find(|(it, ..)| it == asked);
        match known {
            Some((_, actual, revision)) if *revision == made => {
                *actual = ready;
                Said::Accepted { actual: ready, revision: made }
            }
            Some(_) | None => Said::Refused("authority_state_error"),
        }
    }

    /// A person has wished a count by another command: that is a revision, too.
    pub(crate) fn wished(&mut self, service: &str, replicas: u32) {
        let held = self.held.entry(service.to_owned()).or_default();
        *held = (replicas, held.1 + 1);
    }
}
