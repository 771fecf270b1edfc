//! The gateway's contract under many processes: one id, one revision, one pool.

use serde_json::json;

use super::{alone, events_after, kinds, only_writer, race, with_code};
use crate::support::World;

/// How many contend.
const MANY: usize = 16;

fn world() -> World {
    let world = World::new();
    world.init_fake();
    world
}

/// A line that applies an operation from a file of its own.
fn line(world: &World, n: usize, id: &str, service: &str, desired: u32, pool: &str) -> String {
    let operation = json!({
        "schema_version": 1, "operation_id": id, "service": service, "expected_revision": "0",
        "direction": "Up", "current_replicas": 0, "desired_replicas": desired, "reason": "load",
    });
    let file = world.write(&format!("op-{n}.json"), operation.to_string());
    format!("gateway apply --file {} {pool}", file.display())
}

#[test]
fn one_id_is_accepted_once_and_everybody_gets_its_answer() {
    let _alone = alone();
    let world = world();
    let before = world.events();
    let lines: Vec<String> = (0..MANY).map(|n| line(&world, n, "op", "api", 2, "")).collect();
    let ended = race(&world, &lines);
    assert_eq!(with_code(&ended, 0).len(), MANY);
    let winner = only_writer(&ended);
    for one in &ended {
        assert_eq!(one.at("/gateway/body"), winner.at("/gateway/body"));
        assert_eq!(one.at("/replayed"), one.pid != winner.pid);
    }
    let events = events_after(&world, before);
    assert_eq!(kinds(&events), ["service_registered", "intent_accepted"]);
}

#[test]
fn one_revision_has_one_winner() {
    let _alone = alone();
    let world = world();
    let before = world.events();
    let one = |n: usize| line(&world, n, &format!("op-{n}"), "api", 2, "");
    let lines: Vec<String> = (0..MANY).map(one).collect();
    let ended = race(&world, &lines);
    only_writer(&ended);
    for loser in with_code(&ended, 10) {
        assert_eq!(loser.at("/gateway/body/code"), "stale_revision");
        assert_eq!(loser.at("/gateway/body/observation/revision"), "1");
    }
    assert_eq!(with_code(&ended, 10).len(), MANY - 1);
    assert_eq!(kinds(&events_after(&world, before)), ["service_registered", "intent_accepted"]);
}

#[test]
fn the_pool_is_never_overdrawn_by_services_that_come_at_once() {
    let _alone = alone();
    let world = world();
    let one = |n: usize| line(&world, n, &format!("op-{n}"), &format!("api-{n}"), 3, "--pool 20");
    let lines: Vec<String> = (0..MANY).map(one).collect();
    let ended = race(&world, &lines);
    assert_eq!(with_code(&ended, 0).len(), 6, "six times three is eighteen");
    assert_eq!(with_code(&ended, 15).len(), MANY - 6);
}
