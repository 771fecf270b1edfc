//! The state of one service: the fold of its events. Recovery is the same fold.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::authority::{Authority, Override};
use super::consent::OpenAuthorization;
pub use super::effect::{Direction, LastEffect};
use super::event::{Event, EventBody};
use super::execution::{Acceptance, Execution, NewIntent, Phase};
use super::intent::Fence;
use super::observation::Reading;
use super::provenance::WishSource;
use super::service::{Binding, Registration};
use crate::domain::gateway::{GatewayHead, Imported, Receipt};
use crate::domain::id::{
    AuthorizationId, ExecutionId, ExecutionKey, IntentRevision, LeaseId, Replicas, counted,
};
use crate::domain::time::Timestamp;

/// The newest fence of a service. Every accepted live intent moves it up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FenceMark {
    /// First half of the order.
    #[serde(deserialize_with = "counted")]
    pub epoch: u64,
    /// Second half of the order.
    #[serde(deserialize_with = "counted")]
    pub token: u64,
    /// The lease of the newest fence; none before the first.
    pub lease_id: Option<LeaseId>,
}

impl Default for FenceMark {
    /// The mark before the first fence is (1, 0): design, ruling 8.
    fn default() -> Self {
        Self { epoch: 1, token: 0, lease_id: None }
    }
}

/// An accepted live intent, as far as the head of its service keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurrentIntent {
    /// Its key.
    pub execution_key: ExecutionKey,
    /// Its place in the service.
    pub intent_revision: IntentRevision,
    /// The wished count.
    pub desired_replicas: Replicas,
    /// When it was accepted.
    pub accepted_at: Timestamp,
    /// Who put it.
    pub actor: String,
    /// Why.
    pub reason: String,
}

/// What the newest accepted intent has displaced.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Displaced {
    /// The highest accepted one before it.
    pub current: Option<CurrentIntent>,
    /// The wanted one before it.
    pub wanted: Option<CurrentIntent>,
}

/// Everything about a service but its executions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceHead {
    /// The settings; none before the first registration.
    pub registration: Option<Registration>,
    /// What the target was when last read.
    pub binding: Option<Binding>,
    /// The newest intent revision that a live put has taken; 0 before the first.
    #[serde(deserialize_with = "counted")]
    pub latest_revision: u64,
    /// The highest intent that was ever accepted, whatever became of it, unless it was simulated.
    /// The gateway's desired count.
    pub current: Option<CurrentIntent>,
    /// The same, but without what was taken back or replaced before it started: what somebody who
    /// asks is shown as wanted.
    #[serde(default)]
    pub wanted: Option<CurrentIntent>,
    /// What `current` and `wanted` were before the newest acceptance: they are that again when the
    /// newest intent turns out to be a simulation, or, for `wanted`, is taken back.
    #[serde(default)]
    pub before: Displaced,
    /// The newest fence.
    pub mark: FenceMark,
    /// The newest instant of an accepted write.
    pub time_mark: Option<Timestamp>,
    /// How many facts were recorded that say what a reading proves: starts and ends of calls,
    /// fences, results, readings. A reading is fresh if this has not moved since before it began:
    /// clocks have no say in it.
    #[serde(deserialize_with = "counted")]
    pub reading_serial: u64,
    /// The newest reading.
    pub newest_reading: Option<Reading>,
    /// What the cooldown counts from.
    pub last_effect: Option<LastEffect>,
    /// What is laid upon the service as a whole.
    #[serde(default, skip_serializing_if = "Authority::is_empty")]
    pub authority: Authority,
    /// What the gateway's contract counts of it; none before its first operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<GatewayHead>,
    /// The authorizations that nobody has reviewed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub authorizations: BTreeMap<AuthorizationId, OpenAuthorization>,
}

impl ServiceHead {
    /// Whether the service is retired, and nobody has to look at it any more.
    pub fn is_over(&self) -> bool {
        self.authority.retired.is_some() && self.authorizations.is_empty()
    }

    fn count_for_gateway(
        &mut self,
        event: &Event,
        receipt: Option<&Receipt>,
    ) -> Result<(), IllegalEvent> {
        self.gateway = GatewayHead::accepted(self.gateway.take(), receipt)
            .map_err(|state| illegal(event, state, "the gateway"))?;
        Ok(())
    }

    /// What a journal has counted goes on; what was counted here already is not replaced.
    fn import(&mut self, event: &Event, imported: &Imported) -> Result<(), IllegalEvent> {
        if self.gateway.is_some() || self.current.is_some() {
            return Err(illegal(event, "counted already", "the gateway"));
        }
        let (revision, imported) = (imported.revision, Some(imported.clone()));
        self.gateway = Some(GatewayHead { revision, imported });
        Ok(())
    }

    fn displace(&mut self, newest: CurrentIntent) {
        let wanted = self.wanted.replace(newest.clone());
        let current = self.current.replace(newest);
        self.before = Displaced { current, wanted };
    }

