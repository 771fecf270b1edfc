//! Files that are there to mislead: of other kinds, with other names, changed behind a lock.

use std::fs;
use std::os::unix::fs::{FileExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use super::world::{MOVE, World, answer, contents, source, target};

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("made");
}

/// The answer of a call that must not wait for anybody.
fn prompt(world: &World, request: &Value) -> Value {
    let mut call = world.spawn(request);
    let has_ended = (0..1500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        call.try_wait().expect("asked").is_some()
    });
    if !has_ended {
        call.kill().expect("killed");
    }
    let output = call.wait_with_output().expect("it ends");
    assert!(has_ended, "it waits: {request}");
    answer(&output)
}

#[test]
fn a_name_may_be_any_text_and_is_moved_as_it_is() {
    let world = World::new();
    let names =
        ["line\nfeed", "quote\"'\\", "\u{1b}[31mred", " ", "-rf", "\u{fe}ñ", "tab\t", "a..b"];
    for top in ["application", "artifacts", "workspace"] {
        for name in names {
            world.write(&format!("cells/a/shop/1-op1/{top}/{name}/{name}"), name);
        }
    }
    for op in &MOVE[..6] {
        world.op(op, 5);
    }
    let (before, after) = (contents(&world.copy(&source())), contents(&world.copy(&target())));
    for (name, bytes) in before.iter().filter(|(name, _)| name.starts_with("application/")) {
        assert_eq!(after.get(name), Some(bytes), "{name:?}");
    }
    assert!(after.contains_key("workspace/line\nfeed/line\nfeed"));
    // And a damaged one is told in one line, whatever it is called.
    let mut back = World::request("retire", 5);
    back["workspace"] = json!(true);
    fs::write(world.copy(&target()).join("application/line\nfeed/line\nfeed"), "x").expect("done");
    let output = world.spawn(&back).wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1);
    assert_eq!(answer(&output)["error"]["facts"]["file"], "application/line\nfeed/line\nfeed");
    let folder = world.copy(&target()).display().to_string();
    let said = world.scalectl(&["recovery", "verify", &folder]);
    let text = String::from_utf8(said.stderr).expect("text");
    assert!(!text.contains("line\nfeed") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn nobody_is_waited_for_who_has_put_a_pipe_where_a_file_is_read() {
    for (file, op) in [
        ("cells/a/shop/1-op1/workspace.json", "inventory"),
        ("cells/a/shop/1-op1/subjects.json", "inventory"),
        ("cells/a/shop/1-op1/credentials.json", "inventory"),
        ("cells/a/shop/1-op1/fence.json", "fence"),
        ("cells/b/limit.json", "transfer"),
        ("routes/shop.json", "drain"),
        ("fences/shop.json", "fence"),
        ("cells/a/shop/1-op1/database.sqlite", "inventory"),
    ] {
        let world = World::new();
        if op == "transfer" {
            world.op("fence", 5);
        }
        let path = world.path(file);
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.parent().expect("below")).expect("made");
        pipe(&path);
        let said = prompt(&world, &World::request(op, 5));
        assert_eq!(said["ok"], false, "{file}: {said}");
        let code = said["error"]["code"].as_str().expect("a code");
        assert!(["unusable", "missing_dependency"].contains(&code), "{file}: {said}");
        assert_eq!(said["error"]["retryable"], false, "{file}: {said}");
    }
}

#[test]
fn a_link_in_the_place_of_a_draft_or_a_lock_writes_nothing_elsewhere() {
    for (name, is_refused) in [(".fence.json.new", false), (".lock", true)] {
        let world = World::new();
        let elsewhere = world.path("elsewhere");
        if name != ".lock" {
            fs::write(&elsewhere, "kept").expect("written");
        }
        let link = world.copy(&source()).join(name);
        let _ = fs::remove_file(&link);
        symlink(&elsewhere, link).expect("linked");
        let said = world.call(&World::request("fence", 5));
        assert_eq!(said["ok"] == false, is_refused, "{name}: {said}");
        let now = fs::read_to_string(&elsewhere).ok();
        assert_eq!(now.as_deref(), (!is_refused).then_some("kept"), "{name}");
    }
}

