//! The gates that are asked again right before a call, and those of a recorded simulation.

use super::change::{Ask, Pass, authorized, yielded_to};
use super::{
    Checked, Gate, Reports, check_capacity, check_mode_of, check_own_fence, check_same_object,
    check_unit, check_writer, fresh_count, moved, passed, registered, skipped,
};
use crate::domain::id::{ControllerId, LeaseInstanceId, Replicas, ServiceName};
use crate::domain::scale::command::{Context, StartAttempt};
use crate::domain::scale::consent::Consent;
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::observation::Reading;
use crate::domain::scale::rejection::{MissingFact, Rejection, TargetPart};
use crate::domain::scale::service::{Binding, Registration, TargetMatch};
use crate::domain::scale::state::ServiceState;
use crate::domain::time::Timestamp;

/// Walks the gates that are asked again right before a call.
pub fn of_start(
    state: &ServiceState,
    execution: &Execution,
    start: &StartAttempt,
    context: &Context<'_>,
    now: Timestamp,
) -> Reports {
    let mut reports = Reports::default();
    let (registration, binding) = match registered(state, &execution.intent.service) {
        Ok(registered) => registered,
        Err(rejection) => {
            reports.add(Gate::Registration, Err(rejection));
            return reports;
        }
    };
    let wish = &execution.intent.wish;
    let pass = pass_of(state, execution, now);
    let count = current_at_start(start, binding, context, &execution.intent.service);
    let current = count.clone().unwrap_or(None);
    reports.add(
        Gate::Registration,
        check_unit(registration, wish.expected_unit_revision.get())
            .and_then(|()| check_found(registration, binding, execution, found_of(start))),
    );
    reports.add(Gate::Mode, check_mode_of(registration, wish.controller_mode));
    reports.add(Gate::Writer, check_writer(registration, Some(&start.controller)));
    reports.add(Gate::Fence, check_fence_alive(state, execution, start, now));
    let ask = Ask {
        registration,
        context,
        proposer: &execution.put_by,
        version: found_of(start)
            .map_or(&binding.target_resource_version, |found| &found.target_resource_version),
        current,
        desired: wish.desired_replicas,
        reason: Some(wish.reason.as_str()),
        controller: &start.controller,
        source: execution.intent.source,
        pass: Pass::of(&pass),
        pins: false,
        hold: state.head.authority.hold_at(now),
        now,
    };
    reports.add(Gate::Cooldown, ask.cooldown(state, start.override_cooldown, Some(execution)));
    let (service, desired) = (&registration.service, wish.desired_replicas);
    reports.add(Gate::Capacity, check_capacity(service, context.placed.as_ref(), desired));
    reports.add(Gate::Evidence, count.and_then(|_| ask.evidence(start)));
    ask.policy(&mut reports);
    reports.add(Gate::Approval, check_consent(&reports, execution, Pass::of(&pass), current));
    reports.add(Gate::Lease, check_lease(execution, start, now));
    reports
}

/// What the consent that an execution was accepted with lets pass now.
fn pass_of<'s>(
    state: &'s ServiceState,
    execution: &'s Execution,
    now: Timestamp,
) -> Result<Pass<'s>, Rejection> {
    match execution.consent() {
        None => Ok(Pass::Nothing),
        Some(Consent::Approval { approval }) => Ok(Pass::Approved(approval)),
        Some(Consent::BreakGlass { authorization_id }) => {
            let wish = &execution.intent.wish;
            let (key, desired, target) = (execution.key(), wish.desired_replicas, &wish.target);
            let service = &execution.intent.service;
            authorized(state, service, authorization_id, key, desired, target, now).map(Pass::Glass)
        }
    }
}

/// An approval holds for the count that it was asked about; a later attempt answers to what the
/// earlier ones have left. What policy has come to refuse needs one that was never given.
fn check_consent(
    reports: &Reports,
    execution: &Execution,
    pass: Pass<'_>,
    current: Option<Replicas>,
) -> Checked {
    let service = || execution.intent.service.clone();
    match pass {
        Pass::Glass(open) => yielded_to(open),
        Pass::Void(rejection) => Err(rejection.clone()),
        Pass::Approved(approval) => {
            if !is_agreed_from(execution, approval.base, current) {
                return Err(Rejection::ApprovalMoved {
                    service: service(),
                    revision: execution.revision(),
                    base: approval.base,
                    desired: execution.desired(),
                    actual: current,
                    has_started: execution.attempts > 0,
                });
            }
            passed(format!("{} by {}", approval.approval_id, approval.by.actor))
        }
        Pass::Nothing => match &reports.refused {
            Some(refused) => Err(Rejection::Denied {
                actor: execution.put_by.actor.to_string(),
                subject: format!("{} to {}", service(), execution.desired()),
                answer: Box::new(refused.clone()),
            }),
            None => skipped("not asked for"),
        },
    }
}

