//! Attempts: one numbered try, the one call that it makes, and what is known of the call's end.

use serde::{Deserialize, Serialize};

use super::lease::Holder;
use super::result::{ActuationResult, Detail};
use super::service::Binding;
use crate::domain::id::{
    AttemptNumber, CallId, LeaseInstanceId, Replicas, TargetResourceVersion, TargetUid,
};
use crate::domain::time::{DurationMs, Timestamp};

/// How long after its wall deadline a call on another host is still taken for alive.
pub const ELSEWHERE_GRACE: DurationMs = DurationMs::from_secs(300);

/// What the target was right before the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Base {
    /// The identity of the object.
    pub target_uid: TargetUid,
    /// Its version.
    pub target_resource_version: TargetResourceVersion,
    /// Its generation, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// The declared count; none where nobody could say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<Replicas>,
    /// Whether the version and the generation were older than a call of ours.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outdated: bool,
}

impl Base {
    /// What is bound, as far as no call of ours has touched it.
    pub fn of(binding: &Binding) -> Self {
        Self {
            target_uid: binding.target_uid.clone(),
            target_resource_version: binding.target_resource_version.clone(),
            generation: binding.generation,
            replicas: binding.known_replicas(),
            outdated: binding.outdated.version,
        }
    }
}

/// One call of the actuator, made durable before its child is spawned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The name of the call's file on its host.
    pub call_id: CallId,
    /// The attempt that makes the call.
    pub attempt: AttemptNumber,
    /// The lease that permits it.
    pub lease_instance_id: LeaseInstanceId,
    /// The process that makes it.
    pub holder: Holder,
    /// When it was made durable.
    pub started_at: Timestamp,
    /// When the guard kills it, on the boot clock of its host, in milliseconds.
    pub deadline_boot_ms: u64,
    /// The same on the wall clock, for other hosts.
    pub deadline_at: Timestamp,
    /// What the target was right before.
    pub base: Base,
}

/// Why the outcome of a call is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownWhy {
    /// No answer within the timeout.
    TimedOut,
    /// The actuator died by a signal.
    Killed,
    /// No valid answer.
    Garbled,
    /// The actuator said itself that it does not know.
    SaidUnknown,
    /// A person or the host ended the command.
    Interrupted,
    /// The command that made the call is gone.
    Lost,
    /// The ledger could not be written after the call.
    Unrecorded,
}

impl UnknownWhy {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TimedOut => "timed_out",
            Self::Killed => "killed",
            Self::Garbled => "garbled",
            Self::SaidUnknown => "said_unknown",
            Self::Interrupted => "interrupted",
            Self::Lost => "lost",
            Self::Unrecorded => "unrecorded",
        }
    }
}

/// A call whose outcome nobody knows yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// The call.
    pub call: Call,
    /// Why it is unknown.
    pub why: UnknownWhy,
    /// Text for people.
    pub detail: Detail,
    /// When its process group was known dead; none where that cannot be proved from here.
    pub ended_at: Option<Timestamp>,
    /// Whether the target has promised that nothing of this attempt takes effect any more.
    pub fenced: bool,
    /// Whether something had touched the target before it promised that, or nobody could tell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub touched: bool,
}

impl Pending {
    /// Until when a late effect of the call may still arrive.
    pub fn quiet_until(&self, quiet: DurationMs) -> Timestamp {
        self.ended_at.unwrap_or_else(|| self.call.deadline_at.plus(ELSEWHERE_GRACE)).plus(quiet)
    }

    /// Whether a reading or a person may settle it at `now`.
    pub fn is_quiet(&self, quiet: DurationMs, now: Timestamp) -> bool {
        self.fenced || now >= self.quiet_until(quiet)
    }
}

/// How a result came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultSource {
    /// The actuator answered the call.
    Call,
    /// The child could not be started: known not applied.
    NotStarted,
    /// Nothing was called: a simulation.
    Simulation,
    /// The actuator was asked what became of the key.
    Lookup,
    /// The target was read after the call had ended.
    Reading,
    /// A person said so.
    Attested,
    /// What runs was taken for what is wished: nothing was called.
    Adopted,
}

/// The result of an attempt, as recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedResult {
    /// The attempt.
    pub attempt: AttemptNumber,
    /// The answer, or what stands in for it.
    pub result: ActuationResult,
    /// How it came to be known.
    pub source: ResultSource,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// Whether the target was changed in part.
    #[serde(default)]
    pub partly_applied: bool,
}
