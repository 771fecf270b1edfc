//! `plan`: every gate of a put, and nothing written.

use super::error::OpError;
use super::intent_put::{key_of, with_ledger_facts};
use super::session::Session;
use crate::domain::scale::command::PutIntent;
use crate::domain::scale::decide::on_ledger_clock;
use crate::domain::scale::execution::Execution;
use crate::domain::scale::gates::{self, Reports};
use crate::domain::scale::state::ServiceState;

/// What a put would meet.
pub struct Plan {
    /// The service as it stands.
    pub state: ServiceState,
    /// What the gates say.
    pub reports: Reports,
    /// The execution that the key names already, if it does.
    pub existing: Option<Execution>,
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
    let existing = state.executions.get(&key).cloned();
    Ok(Plan { state, reports, existing })
}
