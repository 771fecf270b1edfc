//! The fence: what it stops, what it finds, and what it refuses to promise.

use std::fs;
use std::process::Command;

use serde_json::json;

use super::world::{World, answer, source, target};

#[test]
fn a_fenced_write_fails_in_its_own_transaction_whatever_it_is() {
    let world = World::new();
    world.insert(&source(), 1).expect("open");
    let open = world.database(&source());
    let receipt = world.op("fence", 5);
    assert_eq!(receipt["tables"], 3);
    for write in [
        "INSERT INTO entry VALUES (2, 'x')",
        "INSERT OR REPLACE INTO entry VALUES (1, 'x')",
        "INSERT OR IGNORE INTO entry VALUES (3, 'x')",
        "UPDATE entry SET text = 'x'",
        "DELETE FROM entry",
        "INSERT INTO pair VALUES (3, 4)",
        "DELETE FROM \"odd \"\" name\"",
        "UPDATE pair SET b = 9",
    ] {
        let error = open.execute(write, []).expect_err(write).to_string();
        assert!(error.contains("scalectl: this copy is fenced"), "{write}: {error}");
    }
    assert_eq!(world.numbers(&source()), [1]);
    world.op("unfence", 5);
    open.execute("UPDATE pair SET b = 9", []).expect("open again");
    world.insert(&source(), 2).expect("open again");
}

#[test]
fn a_writer_in_the_middle_of_its_transaction_is_waited_for() {
    let world = World::new();
    let writer = world.database(&source());
    writer.execute_batch("BEGIN IMMEDIATE; INSERT INTO entry VALUES (1, 'x')").expect("begun");
    let mut short = World::request("fence", 5);
    short["deadline_ms"] = json!(400);
    assert_eq!(world.refused(&short), "timed_out");
    writer.execute_batch("COMMIT").expect("it was accepted, so it may commit");
    world.op("fence", 5);
    assert_eq!(world.numbers(&source()), [1]);
}

#[test]
fn whoever_writes_files_is_waited_for_as_well() {
    let world = World::new();
    let lock = fs::File::create(world.copy(&source()).join(".lock")).expect("made");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("held");
    let mut short = World::request("fence", 5);
    short["deadline_ms"] = json!(400);
    assert_eq!(world.refused(&short), "timed_out");
    drop(lock);
    world.op("fence", 5);
    let text = fs::read_to_string(world.copy(&source()).join("fence.json")).expect("told");
    assert!(text.contains("\"state\": \"fenced\""), "{text}");
}

#[test]
fn what_no_trigger_stops_is_found_before_anything_counts() {
    // Each is a way around a trigger, by somebody who has the database open.
    for way in [
        "CREATE TABLE late (x); INSERT INTO late VALUES (1)",
        "DROP TRIGGER scalectl_fence_insert_entry; INSERT INTO entry VALUES (9, 'x')",
        "UPDATE scalectl_fence SET state = 'open'; INSERT INTO entry VALUES (9, 'x');
         UPDATE scalectl_fence SET state = 'fenced'",
        "DROP TABLE pair",
        "ANALYZE",
        "PRAGMA user_version = 7",
    ] {
        let world = World::new();
        world.op("drain", 5);
        world.op("fence", 5);
        world.database(&source()).execute_batch(way).expect(way);
        assert_eq!(world.refused_op("transfer", 5), "unprovable_fencing", "{way}");
        assert!(!world.copy(&target()).exists());
        // Fenced anew, all that is there now goes along, and every table is guarded again.
        world.op("fence", 5);
        assert!(world.insert(&source(), 10).is_err(), "{way}");
        world.op("transfer", 5);
        world.op("verify", 5);
        world.database(&source()).execute_batch("PRAGMA user_version = 8").expect("written");
        assert_eq!(world.refused_op("verify", 5), "unprovable_fencing", "{way}");
        assert_eq!(world.refused_op("route", 5), "unprovable_fencing", "{way}");
        // Neither does a new fence make the older copy good.
        world.op("fence", 6);
        assert_eq!(world.refused_op("verify", 6), "unprovable_fencing", "{way}");
        for op in ["discard", "transfer", "verify", "route"] {
            world.op(op, 6);
        }
    }
}

#[test]
fn a_file_that_is_written_behind_the_fence_is_found() {
    let world = World::new();
    world.op("fence", 5);
    let mut world = world;
    world.variables.insert("SCALECTL_TEST_CRASH".into(), "relocator_exported".into());
    world.variables.insert("SCALECTL_TEST_STOP".into(), "1".into());
    world.variables.insert("SCALECTL_TEST_CRASH_MARK".into(), mark(&world));
    let call = world.spawn(&World::request("transfer", 5));
    stopped(&world);
    world.write("cells/a/shop/1-op1/workspace/src/main.c", "edited");
    go_on(&call);
    let said = answer(&call.wait_with_output().expect("it ends"));
    assert_eq!(said["error"]["code"], "unprovable_fencing", "{said}");
}

