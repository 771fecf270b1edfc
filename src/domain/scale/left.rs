//! What a key has left behind that no answer about it may deny (docs/decisions/0026).
//!
//! Owns the one question whether a failure has changed its target. Never asks the target: what is
//! recorded is what tells.

use super::execution::{Execution, Phase};

/// What the calls of a key have left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Left {
    /// Nothing that an answer could deny: nobody was called, nothing was done, or it is over.
    #[default]
    Nothing,
    /// A success that is not confirmed yet.
    Unconfirmed,
    /// A target that a failure has changed.
    Changed,
    /// An outcome that nobody knows.
    Unknown,
}

impl Execution {
    /// Whether its newest result is a failure that did not leave the target as it was: in part, or
    /// because a success of it came late.
    pub fn failed_and_changed(&self) -> bool {
        self.result.as_ref().is_some_and(|recorded| {
            !recorded.result.scaled() && (recorded.partly_applied || self.drift)
        })
    }

    /// What its calls have left behind, as far as is recorded.
    pub fn left(&self) -> Left {
        if self.open_call().is_some() {
            Left::Unknown
        } else if self.failed_and_changed() {
            Left::Changed
        } else if matches!(self.phase, Phase::Succeeded | Phase::Observed) {
            Left::Unconfirmed
        } else {
            Left::Nothing
        }
    }
}
