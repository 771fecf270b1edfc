//! `operation retry` and `operation abandon`: a person's word about an operation.

use super::error::OpError;
use super::placing::Placed;
use super::relocating::is_gone;
use super::session::Session;
use crate::domain::id::OperationId;
use crate::domain::placement::command::Command;
use crate::domain::scale::result::Detail;

/// Lets what is stuck be tried again.
pub fn operation_retry(
    session: &mut Session,
    id: &OperationId,
    reason: Detail,
) -> Result<Placed, OpError> {
    let operation_id = id.clone();
    session
        .place(std::slice::from_ref(id), None, |_, _| Ok(Command::Retry { operation_id, reason }))
}

/// Gives a change up: what was done of it is undone.
pub fn operation_abandon(
    session: &mut Session,
    id: &OperationId,
    reason: Detail,
) -> Result<Placed, OpError> {
    let (_, operation) = session.operation(id)?;
    let gone = operation.lease.filter(|lease| is_gone(session, lease)).map(|lease| lease.token);
    let operation_id = id.clone();
    session.place(std::slice::from_ref(id), None, |_, _| {
        Ok(Command::Abandon { operation_id, reason, gone })
    })
}
