//! Effects: changes of the target that are or may be applied.

use serde::{Deserialize, Serialize};

use crate::domain::id::{ExecutionKey, IntentRevision, Replicas};
use crate::domain::time::Timestamp;

/// Which way a change goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// More, or the same.
    Up,
    /// Less.
    Down,
    /// Nobody could say what was there before.
    Unknown,
}

impl Direction {
    /// From a count to a count.
    pub fn of(current: Option<Replicas>, desired: Replicas) -> Self {
        match current {
            None => Self::Unknown,
            Some(current) if desired < current => Self::Down,
            Some(_) => Self::Up,
        }
    }

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Unknown => "unknown",
        }
    }
}

/// The newest change of the target that is or may be applied: what the cooldown counts from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastEffect {
    /// The key of the execution.
    pub execution_key: ExecutionKey,
    /// Its place in the service.
    pub intent_revision: IntentRevision,
    /// What was there before.
    pub from: Option<Replicas>,
    /// What was wished.
    pub to: Replicas,
    /// Which way it went.
    pub direction: Direction,
    /// Who put it.
    pub actor: String,
    /// When its call had ended.
    pub ended_at: Timestamp,
}
