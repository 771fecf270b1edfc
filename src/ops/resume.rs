//! What a wish without a key need not put: one of the caller's own that is under way and can still
//! go on, or a target that is as wished already.
//!
//! Shared by `scale`, which acts on it, and `plan`, which only says so. Records nothing.

use super::breaking::Breaking;
use super::error::OpError;
use super::session::Session;
use crate::domain::id::{ControllerId, ExecutionKey};
use crate::domain::scale::command::{Premise, PutForm, PutIntent};
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::gates::{fresh_count, may_still_start};
use crate::domain::scale::observation::Reading;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::standing::stranded;
use crate::domain::scale::state::ServiceState;

/// What a line is when it is run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// The same wish: its key is the caller's.
    Same,
    /// One that goes on with an unfinished wish of the caller's own, and is none where the target
    /// is as wished already.
    GoesOn,
    /// Another wish, because it says what only a new one can have; none where the target is as
    /// wished already.
    Another,
    /// Another wish, also where the target is as wished already: it pins the count.
    Anew,
}

impl Again {
    /// Whether nothing is wished where the target is so already.
    pub(super) const fn needs_a_change(self) -> bool {
        match self {
            Self::GoesOn | Self::Another => true,
            Self::Same | Self::Anew => false,
        }
    }
}

/// A wish from flags, and what its line says of wishes before it.
pub struct Wished {
    /// The wish. Its premise is fixed at the start.
    pub put: PutIntent,
    /// The glass that is broken for it, with it.
    pub breaking: Option<Breaking>,
    /// What its line is when it is run again.
    pub again: Again,
}

/// Whether the target, as it was just read and recorded in `state`, is as wished, and nothing under
/// way says otherwise. `premise` is the line's own: what it has said to be so and is not, the put
/// refuses.
pub(super) fn is_there(state: &ServiceState, put: &PutIntent, premise: Premise) -> bool {
    let desired = put.desired();
    let as_said = match premise {
        Premise::Latest => true,
        Premise::Revision(latest) => state.head.latest_revision == latest,
    };
    let as_counted = put.expect_count.is_none_or(|count| count == desired);
    let Some(binding) = &state.head.binding else {
        return false;
    };
    let counted = binding.known_replicas() == Some(desired)
        && binding.ready_replicas.is_none_or(|ready| ready == desired);
    let wished = state.head.wanted.as_ref().is_none_or(|c| c.desired_replicas == desired);
    let quiet = state.executions.values().all(|e| !e.is_live() || e.phase.is_finished());
    let allowed = state.head.registration.as_ref().is_some_and(|registration| {
        registration.mode.record_mode().is_some()
            && (registration.min_replicas..=registration.max_replicas).contains(&desired)
    });
    let agrees = as_said && as_counted && put.rolls_back.is_none();
    counted && wished && quiet && allowed && agrees
}

/// Whether who is named may act at all. It is asked before a wish is put: one that nobody of this
/// line may carry out would stay behind.
pub(super) fn may_act(
    state: &ServiceState,
    controller: Option<&ControllerId>,
) -> Result<(), Rejection> {
    match (controller, &state.head.registration) {
        (Some(given), Some(registration)) if *given != registration.writer => {
            Err(Rejection::NotWriter {
                service: registration.service.clone(),
                given: given.clone(),
                writer: registration.writer.clone(),
            })
        }
        (Some(_) | None, _) => Ok(()),
    }
}

impl Session {
    /// Whether a line says again what is recorded under its key.
    pub(super) fn is_said_again(&mut self, put: &PutIntent, again: Again) -> Result<bool, OpError> {
        match again {
            Again::Same => self.knows(put.key()),
            Again::GoesOn | Again::Another | Again::Anew => Ok(false),
        }
    }

