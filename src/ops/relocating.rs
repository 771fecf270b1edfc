//! Calls of a relocator on this host: asked what it sees, or told to do one step under a guard.
//! The shared step of `relocator`, `placement` and `operation`.
//!
//! A step is durable before its call is made: [`call_guarded`] takes the proof of that commit by
//! value. After a crash the same step again, under a newer lease, comes to the same end: what is
//! done answers by its receipt, and an older call can change nothing any more.

use std::ffi::OsString;
use std::time::Duration;

use super::ask::{exit_of, stderr_text};
use super::error::{OpError, RelocatorFault};
use super::session::Session;
use crate::actuator::bindings::{self, Binding, BundledPin};
use crate::actuator::calls::{self, CallProof, PreparedCall};
use crate::actuator::error::{BindingError, CallError, SpawnError};
use crate::actuator::guarded::run_guarded;
use crate::actuator::host::{Deadline, Whereabouts, has_lived_since, whereabouts};
use crate::actuator::process::{
    self, Captured, ChildEnd, ChildSpec, Limits, Tick, Unwatched, Watch,
};
use crate::actuator::protocol::Exit;
use crate::domain::id::{ActuatorName, FenceToken, OperationId, RelocatorName};
use crate::domain::placement::command::{Command, StepEnd};
use crate::domain::placement::operation::{LEASE_TTL_DEFAULT, OperationLease};
use crate::domain::placement::protocol::{
    AnswerError, BUNDLED_VERSION, Call, Described, PROTOCOL, Receipt, Reply, Request, read_reply,
};
use crate::domain::placement::registry::RegisteredRelocator;
use crate::domain::placement::rejection::PlacementRejection;
use crate::domain::scale::result::Detail;
use crate::domain::time::{DurationMs, Timestamp};
use crate::ledger::Committed;

/// How long a relocator may take to describe itself.
const DESCRIBE_TIMEOUT: DurationMs = DurationMs::from_secs(10);
/// How long it may take to look at a copy.
pub(super) const LOOK_TIMEOUT: DurationMs = DurationMs::from_secs(120);
/// How long to wait before a lease is renewed again that could not be.
const RENEW_PAUSE: DurationMs = DurationMs::from_millis(500);

/// What a relocator of this binary is.
pub(super) fn bundled_pin() -> BundledPin {
    let (protocol, adapter_version) = (PROTOCOL.to_owned(), BUNDLED_VERSION.to_owned());
    BundledPin { protocol, adapter_version }
}

/// What a relocator may see of the environment: enough to be started at all.
fn environment() -> Vec<String> {
    ["HOME", "PATH", "LANG", "TMPDIR"].map(str::to_owned).to_vec()
}

/// The name under which its command is bound.
pub(super) fn bound_as(name: &RelocatorName) -> Result<ActuatorName, OpError> {
    name.as_str().parse().map_err(|error| OpError::Internal {
        what: format!("relocator {name} cannot be bound: {error}"),
    })
}

impl Session {
    /// A bound command with just the environment that it may see.
    pub(super) fn relocator_spec(&self, binding: &Binding) -> Result<ChildSpec, OpError> {
        let source = |name: &str| self.place.environment.get(&OsString::from(name)).cloned();
        let env = bindings::resolve_env(&environment(), &source);
        Ok(binding.child(&self.place.own_exe, &bundled_pin(), env)?)
    }

    /// The command that serves a relocator on this host.
    pub(super) fn bound_relocator(&self, name: &RelocatorName) -> Result<ChildSpec, OpError> {
        let ledger_id = &self.ledger.identity().ledger_id;
        let file = self.place.relocators_file();
        let binding = match bindings::find(&file, ledger_id, &bound_as(name)?) {
            Ok(binding) => binding,
            Err(BindingError::Unbound { .. }) => {
                return Err(RelocatorFault::Unbound { relocator: name.clone() }.into());
            }
            Err(error) => return Err(error.into()),
        };
        self.relocator_spec(&binding)
    }

    /// The words of the command that serves a relocator on this host; none where there is none.
    pub fn relocator_words(&self, name: &RelocatorName) -> Option<Vec<String>> {
        let ledger_id = &self.ledger.identity().ledger_id;
        let name = bound_as(name).ok()?;
        let found = bindings::find(&self.place.relocators_file(), ledger_id, &name).ok();
        found.map(|binding| binding.words())
    }
}

