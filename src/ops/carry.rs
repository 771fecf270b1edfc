//! Carrying out the next attempt of a key: read, gather, start, call, record. The shared step of
//! `actuate`, `replay` and `scale`.

use std::time::Duration;

use super::ask::Asker;
use super::call::{self, Made, Started};
use super::error::OpError;
use super::ids::mint;
use super::read::{READING_TRIES, overtaken};
use super::report::{Effect, Report};
use super::session::Session;
use crate::actuator::calls::PreparedCall;
use crate::actuator::host::Deadline;
use crate::actuator::signals;
use crate::crash::{self, CrashPoint};
use crate::domain::id::{CallId, ControllerId, ExecutionKey, LeaseInstanceId};
use crate::domain::scale::command::{CallEnd, CallPlan, Command, StartAttempt};
use crate::domain::scale::decide::{Reply, held_to_the_wish, is_partly_applied, waits_behind};
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::gates::external;
use crate::domain::scale::observation::{Evidence, Reading};
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::service::{Binding, RegisteredActuator};
use crate::domain::scale::state::ServiceState;
use crate::domain::time::DurationMs;
use crate::ledger::{Committed, LedgerError};

/// How long the recording of a result is tried while the ledger is busy or cannot be reached,
/// whatever the lock timeout.
const RECORD_PATIENCE: DurationMs = DurationMs::from_secs(30);
/// How long to wait between two such tries.
const RECORD_PAUSE: Duration = Duration::from_millis(50);

/// How an attempt is to be carried out.
#[derive(Debug, Clone, Default)]
pub struct CarryOptions {
    /// Who acts; the registered writer where none is named.
    pub controller: Option<ControllerId>,
    /// The lease that the caller holds.
    pub lease: Option<LeaseInstanceId>,
    /// How long a lease lasts.
    pub ttl: Option<DurationMs>,
    /// Whether a person vouches for what is not drained.
    pub attest_not_drained: bool,
    /// Whether it asks policy to pass the cooldown.
    pub override_cooldown: bool,
}

/// What was gathered right before a call.
pub(super) struct Gathered {
    pub(super) found: Option<Result<Reading, String>>,
    pub(super) evidence: Option<Evidence>,
}

/// A call that is about to be made.
pub(super) struct Planned {
    pub(super) controller: ControllerId,
    pub(super) call_id: CallId,
    pub(super) deadline: Deadline,
    pub(super) timeout: DurationMs,
}

impl Session {
    /// Who acts on a service: the named one, else the registered writer.
    pub(crate) fn controller(
        state: &ServiceState,
        named: Option<&ControllerId>,
    ) -> Result<ControllerId, OpError> {
        match (named, &state.head.registration) {
            (Some(named), _) => Ok(named.clone()),
            (None, Some(registration)) => Ok(registration.writer.clone()),
            (None, None) => Err(OpError::Internal { what: "an unregistered service".to_owned() }),
        }
    }

    /// Starts the next attempt of a key, makes the call and records what became of it.
    pub(crate) fn carry_out(
        &mut self,
        key: &ExecutionKey,
        options: &CarryOptions,
    ) -> Result<Report, OpError> {
        let (state, execution) = self.load(key)?;
        self.carry_out_loaded(&state, &execution, options)
    }

    /// The same for a key that was just loaded. What was gathered before somebody else has recorded
    /// something of the target is gathered again.
    pub(crate) fn carry_out_loaded(
        &mut self,
        state: &ServiceState,
        execution: &Execution,
        options: &CarryOptions,
    ) -> Result<Report, OpError> {
        if let Some(report) = self.try_to_carry_out(state, execution, options)? {
            return Ok(report);
        }
        for _ in 1..READING_TRIES {
            let (state, execution) = self.load(execution.key())?;
            if let Some(report) = self.try_to_carry_out(&state, &execution, options)? {
                return Ok(report);
            }
        }
        Err(overtaken(&execution.intent.service))
    }

    /// The command that starts an attempt, with all that was gathered for it.
    pub(super) fn start_of(
        &self,
        state: &ServiceState,
        key: &ExecutionKey,
        options: &CarryOptions,
        gathered: Gathered,
        planned: Planned,
    ) -> Result<StartAttempt, OpError> {
        Ok(StartAttempt {
            key: key.clone(),
            controller: planned.controller,
            lease: options.lease.clone(),
            ttl: options.ttl.unwrap_or(crate::domain::scale::lease::LEASE_TTL_DEFAULT),
            found: gathered.found,
            began_after_serial: state.head.reading_serial,
            evidence: gathered.evidence,
            attest_not_drained: options.attest_not_drained,
            override_cooldown: options.override_cooldown,
            call: CallPlan {
                call_id: planned.call_id,
                lease_instance_id: mint("lease:")?,
                holder: self.place.holder(),
                deadline_boot_ms: planned.deadline.boot_ms(),
                timeout: planned.timeout,
            },
        })
    }

