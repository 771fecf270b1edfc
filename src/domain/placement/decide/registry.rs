//! What is registered beforehand.

use super::{Decided, Draft, not_found, unchanged};
use crate::domain::id::{CellName, NUMBER_MAX, SettingRevision};
use crate::domain::placement::capacity::Axis;
use crate::domain::placement::command::Put;
use crate::domain::placement::event::PlacementBody;
use crate::domain::placement::registry::{
    Cell, Cordon, PlaceLocation, PlacementPolicy, Profile, RegisteredRelocator, ReplicaPool, Usage,
};
use crate::domain::placement::rejection::PlacementRejection;
use crate::domain::scale::intent::Reason;
use crate::domain::scale::service::CLOCK_SKEW_MAX;
use crate::domain::time::Timestamp;

/// The revision that a setting gets; none where it stays as it is.
fn next_revision(
    (noun, name): (&'static str, &dyn ToString),
    expected: Option<u64>,
    before: Option<SettingRevision>,
    is_same: bool,
) -> Result<Option<SettingRevision>, PlacementRejection> {
    let actual = before.map_or(0, SettingRevision::get);
    if let Some(expected) = expected.filter(|expected| *expected != actual) {
        let name = name.to_string();
        return Err(PlacementRejection::StaleSetting { noun, name, expected, actual });
    }
    if is_same {
        return Ok(None);
    }
    let next = before.map_or(Some(SettingRevision::MIN), SettingRevision::next);
    next.map(Some).ok_or_else(|| full(noun))
}

fn full(noun: &str) -> PlacementRejection {
    PlacementRejection::Contradiction(format!("the {noun} was changed as often as can be counted"))
}

/// Refuses what was measured later than now, by a clock that is wrong.
fn check_measured(at: Timestamp, now: Timestamp) -> Result<(), PlacementRejection> {
    if at <= now.plus(CLOCK_SKEW_MAX) {
        return Ok(());
    }
    let text = format!("nothing can have been measured at {at}: it is {now}");
    Err(PlacementRejection::Contradiction(text))
}

pub(super) fn location(draft: &Draft<'_>, put: &Put<PlaceLocation>) -> Decided {
    let name = &put.setting.name;
    let before = draft.state.locations.get(name);

    let is_same = before.is_some_and(|before| before.about == put.setting.about);
    let revision = before.map(|before| before.revision);
    let revision = next_revision(("location", name), put.expected, revision, is_same)?;
    let Some(revision) = revision else { return Ok(unchanged(None)) };

    let decision = draft.may_register(name.as_str())?;

    let location = PlaceLocation { revision, ..put.setting.clone() };
    Ok(draft.done(vec![PlacementBody::LocationPut { location, decision }]))
}

pub(super) fn cell(draft: &Draft<'_>, put: &Put<Cell>) -> Decided {
    let (name, asked) = (&put.setting.name, &put.setting);
    check_measured(asked.measured_at, draft.now)?;
    if !draft.state.locations.contains_key(&asked.location) {
        return Err(not_found("location", &asked.location));
    }

    let before = draft.state.cells.get(name);
    if let Some(before) = before.filter(|before| before.location != asked.location) {
        let text = format!(
            "cell {name} is in location {}, and does not move to {}: register another cell there",
            before.location, asked.location
        );
        return Err(PlacementRejection::Contradiction(text));
    }
    // A cordon is set and taken away by itself.
    let cordon = before.and_then(|before| before.cordon.clone());
    let revision = before.map_or(SettingRevision::MIN, |before| before.revision);
    let asked = Cell { revision, cordon, ..asked.clone() };
    let known = before.map(|before| before.revision);
    let next = next_revision(("cell", name), put.expected, known, before == Some(&asked))?;
    let Some(revision) = next else { return Ok(unchanged(None)) };

    let decision = draft.may_register(name.as_str())?;

    let cell = Cell { revision, ..asked };
    Ok(draft.done(vec![PlacementBody::CellPut { cell, decision }]))
}

pub(super) fn cordon(draft: &Draft<'_>, cell: &CellName, reason: Option<&Reason>) -> Decided {
    let before = draft.state.cells.get(cell).ok_or_else(|| not_found("cell", cell))?;

    let is_there = match (&before.cordon, reason) {
        (Some(cordon), Some(reason)) => cordon.reason == *reason,
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    if is_there {
        return Ok(unchanged(None));
    }

    let decision = draft.may_register(cell.as_str())?;
    let revision = before.revision.next().ok_or_else(|| full("cell"))?;

    let cordon = reason.map(|reason| Cordon {
        at: draft.now,
        actor: draft.context.by.actor.clone(),
        reason: reason.clone(),
    });
    let cell = Cell { revision, cordon, ..before.clone() };
    Ok(draft.done(vec![PlacementBody::CellPut { cell, decision }]))
}

pub(super) fn profile(draft: &Draft<'_>, profile: &Profile) -> Decided {
    if let Some(axis) = profile.maximum.first_below(profile.floor) {
        let text = format!(
            "profile {} promises {} of {} and lets nobody have more than {}",
            profile.name,
            axis.shown(u128::from(profile.floor.of(axis))),
            axis.as_str(),
            axis.shown(u128::from(profile.maximum.of(axis)))
        );
        return Err(PlacementRejection::Contradiction(text));
    }
    let is_too_much = |axis: &Axis| {
        let parts =
            [profile.floor, profile.overheads.rollout_overlap, profile.overheads.queue_proxy];
        parts.iter().map(|part| u128::from(part.of(*axis))).sum::<u128>() > u128::from(NUMBER_MAX)
    };
    if let Some(axis) = Axis::ALL.into_iter().find(is_too_much) {
        let text = format!("profile {} reserves too much {}", profile.name, axis.as_str());
        return Err(PlacementRejection::Contradiction(text));
    }

    if let Some(before) = draft.state.profiles.get(&profile.name) {
        return match first_difference(before, profile) {
            None => Ok(unchanged(None)),
            Some((part, stored, submitted)) => Err(PlacementRejection::ProfileConflict {
                profile: profile.name.clone(),
                part,
                stored,
                submitted,
            }),
        };
    }

    let decision = draft.may_register(profile.name.as_str())?;

    let profile = profile.clone();
    Ok(draft.done(vec![PlacementBody::ProfileRegistered { profile, decision }]))
}

fn first_difference(one: &Profile, other: &Profile) -> Option<(&'static str, String, String)> {
    let rows = |it: &Profile| {
        [
            ("floor", it.floor.to_string()),
            ("maximum", it.maximum.to_string()),
            ("rollout overlap", it.overheads.rollout_overlap.to_string()),
            ("queue proxy", it.overheads.queue_proxy.to_string()),
            ("isolation", it.isolation.to_string()),
        ]
    };
    let mut pairs = rows(one).into_iter().zip(rows(other));
    let differs = pairs.find(|((_, stored), (_, submitted))| stored != submitted);
    differs.map(|((field, stored), (_, submitted))| (field, stored, submitted))
}

pub(super) fn policy(draft: &Draft<'_>, put: &Put<PlacementPolicy>) -> Decided {
    let (name, asked) = (&put.setting.name, &put.setting);
    if let Some(profile) = asked.offers.keys().find(|it| !draft.state.profiles.contains_key(it)) {
        return Err(not_found("profile", profile));
    }
    if let Some(cell) = asked.cells.iter().find(|it| !draft.state.cells.contains_key(it)) {
        return Err(not_found("cell", cell));
    }
    let unknown = asked.locations.iter().find(|it| !draft.state.locations.contains_key(it));
    if let Some(location) = unknown {
        return Err(not_found("location", location));
    }

    let before = draft.state.policies.get(name);
    let revision = before.map_or(SettingRevision::MIN, |before| before.revision);
    let asked = PlacementPolicy { revision, ..asked.clone() };
    let known = before.map(|before| before.revision);
    let is_same = before == Some(&asked);
    let next = next_revision(("placement policy", name), put.expected, known, is_same)?;
    let Some(revision) = next else { return Ok(unchanged(None)) };

    let decision = draft.may_register(name.as_str())?;

    let policy = PlacementPolicy { revision, ..asked };
    Ok(draft.done(vec![PlacementBody::PlacementPolicyPut { policy, decision }]))
}

pub(super) fn pool(draft: &Draft<'_>, put: &Put<ReplicaPool>) -> Decided {
    let name = &put.setting.name;
    let before = draft.state.pools.get(name);

    let is_same = before.is_some_and(|before| before.max_replicas == put.setting.max_replicas);
    let revision = before.map(|before| before.revision);
    let revision = next_revision(("pool", name), put.expected, revision, is_same)?;
    let Some(revision) = revision else { return Ok(unchanged(None)) };

    let decision = draft.may_register(name.as_str())?;

    let pool = ReplicaPool { revision, ..put.setting.clone() };
    Ok(draft.done(vec![PlacementBody::PoolPut { pool, decision }]))
}

pub(super) fn usage(draft: &Draft<'_>, usage: &Usage) -> Decided {
    check_measured(usage.measured_at, draft.now)?;
    if !draft.state.environments.contains_key(&usage.environment) {
        return Err(not_found("environment", &usage.environment));
    }

    if let Some(before) = draft.state.usages.get(&usage.environment) {
        if before == usage {
            return Ok(unchanged(None));
        }
        if before.measured_at >= usage.measured_at {
            return Err(PlacementRejection::OlderUsage {
                environment: usage.environment.clone(),
                recorded: before.measured_at,
                given: usage.measured_at,
            });
        }
    }

    let decision = draft.may_register(usage.environment.as_str())?;

    let usage = usage.clone();
    Ok(draft.done(vec![PlacementBody::UsageRecorded { usage, decision }]))
}

pub(super) fn relocator(draft: &Draft<'_>, relocator: &RegisteredRelocator) -> Decided {
    if draft.state.relocators.get(&relocator.name) == Some(relocator) {
        return Ok(unchanged(None));
    }

    let decision = draft.may_register(relocator.name.as_str())?;

    let relocator = relocator.clone();
    Ok(draft.done(vec![PlacementBody::RelocatorRegistered { relocator, decision }]))
}
