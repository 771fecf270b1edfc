//! A change of a placement: everything that it needs in one decision, or nothing.

use super::super::command::Change;
use super::super::environment::{Desired, Effective, Environment, Reservation, Standby};
use super::super::event::PlacementBody;
use super::super::operation::{Course, Operation, OperationKind, Step};
use super::super::protocol::{CopyPlace, Generation};
use super::super::registry::{Cell, PlacementPolicy, Profile};
use super::super::rejection::PlacementRejection;
use super::super::request::{ChangeRequest, LocationWish, StandbyWish};
use super::super::state::PlacementState;
use super::asked::Asked;
use super::chosen::Chosen;
use super::reserved::{Moving, Point};
use super::room::Asks;
use super::{Decided, Decision, Draft, not_found, unchanged};
use crate::domain::id::{EnvironmentRevision, OperationId, PlacementEpoch, ProfileName};
use crate::domain::scale::decide::Reply;
use crate::domain::time::Timestamp;

/// What a change would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// What kind of change it is.
    pub kind: OperationKind,
    /// What is wished then.
    pub desired: Desired,
    /// The owner that it begins with.
    pub from: Effective,
    /// The owner that it commits.
    pub to: Effective,
    /// The recovery copy that it begins with.
    pub standby_before: Option<Standby>,
    /// The recovery copy that is made.
    pub snapshot: Option<CopyPlace>,
    /// The older copy whose workspace goes.
    pub workspace: Option<CopyPlace>,
    /// Its steps.
    pub steps: Vec<Step>,
    /// What is reserved meanwhile.
    pub reservations: Vec<Reservation>,
    /// What is reserved afterwards.
    pub reservations_after: Vec<Reservation>,
    /// Whether nothing is to be done: it is so already.
    pub is_there: bool,
}

pub(super) fn change(draft: &Draft<'_>, change: &Change) -> Decided {
    let request = &change.asked.request;
    if let Some(operation) = draft.state.operation_of(&change.asked.key) {
        return replayed(operation, request);
    }

    let planned = planned(draft.state, change, draft.now)?;
    if planned.is_there {
        return Ok(unchanged(None));
    }
    let environment = environment_of(draft.state, request)?;
    let decision = draft.may_relocate(environment, Some(&planned.to))?;

    let revision = EnvironmentRevision::new(request.expected_revision.saturating_add(1))
        .map_err(|error| PlacementRejection::Contradiction(error.to_string()))?;

    let reservations = planned.reservations.clone();
    let operation = begun(draft, change, planned, revision, &environment.desired);
    let operation_id = operation.operation_id.clone();
    let mut bodies = Vec::new();
    // What stays in its cell has its profile and its mode at once.
    let is_over = operation.kind == OperationKind::InPlace;
    let at_once = operation.kind != OperationKind::Relocation && operation.to != operation.from;
    let epoch = operation.to.epoch;
    let operation = Box::new(operation);
    let admitted = reservations.clone();
    bodies.push(PlacementBody::ChangeAdmitted { operation, reservations: admitted, decision });
    if at_once {
        let (id, list) = (operation_id.clone(), reservations.clone());
        let services = Vec::new();
        bodies.push(PlacementBody::PlacementCommitted {
            operation_id: id,
            token: None,
            epoch,
            reservations: list,
            services,
        });
    }
    if is_over {
        let course = Course::Succeeded;
        bodies.push(PlacementBody::OperationEnded { operation_id, course, reservations });
    }
    Ok(draft.done(bodies))
}

/// The operation of a change that is admitted now.
fn begun(
    draft: &Draft<'_>,
    change: &Change,
    planned: Planned,
    revision: EnvironmentRevision,
    before: &Desired,
) -> Operation {
    let request = &change.asked.request;
    let Planned { kind, desired, from, to, standby_before, snapshot, workspace, steps, .. } =
        planned;
    Operation {
        operation_id: change.operation_id.clone(),
        environment: request.environment.clone(),
        key: change.asked.key.clone(),
        request: request.clone(),
        revision,
        kind,
        desired,
        desired_before: before.clone(),
        from,
        to,
        standby_before,
        snapshot,
        workspace,
        steps,
        done: Vec::new(),
        begun: Vec::new(),
        started: None,
        course: Course::Forward,
        is_going_back: false,
        tries: 0,
        trouble: None,
        lease: None,
        fenced: None,
        unsure: None,
        admitted_at: draft.now,
        actor: draft.context.by.actor.clone(),
        ended_at: None,
    }
}

/// The same key with the same body is the same change; with another body it is nobody's.
fn replayed(operation: &Operation, submitted: &ChangeRequest) -> Decided {
    let differences = operation.request.differences(submitted);
    if differences.is_empty() {
        let operation_id = Some(operation.operation_id.clone());
        return Ok(Decision { events: Vec::new(), reply: Reply::Replayed, operation_id });
    }
    Err(PlacementRejection::KeyConflict {
        key: operation.key.clone(),
        operation_id: operation.operation_id.clone(),
        differences,
    })
}

