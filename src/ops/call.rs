//! The guarded call: what happens between the commit of `started` and the commit of the result.
//!
//! `started` is durable before the guard is spawned: [`make`] takes the proof of that commit by
//! value. No transaction is open while the child runs. If this process dies here, the guard kills
//! the actuator's group; `replay` proves that and finds out the rest.

use std::time::Duration;

use super::ask::{Asker, stderr_text};
use super::error::OpError;
use super::session::Session;
use crate::actuator::calls::{CallEnd as ProvedEnd, CallProof, PreparedCall};
use crate::actuator::error::CallError;
use crate::actuator::guarded::run_guarded;
use crate::actuator::host::{Deadline, EndedAt};
use crate::actuator::process::{Captured, ChildEnd, LeaderEnd, Limits, Tick, Watch};
use crate::actuator::protocol::{self, ApplyAnswer, ApplyRequest, Base as WireBase, Exit, Request};
use crate::crash::{self, CrashPoint};
use crate::domain::id::{ExecutionKey, LeaseInstanceId, ServiceName};
use crate::domain::scale::attempt::{Call, UnknownWhy};
use crate::domain::scale::command::{CallEnd, Command};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::intent::SchemaVersion;
use crate::domain::scale::observation::Evidence;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::result::{ActuationRequest, Detail};
use crate::domain::time::{DurationMs, Timestamp};
use crate::ledger::Committed;

/// How long to wait before a lease is renewed again that could not be, because the ledger was busy
/// or away.
const RENEW_PAUSE: DurationMs = DurationMs::from_millis(200);

/// A call that is durable and may now be made.
pub(crate) struct Started<'a> {
    /// The execution, in state `started`.
    pub(crate) execution: &'a Execution,
    /// The call.
    pub(crate) call: &'a Call,
    /// What showed that a reduction is safe.
    pub(crate) evidence: Option<Evidence>,
    /// How long it may take.
    pub(crate) timeout: DurationMs,
    /// When the guard kills it.
    pub(crate) deadline: Deadline,
    /// How long the lease is kept beyond now.
    pub(crate) ttl: DurationMs,
}

/// What became of a call.
pub(crate) struct Made {
    /// For the ledger.
    pub(crate) end: CallEnd,
    /// When its group was known dead; none where that could not be proved.
    pub(crate) ended_at: Option<EndedAt>,
    /// What it wrote for people.
    pub(crate) stderr: String,
    /// The signal that asked this process to end meanwhile.
    pub(crate) signal: Option<i32>,
}

/// Makes the call. Takes the proof that `started` is durable.
pub(crate) fn make(
    session: &mut Session,
    committed: Committed,
    prepared: PreparedCall,
    asker: &Asker<'_>,
    started: &Started<'_>,
) -> Made {
    // The proof has done its work once the child may be spawned.
    drop(committed);
    let request = Request::Apply(Box::new(request_of(session, started)));
    let own_exe = session.place.own_exe.clone();
    let limits = Limits::until(started.deadline);
    let mut watch = LeaseWatch::new(session, started);
    let called = run_guarded(
        prepared,
        &own_exe,
        asker.spec(),
        request.to_json().as_bytes(),
        &limits,
        &mut watch,
    );
    let given_up = watch.given_up;
    crash::hit(CrashPoint::AfterAnswer);
    match called {
        Ok(guarded) => {
            let ended_at = match &guarded.proof {
                Ok(CallProof::Ended { at, .. }) => Some(*at),
                Ok(CallProof::Alive | CallProof::NoFile) | Err(_) => None,
            };
            let end = match (&guarded.proof, ended_at) {
                (Ok(CallProof::Ended { how: ProvedEnd::NotStarted(why), .. }), _) => {
                    CallEnd::NotStarted { detail: Detail::cut(why) }
                }
                // Without the end of the call its answer may not be its last word.
                (_, None) => unproved(&guarded.proof),
                (_, Some(_)) => end_of(&guarded.captured, started, given_up.as_deref()),
            };
            Made {
                end,
                ended_at,
                stderr: stderr_text(&guarded.captured),
                signal: match guarded.captured.end {
                    ChildEnd::Interrupted(signal) => Some(signal),
                    ChildEnd::Exited(_)
                    | ChildEnd::Signalled(_)
                    | ChildEnd::TimedOut
                    | ChildEnd::Stopped => None,
                },
            }
        }
        Err(CallError::NotStarted { reason, .. }) => Made {
            end: CallEnd::NotStarted { detail: Detail::cut(&reason) },
            ended_at: Some(EndedAt::Unnoted),
            stderr: String::new(),
            signal: crate::actuator::signals::installed()
                .and_then(crate::actuator::signals::Signals::first),
        },
        Err(error) => Made {
            end: CallEnd::Unknown {
                why: UnknownWhy::Lost,
                detail: Detail::cut(&error.to_string()),
                rollback_required: false,
            },
            ended_at: None,
            stderr: String::new(),
            signal: None,
        },
    }
}

