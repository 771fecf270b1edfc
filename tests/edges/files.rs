//! Files that are read by a name, and are none, or have no end; and variables that are no text.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Ran, World, fake_actuator};

/// A service that is scaled by a signal.
const SCALED: &str = "service put web --actuator fake --writer ops --max 10 --drain none \
                      --signal queue_depth --signal-target 10";
/// What stands where a file should be, by its name.
const NO_FILES: [&str; 5] = ["fifo", "zero", "directory", "large", "socket"];

fn put(world: &World, relative: &str, what: &str) -> PathBuf {
    let path = world.write(relative, "");
    std::fs::remove_file(&path).unwrap();
    match what {
        "fifo" => {
            let made = Command::new("mkfifo").arg(&path).status().unwrap();
            assert!(made.success());
        }
        "zero" => symlink("/dev/zero", &path).unwrap(),
        "directory" => std::fs::create_dir(&path).unwrap(),
        "large" => std::fs::write(&path, vec![b'#'; 1024 * 1024 + 1]).unwrap(),
        "socket" => drop(std::os::unix::net::UnixListener::bind(&path).unwrap()),
        other => panic!("{other}"),
    }
    path
}

fn take_away(path: &Path) {
    if path.is_dir() { std::fs::remove_dir(path) } else { std::fs::remove_file(path) }.unwrap();
}

/// What is run under a time limit: whoever waits for a FIFO, or reads without end, is killed.
fn within_seconds(world: &World, line: &str) -> Ran {
    let words: Vec<&str> = line.split_whitespace().collect();
    let inner = world.command(&words);
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "20"]).arg(inner.get_program()).args(&words).env_clear();
    command.envs(inner.get_envs().map(|(name, value)| (name, value.unwrap())));
    let output = command.current_dir(world.path("")).stdin(std::process::Stdio::null()).output();
    let output = output.unwrap();
    Ran {
        line: line.to_owned(),
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn settings_that_are_no_file_are_refused_at_once() {
    let world = World::with_fake();
    let why = |what| if what == "large" { "larger than 1 MiB" } else { "not a regular file" };
    let bindings = world.path(".config/scalectl/actuators.toml");
    let kept = std::fs::read(&bindings).unwrap();
    for what in NO_FILES {
        take_away(&bindings);
        put(&world, ".config/scalectl/actuators.toml", what);
        let put = format!("actuator put fake -- /bin/sh {}", fake_actuator().display());
        for line in ["scale web=1 --reason x", &put] {
            let ran = within_seconds(&world, line).exits(24);
            let ran = ran.says("error[bindings_unusable]");
            // A socket cannot even be opened.
            if what != "socket" {
                ran.says(why(what)).says("hint: let this user read");
            }
        }
    }
    take_away(&bindings);
    std::fs::write(&bindings, kept).unwrap();
    for what in NO_FILES {
        let config = put(&world, ".config/scalectl/config.toml", what);
        let ran = within_seconds(&world, "status --ledger prod").exits(2);
        let ran = ran.says("error[config_unreadable]");
        if what != "socket" {
            ran.says(why(what));
        }
        take_away(&config);
    }
    world.run("scale web=1 --reason x").exits(0);
}

#[test]
fn files_of_postgres_are_refused_like_others() {
    let mut world = World::new();
    for what in ["fifo", "zero", "large"] {
        for (variable, address) in [
            ("PGPASSFILE", "postgres://u@127.0.0.1:1/db?sslmode=disable"),
            ("PGSERVICEFILE", "postgres://?service=x"),
        ] {
            let path = put(&world, "pgfile", what);
            world.set(variable, path.to_str().unwrap());
            let ran = within_seconds(&world, &format!("status --ledger {address}"));
            let ran = ran.exits(2).says("error[ledger_address_invalid]").says("cannot be read");
            ran.says(if what == "large" { "larger than 1 MiB" } else { "not a regular file" });
            world.unset(variable);
            take_away(&path);
        }
    }
}

#[test]
fn documents_of_a_flag_are_read_within_bounds() {
    let world = World::with_fake();
    for line in ["intent put --file zero", "verify --since zero", "policy put zero --reason x"] {
        let zero = put(&world, "zero", "zero");
        within_seconds(&world, line).exits(2).says("error[document_too_long]");
        take_away(&zero);
    }
    // A FIFO is what `<(…)` of a shell gives, and is taken.
    let script = "\"$0\" policy put <(cat all.cedar) --reason x";
    let command = world.command(&[]);
    let mut shell = Command::new("bash");
    shell.args(["-c", script]).arg(command.get_program()).env_clear();
    shell.envs(command.get_envs().map(|(name, value)| (name, value.unwrap())));
    assert!(shell.current_dir(world.path("")).output().unwrap().status.success());
}

#[test]
fn heads_of_no_ledger_prove_nothing() {
    let world = World::with_fake();
    for (nothing, exit) in [("[]", 2), ("{\"heads\":[]}", 2), ("{}", 2)] {
        world.write("heads.json", nothing);
        let ran = world.json("verify --since heads.json").exits(exit);
        assert_eq!(ran.at("/recorded"), "no");
        if nothing != "{}" {
            assert_eq!(ran.at("/error/code"), "no_heads");
            assert_eq!(
                ran.at("/error/next/0"),
                serde_json::json!(["scalectl", "verify", "-o", "json"])
            );
        }
    }
    let kept = world.json("verify").exits(0);
    world.write("heads.json", &kept.stdout);
    world.run("verify --since heads.json").exits(0);
}

#[test]
fn a_variable_of_ours_that_is_no_text_is_refused() {
    let world = World::with_fake();
    let garbled = OsStr::from_bytes(b"ali\xffce");
    let line = ["-o", "json", "scale", "web=1"];
    for name in ["SCALECTL_ACTOR", "SCALECTL_REASON", "SCALECTL_ANYTHING"] {
        let output = world.command(&line).env(name, garbled).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["error"]["code"], "invalid_environment");
        assert_eq!(answer["error"]["message"], format!("{name} is not UTF-8"));
    }
    // What is not ours, and a path, may be anything.
    let mut command = world.command(&["status"]);
    let path = world.path("").join(OsStr::from_bytes(b"l\xff.db"));
    std::fs::copy(world.ledger(), &path).unwrap();
    let ran = command.env("ANYTHING", garbled).env("SCALECTL_LEDGER", &path).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:#?}");
}

