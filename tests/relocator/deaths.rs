//! Killed at every point of every operation, and woken up after a newer worker was there.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;

use scalectl::crash::RelocatorPoint;
use serde_json::{Value, json};

use super::fences::{go_on, mark, stopped};
use super::world::{MOVE, World, answer, contents, source, target};

pub(super) fn armed(world: &mut World, point: RelocatorPoint, count: u32, stops: bool) {
    let _ = fs::remove_file(world.path("mark"));
    let order = format!("{}#{count}", point.as_str());
    world.variables.insert("SCALECTL_TEST_CRASH".into(), order);
    let mark = mark(world);
    world.variables.insert("SCALECTL_TEST_CRASH_MARK".into(), mark);
    if stops {
        world.variables.insert("SCALECTL_TEST_STOP".into(), "1".into());
    }
}

/// The operation in which a point is passed.
const PLACES: [(RelocatorPoint, &str); 14] = [
    (RelocatorPoint::RouteAway, "drain"),
    (RelocatorPoint::Revoked, "drain"),
    (RelocatorPoint::InFence, "fence"),
    (RelocatorPoint::AfterFence, "fence"),
    (RelocatorPoint::AfterFile, "transfer"),
    (RelocatorPoint::Exported, "transfer"),
    (RelocatorPoint::BeforeName, "transfer"),
    (RelocatorPoint::Named, "transfer"),
    (RelocatorPoint::Read, "verify"),
    (RelocatorPoint::SourceLeft, "route"),
    (RelocatorPoint::TargetOpen, "route"),
    (RelocatorPoint::Routed, "route"),
    (RelocatorPoint::Thrown, "retire"),
    (RelocatorPoint::Thrown, "discard"),
];

fn request(op: &str, token: u64) -> Value {
    let mut request = World::request(op, token);
    if op == "retire" {
        request["workspace"] = json!(true);
    }
    request
}

fn steps_before(op: &str) -> &'static [&'static str] {
    if op == "discard" {
        return &MOVE[1..5];
    }
    let at = MOVE.iter().position(|step| *step == op).expect("a step");
    &MOVE[1..at]
}

/// One owner at most, whoever is asked.
fn owners(world: &World) -> usize {
    let may_write = |place: &Value| {
        let copy = world.copy(place);
        copy.join("database.sqlite").exists() && {
            let database = world.database(place);
            let done = database.execute_batch("BEGIN; INSERT INTO pair VALUES (77, 77); ROLLBACK");
            done.is_ok()
        }
    };
    [source(), target()].iter().filter(|place| may_write(place)).count()
}

#[test]
fn every_point_of_a_relocator_is_walked() {
    for point in RelocatorPoint::ALL {
        assert!(PLACES.iter().any(|(it, _)| *it == point), "{point:?}");
    }
}

#[test]
fn killed_at_any_point_the_same_request_comes_to_the_same_end() {
    for (point, op) in PLACES {
        for count in if point == RelocatorPoint::AfterFile { 1..=6 } else { 1..=1 } {
            let mut world = World::new();
            world.insert(&source(), 1).expect("open");
            for step in steps_before(op) {
                world.op(step, 5);
            }
            armed(&mut world, point, count, false);
            let died = world.spawn(&request(op, 5)).wait_with_output().expect("it ends");
            assert_eq!(died.status.signal(), Some(9), "{point:?} of {op}: {died:?}");
            assert!(world.path("mark").exists(), "{point:?} was not passed");
            assert!(owners(&world) <= 1, "{point:?} of {op}");
            world.variables.clear();
            world.done(&request(op, 5));
            assert!(owners(&world) <= 1, "{point:?} of {op}");
            if op == "discard" {
                assert!(!world.copy(&target()).exists());
                continue;
            }
            for step in &MOVE[1 + steps_before(op).len()..] {
                world.done(&request(step, 5));
            }
            assert_eq!(world.numbers(&target()), [1], "{point:?} of {op}");
            assert_eq!(owners(&world), 1);
            let left = contents(&world.path("cells"));
            let stray = left.keys().find(|name| name.contains("/.") && !name.ends_with("/.lock"));
            assert_eq!(stray, None, "{point:?} of {op}");
        }
    }
}

#[test]
fn a_sleeping_call_that_wakes_up_after_a_newer_one_does_nothing() {
    for (point, op) in [
        (RelocatorPoint::RouteAway, "drain"),
        (RelocatorPoint::AfterFile, "transfer"),
        (RelocatorPoint::Exported, "transfer"),
        (RelocatorPoint::BeforeName, "transfer"),
        (RelocatorPoint::Read, "verify"),
    ] {
        let mut world = World::new();
        world.write("sessions/shop/open/s1", "");
        for step in steps_before(op) {
            world.op(step, 5);
        }
        armed(&mut world, point, 1, true);
        let call = world.spawn(&request(op, 5));
        stopped(&world);
        world.variables.clear();
        // The newer lease compensates, and moves on its own.
        for step in ["fence", "discard", "unfence", "undrain"] {
            let mut newer = World::request(step, 6);
            newer["operation"] = json!("op2");
            world.done(&newer);
        }
        let before = (contents(&world.copy(&source()).join("application")), world.route());
        go_on(&call);
        let said = answer(&call.wait_with_output().expect("it ends"));
        assert_eq!(said["ok"], false, "{point:?}: {said}");
        let code = said["error"]["code"].as_str().expect("a code");
        assert_eq!(code, "stale_token", "{point:?}: {said}");
        let after = (contents(&world.copy(&source()).join("application")), world.route());
        assert_eq!(before, after, "{point:?}");
        assert!(!world.copy(&target()).exists(), "{point:?}");
        world.insert(&source(), 3).expect("open, as the newer one has left it");
        for step in &MOVE[1..] {
            world.op(step, 7);
        }
        assert_eq!(world.numbers(&target()), [3]);
    }
}

