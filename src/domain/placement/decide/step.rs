//! The steps of an operation: durable before the call, and durable after it.

use super::super::command::StepEnd;
use super::super::environment::Standby;
use super::super::event::PlacementBody;
use super::super::operation::{Course, Operation, Step, TRIES_MAX, Trouble};
use super::super::protocol::{
    Applied, Receipt, Refusal, RelocatorError, WorkspaceLeft, WorkspaceState,
};
use super::super::rejection::PlacementRejection;
use super::lease::check_at_work;
use super::leave::ended;
use super::reserved::{Moving, Point};
use super::{Decided, Decision, Draft, Held, not_found};
use crate::domain::id::{CallId, FenceToken, ServiceName};
use crate::domain::scale::decide::Reply;
use crate::domain::scale::result::Detail;

/// Refuses a worker whose time is over: somebody else may come at any instant.
fn check_alive(draft: &Draft<'_>, operation: &Operation) -> Result<(), PlacementRejection> {
    match &operation.lease {
        Some(lease) if lease.is_alive(draft.now) => Ok(()),
        Some(lease) => Err(PlacementRejection::LeaseLost {
            operation_id: operation.operation_id.clone(),
            given: lease.token,
            current: None,
        }),
        None => Err(wrong(operation, "nobody carries it out")),
    }
}

/// Refuses the lease of a call that may still act: under a newer one it can change nothing.
fn check_sure(operation: &Operation, token: FenceToken) -> Result<(), PlacementRejection> {
    if operation.unsure != Some(token) {
        return Ok(());
    }
    Err(wrong(operation, "its last call may still act: go on under a newer lease"))
}

fn wrong(operation: &Operation, why: &'static str) -> PlacementRejection {
    let (operation_id, course) = (operation.operation_id.clone(), operation.course);
    PlacementRejection::WrongCourse { operation_id, course, why }
}

pub(super) fn start(
    draft: &Draft<'_>,
    held: Held<'_>,
    call_id: &CallId,
    in_flight: &[ServiceName],
) -> Decided {
    let operation = draft.held(held)?;

    if let Some(started) = &operation.started {
        return if started.call_id == *call_id {
            let operation_id = Some(operation.operation_id.clone());
            Ok(Decision { events: Vec::new(), reply: Reply::Replayed, operation_id })
        } else {
            Err(wrong(operation, "another call of it is under way"))
        };
    }

    check_at_work(operation)?;
    check_alive(draft, operation)?;
    check_sure(operation, held.1)?;
    let step = operation.next_step().ok_or_else(|| wrong(operation, "nothing is left to do"))?;
    if step.is_of_ledger() {
        return Err(wrong(operation, "the ledger does what comes next"));
    }
    if step == Step::Drain && !in_flight.is_empty() {
        let (environment, services) = (operation.environment.clone(), in_flight.to_vec());
        return Err(PlacementRejection::ServiceInFlight { environment, services });
    }

    Ok(draft.done(vec![PlacementBody::StepStarted {
        operation_id: operation.operation_id.clone(),
        step,
        token: held.1,
        epoch: operation.epoch(),
        call_id: call_id.clone(),
    }]))
}

pub(super) fn end(draft: &Draft<'_>, held: Held<'_>, step: Step, end: &StepEnd) -> Decided {
    let operation = draft.held(held)?;
    if operation.started.as_ref().is_none_or(|started| started.step != step) {
        return Err(wrong(operation, "this step was not started"));
    }

    let trouble = match end {
        StepEnd::Done(receipt) => match operation.takes(step, receipt) {
            Ok(()) => return Ok(receive(draft, operation, held, receipt)),
            Err(trouble) => trouble,
        },
        StepEnd::Refused(error) => Trouble::Refused { error: error.clone() },
        StepEnd::Lost(why) => Trouble::Lost { why: why.clone() },
    };
    let course = after(operation, &trouble);

    let mut bodies = vec![PlacementBody::StepFailed {
        operation_id: operation.operation_id.clone(),
        step,
        token: held.1,
        epoch: operation.epoch(),
        trouble,
        course,
    }];
    let turns = course == Course::Back && operation.course != Course::Back;
    if turns && operation.way_back().is_some_and(|back| back.is_empty()) {
        bodies.push(ended(draft, operation, Course::Failed));
    }
    Ok(draft.done(bodies))
}

/// A step is done, and with the last one the operation.
fn receive(
    draft: &Draft<'_>,
    operation: &Operation,
    (_, token): Held<'_>,
    receipt: &Receipt,
) -> Decision {
    let started = operation.started.as_ref().expect("BUG: what was received was started");
    let step = started.step;
    let mut bodies = vec![PlacementBody::StepDone {
        operation_id: operation.operation_id.clone(),
        step,
        token,
        epoch: operation.epoch(),
        receipt: Box::new(receipt.clone()),
    }];
    if operation.steps == [step] {
        let course = match operation.course {
            Course::Back => Course::Failed,
            _ => Course::Succeeded,
        };
        bodies.push(ended(draft, operation, course));
    }
    draft.done(bodies)
}

/// What follows upon a failure (facts/placement.md, sections 5 and 6).
fn after(operation: &Operation, trouble: &Trouble) -> Course {
    let may_pass = match trouble {
        Trouble::Refused { error } => error.retryable || error.refusal.is_retryable(),
        Trouble::Lost { .. } => true,
        Trouble::Abandoned { .. } => false,
    };
    // The world is ahead of this ledger, or a worker is there that it knows nothing of.
    let is_ahead = matches!(trouble, Trouble::Refused { error } if matches!(
        error.refusal,
        Refusal::StaleToken { .. } | Refusal::Committed { .. } | Refusal::OtherGeneration { .. }
    ));
    let is_full = matches!(trouble, Trouble::Refused { error } if matches!(
        error.refusal,
        Refusal::CapacityExhausted { .. }
    ));
    if operation.course == Course::Back {
        return if may_pass { Course::Back } else { Course::Stuck };
    }
    if is_ahead || operation.way_back().is_none() {
        return if may_pass { Course::Forward } else { Course::Stuck };
    }
    // While nothing serves, nobody waits for room, nor for long.
    let is_down = operation.keeps_away();
    let is_over = is_down && (is_full || operation.tries.saturating_add(1) >= TRIES_MAX);
    if may_pass && !is_over { Course::Forward } else { Course::Back }
}

