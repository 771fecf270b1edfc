//! Damage, full cells, and recovery packages.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use scalectl::crash::RelocatorPoint;
use serde_json::{Value, json};

use super::deaths::armed;
use super::fences::{go_on, stopped};
use super::world::{MOVE, World, contents, source, target};

fn package() -> Value {
    json!({"cell": "c", "generation": "1-backup"})
}

fn snapshot(token: u64, package: &Value) -> Value {
    let mut request = World::request("snapshot", token);
    request["target"] = package.clone();
    request
}

#[test]
fn any_damage_of_a_copy_is_found_and_named() {
    type Damage = fn(&std::path::Path);
    let ways: [(&str, Damage); 8] = [
        ("artifacts/release-1.tar", |copy| {
            let path = copy.join("artifacts/release-1.tar");
            let mut bytes = fs::read(&path).expect("there");
            bytes[17] ^= 1;
            fs::write(path, bytes).expect("written");
        }),
        ("application/empty", |copy| {
            fs::remove_file(copy.join("application/empty")).expect("removed");
        }),
        ("application/more", |copy| {
            fs::write(copy.join("application/more"), "").expect("written");
        }),
        ("application/bin/server", |copy| {
            let path = copy.join("application/bin/server");
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("changed");
        }),
        ("application/current", |copy| {
            fs::remove_file(copy.join("application/current")).expect("removed");
            std::os::unix::fs::symlink("empty", copy.join("application/current")).expect("linked");
        }),
        ("database.sqlite", |copy| {
            let path = copy.join("database.sqlite");
            let mut bytes = fs::read(&path).expect("there");
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
            fs::write(path, bytes).expect("written");
        }),
        ("database.sqlite", |copy| fs::remove_file(copy.join("database.sqlite")).expect("there")),
        ("database.sqlite-wal", |copy| {
            fs::write(copy.join("database.sqlite-wal"), "x").expect("written");
        }),
    ];
    for (file, damage) in ways {
        let world = World::new();
        for step in &MOVE[1..4] {
            world.op(step, 5);
        }
        damage(&world.copy(&target()));
        let answer = world.call(&World::request("verify", 5));
        assert_eq!(answer["error"]["code"], "damaged", "{file}: {answer}");
        assert_eq!(answer["error"]["facts"]["file"], file);
        assert_eq!(world.refused_op("route", 5), "not_there", "it was never verified");
        for step in ["discard", "transfer", "verify", "route"] {
            world.op(step, 5);
        }
    }
}

#[test]
fn a_source_is_retired_only_after_a_whole_successor_serves() {
    let world = World::new();
    for step in &MOVE[1..6] {
        world.op(step, 5);
    }
    fs::write(world.copy(&target()).join("artifacts/release-1.tar"), "other").expect("damaged");
    assert_eq!(world.refused_op("retire", 5), "damaged");
    assert!(world.copy(&source()).join("artifacts/release-1.tar").exists());
    // Never the one that serves.
    let mut wrong = World::request("retire", 5);
    wrong["source"] = target();
    wrong["target"] = source();
    assert_eq!(world.refused(&wrong), "other_generation");
}

#[test]
fn a_full_cell_is_full_by_its_limit_and_holds_nothing_of_the_attempt() {
    let world = World::new();
    let bytes = world.op("inventory", 5)["bytes"].as_u64().expect("bytes");
    world.op("drain", 5);
    world.op("fence", 5);
    world.limit("b", bytes / 2);
    let answer = world.call(&World::request("transfer", 5));
    assert_eq!(answer["error"]["code"], "capacity_exhausted", "{answer}");
    assert_eq!(answer["error"]["retryable"], true);
    let facts = &answer["error"]["facts"];
    assert_eq!((&facts["cell"], &facts["limit_bytes"]), (&json!("b"), &json!(bytes / 2)));
    assert_eq!(facts["used_bytes"], 0);
    let needed = facts["needed_bytes"].as_u64().expect("bytes");
    assert_eq!(facts["missing_bytes"], needed - bytes / 2);
    assert!(contents(&world.path("cells/b")).keys().all(|name| !name.starts_with("shop")));
    world.limit("b", bytes * 4);
    world.op("transfer", 5);
}

