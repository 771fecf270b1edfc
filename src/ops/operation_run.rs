//! `operation run`: carries an operation out, step by step, under a lease of its own.
//!
//! Each step is durable before its call and after it. Killed anywhere, the same line again takes a
//! newer lease, makes sure that the older one can change nothing any more, and goes on.

use super::error::OpError;
use super::ids::mint;
use super::placing::{Placed, not_found};
use super::relocating::{call_guarded, end_left, is_gone};
use super::session::Session;
use super::sight::{in_flight_of, services_of};
use super::wait::{pause, refuse_after_signal};
use crate::actuator::calls::{self, PreparedCall};
use crate::actuator::host::Deadline;
use crate::actuator::process::ChildSpec;
use crate::crash::{self, CrashPoint};
use crate::domain::id::{CallId, FenceToken, OperationId};
use crate::domain::placement::command::Command;
use crate::domain::placement::operation::{
    Course, LEASE_TTL_DEFAULT, Operation, OperationLease, Step,
};
use crate::domain::placement::protocol::Call;
use crate::domain::placement::protocol::Order;
use crate::domain::placement::registry::RegisteredRelocator;
use crate::domain::time::DurationMs;

/// How often one run tries a step that may succeed later.
const TRIES_PER_RUN: u64 = 3;
/// How long it waits before it tries again; twice as long each time.
const PAUSE: DurationMs = DurationMs::from_secs(1);

