//! What is not got rid of by the way: a hold, an override, and whose a count is.
//!
//! Whoever may register may end a service, hand its count over, and take another target. None of it
//! takes away what somebody with another right has laid upon the service, or leaves an object that
//! somebody else drives to whoever registers it next.

use super::Draft;
use crate::domain::id::ServiceName;
use crate::domain::scale::command::RegisterService;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::service::{Binding, Registration};

/// Refuses to leave a count that a person holds or has pinned.
pub(super) fn check_nothing_laid_upon(
    draft: &Draft<'_>,
    service: &ServiceName,
) -> Result<(), Rejection> {
    let laid = &draft.state.head.authority;
    if let Some(hold) = laid.hold_at(draft.now) {
        return Err(Rejection::OnHold { service: service.clone(), hold: Box::new(hold.clone()) });
    }
    if let Some(pinned) = laid.pinned_at(draft.now) {
        let pinned = Box::new(pinned.clone());
        return Err(Rejection::Pinned { service: service.clone(), pinned });
    }
    Ok(())
}

/// Refuses to take another target where the one that is left, or the one that is taken, is somebody
/// else's.
pub(super) fn check_move(
    draft: &Draft<'_>,
    existing: &Registration,
    ask: &RegisterService,
) -> Result<(), Rejection> {
    let head = &draft.state.head;
    let wanted = &ask.registration;
    if !is_other_target((existing, head.binding.as_ref()), (wanted, ask.binding.as_ref())) {
        return Ok(());
    }
    check_nothing_laid_upon(draft, &existing.service)?;
    if existing.mode.record_mode().is_none() {
        return Err(Rejection::ExternalOwner {
            service: existing.service.clone(),
            mode: existing.mode,
            owner: existing.owner.clone(),
            is_retired: head.authority.retired.is_some(),
        });
    }
    // A count becomes ours by a hand-over, which is refused while somebody drives it.
    if wanted.mode.record_mode().is_some() && !ask.owners.drive.is_empty() {
        return Err(Rejection::StillOwned {
            service: existing.service.clone(),
            owners: ask.owners.drive.clone(),
            take_away: ask.owners.take_away.clone(),
        });
    }
    Ok(())
}

/// A target is its cluster, runtime and uid (docs/decisions/0032).
fn is_other_target(
    (left, bound): (&Registration, Option<&Binding>),
    (taken, found): (&Registration, Option<&Binding>),
) -> bool {
    let is_elsewhere = left.cluster_id != taken.cluster_id || left.runtime_id != taken.runtime_id;
    let is_another = match (bound, found) {
        (Some(bound), Some(found)) => bound.target_uid != found.target_uid,
        (None, _) | (_, None) => false,
    };
    is_elsewhere || is_another
}
