//! What `scale` says, and what it knows the end of.

use crate::domain::id::ExecutionKey;
use crate::domain::scale::execution::Execution;
use crate::domain::scale::observation::{Reading, ReadingVerdict};
use crate::domain::scale::rejection::Rejection;
use crate::domain::time::Timestamp;
use crate::ops::error::OpError;

/// When the same step may succeed, where that is known and worth waiting for.
pub(super) fn known_end(rejection: &Rejection) -> Option<Timestamp> {
    match rejection {
        Rejection::Cooldown { .. }
        | Rejection::InProgress { .. }
        | Rejection::LeaseHeld { .. }
        | Rejection::RetryLater { .. }
        | Rejection::QuietTime { .. } => rejection.retry_at(),
        _ => None,
    }
}

pub(super) fn verdict(execution: &Execution, reading: &Reading) -> ReadingVerdict {
    crate::domain::scale::decide::verdict_of(execution, reading)
}

pub(super) fn accepted(execution: &Execution) -> String {
    let word = execution.phase.as_str();
    let from = execution.intent.current.map_or_else(|| "?".to_owned(), |count| count.to_string());
    format!(
        "{word} {}@{}  {from} → {}",
        execution.intent.service,
        execution.revision(),
        execution.desired()
    )
}

pub(super) fn named(error: OpError, key: &ExecutionKey) -> OpError {
    match error {
        OpError::Interrupted { signal, key: None } => {
            OpError::Interrupted { signal, key: Some(key.clone()) }
        }
        other => other,
    }
}
