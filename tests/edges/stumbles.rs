//! What somebody has met who knew the README only: each answer leads on, and says what is so.

use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::people::{next, pasted};
use crate::support::{Ran, World, is_stopped, send};

fn ended(line: &str, child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        line: line.to_owned(),
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn after_a_signal_before_the_start_the_same_line_is_the_way_on() {
    let mut world = World::with_fake();
    let line = "-o json scale web=3 --key k1 --reason x";
    world.set("SCALECTL_TEST_STOP", "yes").set("SCALECTL_TEST_CRASH", "after_commit#2");
    let child = world.start(line);
    world.unset("SCALECTL_TEST_STOP").unset("SCALECTL_TEST_CRASH");
    world.until("it has stopped", || is_stopped(&child));
    let shown = world.json("intent show k1").exits(0);
    assert_eq!(shown.at("/execution/state"), "accepted");
    send(&child, Signal::INT);
    send(&child, Signal::CONT);
    let ran = ended(line, child).exits(130);
    assert_eq!(ran.at("/recorded"), "yes");
    let lines = next(&ran);
    assert_eq!((lines.len(), lines[0].join(" ")), (2, format!("scalectl {line}")));
    assert_eq!(lines[1].join(" "), "scalectl intent withdraw web@1");

    // A replay starts no wish, and does not look as if it had done anything.
    let replayed = world.json("replay k1").exits(19);
    assert_eq!(replayed.at("/error/code"), "not_started");
    assert_eq!(next(&replayed)[0].join(" "), "scalectl actuate k1");
    assert!(world.fake_log("calls").is_empty());
    world.json("replay k1 --wait --timeout 1s").exits(19);
    assert!(world.json("replay k1 --dry-run").exits(0).stdout.contains("replay starts no wish"));

    pasted(&world, &ran, 0).exits(0);
    assert_eq!(world.fake_log("effects").len(), 1);
}

#[test]
fn a_wish_that_ends_a_waiting_one_says_so() {
    let world = World::with_fake();
    world.run("intent put web --replicas 2 --key c-5 --reason x").exits(0);
    assert!(world.run("plan web=3 --reason x").exits(0).stdout.contains("ends web@1"));
    let ran = world.json("intent put web --replicas 3 --key c-6 --reason x").exits(0);
    assert_eq!(ran.at("/warnings/0/code"), "ends_waiting");
    let text = "this ends web@1 (key c-5), which had not started";
    assert_eq!(ran.at("/warnings/0/message"), text);
    let ran = world.run("scale web=4 --key c-7 --reason x").exits(0);
    assert!(ran.stderr.contains("warning: this ends web@2 (key c-6)"), "{ran:#?}");
    // A batch says it to the line that did it.
    let lines = r#"{"command":["intent","put","web","--replicas","5","--key","c-8","--reason","x"]}
{"command":["intent","put","web","--replicas","6","--key","c-9","--reason","x"]}
"#;
    let ran = world.run_with("batch", lines.as_bytes()).exits(0);
    let last: Value = serde_json::from_str(ran.stdout.lines().nth(1).unwrap()).unwrap();
    assert_eq!(last["warnings"][0]["message"], text.replace("web@1 (key c-5)", "web@4 (key c-8)"));
    assert!(!ran.stdout.lines().next().unwrap().contains("ends_waiting"), "{ran:#?}");
}

#[test]
fn a_waiting_wish_under_a_lease_is_ended_only_on_purpose() {
    let world = World::with_fake();
    world.run("intent put web --replicas 2 --key c-5 --reason x").exits(0);
    world.run("lease acquire c-5 --ttl 60s").exits(0);
    let put = "intent put web --replicas 3 --key c-6 --reason x";
    let ran = world.json(put).exits(11);
    assert_eq!(ran.at("/error/code"), "held");
    assert!(ran.at("/error/retry_after_ms").as_u64().unwrap() > 50_000, "{ran:#?}");
    assert!(ran.at("/error/hint").as_str().unwrap().contains("--supersede"), "{ran:#?}");
    pasted(&world, &ran, 0).exits(0);
    world.run("scale web=3 --key c-6 --reason x --no-wait").exits(11);
    assert_eq!(world.json("intent show c-5").at("/execution/state"), "accepted");
    let ran = world.run(&format!("{put} --supersede")).exits(0);
    assert!(ran.stderr.contains("this ends web@1 (key c-5)"), "{ran:#?}");
}

/// A wish that waits behind another's call.
#[test]
fn a_queued_wish_is_carried_out_once_it_is_its_turn() {
    let world = World::with_fake();
    world.script(&["late 1"]);
    let mut first = world.start("scale web=2 --key k1 --reason x");
    world.until("the call begins", || !world.fake_log("calls").is_empty());
    // Without --queue it is held, and says for how long at most.
    let ran = world.json("scale web=3 --key k2 --reason x").exits(11);
    assert_eq!(ran.at("/error/code"), "in_flight");
    assert!(ran.at("/error/retry_after_ms").as_u64().unwrap() > 1000, "{ran:#?}");
    let ran = world.run("scale web=3 --key k2 --reason x --queue --no-wait").exits(19);
    assert!(ran.stderr.contains("waits_behind"), "{ran:#?}");
    let ran = world.run("scale web=3 --key k2 --reason x --queue --timeout 30s").exits(0);
    let waiting: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("waiting")).collect();
    assert_eq!(waiting.len(), 1, "{ran:#?}");
    assert!(waiting[0].contains("waiting at most 29."), "{ran:#?}");
    assert!(first.wait().unwrap().success());
    assert_eq!(world.fake_log("effects").len(), 2);
}

