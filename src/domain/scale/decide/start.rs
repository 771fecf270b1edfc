//! Starting an attempt, and recording a simulation.

use super::lease::{Request, end_of, grant};
use super::{
    Decision, Draft, Reply, approval_required, in_progress, may_repeat, nothing, outcome_unknown,
    replayed, wrong_state,
};
use crate::domain::id::{AttemptNumber, ControllerId, ExecutionKey};
use crate::domain::scale::attempt::{Base, Call, ResultSource};
use crate::domain::scale::command::StartAttempt;
use crate::domain::scale::event::EventBody;
use crate::domain::scale::execution::{Execution, FailureCause, Outcome, Phase};
use crate::domain::scale::gates::{self, registered};
use crate::domain::scale::lease::{HeldLease, LEASE_MARGIN};
use crate::domain::scale::observation::Source;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::result::{ActuationResult, Answer, Detail};
use crate::domain::scale::service::EVIDENCE_AGE_MAX;
use crate::domain::scale::state::ServiceState;
use crate::domain::time::DurationMs;

pub(super) fn start(draft: &Draft<'_>, start: &StartAttempt) -> Result<Decision, Rejection> {
    let execution = draft.execution(&start.key)?;

    // Already there?
    if execution.outcome() == Some(Outcome::Simulated) {
        return Err(Rejection::SimulatedKey { key: start.key.clone() });
    }
    if execution.phase.is_finished()
        || matches!(execution.phase, Phase::Succeeded | Phase::Observed)
    {
        return Ok(replayed());
    }

    // Allowed now?
    if execution.intent.dry_run {
        return Err(Rejection::SimulatedKey { key: start.key.clone() });
    }
    // Waiting for its time helps nothing where a newer wish goes first.
    if matches!(execution.phase, Phase::Failed { .. })
        && let Some(rejection) = waits_behind(draft.state, execution)
    {
        return Err(rejection);
    }
    check_phase(draft, execution)?;
    let overtaken = check_turn(draft, execution)?;
    if is_stale(draft, execution, start) {
        return Ok(nothing(Reply::StaleReading));
    }
    let reports = gates::of_start(draft.state, execution, start, draft.context, draft.now);
    if let Some(rejection) = reports.first_refusal() {
        return Err(rejection.clone());
    }
    let decision = reports.decision.clone().expect("BUG: gate 13 was walked");
    let held = lease_for(draft, execution, start)?;

    // From here it must succeed.
    let call = call_of(draft, execution, start, &held)?;
    let mut events = overtaken;
    events.extend(use_of_glass(draft, execution));
    events.push(EventBody::AttemptStarted {
        execution_key: start.key.clone(),
        held,
        call,
        decision,
        permissions: reports.permissions(),
        evidence: start.evidence.clone(),
    });
    Ok(draft.done(events))
}

/// The use of the authorization that the execution is carried out under, once for a key and each
/// person who carries it out: durable with the start that it permits, and so before the call.
fn use_of_glass(draft: &Draft<'_>, execution: &Execution) -> Option<EventBody> {
    let authorization_id = execution.authorization_id()?;
    let open = draft.state.head.authorizations.get(authorization_id)?;
    let used = open.uses.get(execution.key());
    let is_new = used.is_none_or(|used| !used.is_in_hands_of(draft.context.by));
    is_new.then(|| EventBody::AuthorizationUsed {
        authorization_id: authorization_id.clone(),
        execution_key: execution.key().clone(),
        wished_by: draft.another(&execution.put_by),
    })
}

/// Whether the target was read before something else was recorded of it, before a lost call of this
/// key could take no effect any more, or too long ago: the gates would be asked about another
/// target than the call meets. Its age is told by the clock that it was timed by.
fn is_stale(draft: &Draft<'_>, execution: &Execution, start: &StartAttempt) -> bool {
    let Some(Ok(found)) = &start.found else {
        return false;
    };
    let missed_the_quiet = match &execution.phase {
        Phase::RecoveryPending { pending } => {
            !pending.is_quiet(execution.intent.terms.quiet_ms, found.began_at)
        }
        Phase::Proposed { .. }
        | Phase::Accepted
        | Phase::Started { .. }
        | Phase::Failed { .. }
        | Phase::Succeeded
        | Phase::Observed
        | Phase::Verified { .. }
        | Phase::Rejected
        | Phase::Withdrawn
        | Phase::Superseded { .. } => false,
    };
    start.began_after_serial != draft.state.head.reading_serial
        || missed_the_quiet
        || draft.asked_at.since(found.began_at) > EVIDENCE_AGE_MAX
}

