//! A change of a placement: every reason to refuse it, what is chosen, what is reserved.
//!
//! Source: facts/placement.md, sections 3 and 4, and seed 002.

use scalectl::domain::placement::command::{Command, Put, Sighting};
use scalectl::domain::placement::environment::Role;
use scalectl::domain::placement::operation::{Course, OperationKind, Step};
use scalectl::domain::placement::protocol::{Refusal, WorkspaceState};
use scalectl::domain::placement::rejection::PlacementRejection;
use scalectl::domain::scale::decide::Reply;
use scalectl::domain::scale::intent::Reason;
use scalectl::domain::scale::policy::PolicyAction;
use scalectl::domain::time::DurationMs;

use super::receipts::{inventory, refused_with, relocator, usage};
use super::world::{Refused, World, amounts, cell, id_number};
use crate::rules::support::id;

fn placed() -> World {
    let mut world = World::new();
    world.adopt("shop", "a1", "small");
    world
}

fn cordon(cell: &str, reason: Option<&str>) -> Command {
    Command::CordonCell { cell: id(cell), reason: reason.map(Reason::cut) }
}

/// What is reserved, as `ROLE CELL AMOUNTS`.
fn reserved(world: &World, environment: &str) -> Vec<String> {
    let list = &world.env(environment).reservations;
    let row = |it: &scalectl::domain::placement::environment::Reservation| {
        format!("{} {} {}", it.role.as_str(), it.cell, it.amounts)
    };
    list.iter().map(row).collect()
}

const SMALL: &str = "cpu=1,memory=1GiB,storage=1GiB";
const LARGE: &str = "cpu=2,memory=2GiB,storage=2GiB";

/// A refused change leaves no reservation, no operation, nothing.
fn refuses(
    world: &mut World,
    words: &str,
    with: impl FnOnce(&mut scalectl::domain::placement::command::Change),
) -> Refused {
    let before = world.state.clone();
    let mut change = world.change_of("k-refused", "shop", words);
    with(&mut change);
    let refusal = world.run(&Command::Change(Box::new(change))).expect_err(words);
    assert_eq!(world.state, before, "{words}");
    refusal
}

#[test]
fn every_premise_that_has_moved_is_refused_by_its_own_code() {
    let mut world = placed();
    let mut code = |words: &str| refuses(&mut world, words, |_| {}).code();
    assert_eq!(code("profile=large revision=0"), "stale_revision");
    assert_eq!(code("profile=large revision=2"), "stale_revision");
    assert_eq!(code("profile=large policy=2"), "stale_policy");
    assert_eq!(code("profile=nope"), "placement_not_found");
    assert_eq!(code("cell=nope"), "placement_not_found");
    assert_eq!(code("location=nope"), "placement_not_found");
    assert_eq!(code("standby=nope"), "placement_not_found");
    assert_eq!(code("location=b cell=a2"), "contradiction");
    assert_eq!(code("location=auto cell=a2"), "contradiction");
    assert_eq!(code("refresh"), "contradiction");
    assert_eq!(code("profile=huge"), "profile_not_offered");
    world.put_policy(|policy| policy.budget = id_number(19));
    let mut code = |words: &str| refuses(&mut world, words, |_| {}).code();
    assert_eq!(code("profile=large"), "cost_exceeded");
    assert_eq!(code("standby=b"), "cost_exceeded");
    let change = world.change_of("k", "nobody", "profile=large revision=0");
    let refusal = world.run(&Command::Change(Box::new(change))).expect_err("nobody is there");
    assert_eq!(refusal.code(), "placement_not_found");
    world.policy.0.insert(("ann".to_owned(), PolicyAction::Relocate));
    assert_eq!(refuses(&mut world, "mode=always-on", |_| {}).code(), "denied");
}

