//! The guard, with the real binary: who may die, and what is left then.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use scalectl::actuator::calls::{CallEnd, CallProof, PreparedCall, prove_end};
use scalectl::actuator::error::CallError;
use scalectl::actuator::guarded::{GuardedCall, run_guarded};
use scalectl::actuator::host::Deadline;
use scalectl::actuator::process::{
    Captured, ChildEnd, ChildSpec, LeaderEnd, Limits, Tick, Unwatched, Watch,
};
use scalectl::domain::id::CallId;
use scalectl::domain::time::DurationMs;

const SCALECTL: &str = env!("CARGO_BIN_EXE_scalectl");

struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        Self { root: tempfile::tempdir().expect("a directory") }
    }

    fn calls(&self) -> PathBuf {
        self.root.path().join("calls")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// A file that a script writes, once it has a whole line.
    fn await_line(&self, name: &str) -> String {
        let until = Deadline::after(DurationMs::from_secs(5));
        loop {
            let text = fs::read_to_string(self.file(name)).unwrap_or_default();
            if let Some(line) = text.strip_suffix('\n') {
                return line.to_owned();
            }
            assert!(!until.is_past(), "nobody writes {name}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn await_pids(&self, name: &str) -> Vec<i32> {
        self.await_line(name).split(' ').map(|pid| pid.parse().expect("a pid")).collect()
    }
}

fn call_id() -> CallId {
    "call-1".parse().expect("an identifier")
}

fn call(
    dir: &Path,
    script: &str,
    stdin: &[u8],
    timeout_ms: u64,
    watch: &mut dyn Watch,
) -> Result<GuardedCall, CallError> {
    let spec = ChildSpec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        current_dir: Some(dir.to_owned()),
    };
    call_spec(dir, &spec, stdin, timeout_ms, watch)
}

fn call_spec(
    dir: &Path,
    spec: &ChildSpec,
    stdin: &[u8],
    timeout_ms: u64,
    watch: &mut dyn Watch,
) -> Result<GuardedCall, CallError> {
    let prepared = PreparedCall::create(&dir.join("calls"), &call_id()).expect("prepared");
    let limits = Limits::within(DurationMs::from_millis(timeout_ms));
    run_guarded(prepared, Path::new(SCALECTL), spec, stdin, &limits, watch)
}

fn ended(call: Result<GuardedCall, CallError>) -> (Captured, CallEnd) {
    let GuardedCall { captured, proof } = call.expect("started");
    match proof.expect("provable") {
        CallProof::Ended { how, .. } => (captured, how),
        proof @ (CallProof::Alive | CallProof::NoFile) => panic!("{proof:?}"),
    }
}

fn lives(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn await_death(pids: &[i32]) {
    let until = Deadline::after(DurationMs::from_secs(5));
    while let Some(pid) = pids.iter().find(|pid| lives(**pid)) {
        assert!(!until.is_past(), "{pid} lives on");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn kill(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).expect("a pid"), signal).expect("a process");
}

#[test]
fn bytes_and_status_pass_straight_through() {
    let world = World::new();
    let bytes = vec![b'x'; 256 * 1024];
    let script = "cat; echo text >&2; ls /proc/self/fd | wc -l >fds; exit 7";
    let (captured, how) = ended(call(world.root.path(), script, &bytes, 10_000, &mut Unwatched));
    assert!(captured.stdout == bytes);
    assert_eq!(captured.stderr, b"text\n");
    assert_eq!((captured.end, captured.leader), (ChildEnd::Exited(7), Some(LeaderEnd::Exited(7))));
    assert_eq!(how, CallEnd::Exited(7));
    // The three streams and the directory that ls reads: neither the call file nor the lock.
    assert_eq!(world.await_line("fds").trim(), "4");
    let lines = fs::read_to_string(world.calls().join("call-1")).expect("readable");
    let words: Vec<&str> = lines.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(words, ["session", "group", "ended"]);
}

#[test]
fn death_by_signal_is_told() {
    let world = World::new();
    let (captured, how) = ended(call(world.root.path(), "kill -9 $$", b"", 10_000, &mut Unwatched));
    assert_eq!((captured.end, how), (ChildEnd::Signalled(9), CallEnd::Signalled(9)));
}

#[test]
fn a_program_that_cannot_start_is_proved_not_started() {
    let world = World::new();
    let spec =
        ChildSpec { program: world.file("absent"), args: vec![], env: vec![], current_dir: None };
    let error = call_spec(world.root.path(), &spec, b"", 10_000, &mut Unwatched);
    let error = error.expect_err("no such program");
    assert!(matches!(&error, CallError::NotStarted { reason, .. } if reason.contains("no such")));
    let proof = prove_end(&world.calls(), &call_id()).expect("provable");
    assert!(matches!(proof, CallProof::Ended { how: CallEnd::NotStarted(_), .. }), "{proof:?}");
}

#[test]
fn a_guard_that_cannot_write_starts_nothing_and_says_why() {
    let world = World::new();
    let own = world.file("guard");
    let script = format!("#!/bin/sh\nulimit -f 0; exec {SCALECTL} \"$@\"\n");
    fs::write(&own, script).expect("writable");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).expect("ours");
    let spec = ChildSpec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), ": >ran".into()],
        env: vec![],
        current_dir: Some(world.root.path().to_owned()),
    };
    let prepared = PreparedCall::create(&world.calls(), &call_id()).expect("prepared");
    let limits = Limits::within(DurationMs::from_secs(10));
    let error = run_guarded(prepared, &own, &spec, b"", &limits, &mut Unwatched);
    let error = error.expect_err("the guard cannot write");
    let CallError::NotStarted { reason, .. } = &error else { panic!("{error:?}") };
    assert!(reason.contains("writing the call file: File too large"), "{reason}");
    assert!(!world.file("ran").exists());
}

