//! Readings of a target, evidence about a reduction, and the one terminal record of a key.

use serde::{Deserialize, Serialize};

use super::intent::TargetBinding;
use super::result::{ActuationResult, Detail, ResultState};
use crate::domain::digest::Digest;
use crate::domain::id::{
    ExecutionKey, IntentId, IntentRevision, ObservationId, Replicas, TargetResourceVersion,
    TargetUid,
};
use crate::domain::time::Timestamp;

/// A fresh count of the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// When it began.
    pub began_at: Timestamp,
    /// When it was taken.
    pub read_at: Timestamp,
    /// What was found.
    pub target_uid: TargetUid,
    /// Its version.
    pub target_resource_version: TargetResourceVersion,
    /// Its generation, where the target has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// The declared count.
    pub replicas: Replicas,
    /// How many are ready, where the target says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<Replicas>,
}

/// What a reading says about a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadingVerdict {
    /// The same object with the wished count, ready where that is asked.
    Matches,
    /// The wished count is declared, but not yet ready: counts, resets and marks nothing.
    NotYet,
    /// Another object or another declared count: resets the count and marks drift.
    Differs,
}

/// Whose word a record rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The actuator's own answer.
    Actuator,
    /// A reading of the target.
    Reading,
    /// A person.
    Attested,
}

/// How a key ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservationStatus {
    /// As wished.
    Converged,
    /// Not as wished, for good.
    Failed,
    /// Nothing was called.
    Simulated,
}

/// The one terminal record of a key (`ScaleObservation` of seed 000), and whose word it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// Derived from the execution key.
    pub observation_id: ObservationId,
    /// The key that ended.
    pub execution_key: ExecutionKey,
    /// Its intent.
    pub intent_id: IntentId,
    /// The intent's place in its service.
    pub intent_revision: IntentRevision,
    /// What was scaled.
    pub target: TargetBinding,
    /// How it ended.
    pub status: ObservationStatus,
    /// Whether the actuator scaled.
    pub scaled: bool,
    /// The declared count, where one is known.
    pub observed_replicas: Option<Replicas>,
    /// The digest of the result that it rests on.
    pub outcome_digest: Digest,
    /// When it was recorded.
    pub observed_at: Timestamp,
    /// Always true: the record itself is the verification.
    pub verified: bool,
    /// Text for people.
    pub detail: Detail,
    /// Whose word it rests on.
    pub source: Source,
}

impl ObservationStatus {
    /// The only status that may follow a result.
    pub const fn of(result: &ActuationResult) -> Self {
        match result.state() {
            ResultState::Succeeded => Self::Converged,
            ResultState::Failed => Self::Failed,
            ResultState::Simulated => Self::Simulated,
        }
    }
}

/// What is known about the safety of a reduction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Exactly true where the replicas that go have no work left.
    pub drained: bool,
    /// Exactly true where the rest has settled.
    pub stabilized: bool,
    /// The version of the target that this is about.
    pub resource_version: TargetResourceVersion,
    /// The count that was found.
    pub observed_replicas: Replicas,
    /// The count that would remain.
    pub remaining_replicas: Replicas,
    /// Exactly true where a quorum survives; absent where none applies.
    #[serde(default)]
    pub quorum_safe: Option<bool>,
    /// When it was gathered.
    pub read_at: Timestamp,
}
