//! The way on: what carries a wish on from where it stands, or ends it where nothing can.
//!
//! Owns that decision for whoever tells a person: `status` in one line, `explain` with every way, a
//! step that has found it waiting.
//! Pure: whether a call has ended on this host is not known here. What a verb does next by itself
//! is another question with an answer for each verb (`replay` starts no wish, a pass of `reconcile`
//! calls once, `scale` waits), and is asked where it is done.

use super::execution::{Execution, Phase};
use super::service::{OnUnknown, Registration};
use super::standing::{EndedBy, stranded};
use super::state::ServiceHead;
use crate::domain::id::IntentRevision;
use crate::domain::time::Timestamp;

/// What carries a wish on, or ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Nothing: it is over, or nobody carries it out, because the desired count is all there is.
    Over,
    /// It was made for settings that are no more: a person ends it and wishes anew.
    EndStranded(EndedBy),
    /// Another person answers it in time.
    Answer,
    /// Nobody has answered it in time: it is taken back.
    Unanswered,
    /// It is carried out.
    Start,
    /// Its fence ran out before it was carried out: it is taken back and wished anew.
    FenceOver,
    /// Its call ends, or what became of it is found out.
    CallEnds,
    /// It is found out what became of its call.
    FindOut {
        /// From when on nothing comes late.
        quiet_from: Timestamp,
        /// Whether that is so already.
        is_quiet: bool,
    },
    /// Neither time nor its actuator can tell what became of its call: a person says so.
    Settle,
    /// It failed, and a newer wish goes first, which ends it: it is tried again only where that one
    /// is taken back.
    Overtaken {
        /// The newer one.
        by: IntentRevision,
    },
    /// It is tried again, or given up.
    Retry {
        /// When that may be, at the earliest.
        from: Timestamp,
    },
    /// It is read until it is confirmed.
    Confirm,
    /// Another count was read than the wished one: it is confirmed only where that comes back, so a
    /// person wishes anew, or takes what is there.
    Drifted,
}

/// The way on of a wish.
pub fn next_of(execution: &Execution, head: &ServiceHead, now: Timestamp) -> Next {
    let is_all = head.registration.as_ref().is_some_and(Registration::is_desired_state);
    if is_all && matches!(execution.phase, Phase::Accepted) {
        return Next::Over;
    }
    if let Some(end) = stranded(execution, head) {
        return Next::EndStranded(end);
    }
    match &execution.phase {
        Phase::Proposed { until } if now < *until => Next::Answer,
        Phase::Proposed { .. } => Next::Unanswered,
        Phase::Accepted if execution.is_spent(now) => Next::FenceOver,
        Phase::Accepted => Next::Start,
        Phase::Started { .. } => Next::CallEnds,
        Phase::RecoveryPending { .. } if is_for_a_person(execution, now) => Next::Settle,
        Phase::RecoveryPending { pending } => {
            let quiet_ms = execution.intent.terms.quiet_ms;
            Next::FindOut {
                quiet_from: pending.quiet_until(quiet_ms),
                is_quiet: pending.is_quiet(quiet_ms, now),
            }
        }
        Phase::Failed { .. } if let Some(by) = newer(execution, head) => Next::Overtaken { by },
        Phase::Failed { retry_at } => Next::Retry { from: *retry_at },
        Phase::Succeeded | Phase::Observed if execution.drift => Next::Drifted,
        Phase::Succeeded | Phase::Observed => Next::Confirm,
        Phase::Verified { .. } | Phase::Rejected | Phase::Withdrawn | Phase::Superseded { .. } => {
            Next::Over
        }
    }
}

/// Whether nothing but a person tells what became of a call: nothing comes late any more, and its
/// actuator is not to be asked, or the target was read since and had neither count.
pub fn is_for_a_person(execution: &Execution, now: Timestamp) -> bool {
    let Phase::RecoveryPending { pending } = &execution.phase else { return false };
    let terms = &execution.intent.terms;
    let quiet_from = pending.quiet_until(terms.quiet_ms);
    let last = execution.last_reading.as_ref();
    let was_read_since = last.is_some_and(|reading| reading.began_at >= quiet_from);
    pending.is_quiet(terms.quiet_ms, now) && (terms.on_unknown == OnUnknown::Halt || was_read_since)
}

/// What is wanted after it and has not started: its start would have ended the failure.
fn newer(execution: &Execution, head: &ServiceHead) -> Option<IntentRevision> {
    let wanted = head.wanted.as_ref()?.intent_revision;
    (wanted > execution.revision()).then_some(wanted)
}
