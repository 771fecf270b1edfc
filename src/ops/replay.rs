//! `replay`: finds out what became of a key, or of all of them. One bad row never stops the rest.

use super::error::OpError;
use super::recover::{Replayed, reading_due, recover};
use super::report::Report;
use super::session::Session;
use super::wait::{pause, refuse_after_signal};
use crate::actuator::host::Deadline;
use crate::domain::id::ExecutionKey;
use crate::domain::scale::decide::{verdict_of, waits_behind};
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::observation::ReadingVerdict;
use crate::domain::scale::service::OnUnknown;
use crate::domain::time::{DurationMs, Timestamp};
use crate::ledger::{ExecutionFilter, Sought};

/// How long to wait at most before looking at the ledger and the call again: what is waited for may
/// end early.
const LOOK: DurationMs = DurationMs::from_millis(250);
/// After how long the target is asked again although nothing has changed; it doubles up to
/// [`ASK_MAX`].
const ASK_MIN: DurationMs = DurationMs::from_secs(1);
/// The longest such wait.
const ASK_MAX: DurationMs = DurationMs::from_secs(30);
/// What a replay says of a wish that only waits to be carried out.
const NOT_STARTED: &str = "it has not started, and replay starts no wish";

/// The keys of everything that is under way, the oldest first. That nothing is under way is said
/// only where no write is under way either: on a server the COMMIT of a process that is gone may
/// still run. Until `deadline` is what the caller has for all of it.
pub fn unfinished(
    session: &mut Session,
    deadline: Option<Deadline>,
) -> Result<Vec<Execution>, OpError> {
    if let Some(deadline) = deadline {
        session.wait_no_longer_than(deadline);
    }
    session.outwait(Sought::Anything)?;
    let filter = ExecutionFilter { service: None, unfinished: true, limit: None };
    let mut found = session.ledger.read()?.executions(&filter)?;
    found.retain(|execution| !matches!(execution.phase, Phase::Accepted | Phase::Proposed { .. }));
    found.reverse();
    Ok(found)
}

/// Makes sure that what was found is there for good, before anything is done upon it: what is seen
/// of a server whose standby is away would be gone with it.
pub fn confirm(session: &mut Session) -> Result<(), OpError> {
    Ok(session.ledger.confirm()?)
}

/// Replays one key. An accepted intent stays as it is; one that waits says for whom.
pub fn replay(session: &mut Session, key: &ExecutionKey) -> Result<Replayed, OpError> {
    refuse_after_signal()?;
    // What goes on elsewhere is not told from here.
    session.refuse_sealed()?;
    let mut replayed = recover(session, key)?;
    if matches!(replayed.report.execution.phase, Phase::Accepted) {
        let (state, execution) = session.load(key)?;
        if let Some(rejection) = waits_behind(&state, &execution) {
            return Err(rejection.into());
        }
        replayed.steps.push(NOT_STARTED.to_owned());
    }
    Ok(replayed)
}

/// A key as it is recorded, for whoever has no time left to ask anybody.
pub fn as_it_stands(session: &mut Session, key: &ExecutionKey) -> Result<Replayed, OpError> {
    let report = Report::replay(session, key)?;
    let steps = vec!["the time is over: nobody was asked".to_owned()];
    Ok(Replayed { steps, report })
}

