//! The calls of a check: real requests to the bound command, and what came back.
//!
//! Every call is bounded by the actuator's own timeout. An actuator that was not done in time once
//! is not asked again but for the last step, so a check has an end.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::ask::exit_of;
use super::super::error::OpError;
use super::super::ids::mint;
use super::super::report::Effect;
use super::super::session::Session;
use super::{CheckPlan, LEDGER_OF_CHECKS, place_of};
use crate::actuator::calls::{self, CallProof, PreparedCall};
use crate::actuator::error::{CallError, SpawnError};
use crate::actuator::guarded::run_guarded;
use crate::actuator::process::{self, Captured, ChildEnd, ChildSpec, Limits, Unwatched};
use crate::actuator::protocol::{
    self, ApplyAnswer, ApplyRequest, Base, Exit, InspectRequest, Inspection, LedgerIdentity,
    PartialTarget, Request, UnknownWhy,
};
use crate::actuator::signals::{self, Signals};
use crate::domain::canonical::parse_strict;
use crate::domain::id::{
    AttemptNumber, ExecutionKey, FenceToken, IDENTIFIER_BYTES_MAX, IntentRevision, LeaseEpoch,
    Replicas, TargetResourceVersion, UnitRevision,
};
use crate::domain::scale::intent::{ControllerMode, Fence, SchemaVersion, TargetBinding};
use crate::domain::scale::lease::{ControllerLease, LEASE_MARGIN};
use crate::domain::scale::result::ActuationRequest;
use crate::domain::time::{DurationMs, Timestamp};
use crate::ops::clock::Clock;

/// How long the fences of a check live.
const FENCE_LIFE: DurationMs = DurationMs::from_secs(3600);

/// Why a row is not passed.
pub(super) enum Trouble {
    /// The promise is broken; the text says what was seen.
    Broken(String),
    /// The check itself has to end.
    Ends(OpError),
}

/// What a row says it has seen.
pub(super) type Seen = Result<String, Trouble>;

pub(super) fn broken<T>(text: impl Into<String>) -> Result<T, Trouble> {
    Err(Trouble::Broken(text.into()))
}

/// One call of `apply`.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// The last word of its key.
    pub(super) name: &'static str,
    pub(super) token: u64,
    pub(super) attempt: u64,
    pub(super) desired: u32,
    /// The version that the call rests on; none for the one that is there.
    pub(super) base: Option<TargetResourceVersion>,
    /// Whether the request has a member that no protocol knows.
    pub(super) future_word: bool,
    /// Whether its key is as long as a key may be.
    pub(super) long_key: bool,
}

impl Step {
    pub(super) const fn new(name: &'static str, token: u64, attempt: u64, desired: u32) -> Self {
        let (base, future_word, long_key) = (None, false, false);
        Self { name, token, attempt, desired, base, future_word, long_key }
    }
}

/// What is seen over all calls.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) calls: u32,
    pub(super) slowest: DurationMs,
    /// The first call that was not done in time.
    pub(super) hung: Option<&'static str>,
    /// The first answer that was not one object.
    pub(super) not_one_object: Option<String>,
    /// The first good answer with another exit than 0, or death by a signal.
    pub(super) bad_exit: Option<String>,
}

/// The actuator under check.
pub(super) struct Probe {
    spec: ChildSpec,
    own_exe: PathBuf,
    calls_dir: PathBuf,
    timeout: DurationMs,
    clock: Clock,
    run: String,
    epoch: LeaseEpoch,
    /// The target as first found; its version is the wish's, as in an intent.
    pub(super) target: TargetBinding,
    inspects: bool,
    /// The newest version that was told.
    version: Option<TargetResourceVersion>,
    pub(super) tally: Tally,
    pub(super) effect: Effect,
}

impl Probe {
    pub(super) fn new(session: &Session, plan: &CheckPlan) -> Result<Self, OpError> {
        let now = session.now();
        let millis = u64::try_from(now.as_micros() / 1000).unwrap_or(0).max(1);
        let run: ExecutionKey = mint("scalectl-check:")?;
        let found = plan.found.as_ref().ok().and_then(Option::as_ref);
        Ok(Self {
            spec: plan.spec.clone(),
            own_exe: session.place.own_exe.clone(),
            calls_dir: session.place.calls_dir(),
            timeout: plan.actuator.timeout_ms,
            clock: session.clock,
            run: run.to_string(),
            epoch: LeaseEpoch::new(millis).unwrap_or(LeaseEpoch::MAX),
            target: found.map_or_else(|| invented(plan), |found| found.target.clone()),
            inspects: plan.actuator.capabilities.inspect,
            version: found.map(|found| found.target.target_resource_version.clone()),
            tally: Tally::default(),
            effect: Effect::None,
        })
    }

