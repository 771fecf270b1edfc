//! Faults on purpose in what comes out of the rules: events that they would never decide, a fold
//! that does something else than it says, a log that is not what was decided. Each has one rule of
//! the model that finds it.

use scalectl::domain::scale::attempt::ResultSource;
use scalectl::domain::scale::command::{CallEnd, Command};
use scalectl::domain::scale::decide::{Decision, Reply};
use scalectl::domain::scale::event::{Event, EventBody};
use scalectl::domain::scale::execution::{Outcome, Phase};
use scalectl::domain::scale::observation::ReadingVerdict;
use scalectl::domain::scale::state::ServiceState;
use scalectl::domain::time::DurationMs;

use super::faults;
use super::mutants::Mutant;
use crate::rules::support::{count, id};

/// Bends what was decided in a state.
pub(super) fn decision(
    mutant: Mutant,
    state: &ServiceState,
    command: &Command,
    made: &mut Decision,
) {
    match (mutant, command) {
        // A result that somebody gives is not heard.
        (Mutant::Unheard, Command::EndCall { end: CallEnd::Answered { .. }, .. }) => {
            made.events.clear();
            made.reply = Reply::Unchanged;
        }
        (Mutant::SaidByNobody, Command::Settle { .. }) => {
            for event in &mut made.events {
                if let EventBody::ResultRecorded { source, .. } = &mut event.body {
                    *source = ResultSource::Call;
                }
            }
        }
        (Mutant::TwoAtOnce, Command::Put(put)) if put.dry_run => {
            let mut other = made.events.clone();
            for event in &mut other {
                if let EventBody::IntentAccepted { intent, .. } = &mut event.body {
                    intent.wish.execution_key = id("z");
                }
            }
            made.events.extend(other);
        }
        _ => made.events.iter_mut().for_each(|event| one(mutant, state, event)),
    }
}

fn one(mutant: Mutant, state: &ServiceState, event: &mut Event) {
    let at = event.at;
    let execution = event.body.execution_key().and_then(|key| state.executions.get(key));
    match (mutant, &mut event.body) {
        (Mutant::Older, _) => event.at = at.minus(DurationMs::from_secs(3600)),
        (Mutant::Unsaid, EventBody::IntentSuperseded { outcome, .. }) => *outcome = None,
        (Mutant::Oversaid, EventBody::IntentSuperseded { outcome, .. }) => {
            *outcome = Some(Outcome::Unconfirmed);
        }
        // What an endless fence has let through says the end that the fence really has.
        (
            Mutant::StartFence | Mutant::LeaseFence,
            EventBody::AttemptStarted { held, .. } | EventBody::LeaseAcquired { held, .. },
        ) => {
            if let Some(fence) = execution.and_then(|execution| execution.fence()) {
                held.lease.fence = fence.clone();
            }
        }
        (Mutant::OtherFence, EventBody::AttemptStarted { held, .. }) => {
            held.lease.fence.fence_token = serde_json::from_value(9.into()).expect("a token");
        }
        (Mutant::ShortLease, EventBody::AttemptStarted { held, .. }) => {
            held.lease.expires_at = at.plus(DurationMs::from_secs(1));
        }
        (Mutant::Unstarted, EventBody::AttemptStarted { execution_key, held, .. }) => {
            let (execution_key, held) = (execution_key.clone(), held.clone());
            event.body = EventBody::LeaseAcquired { execution_key, held };
        }
        (Mutant::LateApplied, EventBody::LateResultKept { execution_key, attempt, result, .. }) => {
            event.body = EventBody::ResultRecorded {
                execution_key: execution_key.clone(),
                attempt: *attempt,
                result: result.clone(),
                source: ResultSource::Call,
                ended_at: at,
                retry_at: None,
                partly_applied: false,
                rollback_required: false,
                resource_version_after: None,
                decision: None,
            };
        }
        (Mutant::Misjudged, EventBody::ReadingRecorded { verdict, .. }) => {
            *verdict = match *verdict {
                ReadingVerdict::Differs => ReadingVerdict::Matches,
                ReadingVerdict::Matches | ReadingVerdict::NotYet => ReadingVerdict::Differs,
            };
        }
        (Mutant::NoCause, EventBody::ObservationRecorded { cause, .. }) => *cause = None,
        (Mutant::OtherResult, EventBody::ObservationRecorded { observation, .. }) => {
            if let Some(acceptance) = execution.and_then(|e| e.acceptance.as_ref()) {
                observation.outcome_digest = acceptance.identity_digest;
            }
        }
        _ => {}
    }
}

/// Bends the state that the events have led to: a fault of the fold.
pub(super) fn fold(
    mutant: Mutant,
    before: &ServiceState,
    after: &mut ServiceState,
    events: &[Event],
) {
    match mutant {
        Mutant::FoldForgets => {
            if let Some(key) = before.executions.keys().next() {
                after.executions.remove(key);
            }
        }
        Mutant::FoldSerial => after.head.reading_serial += 7,
        Mutant::FoldRevision => after.head.latest_revision += 1,
        Mutant::Consent(fault) => faults::fold(fault, after),
        _ => {}
    }
    for (key, execution) in &mut after.executions {
        let was = before.executions.get(key);
        let has = |is_meant: fn(&EventBody) -> bool| {
            let its = |event: &&Event| event.body.execution_key() == Some(key);
            events.iter().filter(its).any(|event| is_meant(&event.body))
        };
        match mutant {
            Mutant::FoldWish if was.is_some() => execution.intent.wish.desired_replicas = count(9),
            Mutant::FoldSkips if was.is_none() => {
                let next = execution.intent.wish.intent_revision.get() + 1;
                execution.intent.wish.intent_revision =
                    serde_json::from_value(next.into()).expect("a revision");
            }
            Mutant::FoldReopens if was.is_some_and(|was| was.phase.is_finished()) => {
                execution.attempts += 1;
            }
            Mutant::FoldVerifies if matches!(execution.phase, Phase::Succeeded) => {
                execution.phase = Phase::Verified { cause: None };
            }
            Mutant::FoldLoses if has(|b| matches!(b, EventBody::ObservationRecorded { .. })) => {
                execution.result = None;
            }
            _ => {}
        }
    }
}

/// Bends the log: what is written is not what was decided.
pub(super) fn log(mutant: Mutant, log: &mut Vec<Event>) {
    if mutant != Mutant::TwiceInLog {
        return;
    }
    let is_end = |event: &Event| matches!(event.body, EventBody::ObservationRecorded { .. });
    if let Some(end) = log.last().filter(|event| is_end(event)).cloned() {
        log.push(end);
    }
}

/// An event as it is read back.
pub(super) fn reread(mutant: Mutant, text: String) -> String {
    if mutant == Mutant::Misread { text.replace("2026", "2025") } else { text }
}
