//! The gates that a put walks.

use std::fmt::Write as _;

use super::change::{Ask, Pass, authorized, yielded_to};
use super::{
    Checked, Gate, Reports, check_capacity, check_mode_of, check_same_object, check_unit,
    check_writer, external, fresh_count, in_flight, moved, passed, registered, skipped,
};
use crate::domain::id::{ControllerId, Replicas};
use crate::domain::scale::command::{Context, Premise, PutForm, PutIntent};
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::identity::{external_lease_id, intended_identity, next_revision};
use crate::domain::scale::rejection::{MissingFact, Rejection, TargetPart};
use crate::domain::scale::service::{
    Binding, COUNT_AGE_MAX, FenceSource, Registration, TargetMatch,
};
use crate::domain::scale::state::ServiceState;
use crate::domain::time::{DurationMs, Timestamp};

/// How far above the mark a supplied fence may be: a typo must not burn the numbers.
const FENCE_JUMP_MAX: u64 = 1 << 32;

/// Walks the gates of a put. `replay` is what gate 2 has found already.
pub fn of_put(
    state: &ServiceState,
    put: &PutIntent,
    context: &Context<'_>,
    now: Timestamp,
) -> Reports {
    let mut reports = Reports::default();
    reports.add(Gate::Shape, passed("well formed"));
    reports.add(Gate::Replay, passed("the key is new"));
    let (registration, binding) = match registered(state, &put.service) {
        Ok(registered) => registered,
        Err(rejection) => {
            reports.add(Gate::Registration, Err(rejection));
            return reports;
        }
    };
    let current = fresh_count(&state.head, now);
    let desired = put.desired();
    reports.add(Gate::Registration, check_registration(registration, binding, put));
    reports.add(Gate::Mode, check_mode(registration, put));
    reports.add(Gate::Writer, check_writer(registration, record_writer(put)));
    reports.add(Gate::Bounds, check_bounds(registration, desired));
    reports.add(Gate::Revision, check_revision(state, put, context, current, now));
    reports.add(Gate::InFlight, check_in_flight(state, put, now));
    reports.add(Gate::Fence, check_fence(state, put, now));
    let pass = pass_of(state, put, registration, binding, now);
    let ask = Ask {
        registration,
        context,
        proposer: context.by,
        version: &binding.target_resource_version,
        current,
        desired,
        reason: Some(put.reason().as_str()),
        controller: &registration.writer,
        source: put.source,
        pass: Pass::of(&pass),
        pins: put.pin_until.is_some(),
        hold: state.head.authority.hold_at(now),
        now,
    };
    reports.add(Gate::Cooldown, cooldown_at_put(&ask, state, put));
    let placed = context.placed.as_ref();
    reports.add(Gate::Capacity, check_capacity(&registration.service, placed, desired));
    reports.add(Gate::Evidence, ask.evidence_source(put.attest_not_drained));
    ask.policy(&mut reports);
    let actor = context.by.actor.as_str();
    let approval = check_approval(state, put, Pass::of(&pass), &reports, actor, current, now);
    reports.add(Gate::Approval, approval);
    reports.add(Gate::Lease, skipped("taken when it starts"));
    reports
}

/// What a broken glass lets pass, where the put names its authorization.
fn pass_of<'s>(
    state: &'s ServiceState,
    put: &PutIntent,
    registration: &Registration,
    binding: &Binding,
    now: Timestamp,
) -> Result<Pass<'s>, Rejection> {
    let Some(id) = &put.authorization else {
        return Ok(Pass::Nothing);
    };
    let target = registration.target(binding);
    authorized(state, &put.service, id, put.key(), put.desired(), &target, now).map(Pass::Glass)
}

/// Gate 14: a wish that policy leaves to a colleague waits for one, and names the count that it was
/// decided on.
fn check_approval(
    state: &ServiceState,
    put: &PutIntent,
    pass: Pass<'_>,
    reports: &Reports,
    actor: &str,
    current: Option<Replicas>,
    now: Timestamp,
) -> Checked {
    match pass {
        Pass::Glass(open) => return yielded_to(open),
        Pass::Void(rejection) => return Err(rejection.clone()),
        Pass::Nothing | Pass::Approved(_) => {}
    }
    let Some(refused) = &reports.refused else {
        return skipped("not asked for");
    };
    let service = put.service.clone();
    // What waits for a colleague pins nothing meanwhile, and a simulation asks nobody.
    let may_wait = !put.dry_run && put.pin_until.is_none();
    let Some(within) = put.approve_within.filter(|_| may_wait) else {
        return Err(Rejection::Denied {
            actor: actor.to_owned(),
            subject: format!("{service} to {}", put.desired()),
            answer: Box::new(refused.clone()),
        });
    };
    if current.is_none() {
        let why =
            format!("the last one is over {COUNT_AGE_MAX} old, and a colleague agrees to one");
        return Err(Rejection::FactUnknown { service, fact: MissingFact::Count { why } });
    }
    let (revision, until) = (next_revision(state), now.plus(within));
    Err(Rejection::ApprovalRequired { service, revision, until })
}