/// Whether the state of the key itself lets an attempt start.
fn check_phase(draft: &Draft<'_>, execution: &Execution) -> Result<(), Rejection> {
    let service = || execution.intent.service.clone();
    let revision = execution.revision();
    match &execution.phase {
        Phase::Accepted => Ok(()),
        Phase::Failed { retry_at } if draft.now < *retry_at => {
            Err(Rejection::RetryLater { service: service(), revision, retry_at: *retry_at })
        }
        Phase::Failed { .. } if execution.has_budget() => Ok(()),
        Phase::Failed { .. } => Err(wrong_state(execution, "no attempt is left")),
        Phase::RecoveryPending { pending } => {
            let quiet = execution.intent.terms.quiet_ms;
            if may_repeat(draft, execution) && pending.is_quiet(quiet, draft.now) {
                return Ok(());
            }
            Err(outcome_unknown(draft, execution, pending))
        }
        Phase::Started { .. } => Err(in_progress(execution)),
        Phase::Proposed { until } => Err(approval_required(draft, execution, *until)),
        Phase::Succeeded
        | Phase::Observed
        | Phase::Verified { .. }
        | Phase::Rejected
        | Phase::Withdrawn
        | Phase::Superseded { .. } => Err(wrong_state(execution, "it is over")),
    }
}

/// The refusal of an intent that is accepted or failed and cannot start, because another one must
/// end first.
pub fn waits_behind(state: &ServiceState, execution: &Execution) -> Option<Rejection> {
    waits_behind_any(state.executions.values(), execution)
}

/// The same where what is unfinished of the service is at hand.
pub fn waits_behind_any<'e>(
    others: impl IntoIterator<Item = &'e Execution>,
    execution: &Execution,
) -> Option<Rejection> {
    let may_start = matches!(execution.phase, Phase::Accepted | Phase::Failed { .. });
    if !execution.is_live() || !may_start {
        return None;
    }
    let others = others.into_iter().filter(|other| {
        other.is_live() && other.key() != execution.key() && !other.phase.is_finished()
    });
    others.filter(|other| is_in_the_way(execution, other)).map(|o| behind(execution, o)).next()
}

fn behind(execution: &Execution, other: &Execution) -> Rejection {
    Rejection::WaitsBehind {
        service: execution.intent.service.clone(),
        revision: execution.revision(),
        behind: other.revision(),
        state: other.phase.as_str(),
    }
}

/// Whether another unfinished intent keeps this one from starting.
fn is_in_the_way(execution: &Execution, other: &Execution) -> bool {
    let is_older = other.revision() < execution.revision();
    match &other.phase {
        // A retryable failure of an older intent never blocks a newer one, and an older accepted
        // intent was superseded by the newer one's acceptance.
        Phase::Failed { .. } | Phase::Accepted if is_older => false,
        // What waits, waits for this one to be known; it cannot be what keeps it unknown.
        Phase::Accepted => !matches!(execution.phase, Phase::RecoveryPending { .. }),
        Phase::Started { .. } | Phase::RecoveryPending { .. } | Phase::Failed { .. } => true,
        Phase::Proposed { .. }
        | Phase::Succeeded
        | Phase::Observed
        | Phase::Verified { .. }
        | Phase::Rejected
        | Phase::Withdrawn
        | Phase::Superseded { .. } => false,
    }
}

/// Starting is exclusive: nothing else of the service may be under a call or unknown. A retryable
/// failure of an older intent, or a success that waits for its confirmation, never blocks a newer
/// one: it ends here.
fn check_turn(draft: &Draft<'_>, execution: &Execution) -> Result<Vec<EventBody>, Rejection> {
    let mut overtaken = Vec::new();
    let others = draft.state.executions.values().filter(|other| {
        other.is_live() && other.key() != execution.key() && !other.phase.is_finished()
    });
    for other in others {
        if is_in_the_way(execution, other) {
            return Err(behind(execution, other));
        }
        if matches!(other.phase, Phase::Failed { .. }) {
            let detail = format!("overtaken by {}", execution.key());
            overtaken.push(draft.failure_end(other, FailureCause::Overtaken, &detail)?);
        }
        // It succeeded after this one was accepted. Once this one has started, no reading can
        // confirm it any more.
        let is_older = other.revision() < execution.revision();
        if is_older && matches!(other.phase, Phase::Succeeded | Phase::Observed) {
            overtaken.push(EventBody::IntentSuperseded {
                execution_key: other.key().clone(),
                by: execution.revision(),
                outcome: other.unconfirmed_outcome(),
            });
        }
    }
    Ok(overtaken)
}

