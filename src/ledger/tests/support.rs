//! A ledger in a directory of its own, and events by hand.

use std::path::{Path, PathBuf};

use crate::domain::id::{CommandId, ExecutionKey, LedgerId, Replicas, ServiceName};
use crate::domain::registry::{RefusalBody, RefusalEvent};
use crate::domain::scale::attempt::{Base, ResultSource};
use crate::domain::scale::event::{Event, EventBody};
use crate::domain::scale::execution::{Acceptance, NewIntent, Submitted};
use crate::domain::scale::intent::{ControllerMode, Fence, IntentWish, RetryPolicy, TargetBinding};
use crate::domain::scale::policy::{PolicyAction, PolicyAnswer};
use crate::domain::scale::provenance::{Provenance, WishSource};
use crate::domain::scale::result::{ActuationResult, Answer, Detail};
use crate::domain::scale::service::{
    Binding, Capabilities, ConvergeOn, Drain, FenceSource, OnUnknown, Outdated, RegisteredActuator,
    RegisteredMode, Registration, TargetMatch, Terms,
};
use crate::domain::time::{DurationMs, Timestamp};
use crate::ledger::reach::Reach;
use crate::ledger::{
    CreateOptions, Depth, EventFilter, Ledger, LedgerError, Location, OpenOptions, StoredEvent,
    Verification,
};

pub(super) fn id<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("a valid text")
}

pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros((1_767_268_800 + seconds) * 1_000_000).expect("in range")
}

pub(super) fn by() -> Provenance {
    Provenance {
        actor: "anna".to_owned().try_into().expect("a claim"),
        uid: 1000,
        os_user: "anna".to_owned(),
        host: "host-1".to_owned(),
        pid: 7,
        run_url: None,
        reference: None,
        db_role: None,
        signed_by: None,
    }
}

pub(super) fn event(seconds: i64, body: EventBody) -> Event {
    Event { at: at(seconds), by: by(), body }
}

pub(super) fn allowed() -> PolicyAnswer {
    PolicyAnswer {
        allowed: true,
        action: PolicyAction::ScaleUp,
        rules: Vec::new(),
        errors: Vec::new(),
        policy_digest: None,
    }
}

fn terms() -> Terms {
    Terms {
        target_match: TargetMatch::Version,
        on_unknown: OnUnknown::ObserveFirst,
        required_readings: 1.try_into().expect("in range"),
        reading_interval_ms: DurationMs::from_secs(1),
        converge_on: ConvergeOn::Ready,
        drain: Drain::None,
        quiet_ms: DurationMs::ZERO,
    }
}

fn binding() -> Binding {
    Binding {
        target_uid: id("uid-1"),
        target_resource_version: id("1"),
        generation: None,
        replicas: Some(Replicas::from(3)),
        ready_replicas: None,
        read_at: at(0),
        outdated: Outdated::default(),
    }
}

pub(super) fn registered(service: &str) -> Event {
    let registration = Registration {
        service: id(service),
        unit_revision: 1.try_into().expect("in range"),
        mode: RegisteredMode::Native,
        writer: id("writer-1"),
        min_replicas: Replicas::from(0),
        max_replicas: Replicas::from(10),
        actuator: Some(id("local")),
        cluster_id: id("c"),
        runtime_id: id("r"),
        workload_id: id(service),
        terms: terms(),
        cooldown_ms: None,
        fences: FenceSource::Minted,
        retry_policy: RetryPolicy::default(),
        labels: [("team".to_owned(), "grün".to_owned())].into(),
        scaling: None,
        declared_replicas: None,
        quorum_required: false,
        owner: None,
        environment: None,
    };
    let body =
        EventBody::ServiceRegistered { registration, binding: binding(), decision: allowed() };
    event(1, body)
}

pub(super) fn bound(seconds: i64) -> Event {
    event(seconds, EventBody::TargetBound { binding: binding() })
}

fn target(service: &str) -> TargetBinding {
    TargetBinding {
        cluster_id: id("c"),
        runtime_id: id("r"),
        workload_id: id(service),
        target_uid: id("uid-1"),
        target_resource_version: id("1"),
    }
}

pub(super) fn intent(service: &str, key: &str, revision: u64, dry_run: bool) -> NewIntent {
    let wish = IntentWish {
        intent_id: id(&format!("intent:{service}")),
        intent_revision: revision.try_into().expect("in range"),
        expected_unit_revision: 1.try_into().expect("in range"),
        desired_replicas: Replicas::from(5),
        min_replicas: Replicas::from(0),
        max_replicas: Replicas::from(10),
        controller_mode: ControllerMode::Native,
        replica_writer_id: id("writer-1"),
        execution_key: id(key),
        target: target(service),
        reason: "more load\u{7}".to_owned().try_into().expect("a reason"),
        retry_policy: RetryPolicy::default(),
    };
    NewIntent {
        behind: None,
        service: id(service),
        wish,
        dry_run,
        submitted: Submitted { whole_record: false, retry_policy: None },
        terms: terms(),
        base: Base {
            outdated: false,
            target_uid: id("uid-1"),
            target_resource_version: id("1"),
            generation: None,
            replicas: Some(Replicas::from(3)),
        },
        current: Some(Replicas::from(3)),
        decision: allowed(),
        permissions: Vec::new(),
        source: WishSource::Cli,
        rolls_back: None,
    }
}

