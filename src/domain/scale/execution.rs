//! Executions: one intent with everything that has become of it.

use serde::{Deserialize, Serialize};

use super::attempt::{Base, Call, Pending, RecordedResult};
use super::consent::{Approval, Asked, Consent};
use super::intent::{Fence, IntentRecord, IntentWish, RetryPolicy};
use super::lease::HeldLease;
use super::observation::{Observation, Reading};
use super::policy::PolicyAnswer;
use super::provenance::{Provenance, WishSource};
use super::service::Terms;
use crate::domain::digest::Digest;
use crate::domain::gateway::Receipt;
use crate::domain::id::{
    AuthorizationId, ExecutionId, ExecutionKey, IntentRevision, Replicas, ServiceName, counted,
};
use crate::domain::time::Timestamp;

mod phase;

pub use phase::{FailureCause, Outcome, Phase};

/// What was submitted, as far as re-delivery compares it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submitted {
    /// Whether the whole record came from its maker.
    pub whole_record: bool,
    /// The retry policy that was asked for; none where the registration's applied.
    pub retry_policy: Option<RetryPolicy>,
}

/// An intent that has come into being.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewIntent {
    /// The service.
    pub service: ServiceName,
    /// What is wished.
    pub wish: IntentWish,
    /// Whether it is a recorded simulation.
    pub dry_run: bool,
    /// What was submitted.
    pub submitted: Submitted,
    /// How it is carried out and confirmed.
    pub terms: Terms,
    /// What the target was when it was put: the premise of its first attempt.
    pub base: Base,
    /// The older intent that was in flight then, and that moves the target before this one may
    /// start: the premise of the first attempt is then what the older one leaves behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<IntentRevision>,
    /// The count that it was decided on; none where nobody could say.
    pub current: Option<Replicas>,
    /// What policy said.
    pub decision: PolicyAnswer,
    /// What made other gates yield.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<PolicyAnswer>,
    /// Where the wish comes from.
    #[serde(default, skip_serializing_if = "WishSource::is_cli")]
    pub source: WishSource,
    /// The intent whose rollback this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolls_back: Option<ExecutionKey>,
}

/// The acceptance of an intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acceptance {
    /// The fence that permits its attempts.
    pub fence: Fence,
    /// `created_at` of the record.
    pub created_at: Timestamp,
    /// The digest of the whole record.
    pub identity_digest: Digest,
    /// When it was accepted, on the ledger's clock.
    pub accepted_at: Timestamp,
    /// What permits it, where policy alone does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent: Option<Consent>,
}

/// One intent with everything that has become of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    /// Derived from the key.
    pub execution_id: ExecutionId,
    /// The intent.
    pub intent: NewIntent,
    /// Who put it.
    pub put_by: Provenance,
    /// When it was put.
    pub put_at: Timestamp,
    /// What it was proposed with, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// Its acceptance, once there is one.
    pub acceptance: Option<Acceptance>,
    /// Its state.
    pub phase: Phase,
    /// The last lease, until the end of its attempt.
    pub lease: Option<HeldLease>,
    /// The number of the last attempt that started.
    #[serde(deserialize_with = "counted")]
    pub attempts: u64,
    /// How many calls were made; an attempt whose child could not start made none.
    #[serde(deserialize_with = "counted")]
    pub calls: u64,
    /// The newest result.
    pub result: Option<RecordedResult>,
    /// How many readings in a row agree, the actuator's own included.
    #[serde(deserialize_with = "counted")]
    pub readings_matched: u64,
    /// The newest reading for this key.
    pub last_reading: Option<Reading>,
    /// Whether a reading or a late result contradicted what was recorded.
    pub drift: bool,
    /// Whether the actuator asked for a rollback that nobody has made.
    pub rollback_required: bool,
    /// The one terminal record.
    pub observation: Option<Observation>,
    /// The gateway's operation that it was accepted for, and what that is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Box<Receipt>>,
    /// When anything last changed.
    pub updated_at: Timestamp,
}

impl Execution {
    /// The key.
    pub const fn key(&self) -> &ExecutionKey {
        &self.intent.wish.execution_key
    }

    /// The place in the service.
    pub const fn revision(&self) -> IntentRevision {
        self.intent.wish.intent_revision
    }

    /// The wished count.
    pub const fn desired(&self) -> Replicas {
        self.intent.wish.desired_replicas
    }

    /// The whole record, once it is accepted.
    pub fn record(&self) -> Option<IntentRecord> {
        let acceptance = self.acceptance.as_ref()?;
        let wish = self.intent.wish.clone();
        Some(wish.accepted(acceptance.fence.clone(), acceptance.created_at))
    }

    /// The fence, once it is accepted.
    pub fn fence(&self) -> Option<&Fence> {
        self.acceptance.as_ref().map(|acceptance| &acceptance.fence)
    }

    /// What permits it, where policy alone does not.
    pub fn consent(&self) -> Option<&Consent> {
        self.acceptance.as_ref().and_then(|acceptance| acceptance.consent.as_ref())
    }

    /// A colleague's yes, where it was asked for and given.
    pub fn approval(&self) -> Option<&Approval> {
        match self.consent()? {
            Consent::Approval { approval } => Some(approval),
            Consent::BreakGlass { .. } => None,
        }
    }