fn unproved(proof: &Result<CallProof, CallError>) -> CallEnd {
    let why = match proof {
        Ok(_) => "its process group may still be alive".to_owned(),
        Err(error) => format!("its end could not be proved: {error}"),
    };
    CallEnd::Unknown { why: UnknownWhy::Lost, detail: Detail::cut(&why), rollback_required: false }
}

fn request_of(session: &Session, started: &Started<'_>) -> ApplyRequest {
    let execution = started.execution;
    let wish = &execution.intent.wish;
    let base = &started.call.base;
    let held = execution.lease.as_ref().expect("BUG: a started execution has a lease");
    ApplyRequest {
        ledger: session.wire_identity(),
        deadline_ms: started.timeout,
        request: ActuationRequest {
            schema_version: SchemaVersion::V1,
            intent_id: wish.intent_id.clone(),
            intent_revision: wish.intent_revision,
            expected_unit_revision: wish.expected_unit_revision,
            execution_key: wish.execution_key.clone(),
            desired_replicas: wish.desired_replicas,
            controller_mode: wish.controller_mode,
            replica_writer_id: wish.replica_writer_id.clone(),
            target: wish.target.clone(),
            lease: held.lease.clone(),
            dry_run: false,
        },
        base: WireBase {
            replicas: base.replicas,
            generation: base.generation,
            resource_version: Some(base.target_resource_version.clone()),
        },
        evidence: started.evidence.clone(),
    }
}

/// Reads the end of a call (design, section 6): a valid typed answer is the result, whatever ended
/// the child afterwards; everything else is unknown.
fn end_of(captured: &Captured, started: &Started<'_>, given_up: Option<&str>) -> CallEnd {
    let exit = match (captured.end, captured.leader) {
        (ChildEnd::TimedOut | ChildEnd::Stopped, _) => Exit::TimedOut,
        (_, Some(LeaderEnd::Exited(code))) | (ChildEnd::Exited(code), None) => Exit::Code(code),
        (_, Some(LeaderEnd::Signalled(signal)))
        | (ChildEnd::Signalled(signal) | ChildEnd::Interrupted(signal), None) => {
            Exit::Signal(signal)
        }
    };
    if captured.end == ChildEnd::Stopped {
        return stopped(captured, given_up);
    }
    if captured.stdout_dropped > 0 {
        return CallEnd::Unknown {
            why: UnknownWhy::Garbled,
            detail: Detail::cut(&format!(
                "the answer is {} bytes too long",
                captured.stdout_dropped
            )),
            rollback_required: false,
        };
    }
    let wish = &started.execution.intent.wish;
    match protocol::read_apply_answer(&captured.stdout, &wish.execution_key, &wish.target, exit) {
        ApplyAnswer::Known { result, rollback_required, resource_version_after } => {
            CallEnd::Answered { result: *result, rollback_required, resource_version_after }
        }
        ApplyAnswer::Unknown { why, detail, rollback_required } => {
            let interrupted = matches!(captured.end, ChildEnd::Interrupted(_));
            let timed_out = exit == Exit::TimedOut;
            let text = match detail.as_str() {
                "" => why.to_string(),
                detail => format!("{why}: {detail}"),
            };
            CallEnd::Unknown {
                why: kind_of(why, interrupted),
                detail: Detail::cut(&text),
                // A timeout after a mutating command leaves something to look at.
                rollback_required: rollback_required || timed_out,
            }
        }
    }
}

/// We have killed it ourselves, because we could not keep its lease or not even watch it.
fn stopped(captured: &Captured, given_up: Option<&str>) -> CallEnd {
    let why = given_up.map_or_else(|| stderr_text(captured), str::to_owned);
    CallEnd::Unknown { why: UnknownWhy::Killed, detail: Detail::cut(&why), rollback_required: true }
}

const fn kind_of(why: protocol::UnknownWhy, interrupted: bool) -> UnknownWhy {
    use protocol::UnknownWhy as Word;
    match why {
        _ if interrupted => UnknownWhy::Interrupted,
        Word::TimedOut => UnknownWhy::TimedOut,
        Word::DiedBySignal => UnknownWhy::Killed,
        Word::SaidUnknown => UnknownWhy::SaidUnknown,
        Word::NoResult
        | Word::GarbledResult
        | Word::ResultTooLong
        | Word::WrongProtocol
        | Word::WrongKey
        | Word::WrongTarget
        | Word::SimulatedResult
        | Word::ExitContradicts => UnknownWhy::Garbled,
    }
}

