//! `gateway import`: the journal of a gateway's own authority goes on here, whole or not at all.

use std::collections::BTreeMap;

use super::administer::may_administer_in;
use super::error::OpError;
use super::gateway::asked::registers;
use super::session::Session;
use super::transition::{Decided, Deciding, decide_in};
use crate::domain::canonical::read_document_of_others;
use crate::domain::digest::Digest;
use crate::domain::gateway::{Journal, Journaled, Receipt, service_name};
use crate::domain::id::ServiceName;
use crate::domain::scale::command::{Command, GatewayCommand, ImportService};
use crate::domain::scale::decide::Reply;
use crate::domain::scale::policy::PolicyAction;
use crate::domain::scale::state::ServiceState;
use crate::ledger::Reach;

/// What an import came to.
pub struct GatewayImported {
    /// What was taken over, by the contract's name.
    pub services: Vec<ImportedService>,
    /// Whether anything was recorded.
    pub changed: bool,
}

/// What was taken over of one service.
pub struct ImportedService {
    /// What the contract calls it.
    pub raw: String,
    /// What it is called here.
    pub service: ServiceName,
    /// Its desired count.
    pub replicas: u32,
    /// Its gateway revision.
    pub revision: u64,
    /// How many of its operations are answered as before.
    pub receipts: usize,
}

impl ImportedService {
    fn of(raw: &str, service: ServiceName, journaled: &Journaled) -> Self {
        let last = journaled.receipts.last();
        Self {
            raw: raw.to_owned(),
            service,
            replicas: last.map_or(journaled.replicas, |it| it.request.desired_replicas),
            revision: last.and_then(Receipt::revision).unwrap_or(journaled.revision),
            receipts: journaled.receipts.len(),
        }
    }
}

/// Takes over a whole journal in one transaction. The same journal again changes nothing.
pub fn gateway_import(session: &mut Session, bytes: &[u8]) -> Result<GatewayImported, OpError> {
    session.act_as_gateway();
    let journal: Journal = read_document_of_others(bytes)
        .map_err(|source| OpError::Document { what: "the journal".to_owned(), source })?;
    let services =
        journal.checked().map_err(|error| OpError::usage("journal_corrupt", error.to_string()))?;
    let digest = Digest::of(bytes);
    let named: BTreeMap<ServiceName, (String, Journaled)> = services
        .into_iter()
        .map(|(raw, journaled)| (service_name(&raw), (raw, journaled)))
        .collect();
    let told = named
        .iter()
        .map(|(service, (raw, journaled))| ImportedService::of(raw, service.clone(), journaled));
    let told: Vec<ImportedService> = told.collect();
    session.load_policy()?;
    let reach = named.keys().fold(Reach::registry(), Reach::and_service);
    let done = session.decided(reach, &[], |txn, by, policy, now| {
        let mut with = Deciding { by, policy, now };
        let subject = "the gateway's journal";
        let decision = may_administer_in(txn, &mut with, PolicyAction::Administer, subject, None)?;
        let mut whole = nothing();
        for (service, (raw, journaled)) in named {
            if !txn.is_registered(&service)? {
                let done = decide_in(txn, &mut with, &service, &[], |_, _| {
                    Ok(registers(&service, &raw, now))
                })?;
                whole.events.extend(done.events);
            }
            let ask =
                ImportService { service, journaled, journal: digest, decision: decision.clone() };
            let service = ask.service.clone();
            let command = Command::Gateway(Box::new(GatewayCommand::Import(ask)));
            let done = decide_in(txn, &mut with, &service, &[], |_, _| Ok(command))?;
            whole.events.extend(done.events);
        }
        Ok(whole)
    })?;
    if done.committed.is_some() {
        session.ledger.has_written_much();
    }
    Ok(GatewayImported { services: told, changed: done.committed.is_some() })
}

fn nothing() -> Decided {
    Decided {
        reply: Reply::Done,
        events: Vec::new(),
        state: ServiceState::default(),
        evaluation: None,
        told: Vec::new(),
    }
}
