//! Streams: a reader that went away is no error, and never undoes what was done.

use std::fs::File;
use std::io::Read as _;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::support::{SCALECTL, World};

/// A stdout whose reader is gone already.
fn gone() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

#[test]
fn a_reader_that_went_away_changes_nothing() {
    let world = World::with_fake();
    for line in [
        "exit-codes",
        "--help",
        "completions bash",
        "log -o ndjson",
        "status -o json",
        "intent put web --replicas 3 --key k1 --reason up --expect-revision 0",
        "actuate k1",
        "observe k1",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let output = world.command(&words).stdout(gone()).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{line}");
    }
    assert_eq!(world.json("intent show k1").at("/execution/state"), "verified");
}

#[test]
fn both_streams_may_be_closed() {
    let world = World::with_fake();
    let line = "exec \"$0\" intent put web --replicas 3 --key k1 --reason up >&- 2>&-";
    let mut shell = Command::new("/bin/sh");
    let status = shell
        .args(["-c", line, SCALECTL])
        .env_clear()
        .envs(world.ledger_variable())
        .env("HOME", world.path(""))
        .current_dir(world.path(""))
        .status();
    assert_eq!(status.expect("a shell").code(), Some(0));
    assert_eq!(world.json("intent show k1").at("/execution/state"), "accepted");
}

#[test]
fn a_pipe_into_head_is_quiet() {
    let world = World::with_fake();
    let line = "\"$0\" completions bash | head -1; \"$0\" log | head -1; \"$0\" --help | head -1";
    let mut shell = Command::new("/bin/bash");
    let output = shell
        .args(["-c", &format!("set -o pipefail; {line}"), SCALECTL])
        .env_clear()
        .envs(world.ledger_variable())
        .env("HOME", world.path(""))
        .env("PATH", "/usr/bin:/bin")
        .output()
        .expect("a shell");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 3);
}

#[test]
fn a_full_stdout_is_said_and_the_work_is_done() {
    let world = World::with_fake();
    let full = File::options().write(true).open("/dev/full").expect("the device");
    let words = ["intent", "put", "web", "--replicas", "3", "--key", "k1", "--reason", "up"];
    let output = world.command(&words).stdout(full).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(20), "{stderr}");
    assert!(stderr.contains("error[answer_not_written]"), "{stderr}");
    assert!(stderr.contains("applied   no: recorded, and the target was not changed"), "{stderr}");
    assert_eq!(world.json("intent show k1").at("/execution/state"), "accepted");
    // What was done to the target is said, and is no fault of the tool.
    for format in ["table", "json"] {
        let full = File::options().write(true).open("/dev/full").expect("the device");
        let key = format!("scaled-{format}");
        let words =
            ["-o", format, "scale", "web=4", "--supersede", "--key", &key, "--reason", "up"];
        let output = world.command(&words).stdout(full).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(19), "{stderr}");
        assert!(stderr.contains("verified (converged) key"), "{stderr}");
        assert!(stderr.contains("  applied   yes\n"), "{stderr}");
    }
}

/// What a line prints on a terminal.
fn on_a_terminal(world: &World, line: &str) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).expect("granted");
    unlockpt(&master).expect("unlocked");
    let name = ptsname(&master, Vec::new()).expect("a name").into_string().expect("text");
    let slave = File::options().read(true).write(true).open(name).expect("the other side");
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut child = world.command(&words).stdout(slave).spawn().expect("it runs");
    // The last writer's end is an error of reading; everything before it was read.
    let mut printed = Vec::new();
    let _ = File::from(master).read_to_end(&mut printed);
    child.wait().expect("it ends");
    String::from_utf8(printed).expect("text")
}

#[test]
fn colour_is_for_terminals_that_want_it() {
    let mut world = World::with_fake();
    let is_coloured = |world: &World| on_a_terminal(world, "plan web=5").contains("\u{1b}[");
    assert!(!is_coloured(&world), "TERM=dumb");
    world.set("TERM", "xterm");
    assert!(is_coloured(&world), "a terminal");
    assert!(!on_a_terminal(&world, "plan web=5 -o json").contains("\u{1b}["), "JSON");
    assert!(!world.run("plan web=5").exits(0).stdout.contains('\u{1b}'), "a pipe");
    world.set("NO_COLOR", "1");
    assert!(!is_coloured(&world), "NO_COLOR");
}
