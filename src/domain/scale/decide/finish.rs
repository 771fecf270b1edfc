//! What became of a call: results, losses, proofs of its end, and settlements of the unknown.

use super::{Decision, Draft, Reply, replayed, unchanged, wrong_state};
use crate::domain::id::{
    AttemptNumber, ErrorCode, ExecutionKey, LeaseInstanceId, Replicas, TargetResourceVersion,
};
use crate::domain::scale::attempt::{Pending, ResultSource};
use crate::domain::scale::command::{CallEnd, Command, Settlement};
use crate::domain::scale::event::EventBody;
use crate::domain::scale::execution::{Execution, FailureCause, Phase};
use crate::domain::scale::gates::{registered, service_resource};
use crate::domain::scale::intent::Reason;
use crate::domain::scale::observation::{Reading, ReadingVerdict, Source};
use crate::domain::scale::policy::{PolicyAction, PolicyQuery};
use crate::domain::scale::rejection::{MissingFact, Rejection};
use crate::domain::scale::result::{ActuationResult, Answer, Detail};
use crate::domain::scale::service::OnUnknown;
use crate::domain::time::Timestamp;

/// Which call ended, and how.
pub(super) struct EndedCall<'a> {
    pub(super) attempt: AttemptNumber,
    pub(super) lease_instance_id: &'a LeaseInstanceId,
    pub(super) end: &'a CallEnd,
}

/// A result with what belongs to it.
#[expect(clippy::struct_field_names, reason = "ended_at is the word everywhere")]
struct Ended {
    result: ActuationResult,
    source: ResultSource,
    ended_at: Timestamp,
    partly_applied: bool,
    rollback_required: bool,
    resource_version_after: Option<TargetResourceVersion>,
}

pub(super) fn end_call(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    ended: &EndedCall<'_>,
    ended_at: Option<Timestamp>,
) -> Result<Decision, Rejection> {
    let execution = draft.execution(key)?;
    let call = match &execution.phase {
        Phase::Started { call } => Some(call),
        Phase::RecoveryPending { pending } => Some(&pending.call),
        _ => None,
    };
    // A late result under an older lease or attempt is kept as evidence, never applied.
    let is_own = call.is_some_and(|call| {
        call.attempt == ended.attempt && call.lease_instance_id == *ended.lease_instance_id
    });
    if !is_own {
        return late(draft, execution, ended);
    }
    match ended.end {
        CallEnd::Answered { result, rollback_required, resource_version_after } => {
            let result = held_to_the_wish(execution, result);
            let end = Ended {
                result,
                source: ResultSource::Call,
                ended_at: ended_at.unwrap_or(draft.now),
                partly_applied: false,
                rollback_required: *rollback_required,
                resource_version_after: resource_version_after.clone(),
            };
            Ok(finish(draft, execution, ended.attempt, end))
        }
        CallEnd::NotStarted { detail } => {
            let result = failure(execution, "not_started", detail.as_str(), None);
            let end = Ended {
                result,
                source: ResultSource::NotStarted,
                ended_at: ended_at.unwrap_or(draft.now),
                partly_applied: false,
                rollback_required: false,
                resource_version_after: None,
            };
            Ok(finish(draft, execution, ended.attempt, end))
        }
        CallEnd::Unknown { why, detail, rollback_required } => {
            if matches!(execution.phase, Phase::RecoveryPending { .. }) {
                return Ok(unchanged());
            }
            Ok(draft.done(vec![EventBody::AttemptLost {
                execution_key: key.clone(),
                attempt: ended.attempt,
                why: *why,
                detail: detail.clone(),
                ended_at: ended_at.map(|at| at.min(draft.now)),
                rollback_required: *rollback_required,
            }]))
        }
    }
}

fn late(
    draft: &Draft<'_>,
    execution: &Execution,
    ended: &EndedCall<'_>,
) -> Result<Decision, Rejection> {
    let CallEnd::Answered { result, .. } = ended.end else {
        return Ok(unchanged());
    };
    if ended.attempt.get() > execution.attempts {
        return Err(Rejection::LeaseLost {
            key: execution.key().clone(),
            given: ended.lease_instance_id.clone(),
            held: execution.lease.clone().map(Box::new),
        });
    }
    let recorded = execution.result.as_ref().filter(|r| r.attempt == ended.attempt);
    // The same result again is the same delivery, not news.
    if recorded.is_some_and(|recorded| recorded.result == *result) {
        return Ok(replayed());
    }
    let contradicts = recorded.is_none_or(|recorded| recorded.result.scaled() != result.scaled());
    let event = EventBody::LateResultKept {
        execution_key: execution.key().clone(),
        attempt: ended.attempt,
        result: result.clone(),
        contradicts,
    };
    Ok(Decision { reply: Reply::Late, ..draft.done(vec![event]) })
}

