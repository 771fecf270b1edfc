//! A session: the ledger, the clock, who asks and where; what every operation needs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::clock::Clock;
use super::error::OpError;
use super::ids::mint;
use super::policy_cache::{PolicyCache, PolicyInTxn};
use super::report::Effect;
use crate::domain::id::{CommandId, ExecutionKey, HostKey, ServiceName};
use crate::domain::registry::RefusalBody;
use crate::domain::scale::command::{Command, Context};
use crate::domain::scale::decide::{Reply, decide};
use crate::domain::scale::event::{Event, EventBody, Stamped};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::invariant;
use crate::domain::scale::lease::Holder;
use crate::domain::scale::policy::{PolicyAnswer, PolicyQuery};
use crate::domain::scale::provenance::Provenance;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::service::RegisteredActuator;
use crate::domain::scale::state::ServiceState;
use crate::domain::time::{DurationMs, Timestamp};
use crate::ledger::{Committed, Ledger, Reach, ReadTxn, WriteTxn};

/// From so much on it is said that the clock of this host is not the ledger's.
const HOST_SKEW_NOTED: DurationMs = DurationMs::from_secs(5);

/// Where this process runs, and where it keeps what is not in the ledger.
#[derive(Debug, Clone)]
pub struct Place {
    /// This very binary.
    pub own_exe: PathBuf,
    /// `$XDG_STATE_HOME/scalectl`.
    pub state_dir: PathBuf,
    /// `$XDG_CONFIG_HOME/scalectl`.
    pub config_dir: PathBuf,
    /// The host, its boot and its process namespace.
    pub host_key: HostKey,
    /// The host's name.
    pub host: String,
    /// This process.
    pub pid: u32,
    /// The environment that actuators may be given parts of.
    pub environment: BTreeMap<OsString, OsString>,
}

impl Place {
    /// Where call files are.
    pub fn calls_dir(&self) -> PathBuf {
        self.state_dir.join("calls")
    }

    /// Where the host's commands of actuators are.
    pub fn bindings_file(&self) -> PathBuf {
        self.config_dir.join("actuators.toml")
    }

    /// This process as the holder of a lease.
    pub fn holder(&self) -> Holder {
        Holder { host: self.host.clone(), host_key: self.host_key.clone(), pid: self.pid }
    }
}

/// Something that a person should know although the command has done its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The word for machines.
    pub code: &'static str,
    /// The text.
    pub text: String,
}

/// What a session works with.
pub struct Session {
    /// The ledger.
    pub ledger: Ledger,
    /// The clock.
    pub clock: Clock,
    /// Who asks.
    pub by: Provenance,
    /// Where.
    pub place: Place,
    /// What to say beside the answer.
    pub notices: Vec<Notice>,
    /// Whether this session has recorded anything: a later refusal must not deny it.
    pub recorded: bool,
    /// What this session has done to the target.
    pub effect: Effect,
    policy: PolicyCache,
}

/// What a transition came to.
pub struct Transition {
    /// How to say it.
    pub reply: Reply,
    /// What was recorded.
    pub events: Vec<Event>,
    /// The service afterwards, or as it stands where nothing changed.
    pub state: ServiceState,
    /// The proof that the events are durable; none where there were none.
    pub committed: Option<Committed>,
}

impl Transition {
    /// The execution of a key that the command named.
    pub fn execution(&self, key: &ExecutionKey) -> Result<&Execution, OpError> {
        self.state
            .executions
            .get(key)
            .ok_or_else(|| Rejection::NoSuchKey { key: key.to_string() }.into())
    }
}

impl Session {
    /// A session on an open ledger.
    pub fn new(ledger: Ledger, mut clock: Clock, by: Provenance, place: Place) -> Self {
        let of_host = clock.now();
        let skew = clock.read(ledger.now()).apart(of_host);
        let mut session = Self {
            ledger,
            clock,
            by,
            place,
            notices: Vec::new(),
            recorded: false,
            effect: Effect::None,
            policy: PolicyCache::EMPTY,
        };
        if skew > HOST_SKEW_NOTED {
            let text =
                format!("the clock of this host and the clock of the ledger are {skew} apart");
            session.notice("host_clock_skew", text);
        }
        session
    }