    /// The intent ended before it started: nobody wants it any more.
    pub(super) fn end_unstarted(&mut self, key: &ExecutionKey) {
        if self.wanted.as_ref().is_some_and(|wanted| wanted.execution_key == *key) {
            self.wanted = self.before.wanted.take();
        }
    }

    /// The intent was carried out as a simulation: it was never the newest.
    pub(super) fn end_simulated(&mut self, key: &ExecutionKey) {
        self.end_unstarted(key);
        if self.current.as_ref().is_some_and(|current| current.execution_key == *key) {
            self.current = self.before.current.take();
        }
    }
}

/// A service with the executions that a command needs, or, in a full fold, with all of them.
///
/// A state that is loaded for a command holds every live unfinished execution of the service and
/// every one that the command names; the rules of [`super::decide`] ask for no others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServiceState {
    /// Everything but the executions.
    pub head: ServiceHead,
    /// The executions by key.
    pub executions: BTreeMap<ExecutionKey, Execution>,
}

/// An event that cannot follow what happened before: a damaged ledger, or a bug.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {event} cannot follow state {state} of {subject}")]
pub struct IllegalEvent {
    /// The event.
    pub event: &'static str,
    /// The state that it met.
    pub state: &'static str,
    /// The key or service that it is about.
    pub subject: String,
}

impl ServiceState {
    /// The state after one more event.
    pub fn apply(mut self, event: &Event) -> Result<Self, IllegalEvent> {
        let is_registration = matches!(event.body, EventBody::ServiceRegistered { .. });
        if self.head.registration.is_none() && !is_registration {
            return Err(illegal(event, "not registered", "the service"));
        }
        match &event.body {
            EventBody::ServiceRegistered { registration, binding, .. } => {
                self.head.registration = Some(registration.clone());
                self.head.binding = Some(binding.clone());
                self.head.authority.retired = None;
            }
            EventBody::ServiceHandedOver { .. }
            | EventBody::ServiceRetired { .. }
            | EventBody::HoldSet { .. }
            | EventBody::HoldLifted { .. }
            | EventBody::OverrideSet { .. }
            | EventBody::OverrideCleared { .. }
            | EventBody::AuthorizationGranted { .. }
            | EventBody::AuthorizationUsed { .. }
            | EventBody::AuthorizationRevoked { .. }
            | EventBody::AuthorizationReviewed { .. }
            | EventBody::AutoscaleEvaluated { .. } => self.head.apply_authority(event)?,
            EventBody::TargetBound { binding } => self.head.bind(binding),
            EventBody::ServiceRestored { mark, .. } => self.head.restore(mark),
            EventBody::ClockAccepted { .. } => {
                self.head.accept_clock(event.at);
                return Ok(self);
            }
            EventBody::GatewayImported { imported, .. } => self.head.import(event, imported)?,
            EventBody::IntentProposed { intent, until, asked } => {
                let phase = Phase::Proposed { until: *until };
                self.take_revision(intent, event)?;
                self.insert(event, intent, None, phase)?.asked = Some(asked.clone());
                self.head.authority.simulated = None;
            }
            EventBody::IntentAccepted { intent, acceptance, receipt } => {
                self.apply_acceptance(event, intent, acceptance, receipt.as_deref())?;
            }
            EventBody::IntentRejected { .. }
            | EventBody::IntentSuperseded { .. }
            | EventBody::IntentWithdrawn { .. }
            | EventBody::LeaseAcquired { .. }
            | EventBody::LeaseRenewed { .. }
            | EventBody::LeaseReleased { .. }
            | EventBody::AttemptStarted { .. }
            | EventBody::ResultRecorded { .. }
            | EventBody::AttemptLost { .. }
            | EventBody::CallEnded { .. }
            | EventBody::TargetFenced { .. }
            | EventBody::ReadingRecorded { .. }
            | EventBody::ObservationRecorded { .. }
            | EventBody::LateResultKept { .. }
            | EventBody::GatewayFinalized { .. }
            | EventBody::ExecutionClockAccepted { .. } => self.apply_to_execution(event)?,
        }
        self.head.time_mark = self.head.time_mark.max(Some(event.at));
        Ok(self)
    }

