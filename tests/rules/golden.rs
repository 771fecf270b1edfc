//! Events are stored for ever: their text is pinned, one of each kind in `fixtures/events/`.
//!
//! A fixture is never changed, only added: `cargo test --test suite -- --ignored fixtures_are_added`
//! writes those that are missing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use scalectl::domain::digest::Digest;
use scalectl::domain::gateway::{Imported, ScaleAnswer, key_of};
use scalectl::domain::scale::event::{Event, EventBody};
use scalectl::domain::scale::policy::{PolicyAction, PolicyAnswer};

use super::script::run;

/// Scripts that between them record one event of each kind.
const SCRIPTS: [(&str, &str); 8] = [
    (
        "drain=required evidence cooldown=5m ready=3",
        "put a 2 tries=2\nacquire a\nrenew a ttl=90s\nrelease a\nstart a evidence\nok a
         late a detail=again : late\nobserve a",
    ),
    ("", "put b 5\nstart b\nlose b elsewhere rollback\nprove b\nfence b\nsettle b reading"),
    ("", "put c 5\nput d 6\nwithdraw d\nwait 1s\nbind"),
    ("", "put f 5\nrestore lost=7\nback 1h\naccept-clock"),
    (
        "deny=ann:scale_down",
        "put g 2 within=24h\nput h 1 within=1h\nperson bob\ndeny-it h\nhold 1h\nlift",
    ),
    (
        "scaled=10",
        "tick i value=15 : evaluated\nput i 5 pin=60 source=override\nunpin
         hand-over external_keda\nretire",
    ),
    (
        "",
        "authorize bg-1 5\nput j 5 glass=bg-1\nstart j\nok j\nrevoke bg-1\nperson bob\nreview bg-1",
    ),
    ("fences=external", "record e 5 fence=4.9\nstart e\nfatal e read=4"),
];

fn path(kind: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join("fixtures/events").join(format!("{kind}.json"))
}

/// No script of a service with an actuator speaks the gateway's contract.
fn of_the_gateway() -> [EventBody; 2] {
    let response = ScaleAnswer {
        accepted: true,
        actual_replicas: 1,
        revision: Some("6".to_owned()),
        message: "1 of 2 is ready".to_owned(),
    };
    let journal = Digest::of(b"journal");
    let decision = PolicyAnswer {
        allowed: true,
        action: PolicyAction::Administer,
        rules: Vec::new(),
        errors: Vec::new(),
        policy_digest: None,
    };
    [
        EventBody::GatewayFinalized { execution_key: key_of("op-1"), response },
        EventBody::GatewayImported {
            imported: Imported { revision: 5, replicas: 2, journal },
            decision,
        },
    ]
}

fn one_of_each() -> BTreeMap<&'static str, Event> {
    let mut found = BTreeMap::new();
    for (settings, script) in SCRIPTS {
        for event in run(settings, script).log.into_iter().flatten() {
            found.entry(event.body.kind()).or_insert(event);
        }
    }
    for body in of_the_gateway() {
        let any = found.values().next().expect("an event");
        let event = Event { at: any.at, by: any.by.clone(), body };
        found.insert(event.body.kind(), event);
    }
    found
}

/// Every kind that the source of the events names.
fn kinds() -> Vec<&'static str> {
    let source = include_str!("../../src/domain/scale/event.rs");
    let (_, kinds) = source.split_once("pub const fn kind(").expect("the kinds");
    let (kinds, _) = kinds.split_once("\n    }\n}").expect("their end");
    let mut kinds: Vec<&str> = kinds.split('"').skip(1).step_by(2).collect();
    kinds.sort_unstable();
    kinds
}

#[test]
fn the_text_of_every_event_is_pinned() {
    let events = one_of_each();
    assert_eq!(events.keys().copied().collect::<Vec<_>>(), kinds());
    for (kind, event) in events {
        let pinned = std::fs::read_to_string(path(kind)).expect("a fixture of each kind");
        let pinned = pinned.trim_end();
        assert_eq!(serde_json::to_string(&event).expect("an event is JSON"), pinned, "{kind}");
        let read: Event = serde_json::from_str(pinned).expect("a stored event is read");
        assert_eq!(read, event, "{kind}");
        let foreign = pinned.replacen("\"event\":", "\"extra\":1,\"event\":", 1);
        assert!(serde_json::from_str::<Event>(&foreign).is_err(), "{kind} with a foreign member");
    }
}

#[test]
#[ignore = "writes fixtures"]
fn fixtures_are_added() {
    for (kind, event) in one_of_each() {
        let text = serde_json::to_string(&event).expect("an event is JSON");
        if !path(kind).exists() {
            std::fs::write(path(kind), format!("{text}\n")).expect("the fixture is written");
        }
    }
}