pub(super) fn commit(draft: &Draft<'_>, held: Held<'_>, services: &[ServiceName]) -> Decided {
    let operation = draft.held(held)?;

    check_at_work(operation)?;
    check_alive(draft, operation)?;
    check_sure(operation, held.1)?;
    let at = Point::of(operation);
    let moving = Moving::of(operation);
    let operation_id = operation.operation_id.clone();
    let (step, mut bodies) = match operation.next_step() {
        Some(step @ Step::Commit) => {
            let at = Point { is_committed: true, ..at };
            let body = PlacementBody::PlacementCommitted {
                operation_id,
                token: Some(held.1),
                epoch: operation.to.epoch,
                reservations: moving.reservations(draft.state, at),
                services: services.to_vec(),
            };
            (step, vec![body])
        }
        Some(step @ Step::CommitStandby) => {
            let at = Point { is_standby_committed: true, ..at };
            let body = PlacementBody::StandbyCommitted {
                operation_id,
                token: held.1,
                standby: made(draft, operation)?,
                reservations: moving.reservations(draft.state, at),
            };
            (step, vec![body])
        }
        Some(_) | None => return Err(wrong(operation, "what comes next is no commit")),
    };

    if operation.steps == [step] {
        let mut after = operation.clone();
        after.done.push(super::super::operation::DoneStep {
            step,
            token: held.1,
            at: draft.now,
            receipt: None,
        });
        bodies.push(ended(draft, &after, Course::Succeeded));
    }
    Ok(draft.done(bodies))
}

/// The recovery copy that was made and read back; none where there is to be none.
fn made(draft: &Draft<'_>, operation: &Operation) -> Result<Option<Standby>, PlacementRejection> {
    let Some(copy) = &operation.snapshot else { return Ok(None) };
    let Some(Receipt::Snapshot(made)) = operation.receipt(Step::Snapshot) else {
        return Err(wrong(operation, "there is no receipt of its recovery copy"));
    };
    let cell = draft.state.cells.get(&copy.cell);
    let cell = cell.ok_or_else(|| not_found("cell", &copy.cell))?;
    Ok(Some(Standby {
        copy: copy.clone(),
        location: cell.location.clone(),
        captured_at: made.captured_at,
        bytes: made.bytes,
        manifest_sha256: made.manifest_sha256,
    }))
}

impl Operation {
    /// Whether a receipt is one of this step and of the copies that it was about.
    fn takes(&self, step: Step, receipt: &Receipt) -> Result<(), Trouble> {
        let (from, to) = (self.from.copy(), self.to.copy());
        let older = self.standby_before.as_ref().map(|standby| &standby.copy);
        let made = self.snapshot.as_ref();
        let token = self.lease.as_ref().map(|lease| lease.token);
        let transferred = |manifest: Option<&Receipt>| match manifest {
            Some(Receipt::Transfer(it)) => Some(it.manifest_sha256),
            _ => None,
        };
        let is_right = match (step, receipt) {
            (Step::Inventory, Receipt::Inventory(it)) => it.source == self.owner_now(),
            (Step::Drain, Receipt::Drain(it)) => it.source == from,
            (Step::Fence, Receipt::Fence(it)) => it.source == from && Some(it.token) == token,
            (Step::Transfer, Receipt::Transfer(it)) => it.source == from && it.target == to,
            (Step::Verify, Receipt::Verify(it)) => {
                let copied = transferred(self.receipt(Step::Transfer));
                it.target == to && Some(it.manifest_sha256) == copied
            }
            (Step::Route, Receipt::Route(it)) => it.target == to && it.epoch == self.to.epoch,
            (Step::Retire, Receipt::Retire(it)) => it.source == from,
            (Step::Snapshot, Receipt::Snapshot(it)) => {
                it.source == self.owner_now() && Some(&it.target) == made
            }
            (Step::RetireStandby, Receipt::Retire(it)) => Some(&it.source) == older,
            (Step::RetireStandby, Receipt::Discard(it)) => Some(&it.target) == older,
            (Step::RetireWorkspace, Receipt::Retire(it)) => {
                Some(&it.source) == self.workspace.as_ref() && it.workspace == WorkspaceLeft::None
            }
            (Step::Unfence, Receipt::Unfence(it)) => it.source == from && Some(it.token) == token,
            (Step::Undrain, Receipt::Undrain(it)) => it.source == from,
            (Step::Discard, Receipt::Discard(it)) => it.target == to,
            (Step::DiscardSnapshot, Receipt::Discard(it)) => Some(&it.target) == made,
            (_, _) => false,
        };
        if !is_right {
            let why = format!("the answer is no receipt of this {}", step.as_str());
            return Err(Trouble::Lost { why: Detail::cut(&why) });
        }
        match receipt {
            Receipt::Inventory(it) if it.workspace == WorkspaceState::Running => {
                let refusal = Refusal::WorkspaceRunning;
                let error = RelocatorError {
                    message: refusal.to_string(),
                    refusal,
                    retryable: false,
                    applied: Applied::No,
                };
                Err(Trouble::Refused { error: Box::new(error) })
            }
            _ => Ok(()),
        }
    }
}
