//! `gate`: whether a deployment may go on. Every verdict has a row; nothing is ever written.

mod ci;

use std::fs;
use std::time::{Duration, Instant};

use crate::support::{Ran, SERVICE, World};

const PUT: &str = "intent put web --replicas 3 --reason r --key";

/// A world in which `web` is verified at 3.
fn verified() -> World {
    let world = World::with_fake();
    world.run("scale web=3 --key k1 --reason r --timeout 20s").exits(0);
    world
}

fn gate(world: &World, line: &str) -> Ran {
    let before = world.events();
    let ran = world.json(&format!("gate {line}"));
    assert_eq!(world.events(), before, "a gate writes nothing: {ran:#?}");
    assert_eq!(ran.at("/recorded"), "no");
    ran
}

/// Asserts how it ends, and the verdict of the first service.
#[track_caller]
fn closed(ran: &Ran, exit: i32, verdict: &str) {
    assert_eq!(ran.code, Some(exit), "{ran:#?}");
    assert_eq!(ran.at("/services/0/verdict"), verdict, "{ran:#?}");
    assert_eq!(ran.at("/open"), false);
    assert!(!ran.at("/error/hint").is_null(), "every refusal has a way on: {ran:#?}");
}

fn tell(world: &World, file: &str, text: &str) {
    fs::write(world.fake_dir().join(file), format!("{text}\n")).expect("ours");
}

#[test]
fn it_is_open_where_what_runs_is_what_is_wished() {
    let world = verified();
    for line in ["web", "web=3", "web --ready", "web=3 --ready --reviewed", "web --recorded"] {
        let ran = gate(&world, line).exits(0);
        assert_eq!((ran.at("/open"), ran.at("/services/0/verdict")), (true.into(), "open".into()));
        assert_eq!(ran.at("/services/0/desired_replicas"), 3);
    }
    let ran = world.run("gate web=3").exits(0);
    assert!(ran.stdout.ends_with("gate: open (1 of 1)\n"), "{ran:#?}");
    assert_eq!(world.run("gate web -o name").exits(0).stdout, "web\n");
}

#[test]
fn each_thing_that_closes_it_has_its_exit() {
    let world = World::with_fake();
    closed(&gate(&world, "web"), 10, "no_wish");
    world.run(&format!("{PUT} k1")).exits(0);
    closed(&gate(&world, "web=3"), 19, "waiting");
    closed(&gate(&world, "web=4"), 10, "other_wish");
    world.run("service put web --readings 2").exits(0);
    world.run("intent withdraw k1").exits(0);
    world.run(&format!("{PUT} k2")).exits(0);
    world.run("actuate k2").exits(0);
    closed(&gate(&world, "web"), 19, "unconfirmed");
    world.run("observe k2 --wait").exits(0);
    gate(&world, "web=3").exits(0);
    // Somebody else changes it. What is recorded does not know that.
    tell(&world, "count", "2");
    closed(&gate(&world, "web"), 23, "differs");
    gate(&world, "web --recorded").exits(0);
    gate(&world, "web --max-age 1h").exits(0);
    tell(&world, "count", "3");
    tell(&world, "ready", "1");
    let ran = gate(&world, "web --ready");
    closed(&ran, 19, "not_ready");
    assert_eq!(ran.at("/services/0/why"), "2 replicas not ready");
    gate(&world, "web").exits(0);
}

#[test]
fn what_a_call_came_to_is_asked_before_what_runs() {
    let world = World::with_fake();
    world.run("service put web --readings 1").exits(0);
    world.script(&["unknown", "fail retryable busy", "fail terminal broken", "half 7 terminal"]);
    world.run(&format!("{PUT} k1")).exits(0);
    world.run("actuate k1").exits(16);
    let ran = gate(&world, "web=3");
    closed(&ran, 16, "unknown");
    assert_eq!(ran.at("/applied"), "unknown");
    world.run("replay k1 --wait --timeout 20s").exits(0);
    gate(&world, "web=3").exits(0);
    world.run("intent put web --replicas 5 --reason r --key k2 --max-attempts 3").exits(0);
    world.run("actuate k2").exits(18);
    closed(&gate(&world, "web"), 19, "retrying");
    world.run("actuate k2").exits(17);
    closed(&gate(&world, "web=5"), 17, "failed");
    world.run("intent put web --replicas 8 --reason r --key k3").exits(0);
    world.run("actuate k3").exits(23);
    let ran = gate(&world, "web=8");
    closed(&ran, 23, "failed");
    assert_eq!(ran.at("/applied"), "partial");
}

#[test]
fn what_cannot_be_read_proves_nothing() {
    let world = verified();
    tell(&world, "count", "");
    fs::write(world.fake_dir().join("count"), "").expect("ours");
    let ran = gate(&world, "web");
    assert_eq!(ran.at("/services/0/verdict"), "unseen");
    assert_eq!(ran.code, Some(20), "{ran:#?}");
    gate(&world, "web --recorded").exits(0);
    let ran = gate(&world, "web --recorded --max-age 0s");
    closed(&ran, 25, "unseen");
    assert!(ran.at("/services/0/why").to_string().contains("is asked"), "{ran:#?}");
}