/// Asks a relocator what changes nothing.
pub(super) fn ask(
    spec: &ChildSpec,
    name: &RelocatorName,
    request: &Request,
    timeout: DurationMs,
) -> Result<Reply, OpError> {
    let op = request.op();
    let fault = |problem: String, stderr: String| -> OpError {
        RelocatorFault::Failed { relocator: name.clone(), op, problem, stderr }.into()
    };
    let input = request.to_json();
    let captured = process::run(spec, input.as_bytes(), &Limits::within(timeout), &mut Unwatched)
        .map_err(|error| match error {
        SpawnError::Interrupted { signal, .. } => OpError::Interrupted { signal, key: None },
        error => fault(error.to_string(), String::new()),
    })?;
    match captured.end {
        ChildEnd::Interrupted(signal) => Err(OpError::Interrupted { signal, key: None }),
        ChildEnd::TimedOut => Err(fault(format!("no answer within {timeout}"), String::new())),
        ChildEnd::Exited(_) | ChildEnd::Signalled(_) | ChildEnd::Stopped => {
            read_reply(&captured.stdout, op)
                .map_err(|error| fault(said(&error, &captured), stderr_text(&captured)))
        }
    }
}

fn said(error: &AnswerError, captured: &Captured) -> String {
    match exit_of(captured) {
        Exit::Code(0) => error.to_string(),
        Exit::Code(code) => format!("{error}; it ended with {code}"),
        Exit::Signal(signal) => format!("{error}; signal {signal} ended it"),
        Exit::TimedOut => format!("{error}; it was not done in time"),
    }
}

/// Who a command says that it is.
pub(super) fn describe(spec: &ChildSpec, name: &RelocatorName) -> Result<Described, OpError> {
    match ask(spec, name, &Request::Describe, DESCRIBE_TIMEOUT)? {
        Reply::Done(receipt) => match *receipt {
            Receipt::Describe(described) => Ok(described),
            other => Err(not_described(name, format!("it answered {}", other.op()))),
        },
        Reply::Refused(error) => Err(not_described(name, error.message)),
    }
}

fn not_described(name: &RelocatorName, problem: String) -> OpError {
    let (relocator, stderr) = (name.clone(), String::new());
    RelocatorFault::Failed { relocator, op: "describe", problem, stderr }.into()
}

/// What became of the call of a step.
pub(super) struct Called {
    /// For the ledger.
    pub(super) end: StepEnd,
    /// The signal that asked this process to end meanwhile.
    pub(super) signal: Option<i32>,
}

/// Makes the call of a step. Takes the proof that the step is durable.
pub(super) fn call_guarded(
    session: &mut Session,
    committed: Committed,
    prepared: PreparedCall,
    (spec, relocator): (&ChildSpec, &RegisteredRelocator),
    call: Call,
    lease: &OperationLease,
    hear: &mut dyn FnMut(&str),
) -> Called {
    // The proof has done its work once the child may be spawned.
    drop(committed);
    let own_exe = session.place.own_exe.clone();
    let op = call.order.op();
    let limits = Limits::until(Deadline::after(relocator.timeout_ms));
    let mut watch = LeaseWatch::new(session, &call.operation, lease, hear);
    let input = Request::Call(Box::new(call)).to_json();
    let called = run_guarded(prepared, &own_exe, spec, input.as_bytes(), &limits, &mut watch);
    let given_up = watch.given_up.take();
    let lost = |why: &str| StepEnd::Lost(Detail::cut(why));
    match called {
        Ok(guarded) => {
            let captured = &guarded.captured;
            let signal = match captured.end {
                ChildEnd::Interrupted(signal) => Some(signal),
                ChildEnd::Exited(_)
                | ChildEnd::Signalled(_)
                | ChildEnd::TimedOut
                | ChildEnd::Stopped => None,
            };
            let end = match (&guarded.proof, given_up) {
                (_, Some(why)) => lost(&why),
                (Ok(CallProof::Ended { .. }), None) => end_of(captured, op),
                (Ok(CallProof::Alive | CallProof::NoFile), None) => {
                    lost("its processes may still be alive")
                }
                (Err(error), None) => lost(&format!("its end could not be proved: {error}")),
            };
            Called { end, signal }
        }
        Err(CallError::NotStarted { reason, .. }) => {
            let signal = crate::actuator::signals::installed()
                .and_then(crate::actuator::signals::Signals::first);
            Called { end: lost(&format!("it was not started: {reason}")), signal }
        }
        Err(error) => Called { end: lost(&error.to_string()), signal: None },
    }
}

