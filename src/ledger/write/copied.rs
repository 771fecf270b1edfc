//! What is written of a copy: the events of another ledger as they are, and their projections.

use std::collections::BTreeSet;

use super::{Entry, WriteTxn};
use crate::domain::digest::Digest;
use crate::domain::id::{CommandId, ExecutionKey, OperationId, ServiceName};
use crate::domain::placement::event::PlacementEvent;
use crate::domain::registry::{PolicyBody, PolicyEvent, RefusalEvent, RegistryBody, RegistryEvent};
use crate::domain::scale::event::Event;
use crate::ledger::columns::{document, json, nonsense};
use crate::ledger::error::LedgerError;
use crate::ledger::stream::Stream;

/// One event of another ledger.
pub(in crate::ledger) struct Copied {
    pub(in crate::ledger) stream: Stream,
    pub(in crate::ledger) sequence: i64,
    pub(in crate::ledger) command_id: CommandId,
    pub(in crate::ledger) body: String,
    pub(in crate::ledger) hash: Digest,
}

impl WriteTxn<'_> {
    /// Appends events of one chain that one run of a command has written, and holds their hash
    /// against that of the other ledger. The identity is left to the end of the copy.
    pub(in crate::ledger) fn append_copied(&mut self, run: &[Copied]) -> Result<(), LedgerError> {
        let appended = self.append_copied_unguarded(run);
        self.guard(appended)
    }

    fn append_copied_unguarded(&mut self, run: &[Copied]) -> Result<(), LedgerError> {
        let Some(last) = run.last() else {
            return Ok(());
        };
        self.command_id = last.command_id.clone();
        match &last.stream {
            Stream::Service(service) => self.append_copied_service(service, run)?,
            Stream::Placement => self.append_copied_placement(run)?,
            Stream::Registry | Stream::Policy | Stream::Refusals => {
                for copied in run {
                    self.append_copied_beside(copied)?;
                }
            }
        }
        let tail = self.tail(&last.stream)?;
        if tail.sequence == last.sequence && tail.hash == last.hash {
            return Ok(());
        }
        let place = format!("event {} of {}", last.sequence, last.stream);
        Err(nonsense(self.path(), place, "it has another hash here than in its source"))
    }

    fn append_copied_service(
        &mut self,
        service: &ServiceName,
        run: &[Copied],
    ) -> Result<(), LedgerError> {
        let mut events: Vec<Event> = Vec::with_capacity(run.len());
        for copied in run {
            events.push(self.read_copied(copied)?);
        }
        let keys: BTreeSet<&ExecutionKey> =
            events.iter().filter_map(|event| event.body.execution_key()).collect();
        let keys: Vec<ExecutionKey> = keys.into_iter().cloned().collect();
        let state = self.service_state(service, &keys)?;
        let bodies: Vec<&str> = run.iter().map(|copied| copied.body.as_str()).collect();
        self.append_as(service, state, &events, Some(&bodies)).map(|_| ())
    }

    fn append_copied_placement(&mut self, run: &[Copied]) -> Result<(), LedgerError> {
        let mut events: Vec<PlacementEvent> = Vec::with_capacity(run.len());
        for copied in run {
            events.push(self.read_copied(copied)?);
        }
        let named = events.iter().filter_map(|event| event.body.operation_id());
        let named: BTreeSet<&OperationId> = named.collect();
        let named: Vec<OperationId> = named.into_iter().cloned().collect();
        let state = self.placement_state(&named, None)?;
        let bodies: Vec<&str> = run.iter().map(|copied| copied.body.as_str()).collect();
        self.append_placement_as(state, &events, Some(&bodies)).map(|_| ())
    }

    fn append_copied_beside(&mut self, copied: &Copied) -> Result<(), LedgerError> {
        let body = copied.body.clone();
        if copied.stream == Stream::Refusals {
            let event: RefusalEvent = self.read_copied(copied)?;
            let (kind, execution_key) = (event.body.kind(), event.body.execution_key());
            let entry = Entry { at: event.at, kind, execution_key, body };
            return self.record(&Stream::Refusals, entry).map(|_| ());
        }
        if copied.stream == Stream::Policy {
            let event: PolicyEvent = self.read_copied(copied)?;
            let PolicyBody::PolicySet { policy, .. } = &event.body;
            let entry = Entry { at: event.at, kind: event.body.kind(), execution_key: None, body };
            let sequence = self.record(&Stream::Policy, entry)?;
            return self.put_document("policy", "current", sequence, &document(policy));
        }
        let event: RegistryEvent = self.read_copied(copied)?;
        let entry = Entry { at: event.at, kind: event.body.kind(), execution_key: None, body };
        let sequence = self.record(&Stream::Registry, entry)?;
        match &event.body {
            RegistryBody::ActuatorRegistered { actuator, .. } => {
                let json = document(actuator);
                self.put_document("actuator", actuator.name.as_str(), sequence, &json)
            }
            RegistryBody::LedgerCreated { .. }
            | RegistryBody::LedgerRestored { .. }
            | RegistryBody::LedgerSealed { .. }
            | RegistryBody::SignersSet { .. }
            | RegistryBody::LedgerOpened { .. } => Ok(()),
        }
    }

    fn read_copied<T: serde::de::DeserializeOwned>(
        &self,
        copied: &Copied,
    ) -> Result<T, LedgerError> {
        let place = || format!("event {} of {}", copied.sequence, copied.stream);
        json(self.path(), place, &copied.body)
    }
}
