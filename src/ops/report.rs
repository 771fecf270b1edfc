//! What an operation on a key reports.

use super::session::{Session, Transition};
use crate::domain::id::ExecutionKey;
use crate::domain::scale::decide::Reply;
use crate::domain::scale::execution::Execution;
use crate::domain::scale::state::ServiceHead;

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

impl Report {
    /// The report of one transition on a key.
    pub(crate) fn of(
        transition: Transition,
        key: &ExecutionKey,
    ) -> Result<Self, super::error::OpError> {
        let execution = transition.execution(key)?.clone();
        Ok(Self {
            execution,
            head: transition.state.head,
            reply: transition.reply,
            recorded: transition.committed.is_some(),
            effect: Effect::None,
        })
    }

    /// The report of a key that nothing was done to.
    pub(crate) fn replay(
        session: &mut Session,
        key: &ExecutionKey,
    ) -> Result<Self, super::error::OpError> {
        let (state, execution) = session.load(key)?;
        Ok(Self {
            execution,
            head: state.head,
            reply: Reply::Replayed,
            recorded: false,
            effect: Effect::None,
        })
    }
}
