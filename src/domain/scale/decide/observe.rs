//! Confirming a result: by readings, or, where nobody can read, by the actuator's own word.

use super::settle::verdict_of;
use super::{Decision, Draft, Reply, in_progress, nothing, outcome_unknown, replayed, wrong_state};
use crate::domain::id::ExecutionKey;
use crate::domain::scale::attempt::ResultSource;
use crate::domain::scale::event::EventBody;
use crate::domain::scale::execution::{Execution, FailureCause, Phase};
use crate::domain::scale::observation::{Reading, ReadingVerdict, Source};
use crate::domain::scale::rejection::{MissingFact, Rejection};
use crate::domain::scale::service::Binding;

pub(super) fn observe(
    draft: &Draft<'_>,
    key: &ExecutionKey,
    reading: Option<&(Reading, u64)>,
    bound_before: Option<&Binding>,
) -> Result<Decision, Rejection> {
    let execution = draft.execution(key)?;

    // A reading that began before the newest one was recorded says nothing new.
    if let Some((reading, began_after_serial)) = reading
        && (*began_after_serial != draft.state.head.reading_serial
            || draft.is_overtaken(reading, bound_before))
    {
        return Ok(nothing(Reply::StaleReading));
    }
    match &execution.phase {
        Phase::Succeeded | Phase::Observed => confirm(draft, execution, reading),
        Phase::Failed { .. } if !execution.is_retryable(draft.now) => {
            let end = draft.failure_end(execution, FailureCause::FenceOver, "the fence ran out")?;
            Ok(draft.done(vec![end]))
        }
        // What is over is never rewritten; a fresh reading of it is kept beside it.
        Phase::Verified { .. } | Phase::Superseded { .. } if execution.is_live() => match reading {
            Some((reading, _)) => {
                let body = reading_event(execution, reading);
                Ok(Decision { reply: Reply::Replayed, ..draft.done(vec![body]) })
            }
            None => Ok(replayed()),
        },
        Phase::Verified { .. }
        | Phase::Superseded { .. }
        | Phase::Rejected
        | Phase::Withdrawn
        | Phase::Failed { .. } => Ok(replayed()),
        Phase::Proposed { .. } | Phase::Accepted => {
            Err(wrong_state(execution, "it has no result yet"))
        }
        Phase::Started { .. } => Err(in_progress(execution)),
        Phase::RecoveryPending { pending } => Err(outcome_unknown(draft, execution, pending)),
    }
}

fn reading_event(execution: &Execution, reading: &Reading) -> EventBody {
    EventBody::ReadingRecorded {
        execution_key: execution.key().clone(),
        reading: reading.clone(),
        verdict: verdict_of(execution, reading),
    }
}

fn confirm(
    draft: &Draft<'_>,
    execution: &Execution,
    reading: Option<&(Reading, u64)>,
) -> Result<Decision, Rejection> {
    let required = execution.intent.terms.required_readings.get();
    let (matched, mut events) = match reading {
        Some((reading, _)) => match verdict_of(execution, reading) {
            ReadingVerdict::Matches => {
                (execution.readings_matched + 1, vec![reading_event(execution, reading)])
            }
            ReadingVerdict::NotYet | ReadingVerdict::Differs => {
                return Ok(draft.done(vec![reading_event(execution, reading)]));
            }
        },
        None => (execution.readings_matched, Vec::new()),
    };
    let recorded =
        execution.result.as_ref().ok_or_else(|| wrong_state(execution, "it has no result yet"))?;
    if matched >= required {
        let was_read = reading.is_some() || matches!(execution.phase, Phase::Observed);
        let source = match recorded.source {
            ResultSource::Attested => Source::Attested,
            ResultSource::Reading => Source::Reading,
            ResultSource::Call
            | ResultSource::NotStarted
            | ResultSource::Simulation
            | ResultSource::Adopted
            | ResultSource::Lookup => {
                if was_read {
                    Source::Reading
                } else {
                    Source::Actuator
                }
            }
        };
        let detail = format!("{matched} of {required} readings agree");
        let observation =
            draft.observation(&execution.intent.wish, &recorded.result, source, &detail);
        events.push(EventBody::ObservationRecorded {
            execution_key: execution.key().clone(),
            observation,
            cause: None,
        });
    }
    if events.is_empty() {
        let service = execution.intent.service.clone();
        return Err(Rejection::FactUnknown { service, fact: MissingFact::Reading });
    }
    Ok(draft.done(events))
}
