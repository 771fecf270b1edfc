//! Deaths and failures in the middle: whole groups are there or not, and no answer says otherwise.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::streams::Talk;
use super::{accepted, answers, put, puts};
use crate::support::postgres::sqlite_only;
use crate::support::{Ran, SCALECTL, World};

/// A little more than one group.
const LINES: usize = 264;

fn keys(count: usize) -> Vec<String> {
    (1..=count).map(|n| format!("k{n}")).collect()
}

#[test]
fn a_death_leaves_whole_groups_and_the_same_lines_again_do_the_rest() {
    const GROUP: usize = 12;
    let input = puts("k", 2 * GROUP);
    let first = puts("k", GROUP);
    let second = &input[first.len()..];
    for (point, told, there) in [
        ("before_commit#1", 0, 0),
        ("after_commit#1", 0, GROUP),
        ("before_commit#2", GROUP, GROUP),
        ("after_commit#2", GROUP, 2 * GROUP),
    ] {
        let mut world = World::with_fake();
        world.set("SCALECTL_TEST_CRASH", point).set("SCALECTL_TEST_CRASH_MARK", "mark");
        let mut talk = Talk::with(&world);
        // One write is one group: nobody sends half of it.
        talk.say(&first);
        for n in 1..=told {
            assert_eq!(talk.answer()["line"], n, "{point}");
        }
        if told > 0 {
            talk.say(second);
        }
        let status = talk.child.wait().expect("it ends");
        world.unset("SCALECTL_TEST_CRASH").unset("SCALECTL_TEST_CRASH_MARK");
        let mark = std::fs::read_to_string(world.path("mark")).unwrap_or_default();
        assert!(point.starts_with(&mark) && !mark.is_empty(), "{point}: it did not die there");
        assert_eq!(status.signal(), Some(9), "{point}");
        assert!(talk.answers.recv().is_err(), "{point}: an answer before its commit");
        world.run("verify").exits(0);
        assert_eq!(accepted(&world), keys(there), "{point}");

        let ran = world.run_with("batch", input.as_bytes()).exits(0);
        let replayed = answers(&ran).iter().filter(|answer| answer["replayed"] == true).count();
        assert_eq!(replayed, there, "{point}");
        assert_eq!(accepted(&world), keys(2 * GROUP), "{point}");
        world.run("verify").exits(0);
    }
}

/// Runs a batch of a file under a fault of the disk.
fn with_fault(world: &World, file: &Path, fault: &str) -> Ran {
    let words = ["batch", "--file", file.to_str().expect("UTF-8")];
    let command = world.command(&words);
    let output = Command::new("strace")
        .args(["-f", "-qq", "-o", "strace", "-P"])
        .arg(world.ledger().with_extension("db-wal"))
        .args(["-e", "trace=fdatasync,fsync,pwrite64", "-e", fault, "--", SCALECTL])
        .args(words)
        .env_clear()
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(world.path(""))
        .output()
        .unwrap_or_else(|error| panic!("strace is needed (apt-get install strace): {error}"));
    let seen = std::fs::read_to_string(world.path("strace")).expect("a trace");
    assert!(seen.contains("(INJECTED)"), "the fault did not happen: {seen}");
    Ran {
        line: words.join(" "),
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

/// The number of answers, which must all be alike.
#[track_caller]
fn all_alike(ran: &Ran, exit: i64, code: &str, recorded: &str) -> usize {
    let answers = answers(ran);
    for answer in &answers {
        let found = (&answer["exit"], &answer["error"]["code"], &answer["recorded"]);
        assert_eq!(found, (&exit.into(), &code.into(), &recorded.into()), "{answer:#}");
    }
    answers.len()
}

#[test]
fn a_commit_that_nobody_knows_of_is_said_of_each_line_and_ends_the_batch() {
    sqlite_only!("it injects faults into the writes of the file");
    let world = World::with_fake();
    let file = world.write("lines", puts("k", LINES));
    let fault = "inject=fdatasync,fsync:error=EIO";
    let ran = with_fault(&world, &file, fault).exits(16);
    let told = all_alike(&ran, 16, "commit_unknown", "unknown");
    assert!((1..=256).contains(&told), "{told}");
    // Each has its own name, under which it is found where it is there after all.
    let ids: std::collections::BTreeSet<String> =
        answers(&ran).iter().map(|answer| answer["command_id"].to_string()).collect();
    assert_eq!(ids.len(), told);
    for answer in answers(&ran) {
        assert_eq!(answer["error"]["facts"]["command"], answer["command_id"]);
    }
    let there = accepted(&world);
    assert!(there.is_empty() || there == keys(told), "a group is whole: {there:?}");
    let first: Value = answers(&ran).remove(0);
    let line = format!("log --command {}", first["command_id"].as_str().expect("an id"));
    let events = world.json(&line).exits(0).at("/events");
    assert_eq!(events.as_array().expect("events").is_empty(), there.is_empty());
    // The same lines again.
    let words = ["batch", "--file", file.to_str().expect("UTF-8")];
    world.run_args(&words).exits(0);
    assert_eq!(accepted(&world), keys(LINES));
    world.run("verify").exits(0);
}

#[test]
fn a_full_disk_takes_nothing_of_the_group_and_ends_the_batch() {
    sqlite_only!("it injects faults into the writes of the file");
    let world = World::with_fake();
    let lines = format!("nonsense\n{}", puts("k", LINES));
    let file = world.write("lines", lines);
    let ran = with_fault(&world, &file, "inject=pwrite64:error=ENOSPC").exits(21);
    let answers = answers(&ran);
    assert_eq!(answers[0]["exit"], 2, "what was never tried has its own answer");
    let told = all_alike(&rest(&ran), 21, "ledger_full", "no");
    assert!((1..=255).contains(&told), "{told}");
    assert_eq!(accepted(&world), [""; 0]);
    world.run("verify").exits(0);
}

/// The same without its first line.
fn rest(ran: &Ran) -> Ran {
    let (_, stdout) = ran.stdout.split_once('\n').expect("a line");
    Ran {
        line: ran.line.clone(),
        code: ran.code,
        stdout: stdout.to_owned(),
        stderr: ran.stderr.clone(),
    }
}

#[test]
fn a_ledger_that_stays_locked_is_said_of_each_line() {
    let world = World::with_fake();
    let lock = world.lock();
    let input = [put("k1", 1), put("k2", 2)].join("\n");
    let ran = world.run_with("--lock-timeout 100ms batch", input.as_bytes()).exits(20);
    assert_eq!(all_alike(&ran, 20, "ledger_busy", "no"), 2);
    drop(lock);
    world.run_with("batch", input.as_bytes()).exits(0);
}