#[test]
fn a_database_with_another_name_cannot_be_fenced() {
    let ways: [fn(&Path); 2] = [
        |path| fs::hard_link(path, path.with_file_name("other.sqlite")).expect("linked"),
        |path| {
            let moved = path.with_file_name("moved.sqlite");
            fs::rename(path, &moved).expect("moved");
            symlink("moved.sqlite", path).expect("linked");
        },
    ];
    for way in ways {
        let world = World::new();
        way(&world.copy(&source()).join("database.sqlite"));
        let route = world.route();
        for op in ["inventory", "fence", "snapshot"] {
            assert_eq!(world.refused_op(op, 5), "unprovable_fencing", "{op}");
        }
        assert_eq!(world.route(), route);
        world.insert(&source(), 1).expect("nothing was fenced");
    }
}

#[test]
fn a_database_that_is_not_sound_is_found_while_it_still_serves() {
    let world = World::new();
    for number in 0..2000 {
        world.insert(&source(), number).expect("open");
    }
    let database = world.database(&source());
    database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("emptied");
    drop(database);
    let path = world.copy(&source()).join("database.sqlite");
    let pages = fs::metadata(&path).expect("there").len() / 4096;
    let file = fs::File::options().write(true).open(&path).expect("there");
    for page in pages / 2..pages / 2 + 4 {
        file.write_all_at(&[0xA5; 4096], page * 4096).expect("damaged");
    }
    drop(file);
    let said = world.call(&World::request("inventory", 5));
    assert_eq!(said["error"]["code"], "damaged", "{said}");
    assert_eq!(said["error"]["facts"]["file"], "database.sqlite");
    assert_eq!(said["error"]["retryable"], false);
    assert_eq!(world.route()["cell"], "a", "it serves on");
}

/// A row that only the log has is there, whoever was killed before it came into the database.
#[test]
fn what_only_the_log_has_goes_along() {
    let world = World::new();
    let writer = world.database(&source());
    writer.execute_batch("PRAGMA wal_autocheckpoint = 0").expect("set");
    writer.execute("INSERT INTO entry VALUES (5, 'in the log')", []).expect("written");
    let log = world.copy(&source()).join("database.sqlite-wal");
    let bytes = fs::read(&log).expect("a log");
    // As after a death: the log is there, and nobody has the database open.
    let copy = world.path("kept-wal");
    fs::write(&copy, bytes).expect("kept");
    drop(writer);
    assert_eq!(world.numbers(&source()), [5]);
    let mut package = World::request("snapshot", 5);
    package["target"] = json!({"cell": "c", "generation": "1-backup"});
    let writer = world.database(&source());
    writer.execute_batch("PRAGMA wal_autocheckpoint = 0").expect("set");
    writer.execute("INSERT INTO entry VALUES (6, 'in the log')", []).expect("written");
    world.done(&package);
    assert_eq!(world.numbers(&package["target"]), [5, 6]);
    for op in ["drain", "fence", "transfer", "verify"] {
        world.op(op, 6);
    }
    // A log beside a copy would be other content, so there is none.
    fs::copy(&copy, world.copy(&target()).join("database.sqlite-wal")).expect("hidden");
    assert_eq!(world.refused_op("verify", 6), "damaged");
}

#[test]
fn a_place_that_is_taken_is_refused_before_anything_is_copied() {
    type Way = fn(&World);
    let ways: [(&str, Way); 4] = [
        ("unusable", |world| world.write("cells/b/shop/2-op2", "a file")),
        ("unusable", |world| world.write("cells/b/shop", "a file")),
        ("other_generation", |world| world.write("cells/b/shop/2-op2/somebody", "else's")),
        ("not_there", |world| {
            fs::remove_dir_all(world.path("cells/b")).expect("removed");
        }),
    ];
    for (code, way) in ways {
        let world = World::new();
        way(&world);
        let before = contents(&world.path("cells"));
        world.op("fence", 5);
        let said = world.call(&World::request("transfer", 5));
        assert_eq!(said["error"]["code"], code, "{said}");
        assert_eq!(said["error"]["retryable"], false, "{said}");
        let mut after = contents(&world.path("cells"));
        after.retain(|name, _| name.starts_with("b/") && !before.contains_key(name));
        assert!(after.is_empty(), "{:?}", after.keys());
        world.op("unfence", 5);
    }
}