    /// Says something beside the answer.
    pub fn notice(&mut self, code: &'static str, text: impl Into<String>) {
        self.notices.push(Notice { code, text: text.into() });
    }

    /// Now, on this host's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A fresh id for one run of a writing command.
    pub fn command_id() -> Result<CommandId, OpError> {
        mint("cmd-")
    }

    /// The execution of a key, and its service's state with it.
    pub fn load(&mut self, key: &ExecutionKey) -> Result<(ServiceState, Execution), OpError> {
        let read = self.ledger.read()?;
        let execution = read
            .find_execution(key)?
            .ok_or_else(|| Rejection::NoSuchKey { key: key.to_string() })?;
        let state = read.service_state(&execution.intent.service, std::slice::from_ref(key))?;
        drop(read);
        Ok((state, execution))
    }

    /// The state of a registered service.
    pub fn load_service(&mut self, service: &ServiceName) -> Result<ServiceState, OpError> {
        let state = self.ledger.read()?.service_state(service, &[])?;
        if state.head.registration.is_none() {
            return Err(Rejection::NoSuchService { service: service.clone() }.into());
        }
        Ok(state)
    }

    /// The actuator that a service is registered with.
    pub fn actuator_of(
        &mut self,
        state: &ServiceState,
    ) -> Result<Option<RegisteredActuator>, OpError> {
        let read = self.ledger.read()?;
        actuator_in(&read, state)
    }

