//! Problems on a key whose calls have left something behind.
//!
//! Owns the rule that no failure about a key denies what nobody knows of it, or what is half done
//! (docs/decisions/0026). Never looks at the ledger: what was left comes with the fault.

use super::Problem;
use crate::cli::ending;
use crate::cli::exit::Exit;
use crate::cli::output::Applied;
use crate::domain::scale::left::Left;

/// The word for a target that could not be asked.
const UNREAD: &str = "unavailable";

impl Problem {
    /// The same, with what the calls of the key have left. Whoever has typed a wrong line, may
    /// not ask, or is to wait for somebody else has asked nothing of the target.
    #[must_use]
    pub(in crate::cli) fn with_left(self, left: Left) -> Self {
        let is_about_it = match self.exit {
            Exit::Usage | Exit::Held | Exit::Denied | Exit::LedgerUnusable | Exit::Internal => {
                false
            }
            Exit::Ok
            | Exit::Conflict
            | Exit::ApprovalRequired
            | Exit::Cooldown
            | Exit::Capacity
            | Exit::Unknown
            | Exit::Failed
            | Exit::RetryLater
            | Exit::NotYet
            | Exit::Unavailable
            | Exit::ExternalOwner
            | Exit::Diverged
            | Exit::NotFound
            | Exit::FactUnknown
            | Exit::Attention
            | Exit::HungUp
            | Exit::Interrupted
            | Exit::Terminated => true,
        };
        // A target that could not be asked contradicts no success, and the same line confirms it. A
        // ledger that is away is told as that.
        if left == Left::Unconfirmed && self.code == UNREAD {
            return Self { exit: Exit::NotYet, ..self };
        }
        let is_silent = self.applied == Applied::No;
        let applied =
            if is_about_it && is_silent { ending::applied_of_left(left) } else { self.applied };
        Self { applied, ..self }
    }
}
