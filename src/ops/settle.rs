//! `settle`: a person's word about an attempt whose outcome is unknown.

use super::error::OpError;
use super::report::Report;
use super::session::Session;
use crate::domain::id::ExecutionKey;
use crate::domain::scale::command::{Command, Settlement};
use crate::domain::scale::execution::Phase;
use crate::domain::scale::intent::Reason;

/// What the person says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// It took effect. A reading must agree.
    Applied,
    /// It did not take effect and will not.
    NotApplied,
}

/// Ends an unknown attempt by a person's word.
pub fn settle(
    session: &mut Session,
    key: &ExecutionKey,
    word: Word,
    reason: Reason,
) -> Result<Report, OpError> {
    let (_, execution) = session.load(key)?;
    if matches!(execution.phase, Phase::Started { .. }) {
        session.record_loss(&execution)?;
    }
    let (state, execution) = session.load(key)?;
    session.record_end(&execution)?;
    let settlement = match word {
        Word::NotApplied => Settlement::AttestedNotApplied { reason },
        Word::Applied if matches!(execution.phase, Phase::RecoveryPending { .. }) => {
            let reading = session.take_reading(&state, &execution)?;
            let reading = reading.map(|(reading, _)| reading);
            Settlement::AttestedApplied { reason, reading }
        }
        Word::Applied => Settlement::AttestedApplied { reason, reading: None },
    };
    session.step(&execution, Command::Settle { key: key.clone(), settlement: Box::new(settlement) })
}
