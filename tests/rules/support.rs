//! A service with a target, a clock and a log. Every step is checked against the whole log.

use std::collections::{BTreeMap, BTreeSet};

use scalectl::domain::id::{ExecutionKey, LeaseInstanceId, LedgerId};
use scalectl::domain::scale::command::{Command, Context, PlacedIn, RegisterService};
use scalectl::domain::scale::decide::{Decision, Reply, decide};
use scalectl::domain::scale::event::{Event, EventBody};
use scalectl::domain::scale::execution::{Execution, Phase};
use scalectl::domain::scale::invariant;
use scalectl::domain::scale::observation::Reading;
use scalectl::domain::scale::others::Others;
use scalectl::domain::scale::owners::Owners;
use scalectl::domain::scale::provenance::{Claim, Provenance};
use scalectl::domain::scale::rejection::Rejection;
use scalectl::domain::scale::service::{
    Binding, Capabilities, ConvergeOn, Drain, FenceSource, OnUnknown, Outdated, RegisteredActuator,
    RegisteredMode, Registration, TargetMatch, Terms,
};
use scalectl::domain::scale::state::ServiceState;
use scalectl::domain::time::{DurationMs, Timestamp};

pub(crate) use super::given::{Denying, count, id};

/// What really runs; nobody but the world itself and a call changes it.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) uid: String,
    pub(crate) version: u64,
    /// How often its status has moved the version and not the generation.
    pub(crate) touched: u64,
    /// Whether whoever registers it can say its count.
    pub(crate) is_counted: bool,
    pub(crate) replicas: u64,
    pub(crate) ready: Option<u64>,
}

#[derive(Clone)]
pub(crate) struct World {
    pub(crate) state: ServiceState,
    /// One entry per transaction.
    pub(crate) log: Vec<Vec<Event>>,
    pub(crate) now: Timestamp,
    /// Who they say they are.
    pub(crate) actor: String,
    /// Who they are, as the operating system knows.
    pub(crate) person: String,
    pub(crate) policy: Denying,
    pub(crate) actuator: RegisteredActuator,
    pub(crate) wanted: Registration,
    pub(crate) target: Target,
    /// The environment that it is in.
    pub(crate) placed: Option<PlacedIn>,
    pub(crate) minted: u64,
    /// The lease of each call that was ever made.
    pub(crate) calls: BTreeMap<(String, u64), LeaseInstanceId>,
    /// The code of every refusal that was met.
    pub(crate) refused: BTreeSet<&'static str>,
}

pub(crate) const START: &str = "2026-01-01T12:00:00Z";

impl World {
    /// A registered service `web` with three replicas.
    pub(crate) fn new(settings: &str) -> Self {
        let mut world = Self::unregistered();
        settings.split_whitespace().for_each(|word| world.set(word));
        if !settings.split_whitespace().any(|word| word == "unregistered") {
            world.register(None).expect("the test's own registration");
        }
        world
    }

    fn unregistered() -> Self {
        let terms = Terms {
            target_match: TargetMatch::Version,
            on_unknown: OnUnknown::ObserveFirst,
            required_readings: serde_json::from_value(2.into()).expect("2 readings"),
            reading_interval_ms: DurationMs::from_secs(1),
            converge_on: ConvergeOn::Ready,
            drain: Drain::None,
            quiet_ms: DurationMs::from_secs(60),
        };
        let wanted = Registration {
            service: id("web"),
            unit_revision: serde_json::from_value(1.into()).expect("a revision"),
            mode: RegisteredMode::Native,
            writer: id("writer"),
            min_replicas: count(0),
            max_replicas: count(10),
            actuator: Some(id("fake")),
            cluster_id: id("cluster"),
            runtime_id: id("runtime"),
            workload_id: id("web"),
            terms,
            cooldown_ms: None,
            fences: FenceSource::Minted,
            retry_policy: scalectl::domain::scale::intent::RetryPolicy::default(),
            labels: BTreeMap::new(),
            scaling: None,
            declared_replicas: None,
            quorum_required: false,
            owner: None,
            environment: None,
        };
        let actuator = RegisteredActuator {
            name: id("fake"),
            adapter: "fake".to_owned(),
            version: "1".to_owned(),
            protocol: "scalectl.actuator/1".to_owned(),
            environment: Vec::new(),
            capabilities: Capabilities { inspect: true, ..Capabilities::default() },
            timeout_ms: DurationMs::from_secs(60),
        };
        Self {
            state: ServiceState::default(),
            log: Vec::new(),
            now: START.parse().expect("an instant"),
            actor: "ann".to_owned(),
            person: "ann".to_owned(),
            policy: Denying::default(),
            actuator,
            wanted,
            target: Target {
                uid: "uid-1".to_owned(),
                version: 1,
                touched: 0,
                is_counted: true,
                replicas: 3,
                ready: None,
            },
            placed: None,
            minted: 0,
            calls: BTreeMap::new(),
            refused: BTreeSet::new(),
        }
    }

