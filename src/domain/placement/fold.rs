//! What each event makes of the state. Decides nothing: what cannot follow is an error.

use super::environment::{Environment, Reservation, Role};
use super::event::{PlacementBody, PlacementEvent};
use super::operation::{Course, DoneStep, Operation, StartedStep, Step, Trouble};
use super::protocol::{Receipt, Refusal, WorkspaceLeft};
use super::state::{IllegalPlacementEvent, PlacementState};
use crate::domain::id::{FenceToken, OperationId, PlacementEpoch, SettingRevision};
use crate::domain::time::Timestamp;

/// Why an event cannot follow.
type Problem = &'static str;

impl PlacementState {
    /// The state after one more event.
    pub fn apply(mut self, event: &PlacementEvent) -> Result<Self, IllegalPlacementEvent> {
        let kind = event.body.kind();
        self.take(event.at, &event.body)
            .map_err(|problem| IllegalPlacementEvent { event: kind, problem })?;
        Ok(self)
    }

    fn take(&mut self, at: Timestamp, body: &PlacementBody) -> Result<(), Problem> {
        match body {
            PlacementBody::LocationPut { location, .. } => {
                let before = self.locations.insert(location.name.clone(), location.clone());
                follows(before.map(|before| before.revision), location.revision)
            }
            PlacementBody::CellPut { cell, .. } => {
                let before = self.cells.insert(cell.name.clone(), cell.clone());
                follows(before.map(|before| before.revision), cell.revision)
            }
            PlacementBody::ProfileRegistered { profile, .. } => {
                match self.profiles.insert(profile.name.clone(), profile.clone()) {
                    Some(_) => Err("the profile is there already"),
                    None => Ok(()),
                }
            }
            PlacementBody::PlacementPolicyPut { policy, .. } => {
                let before = self.policies.insert(policy.name.clone(), policy.clone());
                follows(before.map(|before| before.revision), policy.revision)
            }
            PlacementBody::PoolPut { pool, .. } => {
                let before = self.pools.insert(pool.name.clone(), pool.clone());
                follows(before.map(|before| before.revision), pool.revision)
            }
            PlacementBody::UsageRecorded { usage, .. } => {
                self.usages.insert(usage.environment.clone(), usage.clone());
                Ok(())
            }
            PlacementBody::RelocatorRegistered { relocator, .. } => {
                self.relocators.insert(relocator.name.clone(), relocator.clone());
                Ok(())
            }
            PlacementBody::EnvironmentAdopted { environment, .. } => self.adopt(environment),
            PlacementBody::ChangeAdmitted { operation, reservations, .. } => {
                self.admit(operation, reservations)
            }
            _ => self.go_on(at, body),
        }
    }

    fn adopt(&mut self, environment: &Environment) -> Result<(), Problem> {
        let name = environment.name.clone();
        if let Some(before) = self.environments.insert(name, environment.clone()) {
            if before.operation.is_some() {
                return Err("the environment is being changed");
            }
            if before.effective.epoch > environment.effective.epoch {
                return Err("the epoch falls");
            }
            if before.revision.next() != Some(environment.revision)
                || before.leases > environment.leases
            {
                return Err("it is not the next revision");
            }
        }
        Ok(())
    }

    fn admit(
        &mut self,
        operation: &Operation,
        reservations: &[Reservation],
    ) -> Result<(), Problem> {
        let environment = self.environments.get_mut(&operation.environment);
        let environment = environment.ok_or("there is no such environment")?;
        if environment.operation.is_some() {
            return Err("the environment is being changed already");
        }
        if environment.revision.next() != Some(operation.revision) {
            return Err("it is not the next revision");
        }
        if environment.effective != operation.from {
            return Err("it begins with another owner");
        }
        environment.revision = operation.revision;
        environment.desired = operation.desired.clone();
        environment.operation = Some(operation.operation_id.clone());
        environment.reservations = reservations.to_vec();
        match self.operations.insert(operation.operation_id.clone(), operation.clone()) {
            Some(_) => Err("the operation is there already"),
            None => Ok(()),
        }
    }

