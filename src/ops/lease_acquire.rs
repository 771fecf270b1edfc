//! `lease acquire`: the permission for one attempt.

use super::error::OpError;
use super::ids::mint;
use super::report::Report;
use super::session::Session;
use crate::domain::id::{ControllerId, ExecutionKey};
use crate::domain::scale::command::Command;
use crate::domain::time::DurationMs;

/// Takes the lease of a key, or returns the caller's own live one.
pub fn lease_acquire(
    session: &mut Session,
    key: &ExecutionKey,
    controller: Option<&ControllerId>,
    ttl: DurationMs,
) -> Result<Report, OpError> {
    let (state, execution) = session.load_known(key)?;
    let controller = Session::controller(&state, controller)?;
    let command = Command::AcquireLease {
        key: key.clone(),
        controller,
        lease_instance_id: mint("lease:")?,
        holder: session.place.holder(),
        ttl,
    };
    session.step(&execution, command)
}
