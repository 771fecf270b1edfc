//! `lease acquire`: the permission for one attempt.

use super::error::OpError;
use super::ids::mint;
use super::report::Report;
use super::session::{Place, Session};
use crate::domain::id::{ControllerId, ExecutionKey};
use crate::domain::scale::command::Command;
use crate::domain::scale::state::ServiceState;
use crate::domain::time::DurationMs;

/// Takes the lease of a key, or returns the caller's own live one.
pub fn lease_acquire(
    session: &mut Session,
    key: &ExecutionKey,
    controller: Option<&ControllerId>,
    ttl: DurationMs,
) -> Result<Report, OpError> {
    let (state, execution) = session.load_known(key)?;
    let command = acquire(&state, &session.place, key.clone(), controller, ttl)?;
    session.step(&execution, command)
}

/// The command, with a fresh lease to take where none is held.
pub(crate) fn acquire(
    state: &ServiceState,
    place: &Place,
    key: ExecutionKey,
    controller: Option<&ControllerId>,
    ttl: DurationMs,
) -> Result<Command, OpError> {
    Ok(Command::AcquireLease {
        key,
        controller: Session::controller(state, controller)?,
        lease_instance_id: mint("lease:")?,
        holder: place.holder(),
        ttl,
    })
}
