//! Starting an attempt, its end, and settling it.

use crate::domain::id::{
    AttemptNumber, CallId, ControllerId, ExecutionKey, LeaseInstanceId, TargetResourceVersion,
};
use crate::domain::scale::attempt::{ResultSource, UnknownWhy};
use crate::domain::scale::intent::Reason;
use crate::domain::scale::lease::Holder;
use crate::domain::scale::observation::{Evidence, Reading};
use crate::domain::scale::result::{ActuationResult, Detail};
use crate::domain::scale::service::Binding;
use crate::domain::time::DurationMs;

/// How a call is going to be made; minted before the transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPlan {
    /// The name of the call's file.
    pub call_id: CallId,
    /// The lease instance to use where none is held.
    pub lease_instance_id: LeaseInstanceId,
    /// The process that makes the call.
    pub holder: Holder,
    /// When the guard kills it, on the boot clock in milliseconds.
    pub deadline_boot_ms: u64,
    /// How long the call may take.
    pub timeout: DurationMs,
}

/// Start the next attempt of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartAttempt {
    /// The key.
    pub key: ExecutionKey,
    /// Who acts.
    pub controller: ControllerId,
    /// The lease that the caller says it holds.
    pub lease: Option<LeaseInstanceId>,
    /// How long a lease lasts.
    pub ttl: DurationMs,
    /// The target as just read; an error text where it could not be; none where nobody can.
    pub found: Option<Result<Reading, String>>,
    /// The serial of the service before that reading began.
    pub began_after_serial: u64,
    /// What shows that a reduction is safe.
    pub evidence: Option<Evidence>,
    /// Whether a person vouches for what is not drained.
    pub attest_not_drained: bool,
    /// Whether it asks policy to pass the cooldown.
    pub override_cooldown: bool,
    /// How the call is going to be made.
    pub call: CallPlan,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEnd {
    /// A typed answer.
    Answered {
        /// The answer.
        result: ActuationResult,
        /// Whether a rollback is asked for.
        rollback_required: bool,
        /// The version of the target after the call.
        resource_version_after: Option<TargetResourceVersion>,
    },
    /// The child never ran.
    NotStarted {
        /// Why.
        detail: Detail,
    },
    /// Nobody knows.
    Unknown {
        /// Why.
        why: UnknownWhy,
        /// Text for people.
        detail: Detail,
        /// Whether a rollback is asked for.
        rollback_required: bool,
    },
}

/// One way to settle an attempt whose outcome is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// The actuator was asked what became of the key, and knows the result. It was asked about this
    /// attempt: of a later one it has said nothing.
    LookupApplied(AttemptNumber, ActuationResult),
    /// The actuator was asked, and nothing has become or will become of this attempt.
    LookupNever(AttemptNumber),
    /// The target was read.
    Reading {
        /// The reading.
        reading: Reading,
        /// The serial of the service before it began.
        began_after_serial: u64,
        /// What was bound before it began.
        bound_before: Option<Binding>,
    },
    /// A person says that it was applied, and a reading agrees.
    AttestedApplied {
        /// Why.
        reason: Reason,
        /// The reading; none where the target could not be read.
        reading: Option<Reading>,
    },
    /// A person says that it was not applied.
    AttestedNotApplied {
        /// Why.
        reason: Reason,
        /// The attempt that is meant, where the person says it.
        attempt: Option<AttemptNumber>,
    },
}

impl Settlement {
    /// The source of the result that it makes.
    pub(in crate::domain::scale) const fn source(&self) -> ResultSource {
        match self {
            Self::LookupApplied(..) | Self::LookupNever(_) => ResultSource::Lookup,
            Self::Reading { .. } => ResultSource::Reading,
            Self::AttestedApplied { .. } | Self::AttestedNotApplied { .. } => {
                ResultSource::Attested
            }
        }
    }
}
