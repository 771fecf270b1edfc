//! Finding out whether a started call has ended, and recording it once it has.

use super::error::OpError;
use super::report::Report;
use super::session::Session;
use crate::actuator::calls::{self, CallEnd as ProvedEnd, CallProof};
use crate::actuator::error::CallError;
use crate::actuator::host::{EndedAt, Whereabouts, has_lived_since, is_stopped, whereabouts};
use crate::domain::id::ExecutionKey;
use crate::domain::scale::attempt::{Call, UnknownWhy};
use crate::domain::scale::command::{CallEnd, Command};
use crate::domain::scale::decide::in_progress;
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::result::Detail;
use crate::domain::scale::state::ServiceState;
use crate::domain::time::{DurationMs, Timestamp};

/// Far longer than any call and its grace elsewhere: by then a call without a file has ended too.
const CALL_FILE_AGE: DurationMs = DurationMs::from_secs(86_400);

/// What is known about the end of a call from this host.
pub(crate) enum End {
    /// It may be running.
    Alive,
    /// Its group is dead.
    Proved {
        /// Since when.
        at: EndedAt,
        /// Whether the actuator was never started.
        not_started: Option<String>,
    },
    /// Its host is another one, or its file is gone: nothing can be proved from here.
    Unprovable,
}

impl Session {
    /// Proves the end of a call, ending what is left of it where its guard is dead.
    fn prove_end(&mut self, call: &Call) -> Result<End, OpError> {
        match whereabouts(&self.place.host_key, &call.holder.host_key) {
            Whereabouts::DeadBoot => Ok(End::Proved { at: EndedAt::Unnoted, not_started: None }),
            Whereabouts::Elsewhere => Ok(End::Unprovable),
            Whereabouts::Here => match calls::prove_end(&self.place.calls_dir(), &call.call_id) {
                Ok(CallProof::Alive) => Ok(End::Alive),
                // A file that makes no sense proves as little as none: time has to.
                Err(CallError::Nonsense { .. }) => {
                    self.tell_unreadable(call);
                    Ok(End::Unprovable)
                }
                Ok(CallProof::NoFile) => Ok(End::Unprovable),
                Err(error) => Err(error.into()),
                Ok(CallProof::Ended { at, how }) => Ok(End::Proved {
                    at,
                    not_started: match how {
                        ProvedEnd::NotStarted(why) => Some(why),
                        ProvedEnd::Exited(_)
                        | ProvedEnd::Signalled(_)
                        | ProvedEnd::Deadline
                        | ProvedEnd::Orphaned
                        | ProvedEnd::Killed => None,
                    },
                }),
            },
        }
    }

    /// Says beside the answer, once, that the file of a call on this host proves nothing.
    pub fn tell_unreadable(&mut self, call: &Call) {
        const CODE: &str = "call_file_unreadable";
        if whereabouts(&self.place.host_key, &call.holder.host_key) != Whereabouts::Here {
            return;
        }
        let Err(error) = calls::look(&self.place.calls_dir(), &call.call_id) else { return };
        let text = format!("{error}; it cannot tell whether the call has ended");
        if !self.notices.iter().any(|notice| notice.code == CODE && notice.text == text) {
            self.notice(CODE, text);
        }
    }

    /// Whether the process that makes a call still lives, and is another one than this.
    fn holder_lives(&self, call: &Call) -> bool {
        let timeout = call.deadline_at.since(call.started_at);
        let prepared_boot_ms = call.deadline_boot_ms.saturating_sub(timeout.as_millis());
        whereabouts(&self.place.host_key, &call.holder.host_key) == Whereabouts::Here
            && call.holder.pid != self.place.pid
            && has_lived_since(call.holder.pid, prepared_boot_ms)
    }

    /// Whether another process alone records what its call came to. What it was answered is not
    /// lost yet, although the call may have ended. Who is stopped keeps the word only as long as
    /// its lease; a result that it records later is applied or kept as evidence, as any late one.
    fn holder_keeps_the_word(&self, execution: &Execution, call: &Call) -> bool {
        let is_given_up = execution.live_lease(self.now()).is_none() && is_stopped(call.holder.pid);
        self.holder_lives(call) && !is_given_up
    }

    /// Whether a started call can be seen to have ended, without touching anything: what `status`
    /// derives.
    pub fn call_seems_ended(&self, execution: &Execution, call: &Call) -> bool {
        if self.holder_keeps_the_word(execution, call) {
            return false;
        }
        match whereabouts(&self.place.host_key, &call.holder.host_key) {
            Whereabouts::DeadBoot => true,
            Whereabouts::Elsewhere => false,
            Whereabouts::Here => match calls::look(&self.place.calls_dir(), &call.call_id) {
                Ok(
                    calls::CallSight::Known(CallProof::Ended { .. }) | calls::CallSight::Unproved,
                ) => true,
                Ok(calls::CallSight::Known(CallProof::Alive | CallProof::NoFile)) | Err(_) => false,
            },
        }
    }

    /// Whether a started call gives no sign of life, and nothing here can prove its end: its lease
    /// is over, and a replay records it as lost.
    pub fn call_is_silent(&self, execution: &Execution, call: &Call) -> bool {
        if self.holder_keeps_the_word(execution, call) || execution.live_lease(self.now()).is_some()
        {
            return false;
        }
        match whereabouts(&self.place.host_key, &call.holder.host_key) {
            Whereabouts::DeadBoot => false,
            Whereabouts::Elsewhere => true,
            Whereabouts::Here => matches!(
                calls::look(&self.place.calls_dir(), &call.call_id),
                Ok(calls::CallSight::Known(CallProof::NoFile)) | Err(CallError::Nonsense { .. })
            ),
        }
    }

