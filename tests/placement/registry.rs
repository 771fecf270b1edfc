//! What is registered beforehand: each rule a row.

use scalectl::domain::placement::command::{Command, Put};
use scalectl::domain::placement::registry::ReplicaPool;
use scalectl::domain::scale::intent::Reason;
use scalectl::domain::scale::policy::PolicyAction;

use super::receipts::usage;
use super::world::{World, amounts, cell, id_number, profile};
use crate::rules::support::{count, id};

fn code(world: &mut World, command: &Command) -> &'static str {
    match world.run(command) {
        Err(refusal) => refusal.code(),
        Ok(decision) if decision.events.is_empty() => "unchanged",
        Ok(_) => "changed",
    }
}

#[test]
fn a_profile_is_never_changed() {
    let mut world = World::new();
    let (floor, maximum) = ("cpu=900m,memory=1GiB,storage=1GiB", "cpu=2,memory=2GiB,storage=6GiB");
    let put = |it| Command::PutProfile(Box::new(it));
    assert_eq!(code(&mut world, &put(profile("small", floor, maximum))), "unchanged");
    let other = put(profile("small", floor, "cpu=2,memory=3GiB,storage=6GiB"));
    let refusal = world.run(&other).expect_err("another content").to_string();
    assert_eq!(refusal, "profile small is registered with another maximum, and is never changed");
    let upside_down = put(profile("odd", maximum, floor));
    assert_eq!(code(&mut world, &upside_down), "contradiction");
    let most = "cpu=9007199254740m,memory=9007199254740991B,storage=1B";
    let mut too_much = profile("most", most, most);
    too_much.overheads.rollout_overlap = too_much.floor;
    assert_eq!(code(&mut world, &put(too_much)), "contradiction");
}

#[test]
fn a_cell_is_measured_and_cordoned_and_stays_where_it_is() {
    let mut world = World::new();
    let now = world.now;
    let put = |it, expected| Command::PutCell(Box::new(Put { setting: it, expected }));
    let smaller = cell("a1", "a", "cpu=1,memory=1GiB,storage=1GiB", now);
    assert_eq!(code(&mut world, &put(smaller.clone(), Some(7))), "stale_setting");
    assert_eq!(code(&mut world, &put(smaller.clone(), Some(1))), "changed");
    assert_eq!(code(&mut world, &put(smaller.clone(), None)), "unchanged");
    assert_eq!(code(&mut world, &put(smaller.clone(), Some(1))), "stale_setting");
    let moved = cell("a1", "b", "cpu=1,memory=1GiB,storage=1GiB", now);
    assert_eq!(code(&mut world, &put(moved, None)), "contradiction");
    let nowhere = cell("c1", "c", "cpu=1,memory=1GiB,storage=1GiB", now);
    assert_eq!(code(&mut world, &put(nowhere, None)), "placement_not_found");
    let tomorrow = "2026-01-02T12:00:00Z".parse().expect("an instant");
    let early = cell("a1", "a", "cpu=2,memory=1GiB,storage=1GiB", tomorrow);
    assert_eq!(code(&mut world, &put(early, None)), "contradiction");

    let cordon =
        |why: Option<&str>| Command::CordonCell { cell: id("a1"), reason: why.map(Reason::cut) };
    assert_eq!(code(&mut world, &cordon(Some("disk"))), "changed");
    assert_eq!(code(&mut world, &cordon(Some("disk"))), "unchanged");
    let again = cell("a1", "a", "cpu=2,memory=2GiB,storage=2GiB", now);
    assert_eq!(code(&mut world, &put(again, None)), "changed");
    assert!(world.state.cells[&id("a1")].cordon.is_some(), "a measurement ends no cordon");
    assert_eq!(code(&mut world, &cordon(None)), "changed");
    assert_eq!(world.state.cells[&id("a1")].cordon, None);
}

