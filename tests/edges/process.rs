//! What a process is born with, and a bug of ours in its middle.

use std::process::Command;

use crate::support::{Ran, World};

/// Runs words behind a program that starts them in other surroundings.
fn behind(world: &World, outer: &[&str], args: &[&str]) -> Ran {
    let inner = world.command(args);
    let mut command = Command::new(outer[0]);
    command.args(&outer[1..]).arg(inner.get_program()).args(args).env_clear();
    for (name, value) in inner.get_envs() {
        command.env(name, value.unwrap());
    }
    let output = command.current_dir(world.path("")).output().unwrap();
    Ran {
        line: format!("{} {}", outer.join(" "), args.join(" ")),
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn a_duration_that_is_too_long_is_refused_with_its_bound() {
    let world = World::with_fake();
    for (line, bound) in [
        ("status --lock-timeout 25d", "24h"),
        ("status --lock-timeout 18446744073709551615ms", "24h"),
        ("scale web=1 --reason x --timeout 32d", "31d"),
        ("scale web=1 --reason x --valid-for 32d", "31d"),
        ("intent put web --replicas 1 --reason x --valid-for 9999999999d", "31d"),
        ("observe web@1 --wait --timeout 32d", "31d"),
        ("replay --all --timeout 32d", "31d"),
        ("service put web --quiet 25h", "24h"),
        ("service put web --cooldown 25h", "24h"),
        ("actuator run local --command x --grace 871s", "14m30s"),
    ] {
        world.run(line).exits(2).says(&format!("at most {bound}"));
    }
    // And the longest that are taken are.
    world.run("status --lock-timeout 1d").exits(0);
    world.run("scale web=1 --reason x --timeout 31d --valid-for 31d --lock-timeout 24h").exits(0);
    world.run("replay --all --wait --timeout 31d").exits(0);
    world.run("service put web --quiet 1d --cooldown 1d --readings 1/24h").exits(0);
}

#[test]
fn a_bug_is_one_answer_that_denies_nothing() {
    let mut world = World::with_fake();
    let line = "intent put web --replicas 3 --key k1 --reason x";
    world.set("SCALECTL_TEST_CRASH_PANIC", "1").set("SCALECTL_TEST_CRASH", "after_commit#1");
    let ran = world.json(line).exits(1);
    assert_eq!(ran.at("/exit"), 1);
    assert_eq!(ran.at("/error/code"), "internal");
    assert_eq!((ran.at("/recorded"), ran.at("/applied")), ("unknown".into(), "unknown".into()));
    let message = ran.at("/error/message");
    let message = message.as_str().unwrap();
    assert!(message.contains("src/crash.rs:"), "where: {message}");
    assert!(message.ends_with("BUG: a test asked for it in two lines"), "what: {message}");
    let ran = ran.says("error[internal]: panicked at").says("this is a fault of scalectl");
    assert!(!ran.stderr.contains("RUST_BACKTRACE"), "{ran:#?}");
    // The same for people, and the trace for who asks for it.
    world.set("RUST_BACKTRACE", "1");
    let line = line.replace("k1", "k2").replace("put web", "put web --expect-revision 1");
    let ran = world.run(&line).exits(1).says("error[internal]: panicked at").says("backtrace");
    assert_eq!(ran.stdout, "");
    world.unset("RUST_BACKTRACE").unset("SCALECTL_TEST_CRASH").unset("SCALECTL_TEST_CRASH_PANIC");
    world.run("intent show k1").exits(0);
    world.run("verify").exits(0);
}

#[test]
fn children_are_waited_for_where_their_end_is_ignored() {
    let world = World::with_local();
    for (line, count) in [("scale web=2 --reason x", 2), ("scale web=0 --reason x", 0)] {
        let mut line = words(line);
        line.extend(["-o", "json"]);
        let ran = behind(&world, &["env", "--ignore-signal=CHLD"], &line).exits(0);
        assert_eq!(ran.at("/observation/observed_replicas"), count, "{ran:#?}");
    }
    // And it was ignored: who is started in the same way says so.
    let args = ["--ignore-signal=CHLD", "cat", "/proc/self/status"];
    let output = Command::new("env").args(args).output().unwrap();
    let status = String::from_utf8(output.stdout).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).unwrap();
    assert_ne!(u64::from_str_radix(mask, 16).unwrap() & (1 << 16), 0, "SIGCHLD is ignored");
}

#[test]
fn a_limit_of_file_sizes_is_an_error_and_no_death() {
    let world = World::with_fake();
    let line = "intent put web --replicas 3 --key k1 --reason x -o json";
    let mut ends = std::collections::BTreeSet::new();
    // In blocks of 512 bytes: none for the index of the log, some for a part of it, enough.
    for blocks in [0, 1, 64, 65, 66, 68, 72, 80, 2048] {
        let key = format!("k{blocks}");
        let line = line.replace("k1", &key);
        let limit = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let ran = behind(&world, &["sh", "-c", &limit], &words(&line));
        let code = ran.code.unwrap_or_else(|| panic!("killed by a signal: {ran:#?}"));
        assert!([0, 16, 20, 21].contains(&code), "{ran:#?}");
        assert_eq!(ran.at("/exit"), code);
        let is_there = world.run(&format!("intent show {key}")).code == Some(0);
        match code {
            0 => assert!(is_there, "{ran:#?}"),
            16 => assert_eq!(ran.at("/recorded"), "unknown"),
            _ => assert!(!is_there, "{ran:#?}"),
        }
        ends.insert(code == 0);
        world.run("verify").exits(0);
        if is_there {
            world.run(&format!("intent withdraw {key}")).exits(0);
        }
    }
    assert_eq!(ends.len(), 2, "some were too small, and one was not");
}

#[test]
fn a_full_disk_for_the_call_files_uses_no_attempt() {
    let world = World::with_fake();
    let no_room = ["strace", "-f", "-qq", "-o", "trace", "-e", "trace=fallocate", "-e"];
    let no_room = [no_room.as_slice(), &["inject=fallocate:error=ENOSPC", "--"]].concat();
    let line = words("-o json scale web=2 --reason x --key hf-1");
    let ran = behind(&world, &no_room, &line).exits(20);
    let trace = std::fs::read_to_string(world.path("trace")).unwrap();
    assert!(trace.contains("(INJECTED)"), "the fault did not happen: {trace}");
    assert_eq!(ran.at("/error/code"), "call_file");
    assert!(ran.at("/error/message").as_str().unwrap().contains("No space left"), "{ran:#?}");
    let shown = world.json("intent show hf-1").exits(0);
    assert_eq!(
        (shown.at("/execution/attempt"), shown.at("/execution/state")),
        (0.into(), "accepted".into())
    );
    let left = std::fs::read_dir(world.path(".local/state/scalectl/calls")).unwrap().count();
    assert_eq!(left, 0, "the file of a call that never was is removed");
    // With room, the same line does it.
    world.run("scale web=2 --reason x --key hf-1").exits(0);
}

#[test]
fn too_few_descriptors_are_the_hosts_and_not_ours() {
    let world = World::with_fake();
    let mut seen = std::collections::BTreeSet::new();
    for left in 4..24 {
        let limit = format!("ulimit -n {left}; exec \"$0\" \"$@\"");
        let line = words("-o json scale web=1 --reason x --timeout 1s");
        let ran = behind(&world, &["sh", "-c", &limit], &line);
        // With less not even the program can be loaded.
        if [Some(0), Some(127)].contains(&ran.code) {
            continue;
        }
        let code = ran.at("/error/code");
        assert!([11, 16, 17, 18, 20].contains(&ran.code.unwrap()), "{ran:#?}");
        seen.insert(code.as_str().unwrap().to_owned());
        world.run("verify").exits(0);
    }
    assert!(seen.contains("host_exhausted"), "{seen:?}");
    world.run("scale web=1 --reason x").exits(0);
}