/// Replays one key, and waits for what has a known end. `say` is told what is waited for.
pub fn replay_until(
    session: &mut Session,
    key: &ExecutionKey,
    deadline: Deadline,
    say: &mut dyn FnMut(&str),
) -> Result<Replayed, OpError> {
    let mut steps: Vec<String> = Vec::new();
    let mut said = String::new();
    let mut patience = ASK_MIN;
    session.wait_no_longer_than(deadline);
    loop {
        let now = session.now();
        let (until, why) = match replay(session, key) {
            Ok(replayed) => {
                let why = replayed.steps.last().cloned().unwrap_or_default();
                for step in replayed.steps {
                    if !steps.contains(&step) {
                        steps.push(step);
                    }
                }
                let until = known_end(&replayed.report.execution);
                match until.filter(|until| *until > now && !deadline.is_past()) {
                    Some(until) => (until, why),
                    None => return Ok(Replayed { steps, report: replayed.report }),
                }
            }
            Err(OpError::Rejected { rejection, head, left }) => {
                let until = rejection.retry_at().filter(|until| *until > now);
                match until.filter(|_| !deadline.is_past()) {
                    Some(until) => (until, rejection.to_string()),
                    None => return Err(OpError::Rejected { rejection, head, left }),
                }
            }
            Err(error) => return Err(error),
        };
        if said != why {
            say(&format!("waiting at most {}: {why}", until.since(now)));
            said = why;
        }
        await_news(session, key, until.since(now).min(patience), deadline)?;
        patience = DurationMs::from_millis(patience.as_millis() * 2).min(ASK_MAX);
    }
}

/// When more can be found out about a key, where that is known.
fn known_end(execution: &Execution) -> Option<Timestamp> {
    match &execution.phase {
        Phase::RecoveryPending { pending } => {
            Some(pending.quiet_until(execution.intent.terms.quiet_ms))
        }
        Phase::Failed { retry_at } => Some(*retry_at),
        // What differs or is not yet ready has no known end.
        Phase::Succeeded | Phase::Observed => reading_due(execution).filter(|_| {
            execution
                .last_reading
                .as_ref()
                .is_some_and(|reading| verdict_of(execution, reading) == ReadingVerdict::Matches)
        }),
        Phase::Proposed { .. }
        | Phase::Accepted
        | Phase::Started { .. }
        | Phase::Verified { .. }
        | Phase::Rejected
        | Phase::Withdrawn
        | Phase::Superseded { .. } => None,
    }
}

/// Waits until the ledger or the call has news, at most for `patience`. Asks nobody: what is waited
/// for must not be worn out by the waiting.
fn await_news(
    session: &mut Session,
    key: &ExecutionKey,
    patience: DurationMs,
    deadline: Deadline,
) -> Result<(), OpError> {
    let (_, before) = session.load(key)?;
    let end = Deadline::after(patience.max(DurationMs::from_millis(5)));
    while !end.is_past() && !deadline.is_past() {
        let left = u64::try_from(end.remaining().as_millis()).unwrap_or(u64::MAX);
        pause(DurationMs::from_millis(left + 1).min(LOOK), deadline)?;
        let (_, execution) = session.load(key)?;
        if let Phase::Started { call } = &execution.phase
            && session.call_seems_ended(&execution, call)
        {
            return Ok(());
        }
        session.record_end(&execution)?;
        if session.load(key)?.1 != before {
            return Ok(());
        }
    }
    Ok(())
}

/// What a replay would do first, without doing it.
pub fn next_step(session: &Session, execution: &Execution) -> String {
    match &execution.phase {
        Phase::Started { call } if session.call_seems_ended(execution, call) => {
            "record that its call has ended, then find out what became of it".to_owned()
        }
        Phase::Started { call } if session.call_is_silent(execution, call) => {
            "record that its call gives no sign of life, then find out what became of it".to_owned()
        }
        Phase::Started { .. } => "nothing: its call may be running".to_owned(),
        Phase::RecoveryPending { .. } => match execution.intent.terms.on_unknown {
            OnUnknown::Halt => "nothing: it is left to settle".to_owned(),
            OnUnknown::ObserveFirst => "look it up, fence it, read it".to_owned(),
            OnUnknown::RetrySameKey => {
                "look it up, fence it, read it, or call again under the same key".to_owned()
            }
        },
        Phase::Failed { retry_at } => format!("start the next attempt from {retry_at} on"),
        Phase::Succeeded | Phase::Observed => "read the target".to_owned(),
        Phase::Accepted => format!("nothing: {NOT_STARTED}"),
        Phase::Proposed { .. }
        | Phase::Verified { .. }
        | Phase::Rejected
        | Phase::Withdrawn
        | Phase::Superseded { .. } => "nothing".to_owned(),
    }
}
