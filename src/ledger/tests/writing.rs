//! What is written can be read again, by one or by many.

use super::support::*;
use crate::domain::digest::Digest;
use crate::domain::id::{ExecutionKey, IntentRevision, ServiceName};
use crate::domain::registry::{PolicyBody, PolicyEvent, RegistryBody, RegistryEvent, StoredPolicy};
use crate::domain::scale::event::Event;
use crate::domain::scale::state::ServiceState;
use crate::ledger::reach::Reach;
use crate::ledger::sql::{CommitError, Engine, Lock, Row, RowFlow, Statement, Value};
use crate::ledger::{
    Depth, ErrorClass, EventFilter, ExecutionFilter, Ledger, LedgerError, Order, Stream, WriteTxn,
};

fn history() -> Vec<Event> {
    vec![
        registered("web"),
        accepted("web", "k-1", 1, false),
        withdrawn("k-1"),
        accepted("web", "k-dry", 2, true),
        accepted("web", "k-2", 2, false),
        bound(30),
    ]
}

#[test]
fn what_is_read_back_is_the_fold() {
    let world = World::new();
    for event in history() {
        world.append("web", &[event]);
    }
    let folded = ServiceState::default().fold(&history()).expect("legal");
    let keys: Vec<ExecutionKey> = folded.executions.keys().cloned().collect();
    let mut ledger = world.open();
    let txn = ledger.read().expect("reads");
    assert_eq!(txn.service_state(&id("web"), &keys).expect("a state"), folded);

    // Without names: what is live and unfinished, and the current one; no simulation.
    let state = txn.service_state(&id("web"), &[]).expect("a state");
    let keys: Vec<&str> = state.executions.keys().map(ExecutionKey::as_str).collect();
    assert_eq!(keys, ["k-2"]);
    assert_eq!(
        txn.service_state(&id("api"), &[id("k-1")]).expect("empty"),
        ServiceState::default()
    );
    drop(txn);
    assert!(world.verify().is_sound(), "{:?}", world.verify());
}

#[test]
fn lists_and_look_ups_answer_what_is_there() {
    let world = World::new();
    world.append("web", &history());
    world.append("api", &[registered("api"), accepted("api", "a-1", 1, false)]);
    let mut ledger = world.open();
    let txn = ledger.read().expect("reads");
    let two = IntentRevision::new(2).expect("in range");
    let names: Vec<String> =
        txn.service_names().expect("names").iter().map(ServiceName::to_string).collect();
    assert_eq!(names, ["api", "web"]);
    assert_eq!(txn.service_heads().expect("heads").len(), 2);
    assert_eq!(txn.key_at(&id("web"), two).expect("a key"), Some(id("k-2")));
    assert_eq!(txn.intent_owner(&id("intent:web"), two).expect("a key"), Some(id("k-2")));
    assert_eq!(txn.intent_owner(&id("intent:other"), two).expect("none"), None);
    let found = txn.find_execution(&id("a-1")).expect("found").expect("is there");
    assert_eq!(found.intent.service, id("api"));

    let list = |filter: &ExecutionFilter| -> Vec<String> {
        let found = txn.executions(filter).expect("executions");
        found.iter().map(|execution| execution.key().to_string()).collect()
    };
    let web = Some(id("web"));
    assert_eq!(list(&ExecutionFilter::default()), ["a-1", "k-2", "k-dry", "k-1"]);
    let of_web = ExecutionFilter { service: web.clone(), ..Default::default() };
    assert_eq!(list(&of_web), ["k-2", "k-dry", "k-1"]);
    assert_eq!(list(&ExecutionFilter { limit: Some(1), ..of_web }), ["k-2"]);
    let unfinished = ExecutionFilter { service: web, unfinished: true, limit: None };
    assert_eq!(list(&unfinished), ["k-2"]);
    let all = ExecutionFilter { unfinished: true, ..Default::default() };
    assert_eq!(list(&all), ["a-1", "k-2"]);
}

#[test]
fn a_simulated_live_intent_keeps_its_number_but_is_not_live() {
    let world = World::new();
    world.append("web", &[registered("web"), accepted("web", "k-1", 1, false)]);
    let observed = {
        let mut ledger = world.open();
        let txn = ledger.read().expect("reads");
        txn.key_at(&id("web"), IntentRevision::MIN).expect("a key")
    };
    assert_eq!(observed, Some(id("k-1")));
    world.append("web", &[simulated("web", "k-1")]);
    assert!(world.verify().is_sound());
    let mut ledger = world.open();
    let txn = ledger.read().expect("reads");
    let owner = txn.intent_owner(&id("intent:web"), IntentRevision::MIN).expect("an owner");
    assert_eq!(owner, Some(id("k-1")));
}

