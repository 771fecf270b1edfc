//! What a pass does with a service: one step, chosen from what is recorded and, for a count that is
//! declared or pinned, from a reading.

use super::Action;
use crate::domain::id::{ExecutionKey, Replicas, ServiceName};
use crate::domain::scale::decide::waits_behind;
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::state::ServiceState;
use crate::domain::time::Timestamp;
use crate::ops::error::OpError;
use crate::ops::session::Session;

/// What is to be done with a service.
pub(super) enum Choice {
    /// Nothing, and why.
    Nothing(String),
    /// Nothing, because a fact could not be read.
    Blind(String),
    /// A step on this key.
    Step(Action, ExecutionKey),
    /// A wish for this count, from the one that was just read.
    BringBack { from: Replicas, to: Replicas, revision: u64, word: &'static str },
}

pub(super) fn named(execution: &Execution) -> String {
    format!("{}@{}", execution.intent.service, execution.revision())
}

/// What of a service is to be looked at first: what may be under a call before what waits behind
/// it, and what is accepted before what is only proposed.
pub(super) fn under_way(state: &ServiceState, now: Timestamp) -> Option<&Execution> {
    let rank = |execution: &Execution| match execution.phase {
        Phase::Started { .. } | Phase::RecoveryPending { .. } | Phase::Failed { .. } => 3,
        Phase::Succeeded | Phase::Observed => 2,
        Phase::Accepted => 1,
        Phase::Proposed { .. }
        | Phase::Verified { .. }
        | Phase::Rejected
        | Phase::Withdrawn
        | Phase::Superseded { .. } => 0,
    };
    let goes_on = |execution: &&Execution| {
        // A failure that is over is written down; a wish that nobody can start is nobody's.
        let is_failed = matches!(execution.phase, Phase::Failed { .. });
        execution.is_live()
            && !execution.phase.is_finished()
            && (is_failed || !execution.is_spent(now))
    };
    let unfinished = state.executions.values().filter(goes_on);
    unfinished.max_by_key(|execution| (rank(execution), execution.revision()))
}

/// Whether a success that waits for its confirmation may never get it: its count was read as
/// another one. Who confirms nothing, because only counts are to be brought back, reads it first.
pub(super) fn may_have_drifted(execution: &Execution, only_static: bool) -> bool {
    matches!(execution.phase, Phase::Succeeded | Phase::Observed)
        && (execution.drift || only_static)
}

pub(super) fn choice_of(state: &ServiceState, execution: &Execution, now: Timestamp) -> Choice {
    let step = |action| Choice::Step(action, execution.key().clone());
    match &execution.phase {
        Phase::Proposed { until } => {
            Choice::Nothing(format!("{} waits for a colleague until {until}", named(execution)))
        }
        Phase::Accepted => match waits_behind(state, execution) {
            Some(rejection) => Choice::Nothing(rejection.to_string()),
            None => step(Action::Actuate),
        },
        Phase::Failed { retry_at } if execution.is_retryable(now) && now < *retry_at => {
            Choice::Nothing(format!("{} may be tried again at {retry_at}", named(execution)))
        }
        Phase::Failed { .. } if execution.is_retryable(now) => step(Action::Retry),
        Phase::Started { .. } | Phase::RecoveryPending { .. } | Phase::Failed { .. } => {
            step(Action::Recover)
        }
        Phase::Succeeded | Phase::Observed => step(Action::Observe),
        Phase::Verified { .. } | Phase::Rejected | Phase::Withdrawn | Phase::Superseded { .. } => {
            Choice::Nothing("nothing is under way".to_owned())
        }
    }
}

impl Session {
    /// What is declared of a service that is not scaled by a signal, or what a person has pinned,
    /// against what is there.
    pub(super) fn choose_static(
        &mut self,
        service: &ServiceName,
        state: &ServiceState,
        now: Timestamp,
    ) -> Result<Choice, OpError> {
        let head = &state.head;
        let declared = head.registration.as_ref().and_then(|it| it.declared_replicas);
        let (to, word) = match (head.authority.pinned_at(now), declared) {
            (Some(pinned), _) => (pinned.replicas, "pinned to"),
            (None, Some(declared)) => (declared, "declared"),
            (None, None) => return Ok(Choice::Nothing(idle(state))),
        };
        if let Some(hold) = head.authority.hold_at(now) {
            return Ok(Choice::Nothing(format!("{} holds it until {}", hold.actor, hold.until)));
        }
        let read = match self.refresh_binding(service) {
            Ok(read) => read,
            Err(error) => return Ok(Choice::Blind(format!("unobserved: {}", error.unread()?))),
        };
        let Some((reading, _)) = read else {
            return Ok(Choice::Blind("unobserved: its actuator cannot read".to_owned()));
        };
        let from = reading.replicas;
        if from == to {
            return Ok(Choice::Nothing(format!("{word} {to}, and so it is")));
        }
        if from > Replicas::MIN && reading.ready_replicas == Some(Replicas::MIN) {
            return Ok(Choice::Nothing(format!("down: none of {from} is ready")));
        }
        // Whatever was wished since the first look is somebody's, and must not be ended by this.
        Ok(Choice::BringBack { from, to, revision: head.latest_revision, word })
    }
}

/// Why nothing is done. A wish that waits and can never start is a person's to end.
fn idle(state: &ServiceState) -> String {
    let waits = |it: &&Execution| it.is_live() && matches!(it.phase, Phase::Accepted);
    state.executions.values().find(waits).map_or_else(
        || "nothing is under way".to_owned(),
        |waiting| format!("{} waits, and its fence ran out: wish it anew", named(waiting)),
    )
}
