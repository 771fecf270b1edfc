//! Our own gates behind the contract's checks, each with its word, its status and its exit.

use serde_json::{Value, json};

use super::{allow, apply, observed, operation, world, written};
use crate::support::{Ran, World};

fn on_web(id: &str, revision: u64, current: u32, desired: u32) -> Value {
    let mut operation = operation(id, revision, current, desired);
    operation["service"] = "web".into();
    operation
}

#[track_caller]
fn refused(ran: Ran, exit: i32, code: &str, error: &str) {
    let ran = ran.exits(exit).says(&format!("error[{error}]"));
    assert_eq!(ran.json()["code"], code, "{ran:#?}");
    assert_eq!(ran.json()["observation"]["endpoints"], json!([]));
}

#[test]
fn policy_is_asked_about_the_gateway_and_a_denied_id_is_not_remembered() {
    let world = world();
    allow(
        &world,
        "permit(principal == Actor::\"gateway\", action == Action::\"scale_up\", resource);\n\
         @id(\"two\") permit(principal, action in [Action::\"register\", \
         Action::\"set_policy\"], resource is Ledger);",
    );
    apply(&world, &operation("a", 0, 0, 2)).exits(0);
    refused(apply(&world, &operation("b", 1, 2, 1)), 12, "policy_denied", "denied");
    // Whoever types the line is not the gateway by a claim.
    let ran = world.run_with(
        "gateway apply --file - --actor root",
        operation("b", 1, 2, 3).to_string().as_bytes(),
    );
    assert_eq!(ran.exits(0).json()["revision"], "2");
    allow(&world, "permit(principal, action, resource);");
    assert_eq!(observed(&world, "api"), (3, "2".to_owned()));
}

#[test]
fn without_a_policy_nothing_is_accepted_and_nothing_is_registered() {
    let world = World::new();
    world.run("init").exits(0);
    refused(apply(&world, &operation("a", 0, 0, 2)), 12, "policy_denied", "denied");
    let names = world.json("service list").exits(0).at("/services");
    assert_eq!(names, json!([]), "the registration went with the refusal");
    // The contract's own checks come first.
    refused(apply(&world, &operation("a", 7, 0, 2)), 10, "stale_revision", "stale_revision");
}

#[test]
fn the_settings_of_a_registered_service_hold_for_the_gateway() {
    let world = World::with_fake();
    let outside = on_web("a", 0, 0, 11);
    refused(apply(&world, &outside), 2, "out_of_bounds", "out_of_bounds");
    world.run("service put web --cooldown 5m").exits(0);
    world.run("scale web=2 --reason r --key k1").exits(0);
    refused(apply(&world, &on_web("a", 1, 2, 3)), 14, "cooldown", "cooldown");
    world.run("service put web --cooldown none").exits(0);
    world.run("hold set web --until 1h --reason freeze").exits(0);
    refused(apply(&world, &on_web("a", 1, 2, 3)), 12, "policy_denied", "on_hold");
    world.run("hold lift web --reason over").exits(0);
    // A person's wish that waits is not ended by anybody who looks at nothing.
    world.run("intent put web --replicas 5 --expect-revision latest --reason r --key k2").exits(0);
    refused(apply(&world, &on_web("a", 2, 5, 6)), 10, "busy", "others_intent");
    world.run("intent withdraw k2 --reason r").exits(0);
    // It was accepted, so it counts, whatever became of it.
    assert_eq!(observed(&world, "web"), (5, "2".to_owned()));
    world.run("service put web --fences external").exits(0);
    refused(apply(&world, &on_web("a", 2, 5, 6)), 2, "external_owner", "fence_missing");
    world.run("service put web --fences minted").exits(0);
    assert_eq!(apply(&world, &on_web("a", 2, 5, 6)).exits(0).json()["revision"], "3");
    world.run("service retire web --reason over --supersede").code.unwrap();
    world.run("verify").exits(0);
}

/// Behind a call whose outcome nobody knows the gateway may wish, and waits.
#[test]
fn an_operation_waits_behind_what_is_in_flight() {
    let world = World::with_fake();
    world.script(&["garbage"]);
    let ran = world.run("scale web=2 --reason r --key k1 --timeout 5s");
    assert_ne!(ran.code, Some(0), "{ran:#?}");
    let (replicas, revision) = observed(&world, "web");
    assert_eq!((replicas, revision.as_str()), (2, "1"));
    apply(&world, &on_web("a", 1, 2, 3)).exits(0);
    assert_eq!(observed(&world, "web"), (3, "2".to_owned()));
    world.run("verify").exits(0);
}

