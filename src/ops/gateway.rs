//! What the verbs of the gateway's contract share: who asks, where a service stands, how much room
//! the pool has, and how one operation is judged and accepted in a transaction.

pub(super) mod asked;
pub(super) mod pool;

use super::error::OpError;
use super::session::Session;
use crate::domain::gateway::{Holds, ScaleConflict, WRITER, service_name};
use crate::domain::id::ServiceName;
use crate::domain::scale::provenance::Claim;
use crate::domain::scale::state::ServiceHead;
use crate::ledger::ReadTxn;

impl From<ScaleConflict> for OpError {
    fn from(conflict: ScaleConflict) -> Self {
        Self::Gateway(Box::new(conflict))
    }
}

impl Session {
    /// Asks as the gateway from here on: that is whom policy is asked about. Which person or
    /// process has typed the line is still told by what is known of it.
    pub(super) fn act_as_gateway(&mut self) {
        self.by.actor = Claim::try_from(WRITER.to_owned()).expect("BUG: the writer is a claim");
    }

    /// Where a service of the contract stands, by its raw name.
    pub fn gateway_holds(&mut self, raw: &str) -> Result<Holds, OpError> {
        let service = service_name(raw);
        let read = self.ledger.read()?;
        let head = read.service_head(&service)?;
        holds(&read, &service, &head)
    }
}

/// Where a service stands. Before the gateway's first operation nothing is counted beside the
/// chain: then it is counted from there.
pub(super) fn holds(
    read: &ReadTxn<'_>,
    service: &ServiceName,
    head: &ServiceHead,
) -> Result<Holds, OpError> {
    let revision = match &head.gateway {
        Some(gateway) => gateway.revision,
        None if head.latest_revision == 0 => 0,
        None => read.accepted_ever(service)?,
    };
    Ok(Holds { replicas: head.gateway_replicas(), revision })
}