    /// Records that a started call has ended without a result. Refuses while it may be alive.
    pub(crate) fn record_loss(&mut self, execution: &Execution) -> Result<Report, OpError> {
        let Phase::Started { call } = &execution.phase else {
            return Report::replay(self, execution.key());
        };
        if self.holder_keeps_the_word(execution, call) {
            return Err(in_progress(execution).into());
        }
        let (end, ended_at) = match self.prove_end(call)? {
            End::Alive => return Err(in_progress(execution).into()),
            End::Proved { at, not_started: Some(why) } => {
                (CallEnd::NotStarted { detail: Detail::cut(&why) }, Some(at))
            }
            End::Proved { at, not_started: None } => (lost("its command is gone"), Some(at)),
            // Elsewhere, the lease is the sign of life; after it, only the deadline proves an end.
            End::Unprovable if execution.live_lease(self.now()).is_some() => {
                return Err(in_progress(execution).into());
            }
            End::Unprovable => (lost("its command gives no sign of life"), None),
        };
        let report = self.end_call(execution, call, end, ended_at)?;
        self.forget_call(call);
        Ok(report)
    }

    /// A key as it stands, after a call that can be seen to have ended was recorded as lost.
    pub(crate) fn load_known(
        &mut self,
        key: &ExecutionKey,
    ) -> Result<(ServiceState, Execution), OpError> {
        let (state, execution) = self.load(key)?;
        if let Phase::Started { call } = &execution.phase
            && self.call_seems_ended(&execution, call)
        {
            self.record_loss(&execution)?;
            return self.load(key);
        }
        Ok((state, execution))
    }

    /// Records, of a call that was given up, that its end has now been proved.
    pub(crate) fn record_end(&mut self, execution: &Execution) -> Result<(), OpError> {
        let Phase::RecoveryPending { pending } = &execution.phase else {
            return Ok(());
        };
        if pending.ended_at.is_some() {
            return Ok(());
        }
        if let End::Proved { at, .. } = self.prove_end(&pending.call)? {
            let (key, attempt) = (execution.key().clone(), pending.call.attempt);
            let command = |ended_at| Command::ProveEnd { key, attempt, ended_at };
            self.step_at_end(execution, at, command)?;
            self.forget_call(&pending.call);
        }
        Ok(())
    }

    /// Records how a call ended.
    pub(crate) fn end_call(
        &mut self,
        execution: &Execution,
        call: &Call,
        end: CallEnd,
        ended_at: Option<EndedAt>,
    ) -> Result<Report, OpError> {
        let (key, attempt) = (execution.key().clone(), call.attempt);
        let lease_instance_id = call.lease_instance_id.clone();
        let command =
            |ended_at| Command::EndCall { key, attempt, lease_instance_id, end, ended_at };
        match ended_at {
            Some(at) => self.step_at_end(execution, at, |at| command(Some(at))),
            None => self.step(execution, command(None)),
        }
    }

    /// One transition that says when a call ended. That is counted back from the ledger's own time
    /// and under its locks: time that passes before makes the end later, never earlier, and so the
    /// quiet that follows it.
    fn step_at_end(
        &mut self,
        execution: &Execution,
        at: EndedAt,
        command: impl FnOnce(Timestamp) -> Command,
    ) -> Result<Report, OpError> {
        let key: ExecutionKey = execution.key().clone();
        let service = execution.intent.service.clone();
        let mut clock = self.clock;
        let transition =
            self.transition_unasked(&service, std::slice::from_ref(&key), |_, txn| {
                Ok(command(clock.ended(txn.now(), at)))
            })?;
        Report::of(transition, &key)
    }

    /// One transition on a key of a known execution.
    pub(crate) fn step(
        &mut self,
        execution: &Execution,
        command: Command,
    ) -> Result<Report, OpError> {
        let key: ExecutionKey = execution.key().clone();
        let service = execution.intent.service.clone();
        let transition =
            self.transition_unasked(&service, std::slice::from_ref(&key), |_, _| Ok(command))?;
        Report::of(transition, &key)
    }

    /// The call's file has said what it had to say, and the ledger knows it. While another process
    /// holds the call it may still have to read it: that one removes it, or `sweep_calls` does.
    pub(crate) fn forget_call(&mut self, call: &Call) {
        if whereabouts(&self.place.host_key, &call.holder.host_key) != Whereabouts::Here
            || self.holder_lives(call)
        {
            return;
        }
        if let Err(error) = calls::remove_call(&self.place.calls_dir(), &call.call_id) {
            self.notice("call_file_left", format!("a call's file was left behind: {error}"));
        }
    }

    /// Removes what crashes have left beside the ledger, once it can prove nothing any more.
    pub fn sweep_calls(&mut self) {
        if let Err(error) = calls::sweep(&self.place.calls_dir(), CALL_FILE_AGE) {
            self.notice("call_file_left", format!("a call's file was left behind: {error}"));
        }
        self.sweep_stderr();
    }
}

fn lost(why: &str) -> CallEnd {
    CallEnd::Unknown { why: UnknownWhy::Lost, detail: Detail::cut(why), rollback_required: false }
}
