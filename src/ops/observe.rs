//! `observe`: what became of a key, read and recorded.

use super::error::OpError;
use super::report::Report;
use super::session::Session;
use super::wait::pause;
use crate::actuator::host::Deadline;
use crate::domain::id::ExecutionKey;
use crate::domain::scale::command::Command;
use crate::domain::scale::execution::Phase;
use crate::domain::scale::rejection::Rejection;
use crate::domain::time::DurationMs;

/// How long to wait between two looks at least.
const POLL: DurationMs = DurationMs::from_millis(200);

/// Reads the target and confirms the result of a key; repairs a missing observation.
pub fn observe(session: &mut Session, key: &ExecutionKey) -> Result<Report, OpError> {
    let (_, execution) = session.load(key)?;
    // What nobody works at any more is unknown, and not in progress.
    if matches!(execution.phase, Phase::Started { .. }) {
        session.record_loss(&execution)?;
    }
    // Nothing was ever called for it, so there is nothing to read.
    if !execution.is_live() || execution.calls == 0 {
        let command = Command::Observe { key: key.clone(), reading: None, bound_before: None };
        return session.step(&execution, command);
    }
    session.confirm(key)
}

/// Reads until the key is confirmed, a reading differs, or the time is over. `say` is told what is
/// waited for.
pub fn observe_until(
    session: &mut Session,
    key: &ExecutionKey,
    timeout: DurationMs,
    say: &mut dyn FnMut(&str),
) -> Result<Report, OpError> {
    let deadline = Deadline::after(timeout);
    session.wait_no_longer_than(deadline);
    let mut said = false;
    loop {
        let (until, why) = match observe(session, key) {
            Ok(report) => {
                let is_open = matches!(report.execution.phase, Phase::Succeeded | Phase::Observed);
                if !is_open || report.execution.drift || deadline.is_past() {
                    return Ok(report);
                }
                let interval = report.execution.intent.terms.reading_interval_ms.max(POLL);
                (interval, "more readings must agree".to_owned())
            }
            // Another process is at it: its result is what there is to observe.
            Err(OpError::Rejected { rejection, .. })
                if matches!(*rejection, Rejection::InProgress { .. }) && !deadline.is_past() =>
            {
                (POLL, rejection.to_string())
            }
            Err(error) => return Err(error),
        };
        if !said {
            say(&format!("waiting: {why}"));
            said = true;
        }
        pause(until, deadline)?;
    }
}