    /// The events of an operation that is under way.
    fn go_on(&mut self, at: Timestamp, body: &PlacementBody) -> Result<(), Problem> {
        let id = body.operation_id().ok_or("it is about no operation")?;
        let (operation, environment) = self.at_work(id)?;
        match body {
            PlacementBody::OperationLeased { .. }
            | PlacementBody::OperationLeaseRenewed { .. }
            | PlacementBody::OperationLeaseReleased { .. } => {
                lease(operation, environment, at, body)?;
            }
            PlacementBody::StepStarted { step, token, epoch, call_id, .. } => {
                operation.is_of(*token, *epoch)?;
                if operation.next_step() != Some(*step) {
                    return Err("another step is the next one");
                }
                let (step, token, call_id) = (*step, *token, call_id.clone());
                operation.started = Some(StartedStep { step, token, call_id, at });
                // A step that is made again under a newer lease brings it no further.
                if !operation.begun.contains(&step) {
                    operation.begun.push(step);
                    operation.tries = 0;
                }
            }
            PlacementBody::StepDone { step, token, epoch, receipt, .. } => {
                operation.is_of(*token, *epoch)?;
                operation.ends(*step)?;
                finish(operation, environment, *step, *token, at, receipt);
            }
            PlacementBody::StepFailed { step, token, epoch, trouble, course, .. } => {
                operation.is_of(*token, *epoch)?;
                operation.ends(*step)?;
                operation.fail(trouble.clone(), *course)?;
                if matches!(trouble, Trouble::Lost { .. }) {
                    operation.unsure = Some(*token);
                }
            }
            PlacementBody::PlacementCommitted { token, epoch, reservations, .. } => {
                commit(operation, environment, *token, *epoch, at)?;
                environment.reservations.clone_from(reservations);
            }
            PlacementBody::StandbyCommitted { token, standby, reservations, .. } => {
                operation.is_of(*token, operation.epoch())?;
                operation.passes(Step::CommitStandby, Some(*token), at)?;
                environment.standby.clone_from(standby);
                environment.reservations.clone_from(reservations);
            }
            PlacementBody::OperationRetried { .. } => {
                if operation.course != Course::Stuck {
                    return Err("it is not stuck");
                }
                let is_going_back = std::mem::take(&mut operation.is_going_back);
                operation.course = if is_going_back { Course::Back } else { Course::Forward };
                operation.tries = 0;
                if let Some(Trouble::Refused { error }) = &operation.trouble
                    && let Refusal::StaleToken { current, .. } = error.refusal
                {
                    environment.seen = environment.seen.max(Some(current));
                }
            }
            PlacementBody::OperationAbandoned { reason, .. } => {
                let trouble = Trouble::Abandoned { reason: reason.clone() };
                operation.fail(trouble, Course::Back)?;
            }
            PlacementBody::OperationEnded { course, reservations, .. } => {
                end(operation, environment, *course, at)?;
                environment.reservations.clone_from(reservations);
            }
            _ => return Err("it is no event of an operation"),
        }
        Ok(())
    }

    /// An operation that is not over, with its environment.
    fn at_work(&mut self, id: &OperationId) -> Result<(&mut Operation, &mut Environment), Problem> {
        let operation = self.operations.get_mut(id).ok_or("there is no such operation")?;
        if operation.course.is_over() {
            return Err("the operation is over");
        }
        let environment = self.environments.get_mut(&operation.environment);
        let environment = environment.ok_or("there is no such environment")?;
        if environment.operation.as_ref() != Some(id) {
            return Err("the environment is changed by another operation");
        }
        Ok((operation, environment))
    }
}

/// Who carries an operation out, and until when.
fn lease(
    operation: &mut Operation,
    environment: &mut Environment,
    at: Timestamp,
    body: &PlacementBody,
) -> Result<(), Problem> {
    match body {
        PlacementBody::OperationLeased { lease, .. } => {
            if operation.lease.as_ref().is_some_and(|before| before.token >= lease.token) {
                return Err("the token does not rise");
            }
            environment.leases += 1;
            environment.seen = environment.seen.map(|seen| seen.max(lease.token));
            operation.lease = Some(lease.clone());
            operation.started = None;
            operation.unsure = None;
            operation.copy_again();
        }
        PlacementBody::OperationLeaseRenewed { token, expires_at, .. } => {
            let lease = operation.lease.as_mut().filter(|lease| lease.token == *token);
            lease.ok_or("the lease is another one")?.expires_at = *expires_at;
        }
        PlacementBody::OperationLeaseReleased { token, .. } => {
            let lease = operation.lease.as_mut().filter(|lease| lease.token == *token);
            lease.ok_or("the lease is another one")?.expires_at = at;
        }
        _ => return Err("it is no event of a lease"),
    }
    Ok(())
}

/// Whether a revision is the next one.
fn follows(before: Option<SettingRevision>, revision: SettingRevision) -> Result<(), Problem> {
    let next = before.map_or(Some(SettingRevision::MIN), SettingRevision::next);
    if next == Some(revision) { Ok(()) } else { Err("it is not the next revision") }
}

impl Operation {
    /// Whether the lease and the epoch are those that hold.
    fn is_of(&self, token: FenceToken, epoch: PlacementEpoch) -> Result<(), Problem> {
        if self.lease.as_ref().is_none_or(|lease| lease.token != token) {
            return Err("the lease is another one");
        }
        if self.epoch() == epoch { Ok(()) } else { Err("the epoch is another one") }
    }

