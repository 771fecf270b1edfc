//! Whether an attempt has changed its target, told by what was found there afterwards.
//!
//! Owns the comparison with the base of the attempt. Never takes an equal count alone for proof
//! where the registration locks more than the count.

use crate::domain::id::Replicas;
use crate::domain::scale::attempt::{Base, Call};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::observation::Reading;
use crate::domain::scale::result::ActuationResult;
use crate::domain::scale::service::TargetMatch;

/// The code of a success with another count than the wished one, which is a failure.
pub(super) const MISMATCH: &str = "observed_replicas_mismatch";
/// The code of a failure that has left the target changed.
pub(super) const PARTLY_APPLIED: &str = "partly_applied";
/// Codes that say that nothing was done (docs/actuator-protocol.md): another count beside them is
/// somebody else's.
const NOTHING_DONE: [&str; 5] =
    ["precondition_moved", "stale_fence", "fence_reused", "other_ledger", "key_conflict"];

/// Whether a failure, as the open call of the execution ended with it, says that the target was
/// changed: by its code, or by a count that is not the one before the call. An unknown count before
/// may have been any other.
pub fn is_partly_applied(execution: &Execution, result: &ActuationResult) -> bool {
    let Some(code) = result.error_code() else {
        return false;
    };
    let says = |codes: &[&str]| codes.contains(&code.as_str());
    if says(&[MISMATCH, PARTLY_APPLIED]) {
        return true;
    }
    let is_other =
        |count| !execution.open_call().is_some_and(|c| is_count_before(execution, c, count));
    let by_this = !says(&NOTHING_DONE) && result.observed_replicas().is_some_and(is_other);
    by_this || execution.open_call().is_some_and(|call| has_moved_before(execution, call))
}

/// Whether the count had changed between the wish and this call, and an earlier call of the key was
/// made: whatever was said of that one, "unchanged" is not what holds. What a wish was put behind
/// may have changed it, too.
fn has_moved_before(execution: &Execution, call: &Call) -> bool {
    if execution.intent.behind.is_some() {
        return false;
    }
    let counts = execution.intent.base.replicas.zip(call.base.replicas);
    execution.calls > 1 && counts.is_some_and(|(wished_from, called_at)| wished_from != called_at)
}

/// What may be called the base of an attempt: one that followed an unknown attempt may have found
/// what that one had left, so the base of the intent counts too.
fn bases<'e>(execution: &'e Execution, call: &'e Call) -> impl Iterator<Item = &'e Base> {
    let first = execution.repeats_unknown().then_some(&execution.intent.base);
    std::iter::once(&call.base).chain(first)
}

/// Whether a count is the one before the attempt.
pub(super) fn is_count_before(execution: &Execution, call: &Call, count: Replicas) -> bool {
    bases(execution, call).all(|base| base.replicas == Some(count))
}

/// Whether nothing has touched the target since the base of the attempt, as far as the
/// registration locks it: a count that is as before may have been changed and changed back.
pub(super) fn is_untouched(execution: &Execution, call: &Call, reading: &Reading) -> bool {
    let is_same = |base: &Base| {
        let is_same_version =
            || !base.outdated && base.target_resource_version == reading.target_resource_version;
        match (execution.intent.terms.target_match, base.generation, reading.generation) {
            (TargetMatch::Replicas, ..) => true,
            (TargetMatch::Generation, Some(before), Some(now)) => !base.outdated && before == now,
            (TargetMatch::Generation | TargetMatch::Version, ..) => is_same_version(),
        }
    };
    reading.target_uid == call.base.target_uid && bases(execution, call).all(is_same)
}
