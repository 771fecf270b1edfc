//! A glass that is about to be broken for a wish: what it does not pass, and what was confirmed.
//!
//! Owns what is asked before anything is written, by a line and by its plan alike; the rules of the
//! authorization itself are decided with it. Never reads the target.

use super::command::PutIntent;
use super::consent::{OpenAuthorization, Unauthorized};
use super::rejection::Rejection;
use super::service::{Binding, Registration};
use super::state::ServiceHead;
use crate::domain::id::{AuthorizationId, Replicas, ServiceName};
use crate::domain::time::Timestamp;

/// A step that was confirmed from one count, and would be made from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherStep {
    /// The count that it was confirmed from.
    pub confirmed: Replicas,
    /// The count that runs.
    pub actual: Replicas,
}

/// The count that runs, as far as it is known.
pub fn known_count(head: &ServiceHead) -> Option<Replicas> {
    head.binding.as_ref().and_then(Binding::known_replicas)
}

/// The registration whose upper bound a count is above; none where it is within, or where nobody
/// has registered the service. A broken glass raises it on purpose, and never passes it.
pub fn above_max(head: &ServiceHead, desired: Replicas) -> Option<&Registration> {
    head.registration.as_ref().filter(|registration| desired > registration.max_replicas)
}

/// Holds a wish under an authorization to the step that was confirmed with it. From a third count
/// it is another step, unless it is there already or the line names a count of its own, which is
/// asked with the wish. What the authorization does not permit at all, the put refuses.
pub fn check_step(
    head: &ServiceHead,
    id: &AuthorizationId,
    put: &PutIntent,
    now: Timestamp,
) -> Result<(), OtherStep> {
    let permits = |given: &&OpenAuthorization| {
        let is_own = given.uses.contains_key(put.key());
        let over = given.over(now).filter(|why| !is_own || *why != Unauthorized::UsedUp);
        over.is_none() && given.authorization.desired_replicas == put.desired()
    };
    let given = head.authorizations.get(id).filter(permits);
    let confirmed = given.and_then(|given| given.authorization.current);
    match (confirmed, known_count(head)) {
        (Some(confirmed), Some(actual))
            if confirmed != actual && actual != put.desired() && put.expect_count.is_none() =>
        {
            Err(OtherStep { confirmed, actual })
        }
        (Some(_) | None, _) => Ok(()),
    }
}

/// Holds what a line believes that runs to what is known of it.
pub fn check_belief(
    head: &ServiceHead,
    service: &ServiceName,
    believed: Option<Replicas>,
) -> Result<(), Rejection> {
    match (believed, known_count(head)) {
        (Some(expected), Some(actual)) if expected != actual => {
            Err(Rejection::PremiseMoved { service: service.clone(), expected, actual })
        }
        (Some(_) | None, _) => Ok(()),
    }
}