#[test]
fn what_cannot_be_copied_as_it_is_is_refused_before_anything_exists() {
    let mut world = placed();
    for words in ["location=b", "standby=b"] {
        let mut code = |sighting: Option<Sighting>| {
            refuses(&mut world, words, |change| change.sighting = sighting).code()
        };
        assert_eq!(code(None), "inventory_unknown");
        assert_eq!(code(Some(Sighting::Unasked("no answer".to_owned()))), "inventory_unknown");
        let refused = |refusal: Refusal| match refused_with(refusal) {
            scalectl::domain::placement::command::StepEnd::Refused(it) => {
                Some(Sighting::Refused(it))
            }
            _ => None,
        };
        let missing = vec!["credentials/mail".to_owned()];
        assert_eq!(code(refused(Refusal::MissingDependency { missing })), "missing_dependency");
        assert_eq!(code(refused(Refusal::WorkspaceRunning)), "workspace_running");
        let why = "table t is virtual".to_owned();
        assert_eq!(code(refused(Refusal::UnprovableFencing { why })), "unprovable_fencing");
        let what = "copy".to_owned();
        assert_eq!(code(refused(Refusal::NotThere { what })), "inventory_unknown");
        let mut seen = inventory(world.env("shop").effective.copy());
        seen.workspace = WorkspaceState::Running;
        let mut code =
            |sighting| refuses(&mut world, words, |change| change.sighting = Some(sighting)).code();
        assert_eq!(code(Sighting::Seen(Box::new(seen.clone()))), "workspace_running");
        seen.workspace = WorkspaceState::Stopped;
        seen.source.generation = id("9-other");
        assert_eq!(code(Sighting::Seen(Box::new(seen))), "inventory_unknown");
    }
    let busy = |change: &mut scalectl::domain::placement::command::Change| {
        change.in_flight = vec![id("web")];
    };
    assert_eq!(refuses(&mut world, "location=b", busy).code(), "service_in_flight");
    let ops: Vec<&str> = ["inventory", "drain", "transfer"].to_vec();
    world.must(&Command::RegisterRelocator(Box::new(relocator(&ops))));
    assert_eq!(refuses(&mut world, "location=b", |_| {}).code(), "unprovable_fencing");
    let mut ask = world.adoption("shop", "a1", "small");
    ask.relocator = None;
    world.must(&Command::Adopt(Box::new(ask)));
    assert_eq!(refuses(&mut world, "location=b", |_| {}).code(), "no_relocator");
    assert_eq!(refuses(&mut world, "standby=b", |_| {}).code(), "no_relocator");
    world.change("k1", "shop", "profile=large").expect("nobody copies anything for that");
}

#[test]
fn what_is_missing_is_told_by_axis_cell_and_amount() {
    let mut world = placed();
    for (at, environment) in ["e1", "e2"].into_iter().enumerate() {
        let cell = ["b1", "b1"][at];
        world.adopt(environment, cell, "large");
    }
    let refusal = refuses(&mut world, "location=b", |_| {});
    assert_eq!(
        refusal.to_string(),
        "shop finds no primary cell: b1: 1 of cpu missing (1 needed, 0m free)"
    );
    let refusal = refuses(&mut world, "standby=b", |_| {}).to_string();
    assert!(refusal.starts_with("shop finds no standby cell: b1: 1 of cpu missing"), "{refusal}");
    world.must(&cordon("a2", Some("disk")));
    let refusal = refuses(&mut world, "cell=a2", |_| {});
    assert_eq!(refusal.to_string(), "shop finds no primary cell: a2: cordoned: disk");
    world.put_policy(|policy| assert!(policy.cells.remove(&id("b1"))));
    let refusal = refuses(&mut world, "cell=b1", |_| {});
    let text = "shop finds no primary cell: b1: the policy does not let it in";
    assert_eq!(refusal.to_string(), text);
    assert_eq!(
        refuses(&mut world, "location=b", |_| {}).to_string(),
        "shop finds no primary cell: no cell is eligible"
    );
    world.must(&cordon("a2", None));
    let mut old = cell("a2", "a", "cpu=4,memory=8GiB,storage=100GiB", world.now);
    old.fresh_for_ms = Some(DurationMs::from_secs(60));
    world.must(&Command::PutCell(Box::new(Put { setting: old, expected: None })));
    world.wait(61);
    let refusal = refuses(&mut world, "cell=a2", |_| {}).to_string();
    assert!(refusal.contains("a2: measured too long ago, at 2026-01-01T12:00:00Z"), "{refusal}");
}

