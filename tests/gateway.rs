//! The gateway's contract through the commands: the walks of `fixtures/gateway`, our own gates,
//! journals, deaths and older ledgers.

mod deaths;
mod gates;
mod journals;
mod walks;

use serde_json::{Value, json};

use crate::support::{Ran, World};

/// A ledger under a policy that permits everything, without any service.
pub(crate) fn world() -> World {
    let world = World::new();
    world.run("init").exits(0);
    allow(&world, "permit(principal, action, resource);");
    world
}

pub(crate) fn allow(world: &World, rules: &str) {
    let policy = world.write("policy.cedar", format!("@id(\"rule\")\n{rules}\n"));
    world
        .run_args(&["policy", "put", policy.to_str().expect("UTF-8"), "--reason", "test"])
        .exits(0);
}

/// An operation of `api`.
pub(crate) fn operation(id: &str, revision: u64, current: u32, desired: u32) -> Value {
    json!({
        "schema_version": 1,
        "operation_id": id,
        "service": "api",
        "expected_revision": revision.to_string(),
        "direction": if desired > current { "Up" } else { "Down" },
        "current_replicas": current,
        "desired_replicas": desired,
        "reason": "load",
    })
}

pub(crate) fn apply(world: &World, operation: &Value) -> Ran {
    world.run_with("gateway apply --file -", operation.to_string().as_bytes())
}

fn finalize(world: &World, request: &Value, response: &Value) -> Ran {
    let asked = json!({"request": request, "response": response});
    world.run_with("gateway finalize --file -", asked.to_string().as_bytes())
}

pub(crate) fn observed(world: &World, service: &str) -> (u64, String) {
    let body = world.run_args(&["gateway", "observe", service]).exits(0).json();
    (
        body["replicas"].as_u64().expect("a count"),
        body["revision"].as_str().expect("a text").to_owned(),
    )
}

/// What is in the ledger's files; nothing on a server, where the events are counted instead.
pub(crate) fn written(world: &World) -> (Vec<Vec<u8>>, usize) {
    let files = ["", "-wal"].map(|end| {
        let path = format!("{}{end}", world.ledger().display());
        std::fs::read(path).unwrap_or_default()
    });
    (files.to_vec(), world.events())
}

#[test]
fn stdout_is_the_body_of_the_contract_and_a_replay_is_the_same_bytes() {
    let world = world();
    let first = operation("a", 0, 0, 2);
    let accepted = apply(&world, &first).exits(0).stdout;
    let body = concat!(
        r#"{"accepted":true,"actual_replicas":2,"revision":"1","#,
        r#""message":"accepted: service \"api\" is to have 2"}"#
    );
    assert_eq!(accepted, format!("{body}\n"));
    apply(&world, &operation("b", 1, 2, 1)).exits(0);
    let before = written(&world);
    assert_eq!(apply(&world, &first).exits(0).stdout, accepted);
    assert_eq!(written(&world), before, "a replay writes nothing");
    let refused = apply(&world, &operation("c", 1, 2, 3)).exits(10).says("error[stale_revision]");
    let body = refused.json();
    assert_eq!(body["code"], "stale_revision");
    assert_eq!(body["observation"]["revision"], "2");
    assert_eq!(written(&world), before, "a refusal of the contract writes nothing");
    let file = world.write("op.json", first.to_string());
    let told = world.json(&format!("gateway apply --file {}", file.display())).exits(0);
    assert_eq!((told.at("/replayed"), told.at("/recorded")), (true.into(), "no".into()));
    assert_eq!(told.at("/gateway/body/revision"), "1");
}