/// A valid typed answer is the result, whatever ended the child afterwards; all else is lost.
fn end_of(captured: &Captured, op: &'static str) -> StepEnd {
    if captured.stdout_dropped > 0 {
        return StepEnd::Lost(Detail::cut("the answer is too long"));
    }
    match read_reply(&captured.stdout, op) {
        Ok(Reply::Done(receipt)) => StepEnd::Done(receipt),
        Ok(Reply::Refused(error)) => StepEnd::Refused(error),
        Err(error) => {
            let stderr = stderr_text(captured);
            let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
            let last = last.map_or_else(String::new, |line| format!("; it wrote {line:?}"));
            StepEnd::Lost(Detail::cut(&format!("{}{last}", said(&error, captured))))
        }
    }
}

/// Renews the lease at a third of its time, and ends the call if somebody else has taken over.
struct LeaseWatch<'s> {
    session: &'s mut Session,
    operation_id: OperationId,
    token: FenceToken,
    next_at: Timestamp,
    given_up: Option<String>,
    hear: &'s mut dyn FnMut(&str),
    line: Vec<u8>,
}

impl<'s> LeaseWatch<'s> {
    fn new(
        session: &'s mut Session,
        operation_id: &OperationId,
        lease: &OperationLease,
        hear: &'s mut dyn FnMut(&str),
    ) -> Self {
        let next_at = session.now().plus(third());
        Self {
            operation_id: operation_id.clone(),
            token: lease.token,
            next_at,
            given_up: None,
            session,
            hear,
            line: Vec::new(),
        }
    }
}

fn third() -> DurationMs {
    DurationMs::from_millis(LEASE_TTL_DEFAULT.as_millis() / 3)
}

impl Watch for LeaseWatch<'_> {
    fn tick(&mut self) -> Tick {
        let (operation_id, token) = (self.operation_id.clone(), self.token);
        let command = Command::RenewLease { operation_id, token, ttl: LEASE_TTL_DEFAULT };
        let named = std::slice::from_ref(&self.operation_id);
        let renewed = self.session.place(named, None, |_, _| Ok(command));
        let now = self.session.now();
        match renewed {
            Ok(_) => {
                self.next_at = now.plus(third());
                Tick::Continue
            }
            Err(OpError::Placement(rejection))
                if matches!(*rejection, PlacementRejection::LeaseLost { .. }) =>
            {
                self.given_up = Some(format!("ended by us: {rejection}"));
                Tick::End
            }
            // The relocator compares tokens itself: a worker that nobody has superseded goes on.
            Err(_) => {
                self.next_at = now.plus(RENEW_PAUSE);
                Tick::Continue
            }
        }
    }

    fn next_tick(&self) -> Option<Duration> {
        Some(self.next_at.since(self.session.now()).to_std())
    }

    fn heard(&mut self, stderr: &[u8]) {
        for byte in stderr {
            if matches!(byte, b'\n' | b'\r') {
                let line = String::from_utf8_lossy(&self.line).trim().to_owned();
                self.line.clear();
                if !line.is_empty() {
                    (self.hear)(&line);
                }
            } else if self.line.len() < 1000 {
                self.line.push(*byte);
            }
        }
    }
}

/// Whether whoever holds a lease is known to be gone: nobody needs to wait for its end.
pub(super) fn is_gone(session: &Session, lease: &OperationLease) -> bool {
    match whereabouts(&session.place.host_key, &lease.holder.host_key) {
        Whereabouts::Here => !has_lived_since(lease.holder.pid, u64::MAX),
        Whereabouts::DeadBoot => true,
        Whereabouts::Elsewhere => false,
    }
}

/// Ends what may be left of a call that was made on this host. What cannot be ended is harmless:
/// its token is over.
pub(super) fn end_left(session: &Session, call_id: &crate::domain::id::CallId) {
    let dir = session.place.calls_dir();
    if matches!(calls::prove_end(&dir, call_id), Ok(CallProof::Ended { .. })) {
        let _ = calls::remove_call(&dir, call_id);
    }
}
