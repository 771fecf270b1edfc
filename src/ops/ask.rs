//! Asking an actuator on this host: everything but `apply`, which goes under a guard.

use std::ffi::OsString;

use super::clock::HostSkew;
use super::error::{ActuatorProblem, OpError};
use super::outwait::remaining;
use super::session::Session;
use crate::actuator::bindings::{self, BundledPin};
use crate::actuator::error::{BindingError, SpawnError};
use crate::actuator::host::Deadline;
use crate::actuator::process::{self, Captured, ChildEnd, ChildSpec, Limits, Unwatched};
use crate::actuator::protocol::{
    self, AnswerError, DiscoverRequest, Discovery, EvidenceRequest, Exit, FenceRequest,
    InspectRequest, Inspection, LedgerIdentity, LookupReply, LookupRequest, PartialTarget, Request,
};
use crate::domain::id::{ActuatorName, AttemptNumber, Replicas, RuntimeId};
use crate::domain::scale::attempt::Call;
use crate::domain::scale::execution::Execution;
use crate::domain::scale::intent::TargetBinding;
use crate::domain::scale::observation::{Evidence, Reading};
use crate::domain::scale::owners::Owners;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::service::{CLOCK_SKEW_MAX, RegisteredActuator};
use crate::domain::time::{DurationMs, Timestamp};

/// How long an actuator may take to describe itself.
const DESCRIBE_TIMEOUT: DurationMs = DurationMs::from_secs(10);

/// How long a reading may take whose caller has no time left: what follows a call is read once.
const READ_TIMEOUT_MIN: DurationMs = DurationMs::from_secs(5);

/// Ways to ask the actuator of a service.
pub(crate) struct Asker<'s> {
    actuator: &'s RegisteredActuator,
    spec: ChildSpec,
    ledger: LedgerIdentity,
    skew: HostSkew,
    /// Until when whoever asks has time for an answer.
    until: Option<Deadline>,
}

impl Session {
    /// The identity that requests carry.
    pub(crate) fn wire_identity(&self) -> LedgerIdentity {
        let identity = self.ledger.identity();
        LedgerIdentity { id: identity.ledger_id.clone(), incarnation: identity.incarnation }
    }

    /// The command that serves an actuator on this host, with just the environment that it named.
    pub(crate) fn bound_command(
        &self,
        actuator: &RegisteredActuator,
    ) -> Result<ChildSpec, OpError> {
        let ledger_id = &self.ledger.identity().ledger_id;
        let binding = bindings::find(&self.place.bindings_file(), ledger_id, &actuator.name)?;
        self.child_spec(&binding, &actuator.environment).map_err(|error| match error {
            OpError::Binding(
                source @ (BindingError::ActuatorChanged { .. }
                | BindingError::BundledChanged { .. }),
            ) => OpError::ActuatorChanged {
                actuator: actuator.name.clone(),
                words: binding.words(),
                source,
            },
            error => error,
        })
    }

    /// Whether an actuator has a command on this host.
    pub fn is_bound_here(&self, name: &ActuatorName) -> bool {
        let ledger_id = &self.ledger.identity().ledger_id;
        bindings::find(&self.place.bindings_file(), ledger_id, name).is_ok()
    }

    /// The words of the command that serves an actuator on this host; none where there is none.
    pub fn bound_words(&self, name: &ActuatorName) -> Option<Vec<String>> {
        let ledger_id = &self.ledger.identity().ledger_id;
        let found = bindings::find(&self.place.bindings_file(), ledger_id, name).ok();
        found.map(|binding| binding.words())
    }

    /// A bound command with just the environment that the actuator named.
    pub(crate) fn child_spec(
        &self,
        binding: &bindings::Binding,
        environment: &[String],
    ) -> Result<ChildSpec, OpError> {
        let source = |name: &str| self.place.environment.get(&OsString::from(name)).cloned();
        let env = bindings::resolve_env(environment, &source);
        Ok(binding.child(&self.place.own_exe, &bundled_pin(), env)?)
    }

    /// Ways to ask an actuator.
    pub(crate) fn asker<'s>(&self, actuator: &'s RegisteredActuator) -> Result<Asker<'s>, OpError> {
        Ok(self.asker_with(actuator, self.bound_command(actuator)?))
    }

    /// Ways to ask an actuator by a command that may not be bound yet.
    pub(crate) fn asker_by<'s>(
        &self,
        actuator: &'s RegisteredActuator,
        binding: &bindings::Binding,
    ) -> Result<Asker<'s>, OpError> {
        Ok(self.asker_with(actuator, self.child_spec(binding, &actuator.environment)?))
    }

    fn asker_with<'s>(&self, actuator: &'s RegisteredActuator, spec: ChildSpec) -> Asker<'s> {
        let (ledger, skew) = (self.wire_identity(), self.clock.skew());
        Asker { actuator, spec, ledger, skew, until: self.waits_until() }
    }

    /// Whether the command that is bound on this host has the same words.
    pub(crate) fn is_bound_alike(&self, name: &ActuatorName, binding: &bindings::Binding) -> bool {
        let ledger_id = &self.ledger.identity().ledger_id;
        bindings::find(&self.place.bindings_file(), ledger_id, name)
            .is_ok_and(|bound| bound.has_words_of(binding))
    }

    /// The registered actuator of that name.
    pub(crate) fn actuator(&mut self, name: &ActuatorName) -> Result<RegisteredActuator, OpError> {
        let found = self.ledger.read()?.actuator(name)?;
        found.ok_or_else(|| Rejection::NoSuchActuator { name: name.to_string() }.into())
    }
}

