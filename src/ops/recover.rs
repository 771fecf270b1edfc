//! Recovery: finds out what became of a key, and goes on from there as far as is due and allowed.
//! The shared step of `replay` and `scale`. Never starts an accepted intent.

use super::carry::CarryOptions;
use super::error::OpError;
use super::report::{Effect, Report, stands};
use super::session::Session;
use crate::actuator::protocol::LookupReply;
use crate::domain::count::counted;
use crate::domain::id::{ErrorCode, ExecutionKey};
use crate::domain::scale::attempt::Pending;
use crate::domain::scale::command::{Command, Settlement};
use crate::domain::scale::decide::Reply;
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::observation::Source;
use crate::domain::scale::service::{OnUnknown, RegisteredActuator};
use crate::domain::time::Timestamp;

/// How many steps one replay of one key takes at most: each leaves a state behind.
const STEPS_MAX: u32 = 16;

/// What a replay did, in words, and where the key stands now.
pub struct Replayed {
    /// One line per thing that was found out or done.
    pub steps: Vec<String>,
    /// Where the key stands.
    pub report: Report,
}

/// How one key is recovered, and what was done so far.
struct Run {
    /// Whether the actuator may be called; else what was lost is found out about, and no more.
    may_call: bool,
    /// Whether this run has taken a confirming reading already: the next one keeps the interval.
    has_read: bool,
    /// One line per thing that was found out or done.
    steps: Vec<String>,
}

/// Recovers one key as far as is due and allowed.
pub(crate) fn recover(session: &mut Session, key: &ExecutionKey) -> Result<Replayed, OpError> {
    Run { may_call: true, has_read: false, steps: Vec::new() }.recover(session, key)
}

/// Finds out what became of a lost call and records it: never calls, and confirms nothing.
pub(crate) fn find_out(session: &mut Session, key: &ExecutionKey) -> Result<Replayed, OpError> {
    Run { may_call: false, has_read: false, steps: Vec::new() }.recover(session, key)
}

impl Run {
    fn recover(mut self, session: &mut Session, key: &ExecutionKey) -> Result<Replayed, OpError> {
        let (recorded, effect) = self.take_steps(session, key)?;
        let report = Report::replay(session, key)?;
        let reply = if recorded { Reply::Done } else { report.reply };
        Ok(Replayed { steps: self.steps, report: Report { reply, recorded, effect, ..report } })
    }

    /// Whether anything was recorded, and what was done to the target.
    fn take_steps(
        &mut self,
        session: &mut Session,
        key: &ExecutionKey,
    ) -> Result<(bool, Effect), OpError> {
        let mut recorded = false;
        let mut effect = session.effect();
        let mut known = effect;
        for _ in 0..STEPS_MAX {
            let (_, execution) = session.load(key)?;
            let report = match step(session, &execution, self) {
                Ok(Some(report)) => report,
                Ok(None) => break,
                Err(error) => {
                    session.excuse(known, error)?;
                    break;
                }
            };
            recorded |= report.recorded;
            if report.recorded {
                known = Effect::recorded_of(&report.execution).unwrap_or(Effect::Unknown);
            }
            if report.effect != Effect::None {
                effect = report.effect;
            } else if effect == Effect::Unknown
                && let Some(settled) = Effect::recorded_of(&report.execution)
            {
                // What this run had called, and could not tell, it has found out.
                effect = settled;
                session.note_settled(settled);
            }
            if !report.recorded {
                break;
            }
        }
        Ok((recorded, effect))
    }
}

/// When the next reading of a success may be taken; none where none was taken yet.
pub(crate) fn reading_due(execution: &Execution) -> Option<Timestamp> {
    let last = execution.last_reading.as_ref()?;
    Some(last.began_at.plus(execution.intent.terms.reading_interval_ms))
}

/// One step; none where nothing more is due or allowed.
fn step(
    session: &mut Session,
    execution: &Execution,
    run: &mut Run,
) -> Result<Option<Report>, OpError> {
    if !execution.is_live() {
        return Ok(None);
    }
    let key = execution.key();
    match &execution.phase {
        Phase::Started { .. } => {
            let report = session.record_loss(execution)?;
            run.steps.push(format!("{}: the call has ended without a result", name(execution)));
            Ok(Some(report))
        }
        Phase::RecoveryPending { pending } => settle(session, execution, pending, run),
        Phase::Failed { retry_at } => {
            if !execution.is_retryable(session.now()) {
                run.steps.push("no attempt is left: recorded as failed".to_owned());
                return Ok(Some(session.step(
                    execution,
                    Command::Observe { key: key.clone(), reading: None, bound_before: None },
                )?));
            }
            if session.now() < *retry_at {
                run.steps.push(format!("the next attempt may start at {retry_at}"));
                return Ok(None);
            }
            if !run.may_call {
                run.steps.push("the next attempt may start".to_owned());
                return Ok(None);
            }
            run.steps.push(format!("attempt {} starts", execution.attempts + 1));
            Ok(Some(session.carry_out(key, &CarryOptions::default())?))
        }
        Phase::Succeeded | Phase::Observed if !run.may_call => Ok(None),
        Phase::Succeeded | Phase::Observed => {
            let due = reading_due(execution).filter(|due| run.has_read && session.now() < *due);
            if let Some(due) = due {
                run.steps.push(format!("the next reading may be taken at {due}"));
                return Ok(None);
            }
            run.has_read = true;
            let before = execution.readings_matched;
            let report = session.confirm(key)?;
            let reading = report.execution.last_reading.as_ref();
            run.steps.push(reading.map_or_else(
                || confirmed_by(&report.execution).to_owned(),
                |reading| format!("read {}: {}", reading.replicas, stands(&report.execution)),
            ));
            let moved =
                report.execution.readings_matched > before || report.execution.phase.is_finished();
            Ok(moved.then_some(report))
        }
        Phase::Proposed { .. }
        | Phase::Accepted
        | Phase::Verified { .. }
        | Phase::Rejected
        | Phase::Withdrawn
        | Phase::Superseded { .. } => Ok(None),
    }
}