#[test]
fn a_count_that_the_contract_cannot_say_is_refused_and_never_wrapped() {
    let world = world();
    apply(&world, &operation("a", 0, 0, 2)).exits(0);
    world.run("service put api --max 9007199254740991").exits(0);
    world
        .run_args(&[
            "intent",
            "put",
            "api",
            "--replicas",
            "4294967298",
            "--expect-revision",
            "latest",
            "--reason",
            "more",
            "--supersede",
        ])
        .exits(0);
    let ran = world.run("gateway observe api").exits(2).says("4294967298");
    assert_eq!(ran.json()["code"], "out_of_bounds");
    refused(apply(&world, &operation("b", 2, 2, 3)), 10, "stale_revision", "stale_revision");
    // And its sum with the others' does not wrap either.
    let mut other = operation("c", 0, 0, 1);
    other["service"] = "db".into();
    let ran = world.run_with("gateway apply --file - --pool 10", other.to_string().as_bytes());
    refused(ran, 15, "capacity_exceeded", "capacity_exceeded");
}

#[test]
fn a_used_key_that_no_operation_has_made_is_a_conflict() {
    let world = world();
    apply(&world, &operation("a", 0, 0, 2)).exits(0);
    let key = format!("gw:{}", scalectl::domain::digest::sha256_hex(b"b"));
    world
        .run(&format!(
            "intent put api --replicas 3 --expect-revision latest --reason r --key {key} \
             --supersede"
        ))
        .exits(0);
    let before = written(&world);
    let conflict = "operation_conflict";
    refused(apply(&world, &operation("b", 2, 3, 4)), 10, conflict, conflict);
    assert_eq!(written(&world), before);
}

#[test]
fn a_retired_service_takes_no_room_and_no_operation() {
    let world = world();
    apply(&world, &operation("a", 0, 0, 5)).exits(0);
    let mut other = operation("b", 0, 0, 5);
    other["service"] = "db".into();
    let pooled = |operation: &Value| {
        world.run_with("gateway apply --file - --pool 5", operation.to_string().as_bytes())
    };
    refused(pooled(&other), 15, "capacity_exceeded", "capacity_exceeded");
    world.run("service retire api --reason over").exits(0);
    refused(apply(&world, &operation("c", 1, 5, 6)), 24, "unknown_service", "service_retired");
    pooled(&other).exits(0);
}

/// 0061: nobody has to be looked for, because nobody else may have its target.
#[test]
fn a_first_operation_reads_no_other_service() {
    let world = world();
    apply(&world, &operation("a", 0, 0, 2)).exits(0);
    let damage = "UPDATE service SET head = '{}' WHERE name = 'api'";
    if crate::support::postgres::is_the_engine() {
        world.sql(damage);
    } else {
        let raw = rusqlite::Connection::open(world.ledger()).expect("a database");
        assert_eq!(raw.execute(damage, []).expect("a statement"), 1);
    }
    apply(&world, &operation("b", 1, 2, 3)).exits(21);
    let mut other = operation("c", 0, 0, 4);
    other["service"] = "db".into();
    apply(&world, &other).exits(0);
    assert_eq!(observed(&world, "db"), (4, "1".to_owned()));
}

/// What nobody here carries out is no work left over, and no actuator is missing.
#[test]
fn a_wish_without_an_actuator_is_left_to_whoever_reads_it() {
    let world = world();
    apply(&world, &operation("a", 0, 0, 2)).exits(0);
    let ran = world.run("reconcile").exits(0);
    assert!(ran.stdout.contains("it has no actuator: who carries it out reads it"), "{ran:#?}");
    let ran = world.run("actuate api@latest").exits(24);
    let ran = ran.says("error[no_actuator]: api has no actuator");
    ran.says("scalectl gateway observe api");
}

#[test]
fn nobody_takes_the_target_of_a_service_that_is_yet_to_come() {
    let world = world();
    let line = |name: &str, uid: &str| {
        format!(
            "service put {name} --cluster gateway --runtime desired-state --target-uid {uid} \
             --target-version 1 --max 5 --mode native --writer ops"
        )
    };
    world.run(&line("mine", "api")).exits(2).says("a target is called as its service");
    world.run(&line("mine", "mine")).exits(0);
    apply(&world, &operation("a", 0, 0, 2)).exits(0);
}