#[test]
fn a_virtual_table_cannot_be_guarded_and_nothing_is_changed() {
    let world = World::new();
    // A module that this program does not have: what nobody can open, nobody can guard.
    let path = world.copy(&source()).join("database.sqlite");
    let script = "import sqlite3, sys; database = sqlite3.connect(sys.argv[1]); \
                  database.execute('CREATE VIRTUAL TABLE words USING fts5(text)')";
    let made = Command::new("python3").args(["-c", script]).arg(path).status();
    assert!(made.expect("python3 runs").success());
    let database = world.database(&source());
    let answer = world.call(&World::request("fence", 5));
    assert_eq!(answer["error"]["code"], "unprovable_fencing", "{answer}");
    assert_eq!(answer["error"]["applied"], "no");
    world.insert(&source(), 1).expect("still open");
    let found = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'scalectl%'";
    let own: i64 = database.query_row(found, [], |row| row.get(0)).expect("a count");
    assert_eq!(own, 0);
}

#[test]
fn a_table_of_the_application_with_our_name_is_no_fence() {
    let world = World::new();
    let database = world.database(&source());
    database.execute_batch("CREATE TABLE scalectl_fence (mine)").expect("made");
    assert_eq!(world.refused_op("fence", 5), "unprovable_fencing");
    world.insert(&source(), 1).expect("still open");
}

#[test]
fn what_is_missing_or_running_stops_before_any_effect() {
    for (name, code) in [
        ("application", "missing_dependency"),
        ("artifacts", "missing_dependency"),
        ("database.sqlite", "missing_dependency"),
        ("credentials.json", "missing_dependency"),
        ("subjects.json", "missing_dependency"),
        ("workspace.json", "missing_dependency"),
    ] {
        let world = World::new();
        let path = world.copy(&source()).join(name);
        fs::rename(&path, world.path("aside")).expect("moved");
        let answer = world.call(&World::request("inventory", 5));
        assert_eq!(answer["error"]["code"], code, "{name}");
        assert!(answer["error"]["message"].as_str().expect("words").contains(name), "{answer}");
    }
    let world = World::new();
    fs::remove_file(world.path("credentials/db")).expect("removed");
    assert_eq!(world.refused_op("inventory", 5), "missing_dependency");
    world.write("credentials/db", "");
    let copy = "cells/a/shop/1-op1";
    let valued =
        r#"{"references": [{"name": "n", "provider": "p", "reference": "r", "value": "s"}]}"#;
    let good = fs::read_to_string(world.path(&format!("{copy}/credentials.json"))).expect("there");
    world.write(&format!("{copy}/credentials.json"), valued);
    assert_eq!(world.refused_op("inventory", 5), "unusable", "references, never values");
    world.write(&format!("{copy}/credentials.json"), &good);
    world.write(&format!("{copy}/workspace.json"), r#"{"state": "running"}"#);
    for op in ["inventory", "fence", "snapshot"] {
        assert_eq!(world.refused_op(op, 5), "workspace_running", "{op}");
    }
    world.insert(&source(), 1).expect("nothing was fenced");
    world.write(&format!("{copy}/workspace.json"), r#"{"state": "stopped"}"#);
    let link = world.copy(&source()).join("application/outside");
    std::os::unix::fs::symlink("/etc/hostname", link).expect("linked");
    assert_eq!(world.refused_op("inventory", 5), "missing_dependency");
}

#[test]
fn a_lower_token_can_do_nothing_any_more() {
    let world = World::new();
    for op in ["drain", "fence", "transfer", "verify"] {
        world.op(op, 7);
    }
    for op in ["drain", "undrain", "fence", "unfence", "transfer", "verify", "route", "retire"]
        .into_iter()
        .chain(["discard", "snapshot"])
    {
        let answer = world.call(&World::request(op, 6));
        assert_eq!(answer["error"]["code"], "stale_token", "{op}: {answer}");
        assert_eq!(answer["error"]["facts"], json!({"given": 6, "current": 7}));
    }
    // Only `route` opens a copy that never served.
    let mut never = World::request("unfence", 7);
    never["source"] = target();
    assert_eq!(world.refused(&never), "other_generation");
    // A newer one fences first.
    assert_eq!(world.refused_op("route", 8), "not_fenced");
    world.op("fence", 8);
    world.op("route", 8);
    let mut other = World::request("retire", 8);
    other["operation"] = json!("op9");
    assert_eq!(world.refused(&other), "other_generation", "a token is of one operation");
}

pub(super) fn mark(world: &World) -> String {
    world.path("mark").display().to_string()
}

/// Waits until the call has stopped itself where it was told to.
pub(super) fn stopped(world: &World) {
    let is_there = (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        world.path("mark").exists()
    });
    assert!(is_there, "it never came there");
    std::thread::sleep(std::time::Duration::from_millis(30));
}

pub(super) fn go_on(call: &std::process::Child) {
    let pid = i32::try_from(call.id()).ok().and_then(rustix::process::Pid::from_raw);
    let pid = pid.expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).expect("it lives");
}
