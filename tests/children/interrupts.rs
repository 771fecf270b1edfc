//! Ctrl-C, SIGTERM and SIGHUP, once and twice, on `actuate` and on `scale`.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{ALL_SEEING, PUT, kill, world_with};
use crate::support::group_members;

#[derive(Debug, Clone, Copy)]
struct Case {
    signal: Signal,
    exit: i32,
    twice: bool,
    line: &'static str,
}

fn cases() -> Vec<Case> {
    let signals = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)];
    let mut cases = Vec::new();
    for (signal, exit) in signals {
        for twice in [false, true] {
            for line in ["actuate k1", "scale web=3 --reason r"] {
                cases.push(Case { signal, exit, twice, line });
            }
        }
    }
    cases
}

fn run(case: Case) {
    // Who ignores the first is killed by the second.
    let prelude = if case.twice { "trap '' INT TERM HUP" } else { "" };
    let world = world_with(prelude, ALL_SEEING, "30s");
    world.script(&["fork-and-hang"]);
    if case.line.starts_with("actuate") {
        world.run(PUT).exits(0);
    }
    let mut parent = world.start(case.line);
    world.until("the effect is there", || !world.fake_log("effects").is_empty());
    let call = world.call_file();
    let pid = i32::try_from(parent.id()).expect("a pid");
    let began = Instant::now();
    kill(pid, case.signal);
    if case.twice {
        std::thread::sleep(Duration::from_millis(300));
        assert!(parent.try_wait().expect("ours").is_none(), "{case:?}: it did not wait");
        assert!(!group_members(call.group).is_empty(), "{case:?}: it was not asked first");
        kill(pid, Signal::TERM);
    }
    let output = parent.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(case.exit), "{case:?}: {output:?}");
    assert!(began.elapsed() < Duration::from_secs(4), "{case:?}: {:?}", began.elapsed());
    world.until("its group is gone", || group_members(call.group).is_empty());
    // The row is recorded, or can be found out.
    let shown = world.json("intent show web@1").exits(0);
    let state = shown.at("/execution/state");
    assert!(state == "recovery_pending" || state == "started", "{case:?}: {shown:?}");
    world.until("replay may go on", || world.run("replay web@1").code != Some(11));
    let shown = world.json("intent show web@1").exits(0);
    assert_eq!(shown.at("/execution/outcome"), "converged", "{case:?}");
    assert_eq!(world.fake_log("effects").len(), 1, "{case:?}");
    world.run("verify").exits(0);
}

#[test]
fn a_signal_ends_the_call_with_its_own_exit_and_replay_converges() {
    let threads: Vec<_> =
        cases().into_iter().map(|case| std::thread::spawn(move || run(case))).collect();
    for thread in threads {
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}
