//! What became of a call: results, losses, and the proofs of its end.

use super::changed::{MISMATCH, is_partly_applied, is_untouched};
use super::{Decision, Draft, Reply, in_progress, replayed, unchanged, wrong_state};
use crate::domain::id::{
    AttemptNumber, ErrorCode, ExecutionKey, LeaseInstanceId, Replicas, TargetResourceVersion,
};
use crate::domain::scale::attempt::{Call, Pending, ResultSource, UnknownWhy};
use crate::domain::scale::command::CallEnd;
use crate::domain::scale::event::EventBody;
use crate::domain::scale::execution::{Execution, FailureCause, Phase};
use crate::domain::scale::observation::{Reading, Source};
use crate::domain::scale::policy::PolicyAnswer;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::result::{ActuationResult, Answer, Detail, ResultState};
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
pub(super) struct Ended {
    pub(super) result: ActuationResult,
    pub(super) source: ResultSource,
    pub(super) ended_at: Timestamp,
    pub(super) rollback_required: bool,
    pub(super) resource_version_after: Option<TargetResourceVersion>,
    /// What policy said of a person whose word it is.
    pub(super) decision: Option<PolicyAnswer>,
}

pub(super) fn end_call(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    ended: &EndedCall<'_>,
    ended_at: Option<Timestamp>,
) -> Result<Decision, Rejection> {
    let execution = draft.execution(key)?;
    let Some(call) = own_call(execution, ended) else {
        return late(draft, execution, ended);
    };
    let ended_at = ended_at.map(|at| at.clamp(call.started_at, draft.now));
    let lost = |why, detail: &Detail, rollback_required| {
        if let Phase::RecoveryPending { pending } = &execution.phase {
            return Ok(lost_again(draft, execution, pending, ended_at, rollback_required));
        }
        Ok(draft.done(vec![EventBody::AttemptLost {
            execution_key: key.clone(),
            attempt: ended.attempt,
            why,
            detail: detail.clone(),
            ended_at,
            rollback_required,
        }]))
    };
    match ended.end {
        CallEnd::Answered { result, rollback_required, .. } if !is_answer_to(execution, result) => {
            let detail = Detail::cut("the answer is not one to this call");
            lost(UnknownWhy::Garbled, &detail, *rollback_required)
        }
        CallEnd::Answered { result, rollback_required, resource_version_after } => {
            let end = Ended {
                result: held_to_the_wish(execution, result),
                source: ResultSource::Call,
                ended_at: ended_at.unwrap_or(draft.now),
                rollback_required: *rollback_required,
                resource_version_after: resource_version_after.clone(),
                decision: None,
            };
            Ok(finish(draft, execution, ended.attempt, end))
        }
        // That this one never ran says nothing of the one before it, which nobody has settled.
        CallEnd::NotStarted { detail } if execution.repeats_unknown() => {
            lost(UnknownWhy::Lost, detail, false)
        }
        CallEnd::NotStarted { detail } => {
            let end = Ended {
                result: failure(execution, "not_started", detail.as_str(), None),
                source: ResultSource::NotStarted,
                ended_at: ended_at.unwrap_or(draft.now),
                rollback_required: false,
                resource_version_after: None,
                decision: None,
            };
            Ok(finish(draft, execution, ended.attempt, end))
        }
        CallEnd::Unknown { why, detail, rollback_required } => {
            lost(*why, detail, *rollback_required)
        }
    }
}

/// What a second word about a lost call adds: the proof of its end, and the wish for a rollback. A
/// wish without any proof waits for one.
fn lost_again(
    draft: &Draft<'_>,
    execution: &Execution,
    pending: &Pending,
    ended_at: Option<Timestamp>,
    rollback_required: bool,
) -> Decision {
    let adds = pending.ended_at.is_none() || (rollback_required && !execution.rollback_required);
    let Some(ended_at) = pending.ended_at.or(ended_at).filter(|_| adds) else {
        return unchanged();
    };
    draft.done(vec![EventBody::CallEnded {
        execution_key: execution.key().clone(),
        attempt: pending.call.attempt,
        ended_at,
        rollback_required,
    }])
}

/// The call that is open, if it is the one that ended. A result under an older attempt, or under a
/// lease that another has replaced, is late; under a lease that has only run out it is not.
fn own_call<'e>(execution: &'e Execution, ended: &EndedCall<'_>) -> Option<&'e Call> {
    let call = execution.open_call()?;
    let is_replaced = execution
        .lease
        .as_ref()
        .is_some_and(|held| held.lease.lease_instance_id != call.lease_instance_id);
    let is_own =
        call.attempt == ended.attempt && call.lease_instance_id == *ended.lease_instance_id;
    (is_own && !is_replaced).then_some(call)
}

/// Whether it can be the answer to a call for this key: its key, its target, and no simulation.
pub(super) fn is_answer_to(execution: &Execution, result: &ActuationResult) -> bool {
    result.execution_key == *execution.key()
        && result.target == execution.intent.wish.target
        && result.state() != ResultState::Simulated
}