/// Whether an approval that was asked about one count still holds at another. Before the first call
/// it does not. A later attempt goes on from that count, or from the one that the key's own call
/// has left; one whose outcome nobody knows repeats the same call, wherever that has led.
fn is_agreed_from(execution: &Execution, base: Replicas, current: Option<Replicas>) -> bool {
    if execution.attempts == 0 {
        return current == Some(base);
    }
    if matches!(execution.phase, Phase::RecoveryPending { .. }) {
        return true;
    }
    let left = execution.result.as_ref().filter(|recorded| recorded.partly_applied);
    let left = left.and_then(|recorded| recorded.result.observed_replicas());
    current.is_none_or(|current| current == base || Some(current) == left)
}

/// Walks the gates that a recorded simulation is asked.
pub fn of_simulation(
    state: &ServiceState,
    execution: &Execution,
    controller: &ControllerId,
    context: &Context<'_>,
    now: Timestamp,
) -> Reports {
    let mut reports = Reports::default();
    let (registration, binding) = match registered(state, &execution.intent.service) {
        Ok(registered) => registered,
        Err(rejection) => {
            reports.add(Gate::Registration, Err(rejection));
            return reports;
        }
    };
    let wish = &execution.intent.wish;
    let pass = pass_of(state, execution, now);
    let unit = check_unit(registration, wish.expected_unit_revision.get());
    reports.add(Gate::Registration, unit.and_then(|()| passed("unchanged")));
    reports.add(Gate::Mode, check_mode_of(registration, wish.controller_mode));
    reports.add(Gate::Writer, check_writer(registration, Some(controller)));
    reports.add(Gate::Fence, check_own_fence(execution, now));
    let ask = Ask {
        registration,
        context,
        proposer: &execution.put_by,
        version: &binding.target_resource_version,
        current: fresh_count(&state.head, now),
        desired: wish.desired_replicas,
        reason: Some(wish.reason.as_str()),
        controller,
        source: execution.intent.source,
        pass: Pass::of(&pass),
        pins: false,
        hold: state.head.authority.hold_at(now),
        now,
    };
    ask.policy(&mut reports);
    let current = execution.approval().map(|approval| approval.base);
    reports.add(Gate::Approval, check_consent(&reports, execution, Pass::of(&pass), current));
    reports
}

/// Whether what was put for a target, and has not started, may still start on it as it was `found`:
/// its fence lives, its registration holds, and the target has not moved.
pub fn may_still_start(
    state: &ServiceState,
    execution: &Execution,
    found: Option<&Reading>,
    now: Timestamp,
) -> bool {
    registered(state, &execution.intent.service).is_ok_and(|(registration, binding)| {
        let unit = execution.intent.wish.expected_unit_revision.get();
        check_unit(registration, unit).is_ok()
            && check_own_fence(execution, now).is_ok()
            && check_found(registration, binding, execution, found).is_ok()
    })
}

fn found_of(start: &StartAttempt) -> Option<&Reading> {
    start.found.as_ref().and_then(|found| found.as_ref().ok())
}

/// The count right before a call: as read, else the last recorded one.
fn current_at_start(
    start: &StartAttempt,
    binding: &Binding,
    context: &Context<'_>,
    service: &ServiceName,
) -> Result<Option<Replicas>, Rejection> {
    let can_read = context.actuator.is_some_and(|actuator| actuator.capabilities.inspect);
    let unknown = |why: &str| Rejection::FactUnknown {
        service: service.clone(),
        fact: MissingFact::Count { why: why.to_owned() },
    };
    match &start.found {
        Some(Ok(reading)) => Ok(Some(reading.replicas)),
        Some(Err(why)) => Err(unknown(why)),
        None if can_read => Err(unknown("nobody has tried")),
        None => Ok(binding.known_replicas()),
    }
}

