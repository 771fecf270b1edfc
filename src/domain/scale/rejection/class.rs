//! Which word of the exit table each refusal has.

use super::{Class, Rejection};
use crate::domain::scale::execution::Phase;

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
            | Self::NoSuchActuator { .. } => Class::NotFound,
            Self::FactUnknown { .. } | Self::ClockSkew { .. } => Class::FactUnknown,
        }
    }
}