fn record_writer(put: &PutIntent) -> Option<&ControllerId> {
    match &put.form {
        PutForm::Flags { .. } => None,
        PutForm::Record(record) => Some(&record.wish().replica_writer_id),
    }
}

fn check_registration(registration: &Registration, binding: &Binding, put: &PutIntent) -> Checked {
    let seen = format!("registration {}", registration.unit_revision);
    let PutForm::Record(record) = &put.form else {
        return passed(seen);
    };
    let wish = record.wish();
    check_unit(registration, wish.expected_unit_revision.get())?;
    let bound = registration.target(binding);
    check_same_object(registration, &bound, &wish.target, "registered")?;
    if registration.terms.target_match == TargetMatch::Version {
        moved(
            registration,
            TargetPart::Version,
            "last read",
            &binding.target_resource_version.as_str(),
            &wish.target.target_resource_version.as_str(),
        )?;
    }
    passed(seen)
}

fn check_mode(registration: &Registration, put: &PutIntent) -> Checked {
    match &put.form {
        PutForm::Record(record) => check_mode_of(registration, record.wish().controller_mode),
        PutForm::Flags { .. } => match registration.mode.record_mode() {
            Some(_) => passed(registration.mode.as_str()),
            None => Err(external(registration)),
        },
    }
}

fn check_bounds(registration: &Registration, desired: Replicas) -> Checked {
    let (min, max) = (registration.min_replicas, registration.max_replicas);
    if min <= desired && desired <= max {
        return passed(format!("{min} ≤ {desired} ≤ {max}"));
    }
    Err(Rejection::OutOfBounds {
        service: registration.service.clone(),
        desired,
        min,
        max,
        unit_revision: registration.unit_revision,
    })
}

fn check_revision(
    state: &ServiceState,
    put: &PutIntent,
    context: &Context<'_>,
    current: Option<Replicas>,
    now: Timestamp,
) -> Checked {
    let actual = state.head.latest_revision;
    let of_record = match &put.form {
        PutForm::Record(record) => Some(record.wish().intent_revision.get() - 1),
        PutForm::Flags { .. } => None,
    };
    let of_caller = match put.premise {
        Premise::Revision(expected) => Some(expected),
        Premise::Latest => None,
    };
    let stale = [of_caller, of_record].into_iter().flatten().find(|expected| *expected != actual);
    if let Some(expected) = stale {
        return Err(Rejection::StaleRevision {
            service: put.service.clone(),
            expected,
            actual,
            current: state.head.current.clone(),
        });
    }
    match (put.expect_count, current) {
        (Some(expected), Some(actual)) if expected != actual => {
            return Err(Rejection::PremiseMoved { service: put.service.clone(), expected, actual });
        }
        // A premise that cannot be proved does not hold.
        (Some(_), None) => {
            return Err(Rejection::FactUnknown {
                service: put.service.clone(),
                fact: MissingFact::Count {
                    why: format!("the last one is over {COUNT_AGE_MAX} old"),
                },
            });
        }
        (Some(_) | None, _) => {}
    }
    // A simulation is outside the uniqueness of ids (design, section 3).
    if !put.dry_run
        && let (Some(key), Some((intent_id, revision))) =
            (&put.id_owner, intended_identity(state, put))
    {
        return Err(Rejection::IntentIdConflict { intent_id, revision, key: key.clone() });
    }
    if !put.dry_run {
        check_waiting(state, put, context, now)?;
    }
    let mut seen = format!("{actual} → {}", actual + 1);
    for other in waiting(state).filter(|_| !put.dry_run) {
        let (service, revision) = (&other.intent.service, other.revision());
        write!(seen, ", ends {service}@{revision}").expect("BUG: a String takes every text");
    }
    passed(seen)
}

