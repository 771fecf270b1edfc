//! A change of a placement: everything that it needs in one decision, or nothing.

use super::super::command::{Change, Sighting};
use super::super::environment::{Desired, Effective, Environment, Reservation, Role, Standby};
use super::super::event::PlacementBody;
use super::super::operation::{Course, Operation, OperationKind, Step};
use super::super::protocol::{CopyPlace, Generation, Inventory, Refusal, WorkspaceState};
use super::super::registry::{Cell, PlacementPolicy, Profile, is_fresh};
use super::super::rejection::PlacementRejection;
use super::super::request::{ChangeRequest, LocationWish, StandbyWish};
use super::super::state::PlacementState;
use super::reserved::{Moving, Point};
use super::room::{Among, Asks};
use super::{Decided, Decision, Draft, not_found, unchanged};
use crate::domain::id::{EnvironmentRevision, OperationId, PlacementEpoch, ProfileName};
use crate::domain::placement::capacity::Axis;
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

    let Planned { kind, desired, from, to, standby_before, snapshot, steps, .. } = planned;
    let before = &environment.desired;
    let operation = Operation {
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
        admitted_at: draft.now,
        actor: draft.context.by.actor.clone(),
        ended_at: None,
    };
    let operation_id = operation.operation_id.clone();
    let reservations = planned.reservations;
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
    check_where(request, named)?;
    let policy = check_premises(state, environment, request)?;

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
    let kind = match (is_moved, snapshot.is_some() || is_dropped) {
        (true, _) => OperationKind::Relocation,
        (false, true) => OperationKind::Standby,
        (false, false) => OperationKind::InPlace,
    };
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
    let moving = Moving {
        from: &from,
        to: &to,
        standby_before: standby_before.as_ref(),
        snapshot: snapshot.as_ref(),
    };
    let is_over = kind == OperationKind::InPlace;
    let is_committed = kind != OperationKind::Relocation;
    let during = Point { is_committed, is_over, ..Point::default() };
    let reservations = moving.reservations(state, during);
    asks.admit(&environment.reservations, &reservations)?;
    let after = Point {
        is_committed: true,
        is_standby_committed: snapshot.is_some() || is_dropped,
        is_over: true,
        ..Point::default()
    };
    let reservations_after = moving.reservations(state, after);
    let is_replaced = standby_before.is_some();
    let steps = steps(is_moved, (snapshot.is_some(), is_dropped), is_replaced);
    Ok(Planned {
        kind,
        desired,
        from,
        to,
        standby_before,
        snapshot,
        steps,
        reservations,
        reservations_after,
        is_there,
    })
}

/// A location and a cell that are both named must agree.
fn check_where(request: &ChangeRequest, named: Option<&Cell>) -> Result<(), PlacementRejection> {
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

fn profile_of<'s>(
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

/// The cells of a change.
struct Chosen<'s> {
    cell: &'s Cell,
    /// Where a recovery copy is made.
    snapshot: Option<&'s Cell>,
}

impl<'s> Chosen<'s> {
    fn of(
        asks: &Asks<'s>,
        environment: &Environment,
        request: &ChangeRequest,
        desired: &Desired,
        profile: &Profile,
    ) -> Result<Self, PlacementRejection> {
        let cell_of = |name| asks.state.cells.get(name).ok_or_else(|| not_found("cell", name));
        let standby = environment.standby.as_ref();
        let is_wished = |location: &_| standby.is_some_and(|it| it.location == *location);
        let stays = match &desired.standby {
            StandbyWish::None => None,
            StandbyWish::In(location) => standby.filter(|_| is_wished(location)),
        };
        let stays = stays.map(|standby| &standby.copy.cell);
        let amounts = profile.reserved();
        let held = profile_of(asks.state, &environment.effective.profile)?.reserved();
        let current = &environment.effective.cell;
        let cell = if request.says_where() {
            let location = match &desired.location {
                LocationWish::Auto => None,
                LocationWish::In(location) => Some(location),
            };
            let is_kept = location.is_none_or(|it| *it == environment.effective.location)
                && desired.cell.as_ref().is_none_or(|cell| cell == current);
            let named = desired.cell.as_ref();
            // What is named as the cell that it is in is no move out of a cell that is cordoned.
            if named == Some(current) {
                current.clone()
            } else {
                let kept = is_kept.then_some((current, amounts.beyond(held)));
                let among = Among { location, cell: named, kept, taken: stays };
                asks.choose((Role::Primary, amounts), &among)?
            }
        } else {
            current.clone()
        };
        let snapshot = match &desired.standby {
            StandbyWish::None => None,
            StandbyWish::In(location) if is_wished(location) && !request.refresh_standby => None,
            StandbyWish::In(location) => {
                // The older copy stays until the new one is read back: both are stored.
                let more = amounts.beyond(held).plus(amounts.storage_alone());
                let kept = stays.map(|stays| (stays, more));
                let among =
                    Among { location: Some(location), cell: None, kept, taken: Some(&cell) };
                Some(asks.choose((Role::Standby, amounts), &among)?)
            }
        };
        if request.refresh_standby && desired.standby == StandbyWish::None {
            let text = format!("{} has no recovery copy that could be made anew", environment.name);
            return Err(PlacementRejection::Contradiction(text));
        }
        let snapshot = snapshot.as_ref().map(cell_of).transpose()?;
        Ok(Self { cell: cell_of(&cell)?, snapshot })
    }
}