#[test]
fn a_queued_wish_waits_no_longer_than_it_was_told() {
    let world = World::with_fake();
    world.script(&["unknown"]);
    world.run("service put web --quiet 1h").exits(0);
    std::fs::write(world.fake_dir().join("capabilities"), "inspect\n").unwrap();
    let ran = world.json("scale web=2 --key k1 --reason x").exits(16);
    assert!(ran.at("/error/retry_after_ms").as_u64().unwrap() > 3_500_000, "{ran:#?}");
    let ran = world.json("scale web=3 --key k2 --reason x").exits(11);
    assert!(ran.at("/error/retry_after_ms").as_u64().unwrap() > 3_500_000, "{ran:#?}");
    let began = Instant::now();
    let ran = world.json("scale web=3 --key k2 --reason x --queue --timeout 1s").exits(19);
    assert!((1..4).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    assert!(next(&ran).last().unwrap().join(" ").ends_with("intent withdraw web@2"), "{ran:#?}");
}

#[test]
fn a_locked_ledger_is_told_with_its_holder_and_ends_with_the_callers_time() {
    let world = World::with_fake();
    let lock = world.lock();
    let began = Instant::now();
    let ran = world.json("scale web=2 --key k1 --reason x --timeout 3s").exits(20);
    assert!((2800..4500).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    assert_eq!(ran.at("/error/code"), "ledger_busy");
    let said = ran.stderr.lines().filter(|line| line.starts_with("waiting for the ledger"));
    assert_eq!(said.clone().count(), 1, "{ran:#?}");
    if !world.is_on_postgres() {
        let holder = format!("(pid {})", std::process::id());
        assert!(said.clone().all(|line| line.contains(&holder)), "{ran:#?}");
        assert!(ran.at("/error/facts/holder").as_str().unwrap().ends_with(&holder), "{ran:#?}");
    }
    // The lock timeout bounds it where no other time does.
    let began = Instant::now();
    world.run("intent put web --replicas 2 --reason x --lock-timeout 700ms").exits(20);
    assert!((700..2500).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    drop(lock);
    world.run("scale web=2 --key k1 --reason x").exits(0);
}

#[test]
fn a_signal_ends_the_wait_for_a_locked_ledger_with_one_document() {
    let world = World::with_fake();
    let _lock = world.lock();
    for line in [
        "intent put web --replicas 2 --key k1 --reason x",
        "scale web=2 --key k1 --reason x",
        "service put web --max 9",
    ] {
        let line = format!("-o json {line} --lock-timeout 60s");
        let child = world.start(&line);
        std::thread::sleep(Duration::from_millis(800));
        let began = Instant::now();
        send(&child, Signal::INT);
        let ran = ended(&line, child).exits(130);
        assert!(began.elapsed() < Duration::from_secs(3), "{line}: {:?}", began.elapsed());
        assert_eq!(ran.at("/error/code"), "interrupted", "{line}");
        assert_eq!(next(&ran)[0].join(" "), format!("scalectl {line}"));
    }
}

#[test]
fn equal_waits_are_said_once_and_again_in_growing_intervals() {
    let world = World::with_fake();
    world.script(&["late 3"]);
    let mut first = world.start("scale web=2 --key k1 --reason x");
    world.until("the call begins", || !world.fake_log("calls").is_empty());
    let ran = world.run("scale web=2 --key k1 --reason x --timeout 20s").exits(0);
    let waiting = ran.stderr.lines().filter(|line| line.contains("waiting")).count();
    assert_eq!(waiting, 1, "{ran:#?}");
    first.wait().unwrap();
}

/// A uid that a person names beside what is read is a premise.
#[test]
fn another_object_than_was_named_is_not_registered() {
    let world = World::new();
    world.init_fake();
    let put = "service put api --actuator fake --writer ops --max 9";
    let ran = world.json(&format!("{put} --target-uid u-1")).exits(2);
    assert_eq!(ran.at("/error/code"), "other_target");
    let text = ran.at("/error/message").as_str().unwrap().to_owned();
    assert!(
        text.starts_with("--target-uid names u-1, and the target of api is read as "),
        "{text}"
    );
    assert_eq!(ran.at("/recorded"), "no");
    let found = text.rsplit(' ').next().unwrap();
    let ran = world.json(&format!("{put} --target-uid {found} --target-version 77")).exits(2);
    assert!(ran.at("/error/message").as_str().unwrap().starts_with("--target-version names 77"));
    let ran = world.json(&format!("{put} --target-uid {found}")).exits(0);
    assert_eq!(ran.at("/service/binding/target_uid"), found);
}

#[test]
fn a_key_that_is_nearly_one_is_told() {
    let world = World::with_fake();
    world.run("intent put web --replicas 3 --key deploy-42 --reason x").exits(0);
    for line in ["actuate deploy-24", "explain deploy42", "intent show depoy-42"] {
        world.run(line).exits(24).says("did you mean  deploy-42");
    }
    let far = world.run("actuate release-7").exits(24);
    assert!(!far.stderr.contains("did you mean"), "{far:#?}");
}
