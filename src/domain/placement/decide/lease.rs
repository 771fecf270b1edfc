//! Who carries an operation out: one worker at a time, each under a higher token than the last.

use super::super::event::PlacementBody;
use super::super::operation::{Course, Operation, OperationLease};
use super::super::rejection::PlacementRejection;
use super::{Decided, Decision, Draft, unchanged};
use crate::domain::id::{FenceToken, LeaseInstanceId, OperationId};
use crate::domain::scale::decide::Reply;
use crate::domain::scale::lease::{Holder, LEASE_TTL_MAX, LEASE_TTL_MIN};
use crate::domain::time::DurationMs;

/// What is asked for.
pub(super) struct Asked<'a> {
    pub(super) lease_instance_id: &'a LeaseInstanceId,
    pub(super) holder: &'a Holder,
    pub(super) ttl: DurationMs,
    pub(super) supersede: bool,
}

fn check_ttl(ttl: DurationMs) -> Result<(), PlacementRejection> {
    if (LEASE_TTL_MIN..=LEASE_TTL_MAX).contains(&ttl) {
        return Ok(());
    }
    let text = format!("a lease lasts {LEASE_TTL_MIN} to {LEASE_TTL_MAX}, not {ttl}");
    Err(PlacementRejection::Contradiction(text))
}

/// Refuses what is over, and what waits for a person.
pub(super) fn check_at_work(operation: &Operation) -> Result<(), PlacementRejection> {
    let operation_id = operation.operation_id.clone();
    match operation.course {
        Course::Forward | Course::Back => Ok(()),
        Course::Stuck => {
            let step = operation.next_step().expect("BUG: what is stuck has a step");
            let trouble = operation.trouble.as_ref();
            let why = trouble.map_or("nobody knows why", |trouble| trouble.text()).to_owned();
            Err(PlacementRejection::Stuck { operation_id, step, why })
        }
        Course::Succeeded | Course::Failed => Err(PlacementRejection::WrongCourse {
            operation_id,
            course: operation.course,
            why: "it is over",
        }),
    }
}

pub(super) fn acquire(draft: &Draft<'_>, id: &OperationId, asked: &Asked<'_>) -> Decided {
    check_ttl(asked.ttl)?;
    let operation = draft.operation(id)?;

    if let Some(lease) = &operation.lease
        && lease.lease_instance_id == *asked.lease_instance_id
    {
        let operation_id = Some(id.clone());
        return Ok(Decision { events: Vec::new(), reply: Reply::Replayed, operation_id });
    }

    check_at_work(operation)?;
    if let Some(lease) = operation.lease.as_ref().filter(|lease| lease.is_alive(draft.now))
        && !asked.supersede
    {
        let (operation_id, lease) = (id.clone(), Box::new(lease.clone()));
        return Err(PlacementRejection::OperationHeld { operation_id, lease });
    }
    let token = draft
        .environment_of(operation)?
        .next_token(draft.context.incarnation)
        .map_err(|error| PlacementRejection::Contradiction(error.to_string()))?;

    let lease = OperationLease {
        lease_instance_id: asked.lease_instance_id.clone(),
        token,
        holder: asked.holder.clone(),
        acquired_at: draft.now,
        expires_at: draft.now.plus(asked.ttl),
    };
    Ok(draft.done(vec![PlacementBody::OperationLeased { operation_id: id.clone(), lease }]))
}

pub(super) fn renew(
    draft: &Draft<'_>,
    id: &OperationId,
    token: FenceToken,
    ttl: DurationMs,
) -> Decided {
    check_ttl(ttl)?;
    let operation = draft.held((id, token))?;

    let expires_at = draft.now.plus(ttl);
    if operation.lease.as_ref().is_some_and(|lease| lease.expires_at >= expires_at) {
        return Ok(unchanged(Some(id.clone())));
    }

    let operation_id = id.clone();
    Ok(draft.done(vec![PlacementBody::OperationLeaseRenewed { operation_id, token, expires_at }]))
}

pub(super) fn release(draft: &Draft<'_>, id: &OperationId, token: FenceToken) -> Decided {
    let operation = draft.operation(id)?;

    // What is over, or somebody else's, is released already.
    let lease = operation.lease.as_ref().filter(|lease| lease.token == token);
    if lease.is_none_or(|lease| !lease.is_alive(draft.now)) {
        return Ok(unchanged(Some(id.clone())));
    }

    let operation = draft.held((id, token))?;
    if operation.started.is_some() {
        let (operation_id, course) = (id.clone(), operation.course);
        let why = "its call is under way";
        return Err(PlacementRejection::WrongCourse { operation_id, course, why });
    }

    let operation_id = id.clone();
    Ok(draft.done(vec![PlacementBody::OperationLeaseReleased { operation_id, token }]))
}
