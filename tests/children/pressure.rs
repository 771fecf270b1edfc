//! Children that are stopped, that leave others behind, and that write without end or sense.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{ALL_SEEING, PUT, kill, world_with};
use crate::support::{World, fake_actuator, group_members, is_alive, processes};

/// A world whose fake's answers to `apply` go through a filter of the shell.
fn world_through(filter: &str, timeout: &str) -> World {
    let fake = fake_actuator();
    let prelude =
        format!("printf '%s\\n' \"$request\" | /bin/sh {} | {filter}\nexit", fake.display());
    world_with(&prelude, ALL_SEEING, timeout)
}

/// The outcome is unknown, replay finds the one effect, and nobody is left.
fn is_unknown_and_converges(world: &World, what: &str) {
    let ran = world.json("actuate k1");
    assert_eq!(ran.code, Some(16), "{what}: {ran:#?}");
    assert_eq!(ran.at("/applied"), "unknown", "{what}");
    assert_eq!(ran.at("/execution/state"), "recovery_pending", "{what}");
    world.run("replay k1").exits(0);
    assert_eq!(world.json("intent show k1").at("/execution/outcome"), "converged", "{what}");
    assert_eq!(world.fake_log("effects").len(), 1, "{what}");
    world.await_no_children();
}

#[test]
fn what_is_not_exactly_one_answer_is_unknown() {
    for (what, filter) in [
        ("half a document", "head -c 200"),
        ("a document cut at its last byte", "sed 's/}$//'"),
        ("invalid UTF-8", "sed 's/fake:web/fake:w\\xffb/'"),
        ("a key twice", "sed 's/\"scaled\":true/\"scaled\":false,\"scaled\":true/'"),
        ("a word after it", "sed 's/$/ done/'"),
        ("another target", "sed 's/\"target_uid\":\"fake:web\"/\"target_uid\":\"fake:api\"/'"),
        ("a count past 2^53", "sed 's/\"observed_replicas\":3/&000000000000000000/'"),
        ("brackets without end", "{ cat >/dev/null; head -c 100000 /dev/zero | tr '\\0' '['; }"),
    ] {
        let world = world_through(filter, "20s");
        world.run(PUT).exits(0);
        is_unknown_and_converges(&world, what);
    }
}

/// The most memory that a process has had, in KiB.
fn peak_kib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

#[test]
fn a_gibibyte_of_output_is_drained_in_bounded_memory() {
    let world = world_through("cat; head -c 1073741824 /dev/zero", "60s");
    world.run(PUT).exits(0);
    let mut parent = world.start("actuate k1 -o json");
    let mut peak = 0;
    let status = loop {
        peak = peak.max(peak_kib(parent.id()).unwrap_or(0));
        if let Some(status) = parent.try_wait().expect("ours") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(status.code(), Some(16));
    let detail = world.json("intent show k1").exits(0).at("/execution/unknown/detail").to_string();
    let dropped = (1_u64 << 30) - (1 << 20);
    let said: u64 = detail
        .split(|c: char| !c.is_ascii_digit())
        .find_map(|digits| digits.parse().ok())
        .expect("it says how much");
    assert!(said >= dropped, "all of it was taken and counted: {detail}");
    assert!((1000..64 * 1024).contains(&peak), "{peak} KiB");
    world.run("replay k1").exits(0);
    assert_eq!(world.fake_log("effects").len(), 1);
    world.await_no_children();
}

#[test]
fn who_stays_in_the_group_ends_with_the_answer_and_who_left_it_is_not_waited_for() {
    let marker = format!("32100.{:07}", std::process::id());
    let inside = format!("sleep {marker} &");
    let outside = format!("setsid sleep {marker} &");
    for (prelude, left) in [(inside, 0), (outside, 1)] {
        // Both hold the pipes of the answer.
        let world = world_with(&prelude, ALL_SEEING, "30s");
        world.run(PUT).exits(0);
        let began = Instant::now();
        world.json("actuate k1").exits(0);
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        let living = processes(|line| line == ["sleep", &marker]);
        for pid in &living {
            kill(*pid, Signal::KILL);
        }
        assert_eq!(living.len(), left, "{prelude}");
        assert_eq!(world.fake_log("effects").len(), 1);
        world.await_no_children();
    }
}

/// A call that has had its effect and hangs; it has two seconds.
fn hanging() -> (World, std::process::Child, crate::support::CallProcesses) {
    let world = world_with("", ALL_SEEING, "2s");
    world.script(&["fork-and-hang"]);
    world.run(PUT).exits(0);
    let parent = world.start("actuate k1 -o json");
    world.until("the effect is there", || !world.fake_log("effects").is_empty());
    let call = world.call_file();
    (world, parent, call)
}

#[test]
fn a_stopped_actuator_and_a_stopped_guard_end_at_the_deadline() {
    for stops_guard in [false, true] {
        let (world, parent, call) = hanging();
        if stops_guard {
            kill(call.guard, Signal::STOP);
        } else {
            for pid in group_members(call.group) {
                kill(pid, Signal::STOP);
            }
        }
        let began = Instant::now();
        let output = parent.wait_with_output().expect("it ends");
        // A guard has a second more, and two to obey before it is killed itself.
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        assert_eq!(output.status.code(), Some(16), "{output:?}");
        assert!(group_members(call.group).is_empty(), "guard: {stops_guard}");
        assert!(!is_alive(call.guard), "guard: {stops_guard}");
        let shown = world.json("intent show k1").exits(0);
        assert_eq!(shown.at("/execution/state"), "recovery_pending");
        assert_eq!(shown.at("/execution/unknown/why"), "timed_out");
        world.run("replay k1").exits(0);
        assert_eq!(world.fake_log("effects").len(), 1);
        world.await_no_children();
    }
}