#[test]
fn events_are_found_by_every_filter() {
    let world = World::new();
    world.append("web", &history());
    world.append("api", &[registered("api"), accepted("api", "a-1", 1, false)]);
    let mut ledger = world.open();
    let txn = ledger.read().expect("reads");
    let kinds = |filter: &EventFilter| -> Vec<String> {
        txn.events(filter).expect("events").into_iter().map(|event| event.kind).collect()
    };
    let all = EventFilter::default();
    assert_eq!(kinds(&all).len(), 9);
    assert_eq!(kinds(&EventFilter { after: 8, ..all.clone() }), ["intent_accepted"]);
    let newest = EventFilter { order: Order::NewestFirst, limit: Some(2), ..all.clone() };
    assert_eq!(kinds(&newest), ["intent_accepted", "service_registered"]);
    let of_key = EventFilter { execution_key: Some(id("k-1")), ..all.clone() };
    assert_eq!(kinds(&of_key), ["intent_accepted", "intent_withdrawn"]);
    let api = EventFilter { streams: vec![Stream::Service(id("api"))], ..all.clone() };
    assert_eq!(kinds(&api), ["service_registered", "intent_accepted"]);
    assert_eq!(kinds(&EventFilter { after: 8, ..api.clone() }), ["intent_accepted"]);
    let both = vec![Stream::Registry, Stream::Service(id("api"))];
    let both = EventFilter { streams: both, limit: Some(2), ..all.clone() };
    assert_eq!(kinds(&both), ["ledger_created", "service_registered"]);
    let command = EventFilter { command_id: Some(id("command-0")), ..all.clone() };
    assert_eq!(kinds(&command), ["ledger_created"]);
    let window = EventFilter { since: Some(at(11)), until: Some(at(30)), ..all.clone() };
    assert_eq!(kinds(&window), ["intent_withdrawn"]);
    assert_eq!(kinds(&EventFilter { limit: Some(0), ..all }), Vec::<String>::new());
    let first = &txn.events(&api).expect("events")[0];
    assert_eq!((first.by.clone(), first.at), (by(), at(1)));
    assert_eq!(first.body["registration"]["service"], "api");
}

#[test]
fn actuators_and_policies_are_kept_with_their_history() {
    let world = World::new();
    let policy = |text: &str| StoredPolicy {
        digest: Digest::of(text.as_bytes()),
        document: text.to_owned(),
    };
    for text in ["first", "second"] {
        let mut ledger = world.open();
        let mut txn = ledger.write(id("command-2"), Reach::settings()).expect("writes");
        let body =
            PolicyBody::PolicySet { policy: policy(text), decision: allowed(), reason: None };
        txn.append_policy(&PolicyEvent { at: at(5), by: by(), body }).expect("set");
        let body =
            RegistryBody::ActuatorRegistered { actuator: actuator(text), decision: allowed() };
        txn.append_registry(&RegistryEvent { at: at(5), by: by(), body }).expect("registered");
        let committed = txn.commit().expect("committed");
        assert_eq!(committed.command_id(), &id("command-2"));
        assert_eq!((committed.ledger_id(), committed.incarnation()), (&id("l-1"), 1));
    }
    let mut ledger = world.open();
    let txn = ledger.read().expect("reads");
    assert_eq!(txn.policy().expect("a policy"), Some(policy("second")));
    assert_eq!(txn.policy_history().expect("a history").len(), 2);
    assert_eq!(txn.actuators().expect("actuators"), [actuator("first"), actuator("second")]);
    assert_eq!(txn.actuator(&id("first")).expect("found"), Some(actuator("first")));
    assert_eq!(txn.actuator(&id("third")).expect("none"), None);
    assert_eq!(txn.stream_heads().expect("heads").len(), 2);
    assert!(txn.verify(&[], Depth::Thorough).expect("verified").is_sound());
}