#[test]
fn what_is_being_made_counts_as_if_it_were_written() {
    let mut world = World::new();
    world.op("fence", 5);
    let bytes = world.op("inventory", 5)["bytes"].as_u64().expect("bytes");
    world.limit("b", bytes * 3 / 2);
    armed(&mut world, RelocatorPoint::AfterFile, 1, true);
    let call = world.spawn(&World::request("transfer", 5));
    stopped(&world);
    world.variables.clear();
    let mut other = snapshot(6, &json!({"cell": "b", "generation": "1-backup"}));
    other["operation"] = json!("backup");
    let said = world.call(&other);
    assert_eq!(said["error"]["code"], "capacity_exhausted", "{said}");
    assert_eq!(said["error"]["facts"]["used_bytes"], bytes, "{said}");
    go_on(&call);
    call.wait_with_output().expect("it ends");
}

#[test]
fn a_package_is_made_online_and_read_back_and_restored_with_no_ledger() {
    let world = World::new();
    world.insert(&source(), 1).expect("open");
    let receipt = world.done(&snapshot(5, &package()));
    assert_eq!(world.done(&snapshot(5, &package())), receipt);
    world.insert(&source(), 2).expect("a snapshot fences nothing");
    assert!(world.route()["unavailable"].is_null());
    assert_eq!(world.numbers(&package()), [1], "it is of one instant");
    let world = World::new();
    world.insert(&source(), 1).expect("open");
    world.done(&snapshot(5, &package()));
    let folder = world.copy(&package()).display().to_string();
    let said = world.scalectl(&["recovery", "verify", &folder, "-o", "json"]);
    assert_eq!(said.status.code(), Some(0), "{said:?}");
    let said: Value = serde_json::from_slice(&said.stdout).expect("JSON");
    assert_eq!(said["package"]["environment"], "shop");
    let into = world.path("fresh").display().to_string();
    let line = ["recovery", "restore", &folder, "--into", &into, "-o", "json"];
    let first: Value = serde_json::from_slice(&world.scalectl(&line).stdout).expect("JSON");
    assert_eq!((&first["ok"], &first["changed"]), (&json!(true), &json!(true)), "{first}");
    let again: Value = serde_json::from_slice(&world.scalectl(&line).stdout).expect("JSON");
    assert_eq!((&again["ok"], &again["replayed"]), (&json!(true), &json!(true)));
    let restored = world.path("fresh/shop/1-backup");
    let mut expected = contents(&world.copy(&package()));
    expected.remove("verified.json");
    assert_eq!(contents(&restored), expected, "byte for byte");
    fs::write(restored.join("workspace/src/main.c"), "damaged").expect("written");
    let said = world.scalectl(&["recovery", "verify", restored.to_str().expect("UTF-8")]);
    assert_eq!(said.status.code(), Some(26), "{said:?}");
    let said = world.scalectl(&["recovery", "restore", &folder, "--into", &into]);
    assert_eq!(said.status.code(), Some(26), "what is there is not made good silently");
    let said = world.scalectl(&[
        "recovery",
        "restore",
        &folder,
        "--into",
        &world.path("cells/a").display().to_string(),
    ]);
    assert_eq!(said.status.code(), Some(10), "{said:?}");
    let said = world.scalectl(&["recovery", "verify", "/nowhere"]);
    assert_eq!(said.status.code(), Some(24), "{said:?}");
}

/// A copy that a move has left fenced is a package too, and what is made of it can be written.
#[test]
fn a_fenced_copy_is_restored_open() {
    let world = World::new();
    for step in &MOVE[1..5] {
        world.op(step, 5);
    }
    let folder = world.copy(&target()).display().to_string();
    let into = world.path("cells/d").display().to_string();
    let said = world.scalectl(&["recovery", "restore", &folder, "--into", &into]);
    assert_eq!(said.status.code(), Some(0), "{said:?}");
    let restored = json!({"cell": "d", "generation": "2-op2"});
    let said = world.scalectl(&["recovery", "verify", world.copy(&restored).to_str().expect("x")]);
    assert_eq!(said.status.code(), Some(0), "{said:?}");
    world.insert(&restored, 1).expect("open");
    assert!(world.insert(&target(), 1).is_err(), "the package stays as it is");
}

