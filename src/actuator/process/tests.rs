use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;

use super::*;
use crate::actuator::host::boot_ms;
use crate::actuator::procfs;
use crate::actuator::signals::Signals;

fn sh(script: &str) -> ChildSpec {
    ChildSpec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        current_dir: None,
    }
}

fn within_ms(timeout_ms: u64) -> Limits {
    Limits::within(DurationMs::from_millis(timeout_ms))
}

fn run_sh(script: &str, stdin: &[u8], timeout_ms: u64) -> Captured {
    run(&sh(script), stdin, &within_ms(timeout_ms), &mut Unwatched).expect("started")
}

/// The pids that a script has printed, one on a line.
fn printed_pids(captured: &Captured) -> Vec<i32> {
    let text = String::from_utf8(captured.stdout.clone()).expect("digits");
    text.split_whitespace().map(|pid| pid.parse().expect("digits")).collect()
}

fn lives(pid: i32) -> bool {
    procfs::stat_of(pid).expect("readable").is_some_and(|stat| !stat.dead)
}

fn assert_gone(pid: i32) {
    // A killed process that is not ours is reaped by another, a moment later.
    let until = Deadline::after(DurationMs::from_secs(2));
    while lives(pid) {
        assert!(!until.is_past(), "{pid} lives on");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_quarter_mebibyte_goes_in_and_out_without_deadlock() {
    let bytes: Vec<u8> = (0..256 * 1024_u32).map(|i| u8::try_from(i % 251).unwrap()).collect();
    let cat = ChildSpec { program: "/bin/cat".into(), args: vec![], ..sh("") };
    let captured = run(&cat, &bytes, &within_ms(10_000), &mut Unwatched).expect("started");
    assert_eq!(captured.end, ChildEnd::Exited(0));
    assert!(captured.stdout == bytes && captured.stdout_dropped == 0);
}

#[test]
fn what_exceeds_the_caps_is_drained_and_counted_while_a_grandchild_holds_the_pipes() {
    let script = "sleep 30 & head -c 3000000 /dev/zero; head -c 200000 /dev/zero >&2; exit 7";
    let captured = run_sh(script, b"", 10_000);
    assert_eq!(captured.end, ChildEnd::Exited(7));
    assert_eq!((captured.stdout.len(), captured.stdout_dropped), (1_048_576, 1_951_424));
    assert_eq!((captured.stderr.len(), captured.stderr_dropped), (65_536, 134_464));
    assert!(captured.duration < DurationMs::from_secs(5));
}

#[test]
fn who_leaves_the_session_is_neither_killed_nor_waited_for() {
    let captured = run_sh("setsid sleep 5 & echo $!; sleep 0.1", b"", 10_000);
    assert_eq!(captured.end, ChildEnd::Exited(0));
    // It still holds stdout, which costs the grace and no more.
    assert!(captured.duration >= DurationMs::from_millis(200));
    assert!(captured.duration < DurationMs::from_secs(4));
    let pid = printed_pids(&captured)[0];
    assert!(lives(pid));
    let _ =
        rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), Signal::KILL);
}

#[test]
fn a_tree_that_ignores_sigterm_is_killed_at_the_deadline() {
    let script = "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo $! $$; wait; wait";
    let captured = run_sh(script, b"", 200);
    assert_eq!(captured.end, ChildEnd::TimedOut);
    assert_eq!(captured.leader, Some(LeaderEnd::Signalled(Signal::KILL.as_raw())));
    assert!(captured.duration < DurationMs::from_secs(3));
    let pids = printed_pids(&captured);
    assert_eq!(pids.len(), 2);
    pids.into_iter().for_each(assert_gone);
}

#[test]
fn a_child_that_never_reads_its_input_keeps_its_status() {
    let bytes = vec![b'x'; 256 * 1024];
    assert_eq!(run_sh("exit 3", &bytes, 10_000).end, ChildEnd::Exited(3));
    assert_eq!(run_sh("exec <&-; sleep 0.05; exit 4", &bytes, 10_000).end, ChildEnd::Exited(4));
    assert_eq!(run_sh("sleep 30", &bytes, 100).end, ChildEnd::TimedOut);
}

#[test]
fn ends_are_told_apart() {
    for (script, end, leader) in [
        ("exit 0", ChildEnd::Exited(0), LeaderEnd::Exited(0)),
        ("exit 255", ChildEnd::Exited(255), LeaderEnd::Exited(255)),
        ("kill -SEGV $$", ChildEnd::Signalled(11), LeaderEnd::Signalled(11)),
        ("kill -KILL $$", ChildEnd::Signalled(9), LeaderEnd::Signalled(9)),
    ] {
        let captured = run_sh(script, b"", 10_000);
        assert_eq!((captured.end, captured.leader), (end, Some(leader)), "{script}");
    }
}

#[test]
fn output_need_not_be_text() {
    assert_eq!(run_sh(r"printf '\377\000\376'", b"", 10_000).stdout, [255, 0, 254]);
}

#[test]
fn only_the_listed_environment_and_descriptors_are_inherited() {
    let dir = tempfile::tempdir().expect("a directory");
    let spec = ChildSpec {
        program: "/usr/bin/env".into(),
        args: vec![],
        env: vec![("ONE".into(), "1".into())],
        current_dir: Some(dir.path().to_owned()),
    };
    let captured = run(&spec, b"", &within_ms(10_000), &mut Unwatched).expect("started");
    assert_eq!(captured.stdout, b"ONE=1\n");
    // Whatever started the tests may have left descriptors open, as it may for us.
    protect_descriptors();
    let spec = ChildSpec {
        program: "/bin/ls".into(),
        args: vec!["/proc/self/fd".into(), ".".into()],
        ..spec
    };
    fs::write(dir.path().join("here"), "").expect("written");
    let captured = run(&spec, b"", &within_ms(10_000), &mut Unwatched).expect("started");
    // The fourth is the directory that ls reads.
    let text = String::from_utf8(captured.stdout).expect("text");
    assert_eq!(text, ".:\nhere\n\n/proc/self/fd:\n0\n1\n2\n3\n");
}

