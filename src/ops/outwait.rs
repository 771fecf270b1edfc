//! What `scale` waits for by itself: what has a known end, and the turn of a wish behind another.
//!
//! Only tells; whoever waits does it in `scale`.

use super::error::OpError;
use crate::actuator::host::Deadline;
use crate::domain::scale::rejection::{MissingFact, Rejection};
use crate::domain::time::{DurationMs, Timestamp};

/// When what stands in the way ends.
#[derive(Clone, Copy)]
pub(super) enum Ends {
    /// Then.
    At(Timestamp),
    /// Then at the latest: a lease may be given back early, so it is looked at again and again.
    Before(Timestamp),
    /// With the call of another key, which nobody can know.
    WithAnother,
}

/// When the same step may succeed, where that is known and worth waiting for.
pub(super) fn ends_of(error: &OpError, now: Timestamp) -> Option<Ends> {
    let rejection = match error {
        OpError::Rejected { rejection, .. } => rejection.as_ref(),
        OpError::Ledger(ledger) if ledger.is_busy() => return Some(Ends::At(now)),
        _ => return None,
    };
    if let Rejection::WaitsBehind { revision, behind, .. } = rejection {
        // A failure behind a newer wish is ended by that one's start: it has no turn to wait for.
        return (behind < revision).then_some(Ends::WithAnother);
    }
    // Each of the others has come further, and does not read for ever.
    if matches!(rejection, Rejection::FactUnknown { fact: MissingFact::Overtaken { .. }, .. }) {
        return Some(Ends::At(now));
    }
    let until = rejection.retry_at()?;
    if matches!(rejection, Rejection::InProgress { .. } | Rejection::LeaseHeld { .. }) {
        return Some(Ends::Before(until));
    }
    let is_worth_it = matches!(
        rejection,
        Rejection::Cooldown { .. } | Rejection::RetryLater { .. } | Rejection::QuietTime { .. }
    );
    is_worth_it.then_some(Ends::At(until))
}

/// What is waited for, without the times that change while it is.
pub(super) fn kind_of(error: &OpError) -> String {
    match error {
        OpError::Rejected { rejection, .. } => rejection.code().to_owned(),
        other => other.to_string(),
    }
}

pub(super) fn remaining(deadline: Deadline) -> DurationMs {
    let left = deadline.remaining().as_millis();
    DurationMs::from_millis(u64::try_from(left).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::LedgerError;

    /// Only who holds the ledger will let it go; a server that is away, a full disk, and what
    /// nobody knows have no known end.
    #[test]
    fn of_what_is_wrong_with_a_ledger_only_a_busy_one_is_waited_for() {
        let path = || std::path::PathBuf::from("l.db");
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("BUG: an instant");
        let problem = || "gone".to_owned();
        let (doing, waited) = ("write to", DurationMs::ZERO);
        let command_id =
            || "cmd-00000000000000000000000000000001".parse().expect("BUG: a command id");
        let busy = LedgerError::busy(doing, path(), waited);
        assert!(matches!(ends_of(&busy.into(), now), Some(Ends::At(at)) if at == now));
        for other in [
            LedgerError::Unreachable { doing, path: path(), problem: problem() },
            LedgerError::NotCommitted {
                command_id: command_id(),
                path: path(),
                problem: problem(),
            },
            LedgerError::Exhausted { doing, path: path() },
            LedgerError::Full { doing, path: path() },
            LedgerError::Failed { doing, path: path(), problem: problem() },
            LedgerError::Unconfirmed { path: path(), problem: problem() },
            LedgerError::CommitUnknown {
                command_id: command_id(),
                path: path(),
                problem: problem(),
                was_moved: false,
            },
        ] {
            let told = other.to_string();
            assert!(ends_of(&other.into(), now).is_none(), "{told}");
        }
        let interrupted = OpError::Interrupted { signal: 15, key: None };
        assert!(ends_of(&interrupted, now).is_none());
    }
}
