//! Which refusals may pass by themselves, and when.

use super::{Class, MissingFact, Rejection};
use crate::domain::scale::execution::Execution;
use crate::domain::time::Timestamp;

impl Rejection {
    /// Whether the same line may succeed later without anybody changing it.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::InFlight { .. }
            | Self::InProgress { .. }
            | Self::LeaseHeld { .. }
            | Self::Cooldown { .. }
            | Self::Relocating { .. }
            | Self::OutcomeUnknown { .. }
            | Self::RetryLater { .. }
            | Self::QuietTime { .. }
            | Self::WaitsBehind { .. }
            | Self::ApprovalRequired { .. }
            | Self::ClockSkew { .. } => true,
            // Nothing but another registration brings somebody who says so.
            Self::FactUnknown { fact, .. } => {
                !matches!(fact, MissingFact::Quorum { may_come: false })
            }
            Self::OutOfBounds { .. }
            | Self::FenceMissing { .. }
            | Self::FenceTooFar { .. }
            | Self::Contradiction(_)
            | Self::StaleRevision { .. }
            | Self::StaleUnitRevision { .. }
            | Self::KeyConflict { .. }
            | Self::SimulatedKey { .. }
            | Self::LiveKey { .. }
            | Self::IntentIdConflict { .. }
            | Self::ModeMismatch { .. }
            | Self::TargetChanged { .. }
            | Self::TargetTaken { .. }
            | Self::WorkloadTaken { .. }
            | Self::PremiseMoved { .. }
            | Self::OthersIntent { .. }
            | Self::WrongState { .. }
            | Self::AlwaysOn { .. }
            | Self::NotWriter { .. }
            | Self::FenceLost { .. }
            | Self::FenceExpired { .. }
            | Self::FenceTooShort { .. }
            | Self::LeaseLost { .. }
            | Self::Denied { .. }
            | Self::OnHold { .. }
            | Self::Pinned { .. }
            | Self::SamePerson { .. }
            | Self::SameReviewer { .. }
            | Self::SignatureMissing { .. }
            | Self::SignatureRefused { .. }
            | Self::NotAuthorized { .. }
            | Self::AuthorizationOpen { .. }
            | Self::Reviewed { .. }
            | Self::ApprovalExpired { .. }
            | Self::ApprovalMoved { .. }
            | Self::ExternalOwner { .. }
            | Self::StillOwned { .. }
            | Self::Retired { .. }
            | Self::ReadingDiffers { .. }
            | Self::OtherObject { .. }
            | Self::NoSuchService { .. }
            | Self::NoSuchKey { .. }
            | Self::NoSuchAuthorization { .. }
            | Self::NoSuchActuator { .. }
            | Self::NotActuated { .. } => false,
        }
    }

    /// What keeps others of its service from starting.
    pub fn in_flight(execution: &Execution, now: Timestamp) -> Self {
        Self::InFlight {
            service: execution.intent.service.clone(),
            revision: execution.revision(),
            key: execution.key().clone(),
            state: execution.phase.as_str(),
            held: execution.live_lease(now).cloned(),
            until: execution.in_flight_until(now),
        }
    }

    /// When the same line may succeed, where that is known.
    pub const fn retry_at(&self) -> Option<Timestamp> {
        match self {
            Self::InProgress { held, .. } | Self::LeaseHeld { held, .. } => {
                Some(held.lease.expires_at)
            }
            Self::Cooldown { until, .. } | Self::QuietTime { until, .. } => Some(*until),
            Self::OutcomeUnknown { until, .. } | Self::InFlight { until, .. } => *until,
            Self::RetryLater { retry_at, .. } => Some(*retry_at),
            _ => None,
        }
    }

    /// Whether the refusal itself is kept as a row (design, section 1, 6).
    pub const fn is_kept(&self) -> bool {
        matches!(
            self.class(),
            Class::Denied | Class::Cooldown | Class::Capacity | Class::ExternalOwner
        )
    }
}
