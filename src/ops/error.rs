//! What an operation ends with, where it does not end well.

use super::report::Effect;
use crate::actuator::error::{BindingError, CallError, HostError, SpawnError};
use crate::actuator::protocol::AnswerError;
use crate::domain::canonical::DocumentError;
use crate::domain::gateway::ScaleConflict;
use crate::domain::id::{ActuatorName, ExecutionKey, RelocatorName};
use crate::domain::placement::rejection::PlacementRejection;
use crate::domain::scale::invariant::Violation;
use crate::domain::scale::left::Left;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::state::ServiceHead;
use crate::domain::time::Timestamp;
use crate::ledger::LedgerError;
use crate::policy::PolicyError;

/// Why an operation did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum OpError {
    /// A rule refused it: nothing has changed.
    #[error("{rejection}")]
    Rejected {
        /// The refusal.
        rejection: Box<Rejection>,
        /// The service as it stands, where it is registered.
        head: Option<Box<ServiceHead>>,
        /// What the calls of the key that it is about have left; none where it is about no key.
        left: Option<Left>,
    },
    /// The gateway's contract refuses it: nothing has changed.
    #[error("{}", .0.message)]
    Gateway(Box<ScaleConflict>),
    /// A rule of the placement refused it: nothing has changed.
    #[error("{0}")]
    Placement(Box<PlacementRejection>),
    /// The relocator could not be asked.
    #[error(transparent)]
    Relocator(Box<RelocatorFault>),
    /// The ledger could not be read or written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A call was made, and what became of it could not be written down.
    #[error("{key} was called, and what became of it could not be recorded: {source}")]
    Unrecorded {
        /// The key.
        key: ExecutionKey,
        /// What the actuator had said.
        said: String,
        /// What that means for the target.
        effect: Effect,
        /// Why it could not be written.
        source: Box<OpError>,
    },
    /// The caller's line or document is wrong.
    #[error("{message}")]
    Usage {
        /// The word for machines.
        code: &'static str,
        /// The text.
        message: String,
        /// What to type instead.
        hint: Option<String>,
    },
    /// A document is not of its shape.
    #[error("{what}: {source}")]
    Document {
        /// Which document.
        what: String,
        /// What is wrong with it.
        source: DocumentError,
    },
    /// The policy that holds is not the expected one.
    #[error("the policy has digest {actual:?}, you expected {expected:?}")]
    PolicyMoved {
        /// As expected.
        expected: String,
        /// As it is.
        actual: String,
    },
    /// The policy is not valid.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// No command serves the actuator on this host, or not the one that was bound.
    #[error(transparent)]
    Binding(#[from] BindingError),
    /// What is bound on this host is not what it was when it was bound.
    #[error("{source}")]
    ActuatorChanged {
        /// The actuator.
        actuator: ActuatorName,
        /// The command line that was bound.
        words: Vec<String>,
        /// What differs.
        source: BindingError,
    },
    /// The actuator could not be asked.
    #[error("asking actuator {actuator} to {op}: {problem}")]
    Actuator {
        /// The actuator.
        actuator: ActuatorName,
        /// What it was asked.
        op: &'static str,
        /// What went wrong.
        problem: ActuatorProblem,
        /// What it wrote to stderr, cut.
        stderr: String,
    },
    /// The file of a call could not be handled.
    #[error(transparent)]
    Call(#[from] CallError),
    /// This host could not be told.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A wait came to its end first.
    #[error("{what} after {waited}")]
    TimedOut {
        /// What was not yet true.
        what: String,
        /// How long it was waited for.
        waited: crate::domain::time::DurationMs,
        /// The key, where one is named.
        key: Option<ExecutionKey>,
    },
    /// A signal asked this process to end.
    #[error("ended by signal {signal}")]
    Interrupted {
        /// Which.
        signal: i32,
        /// The key that was under way, where there was one.
        key: Option<ExecutionKey>,
    },
    /// A state that must not be: a bug.
    #[error("BUG: {0}")]
    Broken(#[from] Violation),
    /// Anything else that the system refused.
    #[error("{what}")]
    Internal {
        /// What.
        what: String,
    },
}

/// Why a relocator could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum RelocatorFault {
    /// No command serves it on this host.
    #[error("relocator {relocator} has no command on this host")]
    Unbound {
        /// The relocator.
        relocator: RelocatorName,
    },
    /// It gave no answer.
    #[error("asking relocator {relocator} to {op}: {problem}")]
    Failed {
        /// The relocator.
        relocator: RelocatorName,
        /// What it was asked.
        op: &'static str,
        /// What went wrong.
        problem: String,
        /// What it wrote to stderr, cut.
        stderr: String,
    },
}

/// Why an actuator could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ActuatorProblem {
    /// It could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// Its answer is not one, or it refused.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// What it says is of another time than now.
    #[error("it says that it read the target at {read_at}, and was asked at {began_at}")]
    Misdated {
        /// When it read, by its own word.
        read_at: Timestamp,
        /// When it was asked, by this host's clock.
        began_at: Timestamp,
    },
    /// It was not done in time.
    #[error("no answer within {0}")]
    TimedOut(crate::domain::time::DurationMs),
}

impl OpError {
    /// A usage error without a hint.
    pub fn usage(code: &'static str, message: impl Into<String>) -> Self {
        Self::Usage { code, message: message.into(), hint: None }
    }

    /// Why a target could not be read. What is not the target's own, such as a failure of the
    /// ledger or a signal, stays an error.
    pub(crate) fn unread(self) -> Result<String, Self> {
        if self.is_of_target() { Ok(self.to_string()) } else { Err(self) }
    }

    /// Whether it is about one target and whoever reads it, and no end of what is done with others.
    pub(crate) fn is_of_target(&self) -> bool {
        matches!(
            self,
            Self::Rejected { .. }
                | Self::Actuator { .. }
                | Self::Binding(_)
                | Self::ActuatorChanged { .. }
        )
    }

    /// Whether the rest of many must wait: a signal asked for it, or a commit failed, and nobody
    /// knows whether it is durable.
    pub fn ends_all(&self) -> bool {
        match self {
            Self::Interrupted { .. }
            | Self::Ledger(LedgerError::CommitUnknown { .. } | LedgerError::Poisoned { .. }) => {
                true
            }
            Self::Unrecorded { source, .. } => source.ends_all(),
            _ => false,
        }
    }
}

impl From<PlacementRejection> for OpError {
    fn from(rejection: PlacementRejection) -> Self {
        Self::Placement(Box::new(rejection))
    }
}

impl From<RelocatorFault> for OpError {
    fn from(fault: RelocatorFault) -> Self {
        Self::Relocator(Box::new(fault))
    }
}

impl From<Rejection> for OpError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected { rejection: Box::new(rejection), head: None, left: None }
    }
}
