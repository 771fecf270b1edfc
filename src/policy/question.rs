//! A question in Cedar's terms.
//!
//! Owns how a query becomes principal, action, resource and context. Never parses: every part is
//! built from its pieces, so that no text, however hostile, can mean anything but itself.

use std::collections::HashSet;

use cedar_policy_core::ast::{Context, Entity, Request, RequestSchemaAllPass, RestrictedExpr};
use cedar_policy_core::entities::{Entities, NoEntitiesSchema, TCComputation};
use cedar_policy_core::extensions::Extensions;

use super::names::entity;
use super::schema::{Shape, shape};
use crate::domain::id::Replicas;
use crate::domain::scale::policy::{PolicyQuery, PolicyResource};
use crate::domain::time::Timestamp;

const MICROS_PER_MINUTE: i64 = 60_000_000;
const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;
const MICROS_PER_DAY: i64 = 24 * MICROS_PER_HOUR;

/// The request and what is known about its resource, or why the question has no answer.
pub(super) fn build(query: &PolicyQuery) -> Result<(Request, Entities), String> {
    refuse_misshapen(query)?;
    let none = Extensions::none();
    let (resource, entities) = match &query.resource {
        PolicyResource::Service { name, actuator, adapter, mode, writer, min, max, labels } => {
            let uid = entity("Service", name.as_str())?;
            let mut attributes = vec![
                ("mode".into(), text(mode)),
                ("writer".into(), text(writer.as_str())),
                ("min".into(), number(*min)),
                ("max".into(), number(*max)),
            ];
            attributes.extend(actuator.as_ref().map(|it| ("actuator".into(), text(it.as_str()))));
            attributes.extend(adapter.as_ref().map(|it| ("adapter".into(), text(it))));
            let tags = labels.iter().map(|(name, value)| (name.as_str().into(), text(value)));
            let nobody = HashSet::new;
            let service = Entity::new(uid.clone(), attributes, nobody(), nobody(), tags, none)
                .map_err(|error| error.to_string())?;
            (uid, Some(service))
        }
        PolicyResource::Environment { name, policy, cell, location, profile, .. } => {
            let uid = entity("Environment", name.as_str())?;
            let attributes = [
                ("policy".into(), text(policy)),
                ("cell".into(), text(cell)),
                ("location".into(), text(location)),
                ("profile".into(), text(profile)),
            ];
            let nobody = HashSet::new;
            let placed = Entity::new(uid.clone(), attributes, nobody(), nobody(), [], none)
                .map_err(|error| error.to_string())?;
            (uid, Some(placed))
        }
        PolicyResource::Ledger { id } => (entity("Ledger", id)?, None),
    };
    let entities = Entities::from_entities(
        entities,
        None::<&NoEntitiesSchema>,
        TCComputation::AssumeAlreadyComputed,
        none,
    )
    .map_err(|error| error.to_string())?;
    let Ok(request) = Request::new(
        (entity("Actor", &query.actor)?, None),
        (entity("Action", query.action.as_str())?, None),
        (resource, None),
        context(query)?,
        None::<&RequestSchemaAllPass>,
        none,
    );
    Ok((request, entities))
}

/// A question of another shape than the schema's would be answered by rules that were validated for
/// something else.
fn refuse_misshapen(query: &PolicyQuery) -> Result<(), String> {
    let action = query.action.as_str();
    match (shape(query.action), &query.resource) {
        (Shape::Count, PolicyResource::Service { .. }) if query.desired.is_none() => {
            Err(format!("the question {action} names no count"))
        }
        (Shape::Count | Shape::Fact, PolicyResource::Service { .. })
        | (Shape::Move, PolicyResource::Environment { .. })
        | (Shape::Care, PolicyResource::Ledger { .. }) => Ok(()),
        (shape, resource) => {
            let noun = match shape {
                Shape::Count | Shape::Fact => "a service",
                Shape::Move => "an environment",
                Shape::Care => "a ledger",
            };
            let found = match resource {
                PolicyResource::Service { .. } => "a service",
                PolicyResource::Environment { .. } => "an environment",
                PolicyResource::Ledger { .. } => "a ledger",
            };
            Err(format!("the question {action} is about {noun}, not {found}"))
        }
    }
}

