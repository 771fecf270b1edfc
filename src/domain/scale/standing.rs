//! Where a key stands: which exit a step on it has (design, ruling 5).

use super::execution::{Execution, Outcome, Phase};
use super::gates::check_unit;
use super::rejection::Class;
use super::service::Registration;
use super::state::ServiceHead;

/// How a person ends a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    /// `intent withdraw`: it has not started.
    Withdraw,
    /// `intent abandon`: it has failed, and could be tried again.
    Abandon,
}

/// How a wish is ended that was made for settings that are no more, or for a service that is
/// retired: nothing starts it, and nobody can agree to it. None for any other.
pub fn stranded(execution: &Execution, head: &ServiceHead) -> Option<EndedBy> {
    let end = match &execution.phase {
        Phase::Proposed { .. } | Phase::Accepted => EndedBy::Withdraw,
        Phase::Failed { .. } => EndedBy::Abandon,
        Phase::Started { .. }
        | Phase::RecoveryPending { .. }
        | Phase::Succeeded
        | Phase::Observed
        | Phase::Verified { .. }
        | Phase::Rejected
        | Phase::Withdrawn
        | Phase::Superseded { .. } => return None,
    };
    let unit = execution.intent.wish.expected_unit_revision.get();
    let is_same = |now: &Registration| check_unit(now, unit).is_ok();
    let is_current =
        head.authority.retired.is_none() && head.registration.as_ref().is_some_and(is_same);
    (!is_current).then_some(end)
}

/// The class that a step other than `intent put` answers with; none where all is well.
pub fn of_step(execution: &Execution) -> Option<Class> {
    match &execution.phase {
        Phase::Proposed { .. } => Some(Class::ApprovalRequired),
        // What was carried out is carried out, however many readings are still to come.
        Phase::Accepted | Phase::Succeeded | Phase::Observed | Phase::Verified { cause: None } => {
            None
        }
        Phase::Started { .. } => Some(Class::Held),
        Phase::RecoveryPending { .. } => Some(Class::Unknown),
        Phase::Failed { .. } => Some(Class::RetryLater),
        // A failure that left the target changed, in part or by a late success, is not `failed`:
        // that promises that nothing has changed.
        Phase::Verified { cause: Some(_) } if execution.failed_and_changed() => {
            Some(Class::Diverged)
        }
        Phase::Verified { cause: Some(_) } => Some(Class::Failed),
        Phase::Rejected => Some(Class::Denied),
        Phase::Withdrawn | Phase::Superseded { .. } => Some(Class::Conflict),
    }
}

/// The class that a repeated `intent put` answers with: it is done once the intent is accepted,
/// whatever became of it.
pub fn of_put(execution: &Execution) -> Option<Class> {
    match &execution.phase {
        Phase::Proposed { .. } => Some(Class::ApprovalRequired),
        Phase::Rejected => Some(Class::Denied),
        Phase::Accepted
        | Phase::Started { .. }
        | Phase::RecoveryPending { .. }
        | Phase::Failed { .. }
        | Phase::Succeeded
        | Phase::Observed
        | Phase::Verified { .. }
        | Phase::Withdrawn
        | Phase::Superseded { .. } => None,
    }
}

/// The class that `observe` answers with: what has succeeded is not yet confirmed.
pub fn of_observe(execution: &Execution) -> Option<Class> {
    match &execution.phase {
        Phase::Succeeded | Phase::Observed if execution.drift => Some(Class::Diverged),
        Phase::Succeeded | Phase::Observed => Some(Class::NotYet),
        Phase::Proposed { .. }
        | Phase::Accepted
        | Phase::Started { .. }
        | Phase::RecoveryPending { .. }
        | Phase::Failed { .. }
        | Phase::Verified { .. }
        | Phase::Rejected
        | Phase::Withdrawn
        | Phase::Superseded { .. } => of_step(execution),
    }
}

/// Whether a finished key still says what holds: it is the newest intent of its service, and the
/// newest reading agrees. `scale` and `observe` exit 23 otherwise.
pub fn holds_now(execution: &Execution, head: &super::state::ServiceHead) -> bool {
    if execution.outcome() != Some(Outcome::Converged) {
        return true;
    }
    let newest = head.current.as_ref().is_none_or(|c| c.execution_key == *execution.key());
    newest && !execution.drift
}