#[test]
fn a_finalized_answer_is_the_answer_from_then_on() {
    let world = world();
    let request = operation("a", 0, 0, 2);
    apply(&world, &request).exits(0);
    apply(&world, &operation("b", 1, 2, 0)).exits(0);
    let answer = json!({
        "accepted": true, "actual_replicas": 1, "revision": "1", "message": "1 of 2 ready",
    });
    let ran = finalize(&world, &request, &answer).exits(0);
    assert_eq!(ran.json(), answer);
    assert_eq!(apply(&world, &request).exits(0).json(), answer);
    assert_eq!(observed(&world, "api"), (0, "2".to_owned()), "nothing else has moved");
    let before = written(&world);
    assert_eq!(finalize(&world, &request, &answer).exits(0).json(), answer);
    let mut other = request.clone();
    other["reason"] = "another".into();
    let mut later = answer.clone();
    later["revision"] = "2".into();
    for (request, answer) in
        [(&other, &answer), (&request, &later), (&operation("x", 0, 0, 2), &answer)]
    {
        let ran = finalize(&world, request, answer).exits(10);
        assert_eq!(ran.json()["code"], "authority_state_error");
    }
    assert_eq!(written(&world), before);
    world.run("verify").exits(0);
    let log = world.run("log").exits(0).stdout;
    assert!(log.contains("gateway_finalized"), "{log}");
}

#[test]
fn an_operation_is_an_intent_like_any_other() {
    let world = world();
    apply(&world, &operation("a", 0, 0, 2)).exits(0);
    let odd = json!({
        "schema_version": 1, "operation_id": "odd \u{7} id", "service": "a b",
        "expected_revision": "0", "direction": "Up", "current_replicas": 0,
        "desired_replicas": 1, "reason": "",
    });
    apply(&world, &odd).exits(0);
    let rows = world.json("status").exits(0);
    let rows = rows.at("/services");
    assert_eq!(rows.as_array().unwrap().len(), 2, "{rows}");
    assert!(!rows.to_string().contains("actuate"), "nobody carries it out: {rows}");
    let shown = world.json("intent show api@latest").exits(0);
    assert_eq!(shown.at("/execution/put_by/actor"), "gateway");
    // Somebody else's wish of the service counts as well, and the gateway goes on after it.
    world
        .run("intent put api --replicas 7 --expect-revision latest --reason hand --supersede")
        .exits(0);
    assert_eq!(observed(&world, "api"), (7, "2".to_owned()));
    apply(&world, &operation("b", 2, 7, 1)).exits(0);
    assert_eq!(observed(&world, "api"), (1, "3".to_owned()));
    world.run("verify").exits(0);
}

#[test]
fn what_was_counted_before_the_first_operation_is_told_from_the_chain() {
    let world = World::with_fake();
    for (count, key) in [(2, "k1"), (3, "k2"), (1, "k3")] {
        world.run(&format!("scale web={count} --reason r --key {key}")).exits(0);
    }
    // Neither a simulation nor what was only proposed is counted.
    world
        .run("intent put web --replicas 4 --expect-revision latest --reason r --key d --dry-run")
        .exits(0);
    let body = world.run("gateway observe web").exits(0).json();
    assert_eq!((&body["replicas"], &body["revision"]), (&json!(1), &json!("3")));
    assert_eq!(body["ready_replicas"], 1, "as it was read last");
    let mut operation = operation("a", 3, 1, 4);
    operation["service"] = "web".into();
    assert_eq!(apply(&world, &operation).exits(0).json()["revision"], "4");
    // From there on it is counted, whoever wishes.
    world.run("scale web=2 --reason r --key k4 --supersede").exits(0);
    assert_eq!(observed(&world, "web"), (2, "5".to_owned()));
    world.run("verify").exits(0);
}

#[test]
fn a_ledger_of_the_first_release_is_observed_and_stays_sound() {
    let mut world = World::new();
    let fixture = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/ledgers/v1.db");
    let ledger = world.write("v1.db", std::fs::read(fixture).unwrap());
    world.set("SCALECTL_LEDGER", ledger.to_str().unwrap());
    world.run("observe web@latest").exits(21).says("scalectl ledger migrate");
    world.run("ledger migrate").exits(0);
    assert_eq!(observed(&world, "web"), (5, "2".to_owned()), "one was withdrawn, and counts");
    assert_eq!(observed(&world, "api"), (5, "1".to_owned()));
    world.run("intent withdraw k-2 --supersede --reason on").exits(0);
    assert_eq!(observed(&world, "web"), (5, "2".to_owned()));
    world.run("verify").exits(0);
}
