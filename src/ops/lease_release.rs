//! `lease release`: the permission, given back.

use super::error::OpError;
use super::report::Report;
use super::session::Session;
use crate::domain::id::{ExecutionKey, LeaseInstanceId};
use crate::domain::scale::command::Command;

/// Gives the caller's live lease back. Refused while its call lives.
pub fn lease_release(
    session: &mut Session,
    key: &ExecutionKey,
    lease_instance_id: LeaseInstanceId,
) -> Result<Report, OpError> {
    let (_, execution) = session.load(key)?;
    session.step(&execution, Command::ReleaseLease { key: key.clone(), lease_instance_id })
}