    /// Now, on this host's clock.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.skew().on_host(self.clock.now())
    }

    /// One call, whatever it is asked and whatever it answers.
    pub(super) fn call(
        &mut self,
        op: &'static str,
        input: &str,
    ) -> Result<(Vec<u8>, Exit), Trouble> {
        self.tally.calls += 1;
        let captured = if op == "apply" { self.guarded(input)? } else { self.unguarded(input)? };
        self.tally.slowest = self.tally.slowest.max(captured.duration);
        match captured.end {
            ChildEnd::Interrupted(signal) => {
                if op == "apply" {
                    self.effect = Effect::Unknown;
                }
                return interrupted(signal);
            }
            ChildEnd::TimedOut => {
                self.tally.hung.get_or_insert(op);
                if op == "apply" {
                    self.effect = Effect::Unknown;
                }
                return broken(format!("{op}: no answer within {}", self.timeout));
            }
            ChildEnd::Exited(_) | ChildEnd::Signalled(_) | ChildEnd::Stopped => {}
        }
        self.count(op, &captured);
        Ok((captured.stdout.clone(), exit_of(&captured)))
    }

    fn unguarded(&self, input: &str) -> Result<Captured, Trouble> {
        let limits = Limits::within(self.timeout);
        match process::run(&self.spec, input.as_bytes(), &limits, &mut Unwatched) {
            Ok(captured) => Ok(captured),
            Err(SpawnError::Interrupted { signal, .. }) => interrupted(signal),
            Err(error) => broken(error.to_string()),
        }
    }

    /// What may change the target ends with its deadline, whatever becomes of this process.
    fn guarded(&mut self, input: &str) -> Result<Captured, Trouble> {
        let call_id = mint("call-").map_err(Trouble::Ends)?;
        let dir = &self.calls_dir;
        let prepared = PreparedCall::create(dir, &call_id).map_err(ends)?;
        let limits = Limits::within(self.timeout);
        let (exe, input) = (&self.own_exe, input.as_bytes());
        let called = run_guarded(prepared, exe, &self.spec, input, &limits, &mut Unwatched);
        let is_over = match &called {
            Ok(guarded) => matches!(guarded.proof, Ok(CallProof::Ended { .. })),
            Err(error) => matches!(error, CallError::NotStarted { .. }),
        };
        if !is_over {
            self.effect = Effect::Unknown;
            return broken("the end of its call could not be proved");
        }
        calls::remove_call(dir, &call_id).map_err(ends)?;
        match called {
            Ok(guarded) => Ok(guarded.captured),
            Err(error) => match signals::installed().and_then(Signals::first) {
                Some(signal) => interrupted(signal),
                None => broken(error.to_string()),
            },
        }
    }

    /// Notes what holds for every answer, whatever it says.
    fn count(&mut self, op: &str, captured: &Captured) {
        let exit = exit_of(captured);
        let told = if captured.stdout_dropped > 0 {
            Err(format!("{op}: {} bytes too many", captured.stdout_dropped))
        } else {
            match parse_strict(&captured.stdout) {
                Ok(value) if value.is_object() => Ok(value),
                Ok(_) => Err(format!("{op}: JSON, but no object")),
                Err(error) => Err(format!("{op}: {error}")),
            }
        };
        let is_refusal = told.as_ref().is_ok_and(|value| {
            value.get("error").is_some_and(|error| !error.is_null())
                || value.pointer("/result/state") == Some(&json!("failed"))
        });
        if let Err(problem) = told {
            self.tally.not_one_object.get_or_insert(problem);
        }
        if exit != Exit::Code(0) && !is_refusal {
            self.tally.bad_exit.get_or_insert(format!("{op}: {exit}"));
        }
    }

    /// The same request with a member of its own, as a later protocol may have.
    pub(super) fn with_future_word(request: &str) -> String {
        let mut value: Value = serde_json::from_str(request).expect("BUG: requests are JSON");
        if let Value::Object(members) = &mut value {
            let word = json!({"a": [1, true, null], "b": "future"});
            members.insert("scalectl_check_future_word".to_owned(), word);
        }
        format!("{value}\n")
    }

    /// Reads the target by all five members.
    pub(super) fn inspect(&mut self) -> Result<Inspection, Trouble> {
        let whole = PartialTarget::from(&self.target);
        self.inspect_as(&whole, false)
    }

    /// Reads the target by its name alone, as `service put` does.
    pub(super) fn inspect_by_name(&mut self, future_word: bool) -> Result<Inspection, Trouble> {
        let name = place_of(&self.target.workload_id);
        self.inspect_as(&name, future_word)
    }

    fn inspect_as(&mut self, asked: &PartialTarget, future: bool) -> Result<Inspection, Trouble> {
        let request = Request::Inspect(InspectRequest { target: asked.clone() }).to_json();
        let request = if future { Self::with_future_word(&request) } else { request };
        let (bytes, exit) = self.call("inspect", &request)?;
        let found = protocol::read_inspect(&bytes, asked, exit)
            .or_else(|error| broken(format!("inspect: {error}")))?;
        self.version = Some(found.target.target_resource_version.clone());
        Ok(found)
    }

    /// The version and the count that are there, as far as they can be known.
    pub(super) fn standing(&mut self) -> Result<Option<Inspection>, Trouble> {
        if self.inspects { self.inspect().map(Some) } else { Ok(None) }
    }

    /// Calls `apply`. The answer is read as `actuate` reads it.
    pub(super) fn apply(&mut self, step: &Step) -> Result<ApplyAnswer, Trouble> {
        let base = match (&step.base, self.standing()?) {
            (Some(version), _) => {
                let resource_version = Some(version.clone());
                Base { replicas: None, generation: None, resource_version }
            }
            (None, Some(found)) => Base {
                replicas: Some(found.replicas),
                generation: found.generation,
                resource_version: Some(found.target.target_resource_version),
            },
            (None, None) => {
                Base { replicas: None, generation: None, resource_version: self.version.clone() }
            }
        };
        let apply = self.request(step, base);
        let key = apply.request.execution_key.clone();
        let mut request = Request::Apply(Box::new(apply)).to_json();
        if step.future_word {
            request = Self::with_future_word(&request);
        }
        let (bytes, exit) = self.call("apply", &request)?;
        let answer = protocol::read_apply_answer(&bytes, &key, &self.target, exit);
        match &answer {
            ApplyAnswer::Known { result, resource_version_after, .. } => {
                if result.scaled() && self.effect == Effect::None {
                    self.effect = Effect::Applied;
                }
                if let Some(version) = resource_version_after {
                    self.version = Some(version.clone());
                }
            }
            ApplyAnswer::Unknown { .. } => self.effect = Effect::Unknown,
        }
        Ok(answer)
    }

    fn request(&self, step: &Step, base: Base) -> ApplyRequest {
        let now = self.now();
        ApplyRequest {
            ledger: ledger_of_checks(),
            deadline_ms: self.timeout,
            request: ActuationRequest {
                schema_version: SchemaVersion::V1,
                intent_id: word(&format!("{}:intent:{}", self.run, step.name)),
                intent_revision: IntentRevision::MIN,
                expected_unit_revision: UnitRevision::MIN,
                execution_key: self.key(step),
                desired_replicas: Replicas::from(step.desired),
                controller_mode: ControllerMode::Native,
                replica_writer_id: word(LEDGER_OF_CHECKS),
                target: self.target.clone(),
                lease: ControllerLease {
                    lease_instance_id: word(&format!("lease:{}", self.run)),
                    controller_id: word(LEDGER_OF_CHECKS),
                    fence: Fence {
                        lease_id: word(&format!("writer:{LEDGER_OF_CHECKS}")),
                        lease_epoch: self.epoch,
                        fence_token: token(step.token),
                        expires_at: now.plus(FENCE_LIFE),
                    },
                    attempt: attempt(step.attempt),
                    acquired_at: now,
                    expires_at: now.plus(self.timeout).plus(LEASE_MARGIN),
                },
                dry_run: false,
            },
            base,
            evidence: None,
        }
    }

    /// The key of a step. A long one is as long as an identifier may be.
    pub(super) fn key(&self, step: &Step) -> ExecutionKey {
        let mut text = format!("{}:{}", self.run, step.name);
        if step.long_key {
            let missing = IDENTIFIER_BYTES_MAX - text.len();
            text.extend(std::iter::repeat_n('x', missing));
        }
        word(&text)
    }

    pub(super) const fn epoch(&self) -> LeaseEpoch {
        self.epoch
    }
}