    /// Changes one setting of the next registration, or one capability of the actuator.
    pub(crate) fn set(&mut self, word: &str) {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let wanted = &mut self.wanted;
        let capabilities = &mut self.actuator.capabilities;
        let millis = || value.parse::<DurationMs>().expect("a duration");
        let number = || value.parse::<u64>().expect("a number");
        match name {
            "min" => wanted.min_replicas = count(number()),
            "max" => wanted.max_replicas = count(number()),
            "mode" => wanted.mode = id(value),
            "writer" => wanted.writer = id(value),
            "workload" => wanted.workload_id = id(value),
            "readings" => {
                wanted.terms.required_readings =
                    serde_json::from_value(number().into()).expect("readings");
            }
            "on_unknown" => wanted.terms.on_unknown = id(value),
            "match" => wanted.terms.target_match = id(value),
            "converge_on" => wanted.terms.converge_on = id(value),
            "drain" => wanted.terms.drain = id(value),
            "quiet" => wanted.terms.quiet_ms = millis(),
            "cooldown" => wanted.cooldown_ms = Some(millis()),
            "fences" => wanted.fences = id(value),
            "tries" => {
                wanted.retry_policy.max_attempts =
                    serde_json::from_value(number().into()).expect("attempts");
            }
            "backoff" => wanted.retry_policy.backoff = millis(),
            "no_actuator" => wanted.actuator = None,
            "blind" => capabilities.inspect = false,
            "dedupes" => capabilities.deduplicates_execution_key = true,
            "evidence" => capabilities.evidence = true,
            "drains_itself" => capabilities.drains_itself = true,
            "ready" => self.target.ready = Some(number()),
            "deny" => {
                let (actor, action) = value.split_once(':').unwrap_or(("*", value));
                self.policy.0.insert((actor.to_owned(), id(action)));
            }
            "declared" => wanted.declared_replicas = Some(count(number())),
            "quorum" => wanted.quorum_required = true,
            "scaled" => wanted.scaling = Some(super::fleet_commands::spec(value)),
            "uncounted" => self.target.is_counted = false,
            "unregistered" => {}
            other => panic!("no such setting: {other}"),
        }
    }

    pub(crate) fn register(&mut self, expected: Option<u64>) -> Result<Reply, Rejection> {
        self.act(&Command::RegisterService(Box::new(RegisterService {
            registration: self.wanted.clone(),
            binding: Some(self.binding()),
            expected,
            accept_uid: None,
            others: Others::default(),
            owners: Owners::default(),
            authorization: None,
        })))
    }

    pub(crate) fn binding(&self) -> Binding {
        let reading = self.reading();
        Binding {
            target_uid: reading.target_uid,
            target_resource_version: reading.target_resource_version,
            generation: reading.generation,
            replicas: Some(reading.replicas).filter(|_| self.target.is_counted),
            ready_replicas: reading.ready_replicas,
            read_at: reading.read_at,
            outdated: Outdated::default(),
        }
    }

    /// What somebody who looks at the target now finds.
    pub(crate) fn reading(&self) -> Reading {
        Reading {
            began_at: self.now,
            read_at: self.now,
            target_uid: id(&self.target.uid),
            target_resource_version: id(&match self.target.touched {
                0 => format!("v{}", self.target.version),
                touched => format!("v{}.{touched}", self.target.version),
            }),
            generation: Some(self.target.version),
            replicas: count(self.target.replicas),
            ready_replicas: self.target.ready.map(count),
        }
    }

    /// Something changes the target: a call, or anybody else.
    pub(crate) fn change_target(&mut self, replicas: u64) {
        self.target.version += 1;
        self.target.replicas = replicas;
        self.target.ready = self.target.ready.map(|_| replicas);
    }

    pub(crate) fn mint(&mut self, kind: &str) -> String {
        self.minted += 1;
        format!("{kind}-{}", self.minted)
    }

    pub(crate) fn by(&self) -> Provenance {
        Provenance {
            actor: Claim::try_from(self.actor.clone()).expect("a claim"),
            // 1000 for ann, and another number for another name.
            uid: self.person.bytes().map(u32::from).sum::<u32>() + 683,
            os_user: self.person.clone(),
            host: "host".to_owned(),
            pid: 7,
            run_url: None,
            reference: None,
            db_role: None,
            signed_by: None,
        }
    }