/// A success with another count is a failure that trying again does not mend (seed 000).
fn held_to_the_wish(execution: &Execution, result: &ActuationResult) -> ActuationResult {
    match &result.answer {
        Answer::Succeeded { observed_replicas, .. }
            if *observed_replicas != execution.desired() =>
        {
            let answer = Answer::Failed {
                observed_replicas: Some(*observed_replicas),
                retryable: false,
                error_code: code("observed_replicas_mismatch"),
            };
            let detail = format!(
                "the actuator says it scaled to {observed_replicas}, not {}",
                execution.desired()
            );
            ActuationResult {
                answer,
                detail: Detail::cut(&detail),
                actuator_operation_id: None,
                execution_key: execution.key().clone(),
                target: execution.intent.wish.target.clone(),
            }
        }
        Answer::Simulated { .. } | Answer::Succeeded { .. } | Answer::Failed { .. } => {
            result.clone()
        }
    }
}

fn code(word: &str) -> ErrorCode {
    word.parse().expect("BUG: our own error codes are identifiers")
}

/// A retryable failure of our own making.
fn failure(
    execution: &Execution,
    error_code: &str,
    detail: &str,
    observed_replicas: Option<Replicas>,
) -> ActuationResult {
    ActuationResult {
        execution_key: execution.key().clone(),
        target: execution.intent.wish.target.clone(),
        answer: Answer::Failed { observed_replicas, retryable: true, error_code: code(error_code) },
        detail: Detail::cut(detail),
        actuator_operation_id: None,
    }
}

/// Records a result; a failure that cannot be tried again ends in the same transaction.
fn finish(
    draft: &Draft<'_>,
    execution: &Execution,
    attempt: AttemptNumber,
    end: Ended,
) -> Decision {
    let key = execution.key().clone();
    let policy = execution.intent.wish.retry_policy;
    let fence_alive = execution.fence().is_some_and(|fence| fence.is_alive(draft.now));
    let cause = if end.result.scaled() {
        None
    } else if !end.result.is_retryable_failure() {
        let mismatch = end.result.error_code() == Some(&code("observed_replicas_mismatch"));
        Some(if mismatch { FailureCause::Mismatch } else { FailureCause::Terminal })
    } else if attempt.get() >= policy.max_attempts.get() {
        Some(FailureCause::Exhausted)
    } else if !fence_alive {
        Some(FailureCause::FenceOver)
    } else {
        None
    };
    let may_retry = cause.is_none() && !end.result.scaled();
    let source = match end.source {
        ResultSource::Attested => Source::Attested,
        ResultSource::Reading => Source::Reading,
        ResultSource::Call
        | ResultSource::NotStarted
        | ResultSource::Simulation
        | ResultSource::Lookup => Source::Actuator,
    };
    let observation = cause.map(|cause| EventBody::ObservationRecorded {
        execution_key: key.clone(),
        observation: draft.observation(execution, &end.result, source, end.result.detail.as_str()),
        cause: Some(cause),
    });
    let result = EventBody::ResultRecorded {
        execution_key: key,
        attempt,
        result: end.result,
        source: end.source,
        ended_at: end.ended_at.min(draft.now),
        retry_at: may_retry.then(|| draft.now.plus(policy.backoff)),
        partly_applied: end.partly_applied,
        rollback_required: end.rollback_required,
        resource_version_after: end.resource_version_after,
    };
    draft.done(std::iter::once(result).chain(observation).collect())
}

pub(super) fn prove_end(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    attempt: AttemptNumber,
    ended_at: Timestamp,
) -> Result<Decision, Rejection> {
    let execution = draft.execution(key)?;
    let pending = pending_of(execution)?;
    if pending.call.attempt != attempt || pending.ended_at.is_some() {
        return Ok(unchanged());
    }
    Ok(draft.done(vec![EventBody::CallEnded {
        execution_key: key.clone(),
        attempt,
        ended_at: ended_at.min(draft.now),
    }]))
}

pub(super) fn record_fence(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    attempt: AttemptNumber,
) -> Result<Decision, Rejection> {
    let execution = draft.execution(key)?;
    let pending = pending_of(execution)?;
    if pending.call.attempt != attempt || pending.fenced {
        return Ok(unchanged());
    }
    Ok(draft.done(vec![EventBody::TargetFenced { execution_key: key.clone(), attempt }]))
}

