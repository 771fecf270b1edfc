//! `lease renew`: the same permission for longer.

use super::error::OpError;
use super::report::Report;
use super::session::Session;
use crate::domain::id::{ExecutionKey, LeaseInstanceId};
use crate::domain::scale::command::Command;
use crate::domain::time::DurationMs;

/// Keeps the caller's live lease longer, never past the fence. An expired lease is lost.
pub fn lease_renew(
    session: &mut Session,
    key: &ExecutionKey,
    lease_instance_id: LeaseInstanceId,
    ttl: DurationMs,
) -> Result<Report, OpError> {
    let (_, execution) = session.load(key)?;
    session.step(&execution, Command::RenewLease { key: key.clone(), lease_instance_id, ttl })
}
