//! `intent withdraw`: a wish, taken back before it starts.

use super::error::OpError;
use super::report::Report;
use super::session::Session;
use crate::domain::id::ExecutionKey;
use crate::domain::scale::command::Command;
use crate::domain::scale::result::Detail;

/// Takes a wish back, somebody else's only on purpose. A wish that has started stays.
pub fn intent_withdraw(
    session: &mut Session,
    key: &ExecutionKey,
    reason: Option<Detail>,
    supersede: bool,
) -> Result<Report, OpError> {
    let (_, execution) = session.load_known(key)?;
    session.step(&execution, Command::Withdraw { key: key.clone(), reason, supersede })
}