/// What a bundled actuator of this binary is.
pub(crate) fn bundled_pin() -> BundledPin {
    BundledPin {
        protocol: protocol::PROTOCOL.to_owned(),
        adapter_version: protocol::BUNDLED_VERSION.to_owned(),
    }
}

/// What a finished child's answer is read from.
pub(crate) fn exit_of(captured: &Captured) -> Exit {
    match captured.end {
        ChildEnd::Exited(code) => Exit::Code(code),
        ChildEnd::Signalled(signal) | ChildEnd::Interrupted(signal) => Exit::Signal(signal),
        ChildEnd::TimedOut | ChildEnd::Stopped => Exit::TimedOut,
    }
}

/// The beginning of what a child wrote for people.
pub(crate) fn stderr_text(captured: &Captured) -> String {
    let mut text = String::from_utf8_lossy(&captured.stderr).into_owned();
    if captured.stderr_dropped > 0 {
        text.extend(["… (", &captured.stderr_dropped.to_string(), " more bytes)"]);
    }
    text
}

/// Runs `describe` of a command that is not registered yet.
pub(crate) fn describe(
    spec: &ChildSpec,
    name: &ActuatorName,
) -> Result<protocol::Description, OpError> {
    let request = Request::Describe;
    let captured = run(spec, name, &request, DESCRIBE_TIMEOUT)?;
    protocol::read_describe(&captured.stdout, exit_of(&captured))
        .map_err(|error| problem(name, &request, error, &captured))
}

fn run(
    spec: &ChildSpec,
    name: &ActuatorName,
    request: &Request,
    timeout: DurationMs,
) -> Result<Captured, OpError> {
    let fault = |problem| OpError::Actuator {
        actuator: name.clone(),
        op: request.op(),
        problem,
        stderr: String::new(),
    };
    let input = request.to_json();
    let captured = process::run(spec, input.as_bytes(), &Limits::within(timeout), &mut Unwatched)
        .map_err(|error| match error {
        SpawnError::Interrupted { signal, .. } => OpError::Interrupted { signal, key: None },
        error => fault(error.into()),
    })?;
    match captured.end {
        ChildEnd::Interrupted(signal) => Err(OpError::Interrupted { signal, key: None }),
        ChildEnd::TimedOut => Err(fault(ActuatorProblem::TimedOut(timeout))),
        ChildEnd::Exited(_) | ChildEnd::Signalled(_) | ChildEnd::Stopped => Ok(captured),
    }
}

fn problem(
    name: &ActuatorName,
    request: &Request,
    error: AnswerError,
    captured: &Captured,
) -> OpError {
    OpError::Actuator {
        actuator: name.clone(),
        op: request.op(),
        problem: error.into(),
        stderr: stderr_text(captured),
    }
}

