//! `replay`: finds out what became of a key, or of all of them. One bad row never stops the rest.

use super::error::OpError;
use super::recover::{Replayed, recover};
use super::session::Session;
use super::wait::pause;
use crate::actuator::host::Deadline;
use crate::domain::id::{ExecutionKey, ServiceName};
use crate::domain::scale::decide::waits_behind;
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::service::OnUnknown;
use crate::domain::time::DurationMs;
use crate::ledger::ExecutionFilter;

/// How long to wait at most before looking again: what is waited for may end early.
const LOOK: DurationMs = DurationMs::from_millis(250);

/// The keys of everything that is under way, the oldest first.
pub fn unfinished(
    session: &mut Session,
    service: Option<&ServiceName>,
) -> Result<Vec<Execution>, OpError> {
    let filter = ExecutionFilter { service: service.cloned(), unfinished: true, limit: None };
    let mut found = session.ledger.read()?.executions(&filter)?;
    found.retain(|execution| !matches!(execution.phase, Phase::Accepted | Phase::Proposed { .. }));
    found.reverse();
    Ok(found)
}

/// Replays one key. An accepted intent stays as it is; one that waits says for whom.
pub fn replay(session: &mut Session, key: &ExecutionKey) -> Result<Replayed, OpError> {
    let mut replayed = recover(session, key)?;
    if matches!(replayed.report.execution.phase, Phase::Accepted) {
        let (state, execution) = session.load(key)?;
        if let Some(rejection) = waits_behind(&state, &execution) {
            return Err(rejection.into());
        }
        replayed.steps.push("it has not started: carry it out with actuate".to_owned());
    }
    Ok(replayed)
}

/// Replays one key, and waits for what has a known end. `say` is told what is waited for.
pub fn replay_until(
    session: &mut Session,
    key: &ExecutionKey,
    timeout: DurationMs,
    say: &mut dyn FnMut(&str),
) -> Result<Replayed, OpError> {
    let deadline = Deadline::after(timeout);
    let mut steps: Vec<String> = Vec::new();
    let mut said = String::new();
    loop {
        let now = session.now();
        let (until, why) = match replay(session, key) {
            Ok(replayed) => {
                for step in replayed.steps {
                    if steps.last() != Some(&step) {
                        steps.push(step);
                    }
                }
                let execution = &replayed.report.execution;
                let until = match &execution.phase {
                    Phase::RecoveryPending { pending } => {
                        Some(pending.quiet_until(execution.intent.terms.quiet_ms))
                    }
                    Phase::Failed { retry_at } => Some(*retry_at),
                    _ => None,
                };
                match until.filter(|until| *until > now && !deadline.is_past()) {
                    Some(until) => (until, steps.last().cloned().unwrap_or_default()),
                    None => return Ok(Replayed { steps, report: replayed.report }),
                }
            }
            Err(OpError::Rejected { rejection, head }) => match rejection.retry_at() {
                Some(until) if until > now && !deadline.is_past() => (until, rejection.to_string()),
                _ => return Err(OpError::Rejected { rejection, head }),
            },
            Err(error) => return Err(error),
        };
        if said != why {
            say(&format!("waiting at most {}: {why}", until.since(now)));
            said = why;
        }
        pause(until.since(now).min(LOOK).max(DurationMs::from_millis(5)), deadline)?;
    }
}

/// What a replay would do first, without doing it.
pub fn next_step(session: &Session, execution: &Execution) -> String {
    match &execution.phase {
        Phase::Started { call } if session.call_seems_ended(call) => {
            "record that its call has ended, then find out what became of it".to_owned()
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
        Phase::Proposed { .. }
        | Phase::Accepted
        | Phase::Verified { .. }
        | Phase::Rejected
        | Phase::Withdrawn
        | Phase::Superseded { .. } => "nothing".to_owned(),
    }
}