#[test]
fn an_owner_elsewhere_and_what_is_not_there_are_told_as_that() {
    let world = verified();
    world
        .run(
            &SERVICE
                .replace(" web ", " far ")
                .replace("--drain", "--mode hpa --drain")
                .replace("fake:web", "fake:far"),
        )
        .exits(0);
    closed(&gate(&world, "far"), 22, "external_owner");
    assert_eq!(gate(&world, "web nosuch").exits(24).at("/error/code"), "service_not_found");
    assert_eq!(gate(&world, "web web=3").exits(2).at("/error/code"), "named_twice");
    for word in ["web=", "web=x", "web=-1", "=3", "web=99999999999999999999", "a b"] {
        let ran = world.run_args(&["gate", word, "-o", "json"]).exits(2);
        assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
    }
    // The worst of many is the exit, and the others are named beside it.
    let ran = gate(&world, "web=4 far");
    assert_eq!(ran.at("/exit"), 22);
    assert!(ran.at("/error/facts/also").to_string().contains("4 is asked"), "{ran:#?}");
}

#[test]
fn broken_glass_closes_it_until_it_is_reviewed() {
    let mut world = verified();
    world.be("anna:1001");
    world
        .run(
            "scale web=2 --break-glass --incident INC-1 --reason q --yes --current-replicas 3 \
             --timeout 20s",
        )
        .exits(0);
    gate(&world, "web=2").exits(0);
    let ran = gate(&world, "web=2 --reviewed");
    closed(&ran, 26, "unreviewed");
    let next: Vec<String> = serde_json::from_value(ran.at("/error/next/0")).expect("a line");
    world.be("otto:1002");
    let words: Vec<&str> = next[1..].iter().map(String::as_str).collect();
    world.run_args(&words).exits(0);
    gate(&world, "web=2 --reviewed").exits(0);
}

#[test]
fn it_waits_for_what_time_may_open_and_for_nothing_else() {
    let world = verified();
    tell(&world, "ready", "1");
    let began = Instant::now();
    let waiting = world.start("gate web --ready --wait --timeout 20s");
    std::thread::sleep(Duration::from_millis(700));
    tell(&world, "ready", "3");
    let ended = waiting.wait_with_output().expect("it is ours");
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(told.contains("waiting for web: 2 replicas not ready"), "{told}");
    assert!(began.elapsed() < Duration::from_secs(15));
    // A person is not waited for.
    let began = Instant::now();
    closed(&gate(&world, "web=9 --wait --timeout 60s"), 10, "other_wish");
    assert!(began.elapsed() < Duration::from_secs(30));
    // And the wait has its end.
    tell(&world, "ready", "1");
    closed(&gate(&world, "web --ready --wait --timeout 300ms"), 19, "not_ready");
}

/// A pin, a static count and a service whose count is all there is.
#[test]
fn what_is_wished_by_a_setting_counts_too() {
    let world = World::with_fake();
    world.run("service put web --replicas 2").exits(0);
    closed(&gate(&world, "web"), 23, "differs");
    tell(&world, "count", "2");
    gate(&world, "web=2").exits(0);
    world.run("override set web=4 --until 1h --reason r").exits(0);
    gate(&world, "web=4").exits(0);
    closed(&gate(&world, "web=2"), 10, "other_wish");
}

/// What was changed between the call and its confirmation is no matter of time.
#[test]
fn a_count_that_drifts_before_its_confirmation_is_not_waited_for() {
    let world = World::with_fake();
    world.run("service put web --readings 2").exits(0);
    world.run(&format!("{PUT} k1")).exits(0);
    world.run("actuate k1").exits(0);
    tell(&world, "count", "9");
    world.run("observe k1").exits(23);
    closed(&gate(&world, "web=3 --wait --timeout 60s"), 23, "differs");
    let ways = world.json("explain k1").exits(0).at("/ways_out").to_string();
    assert!(ways.contains("scale web=3"), "{ways}");
    world.run("scale web=3 --reason anew --timeout 20s").exits(0);
    gate(&world, "web=3").exits(0);
}

/// A gate is about what holds now, and a hold keeps just that: it closes none, and it is told.
#[test]
fn a_hold_closes_no_gate_and_is_told() {
    let world = verified();
    assert_eq!(gate(&world, "web=3").exits(0).at("/services/0/held"), serde_json::Value::Null);
    world.run_args(&["hold", "set", "web", "--until", "1h", "--reason", "an upgrade"]).exits(0);
    let ran = gate(&world, "web=3").exits(0);
    assert_eq!(ran.at("/services/0/held/reason"), "an upgrade");
    let ran = world.run("gate web=3").exits(0);
    assert!(ran.stdout.contains("(an upgrade): it closes no gate; only a broken"), "{ran:#?}");
    // What is closed otherwise stays so, and says who keeps it from being mended.
    let ran = gate(&world, "web=5").exits(10);
    assert!(ran.stderr.contains("web: 3 is wished, and 5 is asked (held by"), "{ran:#?}");
    tell(&world, "count", "7");
    gate(&world, "web").exits(23).says("(held by");
}