    /// The fold of many events.
    pub fn fold<'e>(
        self,
        events: impl IntoIterator<Item = &'e Event>,
    ) -> Result<Self, IllegalEvent> {
        events.into_iter().try_fold(self, Self::apply)
    }

    fn insert(
        &mut self,
        event: &Event,
        intent: &NewIntent,
        acceptance: Option<Acceptance>,
        phase: Phase,
    ) -> Result<&mut Execution, IllegalEvent> {
        let key = intent.wish.execution_key.clone();
        if let Some(existing) = self.executions.get(&key) {
            return Err(illegal(event, existing.phase.as_str(), key.as_str()));
        }
        let execution = Execution {
            execution_id: ExecutionId::derived("execution", key.as_str()),
            intent: intent.clone(),
            put_by: event.by.clone(),
            put_at: event.at,
            asked: None,
            acceptance,
            phase,
            lease: None,
            attempts: 0,
            calls: 0,
            result: None,
            readings_matched: 0,
            last_reading: None,
            drift: false,
            rollback_required: false,
            observation: None,
            receipt: None,
            updated_at: event.at,
        };
        Ok(self.executions.entry(key).or_insert(execution))
    }

    /// A live put takes the next number, and none is skipped.
    fn take_revision(&mut self, intent: &NewIntent, event: &Event) -> Result<(), IllegalEvent> {
        let revision = intent.wish.intent_revision.get();
        if revision != self.head.latest_revision + 1 {
            return Err(illegal(event, "another intent revision", intent.service.as_str()));
        }
        self.head.latest_revision = revision;
        Ok(())
    }

    fn apply_acceptance(
        &mut self,
        event: &Event,
        intent: &NewIntent,
        acceptance: &Acceptance,
        receipt: Option<&Receipt>,
    ) -> Result<(), IllegalEvent> {
        let key = &intent.wish.execution_key;
        match self.executions.get_mut(key) {
            Some(proposal) if matches!(proposal.phase, Phase::Proposed { .. }) => {
                proposal.acceptance = Some(acceptance.clone());
                proposal.phase = Phase::Accepted;
                proposal.updated_at = event.at;
            }
            Some(other) => return Err(illegal(event, other.phase.as_str(), key.as_str())),
            None => {
                if !intent.dry_run {
                    self.take_revision(intent, event)?;
                }
                self.insert(event, intent, Some(acceptance.clone()), Phase::Accepted)?;
            }
        }
        if receipt.is_some() && intent.dry_run {
            return Err(illegal(event, "a simulation", key.as_str()));
        }
        if let Some(receipt) = receipt {
            self.executions.get_mut(key).expect("BUG: was just put there").receipt =
                Some(Box::new(receipt.clone()));
        }
        if !intent.dry_run {
            self.head.count_for_gateway(event, receipt)?;
            // A newer wish ends an override, whoever made it. What brings its count back is none.
            let brings_back = |pinned: &mut Override| {
                intent.source == WishSource::Reconciler
                    && pinned.replicas == intent.wish.desired_replicas
            };
            self.head.authority.pinned.take_if(|pinned| !brings_back(pinned));
            self.head.authority.simulated = None;
            self.head.mark = mark_of(&acceptance.fence);
            self.head.displace(CurrentIntent {
                execution_key: key.clone(),
                intent_revision: intent.wish.intent_revision,
                desired_replicas: intent.wish.desired_replicas,
                accepted_at: acceptance.accepted_at,
                actor: self.executions[key].put_by.actor.to_string(),
                reason: intent.wish.reason.as_str().to_owned(),
            });
        }
        Ok(())
    }

    fn apply_to_execution(&mut self, event: &Event) -> Result<(), IllegalEvent> {
        let key = event.body.execution_key().expect("BUG: the caller's arms all name a key");
        let Self { head, executions } = self;
        let execution =
            executions.get_mut(key).ok_or_else(|| illegal(event, "nothing", key.as_str()))?;
        execution.apply(head, event)?;
        execution.updated_at = event.at;
        Ok(())
    }
}

fn mark_of(fence: &Fence) -> FenceMark {
    let (epoch, token) = fence.rank();
    FenceMark { epoch, token, lease_id: Some(fence.lease_id.clone()) }
}

pub(super) fn illegal(event: &Event, state: &'static str, subject: &str) -> IllegalEvent {
    IllegalEvent { event: event.body.kind(), state, subject: subject.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_number_that_would_overflow_is_refused() {
        let head = serde_json::to_string(&ServiceHead::default()).expect("BUG: is JSON");
        assert!(serde_json::from_str::<ServiceHead>(&head).is_ok());
        for member in ["latest_revision", "reading_serial", "epoch", "token"] {
            let mut value: serde_json::Value = serde_json::from_str(&head).expect("own text");
            let holder = if value.get(member).is_some() { &mut value } else { &mut value["mark"] };
            holder[member] = u64::MAX.into();
            assert!(serde_json::from_value::<ServiceHead>(value).is_err(), "{member}");
        }
    }

    #[test]
    fn a_time_mark_without_a_registration_is_no_panic() {
        let mut state = ServiceState::default();
        state.head.time_mark = Some(Timestamp::MAX);
        let now = "2026-01-01T00:00:00Z".parse().expect("BUG: an instant");
        let clamped = super::super::decide::on_ledger_clock(&state, now);
        assert_eq!(clamped, Ok(Timestamp::MAX));
    }
}