#[test]
fn what_is_no_file_is_refused_by_its_name() {
    type Way = fn(&Path);
    let ways: [(&str, Way); 2] =
        [("socket", |path| drop(UnixListener::bind(path).expect("bound"))), ("pipe", pipe)];
    for (name, way) in ways {
        let world = World::new();
        way(&world.copy(&source()).join("application").join(name));
        let said = prompt(&world, &World::request("inventory", 5));
        assert_eq!(said["error"]["code"], "unusable", "{said}");
        assert_eq!(said["error"]["facts"]["file"], format!("application/{name}"));
    }
}

#[test]
fn a_file_that_is_written_after_the_copy_takes_the_copy_its_worth() {
    let world = World::new();
    world.op("drain", 5);
    world.op("fence", 5);
    let edited = "cells/a/shop/1-op1/workspace/src/main.c";
    std::thread::sleep(Duration::from_millis(30));
    world.write(edited, "edited behind the lock");
    assert_eq!(world.refused_op("transfer", 5), "unprovable_fencing");
    // Fenced anew, what is there now goes along.
    world.op("fence", 6);
    world.op("transfer", 6);
    world.op("verify", 6);
    std::thread::sleep(Duration::from_millis(30));
    world.write(edited, "and once more, as long as it was");
    for token in [6, 7] {
        world.op("fence", token);
        for op in ["verify", "route"] {
            assert_eq!(world.refused_op(op, token), "unprovable_fencing", "{op} of {token}");
        }
    }
    for op in ["discard", "transfer", "verify", "route"] {
        world.op(op, 7);
    }
    let text = fs::read_to_string(world.copy(&target()).join("workspace/src/main.c"));
    assert_eq!(text.expect("there"), "and once more, as long as it was");
}

/// What is left out and what is edited are never the same name, so whoever makes the first again
/// cannot replace the second.
#[test]
fn what_is_made_again_at_the_target_replaces_no_edit() {
    let world = World::new();
    let copy = "cells/a/shop/1-op1/workspace";
    world.write(&format!("{copy}/src/node_modules_not.js"), "edited");
    world.write(&format!("{copy}/packages/app/node_modules/x.js"), "made");
    world.write(&format!("{copy}/.scalectl-helpers/run.sh"), "made");
    world.write(
        &format!("{copy}/target/CACHEDIR.TAG"),
        "Signature: 8a477f597d28d172789f06886806bc55",
    );
    world.write(&format!("{copy}/target/debug/x"), "made");
    for op in &MOVE[..6] {
        world.op(op, 5);
    }
    let text = fs::read_to_string(world.copy(&target()).join("manifest.json")).expect("there");
    let manifest: Value = serde_json::from_str(&text).expect("JSON");
    let left_out = manifest["left_out"].as_array().expect("a list").clone();
    assert_eq!(left_out.len(), 4, "{left_out:?}");
    let before = contents(&world.copy(&target()).join("workspace"));
    assert!(!before.values().any(|bytes| bytes == b"made"));
    for name in &left_out {
        let name = name.as_str().expect("a name");
        assert!(!world.copy(&target()).join(name).exists(), "{name}");
        world.write(&format!("cells/b/shop/2-op2/{name}/again"), "made again");
    }
    let mut after = contents(&world.copy(&target()).join("workspace"));
    after.retain(|_, bytes| bytes != b"made again");
    assert_eq!(after, before);
    // It is stopped as it was, and its old place goes only by name.
    let state = fs::read_to_string(world.copy(&target()).join("workspace.json")).expect("there");
    assert_eq!(state, r#"{"state": "stopped"}"#);
    assert_eq!(world.op("retire", 5)["workspace"], "kept");
}