/// What is told while an operation is carried out.
pub enum Told<'t> {
    /// A step begins, or has been begun again.
    Begins(&'t Operation, Step),
    /// What the relocator says of it.
    Says(&'t str),
    /// A step did not come to its end.
    Failed(&'t Operation, Step),
}

/// Carries an operation out as far as it goes. `supersede` takes it from a worker that lives.
pub fn operation_run(
    session: &mut Session,
    id: &OperationId,
    supersede: bool,
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<Operation, OpError> {
    let (state, operation) = session.operation(id)?;
    if operation.course.is_over() {
        return Ok(operation);
    }
    let environment = state.environments.get(&operation.environment);
    let environment =
        environment.ok_or_else(|| not_found("environment", &operation.environment))?;
    let name = environment.relocator.as_ref();
    let relocator = name.and_then(|name| state.relocators.get(name)).cloned();
    let relocator = relocator.ok_or_else(|| not_found("relocator", &operation.environment))?;
    // A host that cannot go on takes no lease.
    let spec = session.bound_relocator(&relocator.name)?;
    let lease = take(session, &operation, supersede)?;
    let mut worker = Worker { id: id.clone(), lease, spec, relocator, tell };
    let done = worker.work(session);
    let released = worker.release(session);
    let operation = done?;
    released?;
    Ok(operation)
}

/// Takes the lease of an operation. A worker that is known to be gone is not waited for.
fn take(
    session: &mut Session,
    operation: &Operation,
    supersede: bool,
) -> Result<OperationLease, OpError> {
    let gone = operation.lease.as_ref().is_some_and(|lease| is_gone(session, lease));
    if let Some(started) = operation.started.as_ref().filter(|_| gone || supersede) {
        end_left(session, &started.call_id);
    }
    let seen = operation.lease.as_ref().map(|lease| lease.token);
    // Only whoever was looked at: somebody else may have come meanwhile.
    acquire(session, &operation.operation_id, |now| supersede || (gone && now == seen))
}

/// Another lease of an operation; `supersedes` says whether it takes the place of the one that
/// holds now.
fn acquire(
    session: &mut Session,
    id: &OperationId,
    supersedes: impl FnOnce(Option<FenceToken>) -> bool,
) -> Result<OperationLease, OpError> {
    let (lease_instance_id, holder) = (mint("lease-")?, session.place.holder());
    let placed = session.place(std::slice::from_ref(id), None, |state, _| {
        let now = state.operations.get(id).and_then(|it| it.lease.as_ref()).map(|it| it.token);
        Ok(Command::AcquireLease {
            operation_id: id.clone(),
            lease_instance_id,
            holder,
            ttl: LEASE_TTL_DEFAULT,
            supersede: supersedes(now),
        })
    })?;
    let lease = placed.operation().and_then(|operation| operation.lease.clone());
    lease.ok_or_else(|| not_found("operation", id).into())
}

struct Worker<'w> {
    id: OperationId,
    lease: OperationLease,
    spec: ChildSpec,
    relocator: RegisteredRelocator,
    tell: &'w mut dyn FnMut(Told<'_>),
}

impl Worker<'_> {
    const fn token(&self) -> FenceToken {
        self.lease.token
    }

    fn transition(&self, session: &mut Session, command: Command) -> Result<Placed, OpError> {
        session.place(std::slice::from_ref(&self.id), None, |_, _| Ok(command))
    }

    fn work(&mut self, session: &mut Session) -> Result<Operation, OpError> {
        let mut failed: u64 = 0;
        loop {
            refuse_after_signal()?;
            let (_, operation) = session.operation(&self.id)?;
            let Some(step) = operation.next_step() else { return Ok(operation) };
            if matches!(operation.course, Course::Stuck) || operation.course.is_over() {
                return Ok(operation);
            }
            (self.tell)(Told::Begins(&operation, step));
            if step.is_of_ledger() {
                self.commit(session, &operation)?;
                continue;
            }
            let after = self.step(session, &operation, step)?;
            if after.unsure == Some(self.token()) && !after.course.is_over() {
                self.lease_anew(session)?;
            }
            let is_done = after.done.len() > operation.done.len();
            if is_done || after.course != operation.course || after.tries == 0 {
                continue;
            }
            (self.tell)(Told::Failed(&after, step));
            // Of this run, since it came further last.
            failed = after.tries.min(failed + 1);
            if failed >= TRIES_PER_RUN {
                return Ok(after);
            }
            let wait = DurationMs::from_millis(PAUSE.as_millis() << (failed - 1));
            pause(wait, Deadline::after(wait))?;
        }
    }

    fn commit(&mut self, session: &mut Session, operation: &Operation) -> Result<(), OpError> {
        self.keep(session)?;
        let (operation_id, token) = (self.id.clone(), self.token());
        let placed = session.place(std::slice::from_ref(&self.id), None, |_, txn| {
            // Under the locks: nobody joins the environment any more before this is decided.
            let services = services_of(txn, &operation.environment)?;
            Ok(Command::Commit { operation_id, token, services })
        });
        placed.map(drop)
    }

    /// The lease must outlast what comes next: it is renewed once half of it is over.
    fn keep(&mut self, session: &mut Session) -> Result<(), OpError> {
        let half = DurationMs::from_millis(LEASE_TTL_DEFAULT.as_millis() / 2);
        if self.lease.expires_at.since(session.now()) > half {
            return Ok(());
        }
        let (operation_id, token) = (self.id.clone(), self.token());
        let command = Command::RenewLease { operation_id, token, ttl: LEASE_TTL_DEFAULT };
        let placed = self.transition(session, command)?;
        self.note(placed.operation());
        Ok(())
    }

    /// Another lease after a call of which nobody knows the end: whatever is left of it can change
    /// nothing once the next call is made.
    fn lease_anew(&mut self, session: &mut Session) -> Result<(), OpError> {
        let mine = self.token();
        self.lease = acquire(session, &self.id, |now| now == Some(mine))?;
        Ok(())
    }

    /// The lease as the ledger has it now.
    fn note(&mut self, operation: Option<&Operation>) {
        let token = self.token();
        let lease = operation.and_then(|it| it.lease.as_ref()).filter(|it| it.token == token);
        if let Some(lease) = lease {
            self.lease = lease.clone();
        }
    }

    fn call_of(&self, operation: &Operation, call_id: CallId, order: Order) -> Call {
        Call {
            call_id,
            deadline_ms: self.relocator.timeout_ms,
            environment: operation.environment.clone(),
            operation: self.id.clone(),
            token: self.token(),
            epoch: operation.epoch(),
            order,
        }
    }

    fn step(
        &mut self,
        session: &mut Session,
        operation: &Operation,
        step: Step,
    ) -> Result<Operation, OpError> {
        self.keep(session)?;
        let call_id: CallId = mint("call-")?;
        let dir = session.place.calls_dir();
        let prepared = PreparedCall::create(&dir, &call_id)?;
        crash::hit(CrashPoint::AfterCallFile);
        let order = operation.order(step).ok_or_else(|| OpError::Internal {
            what: format!("operation {} has no order for {}", self.id, step.as_str()),
        })?;
        let now = session.now();
        let started = session.place(std::slice::from_ref(&self.id), None, |_, txn| {
            Ok(Command::StartStep {
                operation_id: self.id.clone(),
                token: self.token(),
                call_id: call_id.clone(),
                // Under the locks: once the drain is recorded nothing of its services starts.
                in_flight: in_flight_of(txn, &operation.environment, now)?,
            })
        });
        let started = match started {
            Ok(started) => started,
            Err(error) => {
                drop(prepared);
                let _ = calls::remove_call(&dir, &call_id);
                return Err(error);
            }
        };
        let Some(committed) = started.committed else {
            return Err(OpError::Internal { what: "a step was started twice".to_owned() });
        };
        let call = self.call_of(operation, call_id.clone(), order);
        let tell = &mut self.tell;
        let called = call_guarded(
            session,
            committed,
            prepared,
            (&self.spec, &self.relocator),
            call,
            &self.lease,
            &mut |line| tell(Told::Says(line)),
        );
        crash::hit(CrashPoint::AfterAnswer);
        let (operation_id, token, end) = (self.id.clone(), self.token(), called.end);
        let end = Command::EndStep { operation_id, token, step, end };
        let ended = self.transition(session, end)?;
        self.note(ended.operation());
        let _ = calls::remove_call(&dir, &call_id);
        if let Some(signal) = called.signal {
            self.release(session)?;
            return Err(OpError::Interrupted { signal, key: None });
        }
        let operation = ended.operation().cloned();
        operation.ok_or_else(|| not_found("operation", &self.id).into())
    }

    /// Nobody needs to wait for this worker any more.
    fn release(&self, session: &mut Session) -> Result<(), OpError> {
        if session.is_poisoned() {
            return Ok(());
        }
        let (operation_id, token) = (self.id.clone(), self.token());
        self.transition(session, Command::ReleaseLease { operation_id, token }).map(drop)
    }
}