    /// None where what was gathered is out of date.
    fn try_to_carry_out(
        &mut self,
        state: &ServiceState,
        execution: &Execution,
        options: &CarryOptions,
    ) -> Result<Option<Report>, OpError> {
        let key = execution.key();
        let is_over = execution.phase.is_finished()
            || matches!(execution.phase, Phase::Succeeded | Phase::Observed);
        if is_over && execution.is_live() {
            return Report::replay(self, key).map(Some);
        }
        let actuator = self.actuator_of(state)?.ok_or_else(|| no_actuator(state))?;
        let controller = Self::controller(state, options.controller.as_ref())?;
        self.refuse_early(state, execution, &controller)?;
        let asker = self.asker(&actuator)?;
        let gathered = self.gather(state, execution, &actuator, &asker)?;

        let call_id: CallId = mint("call-")?;
        let deadline = Deadline::after(actuator.timeout_ms);
        let timeout = actuator.timeout_ms;
        let planned = Planned { controller, call_id: call_id.clone(), deadline, timeout };
        let evidence = gathered.evidence.clone();
        let start = self.start_of(state, key, options, gathered, planned)?;
        let prepared = PreparedCall::create(&self.place.calls_dir(), &call_id)?;
        crash::hit(CrashPoint::AfterCallFile);
        let ttl = start.ttl;
        let service = execution.intent.service.clone();
        let started = self.transition(&service, std::slice::from_ref(key), |_, _| {
            Ok(Command::Start(Box::new(start)))
        });
        let started = match started {
            Ok(started) => started,
            Err(error) => {
                // An unknown commit may have recorded the call: its file proves that it never ran.
                if !matches!(error, OpError::Ledger(LedgerError::CommitUnknown { .. })) {
                    drop(prepared);
                    self.forget_call_id(&call_id);
                }
                return Err(error);
            }
        };
        let Some(committed) = started.committed else {
            drop(prepared);
            self.forget_call_id(&call_id);
            if started.reply == Reply::StaleReading {
                return Ok(None);
            }
            return Report::replay(self, key).map(Some);
        };
        let execution = started.state.executions.get(key).cloned().ok_or_else(|| {
            OpError::Internal { what: format!("{key} was started and is not there") }
        })?;
        let Phase::Started { call } = &execution.phase else {
            return Err(OpError::Internal {
                what: format!("{key} was started and is not started"),
            });
        };
        let started = Started {
            execution: &execution,
            call,
            evidence,
            timeout: actuator.timeout_ms,
            deadline,
            ttl,
        };
        self.call_and_record(committed, prepared, &asker, &started).map(Some)
    }

    /// Makes the call and records what became of it, whatever else asks this process to end.
    fn call_and_record(
        &mut self,
        committed: Committed,
        prepared: PreparedCall,
        asker: &Asker<'_>,
        started: &Started<'_>,
    ) -> Result<Report, OpError> {
        self.must_go_on(true);
        let made = call::make(self, committed, prepared, asker, started);
        let recorded = self.record_call(started.execution, &made);
        self.must_go_on(false);
        recorded
    }

    /// What can be refused before anybody is asked: the fresh gates look again.
    pub(super) fn refuse_early(
        &self,
        state: &ServiceState,
        execution: &Execution,
        controller: &ControllerId,
    ) -> Result<(), OpError> {
        if execution.intent.dry_run || !execution.is_live() {
            return Err(Rejection::SimulatedKey { key: execution.key().clone() }.into());
        }
        let Some(registration) = &state.head.registration else {
            return Ok(());
        };
        if registration.mode.record_mode().is_none() {
            return Err(external(registration).into());
        }
        if *controller != registration.writer {
            return Err(Rejection::NotWriter {
                service: registration.service.clone(),
                given: controller.clone(),
                writer: registration.writer.clone(),
            }
            .into());
        }
        if let Phase::Failed { retry_at } = &execution.phase
            && self.now() < *retry_at
        {
            if let Some(rejection) = waits_behind(state, execution) {
                return Err(rejection.into());
            }
            return Err(Rejection::RetryLater {
                service: registration.service.clone(),
                revision: execution.revision(),
                retry_at: *retry_at,
            }
            .into());
        }
        Ok(())
    }

