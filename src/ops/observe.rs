//! `observe`: what became of a key, read and recorded.

use super::error::OpError;
use super::report::Report;
use super::session::Session;
use crate::domain::id::ExecutionKey;

/// Reads the target and confirms the result of a key; repairs a missing observation.
pub fn observe(session: &mut Session, key: &ExecutionKey) -> Result<Report, OpError> {
    let (state, execution) = session.load(key)?;
    // Nothing was ever called for it, so there is nothing to read.
    if !execution.is_live() || execution.calls == 0 {
        let command =
            crate::domain::scale::command::Command::Observe { key: key.clone(), reading: None };
        return session.step(&execution, command);
    }
    drop(state);
    session.confirm(key)
}
