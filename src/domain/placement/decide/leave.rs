//! A person's word about an operation: try again, or give it up.

use super::super::event::PlacementBody;
use super::super::operation::{Course, Operation, OperationKind};
use super::super::rejection::PlacementRejection;
use super::reserved::{Moving, Point};
use super::{Decided, Draft, unchanged};
use crate::domain::id::{FenceToken, OperationId};
use crate::domain::scale::result::Detail;

fn refuse_over(operation: &Operation) -> Result<(), PlacementRejection> {
    if !operation.course.is_over() {
        return Ok(());
    }
    let (operation_id, course) = (operation.operation_id.clone(), operation.course);
    Err(PlacementRejection::WrongCourse { operation_id, course, why: "it is over" })
}

/// Refuses while somebody is at it.
fn refuse_held(
    draft: &Draft<'_>,
    operation: &Operation,
    gone: Option<FenceToken>,
) -> Result<(), PlacementRejection> {
    let lease = operation.lease.as_ref().filter(|lease| gone != Some(lease.token));
    match lease.filter(|lease| lease.is_alive(draft.now)) {
        None => Ok(()),
        Some(lease) => {
            let (operation_id, lease) = (operation.operation_id.clone(), Box::new(lease.clone()));
            Err(PlacementRejection::OperationHeld { operation_id, lease })
        }
    }
}

pub(super) fn retry(draft: &Draft<'_>, id: &OperationId, reason: &Detail) -> Decided {
    let operation = draft.operation(id)?;
    refuse_over(operation)?;

    if operation.course != Course::Stuck {
        return Ok(unchanged(Some(id.clone())));
    }

    let decision = draft.may_relocate(draft.environment_of(operation)?, None)?;

    let (operation_id, reason) = (id.clone(), reason.clone());
    Ok(draft.done(vec![PlacementBody::OperationRetried { operation_id, reason, decision }]))
}

pub(super) fn abandon(
    draft: &Draft<'_>,
    id: &OperationId,
    reason: &Detail,
    gone: Option<FenceToken>,
) -> Decided {
    let operation = draft.operation(id)?;
    refuse_over(operation)?;

    if operation.course == Course::Back || operation.is_going_back {
        return Ok(unchanged(Some(id.clone())));
    }

    refuse_held(draft, operation, gone)?;
    let Some(back) = operation.way_back() else {
        let (operation_id, epoch) = (id.clone(), operation.to.epoch.get());
        return Err(PlacementRejection::OnlyForward { operation_id, epoch });
    };
    let decision = draft.may_relocate(draft.environment_of(operation)?, None)?;

    let (operation_id, reason) = (id.clone(), reason.clone());
    let mut bodies = vec![PlacementBody::OperationAbandoned { operation_id, reason, decision }];
    if back.is_empty() {
        bodies.push(ended(draft, operation, Course::Failed));
    }
    Ok(draft.done(bodies))
}

/// The end of an operation, with what is reserved from then on.
pub(super) fn ended(draft: &Draft<'_>, operation: &Operation, course: Course) -> PlacementBody {
    let point = Point::at_end(operation);
    let reservations = Moving::of(operation).reservations(draft.state, point);
    debug_assert!(operation.kind != OperationKind::InPlace, "BUG: it ends at once");
    PlacementBody::OperationEnded {
        operation_id: operation.operation_id.clone(),
        course,
        reservations,
    }
}