fn pending_of(execution: &Execution) -> Result<&Pending, Rejection> {
    match &execution.phase {
        Phase::RecoveryPending { pending } => Ok(pending),
        Phase::Started { .. } => match &execution.lease {
            Some(held) => Err(Rejection::InProgress {
                service: execution.intent.service.clone(),
                revision: execution.revision(),
                held: Box::new(held.clone()),
            }),
            None => Err(wrong_state(execution, "its call has not ended")),
        },
        _ => Err(wrong_state(execution, "nothing about it is unknown")),
    }
}

/// Settles an attempt whose outcome is unknown (design, ruling 3).
pub(super) fn settle(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    settlement: &Settlement,
) -> Result<Decision, Rejection> {
    let execution = draft.execution(key)?;
    let pending = pending_of(execution)?;
    let by_person = matches!(
        settlement,
        Settlement::AttestedApplied { .. } | Settlement::AttestedNotApplied { .. }
    );
    if by_person {
        check_may_settle(draft, execution, settlement)?;
    } else if execution.intent.terms.on_unknown == OnUnknown::Halt {
        return Err(unknown(draft, execution, pending));
    }
    // A lookup answers for calls that still run; everything else waits for the end and the quiet.
    let is_lookup = matches!(settlement, Settlement::LookupApplied(_) | Settlement::LookupNever);
    if !is_lookup && !pending.is_quiet(execution.intent.terms.quiet_ms, draft.now) {
        return Err(Rejection::QuietTime {
            service: execution.intent.service.clone(),
            revision: execution.revision(),
            until: pending.quiet_until(execution.intent.terms.quiet_ms),
        });
    }
    let (reading, result, partly_applied) =
        match settled_result(draft, execution, pending, settlement)? {
            Settled::Result { reading, result, partly_applied } => {
                (reading, result, partly_applied)
            }
            Settled::StillUnknown(reading) => {
                let verdict = ReadingVerdict::Differs;
                return Ok(draft.done(vec![reading_event(key, reading, verdict)]));
            }
            Settled::StaleReading => {
                return Ok(Decision { events: Vec::new(), reply: Reply::StaleReading });
            }
        };
    let end = Ended {
        result: held_to_the_wish(execution, &result),
        source: Command::settlement_source(settlement),
        ended_at: pending.ended_at.unwrap_or(draft.now),
        partly_applied,
        rollback_required: false,
        resource_version_after: None,
    };
    let mut decision = finish(draft, execution, pending.call.attempt, end);
    if let Some(reading) = reading {
        let verdict = verdict_of(execution, &reading);
        let event = draft.event(reading_event(key, reading, verdict));
        decision.events.insert(0, event);
    }
    Ok(decision)
}

fn reading_event(key: &ExecutionKey, reading: Reading, verdict: ReadingVerdict) -> EventBody {
    EventBody::ReadingRecorded { execution_key: key.clone(), reading, verdict }
}

enum Settled {
    Result { reading: Option<Reading>, result: ActuationResult, partly_applied: bool },
    StillUnknown(Reading),
    StaleReading,
}

fn settled_result(
    draft: &Draft<'_>,
    execution: &Execution,
    pending: &Pending,
    settlement: &Settlement,
) -> Result<Settled, Rejection> {
    let plain = |result| Settled::Result { reading: None, result, partly_applied: false };
    match settlement {
        Settlement::LookupApplied(result) => Ok(plain(result.clone())),
        Settlement::LookupNever => Ok(plain(failure(
            execution,
            "not_applied",
            "the actuator was asked: it never had and never will have an effect",
            None,
        ))),
        Settlement::Reading { reading, began_after_serial } => {
            if *began_after_serial != draft.state.head.reading_serial {
                return Ok(Settled::StaleReading);
            }
            Ok(settled_by_reading(execution, pending, reading))
        }
        Settlement::AttestedApplied { reason, reading } => {
            attested_applied(execution, reason, reading.as_ref())
        }
        Settlement::AttestedNotApplied { reason } => {
            Ok(plain(failure(execution, "not_applied", reason.as_str(), None)))
        }
    }
}

/// The count that is read after the end tells what happened: the wished one, the one before, or
/// another. An unknown count before counts as another.
fn settled_by_reading(execution: &Execution, pending: &Pending, reading: &Reading) -> Settled {
    if reading.target_uid != execution.intent.wish.target.target_uid {
        return Settled::StillUnknown(reading.clone());
    }
    let count = reading.replicas;
    let settled = |result, partly_applied| Settled::Result {
        reading: Some(reading.clone()),
        result,
        partly_applied,
    };
    if count == execution.desired() {
        return settled(success(execution, count, "read after the call had ended"), false);
    }
    if pending.call.base.replicas == Some(count) {
        let detail = format!("{count} replicas were read, as before the call");
        return settled(failure(execution, "not_applied", &detail, Some(count)), false);
    }
    if pending.fenced {
        let detail = format!("{count} replicas were read, neither as before nor as wished");
        return settled(failure(execution, "partly_applied", &detail, Some(count)), true);
    }
    Settled::StillUnknown(reading.clone())
}