#[test]
fn the_guard_kills_a_stubborn_tree_at_the_deadline() {
    let world = World::new();
    let script =
        "trap '' TERM; (trap '' TERM; sleep 60; sleep 60) & echo $$ $! >pids; sleep 60; wait";
    let (captured, how) = ended(call(world.root.path(), script, b"", 300, &mut Unwatched));
    assert_eq!((captured.end, how), (ChildEnd::TimedOut, CallEnd::Deadline));
    assert!(captured.duration < DurationMs::from_millis(1300), "{:?}", captured.duration);
    await_death(&world.await_pids("pids"));
}

#[test]
fn a_grandchild_that_outlives_the_leader_dies_but_not_one_that_left() {
    let world = World::new();
    let script = "sleep 60 & echo $! >in; setsid sleep 5 >/dev/null 2>&1 & echo $! >out; sleep 0.1";
    let (captured, how) = ended(call(world.root.path(), script, b"", 10_000, &mut Unwatched));
    assert_eq!(how, CallEnd::Exited(0));
    assert!(captured.duration < DurationMs::from_secs(2));
    await_death(&world.await_pids("in"));
    let out = world.await_pids("out");
    assert!(lives(out[0]));
    kill(out[0], Signal::KILL);
}

struct EndOn(PathBuf);

impl Watch for EndOn {
    fn tick(&mut self) -> Tick {
        if self.0.exists() { Tick::End } else { Tick::Continue }
    }

    fn next_tick(&self) -> Option<Duration> {
        // Due at once when there is something to see, else looked at again soon.
        Some(if self.0.exists() { Duration::ZERO } else { Duration::from_millis(5) })
    }
}

#[test]
fn the_watch_ends_a_guarded_call_at_once() {
    let world = World::new();
    let script = "trap '' TERM; sleep 60 & echo $$ $! >pids; : >ready; wait";
    let mut watch = EndOn(world.file("ready"));
    let (captured, _) = ended(call(world.root.path(), script, b"", 10_000, &mut watch));
    assert_eq!(captured.end, ChildEnd::Stopped);
    assert!(captured.duration < DurationMs::from_secs(2));
    await_death(&world.await_pids("pids"));
}

/// Starts this test binary again as a parent that runs one guarded call.
#[expect(clippy::disallowed_methods, reason = "the parent that dies must be a process of its own")]
fn parent_of(world: &World, script: &str) -> Child {
    Command::new(std::env::current_exe().expect("a test binary"))
        .args(["--exact", "guard::parent_for_other_tests", "--ignored", "--nocapture"])
        .env_clear()
        .env("GUARD_TEST_ROOT", world.root.path())
        .env("GUARD_TEST_SCRIPT", script)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("started")
}

#[test]
#[ignore = "started by other tests as a process of its own"]
#[expect(clippy::disallowed_methods, reason = "its orders come by the environment")]
fn parent_for_other_tests() {
    let (Ok(root), Ok(script)) =
        (std::env::var("GUARD_TEST_ROOT"), std::env::var("GUARD_TEST_SCRIPT"))
    else {
        return;
    };
    scalectl::actuator::signals::install().expect("handlers");
    let (captured, how) = ended(call(Path::new(&root), &script, b"", 30_000, &mut Unwatched));
    let line = format!("{:?} {:?} {how:?}\n", captured.end, captured.leader);
    fs::write(Path::new(&root).join("outcome"), line).expect("written");
}