/// Where it sleeps with the lock in hand, the newer one cannot begin: no instant has two of them.
#[test]
fn a_newer_call_waits_for_one_that_sleeps_in_the_middle_of_its_effect() {
    for (point, op) in [
        (RelocatorPoint::InFence, "fence"),
        (RelocatorPoint::SourceLeft, "route"),
        (RelocatorPoint::TargetOpen, "route"),
    ] {
        let mut world = World::new();
        for step in steps_before(op) {
            world.op(step, 5);
        }
        armed(&mut world, point, 1, true);
        let mut call = world.spawn(&request(op, 5));
        stopped(&world);
        world.variables.clear();
        let mut newer = request("fence", 6);
        newer["deadline_ms"] = json!(300);
        assert_eq!(world.refused(&newer), "timed_out", "{point:?}");
        call.kill().expect("as its guard does at its deadline");
        call.wait().expect("it is gone");
        world.op("fence", 6);
        let stale = world.refused(&request(op, 5));
        assert_eq!(stale, "stale_token", "{point:?}");
        for step in &MOVE[1..6] {
            world.op(step, 6);
        }
        assert_eq!(owners(&world), 1);
    }
}

#[test]
fn an_unfinished_copy_is_gone_on_with_and_not_begun_anew() {
    let mut world = World::new();
    world.op("fence", 5);
    armed(&mut world, RelocatorPoint::AfterFile, 3, false);
    let died = world.spawn(&request("transfer", 5)).wait_with_output().expect("it ends");
    assert_eq!(died.status.signal(), Some(9));
    world.variables.clear();
    let partial = |token: u64| world.path(&format!("cells/b/shop/.partial-2-op2.t{token}"));
    let inode = |path: std::path::PathBuf| {
        use std::os::unix::fs::MetadataExt as _;
        fs::metadata(path).expect("copied before").ino()
    };
    let name = "artifacts/release-1.tar";
    let before = inode(partial(5).join(name));
    // What is not as it was proved is copied again.
    fs::write(partial(5).join("application/bin/server"), "#!/bin/no\n").expect("damaged");
    world.op("fence", 6);
    world.op("transfer", 6);
    assert_eq!(inode(world.copy(&target()).join(name)), before, "it was not copied again");
    world.op("verify", 6);
    assert!(!partial(5).exists() && !partial(6).exists());
}

#[test]
fn a_package_and_what_is_made_of_it_are_gone_on_with_after_a_death() {
    let package = json!({"cell": "c", "generation": "1-backup"});
    let mut request = World::request("snapshot", 5);
    request["target"] = package.clone();
    for point in [
        RelocatorPoint::AfterFile,
        RelocatorPoint::Exported,
        RelocatorPoint::BeforeName,
        RelocatorPoint::Named,
    ] {
        let mut world = World::new();
        world.insert(&source(), 1).expect("open");
        armed(&mut world, point, 1, false);
        let died = world.spawn(&request).wait_with_output().expect("it ends");
        assert_eq!(died.status.signal(), Some(9), "{point:?}: {died:?}");
        world.variables.clear();
        world.insert(&source(), 2).expect("it serves on");
        world.done(&request);
        let folder = world.copy(&package).display().to_string();
        if point == RelocatorPoint::Exported {
            continue; // A restore exports nothing.
        }
        armed(&mut world, point, 1, false);
        let into = world.path("fresh").display().to_string();
        let line = ["recovery", "restore", &folder, "--into", &into];
        let died = world.scalectl(&line);
        assert_eq!(died.status.signal(), Some(9), "{point:?}: {died:?}");
        world.variables.clear();
        let said = world.scalectl(&line);
        assert_eq!(said.status.code(), Some(0), "{point:?}: {said:?}");
        let mut whole = contents(&world.copy(&package));
        whole.remove("verified.json");
        assert_eq!(contents(&world.path("fresh/shop/1-backup")), whole, "{point:?}");
    }
}

/// An inventory may take long, so it is taken without the lock.
#[test]
fn a_newer_call_is_not_kept_waiting_by_an_inventory() {
    let world = World::new();
    world.database(&source()).execute_batch("PRAGMA journal_mode = DELETE").expect("set");
    world.op("fence", 5);
    let busy = world.database(&source());
    busy.execute_batch("BEGIN EXCLUSIVE").expect("held");
    let call = world.spawn(&World::request("transfer", 5));
    let files = format!("/proc/{}/fd", call.id());
    let is_open = || {
        let entries = fs::read_dir(&files).expect("it lives").flatten();
        let mut names = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
        names.any(|name| name.ends_with("database.sqlite"))
    };
    let is_there = (0..2000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        is_open()
    });
    assert!(is_there, "it never came to its inventory");
    let mut newer = World::request("discard", 6);
    newer["deadline_ms"] = json!(5000);
    world.done(&newer);
    drop(busy);
    let said = answer(&call.wait_with_output().expect("it ends"));
    assert_eq!(said["error"]["code"], "stale_token", "{said}");
}