#[test]
fn a_child_may_die_of_a_broken_pipe_though_we_do_not() {
    assert_eq!(run_sh("yes | head -n 1", b"", 10_000).stdout, b"y\n");
    assert_eq!(run_sh("kill -PIPE $$", b"", 10_000).end, ChildEnd::Signalled(13));
}

#[test]
fn spawn_errors_say_the_program_and_why() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &str, mode: u32| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    for (program, words) in [
        (dir.path().join("absent"), "there is no such file"),
        (file("plain", "x", 0o600), "not executable"),
        (file("lost", "#!/absent/interpreter\n", 0o700), "interpreter"),
        (file("none", "no program", 0o700), "#! line"),
        (dir.path().to_owned(), "not executable"),
    ] {
        let spec = ChildSpec { program: program.clone(), ..sh("") };
        let error = run(&spec, b"", &within_ms(10_000), &mut Unwatched).expect_err("no program");
        let error = error.to_string();
        assert!(error.contains(words) && error.contains(&format!("{program:?}")), "{error}");
    }
}

#[test]
fn a_script_that_is_still_being_written_is_tried_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("copy");
    fs::copy("/bin/true", &path).unwrap();
    let writer = File::options().append(true).open(&path).unwrap();
    let closer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(10));
        drop(writer);
    });
    let spec = ChildSpec { program: path, args: vec![], ..sh("") };
    let captured = run(&spec, b"", &within_ms(10_000), &mut Unwatched).expect("started");
    assert_eq!(captured.end, ChildEnd::Exited(0));
    closer.join().unwrap();
}

struct EndAt {
    ticks_left: u32,
    next: Deadline,
}

impl Watch for EndAt {
    fn tick(&mut self) -> Tick {
        self.ticks_left -= 1;
        self.next = Deadline::after(DurationMs::from_millis(20));
        if self.ticks_left == 0 { Tick::End } else { Tick::Continue }
    }

    fn next_tick(&self) -> Option<Duration> {
        Some(self.next.remaining())
    }
}

#[test]
fn the_watch_is_asked_in_time_and_can_end_the_call() {
    let mut watch = EndAt { ticks_left: 3, next: Deadline::at_boot_ms(0) };
    let captured = run(&sh("sleep 30"), b"", &within_ms(10_000), &mut watch).expect("started");
    assert_eq!((captured.end, watch.ticks_left), (ChildEnd::Stopped, 0));
    assert!(captured.duration < DurationMs::from_secs(3));
}

/// Runs a script that prints a line when it is ready, pretends the signals, and returns the rest.
fn interrupted(script: &str, signals: &[Signal], grace_ms: u64) -> Captured {
    let notes = Signals::fake();
    let dir = tempfile::tempdir().expect("a directory");
    let ready = dir.path().join("ready");
    let spec = ChildSpec { current_dir: Some(dir.path().to_owned()), ..sh(script) };
    let limits = Limits { interrupt_grace: DurationMs::from_millis(grace_ms), ..within_ms(10_000) };
    let child = spawn_piped(&spec, Group::Own, None).expect("started");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ready.exists() {
                std::thread::sleep(Duration::from_millis(2));
            }
            for signal in signals {
                notes.pretend(*signal);
                std::thread::sleep(Duration::from_millis(30));
            }
        });
        supervise(child, Hold::Group, &spec, b"", &limits, &mut Unwatched, Some(&notes))
            .expect("watched")
    })
}

#[test]
fn the_first_signal_is_forwarded_and_the_child_may_finish() {
    // A shell in the background ignores SIGINT, and so does every child of what runs there.
    let script = "trap 'echo done; exit 0' TERM; : >ready; while :; do sleep 0.02; done";
    let captured = interrupted(script, &[Signal::TERM], 5000);
    assert_eq!(captured.end, ChildEnd::Interrupted(Signal::TERM.as_raw()));
    assert_eq!(captured.leader, Some(LeaderEnd::Exited(0)));
    assert_eq!(captured.stdout, b"done\n");
}

#[test]
fn a_child_that_ignores_the_signal_is_killed_after_the_grace() {
    let script = "trap '' TERM; : >ready; while :; do sleep 1; done";
    let captured = interrupted(script, &[Signal::TERM], 100);
    assert_eq!(captured.end, ChildEnd::Interrupted(Signal::TERM.as_raw()));
    assert_eq!(captured.leader, Some(LeaderEnd::Signalled(Signal::KILL.as_raw())));
}

#[test]
fn a_second_signal_of_any_kind_kills_at_once() {
    let begun = boot_ms();
    let script = "trap '' TERM HUP; : >ready; while :; do sleep 1; done";
    let captured = interrupted(script, &[Signal::TERM, Signal::HUP], 60_000);
    assert_eq!(captured.end, ChildEnd::Interrupted(Signal::TERM.as_raw()));
    assert_eq!(captured.leader, Some(LeaderEnd::Signalled(Signal::KILL.as_raw())));
    assert!(boot_ms() - begun < 3000);
}