#[test]
fn a_shrink_needs_fresh_usage_that_fits() {
    let mut world = placed();
    world.change("k1", "shop", "profile=large").expect("a larger one needs none");
    assert_eq!(refuses(&mut world, "profile=small", |_| {}).code(), "usage_missing");
    let record = |world: &mut World, used: &str| {
        world.wait(1);
        let it = usage("shop", used, world.now);
        world.must(&Command::RecordUsage(Box::new(it)));
    };
    record(&mut world, "cpu=9,memory=3GiB,storage=1GiB");
    let refusal = refuses(&mut world, "profile=small", |_| {});
    assert_eq!(refusal.code(), "unsafe_capacity_shrink");
    assert_eq!(
        refusal.to_string(),
        "shop takes 3GiB of memory, and profile small lets it have 2GiB"
    );
    record(&mut world, "cpu=1,memory=1GiB,storage=7GiB");
    let refusal = refuses(&mut world, "profile=small", |_| {}).to_string();
    assert_eq!(refusal, "shop takes 7GiB of storage, and profile small lets it have 6GiB");
    // A running workspace counts, and one that was not measured is not nothing.
    world.wait(1);
    let mut running = usage("shop", "cpu=1,memory=1GiB,storage=1GiB", world.now);
    running.workspace = WorkspaceState::Running;
    world.must(&Command::RecordUsage(Box::new(running.clone())));
    assert_eq!(refuses(&mut world, "profile=small", |_| {}).code(), "usage_missing");
    world.wait(1);
    running.measured_at = world.now;
    running.workspace_used = Some(amounts("cpu=0,memory=2GiB,storage=0"));
    world.must(&Command::RecordUsage(Box::new(running)));
    assert_eq!(refuses(&mut world, "profile=small", |_| {}).code(), "unsafe_capacity_shrink");
    record(&mut world, "cpu=9,memory=2GiB,storage=6GiB");
    world.wait(301);
    assert_eq!(refuses(&mut world, "profile=small", |_| {}).code(), "usage_stale");
    record(&mut world, "cpu=9,memory=2GiB,storage=6GiB");
    world.wait(300);
    world.change("k2", "shop", "profile=small").expect("what is just fresh and just fits");
    assert_eq!(world.env("shop").effective.profile, id("small"));
    assert_eq!(reserved(&world, "shop"), [format!("primary a1 {SMALL}")]);
}

#[test]
fn what_is_larger_than_the_new_profile_does_not_move_into_it() {
    let mut world = World::new();
    world.adopt("shop", "a1", "large");
    let now = world.now;
    let it = usage("shop", "cpu=1,memory=1GiB,storage=1GiB", now);
    world.must(&Command::RecordUsage(Box::new(it)));
    let mut seen = inventory(world.env("shop").effective.copy());
    seen.bytes = (6 << 30) + 1;
    let refusal = refuses(&mut world, "profile=small location=b", |change| {
        change.sighting = Some(Sighting::Seen(Box::new(seen)));
    });
    assert_eq!(refusal.code(), "unsafe_capacity_shrink");
}

#[test]
fn a_key_names_one_change_for_ever() {
    let mut world = placed();
    let first = world.change_of("k1", "shop", "profile=large");
    let again = Command::Change(Box::new(first.clone()));
    let decision = world.must(&again);
    assert_eq!(decision.reply, Reply::Done);
    // The same body, whatever holds by now: its operation.
    world.put_policy(|policy| policy.budget = id_number(1));
    let mut again = first.clone();
    again.operation_id = id("op-other");
    again.sighting = None;
    let decision = world.must(&Command::Change(Box::new(again.clone())));
    assert_eq!(decision.reply, Reply::Replayed);
    assert_eq!(decision.operation_id, Some(id("op-k1")));
    again.asked.request.profile = Some(id("small"));
    again.asked.request.expected_revision = 9;
    let refusal = world.run(&Command::Change(Box::new(again))).expect_err("another body");
    let PlacementRejection::KeyConflict { differences, .. } = &refusal else { panic!("{refusal}") };
    let differing: Vec<&str> = differences.iter().map(|it| it.field.as_str()).collect();
    assert_eq!(differing, ["expected_revision", "profile"]);
    assert_eq!(refusal.code(), "key_conflict");
}