fn environment_of<'s>(
    state: &'s PlacementState,
    request: &ChangeRequest,
) -> Result<&'s Environment, PlacementRejection> {
    let name = &request.environment;
    state.environments.get(name).ok_or_else(|| not_found("environment", name))
}

/// What a change would do, or why it would be refused; the ledger's own policy is not asked.
pub fn planned(
    state: &PlacementState,
    change: &Change,
    now: Timestamp,
) -> Result<Planned, PlacementRejection> {
    let request = &change.asked.request;
    let environment = environment_of(state, request)?;
    let named = match &request.cell {
        None => None,
        Some(cell) => Some(state.cells.get(cell).ok_or_else(|| not_found("cell", cell))?),
    };
    check_where(state, request, named)?;
    let policy = check_premises(state, environment, request)?;
    if let Some(generation) = &request.retire_workspace {
        return without_workspace(environment, request, generation);
    }

    let desired = request.whole(&environment.desired, named);
    let profile = profile_of(state, &desired.profile)?;
    let asks = Asks { state, policy, environment: &environment.name, now };
    let chosen = Chosen::of(&asks, environment, request, &desired, profile)?;
    let from = environment.effective.clone();
    let is_moved = chosen.cell.name != from.cell;
    let to = Effective {
        cell: chosen.cell.name.clone(),
        location: chosen.cell.location.clone(),
        profile: desired.profile.clone(),
        runtime_mode: desired.runtime_mode,
        ..from.clone()
    };
    let to = if is_moved { moved(to, &change.operation_id)? } else { to };
    let snapshot = chosen.snapshot.as_ref().map(|cell| CopyPlace {
        cell: cell.name.clone(),
        generation: Generation { epoch: to.epoch, operation: change.operation_id.clone() },
    });
    let is_dropped = desired.standby == StandbyWish::None && environment.standby.is_some();
    let kind = kind_of(is_moved, snapshot.is_some() || is_dropped);
    let standby_before = environment.standby.clone();
    let is_there = kind == OperationKind::InPlace && desired == environment.desired && to == from;

    let asked = Asked { asks: &asks, environment, request, desired: &desired, profile };
    asked.check_offer(is_moved || snapshot.is_some())?;
    asked.check_shrink()?;
    if is_moved && !change.in_flight.is_empty() {
        let (environment, services) = (environment.name.clone(), change.in_flight.clone());
        return Err(PlacementRejection::ServiceInFlight { environment, services });
    }
    if is_moved || snapshot.is_some() {
        asked.check_copy(change, is_moved)?;
    }
    let is_replaced = standby_before.is_some();
    let steps = steps(is_moved, (snapshot.is_some(), is_dropped), is_replaced);
    let (reservations, reservations_after) = (Vec::new(), Vec::new());
    let mut planned = Planned {
        kind,
        desired,
        from,
        to,
        standby_before,
        snapshot,
        workspace: None,
        steps,
        reservations,
        reservations_after,
        is_there,
    };
    planned.reserve(state, is_dropped);
    asks.admit(&environment.reservations, &planned.reservations)?;
    Ok(planned)
}

const fn kind_of(is_moved: bool, is_of_standby: bool) -> OperationKind {
    match (is_moved, is_of_standby) {
        (true, _) => OperationKind::Relocation,
        (false, true) => OperationKind::Standby,
        (false, false) => OperationKind::InPlace,
    }
}

/// The workspace that an older copy has left goes; all else stays as it is.
fn without_workspace(
    environment: &Environment,
    request: &ChangeRequest,
    generation: &Generation,
) -> Result<Planned, PlacementRejection> {
    if request.says_something() {
        let text = "a workspace is retired by a change of its own".to_owned();
        return Err(PlacementRejection::Contradiction(text));
    }
    let kept = environment.kept_workspaces.iter().find(|kept| kept.generation == *generation);
    let kept = kept.ok_or_else(|| not_found("workspace of copy", generation))?;
    if environment.relocator.is_none() {
        let (environment, what) = (environment.name.clone(), "a workspace");
        return Err(PlacementRejection::NoRelocator { environment, what });
    }
    Ok(Planned {
        kind: OperationKind::Workspace,
        desired: environment.desired.clone(),
        from: environment.effective.clone(),
        to: environment.effective.clone(),
        standby_before: environment.standby.clone(),
        snapshot: None,
        workspace: Some(kept.clone()),
        steps: vec![Step::RetireWorkspace],
        reservations: environment.reservations.clone(),
        reservations_after: environment.reservations.clone(),
        is_there: false,
    })
}