fn context(query: &PolicyQuery) -> Result<Context, String> {
    let mut members = vec![
        ("source".into(), text(&query.source)),
        ("hour_utc".into(), RestrictedExpr::val(hour_utc(query.at))),
        ("minute_of_day_utc".into(), RestrictedExpr::val(minute_of_day_utc(query.at))),
        ("weekday".into(), RestrictedExpr::val(weekday(query.at))),
    ];
    let mut known = |name: &str, value: Option<RestrictedExpr>| {
        members.extend(value.map(|value| (name.into(), value)));
    };
    known("reason", query.reason.as_deref().map(text));
    known("os_user", query.os_user.as_deref().map(text));
    known("db_role", query.db_role.as_deref().map(text));
    known("signed_by", query.signed_by.as_deref().map(text));
    if let PolicyResource::Environment { to: Some(to), .. } = &query.resource {
        known("to_cell", Some(text(&to.cell)));
        known("to_location", Some(text(&to.location)));
        known("to_profile", Some(text(&to.profile)));
    }
    if matches!(shape(query.action), Shape::Count | Shape::Fact) {
        known("controller", query.controller.as_ref().map(|it| text(it.as_str())));
        known("desired", query.desired.map(number));
        known("current", query.current.map(number));
        let delta = query.desired.zip(query.current).map(|(to, from)| signed(to) - signed(from));
        known("delta", delta.map(RestrictedExpr::val));
        let recent = query.recent.as_ref();
        let mut changes = |name: &str, count: Option<u32>| {
            known(name, count.map(|count| RestrictedExpr::val(i64::from(count))));
        };
        changes("service_changes_last_hour", recent.map(|recent| recent.of_service));
        changes("ledger_changes_last_hour", recent.and_then(|recent| recent.of_ledger));
        changes("services_changed_last_hour", recent.and_then(|recent| recent.services));
    }
    Context::from_pairs(members, Extensions::none()).map_err(|error| error.to_string())
}

fn text(value: &str) -> RestrictedExpr {
    RestrictedExpr::val(value)
}

fn number(count: Replicas) -> RestrictedExpr {
    RestrictedExpr::val(signed(count))
}

fn signed(count: Replicas) -> i64 {
    i64::try_from(count.get()).expect("BUG: a count of replicas is at most 2^53 - 1")
}

/// 0 to 23.
fn hour_utc(at: Timestamp) -> i64 {
    at.as_micros().rem_euclid(MICROS_PER_DAY) / MICROS_PER_HOUR
}

/// 0 to 1439.
fn minute_of_day_utc(at: Timestamp) -> i64 {
    at.as_micros().rem_euclid(MICROS_PER_DAY) / MICROS_PER_MINUTE
}

/// 1 for Monday to 7 for Sunday. 1970-01-01 was a Thursday.
fn weekday(at: Timestamp) -> i64 {
    (at.as_micros().div_euclid(MICROS_PER_DAY) + 3).rem_euclid(7) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_and_weekdays_turn_at_their_boundaries() {
        for (at, hour, day) in [
            ("1970-01-01T00:00:00Z", 0, 4),
            ("1969-12-31T23:59:59.999999Z", 23, 3),
            ("2026-03-01T23:59:59.999999Z", 23, 7),
            ("2026-03-02T00:00:00Z", 0, 1),
            ("2026-03-02T08:59:59.999999Z", 8, 1),
            ("2026-03-02T09:00:00Z", 9, 1),
            ("2026-03-06T17:00:00+02:00", 15, 5),
            ("2024-02-29T12:00:00Z", 12, 4),
            ("0001-01-01T00:00:00Z", 0, 1),
            ("9999-12-30T22:00:00Z", 22, 4),
        ] {
            let instant: Timestamp = at.parse().expect("BUG: a test's instant");
            assert_eq!((hour_utc(instant), weekday(instant)), (hour, day), "{at}");
            assert_eq!(minute_of_day_utc(instant) / 60, hour, "{at}");
        }
    }

    #[test]
    fn minutes_of_the_day_turn_at_midnight() {
        for (at, minute) in [
            ("2026-03-01T23:59:59.999999Z", 1439),
            ("2026-03-02T00:00:00Z", 0),
            ("2026-03-02T00:00:59.999999Z", 0),
            ("2026-03-02T00:01:00Z", 1),
            ("1969-12-31T22:30:00Z", 1350),
        ] {
            let instant: Timestamp = at.parse().expect("BUG: a test's instant");
            assert_eq!(minute_of_day_utc(instant), minute, "{at}");
        }
    }
}
