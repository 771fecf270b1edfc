//! Settling an attempt whose outcome is unknown (design, ruling 3).
//!
//! Owns who may say what became of it, and when. Never settles before the end of the call and its
//! quiet are over, unless the actuator was asked or the target is fenced.

use super::changed::{PARTLY_APPLIED, is_count_before, is_untouched};
use super::finish::{Ended, failure, finish, held_to_the_wish, is_answer_to, pending_of};
use super::{
    Decision, Draft, Reply, deduplicates, nothing, outcome_unknown, replayed, wrong_state,
};
use crate::domain::id::{AuthorizationId, ExecutionKey, Replicas};
use crate::domain::scale::attempt::Pending;
use crate::domain::scale::command::Settlement;
use crate::domain::scale::event::EventBody;
use crate::domain::scale::execution::Execution;
use crate::domain::scale::gates::{authorized, registered};
use crate::domain::scale::intent::Reason;
use crate::domain::scale::observation::{Reading, ReadingVerdict};
use crate::domain::scale::policy::{PolicyAction, PolicyAnswer, PolicyQuery};
use crate::domain::scale::rejection::{MissingFact, Rejection};
use crate::domain::scale::result::{ActuationResult, Answer, Detail};
use crate::domain::scale::service::{ConvergeOn, OnUnknown};

pub(super) fn settle(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    settlement: &Settlement,
    authorization: Option<&AuthorizationId>,
) -> Result<Decision, Rejection> {
    let execution = draft.execution(key)?;
    let Some(pending) = pending_of(execution)? else {
        let denies = matches!(settlement, Settlement::AttestedNotApplied { .. });
        let scaled = execution.result.as_ref().is_some_and(|recorded| recorded.result.scaled());
        if denies && scaled {
            return Err(wrong_state(execution, "it is known to have been applied"));
        }
        return Ok(replayed());
    };
    let by_person = matches!(
        settlement,
        Settlement::AttestedApplied { .. } | Settlement::AttestedNotApplied { .. }
    );
    let mut said = None;
    if by_person {
        said = Some(check_may_settle(draft, execution, settlement, authorization)?);
    } else if execution.intent.terms.on_unknown == OnUnknown::Halt {
        return Err(outcome_unknown(draft, execution, pending));
    }
    check_in_time(draft, execution, pending, settlement)?;
    if !began_after_quiet(execution, pending, settlement) {
        return Ok(nothing(Reply::StaleReading));
    }
    let (reading, result) = match settled_result(draft, execution, pending, settlement)? {
        Settled::Result { reading, result } => (reading, result),
        Settled::StillUnknown(reading) => {
            let verdict = ReadingVerdict::Differs;
            return Ok(draft.done(vec![reading_event(key, reading, verdict)]));
        }
        Settled::StaleReading => {
            return Ok(nothing(Reply::StaleReading));
        }
    };
    let end = Ended {
        result: held_to_the_wish(execution, &result),
        source: settlement.source(),
        ended_at: pending.ended_at.unwrap_or(draft.now),
        rollback_required: false,
        resource_version_after: None,
        decision: said,
    };
    let mut decision = finish(draft, execution, pending.call.attempt, end);
    if let Some(reading) = reading {
        let verdict = verdict_of(execution, &reading);
        let event = draft.event(reading_event(key, reading, verdict));
        decision.events.insert(0, event);
    }
    if let Some(authorization_id) = authorization.filter(|_| by_person).cloned() {
        let execution_key = key.clone();
        let wished_by = draft.another(&execution.put_by);
        let used = EventBody::AuthorizationUsed { authorization_id, execution_key, wished_by };
        decision.events.insert(0, draft.event(used));
    }
    Ok(decision)
}

/// A lookup answers for calls that still run; everything else waits for the end and the quiet.
fn check_in_time(
    draft: &Draft<'_>,
    execution: &Execution,
    pending: &Pending,
    settlement: &Settlement,
) -> Result<(), Rejection> {
    let asked_about = match settlement {
        Settlement::LookupApplied(attempt, _) | Settlement::LookupNever(attempt) => Some(*attempt),
        Settlement::Reading { .. }
        | Settlement::AttestedApplied { .. }
        | Settlement::AttestedNotApplied { .. } => None,
    };
    // Somebody else may have settled that attempt since, and another one be unknown.
    if asked_about.is_some_and(|attempt| attempt != pending.call.attempt) {
        return Err(outcome_unknown(draft, execution, pending));
    }
    if asked_about.is_none() && !pending.is_quiet(execution.intent.terms.quiet_ms, draft.now) {
        return Err(Rejection::QuietTime {
            service: execution.intent.service.clone(),
            revision: execution.revision(),
            until: pending.quiet_until(execution.intent.terms.quiet_ms),
        });
    }
    Ok(())
}

/// A reading that began before the quiet was over may have missed the late effect that the quiet
/// is there for.
fn began_after_quiet(execution: &Execution, pending: &Pending, settlement: &Settlement) -> bool {
    let reading = match settlement {
        Settlement::Reading { reading, .. } => Some(reading),
        Settlement::AttestedApplied { reading, .. } => reading.as_ref(),
        Settlement::LookupApplied(..)
        | Settlement::LookupNever(_)
        | Settlement::AttestedNotApplied { .. } => None,
    };
    let quiet = execution.intent.terms.quiet_ms;
    reading.is_none_or(|reading| pending.is_quiet(quiet, reading.began_at))
}

fn reading_event(key: &ExecutionKey, reading: Reading, verdict: ReadingVerdict) -> EventBody {
    EventBody::ReadingRecorded { execution_key: key.clone(), reading, verdict }
}

