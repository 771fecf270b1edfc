//! Makes a ledger large by the rules and the ledger of this program, many lives a transaction.

use std::path::Path;

use scalectl::domain::id::{ExecutionKey, HostKey, ServiceName};
use scalectl::domain::scale::attempt::Call;
use scalectl::domain::scale::command::{
    CallEnd, CallPlan, Command, Context, PutForm, PutIntent, RegisterService, StartAttempt,
};
use scalectl::domain::scale::decide::decide;
use scalectl::domain::scale::execution::{Execution, Phase};
use scalectl::domain::scale::intent::RetryAsked;
use scalectl::domain::scale::lease::Holder;
use scalectl::domain::scale::others::Others;
use scalectl::domain::scale::owners::Owners;
use scalectl::domain::scale::provenance::Provenance;
use scalectl::domain::scale::result::{ActuationResult, Answer, Detail};
use scalectl::domain::scale::service::RegisteredActuator;
use scalectl::domain::scale::state::ServiceState;
use scalectl::domain::time::DurationMs;
use scalectl::ledger::{
    EventFilter, Ledger, Location, OpenOptions, Order, Reach, ReadTxn, WriteTxn,
};
use scalectl::ops::clock::Clock;
use scalectl::ops::mint;
use scalectl::policy::PolicyEngine;

use super::Done;

/// How many lives are one transaction.
const LIVES_PER_COMMIT: u64 = 1000;
/// The events of one life: accepted, started, result, observation.
const EVENTS_PER_LIFE: u64 = 4;
/// The service whose settings all others copy, and that has all events where there is one.
const MODEL: &str = "web";

/// Adds whole lives until the ledger has at least so many events; answers how many it has. With
/// more than one service the lives go round; the first is `web`, the others are made.
pub(crate) fn grow(path: &Path, events: u64, services: u64) -> Done<u64> {
    let mut ledger = Ledger::open(&Location::File(path.to_owned()), OpenOptions::default())?;
    let facts = Facts::of(&ledger.read()?)?;
    let names: Vec<ServiceName> = (0..services.max(1))
        .map(|n| if n == 0 { MODEL.to_owned() } else { format!("{MODEL}-{n}") }.parse())
        .collect::<Result<_, _>>()?;
    for some in names[1..].chunks(usize::try_from(LIVES_PER_COMMIT)?) {
        let mut txn = ledger.write(mint("cmd-")?, Reach::services(some))?;
        for name in some {
            register(&mut txn, &facts, name)?;
        }
        let _committed = txn.commit()?;
    }
    let mut life = 0;
    loop {
        let present = count(&ledger.read()?)?;
        let missing = events.saturating_sub(present).div_ceil(EVENTS_PER_LIFE);
        if missing == 0 {
            return Ok(present);
        }
        let mut txn = ledger.write(mint("cmd-")?, Reach::services(&names))?;
        for _ in 0..missing.min(LIVES_PER_COMMIT) {
            let name = &names[usize::try_from(life % services.max(1))?];
            live(&mut txn, &facts, name, life)?;
            life += 1;
        }
        let _committed = txn.commit()?;
    }
}

fn count(read: &ReadTxn<'_>) -> Done<u64> {
    let newest =
        EventFilter { order: Order::NewestFirst, limit: Some(1), ..EventFilter::default() };
    Ok(read.events(&newest)?.first().map_or(0, |event| event.position))
}

/// What every step needs beside the state.
struct Facts {
    by: Provenance,
    actuator: Option<RegisteredActuator>,
    policy: PolicyEngine,
    model: ServiceState,
}

impl Facts {
    fn of(read: &ReadTxn<'_>) -> Done<Self> {
        let model = read.service_state(&MODEL.parse()?, &[])?;
        let registration = model.head.registration.as_ref().ok_or("no service named web")?;
        let actuator = registration.actuator.as_ref().map_or(Ok(None), |it| read.actuator(it))?;
        let policy = read.policy()?.ok_or("no policy")?;
        let policy = PolicyEngine::of_document(&policy.document)?;
        let first = EventFilter { limit: Some(1), ..EventFilter::default() };
        let by = read.events(&first)?.remove(0).by;
        Ok(Self { by, actuator, policy, model })
    }

