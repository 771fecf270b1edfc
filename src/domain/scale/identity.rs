//! Identity: the names and numbers that a wish of this service is going to take.
//!
//! Owns what follows from a service alone, and is asked by the gates and by whoever decides alike.
//! Never takes anything: a number is taken by the event that says so.

use super::command::{PutForm, PutIntent};
use super::intent::{minted_intent_id, minted_simulation_id};
use super::service::Registration;
use super::state::ServiceState;
use crate::domain::id::{IntentId, IntentRevision, LeaseId};

/// The number that the next live put takes.
pub fn next_revision(state: &ServiceState) -> IntentRevision {
    IntentRevision::new(state.head.latest_revision.saturating_add(1)).unwrap_or(IntentRevision::MAX)
}

/// The lease that fences from a writer's flags belong to.
pub fn external_lease_id(registration: &Registration) -> LeaseId {
    LeaseId::derived("writer", registration.writer.as_str())
}

/// The id and revision that a put is going to take: what must be unique in the ledger. None where
/// the service is not registered, or where nobody owns its count.
pub fn intended_identity(
    state: &ServiceState,
    put: &PutIntent,
) -> Option<(IntentId, IntentRevision)> {
    match &put.form {
        PutForm::Record(record) => {
            let wish = record.wish();
            Some((wish.intent_id.clone(), wish.intent_revision))
        }
        PutForm::Flags { key, .. } if put.dry_run => {
            Some((minted_simulation_id(key), next_revision(state)))
        }
        PutForm::Flags { replicas, .. } => {
            let mode = state.head.registration.as_ref()?.mode.record_mode()?;
            let latest = state.head.latest_revision;
            let minted = minted_intent_id(&put.service, mode, *replicas, latest);
            Some((minted, next_revision(state)))
        }
    }
}
