//! `cooldown`: how long a service still cools.

use super::error::OpError;
use super::session::Session;
use crate::domain::id::ServiceName;
use crate::domain::scale::cooldown::{CooldownStatus, cooldown as status_of};
use crate::domain::scale::decide::on_ledger_clock;
use crate::domain::scale::state::ServiceHead;
use crate::domain::time::Timestamp;

/// The cooldown of a service now, and the service.
pub fn cooldown(
    session: &mut Session,
    service: &ServiceName,
) -> Result<(CooldownStatus, ServiceHead, Timestamp), OpError> {
    let state = session.load_service(service)?;
    let now = on_ledger_clock(&state, session.now())?;
    Ok((status_of(&state, now), state.head, now))
}