/// Holds the target as just read against what the wish was made from. The first attempt answers to
/// the reading at put; a later one, and one that was put behind a call, to what our own results and
/// readings have made of it since. Nobody is held to what a call of ours may have changed: only the
/// uid is asked then.
fn check_found(
    registration: &Registration,
    binding: &Binding,
    execution: &Execution,
    found: Option<&Reading>,
) -> Checked {
    let wish = &execution.intent.wish;
    let bound = registration.target(binding);
    check_same_object(registration, &wish.target, &bound, "put for")?;
    let Some(found) = found else {
        return passed("not read again");
    };
    moved(
        registration,
        TargetPart::Uid,
        "registered",
        &wish.target.target_uid.as_str(),
        &found.target_uid.as_str(),
    )?;
    let base = &execution.intent.base;
    let has_moved = execution.attempts > 0 || execution.intent.behind.is_some();
    let basis = if has_moved { "last read" } else { "put for" };
    let (version, generation, replicas) = if has_moved {
        let generation = binding.generation.filter(|_| !binding.outdated.version);
        let version = Some(&binding.target_resource_version).filter(|_| !binding.outdated.version);
        (version, generation, binding.known_replicas())
    } else {
        let generation = base.generation.filter(|_| !base.outdated);
        let version = Some(&base.target_resource_version).filter(|_| !base.outdated);
        (version, generation, base.replicas)
    };
    match (execution.intent.terms.target_match, generation, found.generation, replicas) {
        (TargetMatch::Generation, Some(expected), Some(actual), _) => {
            moved(registration, TargetPart::Generation, basis, &expected, &actual)?;
        }
        (TargetMatch::Replicas, _, _, Some(expected)) => {
            moved(registration, TargetPart::Replicas, basis, &expected, &found.replicas)?;
        }
        // Results tell a version and no generation, and the version moves with more than a wish.
        (TargetMatch::Generation, None, Some(_), _) | (TargetMatch::Replicas, _, _, None)
            if has_moved => {}
        (TargetMatch::Version | TargetMatch::Generation | TargetMatch::Replicas, ..) => {
            if let Some(expected) = version {
                let actual = found.target_resource_version.as_str();
                moved(registration, TargetPart::Version, basis, &expected.as_str(), &actual)?;
            }
        }
    }
    passed(format!("uid {}, count {}", found.target_uid, found.replicas))
}

fn check_fence_alive(
    state: &ServiceState,
    execution: &Execution,
    start: &StartAttempt,
    now: Timestamp,
) -> Checked {
    check_own_fence(execution, now)?;
    let Some(fence) = execution.fence() else {
        return skipped("not accepted yet");
    };
    // Whoever has started under a newer fence has ended this one (see the turn in `decide`). So a
    // newer token of the same leader is that of a wish that was taken back, and takes nothing from
    // this one; another leader's does.
    let (epoch, token) = fence.rank();
    let mark = &state.head.mark;
    let is_same_leader = epoch == mark.epoch && mark.lease_id.as_ref() == Some(&fence.lease_id);
    if (epoch, token) < (mark.epoch, mark.token) && !is_same_leader {
        return Err(Rejection::FenceLost {
            service: execution.intent.service.clone(),
            epoch,
            token,
            mark_epoch: mark.epoch,
            mark_token: mark.token,
        });
    }
    if fence.expires_at < now.plus(start.call.timeout) {
        return Err(Rejection::FenceTooShort {
            service: execution.intent.service.clone(),
            revision: execution.revision(),
            expires_at: fence.expires_at,
            needed: start.call.timeout,
        });
    }
    passed(format!("{epoch}/{token} until {}", fence.expires_at))
}

fn check_lease(execution: &Execution, start: &StartAttempt, now: Timestamp) -> Checked {
    let held = execution.live_lease(now);
    let lost = |given: &LeaseInstanceId| Rejection::LeaseLost {
        key: execution.key().clone(),
        given: given.clone(),
        held: held.cloned().map(Box::new),
    };
    match (held, &start.lease) {
        (Some(held), Some(given)) if held.lease.lease_instance_id != *given => Err(lost(given)),
        (None, Some(given)) => Err(lost(given)),
        (Some(held), _) if held.lease.controller_id != start.controller => {
            Err(Rejection::LeaseHeld {
                service: execution.intent.service.clone(),
                revision: execution.revision(),
                held: Box::new(held.clone()),
            })
        }
        (Some(held), _) => passed(format!("{} on {}", held.lease.controller_id, held.holder.host)),
        (None, None) => passed("free"),
    }
}
