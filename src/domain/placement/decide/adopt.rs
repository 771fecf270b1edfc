//! An environment that is there becomes known as it is: nothing is moved.

use super::super::command::{AdoptEnvironment, Sighting};
use super::super::environment::{Desired, Effective, Environment, Reservation, Role, Standby};
use super::super::event::PlacementBody;
use super::super::operation::{Course, Operation};
use super::super::protocol::Refusal;
use super::super::registry::{Cell, PlacementPolicy, Profile};
use super::super::rejection::PlacementRejection;
use super::super::request::{LocationWish, StandbyWish};
use super::super::state::PlacementState;
use super::asked::refused;
use super::room::Asks;
use super::{Decided, Draft, not_found, unchanged};
use crate::domain::id::EnvironmentRevision;

pub(super) fn adopt(draft: &Draft<'_>, ask: &AdoptEnvironment) -> Decided {
    let (state, name) = (draft.state, &ask.environment);
    let before = state.environments.get(name);
    let policy = state.policies.get(&ask.policy);
    let policy = policy.ok_or_else(|| not_found("placement policy", &ask.policy))?;
    let cell = state.cells.get(&ask.cell).ok_or_else(|| not_found("cell", &ask.cell))?;
    let profile = state.profiles.get(&ask.profile);
    let profile = profile.ok_or_else(|| not_found("profile", &ask.profile))?;
    if let Some(relocator) = &ask.relocator
        && !state.relocators.contains_key(relocator)
    {
        return Err(not_found("relocator", relocator));
    }

    if before.is_some_and(|before| is_same(before, ask)) {
        return Ok(unchanged(None));
    }

    check_premises(state, ask, before)?;
    // Who works in it is asked when it is to be moved.
    if let Some(Sighting::Refused(error)) = &ask.sighting
        && error.refusal != Refusal::WorkspaceRunning
    {
        return Err(refused(name, &error.refusal));
    }
    if !policy.offers.contains_key(&profile.name) {
        return Err(PlacementRejection::ProfileNotOffered {
            environment: name.clone(),
            policy: policy.name.clone(),
            profile: profile.name.clone(),
            offered: policy.offers.keys().cloned().collect(),
        });
    }
    let reserve = |role, cell| Reservation {
        role,
        cell,
        profile: profile.name.clone(),
        amounts: profile.reserved(),
    };
    let standby = before.and_then(|before| before.standby.clone());
    let mut reservations = vec![reserve(Role::Primary, cell.name.clone())];
    reservations.extend(standby.as_ref().map(|it| reserve(Role::Standby, it.copy.cell.clone())));
    let had = before.map_or(&[][..], |before| &before.reservations);
    let asks = Asks { state, policy, environment: name, now: draft.now };
    asks.admit(had, &reservations)?;
    let decision = draft.may_register(&format!("environment {name}"))?;
    let revision = EnvironmentRevision::new(actual_revision(before).saturating_add(1))
        .map_err(|error| PlacementRejection::Contradiction(error.to_string()))?;

    let known = Known { policy, cell, profile, revision };
    let environment = known.environment(draft, ask, before, standby, reservations);
    let (environment, reason) = (Box::new(environment), ask.reason.clone());
    Ok(draft.done(vec![PlacementBody::EnvironmentAdopted { environment, reason, decision }]))
}

/// It must be what is believed, at rest, and not older than what is known.
fn check_premises(
    state: &PlacementState,
    ask: &AdoptEnvironment,
    before: Option<&Environment>,
) -> Result<(), PlacementRejection> {
    let name = &ask.environment;
    let (expected, actual) = (ask.expected_revision, before.map_or(0, |it| it.revision.get()));
    if expected != actual {
        let environment = name.clone();
        return Err(PlacementRejection::StaleRevision { environment, expected, actual });
    }
    if let Some(operation_id) = before.and_then(|before| before.operation.as_ref()) {
        let operation = state.operations.get(operation_id);
        return Err(PlacementRejection::OperationInFlight {
            environment: name.clone(),
            operation_id: operation_id.clone(),
            course: operation.map_or(Course::Forward, |operation| operation.course),
            step: operation.and_then(Operation::next_step),
        });
    }
    let (given, actual) =
        (ask.generation.epoch.get(), before.map_or(0, |it| it.effective.epoch.get()));
    if given < actual {
        return Err(PlacementRejection::OlderEpoch { environment: name.clone(), given, actual });
    }
    Ok(())
}

fn actual_revision(before: Option<&Environment>) -> u64 {
    before.map_or(0, |before| before.revision.get())
}

/// Whether it is known so already.
fn is_same(before: &Environment, ask: &AdoptEnvironment) -> bool {
    let it = &before.effective;
    before.operation.is_none()
        && before.policy == ask.policy
        && before.relocator == ask.relocator
        && it.cell == ask.cell
        && it.generation == ask.generation
        && it.profile == ask.profile
        && it.runtime_mode == ask.runtime_mode
}

/// What an environment is adopted with.
struct Known<'k> {
    policy: &'k PlacementPolicy,
    cell: &'k Cell,
    profile: &'k Profile,
    revision: EnvironmentRevision,
}

impl Known<'_> {
    fn environment(
        &self,
        draft: &Draft<'_>,
        ask: &AdoptEnvironment,
        before: Option<&Environment>,
        standby: Option<Standby>,
        reservations: Vec<Reservation>,
    ) -> Environment {
        Environment {
            name: ask.environment.clone(),
            revision: self.revision,
            policy: self.policy.name.clone(),
            relocator: ask.relocator.clone(),
            desired: Desired {
                profile: self.profile.name.clone(),
                location: LocationWish::In(self.cell.location.clone()),
                cell: None,
                standby: standby
                    .as_ref()
                    .map_or(StandbyWish::None, |it| StandbyWish::In(it.location.clone())),
                runtime_mode: ask.runtime_mode,
            },
            effective: Effective {
                cell: self.cell.name.clone(),
                location: self.cell.location.clone(),
                profile: self.profile.name.clone(),
                runtime_mode: ask.runtime_mode,
                generation: ask.generation.clone(),
                epoch: ask.generation.epoch,
                since: draft.now,
            },
            standby,
            reservations,
            operation: None,
            leases: before.map_or(0, |before| before.leases),
            seen: before.and_then(|before| before.seen),
            kept_workspaces: before.map_or_else(Vec::new, |before| before.kept_workspaces.clone()),
        }
    }
}