#[test]
fn a_policy_names_what_is_there_and_has_a_revision() {
    let mut world = World::new();
    let known = world.state.policies[&id("standard")].clone();
    let put = |it, expected| Command::PutPolicy(Box::new(Put { setting: it, expected }));
    assert_eq!(code(&mut world, &put(known.clone(), Some(1))), "unchanged");
    let mut other = known.clone();
    other.offers.insert(id("gone"), id_number(1));
    assert_eq!(code(&mut world, &put(other, None)), "placement_not_found");
    let mut other = known.clone();
    other.cells.insert(id("z9"));
    assert_eq!(code(&mut world, &put(other, None)), "placement_not_found");
    let mut other = known.clone();
    other.locations.insert(id("z"));
    assert_eq!(code(&mut world, &put(other, None)), "placement_not_found");
    let mut other = known;
    other.budget = id_number(50);
    assert_eq!(code(&mut world, &put(other.clone(), Some(0))), "stale_setting");
    assert_eq!(code(&mut world, &put(other, Some(1))), "changed");
    assert_eq!(world.state.policies[&id("standard")].revision.get(), 2);
}

#[test]
fn usage_gets_newer_and_is_of_an_environment_that_is_there() {
    let mut world = World::new();
    let now = world.now;
    let used = "cpu=1,memory=1GiB,storage=1GiB";
    let record = |it| Command::RecordUsage(Box::new(it));
    assert_eq!(code(&mut world, &record(usage("shop", used, now))), "placement_not_found");
    world.adopt("shop", "a1", "small");
    assert_eq!(code(&mut world, &record(usage("shop", used, now))), "changed");
    assert_eq!(code(&mut world, &record(usage("shop", used, now))), "unchanged");
    let other = "cpu=1,memory=2GiB,storage=1GiB";
    assert_eq!(code(&mut world, &record(usage("shop", other, now))), "older_usage");
    world.wait(1);
    let now = world.now;
    assert_eq!(code(&mut world, &record(usage("shop", other, now))), "changed");
}

#[test]
fn a_pool_has_a_revision_and_policy_is_asked_to_register() {
    let mut world = World::new();
    let pool =
        |max| ReplicaPool { name: id("p"), revision: id_number(1), max_replicas: count(max) };
    let put = |max, expected| Command::PutPool(Put { setting: pool(max), expected });
    assert_eq!(code(&mut world, &put(4, Some(0))), "changed");
    assert_eq!(code(&mut world, &put(4, None)), "unchanged");
    assert_eq!(code(&mut world, &put(5, Some(0))), "stale_setting");
    world.policy.0.insert(("ann".to_owned(), PolicyAction::Register));
    assert_eq!(code(&mut world, &put(5, Some(1))), "denied");
    assert_eq!(world.state.pools[&id("p")].max_replicas, count(4));
}

#[test]
fn a_larger_profile_stays_shared_and_another_isolation_comes_with_no_name() {
    let mut world = World::new();
    world.adopt("shop", "a1", "small");
    let mut alone =
        profile("alone", "cpu=1,memory=1GiB,storage=1GiB", "cpu=2,memory=2GiB,storage=6GiB");
    alone.isolation = id("dedicated");
    world.must(&Command::PutProfile(Box::new(alone)));
    let change = world.change_of("k1", "shop", "profile=alone");
    let refusal = world.run(&Command::Change(Box::new(change))).expect_err("nobody offers it");
    assert_eq!(refusal.code(), "profile_not_offered");
    world.change("k2", "shop", "profile=large").expect("there is room");
    let has = &world.env("shop").effective.profile;
    assert_eq!(world.state.profiles[has].isolation, id("shared"));
}

/// What is reserved is the floor with what is added to it: four environments fill a cell of four
/// processors, though each may take two where there is room.
#[test]
fn a_floor_is_reserved_and_no_maximum() {
    let mut world = World::new();
    for number in 1..=4 {
        world.adopt(&format!("e{number}"), "a1", "small");
    }
    let whole = world.state.reserved(&id("a1"), None).whole();
    assert_eq!(whole, amounts("cpu=4,memory=4GiB,storage=4GiB"));
    let ask = world.adoption("e5", "a1", "small");
    let refusal = world.run(&Command::Adopt(Box::new(ask))).expect_err("the cell is full");
    assert_eq!(refusal.code(), "capacity_unavailable");
}