fn success(execution: &Execution, count: Replicas, detail: &str) -> ActuationResult {
    ActuationResult {
        execution_key: execution.key().clone(),
        target: execution.intent.wish.target.clone(),
        answer: Answer::Succeeded { observed_replicas: count, retryable: false, error_code: None },
        detail: Detail::cut(detail),
        actuator_operation_id: None,
    }
}

fn attested_applied(
    execution: &Execution,
    reason: &Reason,
    reading: Option<&Reading>,
) -> Result<Settled, Rejection> {
    let service = execution.intent.service.clone();
    let Some(reading) = reading else {
        return Err(Rejection::FactUnknown { service, fact: MissingFact::Reading });
    };
    if verdict_of(execution, reading) == ReadingVerdict::Differs {
        return Err(Rejection::ReadingDiffers {
            service,
            revision: execution.revision(),
            desired: execution.desired(),
            actual: reading.replicas,
        });
    }
    Ok(Settled::Result {
        reading: Some(reading.clone()),
        result: success(execution, reading.replicas, reason.as_str()),
        partly_applied: false,
    })
}

fn check_may_settle(
    draft: &Draft<'_>,
    execution: &Execution,
    settlement: &Settlement,
) -> Result<(), Rejection> {
    let (registration, binding) = registered(draft.state, &execution.intent.service)?;
    let reason = match settlement {
        Settlement::AttestedApplied { reason, .. } | Settlement::AttestedNotApplied { reason } => {
            Some(reason.as_str().to_owned())
        }
        Settlement::LookupApplied(_) | Settlement::LookupNever | Settlement::Reading { .. } => None,
    };
    let answer = draft.context.policy.answer(&PolicyQuery {
        actor: draft.context.by.actor.to_string(),
        action: PolicyAction::Settle,
        resource: service_resource(registration, draft.context),
        desired: Some(execution.desired()),
        current: binding.replicas,
        source: draft.context.source.to_owned(),
        reason,
        controller: Some(registration.writer.clone()),
        os_user: Some(draft.context.by.os_user.clone()),
        at: draft.now,
    });
    if answer.allowed {
        return Ok(());
    }
    Err(Rejection::Denied {
        actor: draft.context.by.actor.to_string(),
        subject: format!("{}@{}", execution.intent.service, execution.revision()),
        answer: Box::new(answer),
    })
}

fn unknown(draft: &Draft<'_>, execution: &Execution, pending: &Pending) -> Rejection {
    let quiet = execution.intent.terms.quiet_ms;
    Rejection::OutcomeUnknown {
        service: execution.intent.service.clone(),
        revision: execution.revision(),
        attempt: pending.call.attempt.get(),
        why: pending.why,
        until: (!pending.is_quiet(quiet, draft.now)).then(|| pending.quiet_until(quiet)),
    }
}

/// What a reading says about a wish (design, section 3, *Readings*).
pub fn verdict_of(execution: &Execution, reading: &Reading) -> ReadingVerdict {
    use crate::domain::scale::service::ConvergeOn;
    let desired = execution.desired();
    let is_same = reading.target_uid == execution.intent.wish.target.target_uid;
    if !is_same || reading.replicas != desired {
        return ReadingVerdict::Differs;
    }
    match (execution.intent.terms.converge_on, reading.ready_replicas) {
        (ConvergeOn::Ready, Some(ready)) if ready != desired => ReadingVerdict::NotYet,
        (ConvergeOn::Ready | ConvergeOn::Declared, _) => ReadingVerdict::Matches,
    }
}

pub(super) fn abandon(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    reason: &Detail,
) -> Result<Decision, Rejection> {
    let execution = draft.execution(key)?;
    match &execution.phase {
        Phase::Failed { .. } => {
            let end = draft.failure_end(execution, FailureCause::Abandoned, reason.as_str())?;
            Ok(draft.done(vec![end]))
        }
        Phase::Verified { cause: Some(FailureCause::Abandoned) } => Ok(unchanged()),
        Phase::Proposed { .. } | Phase::Accepted => {
            Err(wrong_state(execution, "take it back with intent withdraw"))
        }
        Phase::Started { .. } => Err(wrong_state(execution, "its call has not ended")),
        Phase::RecoveryPending { .. } => {
            Err(wrong_state(execution, "nobody knows yet what became of it"))
        }
        Phase::Succeeded
        | Phase::Observed
        | Phase::Verified { .. }
        | Phase::Rejected
        | Phase::Withdrawn
        | Phase::Superseded { .. } => Err(wrong_state(execution, "it is over")),
    }
}
