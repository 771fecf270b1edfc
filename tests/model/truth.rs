//! What the ledger says, held against what is so.

use scalectl::domain::scale::execution::{Execution, Phase};
use scalectl::domain::scale::rejection::Class;
use scalectl::domain::scale::standing;
use scalectl::domain::scale::state::ServiceState;

use super::setup::Setup;
use super::snapshot::{Call, Effect, Snapshot};
use crate::rules::support::id;

/// The first promise that is not true; none where all are.
pub(super) fn broken(
    setup: &Setup,
    state: &ServiceState,
    snapshot: &Snapshot,
) -> Option<&'static str> {
    if snapshot.calls.iter().filter(|call| call.is_dangerous()).count() > 1 {
        return Some("two calls of a service may take effect");
    }
    for (wish, _) in setup.wishes.iter().enumerate() {
        let key = u8::try_from(wish).expect("few wishes");
        let calls: Vec<&Call> = snapshot.calls.iter().filter(|call| call.key == key).collect();
        let Some(execution) = state.executions.get(&id(&Setup::key(key))) else {
            continue;
        };
        let budget = execution.intent.wish.retry_policy.max_attempts.get();
        if calls.iter().filter(|call| call.spawned).count() as u64 > budget {
            return Some("more calls than the budget");
        }
        if !snapshot.lied && effects(setup, &calls) > 1 {
            return Some("an effect happened twice");
        }
        // Whoever believes a lie is told the truth only when it comes to light.
        if !snapshot.lied && promise(execution, &calls, snapshot).is_some() {
            return promise(execution, &calls, snapshot);
        }
    }
    None
}

/// How often the whole effect of a key has happened; under a key that the target deduplicates, and
/// that may be called again, at most once counts.
fn effects(setup: &Setup, calls: &[&Call]) -> usize {
    let times = calls.iter().filter(|call| call.effect == Effect::Whole).count();
    if setup.has("dedupes") { times.min(1) } else { times }
}

/// What the exit of a step on a key promises of the target (design, section 10).
fn promise(execution: &Execution, calls: &[&Call], snapshot: &Snapshot) -> Option<&'static str> {
    let was_touched = calls.iter().any(|c| matches!(c.effect, Effect::Whole | Effect::Partial));
    let may_be_touched = calls.iter().any(|call| call.is_dangerous());
    let is_applied = calls.iter().any(|call| call.effect == Effect::Whole)
        || snapshot.replicas == u8::try_from(execution.desired().get()).unwrap_or(u8::MAX);
    let was_called = calls.iter().any(|call| call.spawned);
    match (&execution.phase, standing::of_step(execution)) {
        (
            Phase::Proposed { .. }
            | Phase::Accepted
            | Phase::Withdrawn
            | Phase::Rejected
            | Phase::Superseded { outcome: None, .. },
            _,
        ) if was_called => Some("called, and said to be untouched"),
        (Phase::Superseded { outcome: Some(_), .. }, _) if !is_applied => {
            Some("superseded as applied, and not applied")
        }
        (_, Some(Class::Failed)) if was_touched || may_be_touched => {
            Some("17 says unchanged, and it is changed")
        }
        // 18 says so beside it, where the target was changed in part.
        (_, Some(Class::RetryLater)) if !execution.drift && (was_touched || may_be_touched) => {
            Some("18 says unchanged, and it is changed")
        }
        (Phase::Succeeded | Phase::Observed, _) if !is_applied && !execution.drift => {
            Some("19 says as wished, and it is not")
        }
        (Phase::Verified { cause: None }, None)
            if execution.result.as_ref().is_some_and(|r| r.result.scaled()) =>
        {
            (!is_applied).then_some("0 says done, and it is not")
        }
        (Phase::Verified { cause: None }, None) if was_called => {
            Some("a simulation called somebody")
        }
        _ => None,
    }
}
