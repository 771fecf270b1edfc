//! What an operation on a key reports.

use super::error::OpError;
use super::session::Session;
use super::transition::{Decided, Transition};
use crate::domain::id::ExecutionKey;
use crate::domain::scale::decide::Reply;
use crate::domain::scale::execution::{Execution, Outcome};
use crate::domain::scale::left::Left;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::state::ServiceHead;
use crate::ledger::LedgerError;

/// Whether the target changed by this command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effect {
    /// It did not.
    #[default]
    None,
    /// It did.
    Applied,
    /// In part.
    Partial,
    /// Nobody knows.
    Unknown,
}

/// What an operation on a key reports.
#[derive(Debug, Clone)]
pub struct Report {
    /// The execution, as it now is.
    pub execution: Execution,
    /// The service, as it now is.
    pub head: ServiceHead,
    /// How to say it.
    pub reply: Reply,
    /// Whether this command recorded anything.
    pub recorded: bool,
    /// Whether the target changed by this command.
    pub effect: Effect,
}

/// How a key stands, in words: its state, with what it came to.
pub fn stands(execution: &Execution) -> String {
    // "verified (failed)" would be read as a success by whoever stops after the first word.
    match (execution.outcome(), execution.phase.as_str()) {
        (Some(Outcome::Failed), state) => format!("failed for good ({state})"),
        (Some(outcome), state) => format!("{state} ({})", outcome.as_str()),
        (None, state) => state.to_owned(),
    }
}

impl Effect {
    /// What the calls of a key have done to the target, as far as is recorded; none while nobody
    /// knows.
    pub fn recorded_of(execution: &Execution) -> Option<Self> {
        let is_success = execution.result.as_ref().is_some_and(|it| it.result.scaled());
        match execution.left() {
            Left::Unknown => None,
            Left::Changed => Some(Self::Partial),
            Left::Nothing | Left::Unconfirmed => {
                Some(if is_success { Self::Applied } else { Self::None })
            }
        }
    }
}

impl Session {
    /// Takes a failure that came after the target was changed for what it is: a thing that could
    /// not be confirmed, said beside the answer. The exit code must not deny the change.
    pub(crate) fn excuse(&mut self, effect: Effect, error: OpError) -> Result<(), OpError> {
        let is_own = matches!(
            error,
            OpError::Interrupted { .. }
                | OpError::Unrecorded { .. }
                | OpError::Ledger(LedgerError::CommitUnknown { .. } | LedgerError::Poisoned { .. })
        );
        if effect != Effect::Applied || is_own {
            return Err(error);
        }
        self.notice("not_confirmed", format!("it was applied, and not yet confirmed: {error}"));
        Ok(())
    }
}

impl Report {
    /// The report of one transition on a key.
    pub(crate) fn of(transition: Transition, key: &ExecutionKey) -> Result<Self, OpError> {
        let Transition { reply, events, state, evaluation, committed: _ } = transition;
        let told = Vec::new();
        Self::of_decided(Decided { reply, events, state, evaluation, told }, key)
    }

    /// The same of what is recorded once its transaction is committed.
    pub(super) fn of_decided(mut decided: Decided, key: &ExecutionKey) -> Result<Self, OpError> {
        let execution = decided
            .state
            .executions
            .remove(key)
            .ok_or_else(|| Rejection::NoSuchKey { key: key.to_string() })?;
        Ok(Self {
            execution,
            head: decided.state.head,
            reply: decided.reply,
            recorded: !decided.events.is_empty(),
            effect: Effect::None,
        })
    }

    /// The report of a key that nothing was done to.
    pub(crate) fn replay(session: &mut Session, key: &ExecutionKey) -> Result<Self, OpError> {
        let (state, execution) = session.load(key)?;
        session.ledger.confirm()?;
        Ok(Self {
            execution,
            head: state.head,
            reply: Reply::Replayed,
            recorded: false,
            effect: Effect::None,
        })
    }
}