#[test]
fn a_full_destination_leaves_the_earlier_package_and_the_writers_as_they_are() {
    let world = World::new();
    world.done(&snapshot(5, &package()));
    let before = contents(&world.copy(&package()));
    let bytes: u64 = before.values().map(|bytes| bytes.len() as u64).sum();
    world.limit("c", bytes + 100);
    let next = json!({"cell": "c", "generation": "1-later"});
    let mut request = snapshot(6, &next);
    request["operation"] = json!("later");
    assert_eq!(world.refused(&request), "capacity_exhausted");
    assert_eq!(contents(&world.copy(&package())), before);
    world.insert(&source(), 1).expect("it serves on");
    // Once there is room, the same request comes to its end, and then the earlier one may go.
    let mut retire = request.clone();
    retire["op"] = json!("retire");
    retire["workspace"] = json!(true);
    retire["source"] = package();
    assert_eq!(world.refused(&retire), "not_there", "there is no successor yet");
    assert_eq!(contents(&world.copy(&package())), before);
    world.limit("c", bytes * 4);
    world.done(&request);
    assert_eq!(world.numbers(&next), [1]);
    world.numbers(&next);
    for side in ["-wal", "-shm"] {
        let _ = fs::remove_file(world.copy(&next).join(format!("database.sqlite{side}")));
    }
    world.done(&retire);
    assert!(!world.copy(&package()).exists());
    // The primary is no package's successor, nor the other way round.
    let mut wrong = retire.clone();
    wrong["source"] = source();
    wrong["target"] = next;
    assert_eq!(world.refused(&wrong), "other_generation");
}

#[test]
fn names_that_cannot_be_moved_are_refused_before_anything_is_copied() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::new();
    world.op("fence", 5);
    let odd = world.copy(&source()).join(std::ffi::OsStr::from_bytes(b"application/\xff"));
    fs::write(&odd, "").expect("written");
    assert_eq!(world.refused_op("transfer", 5), "unusable");
    fs::remove_file(odd).expect("removed");
    let pipe = world.copy(&source()).join("artifacts/pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .expect("made");
    assert_eq!(world.refused_op("transfer", 5), "unusable");
    assert!(!world.copy(&target()).exists());
}

#[test]
fn stored_nonsense_is_an_answer_and_never_a_panic() {
    let max = u64::MAX;
    let seal = format!(r#"{{"number":{max},"bytes":{max},"modified":[0,0],"inode":{max}}}"#);
    let fence = format!(
        r#"{{"token":1,"state":"fenced","operation":"op2","epoch":1,
            "since":"2026-01-01T00:00:00Z","seal":{seal},"tables":{max}}}"#
    );
    let away = format!(
        r#"{{"unavailable":"relocating","operation":"op2","sessions_revoked":{max},
            "was":{{"cell":"a","epoch":1,"generation":"1-op1"}}}}"#
    );
    for (file, text) in [
        ("cells/a/shop/1-op1/fence.json", fence.as_str()),
        ("cells/a/shop/1-op1/fence.json", "{"),
        ("routes/shop.json", away.as_str()),
        ("routes/shop.json", "[]"),
        ("fences/shop.json", "null"),
        ("fences/shop.json", "{}"),
        ("cells/b/limit.json", r#"{"storage_bytes": -1}"#),
        ("cells/b/shop/2-op2/manifest.json", "{}"),
        ("cells/b/shop/2-op2/verified.json", "7"),
        ("cells/a/shop/1-op1/subjects.json", "[1]"),
        ("cells/a/shop/1-op1/workspace.json", r#"{"state": "asleep"}"#),
        (
            "cells/a/shop/1-op1/database.sqlite",
            "not a database, but longer than its header is, by far. \
          not a database, but longer than its header is, by far.",
        ),
    ] {
        let world = World::new();
        world.write("sessions/shop/open/s1", "");
        let is_database = file.ends_with("sqlite");
        if file.contains("/b/shop/") {
            for step in &MOVE[1..5] {
                world.op(step, 5);
            }
        }
        if is_database {
            fs::remove_file(world.path(file)).expect("removed");
        }
        world.write(file, text);
        let mut refused = 0;
        for step in MOVE.into_iter().chain(["snapshot", "unfence", "undrain", "discard"]) {
            let answer = world.call(&World::request(step, 5));
            refused += usize::from(answer["ok"] == false);
        }
        let is_mended = file.ends_with("fence.json") && text.len() > 9 || text.contains(&away);
        assert!(refused > 0 || is_mended, "{file}: {text}");
    }
}