/// The identity that a real target does not take orders from.
pub(super) fn ledger_of_checks() -> LedgerIdentity {
    LedgerIdentity { id: word(LEDGER_OF_CHECKS), incarnation: 1 }
}

pub(super) fn token(number: u64) -> FenceToken {
    FenceToken::new(number).expect("BUG: the tokens of a check are small and not 0")
}

pub(super) fn attempt(number: u64) -> AttemptNumber {
    AttemptNumber::new(number).expect("BUG: the attempts of a check are small and not 0")
}

fn word<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().expect("BUG: the words of a check are identifiers")
}

fn ends(error: CallError) -> Trouble {
    Trouble::Ends(error.into())
}

fn interrupted<T>(signal: i32) -> Result<T, Trouble> {
    Err(Trouble::Ends(OpError::Interrupted { signal, key: None }))
}

/// Where nobody can inspect, the target is what a person would name.
fn invented(plan: &CheckPlan) -> TargetBinding {
    TargetBinding {
        cluster_id: word(LEDGER_OF_CHECKS),
        runtime_id: word(LEDGER_OF_CHECKS),
        workload_id: plan.workload.clone(),
        target_uid: word(LEDGER_OF_CHECKS),
        target_resource_version: word("1"),
    }
}

/// An unknown outcome in words.
pub(super) fn unknown_text(why: UnknownWhy, detail: &str) -> String {
    format!("unknown {why}: {detail}")
}