#[test]
fn what_is_so_already_changes_nothing_and_takes_no_key() {
    let mut world = placed();
    let change = world.change_of("k1", "shop", "profile=small mode=on-demand standby=none");
    let decision = world.must(&Command::Change(Box::new(change)));
    assert_eq!((decision.reply, decision.events.len()), (Reply::Unchanged, 0));
    world.change("k1", "shop", "mode=always-on").expect("the key is free");
    assert_eq!(world.env("shop").effective.runtime_mode.as_str(), "always-on");
    assert_eq!(world.env("shop").effective.epoch.get(), 1, "nothing moved");
    assert_eq!(world.env("shop").revision.get(), 2);
}

#[test]
fn in_place_a_change_is_admitted_committed_and_over_at_once() {
    let mut world = placed();
    let operation = world.change("k1", "shop", "profile=large").expect("there is room");
    assert_eq!(world.operation(&operation).course, Course::Succeeded);
    assert_eq!(world.operation(&operation).kind, OperationKind::InPlace);
    assert_eq!(world.env("shop").operation, None);
    assert_eq!(reserved(&world, "shop"), [format!("primary a1 {LARGE}")]);
    world.adopt("other", "a1", "large");
    world.adopt("third", "a2", "small");
    let change = world.change_of("k2", "third", "cell=a1");
    let refusal = world.run(&Command::Change(Box::new(change))).expect_err("a1 is full");
    assert_eq!(refusal.code(), "capacity_unavailable");
}

#[test]
fn a_move_reserves_both_cells_and_what_its_recovery_copy_needs_at_once() {
    let mut world = placed();
    let operation = world.change("k1", "shop", "profile=large location=b standby=a").expect("room");
    let during = [
        format!("primary a1 {SMALL}"),
        format!("overlap b1 {LARGE}"),
        format!("overlap a2 {LARGE}"),
    ];
    assert_eq!(reserved(&world, "shop"), during);
    assert_eq!(world.operation(&operation).snapshot.as_ref().expect("one").cell, id("a2"));
    assert_eq!(refuses(&mut world, "profile=large", |_| {}).code(), "operation_in_flight");
    // Nothing is admitted by halves.
    let mut world = placed();
    world.adopt("e1", "a1", "large");
    world.adopt("e2", "a2", "large");
    world.adopt("e3", "a2", "large");
    let refusal = refuses(&mut world, "profile=large location=b standby=a", |_| {});
    let PlacementRejection::CapacityUnavailable { role, limits, .. } = &refusal else {
        panic!("{refusal}")
    };
    assert_eq!((*role, limits.len()), (Role::Standby, 2));
    assert_eq!(reserved(&world, "shop"), [format!("primary a1 {SMALL}")]);
}

#[test]
fn the_choice_is_the_emptiest_and_stays_while_it_can() {
    let mut world = placed();
    let cell_of = |world: &World, key: &str| world.operation(&id(key)).to.cell.to_string();
    world.adopt("e1", "b1", "small");
    // Eligible as it is, it is not moved, however empty the others are.
    let change = world.change_of("k0", "shop", "location=auto mode=always-on");
    world.must(&Command::Change(Box::new(change)));
    assert_eq!(cell_of(&world, "op-k0"), "a1");
    world.must(&cordon("a1", Some("kernel")));
    let kept = world.change("k1", "shop", "mode=on-demand").expect("nothing is asked of a cell");
    assert_eq!(world.operation(&kept).to.cell, id("a1"), "what nobody asks to move does not move");
    assert_eq!(refuses(&mut world, "profile=large", |_| {}).code(), "capacity_unavailable");
    world.change("k2", "shop", "location=auto").expect("a2 is empty");
    assert_eq!(cell_of(&world, "op-k2"), "a2");
    let mut world = placed();
    world.adopt("e1", "a1", "large");
    world.adopt("e2", "a1", "small");
    // Where it is there is no room to grow.
    assert_eq!(refuses(&mut world, "profile=large", |_| {}).code(), "capacity_unavailable");
    world.change("k1", "shop", "profile=large location=auto").expect("a2 has");
    assert_eq!(cell_of(&world, "op-k1"), "a2");
}