/// Whose word a confirmation without any reading rests on.
fn confirmed_by(execution: &Execution) -> &'static str {
    match execution.observation.as_ref().map(|observation| observation.source) {
        Some(Source::Attested) => "confirmed by a person's word",
        Some(Source::Actuator | Source::Reading) | None => "confirmed by the actuator's own word",
    }
}

fn name(execution: &Execution) -> String {
    format!("{}@{}", execution.intent.service, execution.revision())
}

/// Settles an unknown attempt: look it up, fence and read, or leave it to a person (ruling 3).
fn settle(
    session: &mut Session,
    execution: &Execution,
    pending: &Pending,
    run: &mut Run,
) -> Result<Option<Report>, OpError> {
    let steps = &mut run.steps;
    session.record_end(execution)?;
    let terms = execution.intent.terms.clone();
    if terms.on_unknown == OnUnknown::Halt {
        steps.push("left to a person: settle it".to_owned());
        return Ok(None);
    }
    let (state, execution) = session.load(execution.key())?;
    let Some(actuator) = session.actuator_of(&state)? else {
        return Ok(None);
    };
    if actuator.capabilities.lookup
        && let Some(report) = look_up(session, &execution, pending, &actuator, steps)?
    {
        return Ok(Some(report));
    }
    let mut fenced = pending.fenced;
    if actuator.capabilities.fence && !fenced {
        // A fence may move the version, so what has touched the target is looked at before it.
        let before = told(session.take_reading(&state, &execution), "inspect", steps)?.flatten();
        let asked = session.asker(&actuator)?.fence(&execution, &pending.call);
        fenced = told(asked, "fence", steps)?.unwrap_or(false);
        steps.push(if fenced {
            "fenced: a late effect is ruled out".to_owned()
        } else {
            "the target cannot promise that nothing comes late".to_owned()
        });
        if fenced {
            let before = before.map(|(reading, _)| reading);
            let (key, attempt) = (execution.key().clone(), pending.call.attempt);
            session.step(&execution, Command::RecordFence { key, attempt, before })?;
        }
    }
    let (_, execution) = session.load(execution.key())?;
    let Phase::RecoveryPending { pending } = &execution.phase else {
        return Ok(None);
    };
    if !pending.is_quiet(terms.quiet_ms, session.now()) {
        let until = pending.quiet_until(terms.quiet_ms);
        steps.push(format!("a late effect is waited for until {until}"));
        return Ok(None);
    }
    if let Some(report) =
        told(session.settle_by_reading(execution.key()), "inspect", steps)?.flatten()
    {
        if let Some(reading) = &report.execution.last_reading {
            let read = counted(reading.replicas.get(), "replica");
            steps.push(format!("read {read}: {}", proved(&report.execution)));
        }
        if !matches!(report.execution.phase, Phase::RecoveryPending { .. }) {
            return Ok(Some(report));
        }
    }
    if terms.on_unknown == OnUnknown::RetrySameKey
        && run.may_call
        && actuator.capabilities.deduplicates_execution_key
        && execution.has_budget()
    {
        steps.push(format!("attempt {} under the same key", execution.attempts + 1));
        return Ok(Some(session.carry_out(execution.key(), &CarryOptions::default())?));
    }
    steps.push("still unknown".to_owned());
    Ok(None)
}

/// Where a key stands after a reading; one behind a fence, or after the quiet, proves a call that
/// did nothing to be that.
fn proved(execution: &Execution) -> String {
    let code = execution.result.as_ref().and_then(|recorded| recorded.result.error_code());
    match code.map(ErrorCode::as_str) {
        Some("not_applied") => format!("{}, not applied (proved)", stands(execution)),
        Some(_) | None => stands(execution),
    }
}

/// What an actuator said; none where it could not say, which is told. A reading may still settle.
fn told<T>(
    asked: Result<T, OpError>,
    op: &str,
    steps: &mut Vec<String>,
) -> Result<Option<T>, OpError> {
    match asked {
        Ok(said) => Ok(Some(said)),
        Err(OpError::Actuator { problem, .. }) => {
            steps.push(format!("{op} gave no answer: {problem}"));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn look_up(
    session: &mut Session,
    execution: &Execution,
    pending: &Pending,
    actuator: &RegisteredActuator,
    steps: &mut Vec<String>,
) -> Result<Option<Report>, OpError> {
    let asked = session.asker(actuator)?.lookup(execution, &pending.call);
    let settlement = match told(asked, "lookup", steps)?.unwrap_or(LookupReply::Unknown) {
        LookupReply::Applied { result } => {
            steps
                .push(format!("looked up: {}", if result.scaled() { "applied" } else { "failed" }));
            Settlement::LookupApplied(pending.call.attempt, *result)
        }
        LookupReply::Never => {
            steps.push("looked up: it never had an effect and never will".to_owned());
            Settlement::LookupNever(pending.call.attempt)
        }
        LookupReply::Unknown => {
            steps.push("looked up: the actuator cannot tell".to_owned());
            return Ok(None);
        }
    };
    let (key, settlement) = (execution.key().clone(), Box::new(settlement));
    let command = Command::Settle { key, settlement, authorization: None };
    session.step(execution, command).map(Some)
}