    /// The authorization that it is carried out under, where the glass was broken for it.
    pub fn authorization_id(&self) -> Option<&AuthorizationId> {
        match self.consent()? {
            Consent::Approval { .. } => None,
            Consent::BreakGlass { authorization_id } => Some(authorization_id),
        }
    }

    /// Whether it takes part in the life of its service: simulations do not.
    ///
    /// A live intent that was simulated keeps its number and is not live any more.
    pub fn is_live(&self) -> bool {
        !self.intent.dry_run && self.outcome() != Some(Outcome::Simulated)
    }

    /// Whether it has not started yet: it waits for an answer, or for its first attempt.
    pub fn waits(&self) -> bool {
        self.is_live() && matches!(self.phase, Phase::Proposed { .. } | Phase::Accepted)
    }

    /// Whether an attempt is left.
    pub const fn has_budget(&self) -> bool {
        self.attempts < self.intent.wish.retry_policy.max_attempts.get()
    }

    /// Whether the last attempt followed one that nobody has settled (`retry_same_key`): what it
    /// says of itself is then not all that may have happened.
    pub fn repeats_unknown(&self) -> bool {
        let settled = self.result.as_ref().map_or(0, |recorded| recorded.attempt.get());
        self.attempts > settled + 1
    }

    /// What it came to; none while it is under way and known.
    pub fn outcome(&self) -> Option<Outcome> {
        match &self.phase {
            Phase::RecoveryPending { .. } => Some(Outcome::Unknown),
            Phase::Verified { cause: Some(_) } => Some(Outcome::Failed),
            Phase::Verified { cause: None } => self.result.as_ref().map(|recorded| {
                if recorded.result.scaled() { Outcome::Converged } else { Outcome::Simulated }
            }),
            Phase::Superseded { outcome, .. } => *outcome,
            Phase::Proposed { .. }
            | Phase::Accepted
            | Phase::Started { .. }
            | Phase::Failed { .. }
            | Phase::Succeeded
            | Phase::Observed
            | Phase::Rejected
            | Phase::Withdrawn => None,
        }
    }

    /// Whether it keeps other intents of its service from starting: under a call, unknown, or
    /// failed with an attempt and a fence left (design, section 3, *In flight*).
    pub fn is_in_flight(&self, now: Timestamp) -> bool {
        match self.phase {
            Phase::Started { .. } | Phase::RecoveryPending { .. } => true,
            Phase::Failed { .. } => self.is_retryable(now),
            Phase::Proposed { .. }
            | Phase::Accepted
            | Phase::Succeeded
            | Phase::Observed
            | Phase::Verified { .. }
            | Phase::Rejected
            | Phase::Withdrawn
            | Phase::Superseded { .. } => false,
        }
    }

    /// The call whose outcome is still to be told.
    pub fn open_call(&self) -> Option<&Call> {
        match &self.phase {
            Phase::Started { call } => Some(call),
            Phase::RecoveryPending { pending } => Some(&pending.call),
            Phase::Proposed { .. }
            | Phase::Accepted
            | Phase::Failed { .. }
            | Phase::Succeeded
            | Phase::Observed
            | Phase::Verified { .. }
            | Phase::Rejected
            | Phase::Withdrawn
            | Phase::Superseded { .. } => None,
        }
    }

    /// When what keeps others from starting may come to its end, where that is known.
    pub fn in_flight_until(&self, now: Timestamp) -> Option<Timestamp> {
        match &self.phase {
            Phase::Started { .. } => self.live_lease(now).map(|held| held.lease.expires_at),
            Phase::RecoveryPending { pending } => {
                Some(pending.quiet_until(self.intent.terms.quiet_ms)).filter(|_| !pending.fenced)
            }
            Phase::Failed { retry_at } => Some(*retry_at),
            Phase::Proposed { .. }
            | Phase::Accepted
            | Phase::Succeeded
            | Phase::Observed
            | Phase::Verified { .. }
            | Phase::Rejected
            | Phase::Withdrawn
            | Phase::Superseded { .. } => None,
        }
        .filter(|until| *until > now)
    }

    /// Whether a failure may be tried again at `now`, backoff aside.
    pub fn is_retryable(&self, now: Timestamp) -> bool {
        matches!(self.phase, Phase::Failed { .. })
            && self.has_budget()
            && self.fence().is_some_and(|fence| fence.is_alive(now))
    }

    /// Whether nobody can carry it on any more, although that is not written down: its fence ran
    /// out, or nobody has answered in time.
    pub fn is_spent(&self, now: Timestamp) -> bool {
        match &self.phase {
            Phase::Proposed { until } => now >= *until,
            Phase::Accepted => !self.fence().is_some_and(|fence| fence.is_alive(now)),
            Phase::Failed { .. } => !self.is_retryable(now),
            Phase::Started { .. }
            | Phase::RecoveryPending { .. }
            | Phase::Succeeded
            | Phase::Observed
            | Phase::Verified { .. }
            | Phase::Rejected
            | Phase::Withdrawn
            | Phase::Superseded { .. } => false,
        }
    }

    /// The lease, if it still permits something at `now`.
    pub fn live_lease(&self, now: Timestamp) -> Option<&HeldLease> {
        self.lease.as_ref().filter(|held| held.is_alive(now))
    }
}