    /// The caller's own wish that the same line goes on with: the wanted one, unfinished, of the
    /// same count and the same premise, unless it has come to where it cannot go on any more.
    pub(super) fn resumable(
        &mut self,
        state: &ServiceState,
        put: &PutIntent,
    ) -> Result<Option<ExecutionKey>, OpError> {
        let wanted = state.head.wanted.as_ref();
        let own = wanted.and_then(|wanted| state.executions.get(&wanted.execution_key));
        let Some(own) = own.filter(|own| own.put_by.actor == self.by.actor && says(own, put))
        else {
            return Ok(self.waiting(state, put)?.map(|own| own.key().clone()));
        };
        let goes_on = match &own.phase {
            // Nothing else starts before these have ended, and going on is what ends them.
            Phase::Started { .. } | Phase::RecoveryPending { .. } => true,
            Phase::Succeeded | Phase::Observed => !own.drift,
            Phase::Failed { .. } => may_still_start(state, own, None, self.now()),
            Phase::Accepted => self.can_start(state, own)?,
            Phase::Proposed { .. }
            | Phase::Verified { .. }
            | Phase::Rejected
            | Phase::Withdrawn
            | Phase::Superseded { .. } => false,
        };
        if goes_on {
            return Ok(Some(own.key().clone()));
        }
        Ok(self.waiting(state, put)?.map(|own| own.key().clone()))
    }

    /// The caller's own proposal that still waits, and that a colleague can still agree to: to
    /// propose the same anew would take it out of their hands.
    fn waiting<'s>(
        &mut self,
        state: &'s ServiceState,
        put: &PutIntent,
    ) -> Result<Option<&'s Execution>, OpError> {
        let now = self.now();
        let found = state.executions.values().find(|own| {
            let is_open = matches!(own.phase, Phase::Proposed { until } if now < until);
            let is_mine = own.put_by.actor == self.by.actor && says(own, put);
            is_open && is_mine && stranded(own, &state.head).is_none()
        });
        let Some((own, asked)) = found.and_then(|own| Some((own, own.asked.as_ref()?))) else {
            return Ok(None);
        };
        let read = self.read_or_none(state)?.map(|reading| reading.replicas);
        let count = read.or_else(|| fresh_count(&state.head, now));
        Ok(count.is_none_or(|count| count == asked.base).then_some(own))
    }

    /// The target as it is now; none where it cannot be read, which whoever starts says.
    fn read_or_none(&mut self, state: &ServiceState) -> Result<Option<Reading>, OpError> {
        match self.read_service(state) {
            Err(OpError::Interrupted { signal, key }) => Err(OpError::Interrupted { signal, key }),
            found => Ok(found.ok().flatten()),
        }
    }

    /// Whether what has not started can: one that the target has moved under is refused for ever.
    fn can_start(&mut self, state: &ServiceState, own: &Execution) -> Result<bool, OpError> {
        let now = self.now();
        let is_behind = state.executions.values().any(|e| e.is_live() && e.is_in_flight(now));
        if is_behind || !may_still_start(state, own, None, now) {
            // What is in flight may move the target, and it is waited for.
            return Ok(is_behind);
        }
        let found = self.read_or_none(state)?;
        Ok(may_still_start(state, own, found.as_ref(), now))
    }
}

/// Whether a line says what an earlier one has said. What it leaves out it takes as it is.
fn says(own: &Execution, put: &PutIntent) -> bool {
    let PutForm::Flags { retry, fence, .. } = &put.form else {
        return false;
    };
    let same_revision = match put.premise {
        Premise::Latest => true,
        Premise::Revision(before) => own.revision().get().checked_sub(1) == Some(before),
    };
    let ranked = own.fence().map(|own| (own.lease_epoch, own.fence_token));
    own.is_live()
        && own.desired() == put.desired()
        && same_revision
        && fence.is_none_or(|fence| ranked == Some(fence))
        && put.expect_count.is_none_or(|count| own.intent.current == Some(count))
        && retry.agrees_with(own.intent.wish.retry_policy)
}
