//! The kinds of refusals, and which kind each of them is.

use serde::Serialize;

use super::Rejection;
use crate::domain::scale::execution::Phase;

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

impl Rejection {
    /// The word of the exit table.
    pub const fn class(&self) -> Class {
        match self {
            Self::OutOfBounds { .. }
            | Self::FenceMissing { .. }
            | Self::FenceTooFar { .. }
            | Self::Contradiction(_) => Class::Usage,
            Self::StaleRevision { .. }
            | Self::StaleUnitRevision { .. }
            | Self::KeyConflict { .. }
            | Self::SimulatedKey { .. }
            | Self::LiveKey { .. }
            | Self::IntentIdConflict { .. }
            | Self::ModeMismatch { .. }
            | Self::TargetChanged { .. }
            | Self::TargetTaken { .. }
            | Self::PremiseMoved { .. }
            | Self::AuthorizationOpen { .. }
            | Self::Reviewed { .. }
            | Self::ApprovalExpired { .. }
            | Self::ApprovalMoved { .. }
            | Self::OthersIntent { .. } => Class::Conflict,
            Self::WrongState { phase, .. } => match **phase {
                Phase::Rejected => Class::Denied,
                Phase::Proposed { .. } => Class::ApprovalRequired,
                Phase::Started { .. } => Class::Held,
                Phase::RecoveryPending { .. } => Class::Unknown,
                Phase::Accepted
                | Phase::Failed { .. }
                | Phase::Succeeded
                | Phase::Observed
                | Phase::Verified { .. }
                | Phase::Withdrawn
                | Phase::Superseded { .. } => Class::Conflict,
            },
            Self::InFlight { .. }
            | Self::InProgress { .. }
            | Self::LeaseHeld { .. }
            | Self::NotWriter { .. }
            | Self::FenceLost { .. }
            | Self::FenceExpired { .. }
            | Self::FenceTooShort { .. }
            | Self::LeaseLost { .. }
            | Self::Relocating { .. } => Class::Held,
            Self::AlwaysOn { .. } => Class::Capacity,
            Self::Denied { .. }
            | Self::OnHold { .. }
            | Self::Pinned { .. }
            | Self::SamePerson { .. }
            | Self::SameReviewer { .. }
            | Self::SignatureMissing { .. }
            | Self::SignatureRefused { .. }
            | Self::NotAuthorized { .. } => Class::Denied,
            Self::WorkloadTaken { why, .. } => why.class(),
            Self::ApprovalRequired { .. } => Class::ApprovalRequired,
            Self::Cooldown { .. } => Class::Cooldown,
            Self::OutcomeUnknown { .. } | Self::QuietTime { .. } => Class::Unknown,
            Self::RetryLater { .. } => Class::RetryLater,
            Self::WaitsBehind { .. } => Class::NotYet,
            Self::ExternalOwner { .. } | Self::StillOwned { .. } => Class::ExternalOwner,
            Self::ReadingDiffers { .. } | Self::OtherObject { .. } => Class::Diverged,
            Self::NoSuchService { .. }
            | Self::Retired { .. }
            | Self::NoSuchKey { .. }
            | Self::NoSuchAuthorization { .. }
            | Self::NoSuchActuator { .. }
            | Self::NotActuated { .. } => Class::NotFound,
            Self::FactUnknown { .. } | Self::ClockSkew { .. } => Class::FactUnknown,
        }
    }
}
