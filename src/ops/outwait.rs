//! What `scale` waits for by itself: what has a known end, and the turn of a wish behind another.
//!
//! Only tells; whoever waits does it in `scale`.

use super::error::OpError;
use crate::actuator::host::Deadline;
use crate::domain::scale::rejection::Rejection;
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
    if matches!(rejection, Rejection::WaitsBehind { .. }) {
        return Some(Ends::WithAnother);
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