/// A change that is held against what is offered, measured and seen.
struct Asked<'a> {
    asks: &'a Asks<'a>,
    environment: &'a Environment,
    request: &'a ChangeRequest,
    desired: &'a Desired,
    profile: &'a Profile,
}

impl Asked<'_> {
    /// Only what the policy offers can be asked for, within its budget.
    fn check_offer(&self, is_copied: bool) -> Result<(), PlacementRejection> {
        if self.request.profile.is_none() && !is_copied {
            return Ok(());
        }
        let policy = self.asks.policy;
        let (environment, name) = (self.environment.name.clone(), policy.name.clone());
        let Some(cost) = policy.offers.get(&self.profile.name) else {
            return Err(PlacementRejection::ProfileNotOffered {
                environment,
                policy: name,
                profile: self.profile.name.clone(),
                offered: policy.offers.keys().cloned().collect(),
            });
        };
        let copies = if self.desired.standby == StandbyWish::None { 1 } else { 2 };
        let (cost, budget) = (u128::from(cost.get()) * copies, policy.budget.get());
        if cost <= u128::from(budget) {
            return Ok(());
        }
        Err(PlacementRejection::CostExceeded { environment, policy: name, cost, budget })
    }

    /// A smaller profile needs fresh usage, and must have room for it.
    fn check_shrink(&self) -> Result<(), PlacementRejection> {
        let before = profile_of(self.asks.state, &self.environment.effective.profile)?;
        if !self.profile.is_smaller_than(before) {
            return Ok(());
        }
        let environment = || self.environment.name.clone();
        let usage = self.asks.state.usages.get(&self.environment.name);
        let missing =
            |usage| PlacementRejection::UsageMissing { environment: environment(), usage };
        let usage = usage.ok_or_else(|| missing(None))?;
        let total = usage.total().ok_or_else(|| missing(Some(Box::new(usage.clone()))))?;
        let (fresh_for, now) = (self.asks.policy.usage_fresh_for_ms, self.asks.now);
        let measured_at = usage.measured_at;
        if !is_fresh(measured_at, fresh_for, now) {
            let environment = environment();
            return Err(PlacementRejection::UsageStale {
                environment,
                measured_at,
                fresh_for,
                now,
            });
        }
        for axis in [Axis::StorageBytes, Axis::MemoryBytes] {
            let (used, maximum) = (total.of(axis), self.profile.maximum.of(axis));
            if used > u128::from(maximum) {
                return Err(PlacementRejection::UnsafeShrink {
                    environment: environment(),
                    profile: self.profile.name.clone(),
                    axis,
                    used,
                    maximum,
                    measured_at,
                });
            }
        }
        Ok(())
    }

    fn check_seen(&self, seen: &Inventory) -> Result<(), PlacementRejection> {
        let environment = self.environment;
        if seen.workspace == WorkspaceState::Running {
            let environment = environment.name.clone();
            return Err(PlacementRejection::WorkspaceRunning { environment });
        }
        if seen.source != environment.effective.copy() {
            return Err(unknown(environment, format!("{} was looked at", seen.source)));
        }
        let maximum = self.profile.maximum.of(Axis::StorageBytes);
        let is_another = self.profile.name != environment.effective.profile;
        if is_another && seen.bytes > maximum {
            return Err(PlacementRejection::UnsafeShrink {
                environment: environment.name.clone(),
                profile: self.profile.name.clone(),
                axis: Axis::StorageBytes,
                used: u128::from(seen.bytes),
                maximum,
                measured_at: self.asks.now,
            });
        }
        Ok(())
    }

    /// What is to be copied must be whole and at rest, and somebody must be able to copy it.
    fn check_copy(&self, change: &Change, is_moved: bool) -> Result<(), PlacementRejection> {
        let environment = || self.environment.name.clone();
        let what = if is_moved { "a move" } else { "a recovery copy" };
        let name = self
            .environment
            .relocator
            .as_ref()
            .ok_or_else(|| PlacementRejection::NoRelocator { environment: environment(), what })?;
        let relocator = self.asks.state.relocators.get(name);
        let relocator = relocator.ok_or_else(|| not_found("relocator", name))?;
        if is_moved && !(relocator.can("fence") && relocator.can("unfence")) {
            let why = format!("relocator {name} cannot fence");
            return Err(PlacementRejection::UnprovableFencing { environment: environment(), why });
        }
        match &change.sighting {
            Some(Sighting::Seen(inventory)) => self.check_seen(inventory),
            Some(Sighting::Refused(error)) => Err(refused(self.environment, &error.refusal)),
            Some(Sighting::Unasked(why)) => Err(unknown(self.environment, why.clone())),
            None => Err(unknown(self.environment, "nobody was asked".to_owned())),
        }
    }
}

fn unknown(environment: &Environment, why: String) -> PlacementRejection {
    PlacementRejection::InventoryUnknown { environment: environment.name.clone(), why }
}

/// What a refusal of the relocator means before anything is done.
fn refused(environment: &Environment, refusal: &Refusal) -> PlacementRejection {
    let name = environment.name.clone();
    match refusal {
        Refusal::MissingDependency { missing } => {
            PlacementRejection::MissingDependency { environment: name, missing: missing.clone() }
        }
        Refusal::WorkspaceRunning => PlacementRejection::WorkspaceRunning { environment: name },
        Refusal::UnprovableFencing { why } => {
            PlacementRejection::UnprovableFencing { environment: name, why: why.clone() }
        }
        other => unknown(environment, other.to_string()),
    }
}
