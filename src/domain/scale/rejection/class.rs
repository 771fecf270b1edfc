//! The kinds of refusals.

use serde::Serialize;

/// What kind of refusal it is: the word of the exit table (design, section 10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// 2: fix the line or the document.
    Usage,
    /// 10: read again, decide again.
    Conflict,
    /// 11: somebody else is at it, or one may not.
    Held,
    /// 12: policy says no.
    Denied,
    /// 13: a colleague must agree.
    ApprovalRequired,
    /// 14: too soon after the last change.
    Cooldown,
    /// 15: there is no room.
    Capacity,
    /// 16: nobody knows whether the target changed.
    Unknown,
    /// 17: it failed for good.
    Failed,
    /// 18: it failed, and may be tried again.
    RetryLater,
    /// 19: as wished so far.
    NotYet,
    /// 22: somebody else owns the count.
    ExternalOwner,
    /// 23: the target is not as wished.
    Diverged,
    /// 24: there is no such thing.
    NotFound,
    /// 25: a fact could not be read or proved.
    FactUnknown,
    /// 26: it waits for a person.
    Attention,
}
