//! What a line would come to with a wish that is recorded already: the dry side of what `scale`
//! does with a key.
//!
//! Reads the target, and asks for evidence, where `scale` would. Writes nothing and calls nobody to
//! apply anything. What became of a lost call it does not find out: only a recorded step can.

use super::carry::{CarryOptions, Planned, no_actuator};
use super::error::OpError;
use super::ids::mint;
use super::report::{Effect, Report};
use super::session::Session;
use crate::actuator::host::Deadline;
use crate::domain::scale::command::Command;
use crate::domain::scale::decide::{Reply, decide, in_progress, waits_behind};
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::state::{ServiceHead, ServiceState};

/// A recorded wish, and what the same line would come to with it.
pub struct Foretold {
    /// Where it stands, with the target as it was just read.
    pub report: Report,
    /// What would come next.
    pub next: Next,
}

/// What would come next of a recorded wish.
pub enum Next {
    /// Nothing, or one more reading: it stands as it stands.
    Stands,
    /// An attempt would start.
    Starts,
    /// The line would find out what became of a call that has ended.
    FindsOut,
    /// The next step would be refused.
    Refused(Box<Rejection>),
}

impl Session {
    /// What `scale` would come to with a recorded wish.
    pub(super) fn foretell(
        &mut self,
        state: &ServiceState,
        execution: &Execution,
        options: &CarryOptions,
    ) -> Result<Foretold, OpError> {
        let refused = |rejection| Next::Refused(Box::new(rejection));
        let next = match &execution.phase {
            Phase::Started { call } if self.call_seems_ended(execution, call) => Next::FindsOut,
            Phase::Started { .. } => refused(in_progress(execution)),
            Phase::Accepted | Phase::Failed { .. } => match waits_behind(state, execution) {
                Some(behind) => refused(behind),
                None => match self.would_start(state, execution, options) {
                    Ok(()) => Next::Starts,
                    Err(OpError::Rejected { rejection, .. }) => Next::Refused(rejection),
                    Err(error) => return Err(error),
                },
            },
            Phase::Succeeded
            | Phase::Observed
            | Phase::Verified { .. }
            | Phase::Superseded { .. }
                if execution.is_live() && execution.calls > 0 =>
            {
                return self.as_observed(state, execution);
            }
            Phase::Succeeded
            | Phase::Observed
            | Phase::Verified { .. }
            | Phase::Superseded { .. }
            | Phase::RecoveryPending { .. }
            | Phase::Proposed { .. }
            | Phase::Rejected
            | Phase::Withdrawn => Next::Stands,
        };
        Ok(Foretold { report: as_recorded(execution.clone(), state.head.clone()), next })
    }

    /// Whether the next attempt would start, by every rule that a start is asked.
    fn would_start(
        &mut self,
        state: &ServiceState,
        execution: &Execution,
        options: &CarryOptions,
    ) -> Result<(), OpError> {
        let actuator = self.actuator_of(state)?.ok_or_else(|| no_actuator(state))?;
        let controller = Self::controller(state, options.controller.as_ref())?;
        self.refuse_early(state, execution, &controller)?;
        let asker = self.asker(&actuator)?;
        let gathered = self.gather(state, execution, &actuator, &asker)?;
        let (call_id, timeout) = (mint("call-")?, actuator.timeout_ms);
        let deadline = Deadline::after(timeout);
        let planned = Planned { controller, call_id, deadline, timeout };
        let key = execution.key();
        let start = self.start_of(state, key, options, gathered, planned)?;
        let start = Command::Start(Box::new(start));
        let now = self.now();
        self.with_context(state, Some(key), |context| decide(state, &start, context, now))??;
        Ok(())
    }

    /// What was carried out, as one more reading would leave it.
    fn as_observed(
        &mut self,
        state: &ServiceState,
        execution: &Execution,
    ) -> Result<Foretold, OpError> {
        let reading = self.take_reading(state, execution)?;
        let key = execution.key().clone();
        let bound_before = state.head.binding.clone();
        let observe = Command::Observe { key: key.clone(), reading, bound_before };
        let now = self.now();
        let decided =
            self.with_context(state, Some(&key), |context| decide(state, &observe, context, now))?;
        let events = decided?.events;
        let read = state.clone().fold(&events);
        let mut read = read.map_err(|error| OpError::Internal { what: error.to_string() })?;
        let observed = read.executions.remove(&key).unwrap_or_else(|| execution.clone());
        Ok(Foretold { report: as_recorded(observed, read.head), next: Next::Stands })
    }
}

fn as_recorded(execution: Execution, head: ServiceHead) -> Report {
    Report { execution, head, reply: Reply::Replayed, recorded: false, effect: Effect::None }
}