    /// One durable transition of one service: load, decide, check, append, commit.
    ///
    /// `build` makes the command from what the transaction sees; it reads no world. A refusal leaves
    /// the ledger as it is, but for the row of a refusal that is kept.
    pub fn transition(
        &mut self,
        service: &ServiceName,
        keys: &[ExecutionKey],
        build: impl FnOnce(&ServiceState, &WriteTxn<'_>) -> Result<Command, OpError>,
    ) -> Result<Transition, OpError> {
        self.load_policy()?;
        self.transition_unasked(service, keys, build)
    }

    /// The same for a command that hardly ever asks the policy: it is loaded only if it is asked.
    pub(super) fn transition_unasked(
        &mut self,
        service: &ServiceName,
        keys: &[ExecutionKey],
        build: impl FnOnce(&ServiceState, &WriteTxn<'_>) -> Result<Command, OpError>,
    ) -> Result<Transition, OpError> {
        let mut txn = self.ledger.write(Self::command_id()?, Reach::service(service))?;
        // After the lock: whoever held it may have written what is newer than this command.
        let now = self.clock.read(txn.now());
        let state = txn.service_state(service, keys)?;
        let command = build(&state, &txn)?;
        let actuator = actuator_for(&txn, &state, &command)?;
        let ledger_id = txn.identity().ledger_id.clone();
        let policy = PolicyInTxn::new(&txn, &mut self.policy);
        let context = Context {
            by: &self.by,
            ledger_id: &ledger_id,
            actuator: actuator.as_ref(),
            policy: &policy,
            source: "cli",
        };
        let decided = decide(&state, &command, &context, now);
        policy.finish()?;
        match decided {
            Ok(decision) if decision.events.is_empty() => {
                let (reply, events) = (decision.reply, decision.events);
                Ok(Transition { reply, events, state, committed: None })
            }
            Ok(decision) => {
                let after = txn.append(service, state, &decision.events)?;
                invariant::check(&after)?;
                let committed = txn.commit()?;
                self.recorded = true;
                Ok(Transition {
                    reply: decision.reply,
                    events: decision.events,
                    state: after,
                    committed: Some(committed),
                })
            }
            Err(rejection) => {
                drop(txn);
                if rejection.is_kept() {
                    self.keep_refusal(service, &command, &rejection, now);
                }
                Err(OpError::Rejected {
                    rejection: Box::new(rejection),
                    head: state.head.registration.is_some().then(|| Box::new(state.head)),
                })
            }
        }
    }

    /// Answers policy questions about `state` without a transaction: for plans and explanations.
    pub fn with_context<T>(
        &mut self,
        state: &ServiceState,
        use_it: impl FnOnce(&Context<'_>) -> T,
    ) -> Result<T, OpError> {
        self.load_policy()?;
        let actuator = self.actuator_of(state)?;
        let ledger_id = self.ledger.identity().ledger_id.clone();
        Ok(use_it(&Context {
            by: &self.by,
            ledger_id: &ledger_id,
            actuator: actuator.as_ref(),
            policy: self.policy.gate(),
            source: "cli",
        }))
    }

    /// The policy, for questions about the ledger itself.
    pub fn ask_policy(&mut self, query: &PolicyQuery) -> Result<PolicyAnswer, OpError> {
        self.load_policy()?;
        Ok(self.policy.gate().answer(query))
    }

    /// Forgets the loaded policy, after it was replaced.
    pub fn forget_policy(&mut self) {
        self.policy = PolicyCache::EMPTY;
    }

    /// Parses the policy before the write lock is taken: it costs more than the write itself.
    fn load_policy(&mut self) -> Result<(), OpError> {
        if self.policy.is_empty() {
            let read = self.ledger.read()?;
            self.policy.refresh(&read)?;
        }
        Ok(())
    }

    /// A refusal that cannot be kept is still a refusal.
    fn keep_refusal(
        &mut self,
        service: &ServiceName,
        command: &Command,
        rejection: &Rejection,
        now: Timestamp,
    ) {
        let answer = match rejection {
            Rejection::Denied { answer, .. } => Some((**answer).clone()),
            _ => None,
        };
        let (message, fingerprint) = (rejection.to_string(), fingerprint(rejection));
        let body = RefusalBody::Refused {
            service: Some(service.clone()),
            execution_key: key_of(command).cloned(),
            code: rejection.code().to_owned(),
            message,
            fingerprint,
            answer,
        };
        let event = Stamped { at: now, by: self.by.clone(), body };
        let kept = Self::command_id().and_then(|command_id| {
            let mut txn = self.ledger.write(command_id, Reach::refusals())?;
            if txn.append_refusal(&event)? {
                let _committed = txn.commit()?;
            }
            Ok(())
        });
        if let Err(error) = kept {
            self.notice("refusal_not_kept", format!("the refusal was not recorded: {error}"));
        }
    }
}

/// What of a refusal does not vary from try to try.
fn fingerprint(rejection: &Rejection) -> String {
    match rejection {
        Rejection::Denied { subject, answer, .. } => {
            let rules: Vec<&str> = answer.rules.iter().map(|rule| rule.id.as_str()).collect();
            format!("{} {subject} {}", answer.action.as_str(), rules.join(" "))
        }
        Rejection::Cooldown { last, .. } => last.execution_key.to_string(),
        other => other.to_string(),
    }
}

/// The key that a command is about.
fn key_of(command: &Command) -> Option<&ExecutionKey> {
    match command {
        Command::RegisterService { .. } | Command::BindTarget { .. } => None,
        Command::Put(put) => Some(put.key()),
        Command::Start(start) => Some(&start.key),
        Command::Withdraw { key, .. }
        | Command::Abandon { key, .. }
        | Command::AcquireLease { key, .. }
        | Command::RenewLease { key, .. }
        | Command::ReleaseLease { key, .. }
        | Command::Simulate { key, .. }
        | Command::EndCall { key, .. }
        | Command::ProveEnd { key, .. }
        | Command::RecordFence { key, .. }
        | Command::Settle { key, .. }
        | Command::Observe { key, .. } => Some(key),
    }
}

fn actuator_in(
    read: &ReadTxn<'_>,
    state: &ServiceState,
) -> Result<Option<RegisteredActuator>, OpError> {
    let name = state.head.registration.as_ref().and_then(|r| r.actuator.as_ref());
    name.map_or(Ok(None), |name| Ok(read.actuator(name)?))
}

/// The actuator that the rules look at: the registered one, or the one about to be registered.
fn actuator_for(
    read: &ReadTxn<'_>,
    state: &ServiceState,
    command: &Command,
) -> Result<Option<RegisteredActuator>, OpError> {
    match command {
        Command::RegisterService { registration, .. } => match &registration.actuator {
            Some(name) => Ok(Some(
                read.actuator(name)?
                    .ok_or_else(|| Rejection::NoSuchActuator { name: name.to_string() })?,
            )),
            None => Ok(None),
        },
        _ => actuator_in(read, state),
    }
}

/// Whether any of the events is of a kind.
pub fn recorded(events: &[Event], is: impl Fn(&EventBody) -> bool) -> bool {
    events.iter().any(|event| is(&event.body))
}
