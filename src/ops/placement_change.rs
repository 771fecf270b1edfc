//! `placement plan` and `placement change`: what a change would do, and its admission.
//!
//! The copy that serves is looked at before the transaction, because nothing is to exist after a
//! change that could not be made of it.

use super::error::OpError;
use super::ids::mint;
use super::placing::{Placed, not_found};
use super::policy_cache::PolicyInTxn;
use super::session::Session;
use super::sight::{in_flight_of, sighting_of};
use crate::domain::id::IdempotencyKey;
use crate::domain::placement::command::{Change, Command, Context, Sighting};
use crate::domain::placement::decide::{Planned, decide, planned};
use crate::domain::placement::operation::Operation;
use crate::domain::placement::rejection::PlacementRejection;
use crate::domain::placement::request::{ChangeRequest, KeyedRequest};
use crate::domain::placement::state::PlacementState;

/// What the relocator says, where it is to be asked: not of a key that is known, and not of what
/// would be refused whatever it says.
fn looked_at(
    session: &mut Session,
    state: &PlacementState,
    asked: &KeyedRequest,
) -> Result<Option<Sighting>, OpError> {
    if state.operation_of(&asked.key).is_some() {
        return Ok(None);
    }
    let name = &asked.request.environment;
    let environment = state.environments.get(name).ok_or_else(|| not_found("environment", name))?;
    let change = change_of(asked, None, Vec::new())?;
    match planned(state, &change, session.now()) {
        Err(PlacementRejection::InventoryUnknown { .. }) => {
            sighting_of(session, state, environment).map(Some)
        }
        // It would need nobody to look; or it is decided again under the locks, where a refusal
        // leaves its row.
        Ok(_) | Err(_) => Ok(None),
    }
}

fn change_of(
    asked: &KeyedRequest,
    sighting: Option<Sighting>,
    in_flight: Vec<crate::domain::id::ServiceName>,
) -> Result<Change, OpError> {
    Ok(Change { asked: asked.clone(), operation_id: mint("op-")?, sighting, in_flight })
}

/// What a change would come to.
pub enum PlacementPlan {
    /// This would be done.
    Of(Box<Planned>),
    /// Its key is taken by the same change: this one.
    Replayed(Box<Operation>),
}

/// What a change would do, or why it would be refused: by the decision of the change itself. Writes
/// nothing. Under no key it is a new wish.
pub fn placement_plan(
    session: &mut Session,
    key: Option<IdempotencyKey>,
    request: ChangeRequest,
) -> Result<PlacementPlan, OpError> {
    let key = key.map_or_else(|| mint("plan-"), Ok)?;
    let asked = KeyedRequest { key, request };
    let state = session.ledger.read()?.placement(&[], Some(&asked.key))?;
    let sighting = looked_at(session, &state, &asked)?;
    let in_flight = session.in_flight_in(&asked.request.environment)?;
    let change = change_of(&asked, sighting, in_flight)?;
    let now = session.now();
    let read = session.ledger.read()?;
    let (ledger_id, incarnation) = (read.identity().ledger_id.clone(), read.identity().incarnation);
    let policy = PolicyInTxn::new(&read, &mut session.policy);
    let by = &session.by;
    let context = Context { by, ledger_id: &ledger_id, incarnation, policy: &policy };
    let decided = decide(&state, &Command::Change(Box::new(change.clone())), &context, now);
    policy.finish()?;
    let replayed = decided?.operation_id.and_then(|id| state.operations.get(&id).cloned());
    Ok(match replayed {
        Some(operation) => PlacementPlan::Replayed(Box::new(operation)),
        None => PlacementPlan::Of(Box::new(planned(&state, &change, now)?)),
    })
}

/// Admits a change, with everything that it needs, or nothing.
pub fn placement_change(session: &mut Session, asked: &KeyedRequest) -> Result<Placed, OpError> {
    let state = session.ledger.read()?.placement(&[], Some(&asked.key))?;
    let sighting = looked_at(session, &state, asked)?;
    let mut change = change_of(asked, sighting, Vec::new())?;
    let now = session.now();
    session.place(&[], Some(&asked.key), |_, txn| {
        // Under the locks: nothing of its services starts before this is decided.
        change.in_flight = in_flight_of(txn, &change.asked.request.environment, now)?;
        Ok(Command::Change(Box::new(change)))
    })
}
