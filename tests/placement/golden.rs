//! Events are stored for ever: their text is pinned, one of each kind in
//! `fixtures/placement/events`.
//!
//! A fixture is never changed, only added: `cargo test --test suite -- --ignored
//! placement_fixtures_are_added` writes those that are missing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use scalectl::domain::canonical::canonical_json;
use scalectl::domain::placement::command::{Command, Put};
use scalectl::domain::placement::event::PlacementEvent;
use scalectl::domain::placement::operation::Step;
use scalectl::domain::placement::protocol::Refusal;
use scalectl::domain::placement::registry::ReplicaPool;
use scalectl::domain::scale::result::Detail;
use scalectl::domain::time::DurationMs;

use super::receipts::{refused_with, usage};
use super::world::{World, id_number};
use crate::rules::support::{count, id};

/// How many kinds there are.
const KINDS: usize = 20;

fn path(kind: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join("fixtures/placement/events").join(format!("{kind}.json"))
}

fn one_of_each() -> BTreeMap<&'static str, PlacementEvent> {
    let mut world = World::new();
    let pool = ReplicaPool { name: id("p"), revision: id_number(1), max_replicas: count(4) };
    world.must(&Command::PutPool(Put { setting: pool, expected: Some(0) }));
    world.adopt("shop", "a1", "small");
    let it = usage("shop", "cpu=1,memory=1GiB,storage=1GiB", world.now);
    world.must(&Command::RecordUsage(Box::new(it)));
    let operation = world.change("k1", "shop", "location=b standby=a").expect("room");
    let token = world.lease_as(&operation, false).expect("a lease");
    let (operation_id, ttl) = (operation.clone(), DurationMs::from_secs(90));
    world.must(&Command::RenewLease { operation_id, token, ttl });
    world.until(&operation, token, Some(Step::Commit));
    let step = world.start(&operation, token).expect("it starts");
    let refusal = Refusal::UnprovableFencing { why: "it".to_owned() };
    world.end(&operation, token, step, refused_with(refusal)).expect("recorded");
    let reason = Detail::cut("mended");
    world.must(&Command::Retry { operation_id: operation.clone(), reason });
    world.until(&operation, token, None);
    let operation = world.change("k2", "shop", "cell=a1").expect("room");
    let token = world.lease_as(&operation, false).expect("a lease");
    world.must(&Command::ReleaseLease { operation_id: operation.clone(), token });
    let reason = Detail::cut("not tonight");
    world.must(&Command::Abandon { operation_id: operation, reason, gone: None });
    let mut found = BTreeMap::new();
    for event in world.log {
        found.entry(event.body.kind()).or_insert(event);
    }
    found
}

#[test]
fn the_text_of_every_kind_of_event_is_pinned_and_read_back() {
    let found = one_of_each();
    assert_eq!(found.len(), KINDS);
    for (kind, event) in found {
        let stored = std::fs::read_to_string(path(kind)).unwrap_or_else(|error| {
            panic!("{kind}: {error}: see the head of this file");
        });
        assert_eq!(stored.trim_end(), canonical_json(&event), "{kind}");
        let read: PlacementEvent = serde_json::from_str(&stored).expect("an event");
        assert_eq!(read, event, "{kind}");
    }
}

#[test]
#[ignore = "writes fixtures"]
fn placement_fixtures_are_added() {
    for (kind, event) in one_of_each() {
        let path = path(kind);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        if !path.exists() {
            std::fs::write(path, canonical_json(&event) + "\n").expect("written");
        }
    }
}