#[test]
fn what_is_made_has_its_modes_under_every_umask() {
    for umask in ["777", "077", "000"] {
        let world = World::new();
        let script = format!("umask {umask}; exec \"$0\" init --ledger deep/er/ledger.db");
        let command = world.command(&[]);
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).arg(command.get_program()).env_clear();
        shell.envs(command.get_envs().map(|(name, value)| (name, value.unwrap())));
        let output = shell.current_dir(world.path("")).output().unwrap();
        assert!(output.status.success(), "{output:#?}");
        for (path, mode) in [("deep", 0o700), ("deep/er", 0o700), ("deep/er/ledger.db", 0o600)] {
            let found = world.path(path).metadata().unwrap().mode() & 0o7777;
            assert_eq!(found, mode, "{path} under umask {umask}");
        }
        for entry in world.path("deep/er").read_dir().unwrap().flatten() {
            let found = entry.metadata().unwrap().mode() & 0o7777;
            assert_eq!(found, 0o600, "{entry:?} under umask {umask}");
        }
    }
}

/// A document may come through a pipe; nobody hangs at one to which nobody writes.
#[test]
fn a_pipe_to_which_nobody_writes_ends_whoever_reads_it() {
    let world = World::with_fake();
    world.run(SCALED).exits(0);
    let fifo = put(&world, "given.json", "fifo");
    let fifo = fifo.display();
    for (line, exit) in [
        (format!("reconcile --health {fifo}"), 25),
        (format!("autoscale --health {fifo} --signals nowhere"), 25),
        (format!("autoscale web --signals {fifo}"), 25),
        (format!("intent put web --file {fifo}"), 2),
    ] {
        within_seconds(&world, &line).exits(exit).says("nobody has written to this pipe");
    }
}

/// Whoever writes slowly is waited for, but not past a signal.
#[test]
fn a_tick_that_waits_for_its_samples_is_ended_by_a_signal() {
    use std::process::Stdio;

    let world = World::with_fake();
    world.run(SCALED).exits(0);
    let fifo = put(&world, "given.json", "fifo");
    // Open for writing, and silent.
    let writer = std::fs::File::options().read(true).write(true).open(&fifo).unwrap();
    for (flags, stdin) in [
        (vec!["--signals", fifo.to_str().unwrap()], Stdio::null()),
        (vec!["--signals", "-"], Stdio::piped()),
        (vec!["--signals", "nowhere", "--health", fifo.to_str().unwrap()], Stdio::null()),
    ] {
        let words: Vec<&str> = ["autoscale", "web"].into_iter().chain(flags).collect();
        let mut command = world.command(&words);
        let mut child = command.stdin(stdin).stdout(Stdio::null()).spawn().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        // It ends by a signal whenever that comes, once it is noted at all.
        world.until("its signals are noted", || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
            u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << 14) != 0
        });
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(child.try_wait().unwrap().is_none(), "it waits: {words:?}");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        world.until("it has ended", || child.try_wait().unwrap().is_some());
        assert_eq!(child.wait().unwrap().code(), Some(143), "{words:?}");
    }
    drop(writer);
}

/// Lines may go on for ever; one line may not.
#[test]
fn a_batch_without_a_line_feed_ends() {
    let world = World::with_fake();
    let zero = put(&world, "lines", "zero");
    let line = format!("batch --file {}", zero.display());
    let ran = within_seconds(&world, &line);
    assert_ne!(ran.code, Some(0));
    ran.says("64 MiB without a line feed");
}