    pub(super) fn gather(
        &mut self,
        state: &ServiceState,
        execution: &Execution,
        actuator: &RegisteredActuator,
        asker: &Asker<'_>,
    ) -> Result<Gathered, OpError> {
        let capabilities = actuator.capabilities;
        let target = &execution.intent.wish.target;
        let found = if capabilities.inspect {
            match self.reading_before_call(&execution.intent.service, asker, target) {
                Ok(reading) => Some(Ok(reading)),
                Err(OpError::Interrupted { signal, .. }) => {
                    return Err(OpError::Interrupted { signal, key: None });
                }
                Err(error) => Some(Err(error.to_string())),
            }
        } else {
            None
        };
        let current = match &found {
            Some(Ok(reading)) => Some(reading.replicas),
            Some(Err(_)) => None,
            None => state.head.binding.as_ref().and_then(Binding::known_replicas),
        };
        let registration = state.head.registration.as_ref();
        let is_reduction = current.is_none_or(|current| execution.desired() < current);
        let is_needed = registration.is_none_or(|it| it.needs_evidence(capabilities));
        if !(is_reduction && is_needed && capabilities.evidence) {
            return Ok(Gathered { found, evidence: None });
        }
        let evidence = match asker.evidence(target, current, execution.desired()) {
            Ok(evidence) => Some(evidence),
            Err(error @ OpError::Interrupted { .. }) => return Err(error),
            // The gate refuses where nothing else will do; a person's word may.
            Err(error) => {
                self.notice("evidence_failed", format!("no evidence could be gathered: {error}"));
                None
            }
        };
        Ok(Gathered { found, evidence })
    }

    /// Records what became of a call. What the actuator said must not be lost to a ledger that is
    /// busy or away: nothing of an earlier try is there, and the same end again is no other.
    fn record_call(&mut self, execution: &Execution, made: &Made) -> Result<Report, OpError> {
        let Phase::Started { call } = &execution.phase else {
            return Report::replay(self, execution.key());
        };
        let effect = effect_of(execution, &made.end);
        self.note_effect(effect);
        if !made.stderr.is_empty() {
            self.keep_stderr(call, &made.stderr);
        }
        let patience = Deadline::after(RECORD_PATIENCE);
        let report = loop {
            match self.end_call(execution, call, made.end.clone(), made.ended_at) {
                Err(OpError::Ledger(error)) if error.is_unavailable() && may_go_on(patience) => {
                    std::thread::sleep(RECORD_PAUSE);
                }
                // Whatever refuses it, the call was made.
                Err(source) => {
                    return Err(OpError::Unrecorded {
                        key: execution.key().clone(),
                        said: said(&made.end),
                        effect,
                        source: Box::new(source),
                    });
                }
                Ok(report) => break report,
            }
        };
        if made.ended_at.is_some() {
            self.forget_call(call);
        }
        if let Some(signal) = made.signal {
            return Err(OpError::Interrupted { signal, key: Some(execution.key().clone()) });
        }
        if report.reply == Reply::Late {
            self.notice("late_result", "the result came too late and is kept as evidence");
        }
        Ok(Report { effect, ..report })
    }

    fn forget_call_id(&mut self, call_id: &CallId) {
        let dir = self.place.calls_dir();
        if let Err(error) = crate::actuator::calls::remove_call(&dir, call_id) {
            self.notice("call_file_left", format!("a call's file was left behind: {error}"));
        }
    }
}

pub(super) fn no_actuator(state: &ServiceState) -> OpError {
    let Some(registration) = &state.head.registration else {
        return OpError::Internal { what: "an unregistered service has an intent".to_owned() };
    };
    if registration.mode.record_mode().is_none() {
        return external(registration).into();
    }
    match &registration.actuator {
        Some(name) => Rejection::NoSuchActuator { name: name.to_string() }.into(),
        None => Rejection::NotActuated { service: registration.service.clone() }.into(),
    }
}

/// What a call has done to the target by its end, before that is recorded.
fn effect_of(execution: &Execution, end: &CallEnd) -> Effect {
    match end {
        CallEnd::Answered { result, .. } => {
            let result = held_to_the_wish(execution, result);
            if result.scaled() {
                Effect::Applied
            } else if is_partly_applied(execution, &result) {
                Effect::Partial
            } else {
                Effect::None
            }
        }
        CallEnd::NotStarted { .. } => Effect::None,
        CallEnd::Unknown { .. } => Effect::Unknown,
    }
}

/// The first signal has ended the call; the second one ends this process.
fn may_go_on(patience: Deadline) -> bool {
    !patience.is_past() && signals::installed().is_none_or(|signals| signals.count() < 2)
}

fn said(end: &CallEnd) -> String {
    match end {
        CallEnd::Answered { result, .. } => format!("{:?}", result.state()).to_lowercase(),
        CallEnd::NotStarted { .. } => "not started".to_owned(),
        CallEnd::Unknown { why, .. } => why.as_str().to_owned(),
    }
}