    /// Decides one command and appends what was decided.
    fn step(
        &self,
        txn: &mut WriteTxn<'_>,
        service: &ServiceName,
        state: ServiceState,
        command: &Command,
    ) -> Done<ServiceState> {
        let ledger_id = txn.identity().ledger_id.clone();
        let context = Context {
            by: &self.by,
            ledger_id: &ledger_id,
            actuator: self.actuator.as_ref(),
            policy: &self.policy,
            recent: None,
            placed: None,
        };
        let decision = decide(&state, command, &context, Clock::system().now())?;
        Ok(txn.append(service, state, &decision.events)?)
    }
}

fn register(txn: &mut WriteTxn<'_>, facts: &Facts, name: &ServiceName) -> Done<()> {
    let state = txn.service_state(name, &[])?;
    if state.head.registration.is_some() {
        return Ok(());
    }
    let head = &facts.model.head;
    let mut registration = head.registration.clone().ok_or("BUG: the model is registered")?;
    registration.service = name.clone();
    registration.workload_id = name.as_str().parse()?;
    let command = Command::RegisterService(Box::new(RegisterService {
        registration,
        binding: head.binding.clone(),
        expected: None,
        accept_uid: None,
        others: Others::default(),
        owners: Owners::default(),
        authorization: None,
    }));
    facts.step(txn, name, state, &command).map(|_| ())
}

fn wish(service: &ServiceName, key: ExecutionKey, replicas: u32) -> Done<PutIntent> {
    let form = PutForm::Flags {
        replicas: replicas.into(),
        reason: "bench".to_owned().try_into()?,
        retry: RetryAsked::default(),
        key,
        fence: None,
        valid_for: DurationMs::from_secs(3600),
    };
    Ok(PutIntent::new(service.clone(), form))
}

/// One wish from its put to its observation.
fn live(txn: &mut WriteTxn<'_>, facts: &Facts, service: &ServiceName, life: u64) -> Done<()> {
    let state = txn.service_state(service, &[])?;
    let number = state.head.latest_revision + 1;
    let key: ExecutionKey = format!("grown-{service}-{number}").parse()?;
    let writer = state.head.registration.as_ref().ok_or("not registered")?.writer.clone();
    let put = wish(service, key.clone(), u32::try_from(1 + life % 9)?)?;
    let state = facts.step(txn, service, state, &Command::Put(Box::new(put)))?;
    let start = StartAttempt {
        key: key.clone(),
        controller: writer,
        lease: None,
        ttl: DurationMs::from_secs(60),
        found: None,
        began_after_serial: state.head.reading_serial,
        evidence: None,
        attest_not_drained: false,
        override_cooldown: false,
        call: CallPlan {
            call_id: mint("call-")?,
            lease_instance_id: mint("lease-")?,
            holder: Holder {
                host: facts.by.host.clone(),
                host_key: HostKey::try_from("bench".to_owned())?,
                pid: facts.by.pid,
            },
            deadline_boot_ms: 1,
            timeout: DurationMs::from_secs(10),
        },
    };
    let state = facts.step(txn, service, state, &Command::Start(Box::new(start)))?;
    let (execution, call) = started(&state, &key)?;
    let end = Command::EndCall {
        key: key.clone(),
        attempt: call.attempt,
        lease_instance_id: call.lease_instance_id.clone(),
        end: CallEnd::Answered {
            result: ActuationResult {
                execution_key: key.clone(),
                target: execution.intent.wish.target.clone(),
                answer: Answer::Succeeded {
                    observed_replicas: execution.desired(),
                    retryable: false,
                    error_code: None,
                },
                detail: Detail::cut("done"),
                actuator_operation_id: None,
            },
            rollback_required: false,
            resource_version_after: None,
        },
        ended_at: Some(Clock::system().now()),
    };
    let state = facts.step(txn, service, state, &end)?;
    facts
        .step(txn, service, state, &Command::Observe { key, reading: None, bound_before: None })
        .map(|_| ())
}

fn started<'s>(state: &'s ServiceState, key: &ExecutionKey) -> Done<(&'s Execution, &'s Call)> {
    let execution = state.executions.get(key).ok_or("the key is lost")?;
    match &execution.phase {
        Phase::Started { call } => Ok((execution, call)),
        other => Err(format!("{key} is {} and not started", other.as_str()).into()),
    }
}
