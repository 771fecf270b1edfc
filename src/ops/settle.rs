//! `settle`: a person's word about an attempt whose outcome is unknown.

use super::error::OpError;
use super::read::READING_TRIES;
use super::report::Report;
use super::session::Session;
use crate::domain::id::{AttemptNumber, AuthorizationId, ExecutionKey};
use crate::domain::scale::command::{Command, Settlement};
use crate::domain::scale::decide::Reply;
use crate::domain::scale::execution::Phase;
use crate::domain::scale::intent::Reason;
use crate::domain::scale::rejection::Rejection;

/// What the person says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// It took effect. A reading must agree.
    Applied,
    /// It did not take effect and will not.
    NotApplied,
}

/// Ends an unknown attempt by a person's word: one that policy lets give it, or an authorization.
/// The word is about the attempt that is meant, or else about the one that was unknown at first.
pub fn settle(
    session: &mut Session,
    key: &ExecutionKey,
    word: Word,
    meant: Option<AttemptNumber>,
    reason: &Reason,
    authorization: Option<&AuthorizationId>,
) -> Result<Report, OpError> {
    let (_, execution) = session.load(key)?;
    if matches!(execution.phase, Phase::Started { .. }) {
        session.record_loss(&execution)?;
    }
    let (_, execution) = session.load(key)?;
    let attempt = meant.or(match &execution.phase {
        Phase::RecoveryPending { pending } => Some(pending.call.attempt),
        _ => None,
    });
    session.record_end(&execution)?;
    for _ in 0..READING_TRIES {
        let (state, execution) = session.load(key)?;
        let is_pending = matches!(execution.phase, Phase::RecoveryPending { .. });
        let settlement = match word {
            Word::NotApplied => Settlement::AttestedNotApplied { reason: reason.clone(), attempt },
            Word::Applied => {
                let taken =
                    if is_pending { session.take_reading(&state, &execution)? } else { None };
                let reading = taken.map(|(reading, _)| reading);
                Settlement::AttestedApplied { reason: reason.clone(), reading }
            }
        };
        let settlement = Box::new(settlement);
        let (key, authorization) = (key.clone(), authorization.cloned());
        let settle = Command::Settle { key, settlement, authorization };
        let report = session.step(&execution, settle)?;
        // A reading that began before the quiet was over is taken again.
        if report.reply != Reply::StaleReading {
            return Ok(report);
        }
    }
    let (_, execution) = session.load(key)?;
    let Phase::RecoveryPending { pending } = &execution.phase else {
        return Report::replay(session, key);
    };
    Err(Rejection::QuietTime {
        service: execution.intent.service.clone(),
        revision: execution.revision(),
        until: pending.quiet_until(execution.intent.terms.quiet_ms),
    }
    .into())
}
