//! Looking at the copy that serves: what a change would have to copy, and which services of its
//! environment are being changed. The shared step of `placement plan`, `placement change` and
//! `operation run`. Changes nothing.

use super::error::OpError;
use super::ids::mint;
use super::relocating::{LOOK_TIMEOUT, ask};
use super::session::Session;
use crate::actuator::process::ChildSpec;
use crate::domain::id::{EnvironmentName, FenceToken, PlacementEpoch, RelocatorName, ServiceName};
use crate::domain::placement::command::{AdoptEnvironment, Sighting};
use crate::domain::placement::environment::Environment;
use crate::domain::placement::protocol::{Call, CopyPlace, Order, Receipt, Reply, Request};
use crate::domain::placement::state::PlacementState;
use crate::domain::scale::execution::Execution;
use crate::domain::time::Timestamp;
use crate::ledger::{LedgerError, ReadTxn};

/// What the environment's relocator says of the copy that serves. A host that cannot ask is no
/// error: nobody knows then.
pub(super) fn sighting_of(
    session: &mut Session,
    state: &PlacementState,
    environment: &Environment,
) -> Result<Sighting, OpError> {
    let relocator = environment.relocator.as_ref().and_then(|name| state.relocators.get(name));
    let Some(relocator) = relocator else {
        return Ok(Sighting::Unasked(format!("nobody moves {}", environment.name)));
    };
    let looked = Looked {
        environment: &environment.name,
        relocator: &relocator.name,
        source: environment.effective.copy(),
        epoch: environment.effective.epoch,
    };
    let spec = session.bound_relocator(&relocator.name)?;
    looked.at(&spec)
}

/// The same of a copy that is to become known. A host that serves no such relocator is no error,
/// either.
pub(super) fn sighting_before(
    session: &mut Session,
    ask: &AdoptEnvironment,
) -> Result<Option<Sighting>, OpError> {
    let Some(relocator) = &ask.relocator else { return Ok(None) };
    let (cell, generation) = (ask.cell.clone(), ask.generation.clone());
    let looked = Looked {
        environment: &ask.environment,
        relocator,
        epoch: generation.epoch,
        source: CopyPlace { cell, generation },
    };
    match session.bound_relocator(relocator) {
        Ok(spec) => looked.at(&spec).map(Some),
        Err(OpError::Relocator(fault)) => Ok(Some(Sighting::Unasked(fault.to_string()))),
        Err(error) => Err(error),
    }
}

/// A copy that is looked at, and by whom.
struct Looked<'a> {
    environment: &'a EnvironmentName,
    relocator: &'a RelocatorName,
    source: CopyPlace,
    epoch: PlacementEpoch,
}

impl Looked<'_> {
    fn at(self, spec: &ChildSpec) -> Result<Sighting, OpError> {
        let call = Call {
            call_id: mint("call-")?,
            deadline_ms: LOOK_TIMEOUT,
            environment: self.environment.clone(),
            operation: self.source.generation.operation.clone(),
            // Who looks holds nothing.
            token: FenceToken::MIN,
            epoch: self.epoch,
            order: Order::Inventory { source: self.source },
        };
        let request = Request::Call(Box::new(call));
        match ask(spec, self.relocator, &request, LOOK_TIMEOUT) {
            Ok(Reply::Refused(error)) => Ok(Sighting::Refused(error)),
            Ok(Reply::Done(receipt)) => Ok(match *receipt {
                Receipt::Inventory(inventory) => Sighting::Seen(Box::new(inventory)),
                other => Sighting::Unasked(format!("it answered {}", other.op())),
            }),
            Err(OpError::Relocator(fault)) => Ok(Sighting::Unasked(fault.to_string())),
            Err(error) => Err(error),
        }
    }
}

impl Session {
    /// The services of an environment of which something is in flight, for a plan: a change asks
    /// again under its locks.
    pub(super) fn in_flight_in(
        &mut self,
        environment: &EnvironmentName,
    ) -> Result<Vec<ServiceName>, OpError> {
        let now = self.now();
        let read = self.ledger.read()?;
        in_flight_of(&read, environment, now)
    }
}

/// The same by what a transaction sees.
pub(super) fn in_flight_of(
    read: &ReadTxn<'_>,
    environment: &EnvironmentName,
    now: Timestamp,
) -> Result<Vec<ServiceName>, OpError> {
    let mut found = Vec::new();
    for service in services_of(read, environment)? {
        let state = read.service_state(&service, &[])?;
        let in_flight = |it: &Execution| it.is_live() && it.is_in_flight(now);
        if state.executions.values().any(in_flight) {
            found.push(service);
        }
    }
    Ok(found)
}

/// The services that an environment consists of, also those that are retired.
pub(super) fn services_of(
    read: &ReadTxn<'_>,
    environment: &EnvironmentName,
) -> Result<Vec<ServiceName>, LedgerError> {
    read.services_where(|head| {
        head.registration.as_ref().and_then(|it| it.environment.as_ref()) == Some(environment)
    })
}