/// Renews the lease at a third of its TTL, and ends the call in time if it cannot.
struct LeaseWatch<'s> {
    session: &'s mut Session,
    service: ServiceName,
    key: ExecutionKey,
    lease_instance_id: LeaseInstanceId,
    fence_end: Timestamp,
    expires_at: Timestamp,
    ttl: DurationMs,
    next_at: Timestamp,
    /// Why the call was ended, if it was for its lease.
    given_up: Option<String>,
}

impl<'s> LeaseWatch<'s> {
    fn new(session: &'s mut Session, started: &Started<'_>) -> Self {
        let held = started.execution.lease.as_ref().expect("BUG: a started execution has a lease");
        let third = DurationMs::from_millis(started.ttl.as_millis() / 3);
        let next_at = session.now().plus(third);
        Self {
            service: started.execution.intent.service.clone(),
            key: started.execution.key().clone(),
            lease_instance_id: held.lease.lease_instance_id.clone(),
            fence_end: held.lease.fence.expires_at,
            expires_at: held.lease.expires_at,
            ttl: started.ttl,
            next_at,
            given_up: None,
            session,
        }
    }
}

impl LeaseWatch<'_> {
    fn give_up(&mut self, why: &str) -> Tick {
        self.given_up = Some(format!("ended by us, because its lease could not be kept: {why}"));
        Tick::End
    }
}

/// When a lease that could not be renewed is tried again; none where it would have ended by then,
/// so that the call must end with it. Whoever is in the way may be gone at any time, and a server
/// back.
fn next_try(
    is_unavailable: bool,
    now: Timestamp,
    next_at: Timestamp,
    expires_at: Timestamp,
) -> Option<Timestamp> {
    let next_at = if is_unavailable { next_at.min(now.plus(RENEW_PAUSE)) } else { next_at };
    (next_at < expires_at).then_some(next_at)
}

impl Watch for LeaseWatch<'_> {
    fn tick(&mut self) -> Tick {
        let now = self.session.now();
        self.next_at = now.plus(DurationMs::from_millis(self.ttl.as_millis() / 3));
        let wanted = now.plus(self.ttl).min(self.fence_end);
        if wanted <= self.expires_at {
            return Tick::Continue;
        }
        let command = Command::RenewLease {
            key: self.key.clone(),
            lease_instance_id: self.lease_instance_id.clone(),
            ttl: self.ttl,
        };
        let keys = std::slice::from_ref(&self.key);
        match self.session.transition(&self.service, keys, |_, _| Ok(command)) {
            Ok(_) => {
                self.expires_at = wanted;
                Tick::Continue
            }
            Err(OpError::Rejected { rejection, .. })
                if matches!(*rejection, Rejection::LeaseLost { .. }) =>
            {
                self.give_up(&rejection.to_string())
            }
            Err(error) => {
                let is_unavailable = matches!(&error, OpError::Ledger(it) if it.is_unavailable());
                let now = self.session.now();
                match next_try(is_unavailable, now, self.next_at, self.expires_at) {
                    Some(next_at) => {
                        self.next_at = next_at;
                        Tick::Continue
                    }
                    None => self.give_up(&error.to_string()),
                }
            }
        }
    }

    fn next_tick(&self) -> Option<Duration> {
        Some(self.next_at.since(self.session.now()).to_std())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_tried_for_until_its_end_while_the_ledger_is_away() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000).expect("in range");
        let soon = |seconds| Some(at(seconds).plus(RENEW_PAUSE));
        for (is_unavailable, now, expected) in [
            (true, 300, soon(300)),
            (true, 600, soon(600)),
            (true, 899, soon(899)),
            (true, 900, None),
            (false, 300, Some(at(600))),
            (false, 600, None),
        ] {
            let found = next_try(is_unavailable, at(now), at(now + 300), at(900));
            assert_eq!(found, expected, "{is_unavailable} {now}");
        }
    }

    #[test]
    fn a_call_that_we_have_stopped_says_why() {
        let captured = Captured {
            end: ChildEnd::Stopped,
            leader: None,
            stdout: Vec::new(),
            stdout_dropped: 0,
            stderr: b"it could not be watched".to_vec(),
            stderr_dropped: 0,
            duration: DurationMs::ZERO,
        };
        let lease = "ended by us, because its lease could not be kept: busy";
        for (given_up, expected) in [(Some(lease), lease), (None, "it could not be watched")] {
            let CallEnd::Unknown { why, detail, rollback_required } = stopped(&captured, given_up)
            else {
                panic!("it is unknown");
            };
            assert_eq!((why, detail.as_str()), (UnknownWhy::Killed, expected));
            assert!(rollback_required);
        }
    }
}