    /// Decides, and applies what was decided. Holds what must hold of every step.
    pub(crate) fn act(&mut self, command: &Command) -> Result<Reply, Rejection> {
        let before = self.state.clone();
        let decision = self.decide(&before, command);
        let loaded = loaded_for(&before, command);
        assert_eq!(decision, self.decide(&loaded, command), "a partial state decides otherwise");
        let decision = match decision {
            Ok(decision) => decision,
            Err(rejection) => {
                self.refused.insert(rejection.code());
                assert!(!rejection.to_string().is_empty());
                return Err(rejection);
            }
        };
        for event in &decision.events {
            let text = serde_json::to_string(event).expect("an event is JSON");
            let read: Event = serde_json::from_str(&text).expect("an event is read back");
            assert_eq!(read, *event, "{text}");
            if let EventBody::AttemptStarted { execution_key, call, .. } = &event.body {
                let made = (execution_key.to_string(), call.attempt.get());
                self.calls.insert(made, call.lease_instance_id.clone());
            }
        }
        if !decision.events.is_empty() {
            self.log.push(decision.events.clone());
        }
        let folded = before.fold(&decision.events).expect("decided events are legal");
        let partial = loaded.fold(&decision.events).expect("decided events are legal");
        assert_eq!(folded.head, partial.head, "a partial state folds to another head");
        for (key, execution) in &partial.executions {
            assert_eq!(folded.executions.get(key), Some(execution));
        }
        self.state = folded;
        self.check();
        Ok(decision.reply)
    }

    pub(crate) fn decide(
        &self,
        state: &ServiceState,
        command: &Command,
    ) -> Result<Decision, Rejection> {
        let (by, ledger_id): (_, LedgerId) = (self.by(), id("ledger-1"));
        let context = Context {
            by: &by,
            ledger_id: &ledger_id,
            actuator: Some(&self.actuator),
            policy: &self.policy,
            recent: None,
            placed: self.placed.clone(),
        };
        decide(state, command, &context, self.now)
    }

    /// What must hold after every step: the rules of the house, and the whole log from scratch.
    pub(crate) fn check(&self) {
        invariant::check(&self.state).unwrap_or_else(|violation| panic!("{violation}"));
        let again = ServiceState::default().fold(self.log.iter().flatten());
        assert_eq!(again.expect("the log is legal"), self.state, "the fold is another state");
        let open = |e: &&Execution| {
            e.is_live() && matches!(e.phase, Phase::Started { .. } | Phase::RecoveryPending { .. })
        };
        assert!(self.state.executions.values().filter(open).count() <= 1, "two calls may live");
        let (mut last, mut at) = (0, None);
        let mut observed = BTreeMap::<&ExecutionKey, u64>::new();
        let mut started = BTreeSet::new();
        let mut proposed = BTreeSet::new();
        for event in self.log.iter().flatten() {
            let is_back = matches!(event.body, EventBody::ClockAccepted { .. });
            assert!(is_back || Some(event.at) >= at, "an event is older than the one before it");
            at = Some(event.at);
            match &event.body {
                // A grant takes no other number than the proposal has.
                EventBody::IntentAccepted { intent, .. }
                    if proposed.contains(&intent.wish.execution_key) => {}
                EventBody::IntentProposed { intent, .. }
                | EventBody::IntentAccepted { intent, .. }
                    if !intent.dry_run =>
                {
                    assert_eq!(intent.wish.intent_revision.get(), last + 1);
                    last += 1;
                    if matches!(event.body, EventBody::IntentProposed { .. }) {
                        proposed.insert(&intent.wish.execution_key);
                    }
                }
                EventBody::AttemptStarted { execution_key, call, .. } => {
                    assert!(started.insert((execution_key, call.attempt)), "started twice");
                }
                EventBody::ObservationRecorded { execution_key, .. } => {
                    *observed.entry(execution_key).or_default() += 1;
                }
                _ => {}
            }
        }
        for execution in self.state.executions.values() {
            let is_verified = matches!(execution.phase, Phase::Verified { .. });
            let times = observed.get(execution.key()).copied().unwrap_or(0);
            assert_eq!(times, u64::from(is_verified), "{} has {times} ends", execution.key());
        }
    }

    /// A crash: the last `transactions` never became durable.
    pub(crate) fn cut(&mut self, transactions: usize) {
        self.log.truncate(self.log.len() - transactions);
        self.state = ServiceState::default().fold(self.log.iter().flatten()).expect("a prefix");
    }

    pub(crate) fn execution(&self, key: &str) -> &Execution {
        let found = self.state.executions.get(&id::<ExecutionKey>(key));
        found.unwrap_or_else(|| panic!("there is no {key}"))
    }
}

/// What the ledger loads for a command: the head, what is live and unfinished, and the named key.
pub(crate) fn loaded_for(state: &ServiceState, command: &Command) -> ServiceState {
    let named = command.execution_key().cloned();
    let executions = state.executions.iter().filter(|(key, execution)| {
        (!execution.phase.is_finished() && execution.is_live()) || Some(*key) == named.as_ref()
    });
    ServiceState {
        head: state.head.clone(),
        executions: executions.map(|(key, found)| (key.clone(), found.clone())).collect(),
    }
}
