//! What is not got rid of by the way: a hold, an override, and whose a count is.
//!
//! Whoever may register may end a service, hand its count over, and take another target. None of it
//! takes away what somebody with another right has laid upon the service, or leaves an object that
//! somebody else drives to whoever registers it next.

use super::Draft;
use crate::domain::id::{ServiceName, TargetUid};
use crate::domain::scale::authority::Authority;
use crate::domain::scale::command::RegisterService;
use crate::domain::scale::others::{Namesake, Others};
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::service::{Binding, Registration};
use crate::domain::time::Timestamp;

/// Refuses to leave a count that a person holds or has pinned.
pub(super) fn check_nothing_laid_upon(
    draft: &Draft<'_>,
    service: &ServiceName,
) -> Result<(), Rejection> {
    laid_upon(service, &draft.state.head.authority, draft.now).map_or(Ok(()), Err)
}

fn laid_upon(service: &ServiceName, laid: &Authority, now: Timestamp) -> Option<Rejection> {
    let service = service.clone();
    if let Some(hold) = laid.hold_at(now) {
        return Some(Rejection::OnHold { service, hold: Box::new(hold.clone()) });
    }
    let pinned = Box::new(laid.pinned_at(now)?.clone());
    Some(Rejection::Pinned { service, pinned })
}

/// Who else owns the count of a service, also of one that is retired.
fn owned(registration: &Registration, laid: &Authority) -> Option<Rejection> {
    registration.mode.record_mode().is_none().then(|| Rejection::ExternalOwner {
        service: registration.service.clone(),
        mode: registration.mode,
        owner: registration.owner.clone(),
        is_retired: laid.retired.is_some(),
    })
}

/// Refuses a target whose name is that of another one which a person holds or has pinned, or which
/// somebody else owns: a recreated object has another uid, and is under the same word all the same.
pub(super) fn check_name_is_free(
    draft: &Draft<'_>,
    service: &ServiceName,
    uid: &TargetUid,
    others: &Others,
) -> Result<(), Rejection> {
    let not_free = |it: &Namesake| {
        let (registration, laid) = (&it.registration, &it.authority);
        let why = laid_upon(&registration.service, laid, draft.now)
            .or_else(|| owned(registration, laid))?;
        Some(Rejection::WorkloadTaken {
            service: service.clone(),
            uid: uid.clone(),
            workload: registration.workload_id.clone(),
            holder: registration.service.clone(),
            why: Box::new(why),
        })
    };
    others.namesakes.iter().find_map(not_free).map_or(Ok(()), Err)
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
    owned(existing, &head.authority).map_or(Ok(()), Err)?;
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
