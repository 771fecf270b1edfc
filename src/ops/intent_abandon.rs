//! `intent abandon`: the end of a failure that could be tried again.

use super::error::OpError;
use super::report::Report;
use super::session::Session;
use crate::domain::id::ExecutionKey;
use crate::domain::scale::command::Command;
use crate::domain::scale::result::Detail;

/// Ends a retryable failure for good, that of somebody else's wish only on purpose.
pub fn intent_abandon(
    session: &mut Session,
    key: &ExecutionKey,
    reason: Detail,
    supersede: bool,
) -> Result<Report, OpError> {
    let (_, execution) = session.load_known(key)?;
    session.step(&execution, Command::Abandon { key: key.clone(), reason, supersede })
}
