//! What `scale` says, and what it knows the end of.

use crate::domain::id::ExecutionKey;
use crate::domain::scale::execution::Execution;
use crate::domain::scale::observation::{Reading, ReadingVerdict};
use crate::ops::error::OpError;

pub(super) fn verdict(execution: &Execution, reading: &Reading) -> ReadingVerdict {
    crate::domain::scale::decide::verdict_of(execution, reading)
}

/// What was recorded: under which broken glass, and the wish.
pub(super) fn accepted(execution: &Execution) -> Vec<String> {
    let word = execution.phase.as_str();
    let from = execution.intent.current.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let undoes = execution.intent.rolls_back.as_ref();
    let undoes = undoes.map_or_else(String::new, |key| format!("  rolls back {key}"));
    let wish = format!(
        "{word} {}@{}  {from} → {}{undoes}",
        execution.intent.service,
        execution.revision(),
        execution.desired()
    );
    let audit = execution.authorization_id().map(|id| format!("audit {id} is durable"));
    audit.into_iter().chain([wish]).collect()
}

pub(super) fn named(error: OpError, key: &ExecutionKey) -> OpError {
    match error {
        OpError::Interrupted { signal, key: None } => {
            OpError::Interrupted { signal, key: Some(key.clone()) }
        }
        other => other,
    }
}