/// The lease of the attempt: the caller's own, made long enough, or a new one (ruling 10).
fn lease_for(
    draft: &Draft<'_>,
    execution: &Execution,
    start: &StartAttempt,
) -> Result<HeldLease, Rejection> {
    let ttl = start.ttl.max(DurationMs::from_millis(
        start.call.timeout.as_millis().saturating_add(LEASE_MARGIN.as_millis()),
    ));
    let held = execution
        .live_lease(draft.now)
        .filter(|held| held.lease.attempt.get() == execution.attempts + 1);
    let Some(held) = held else {
        let request = Request {
            controller: &start.controller,
            lease_instance_id: &start.call.lease_instance_id,
            holder: &start.call.holder,
            ttl,
        };
        return grant(draft, execution, &request);
    };
    let mut held = held.clone();
    let end = end_of(draft.now, ttl, held.lease.fence.expires_at);
    held.lease.expires_at = held.lease.expires_at.max(end);
    held.holder = start.call.holder.clone();
    Ok(held)
}

fn call_of(
    draft: &Draft<'_>,
    execution: &Execution,
    start: &StartAttempt,
    held: &HeldLease,
) -> Result<Call, Rejection> {
    let (_, binding) = registered(draft.state, &execution.intent.service)?;
    let base = match &start.found {
        Some(Ok(found)) => Base {
            target_uid: found.target_uid.clone(),
            target_resource_version: found.target_resource_version.clone(),
            generation: found.generation,
            replicas: Some(found.replicas),
            outdated: false,
        },
        Some(Err(_)) | None => Base::of(binding),
    };
    Ok(Call {
        call_id: start.call.call_id.clone(),
        attempt: held.lease.attempt,
        lease_instance_id: held.lease.lease_instance_id.clone(),
        holder: start.call.holder.clone(),
        started_at: draft.now,
        deadline_boot_ms: start.call.deadline_boot_ms,
        deadline_at: draft.now.plus(start.call.timeout),
        base,
    })
}

/// Records a simulation: every gate but the ones that read the world, and nobody is called.
pub(super) fn simulate(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    controller: &ControllerId,
) -> Result<Decision, Rejection> {
    let execution = draft.execution(key)?;
    if execution.outcome() == Some(Outcome::Simulated) {
        return Ok(replayed());
    }
    match &execution.phase {
        Phase::Accepted => {}
        Phase::Proposed { until } => {
            return Err(approval_required(draft, execution, *until));
        }
        Phase::Rejected | Phase::Withdrawn | Phase::Superseded { .. } => return Ok(replayed()),
        Phase::Started { .. }
        | Phase::RecoveryPending { .. }
        | Phase::Failed { .. }
        | Phase::Succeeded
        | Phase::Observed
        | Phase::Verified { .. } => {
            let state = execution.phase.as_str();
            return Err(Rejection::LiveKey { key: key.clone(), state });
        }
    }
    let reports =
        gates::of_simulation(draft.state, execution, controller, draft.context, draft.now);
    if let Some(rejection) = reports.first_refusal() {
        return Err(rejection.clone());
    }

    let result = ActuationResult {
        execution_key: key.clone(),
        target: execution.intent.wish.target.clone(),
        answer: Answer::Simulated { observed_replicas: None, retryable: false },
        detail: Detail::cut("simulated: nobody was called"),
        actuator_operation_id: None,
    };
    let observation =
        draft.observation(&execution.intent.wish, &result, Source::Actuator, "simulated");
    Ok(draft.done(vec![
        EventBody::ResultRecorded {
            execution_key: key.clone(),
            attempt: AttemptNumber::MIN,
            result,
            source: ResultSource::Simulation,
            ended_at: draft.now,
            retry_at: None,
            partly_applied: false,
            rollback_required: false,
            resource_version_after: None,
            decision: reports.decision.clone(),
        },
        EventBody::ObservationRecorded { execution_key: key.clone(), observation, cause: None },
    ]))
}