pub(super) fn accepted(service: &str, key: &str, revision: u64, dry_run: bool) -> Event {
    let intent = intent(service, key, revision, dry_run);
    let fence = Fence {
        lease_id: id("ledger:l-1"),
        lease_epoch: 1.try_into().expect("in range"),
        fence_token: revision.try_into().expect("in range"),
        expires_at: at(3600),
    };
    let (created_at, record) = (at(10), intent.wish.clone().accepted(fence.clone(), at(10)));
    let acceptance = Acceptance {
        fence,
        created_at,
        identity_digest: record.identity_digest(),
        accepted_at: at(10),
        consent: None,
    };
    event(10, EventBody::IntentAccepted { intent, acceptance, receipt: None })
}

pub(super) fn withdrawn(key: &str) -> Event {
    event(20, EventBody::IntentWithdrawn { execution_key: id(key), reason: None })
}

/// The result of a simulation: from `accepted` without a call.
pub(super) fn simulated(service: &str, key: &str) -> Event {
    let result = ActuationResult {
        execution_key: id(key),
        target: target(service),
        answer: Answer::Simulated { observed_replicas: None, retryable: false },
        detail: Detail::default(),
        actuator_operation_id: None,
    };
    let body = EventBody::ResultRecorded {
        execution_key: id(key),
        attempt: 1.try_into().expect("in range"),
        result,
        source: ResultSource::Simulation,
        ended_at: at(15),
        retry_at: None,
        partly_applied: false,
        rollback_required: false,
        resource_version_after: None,
        decision: None,
    };
    event(15, body)
}

pub(super) fn actuator(name: &str) -> RegisteredActuator {
    RegisteredActuator {
        name: id(name),
        adapter: "local".to_owned(),
        version: "1".to_owned(),
        protocol: "scalectl.actuator/1".to_owned(),
        environment: vec!["PATH".to_owned()],
        capabilities: Capabilities::default(),
        timeout_ms: DurationMs::from_secs(60),
    }
}

pub(super) fn refusal(seconds: i64, code: &str, message: &str, fingerprint: &str) -> RefusalEvent {
    let body = RefusalBody::Refused {
        service: Some(id("web")),
        execution_key: None,
        code: code.to_owned(),
        message: message.to_owned(),
        fingerprint: fingerprint.to_owned(),
        answer: None,
    };
    RefusalEvent { at: at(seconds), by: by(), body }
}

/// A directory with a ledger in it.
pub(super) struct World {
    pub(super) directory: tempfile::TempDir,
    pub(super) path: PathBuf,
}

impl World {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state/ledger.db");
        let world = Self { directory, path };
        drop(create(&world.path).expect("created"));
        world
    }

    pub(super) fn open(&self) -> Ledger {
        open(&self.path).expect("opened")
    }

    /// Appends to a service in one transaction.
    pub(super) fn append(&self, service: &str, events: &[Event]) {
        append(&mut self.open(), service, events).expect("appended");
    }

    pub(super) fn verify(&self) -> Verification {
        let mut ledger = self.open();
        let txn = ledger.read().expect("reads");
        txn.verify(&[], Depth::Thorough).expect("verified")
    }

    pub(super) fn events(&self) -> Vec<StoredEvent> {
        let mut ledger = self.open();
        let txn = ledger.read().expect("reads");
        txn.events(&EventFilter::default()).expect("events")
    }

    /// Changes the database behind the ledger's back, and leaves everything in the one file.
    pub(super) fn tamper(&self, sql: &str) {
        let raw = raw(&self.path);
        raw.execute_batch(
            "DROP TRIGGER event_is_never_changed; DROP TRIGGER event_is_never_deleted",
        )
        .expect("dropped");
        raw.execute_batch(sql).expect("tampered");
    }
}

#[expect(clippy::disallowed_methods, reason = "a test that plays the vandal")]
pub(super) fn raw(path: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(path).expect("opened")
}

pub(super) fn create(path: &Path) -> Result<Ledger, LedgerError> {
    let options = CreateOptions {
        ledger_id: id::<LedgerId>("l-1"),
        command_id: id::<CommandId>("command-0"),
        open: OpenOptions::default(),
        group: None,
    };
    Ledger::create(&Location::File(path.to_owned()), &by(), at(0), &options)
}

pub(super) fn open(path: &Path) -> Result<Ledger, LedgerError> {
    let options = OpenOptions { lock_timeout: DurationMs::from_secs(30), ..OpenOptions::default() };
    Ledger::open(&Location::File(path.to_owned()), options)
}

pub(super) fn append(
    ledger: &mut Ledger,
    service: &str,
    events: &[Event],
) -> Result<(), LedgerError> {
    let service: ServiceName = id(service);
    let keys: Vec<ExecutionKey> =
        events.iter().filter_map(|event| event.body.execution_key().cloned()).collect();
    let mut txn = ledger.write(id("command-1"), Reach::service(&service))?;
    let state = txn.service_state(&service, &keys)?;
    txn.append(&service, state, events)?;
    let _committed = txn.commit()?;
    Ok(())
}