impl Asker<'_> {
    /// The command, for a guarded call.
    pub(crate) const fn spec(&self) -> &ChildSpec {
        &self.spec
    }

    /// Asks what changes nothing, in the time that is left.
    fn ask<T>(
        &self,
        request: &Request,
        read: impl FnOnce(&[u8], Exit) -> Result<T, AnswerError>,
    ) -> Result<T, OpError> {
        let timeout = self.actuator.timeout_ms;
        let timeout = match self.until {
            Some(until) => timeout.min(remaining(until).max(READ_TIMEOUT_MIN)),
            None => timeout,
        };
        self.ask_within(timeout, request, read)
    }

    fn ask_within<T>(
        &self,
        timeout: DurationMs,
        request: &Request,
        read: impl FnOnce(&[u8], Exit) -> Result<T, AnswerError>,
    ) -> Result<T, OpError> {
        let name = &self.actuator.name;
        let captured = run(&self.spec, name, request, timeout)?;
        read(&captured.stdout, exit_of(&captured))
            .map_err(|error| problem(name, request, error, &captured))
    }

    /// Reads the target. The answer must be about the place that was asked for.
    pub(crate) fn inspect(&self, target: &PartialTarget) -> Result<Inspection, OpError> {
        let request = Request::Inspect(InspectRequest { target: target.clone() });
        self.ask(&request, |bytes, exit| protocol::read_inspect(bytes, target, exit))
    }

    /// Reads the target as it is now: `began_at` is the ledger's clock right before. What was read
    /// long before says nothing of a call that has ended since. That is told by the host's clock,
    /// which the child has too, however wrong it is; the answer is by the ledger's.
    pub(crate) fn inspect_now(
        &self,
        target: &PartialTarget,
        began_at: Timestamp,
    ) -> Result<Inspection, OpError> {
        let found = self.inspect(target)?;
        let read_at = self.dated("inspect", found.read_at, began_at)?;
        Ok(Inspection { read_at, ..found })
    }

    /// When something was read, by the ledger's clock, if that is of now.
    fn dated(
        &self,
        op: &'static str,
        read_at: Timestamp,
        began_at: Timestamp,
    ) -> Result<Timestamp, OpError> {
        let began_at = self.skew.on_host(began_at);
        let latest = began_at.plus(self.actuator.timeout_ms).plus(CLOCK_SKEW_MAX);
        if read_at < began_at.minus(CLOCK_SKEW_MAX) || read_at > latest {
            return Err(OpError::Actuator {
                actuator: self.actuator.name.clone(),
                op,
                problem: ActuatorProblem::Misdated { read_at, began_at },
                stderr: String::new(),
            });
        }
        Ok(self.skew.on_ledger(read_at))
    }

    /// Asks what could be scaled, everywhere or in one runtime.
    pub(crate) fn discover(
        &self,
        runtime_id: Option<&RuntimeId>,
        began_at: Timestamp,
    ) -> Result<Discovery, OpError> {
        let asked = DiscoverRequest {
            ledger: Some(self.ledger.clone()),
            cluster_id: None,
            runtime_id: runtime_id.cloned(),
        };
        let request = Request::Discover(asked.clone());
        let found =
            self.ask(&request, |bytes, exit| protocol::read_discovery(bytes, &asked, exit))?;
        let read_at = self.dated("discover", found.read_at, began_at)?;
        Ok(Discovery { read_at, ..found })
    }

    /// Reads the target as a reading.
    pub(crate) fn reading(
        &self,
        target: &TargetBinding,
        began_at: Timestamp,
    ) -> Result<Reading, OpError> {
        Ok(reading_of(self.inspect_now(&PartialTarget::from(target), began_at)?, began_at))
    }

    /// Asks what became of a call and all calls of its key before it.
    pub(crate) fn lookup(
        &self,
        execution: &Execution,
        call: &Call,
    ) -> Result<LookupReply, OpError> {
        let target = execution.intent.wish.target.clone();
        let fence = execution.fence().ok_or_else(|| OpError::Internal {
            what: format!("{} was called without a fence", execution.key()),
        })?;
        let request = Request::Lookup(Box::new(LookupRequest {
            ledger: Some(self.ledger.clone()),
            execution_key: execution.key().clone(),
            target: target.clone(),
            epoch: fence.lease_epoch,
            token: fence.fence_token,
            attempt: call.attempt,
        }));
        self.ask(&request, |bytes, exit| {
            protocol::read_lookup(bytes, execution.key(), &target, exit)
        })
    }

    /// Makes every call up to this one harmless, if the target can promise that.
    pub(crate) fn fence(&self, execution: &Execution, call: &Call) -> Result<bool, OpError> {
        let target = execution.intent.wish.target.clone();
        let fence = execution.fence().ok_or_else(|| OpError::Internal {
            what: format!("{} was called without a fence", execution.key()),
        })?;
        let above = call.attempt.next().unwrap_or(AttemptNumber::MAX);
        let request = Request::Fence(Box::new(FenceRequest {
            ledger: Some(self.ledger.clone()),
            target: target.clone(),
            epoch: fence.lease_epoch,
            token: fence.fence_token,
            attempt: above,
        }));
        let whole = self.actuator.timeout_ms;
        let reply = self.ask_within(whole, &request, |bytes, exit| {
            protocol::read_fence(bytes, &target, exit)
        })?;
        Ok(reply.fenced)
    }

    /// Gathers evidence for a reduction.
    pub(crate) fn evidence(
        &self,
        target: &TargetBinding,
        current: Option<Replicas>,
        desired: Replicas,
    ) -> Result<Evidence, OpError> {
        let request = Request::Evidence(Box::new(EvidenceRequest {
            target: target.clone(),
            current,
            desired,
        }));
        let found = self.ask(&request, protocol::read_evidence)?;
        Ok(Evidence { read_at: self.skew.on_ledger(found.read_at), ..found })
    }
}

/// An inspection as a reading.
pub(crate) fn reading_of(found: Inspection, began_at: Timestamp) -> Reading {
    Reading {
        began_at,
        read_at: found.read_at,
        target_uid: found.target.target_uid,
        target_resource_version: found.target.target_resource_version,
        generation: found.generation,
        replicas: found.replicas,
        ready_replicas: found.ready_replicas,
    }
}

/// Who else drives the count, as it was read.
pub(crate) fn owners_of(found: &Inspection) -> Owners {
    Owners {
        drive: found.owners.clone(),
        take_away: found.take_away.clone(),
        unread: found.owners_unread.clone(),
        managers: found.managers.clone(),
    }
}
