//! What is written beside the services: the registry, the policy, and refusals.

use std::ops::ControlFlow;

use super::{Entry, WriteTxn};
use crate::domain::registry::{
    PolicyBody, PolicyEvent, REFUSAL_QUIET, RefusalEvent, RegistryBody, RegistryEvent,
    is_same_refusal,
};
use crate::ledger::columns::{EventRow, column, document, json, nonsense};
use crate::ledger::error::LedgerError;
use crate::ledger::sql::Value;
use crate::ledger::statements as sql;
use crate::ledger::stream::Stream;

/// How many refusals are looked at for an equal one. More than that within a minute is a storm, in
/// which an equal one may be written again.
const REFUSALS_LOOKED_AT_MAX: usize = 256;

impl WriteTxn<'_> {
    /// Records what happened to the ledger or to its actuators.
    pub fn append_registry(&mut self, event: &RegistryEvent) -> Result<(), LedgerError> {
        let appended = self.append_registry_unguarded(event);
        self.guard(appended)
    }

    fn append_registry_unguarded(&mut self, event: &RegistryEvent) -> Result<(), LedgerError> {
        let entry = Entry::of(event, event.body.kind(), None);
        let sequence = self.record(&Stream::Registry, entry)?;
        match &event.body {
            RegistryBody::LedgerCreated { ledger_id, incarnation } => {
                let id = Value::Text(ledger_id.as_str());
                let values = [id, Value::Int(column(*incarnation))];
                self.engine().exec(sql::INSERT_IDENTITY, &values).map(|_| ())
            }
            RegistryBody::LedgerRestored { incarnation, .. }
            | RegistryBody::LedgerOpened { incarnation, .. } => {
                let values = [Value::Int(column(*incarnation))];
                if self.engine().exec(sql::RAISE_INCARNATION, &values)? == 1 {
                    return Ok(());
                }
                let problem = "another incarnation is stored";
                Err(nonsense(self.path(), "its identity".to_owned(), problem))
            }
            // Few, and read from their chain.
            RegistryBody::LedgerSealed { .. } | RegistryBody::SignersSet { .. } => Ok(()),
            RegistryBody::ActuatorRegistered { actuator, .. } => {
                let json = document(actuator);
                self.put_document("actuator", actuator.name.as_str(), sequence, &json)
            }
        }
    }

    /// Records another policy, which holds from then on.
    pub fn append_policy(&mut self, event: &PolicyEvent) -> Result<(), LedgerError> {
        let appended = self.append_policy_unguarded(event);
        self.guard(appended)
    }

    fn append_policy_unguarded(&mut self, event: &PolicyEvent) -> Result<(), LedgerError> {
        let PolicyBody::PolicySet { policy, .. } = &event.body;
        let sequence = self.record(&Stream::Policy, Entry::of(event, event.body.kind(), None))?;
        self.put_document("policy", "current", sequence, &document(policy))
    }

    pub(super) fn put_document(
        &self,
        kind: &str,
        name: &str,
        version: i64,
        json: &str,
    ) -> Result<(), LedgerError> {
        let values = [Value::Text(kind), Value::Text(name), Value::Int(version), Value::Text(json)];
        self.read.policy_is_another();
        if self.engine().exec(sql::PUT_DOCUMENT, &values)? == 1 {
            return Ok(());
        }
        Err(nonsense(self.path(), format!("{kind} {name}"), "a newer version is stored"))
    }

    /// Records a refusal, unless an equal one was recorded within [`REFUSAL_QUIET`]; answers
    /// whether it was written. That it could not be written is only a warning: the refusal stands.
    pub fn append_refusal(&mut self, event: &RefusalEvent) -> Result<bool, LedgerError> {
        let appended = self.append_refusal_unguarded(event);
        self.guard(appended)
    }

    fn append_refusal_unguarded(&mut self, event: &RefusalEvent) -> Result<bool, LedgerError> {
        let mut looked_at = 0;
        let mut is_repeated = false;
        let stream = [Value::Text("refusals")];
        self.engine().each(sql::READ_STREAM_NEWEST_FIRST, &stream, &mut |row| {
            let row = EventRow::of(row)?;
            let earlier: RefusalEvent = json(self.path(), || row.place(), row.body)?;
            looked_at += 1;
            if event.at.since(earlier.at) >= REFUSAL_QUIET || looked_at > REFUSALS_LOOKED_AT_MAX {
                return Ok(ControlFlow::Break(()));
            }
            is_repeated = is_same_refusal(&earlier, event);
            Ok(if is_repeated { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        if is_repeated {
            return Ok(false);
        }
        let entry = Entry::of(event, event.body.kind(), event.body.execution_key());
        self.record(&Stream::Refusals, entry).map(|_| true)
    }
}
