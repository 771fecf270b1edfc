//! What an event is about.

use super::{EventBody, Stamped};
use crate::domain::id::{AuthorizationId, ExecutionKey};

/// One thing that happened to a service.
pub type Event = Stamped<EventBody>;

impl EventBody {
    /// The authorization that it is about.
    pub fn authorization_id(&self) -> Option<&AuthorizationId> {
        match self {
            Self::AuthorizationGranted { authorization } => Some(&authorization.authorization_id),
            Self::AuthorizationUsed { authorization_id, .. }
            | Self::AuthorizationRevoked { authorization_id, .. }
            | Self::AuthorizationReviewed { authorization_id, .. } => Some(authorization_id),
            _ => None,
        }
    }

    /// The key that it is about, if it is about one.
    pub const fn execution_key(&self) -> Option<&ExecutionKey> {
        match self {
            Self::ServiceRegistered { .. }
            | Self::ServiceHandedOver { .. }
            | Self::ServiceRetired { .. }
            | Self::HoldSet { .. }
            | Self::HoldLifted { .. }
            | Self::OverrideCleared { .. }
            | Self::AuthorizationGranted { .. }
            | Self::AuthorizationRevoked { .. }
            | Self::AuthorizationReviewed { .. }
            | Self::AutoscaleEvaluated { .. }
            | Self::TargetBound { .. }
            | Self::ServiceRestored { .. }
            | Self::GatewayImported { .. }
            | Self::ClockAccepted { .. } => None,
            Self::IntentProposed { intent, .. } | Self::IntentAccepted { intent, .. } => {
                Some(&intent.wish.execution_key)
            }
            Self::OverrideSet { execution_key, .. }
            | Self::AuthorizationUsed { execution_key, .. }
            | Self::GatewayFinalized { execution_key, .. }
            | Self::IntentRejected { execution_key, .. }
            | Self::IntentSuperseded { execution_key, .. }
            | Self::IntentWithdrawn { execution_key, .. }
            | Self::LeaseAcquired { execution_key, .. }
            | Self::LeaseRenewed { execution_key, .. }
            | Self::LeaseReleased { execution_key, .. }
            | Self::AttemptStarted { execution_key, .. }
            | Self::ResultRecorded { execution_key, .. }
            | Self::AttemptLost { execution_key, .. }
            | Self::CallEnded { execution_key, .. }
            | Self::TargetFenced { execution_key, .. }
            | Self::ReadingRecorded { execution_key, .. }
            | Self::ObservationRecorded { execution_key, .. }
            | Self::LateResultKept { execution_key, .. }
            | Self::ExecutionClockAccepted { execution_key } => Some(execution_key),
        }
    }
}