/// Keeps a late result as evidence.
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
    if !is_answer_to(execution, result) {
        return Ok(unchanged());
    }
    let result = held_to_the_wish(execution, result);
    let recorded = execution.result.as_ref().filter(|r| r.attempt == ended.attempt);
    // The same result again is the same delivery, not news.
    if recorded.is_some_and(|recorded| recorded.result == result) {
        return Ok(replayed());
    }
    let event = EventBody::LateResultKept {
        execution_key: execution.key().clone(),
        attempt: ended.attempt,
        contradicts: contradicts(execution, ended.attempt, &result),
        result,
    };
    Ok(Decision { reply: Reply::Late, ..draft.done(vec![event]) })
}

/// Whether a late result says something else than what was recorded of its attempt. An attempt
/// whose record a newer one has replaced had failed, or was called again as the same effect.
fn contradicts(execution: &Execution, attempt: AttemptNumber, result: &ActuationResult) -> bool {
    match execution.result.as_ref().filter(|recorded| recorded.attempt == attempt) {
        Some(recorded) => recorded.result.scaled() != result.scaled(),
        None if attempt.get() == execution.attempts => false,
        None => result.scaled() && execution.intent.terms.on_unknown != OnUnknown::RetrySameKey,
    }
}

/// A success with another count is a failure that trying again does not mend (seed 000).
pub fn held_to_the_wish(execution: &Execution, result: &ActuationResult) -> ActuationResult {
    match &result.answer {
        Answer::Succeeded { observed_replicas, .. }
            if *observed_replicas != execution.desired() =>
        {
            let answer = Answer::Failed {
                observed_replicas: Some(*observed_replicas),
                retryable: false,
                error_code: code(MISMATCH),
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
pub(super) fn failure(
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
pub(super) fn finish(
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
        let mismatch = end.result.error_code() == Some(&code(MISMATCH));
        Some(if mismatch { FailureCause::Mismatch } else { FailureCause::Terminal })
    } else if attempt.get() >= policy.max_attempts.get() {
        Some(FailureCause::Exhausted)
    } else if !fence_alive {
        Some(FailureCause::FenceOver)
    } else {
        None
    };
    let may_retry = cause.is_none() && !end.result.scaled();
    let partly_applied = is_partly_applied(execution, &end.result);
    let source = match end.source {
        ResultSource::Attested => Source::Attested,
        ResultSource::Reading => Source::Reading,
        ResultSource::Call
        | ResultSource::NotStarted
        | ResultSource::Simulation
        | ResultSource::Adopted
        | ResultSource::Lookup => Source::Actuator,
    };
    let observation = cause.map(|cause| EventBody::ObservationRecorded {
        execution_key: key.clone(),
        observation: draft.observation(
            &execution.intent.wish,
            &end.result,
            source,
            end.result.detail.as_str(),
        ),
        cause: Some(cause),
    });
    let result = EventBody::ResultRecorded {
        execution_key: key,
        attempt,
        result: end.result,
        source: end.source,
        ended_at: end.ended_at.min(draft.now),
        retry_at: may_retry.then(|| draft.now.plus(policy.backoff)),
        partly_applied,
        rollback_required: end.rollback_required,
        resource_version_after: end.resource_version_after,
        decision: end.decision,
    };
    draft.done(std::iter::once(result).chain(observation).collect())
}

pub(super) fn prove_end(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    attempt: AttemptNumber,
    ended_at: Timestamp,
) -> Result<Decision, Rejection> {
    let Some(pending) = pending_of(draft.execution(key)?)? else {
        return Ok(unchanged());
    };
    if pending.call.attempt != attempt || pending.ended_at.is_some() {
        return Ok(unchanged());
    }
    Ok(draft.done(vec![EventBody::CallEnded {
        execution_key: key.clone(),
        attempt,
        ended_at: ended_at.clamp(pending.call.started_at, draft.now),
        rollback_required: false,
    }]))
}

pub(super) fn record_fence(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    attempt: AttemptNumber,
    before: Option<&Reading>,
) -> Result<Decision, Rejection> {
    let execution = draft.execution(key)?;
    let Some(pending) = pending_of(execution)? else {
        return Ok(unchanged());
    };
    if pending.call.attempt != attempt || pending.fenced {
        return Ok(unchanged());
    }
    let touched = before.is_none_or(|reading| !is_untouched(execution, &pending.call, reading));
    Ok(draft.done(vec![EventBody::TargetFenced { execution_key: key.clone(), attempt, touched }]))
}

/// What is unknown about a key; none where it is settled already.
pub(super) fn pending_of(execution: &Execution) -> Result<Option<&Pending>, Rejection> {
    match &execution.phase {
        Phase::RecoveryPending { pending } => Ok(Some(pending)),
        Phase::Started { .. } => Err(in_progress(execution)),
        Phase::Proposed { .. } | Phase::Accepted => {
            Err(wrong_state(execution, "nothing about it is unknown"))
        }
        Phase::Failed { .. }
        | Phase::Succeeded
        | Phase::Observed
        | Phase::Verified { .. }
        | Phase::Rejected
        | Phase::Withdrawn
        | Phase::Superseded { .. } => Ok(None),
    }
}

pub(super) fn abandon(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    reason: &Detail,
    supersede: bool,
) -> Result<Decision, Rejection> {
    let execution = draft.execution(key)?;
    match &execution.phase {
        Phase::Failed { .. } => {
            draft.check_own(execution, supersede)?;
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
