//! The states of an execution, and what a finished one came to.

use serde::{Deserialize, Serialize};

use super::{Call, Pending};
use crate::domain::id::IntentRevision;
use crate::domain::time::Timestamp;

/// How a finished key failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// The actuator said that trying again does not help.
    Terminal,
    /// The actuator reported another count than the wished one.
    Mismatch,
    /// No attempt is left.
    Exhausted,
    /// A person ended it.
    Abandoned,
    /// A newer intent started.
    Overtaken,
    /// The fence ran out before the next attempt.
    FenceOver,
}

/// What a finished key came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// As wished, and observed.
    Converged,
    /// Not as wished, for good.
    Failed,
    /// Nothing was called.
    Simulated,
    /// It succeeded, and was superseded before it was confirmed.
    Unconfirmed,
    /// It succeeded, and was superseded after a reading had differed.
    Drifted,
    /// Nobody knows yet.
    Unknown,
}

impl Outcome {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::Failed => "failed",
            Self::Simulated => "simulated",
            Self::Unconfirmed => "unconfirmed",
            Self::Drifted => "drifted",
            Self::Unknown => "unknown",
        }
    }
}

/// The state of an execution; each variant owns exactly its data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Phase {
    /// Waits for a person's answer.
    Proposed {
        /// How long.
        until: Timestamp,
    },
    /// May start.
    Accepted,
    /// A call is made; without a result nobody knows what became of it.
    Started {
        /// The call.
        call: Call,
    },
    /// The call ended, or was given up, without a result.
    RecoveryPending {
        /// What is known.
        pending: Pending,
    },
    /// Failed, with an attempt left.
    Failed {
        /// When the next attempt may start.
        retry_at: Timestamp,
    },
    /// The actuator says that it is done.
    Succeeded,
    /// A reading agreed; more are asked for.
    Observed,
    /// Ended with a durable observation.
    Verified {
        /// How a failure came about.
        cause: Option<FailureCause>,
    },
    /// A person said no.
    Rejected,
    /// Taken back before it started.
    Withdrawn,
    /// Ended by a newer intent.
    Superseded {
        /// The newer intent.
        by: IntentRevision,
        /// What it had come to; none where it had not started.
        outcome: Option<Outcome>,
    },
}

impl Phase {
    /// The word on the wire.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Proposed { .. } => "proposed",
            Self::Accepted => "accepted",
            Self::Started { .. } => "started",
            Self::RecoveryPending { .. } => "recovery_pending",
            Self::Failed { .. } => "failed",
            Self::Succeeded => "succeeded",
            Self::Observed => "observed",
            Self::Verified { .. } => "verified",
            Self::Rejected => "rejected",
            Self::Withdrawn => "withdrawn",
            Self::Superseded { .. } => "superseded",
        }
    }

    /// Whether nothing changes it any more.
    pub const fn is_finished(&self) -> bool {
        match self {
            Self::Verified { .. } | Self::Rejected | Self::Withdrawn | Self::Superseded { .. } => {
                true
            }
            Self::Proposed { .. }
            | Self::Accepted
            | Self::Started { .. }
            | Self::RecoveryPending { .. }
            | Self::Failed { .. }
            | Self::Succeeded
            | Self::Observed => false,
        }
    }
}