#[test]
fn the_two_copies_are_in_two_cells() {
    let mut world = placed();
    let operation = world.change("k1", "shop", "standby=a").expect("a2");
    assert_eq!(world.operation(&operation).snapshot.as_ref().expect("one").cell, id("a2"));
    let token = world.lease_as(&operation, false).expect("a lease");
    world.until(&operation, token, None);
    assert_eq!(
        reserved(&world, "shop"),
        [format!("primary a1 {SMALL}"), format!("standby a2 {SMALL}")]
    );
    let refusal = refuses(&mut world, "cell=a2", |_| {}).to_string();
    assert_eq!(refusal, "shop finds no primary cell: a2: its other copy is there");
    let operation = world.change("k2", "shop", "cell=a2 standby=b").expect("it goes elsewhere");
    let token = world.lease_as(&operation, false).expect("a lease");
    world.until(&operation, token, None);
    assert_eq!(
        reserved(&world, "shop"),
        [format!("primary a2 {SMALL}"), format!("standby b1 {SMALL}")]
    );
}

#[test]
fn an_environment_is_adopted_as_it_is_and_its_epoch_never_falls() {
    let mut world = placed();
    let same = world.adoption("shop", "a1", "small");
    assert_eq!(world.must(&Command::Adopt(Box::new(same))).reply, Reply::Unchanged);
    let operation = world.change("k1", "shop", "location=b").expect("room");
    let ask = world.adoption("shop", "a2", "small");
    let refusal = world.run(&Command::Adopt(Box::new(ask))).expect_err("it moves");
    assert_eq!(refusal.code(), "operation_in_flight");
    let token = world.lease_as(&operation, false).expect("a lease");
    world.until(&operation, token, None);
    assert_eq!(world.env("shop").effective.epoch.get(), 2);
    let ask = world.adoption("shop", "a2", "small");
    let refusal = world.run(&Command::Adopt(Box::new(ask))).expect_err("epoch 1 is over");
    assert_eq!(refusal.code(), "older_epoch");
    let mut ask = world.adoption("shop", "a2", "small");
    ask.generation = id("5-op9");
    world.must(&Command::Adopt(Box::new(ask)));
    assert_eq!(world.env("shop").effective.epoch.get(), 5);
    let mut ask = world.adoption("late", "a1", "small");
    ask.expected_revision = 3;
    let refusal = world.run(&Command::Adopt(Box::new(ask))).expect_err("nobody is there");
    assert_eq!(refusal.code(), "stale_revision");
    world.adopt("big", "b1", "large");
    world.adopt("big2", "b1", "large");
    let ask = world.adoption("late", "b1", "small");
    let refusal = world.run(&Command::Adopt(Box::new(ask))).expect_err("b1 is full");
    assert_eq!(refusal.code(), "capacity_unavailable");
}

#[test]
fn standby_none_drops_the_copy_and_left_out_keeps_it() {
    let mut world = placed();
    let operation = world.change("k1", "shop", "standby=b").expect("room");
    let token = world.lease_as(&operation, false).expect("a lease");
    world.until(&operation, token, None);
    world.change("k2", "shop", "mode=always-on").expect("in place");
    assert!(world.env("shop").standby.is_some(), "left out is kept");
    let operation = world.change("k3", "shop", "standby=none").expect("dropped");
    assert_eq!(world.operation(&operation).steps, [Step::CommitStandby, Step::RetireStandby]);
    let token = world.lease_as(&operation, false).expect("a lease");
    world.until(&operation, token, None);
    assert_eq!(world.env("shop").standby, None);
    assert_eq!(reserved(&world, "shop"), [format!("primary a1 {SMALL}")]);
}
