//! What a person lays upon a service as a whole: a hold, an override, a hand-over, its end, and the
//! authorizations that break the glass.
//!
//! Owns what those events change in the head of a service. Decides nothing.

use serde::{Deserialize, Serialize};

use super::consent::OpenAuthorization;
use super::event::{Event, EventBody};
use super::scaling::SampleMark;
use super::state::{IllegalEvent, ServiceHead, illegal};
use crate::domain::id::{AuthorizationId, ExecutionKey, Replicas};
use crate::domain::time::Timestamp;

/// Nothing changes the count until then, but for a broken glass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// When it ends by itself.
    pub until: Timestamp,
    /// Why.
    pub reason: String,
    /// Who set it.
    pub actor: String,
    /// When.
    pub set_at: Timestamp,
}

/// A count that a person has pinned: while it lasts, the autoscaler leaves the service alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Override {
    /// The intent that it is.
    pub execution_key: ExecutionKey,
    /// The count.
    pub replicas: Replicas,
    /// When it ends by itself.
    pub until: Timestamp,
    /// Who set it.
    pub actor: String,
}

/// The end of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retirement {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
    /// Who retired it.
    pub actor: String,
}

/// What of a service is laid upon it from outside, and what its ticks remember.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Authority {
    /// The hold, over or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    /// The override, over or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<Override>,
    /// The end of the service, until it is registered anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired: Option<Retirement>,
    /// What the autoscaler remembers from tick to tick.
    #[serde(default, skip_serializing_if = "SampleMark::is_empty")]
    pub samples: SampleMark,
    /// The count of the newest intent, where that was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Replicas>,
}

impl Authority {
    /// For members that are left out where they say nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The hold that is in force at `now`.
    pub fn hold_at(&self, now: Timestamp) -> Option<&Hold> {
        self.hold.as_ref().filter(|hold| now < hold.until)
    }

    /// The override that is in force at `now`.
    pub fn pinned_at(&self, now: Timestamp) -> Option<&Override> {
        self.pinned.as_ref().filter(|pinned| now < pinned.until)
    }
}

impl ServiceHead {
    /// What an event about the service as a whole changes.
    pub(super) fn apply_authority(&mut self, event: &Event) -> Result<(), IllegalEvent> {
        let actor = || event.by.actor.to_string();
        match &event.body {
            EventBody::ServiceHandedOver { registration, binding, .. } => {
                self.registration = Some(registration.clone());
                self.binding = Some(binding.clone());
                self.authority.pinned = None;
                self.authority.samples = SampleMark::default();
            }
            EventBody::ServiceRetired { reason, .. } => {
                let reason = reason.as_str().to_owned();
                let retirement = Retirement { at: event.at, reason, actor: actor() };
                if self.authority.retired.replace(retirement).is_some() {
                    return Err(illegal(event, "retired", self.name()));
                }
                (self.authority.hold, self.authority.pinned) = (None, None);
            }
            EventBody::HoldSet { until, reason, .. } => {
                let reason = reason.as_str().to_owned();
                let (until, set_at) = (*until, event.at);
                self.authority.hold = Some(Hold { until, reason, actor: actor(), set_at });
            }
            EventBody::HoldLifted { .. } => self.authority.hold = None,
            EventBody::OverrideSet { execution_key, replicas, until, .. } => {
                let (execution_key, replicas) = (execution_key.clone(), *replicas);
                let until = *until;
                let pinned = Override { execution_key, replicas, until, actor: actor() };
                self.authority.pinned = Some(pinned);
            }
            EventBody::OverrideCleared { .. } => self.authority.pinned = None,
            EventBody::AuthorizationGranted { authorization } => {
                let id = authorization.authorization_id.clone();
                let given = (**authorization).clone();
                let open = OpenAuthorization::given(given, event.by.clone(), event.at);
                if self.authorizations.insert(id, open).is_some() {
                    return Err(illegal(event, "authorized", self.name()));
                }
            }
            EventBody::AuthorizationUsed { authorization_id, .. }
            | EventBody::AuthorizationRevoked { authorization_id, .. } => {
                self.authorization(authorization_id, event)?.follow(event);
            }
            EventBody::AuthorizationReviewed { authorization_id, .. } => {
                self.authorization(authorization_id, event)?;
                self.authorizations.remove(authorization_id);
            }
            EventBody::AutoscaleEvaluated { evaluation } => {
                self.authority.samples = evaluation.samples;
            }
            _ => return Err(illegal(event, "something else", self.name())),
        }
        Ok(())
    }

    fn authorization(
        &mut self,
        id: &AuthorizationId,
        event: &Event,
    ) -> Result<&mut OpenAuthorization, IllegalEvent> {
        let missing = || illegal(event, "not authorized", id.as_str());
        self.authorizations.get_mut(id).ok_or_else(missing)
    }

    fn name(&self) -> &str {
        self.registration.as_ref().map_or("the service", |it| it.service.as_str())
    }
}
