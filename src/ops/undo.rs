//! What `scale --undo` would wish. Reads only what is recorded: the put reads the target.

use super::error::OpError;
use super::session::Session;
use crate::domain::id::ServiceName;
use crate::domain::scale::execution::Execution;
use crate::domain::scale::undo::{NoUndo, Undo, undo_key, undo_of};

/// What takes the newest converged wish of a service back, and what is recorded of it already.
pub fn undo(
    session: &mut Session,
    service: &ServiceName,
) -> Result<Result<(Undo, Option<Execution>), NoUndo>, OpError> {
    let state = session.load_service(service)?;
    let key = undo_key(service, &state);
    if let Some(key) = &key {
        // A COMMIT of the line before may still run.
        session.recorded_under(key)?;
    }
    let keys: Vec<_> = key.into_iter().collect();
    let mut state = session.ledger.read()?.service_state(service, &keys)?;
    Ok(undo_of(service, &state).map(|undo| {
        let known = match &undo {
            Undo::Known(key) => state.executions.remove(key),
            Undo::Of { .. } => None,
        };
        (undo, known)
    }))
}