impl Planned {
    /// What is reserved meanwhile and afterwards.
    fn reserve(&mut self, state: &PlacementState, is_dropped: bool) {
        let moving = Moving {
            from: &self.from,
            to: &self.to,
            standby_before: self.standby_before.as_ref(),
            snapshot: self.snapshot.as_ref(),
        };
        let is_over = self.kind == OperationKind::InPlace;
        let is_committed = self.kind != OperationKind::Relocation;
        let during = Point { is_committed, is_over, ..Point::default() };
        let after = Point {
            is_committed: true,
            is_standby_committed: self.snapshot.is_some() || is_dropped,
            is_over: true,
            ..Point::default()
        };
        let reservations = moving.reservations(state, during);
        self.reservations_after = moving.reservations(state, after);
        self.reservations = reservations;
    }
}

/// A location that nobody has registered is a wrong name, and no want of capacity.
fn check_known(state: &PlacementState, request: &ChangeRequest) -> Result<(), PlacementRejection> {
    let place = match &request.location {
        Some(LocationWish::In(location)) => Some(location),
        Some(LocationWish::Auto) | None => None,
    };
    let standby = match &request.standby {
        Some(StandbyWish::In(location)) => Some(location),
        Some(StandbyWish::None) | None => None,
    };
    let mut named = place.into_iter().chain(standby);
    let unknown = named.find(|location| !state.locations.contains_key(*location));
    unknown.map_or(Ok(()), |location| Err(not_found("location", location)))
}

/// A location and a cell that are both named must agree.
fn check_where(
    state: &PlacementState,
    request: &ChangeRequest,
    named: Option<&Cell>,
) -> Result<(), PlacementRejection> {
    check_known(state, request)?;
    let (Some(cell), Some(location)) = (named, &request.location) else { return Ok(()) };
    let text = match location {
        LocationWish::In(location) if *location == cell.location => return Ok(()),
        LocationWish::In(location) => {
            format!("cell {} is in location {}, not in {location}", cell.name, cell.location)
        }
        LocationWish::Auto => {
            format!("cell {} is named, and so the location is not chosen", cell.name)
        }
    };
    Err(PlacementRejection::Contradiction(text))
}

/// What the request was made against must be what holds, and nothing else may be under way.
fn check_premises<'s>(
    state: &'s PlacementState,
    environment: &Environment,
    request: &ChangeRequest,
) -> Result<&'s PlacementPolicy, PlacementRejection> {
    let name = || environment.name.clone();
    let (expected, actual) = (request.expected_revision, environment.revision.get());
    if expected != actual {
        return Err(PlacementRejection::StaleRevision { environment: name(), expected, actual });
    }
    let policy = state.policies.get(&environment.policy);
    let policy = policy.ok_or_else(|| not_found("placement policy", &environment.policy))?;
    let (expected, actual) = (request.policy_revision, policy.revision.get());
    if expected != actual {
        let (environment, policy) = (name(), policy.name.clone());
        return Err(PlacementRejection::StalePolicy { environment, policy, expected, actual });
    }
    if let Some(operation_id) = &environment.operation {
        let operation = state.operations.get(operation_id);
        return Err(PlacementRejection::OperationInFlight {
            environment: name(),
            operation_id: operation_id.clone(),
            course: operation.map_or(Course::Forward, |operation| operation.course),
            step: operation.and_then(Operation::next_step),
        });
    }
    Ok(policy)
}

pub(super) fn profile_of<'s>(
    state: &'s PlacementState,
    profile: &ProfileName,
) -> Result<&'s Profile, PlacementRejection> {
    state.profiles.get(profile).ok_or_else(|| not_found("profile", profile))
}

/// The copy that is made, one epoch further.
fn moved(to: Effective, operation_id: &OperationId) -> Result<Effective, PlacementRejection> {
    let full = || PlacementRejection::Contradiction("there is no epoch left".to_owned());
    let epoch: PlacementEpoch = to.epoch.next().ok_or_else(full)?;
    let generation = Generation { epoch, operation: operation_id.clone() };
    Ok(Effective { generation, epoch, ..to })
}

/// The steps of a change; a recovery copy is made, or dropped.
fn steps(is_moved: bool, (is_made, is_dropped): (bool, bool), is_replaced: bool) -> Vec<Step> {
    use Step::{
        Commit, CommitStandby, Drain, Fence, Inventory, Retire, RetireStandby, Route, Snapshot,
        Transfer, Verify,
    };
    let moving = [Inventory, Drain, Fence, Transfer, Verify, Commit, Route, Retire];
    let mut steps = if is_moved { moving.to_vec() } else { Vec::new() };
    if is_made {
        // Nothing is drained for a recovery copy: it is made and read back while it serves.
        steps.extend((!is_moved).then_some(Inventory));
        steps.extend([Snapshot, CommitStandby]);
    }
    if is_dropped {
        steps.push(CommitStandby);
    }
    steps.extend(((is_made || is_dropped) && is_replaced).then_some(RetireStandby));
    steps
}
