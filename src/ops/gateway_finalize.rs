//! `gateway finalize`: an accepted operation has converged, and is answered so from now on.

use super::error::OpError;
use super::gateway::holds;
use super::session::Session;
use crate::domain::gateway::{Receipt, ScaleAnswer, finalized, key_of, service_name};
use crate::domain::scale::command::{Command, GatewayCommand};

/// What a finalization came to.
pub struct GatewayFinalized {
    /// The answer from now on.
    pub answer: ScaleAnswer,
    /// Whether it is another one than before.
    pub changed: bool,
}

/// Puts another answer in the place of what an accepted operation was answered. The operation must
/// be the same in every member, and the answer must name the revision that it made.
pub fn gateway_finalize(
    session: &mut Session,
    asked: &Receipt,
) -> Result<GatewayFinalized, OpError> {
    session.act_as_gateway();
    let key = key_of(&asked.request.operation_id);
    let answer = asked.response.clone();
    let service = {
        let read = session.ledger.read()?;
        let known = read.find_execution(&key)?;
        let named = service_name(&asked.request.service);
        let holds = holds(&read, &named, &read.service_head(&named)?)?;
        let stored = known.as_ref().and_then(|it| it.receipt.as_deref());
        finalized(stored, asked, holds)?;
        // Equal operations are of one service.
        known.map_or(named, |it| it.intent.service)
    };
    let done =
        session.transition_unasked(&service, std::slice::from_ref(&key), |state, read| {
            let stored = state.executions.get(&key).and_then(|it| it.receipt.as_deref());
            finalized(stored, asked, holds(read, &service, &state.head)?)?;
            Ok(Command::Gateway(Box::new(GatewayCommand::Finalize { key: key.clone(), answer })))
        })?;
    Ok(GatewayFinalized { answer: asked.response.clone(), changed: done.committed.is_some() })
}