/// What waits is ended by an acceptance, but not by accident: neither somebody else's, nor what a
/// process holds a lease for and is about to start. What nobody looks at never ends what a person
/// has asked for.
fn check_waiting(
    state: &ServiceState,
    put: &PutIntent,
    context: &Context<'_>,
    now: Timestamp,
) -> Result<(), Rejection> {
    let is_unattended = put.source.is_unattended();
    // Where nobody carries anything out, what is accepted waits for nobody.
    let is_settled = |other: &Execution| {
        matches!(other.phase, Phase::Accepted)
            && state.head.registration.as_ref().is_some_and(Registration::is_desired_state)
    };
    for other in waiting(state).filter(|other| !(is_unattended && is_settled(other))) {
        let (service, revision) = (other.intent.service.clone(), other.revision());
        let is_others = if is_unattended {
            !other.intent.source.is_unattended()
        } else {
            !put.supersede && other.put_by.actor != context.by.actor
        };
        if is_others {
            let actor = other.put_by.actor.to_string();
            return Err(Rejection::OthersIntent { service, revision, actor });
        }
        if let Some(held) = other.live_lease(now).filter(|_| !put.supersede) {
            let held = Box::new(held.clone());
            return Err(Rejection::LeaseHeld { service, revision, held });
        }
    }
    Ok(())
}

/// The live intents that have not started and that an acceptance would end.
fn waiting(state: &ServiceState) -> impl Iterator<Item = &Execution> {
    state.executions.values().filter(|execution| execution.waits())
}

fn check_in_flight(state: &ServiceState, put: &PutIntent, now: Timestamp) -> Checked {
    let undone = put.rolls_back.as_ref();
    match in_flight(state, now).filter(|execution| Some(execution.key()) != undone) {
        None => passed("nothing"),
        Some(_) if put.dry_run => skipped("a simulation starts nothing"),
        Some(execution) if put.queue => {
            passed(format!("queued behind {}@{}", put.service, execution.revision()))
        }
        Some(execution) => Err(Rejection::in_flight(execution, now)),
    }
}

/// A wish that waits behind a call is asked again when it starts; until then nobody can know.
fn cooldown_at_put(ask: &Ask<'_>, state: &ServiceState, put: &PutIntent) -> Checked {
    match ask.cooldown(state, put.override_cooldown, None) {
        Err(Rejection::FactUnknown { .. }) if put.queue => skipped("asked when it starts"),
        checked => checked,
    }
}

fn check_fence(state: &ServiceState, put: &PutIntent, now: Timestamp) -> Checked {
    let (registration, _) = registered(state, &put.service)?;
    let mark = &state.head.mark;
    let (epoch, token, same_lease, expires_at) = match &put.form {
        PutForm::Record(record) => {
            let fence = record.fence();
            let (epoch, token) = fence.rank();
            let same_lease = mark.lease_id.as_ref() == Some(&fence.lease_id);
            (epoch, token, same_lease, Some(fence.expires_at))
        }
        PutForm::Flags { valid_for, .. } if *valid_for == DurationMs::ZERO => {
            let revision = next_revision(state);
            let service = put.service.clone();
            return Err(Rejection::FenceExpired { service, revision, expires_at: now });
        }
        PutForm::Flags { fence: Some((epoch, token)), .. } => {
            // A fence from flags carries the writer's own lease.
            let own = external_lease_id(registration);
            (epoch.get(), token.get(), mark.lease_id.as_ref() == Some(&own), None)
        }
        PutForm::Flags { fence: None, .. } => {
            return match registration.fences {
                FenceSource::External => {
                    Err(Rejection::FenceMissing { service: put.service.clone() })
                }
                FenceSource::Minted => passed(format!("{}/{}", mark.epoch, mark.token + 1)),
            };
        }
    };
    let service = put.service.clone();
    let (mark_epoch, mark_token) = (mark.epoch, mark.token);
    if epoch > mark_epoch + FENCE_JUMP_MAX || token > mark_token.saturating_add(FENCE_JUMP_MAX) {
        return Err(Rejection::FenceTooFar { service, epoch, token, mark_epoch, mark_token });
    }
    let rank = (epoch, token);
    let at_mark = (mark_epoch, mark_token);
    if rank < at_mark || (rank == at_mark && !same_lease) {
        return Err(Rejection::FenceLost { service, epoch, token, mark_epoch, mark_token });
    }
    if let Some(expires_at) = expires_at.filter(|expires_at| now >= *expires_at) {
        let revision = next_revision(state);
        return Err(Rejection::FenceExpired { service, revision, expires_at });
    }
    passed(format!("{epoch}/{token}"))
}