#[test]
fn equal_refusals_are_written_once_a_minute() {
    let world = World::new();
    let mut ledger = world.open();
    let mut refuse = |event| {
        let mut txn = ledger.write(id("command-3"), Reach::refusals()).expect("writes");
        let is_written = txn.append_refusal(&event).expect("recorded");
        let _committed = txn.commit().expect("committed");
        is_written
    };
    assert!(refuse(refusal(0, "denied", "no, 1 s left", "no")));
    assert!(!refuse(refusal(1, "denied", "no, 2 s left", "no")));
    assert!(refuse(refusal(2, "denied", "never", "never")));
    assert!(refuse(refusal(3, "cooldown", "no", "no")));
    assert!(!refuse(refusal(59, "denied", "no", "no")));
    assert!(refuse(refusal(60, "denied", "no", "no")));
    assert!(!refuse(refusal(61, "denied", "no", "no")));
    let mut other = refusal(62, "denied", "no", "no");
    other.by.actor = "bert".to_owned().try_into().expect("a claim");
    assert!(refuse(other));
    assert!(world.verify().is_sound());
}

#[test]
fn concurrent_writers_take_turns() {
    let world = World::new();
    world.append("web", &[registered("web")]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut ledger = world.open();
                for seconds in 0..25 {
                    append(&mut ledger, "web", &[bound(40 + seconds)]).expect("appended");
                }
            });
        }
    });
    let found = world.verify();
    assert!(found.is_sound(), "{found:?}");
    assert_eq!(found.heads.iter().map(|head| head.sequence).collect::<Vec<_>>(), [1, 101]);
}

#[test]
fn one_transaction_may_append_more_than_once() {
    let world = World::new();
    let web: ServiceName = id("web");
    let mut ledger = world.open();
    let mut txn = ledger.write(id("command-4"), Reach::service(&id("web"))).expect("writes");
    let mut state = txn.service_state(&web, &[]).expect("a state");
    for event in history() {
        state = txn.append(&web, state, &[event]).expect("appended");
    }
    let _committed = txn.commit().expect("committed");
    assert!(world.verify().is_sound());
}

#[test]
fn a_part_that_fails_leaves_nothing_and_the_rest_goes_on() {
    let world = World::new();
    let web: ServiceName = id("web");
    let mut ledger = world.open();
    let mut txn = ledger.write(id("command-4"), Reach::service(&id("web"))).expect("writes");
    let mut put = |event: Event| {
        txn.part(id("command-5"), |txn| {
            let state = txn.service_state(&web, &[id("k-1")])?;
            txn.append(&web, state, std::slice::from_ref(&event))?;
            // The last one fails after its event is written.
            if event.at == at(31) { Err(refused_late(txn)) } else { Ok(()) }
        })
    };
    put(registered("web")).expect("appended");
    put(accepted("web", "k-1", 1, false)).expect("appended");
    assert_eq!(put(withdrawn("k-9")).expect_err("no such key").code(), "ledger_damaged");
    assert_eq!(put(bound(31)).expect_err("refused").code(), "ledger_stale");
    put(bound(30)).expect("appended");
    let committed = txn.commit().expect("committed");
    assert_eq!(committed.command_id(), &id("command-4"));
    let kinds: Vec<String> = world.events().into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds, ["ledger_created", "service_registered", "intent_accepted", "target_bound"]);
    // A part is a run of its own.
    assert!(world.events()[1..].iter().all(|event| event.command_id == id("command-5")));
    assert!(world.verify().is_sound());
}

fn refused_late(txn: &WriteTxn<'_>) -> LedgerError {
    let path = txn.identity().path.clone();
    LedgerError::Stale { path, service: id("web"), what: "a test".to_owned() }
}

#[test]
fn a_half_written_transaction_is_not_committed() {
    let world = World::new();
    world.append("web", &[registered("web")]);
    let before = world.events();
    let mut ledger = world.open();

    // The state of another transaction: nothing was read in this one.
    let state = ledger.read().expect("reads").service_state(&id("web"), &[]).expect("a state");
    let mut txn = ledger.write(id("command-5"), Reach::service(&id("web"))).expect("writes");
    let error = txn.append(&id("web"), state, &[bound(9)]).expect_err("not read here");
    assert_eq!((error.code(), error.class()), ("ledger_stale", ErrorClass::Conflict));
    let error = txn.commit().expect_err("half written");
    assert_eq!(error.code(), "ledger_incomplete");

    // An event that cannot follow.
    let mut txn = ledger.write(id("command-6"), Reach::service(&id("web"))).expect("writes");
    let state = txn.service_state(&id("web"), &[]).expect("a state");
    let error = txn.append(&id("web"), state, &[withdrawn("k-9")]).expect_err("no such key");
    assert_eq!(error.code(), "ledger_damaged");
    drop(txn);

    // An intent id and revision that another service has taken.
    append(&mut ledger, "api", &[registered("api"), accepted("api", "a-1", 1, false)]).expect("ok");
    let mut stolen = accepted("web", "k-1", 1, false);
    if let crate::domain::scale::event::EventBody::IntentAccepted { intent, .. } = &mut stolen.body
    {
        intent.wish.intent_id = id("intent:api");
    }
    let error = append(&mut ledger, "web", &[stolen]).expect_err("taken");
    assert_eq!(error.code(), "ledger_stale");
    assert_eq!(world.events().len(), before.len() + 2);
    assert!(world.verify().is_sound());
}