enum Settled {
    Result { reading: Option<Reading>, result: ActuationResult },
    StillUnknown(Reading),
    StaleReading,
}

fn settled_result(
    draft: &Draft<'_>,
    execution: &Execution,
    pending: &Pending,
    settlement: &Settlement,
) -> Result<Settled, Rejection> {
    let plain = |result| Settled::Result { reading: None, result };
    match settlement {
        Settlement::LookupApplied(_, result) if is_answer_to(execution, result) => {
            Ok(plain(result.clone()))
        }
        Settlement::LookupApplied(..) => Err(outcome_unknown(draft, execution, pending)),
        Settlement::LookupNever(_) => Ok(plain(failure(
            execution,
            "not_applied",
            "the actuator was asked: it never had and never will have an effect",
            None,
        ))),
        Settlement::Reading { reading, began_after_serial, bound_before } => {
            if *began_after_serial != draft.state.head.reading_serial
                || draft.is_overtaken(reading, bound_before.as_ref())
            {
                return Ok(Settled::StaleReading);
            }
            Ok(settled_by_reading(draft, execution, pending, reading))
        }
        Settlement::AttestedApplied { reason, reading } => {
            attested_applied(draft, execution, reason, reading.as_ref())
        }
        // Whoever looked at one attempt has not looked at the next.
        Settlement::AttestedNotApplied { attempt: Some(meant), .. }
            if *meant != pending.call.attempt =>
        {
            Err(wrong_state(execution, "another attempt is the unknown one by now"))
        }
        Settlement::AttestedNotApplied { reason, attempt: _ } => {
            Ok(plain(failure(execution, "not_applied", reason.as_str(), None)))
        }
    }
}

/// What is read after the end tells what happened: the wished count, the one before, on a target
/// that nothing has touched since, or another. An unknown count before counts as another, and so
/// does one that has come back.
fn settled_by_reading(
    draft: &Draft<'_>,
    execution: &Execution,
    pending: &Pending,
    reading: &Reading,
) -> Settled {
    if reading.target_uid != execution.intent.wish.target.target_uid {
        return Settled::StillUnknown(reading.clone());
    }
    let count = reading.replicas;
    let settled = |result| Settled::Result { reading: Some(reading.clone()), result };
    if count == execution.desired() {
        return settled(success(execution, count, "read after the call had ended"));
    }
    let is_before = is_count_before(execution, &pending.call, count);
    // A fence moves the version itself, so what had moved it before was looked at before the fence.
    let is_untouched = if pending.fenced {
        !pending.touched
    } else {
        is_untouched(execution, &pending.call, reading)
    };
    if is_before && is_untouched {
        let detail = format!("{count} replicas were read, as before the call");
        return settled(failure(execution, "not_applied", &detail, Some(count)));
    }
    // The whole effect may have been taken back by somebody else: only who deduplicates does not
    // make it again under the same key.
    let may_be_repeated = !is_before || deduplicates(draft);
    if pending.fenced && may_be_repeated {
        let detail = if is_before {
            format!("{count} replicas were read, as before the call, and the target had changed")
        } else {
            format!("{count} replicas were read, neither as before nor as wished")
        };
        return settled(failure(execution, PARTLY_APPLIED, &detail, Some(count)));
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

/// A person's word that it was applied needs a reading that agrees, wherever somebody can read; the
/// word alone counts only for an actuator that cannot.
fn attested_applied(
    draft: &Draft<'_>,
    execution: &Execution,
    reason: &Reason,
    reading: Option<&Reading>,
) -> Result<Settled, Rejection> {
    let service = execution.intent.service.clone();
    let Some(reading) = reading else {
        if draft.context.actuator.is_some_and(|actuator| actuator.capabilities.inspect) {
            return Err(Rejection::FactUnknown { service, fact: MissingFact::Reading });
        }
        return Ok(Settled::Result {
            reading: None,
            result: success(execution, execution.desired(), reason.as_str()),
        });
    };
    let wished = &execution.intent.wish.target.target_uid;
    if reading.target_uid != *wished {
        return Err(Rejection::OtherObject {
            service,
            revision: execution.revision(),
            expected: wished.clone(),
            actual: reading.target_uid.clone(),
        });
    }
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
    })
}

fn check_may_settle(
    draft: &Draft<'_>,
    execution: &Execution,
    settlement: &Settlement,
    authorization: Option<&AuthorizationId>,
) -> Result<PolicyAnswer, Rejection> {
    let (registration, binding) = registered(draft.state, &execution.intent.service)?;
    let reason = match settlement {
        Settlement::AttestedApplied { reason, .. }
        | Settlement::AttestedNotApplied { reason, .. } => Some(reason.as_str().to_owned()),
        Settlement::LookupApplied(..) | Settlement::LookupNever(_) | Settlement::Reading { .. } => {
            None
        }
    };
    // Whoever breaks the glass is asked for that, and not for this.
    if let Some(id) = authorization {
        let target = &execution.intent.wish.target;
        let (key, desired) = (execution.key(), execution.desired());
        authorized(draft.state, &registration.service, id, key, desired, target, draft.now)?;
    }
    let action = match authorization {
        Some(_) => PolicyAction::BreakGlass,
        None => PolicyAction::Settle,
    };
    let query = PolicyQuery {
        desired: Some(execution.desired()),
        current: binding.known_replicas(),
        reason,
        ..draft.about(action, registration)
    };
    let subject = format!("{}@{}", execution.intent.service, execution.revision());
    draft.permitted(&query, subject)
}

/// What a reading says about a wish (design, section 3, *Readings*).
pub fn verdict_of(execution: &Execution, reading: &Reading) -> ReadingVerdict {
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
