//! `plan`: every gate of a put, and nothing written.

use super::error::OpError;
use super::intent_put::{key_of, with_ledger_facts};
use super::session::Session;
use crate::domain::scale::command::PutIntent;
use crate::domain::scale::decide::{answer_of_key, on_ledger_clock};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::gates::{self, Reports};
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::state::ServiceState;

/// What a put would meet.
pub struct Plan {
    /// The service as it stands.
    pub state: ServiceState,
    /// What the gates say.
    pub reports: Reports,
    /// What the key answers before any gate, if it is known; the stored execution where it agrees.
    pub existing: Option<Result<Box<Execution>, Box<Rejection>>>,
}

/// Walks every gate of a put without writing anything.
pub fn plan(session: &mut Session, put: PutIntent) -> Result<Plan, OpError> {
    let key = key_of(&put).clone();
    let service = put.service.clone();
    let read = session.ledger.read()?;
    let state = read.service_state(&service, std::slice::from_ref(&key))?;
    let put = with_ledger_facts(put, &state, &read)?;
    drop(read);
    let now = on_ledger_clock(&state, session.now())?;
    let reports =
        session.with_context(&state, |context| gates::of_put(&state, &put, context, now))?;
    let existing = match (answer_of_key(&state, &put), state.executions.get(&key)) {
        (Some(Err(rejection)), _) => Some(Err(Box::new(rejection))),
        (Some(Ok(())), Some(stored)) => Some(Ok(Box::new(stored.clone()))),
        (Some(Ok(())) | None, _) => None,
    };
    Ok(Plan { state, reports, existing })
}