    /// The end of the call that is under way.
    fn ends(&mut self, step: Step) -> Result<(), Problem> {
        match self.started.take() {
            Some(started) if started.step == step => Ok(()),
            Some(_) | None => Err("this step was not started"),
        }
    }

    /// A planned step is behind it.
    fn passes(
        &mut self,
        step: Step,
        token: Option<FenceToken>,
        at: Timestamp,
    ) -> Result<(), Problem> {
        if self.steps.first() != Some(&step) || self.next_step() != Some(step) {
            return Err("another step is the next one");
        }
        if !matches!(self.course, Course::Forward) {
            return Err("it is on its way back");
        }
        self.steps.remove(0);
        self.tries = 0;
        if let Some(token) = token {
            self.done.push(DoneStep { step, token, at, receipt: None });
        }
        Ok(())
    }

    /// A worker that takes over does not trust what was copied under an earlier fence: it copies
    /// and reads back again, which is nothing where all is as it was.
    fn copy_again(&mut self) {
        let is_copied = self.is_done(Step::Transfer) && !self.is_committed();
        if !is_copied || self.course != Course::Forward {
            return;
        }
        self.steps.retain(|step| !matches!(step, Step::Transfer | Step::Verify));
        self.steps.splice(0..0, [Step::Transfer, Step::Verify]);
        self.done.retain(|done| !matches!(done.step, Step::Transfer | Step::Verify));
    }

    fn fail(&mut self, trouble: Trouble, course: Course) -> Result<(), Problem> {
        self.tries += 1;
        self.trouble = Some(trouble);
        match course {
            Course::Forward if self.course == Course::Forward => {}
            Course::Back if self.course == Course::Back => {}
            Course::Back => {
                let back = self.way_back().ok_or("there is no way back")?;
                self.steps = back;
                self.course = Course::Back;
                self.started = None;
                self.tries = 0;
            }
            Course::Stuck => {
                self.is_going_back = self.course == Course::Back;
                self.course = Course::Stuck;
            }
            Course::Forward | Course::Succeeded | Course::Failed => {
                return Err("a failure cannot lead there");
            }
        }
        Ok(())
    }
}

fn finish(
    operation: &mut Operation,
    environment: &mut Environment,
    step: Step,
    token: FenceToken,
    at: Timestamp,
    receipt: &Receipt,
) {
    if step == Step::Fence {
        operation.fenced = Some(token);
    }
    if let Receipt::Retire(retired) = receipt
        && retired.workspace == WorkspaceLeft::Kept
    {
        environment.kept_workspaces.push(retired.source.clone());
    }
    if step == Step::RetireWorkspace {
        environment.kept_workspaces.retain(|kept| Some(kept) != operation.workspace.as_ref());
    }
    if operation.steps.first() == Some(&step) {
        operation.steps.remove(0);
    }
    if step == Step::Retire {
        let cell = &operation.from.cell;
        let is_left = |it: &Reservation| it.role == Role::Overlap && it.cell == *cell;
        environment.reservations.retain(|reservation| !is_left(reservation));
    }
    if operation.course == Course::Forward {
        operation.trouble = None;
    }
    let receipt = Some(Box::new(receipt.clone()));
    operation.done.push(DoneStep { step, token, at, receipt });
}

fn commit(
    operation: &mut Operation,
    environment: &mut Environment,
    token: Option<FenceToken>,
    epoch: PlacementEpoch,
    at: Timestamp,
) -> Result<(), Problem> {
    let before = environment.effective.epoch;
    if let Some(token) = token {
        operation.is_of(token, operation.epoch())?;
        operation.passes(Step::Commit, Some(token), at)?;
        if before.next() != Some(epoch) || operation.to.epoch != epoch {
            return Err("it is not the next epoch");
        }
    } else if before != epoch || operation.to.epoch != epoch {
        return Err("nothing is moved, and the epoch is another one");
    }
    environment.effective.clone_from(&operation.to);
    environment.effective.since = at;
    operation.to.since = at;
    Ok(())
}

fn end(
    operation: &mut Operation,
    environment: &mut Environment,
    course: Course,
    at: Timestamp,
) -> Result<(), Problem> {
    match (course, operation.course) {
        (Course::Succeeded, Course::Forward) | (Course::Failed, Course::Back) => {}
        _ => return Err("it cannot end so"),
    }
    if !operation.steps.is_empty() {
        return Err("there are steps left");
    }
    operation.course = course;
    operation.ended_at = Some(at);
    operation.lease = None;
    environment.operation = None;
    if course == Course::Failed {
        let before = operation.desired_before.clone();
        // What was committed is not wished away with a recovery copy that was given up.
        if operation.is_committed() {
            environment.desired.standby = before.standby;
        } else {
            environment.desired = before;
        }
    }
    Ok(())
}
