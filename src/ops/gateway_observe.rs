//! `gateway observe`: where a service stands, as the contract says it.

use super::error::OpError;
use super::gateway::holds;
use super::session::Session;
use crate::domain::gateway::{Code, ScaleObservation, service_name};
use crate::domain::id::ServiceName;

/// Where a service stands. One that nobody has scaled has none at revision 0.
pub fn gateway_observe(session: &mut Session, raw: &str) -> Result<ScaleObservation, OpError> {
    let service: ServiceName = service_name(raw);
    let read = session.ledger.read()?;
    let head = read.service_head(&service)?;
    let holds = holds(&read, &service, &head)?;
    head.gateway_observation(holds.revision).ok_or_else(|| {
        let text = format!("the service holds {}, which the contract cannot say", holds.replicas);
        holds.refuses(Code::OutOfBounds, text).into()
    })
}