#[test]
fn a_killed_parent_takes_the_whole_group_with_it() {
    let world = World::new();
    let mut parent = parent_of(&world, "sleep 60 & echo $$ $! $PPID >pids; wait; wait");
    let pids = world.await_pids("pids");
    assert_eq!(prove_end(&world.calls(), &call_id()).expect("provable"), CallProof::Alive);
    parent.kill().expect("killed");
    parent.wait().expect("reaped");
    await_death(&pids);
    let proof = prove_end(&world.calls(), &call_id()).expect("provable");
    assert!(matches!(proof, CallProof::Ended { how: CallEnd::Orphaned, .. }), "{proof:?}");
}

#[test]
fn what_a_killed_guard_leaves_is_killed_by_the_proof() {
    let world = World::new();
    let mut parent =
        parent_of(&world, "trap '' TERM; sleep 60 & echo $$ $! $PPID >pids; wait; wait");
    let pids = world.await_pids("pids");
    kill(pids[2], Signal::KILL);
    await_death(&pids);
    let status = parent.wait().expect("reaped");
    assert_eq!((status.code(), status.signal()), (Some(0), None));
    assert_eq!(world.await_line("outcome"), "Signalled(9) None Killed");
    let proof = prove_end(&world.calls(), &call_id()).expect("provable");
    assert!(matches!(proof, CallProof::Ended { how: CallEnd::Killed, .. }), "{proof:?}");
}

#[test]
fn both_killed_leave_nothing_that_a_proof_does_not_end() {
    let world = World::new();
    let mut parent =
        parent_of(&world, "trap '' TERM; sleep 60 & echo $$ $! $PPID >pids; wait; wait");
    let pids = world.await_pids("pids");
    // The parent first, and stopped guards cannot react to it: then nobody is left to end the call.
    kill(pids[2], Signal::STOP);
    parent.kill().expect("killed");
    parent.wait().expect("reaped");
    kill(pids[2], Signal::KILL);
    await_death(&pids[2..]);
    assert!(lives(pids[0]) && lives(pids[1]));
    let proof = prove_end(&world.calls(), &call_id()).expect("provable");
    assert!(matches!(proof, CallProof::Ended { how: CallEnd::Killed, .. }), "{proof:?}");
    await_death(&pids);
}

#[test]
fn a_signal_to_the_parent_reaches_the_actuator_and_its_answer_is_kept() {
    let world = World::new();
    let script = "trap 'exit 5' INT; echo $$ >pids; while :; do sleep 0.02; done";
    let mut parent = parent_of(&world, script);
    world.await_pids("pids");
    kill(i32::try_from(parent.id()).expect("a pid"), Signal::INT);
    parent.wait().expect("reaped");
    assert_eq!(world.await_line("outcome"), "Interrupted(2) Some(Exited(5)) Exited(5)");
}

#[test]
fn a_second_signal_to_the_parent_kills_at_once() {
    let world = World::new();
    let script =
        "trap 'echo $$ >got' INT; trap '' TERM; echo $$ >pids; while :; do sleep 0.02; done";
    let mut parent = parent_of(&world, script);
    let pids = world.await_pids("pids");
    let pid = i32::try_from(parent.id()).expect("a pid");
    kill(pid, Signal::INT);
    world.await_line("got");
    kill(pid, Signal::TERM);
    parent.wait().expect("reaped");
    await_death(&pids);
    assert_eq!(world.await_line("outcome"), "Interrupted(2) Some(Signalled(9)) Signalled(9)");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the guard is started without its parent's care")]
fn a_guard_by_hand_is_refused() {
    let world = World::new();
    fs::write(world.file("unlocked"), "").expect("written");
    for args in [
        vec![],
        vec!["--call-fd", "0", "--deadline-boot-ms", "1", "--parent", "1", "--", "/bin/true"],
        vec!["--call-fd", "99", "--deadline-boot-ms", "1", "--parent", "1", "--", "/bin/true"],
    ] {
        let out = Command::new(SCALECTL).arg("guard").args(args).output().expect("started");
        assert_eq!(out.status.code(), Some(2));
        assert!(out.stdout.is_empty() && !out.stderr.is_empty());
    }
}