#[test]
fn no_command_scans_a_table() {
    use crate::ledger::statements as sql;
    let world = World::new();
    let raw = raw(&world.path);
    for (statement, index) in [
        (sql::READ_STREAM_HEAD, "sqlite_autoindex_event_1"),
        (sql::READ_STREAM, "sqlite_autoindex_event_1"),
        (sql::VERIFY_STREAM, "sqlite_autoindex_event_1"),
        (sql::READ_STREAM_NEWEST_FIRST, "sqlite_autoindex_event_1"),
        (sql::READ_NEXT_STREAM, "sqlite_autoindex_event_1"),
        (sql::READ_EVENTS, "INTEGER PRIMARY KEY"),
        (sql::READ_SERVICE, "sqlite_autoindex_service_1"),
        (sql::UPDATE_SERVICE, "sqlite_autoindex_service_1"),
        (sql::READ_EXECUTION, "sqlite_autoindex_execution_1"),
        (sql::UPDATE_EXECUTION, "sqlite_autoindex_execution_1"),
        (sql::READ_UNFINISHED, "execution_unfinished"),
        (sql::READ_ALL_UNFINISHED, "execution_unfinished"),
        (sql::READ_EXECUTIONS_OF_SERVICE, "execution_by_revision"),
        (sql::READ_KEY_AT, "execution_by_revision"),
        (sql::READ_INTENT_OWNER, "execution_intent"),
        (sql::READ_DOCUMENT, "PRIMARY KEY"),
    ] {
        let explain = format!("EXPLAIN QUERY PLAN {}", statement.text);
        let mut prepared = raw.prepare(&explain).expect("prepared");
        let mut rows = prepared.raw_query();
        let mut plan = String::new();
        while let Some(row) = rows.next().expect("a row") {
            plan += &row.get::<_, String>(3).expect("a text");
        }
        // A walk over the small index of what is unfinished is meant.
        let plan = plan.replace("SCAN execution USING INDEX execution_unfinished", index);
        assert!(plan.contains(index) && !plan.contains("SCAN"), "{}: {plan}", statement.text);
    }
}

/// An engine whose COMMIT reports an error after it has worked: the worst case.
struct LyingCommit(Box<dyn Engine>);

impl Engine for LyingCommit {
    fn begin_read(&self) -> Result<(), LedgerError> {
        self.0.begin_read()
    }
    fn begin_write(&self, locks: &[Lock]) -> Result<(), LedgerError> {
        self.0.begin_write(locks)
    }
    fn commit(&self) -> Result<(), CommitError> {
        self.0.commit()?;
        let (doing, path, problem) = ("commit to", "ledger.db".into(), "I/O error".to_owned());
        Err(CommitError::Unknown(LedgerError::Failed { doing, path, problem }))
    }
    fn rollback(&self) {
        self.0.rollback();
    }
    fn exec(&self, statement: Statement, values: &[Value<'_>]) -> Result<u64, LedgerError> {
        self.0.exec(statement, values)
    }
    fn each(
        &self,
        statement: Statement,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> RowFlow,
    ) -> Result<(), LedgerError> {
        self.0.each(statement, values, row)
    }
    fn storage_problems(&self, thorough: bool, limit: usize) -> Result<Vec<String>, LedgerError> {
        self.0.storage_problems(thorough, limit)
    }
}

#[test]
fn an_error_from_commit_is_unknown_and_ends_all_writing() {
    let world = World::new();
    let Ledger { engine, identity, .. } = world.open();
    let mut ledger = Ledger::of(Box::new(LyingCommit(engine)), identity);
    let error = append(&mut ledger, "web", &[registered("web")]).expect_err("unknown");
    assert_eq!((error.code(), error.class()), ("commit_unknown", ErrorClass::Unknown));
    assert!(error.to_string().contains("command-1"), "{error}");
    let error = append(&mut ledger, "web", &[bound(3)]).expect_err("poisoned");
    assert_eq!(error.code(), "ledger_poisoned");
    let by_command = EventFilter { command_id: Some(id("command-1")), ..Default::default() };
    let txn = ledger.read().expect("reading goes on");
    assert_eq!(txn.events(&by_command).expect("events").len(), 1);
}
