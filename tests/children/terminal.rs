//! A real terminal: Ctrl-C once and twice, a closed window, Ctrl-Z and `fg`.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{ALL_SEEING, PUT, kill, world_with};
use crate::support::terminal::Terminal;
use crate::support::{CallProcesses, World, group_members, is_alive, processes};

const CTRL_C: u8 = 3;
const CTRL_Z: u8 = 26;

/// A call that has had its effect and hangs, made at a terminal.
fn hanging(prelude: &str, shell: Option<&str>) -> (World, Terminal, CallProcesses) {
    let world = world_with(prelude, ALL_SEEING, "30s");
    world.script(&["fork-and-hang"]);
    world.run(PUT).exits(0);
    let terminal = Terminal::start(&world, shell, "actuate k1");
    world.until("the effect is there", || !world.fake_log("effects").is_empty());
    let call = world.call_file();
    (world, terminal, call)
}

/// Nothing is left, the row converges, and the effect was the only one.
fn converges(world: &World, call: CallProcesses) {
    world.until("its group is gone", || group_members(call.group).is_empty());
    world.until("its guard is gone", || !is_alive(call.guard));
    let state = world.json("intent show k1").exits(0).at("/execution/state");
    assert!(state == "recovery_pending" || state == "started", "{state}");
    world.run("replay k1").exits(0);
    assert_eq!(world.json("intent show k1").at("/execution/outcome"), "converged");
    assert_eq!(world.fake_log("effects").len(), 1);
    world.run("verify").exits(0);
    world.await_no_children();
}

#[test]
fn ctrl_c_ends_the_call_and_the_second_one_at_once() {
    for twice in [false, true] {
        let prelude = if twice { "trap '' INT TERM HUP" } else { "" };
        let (world, mut terminal, call) = hanging(prelude, None);
        let began = Instant::now();
        terminal.press(CTRL_C);
        if twice {
            std::thread::sleep(Duration::from_millis(300));
            assert!(!group_members(call.group).is_empty(), "it was not asked first");
            terminal.press(CTRL_C);
        }
        let shown = terminal.await_text("replay");
        assert!(shown.contains("interrupted"), "{shown}");
        assert_eq!(terminal.code(), Some(130), "twice: {twice}");
        assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
        converges(&world, call);
    }
}

#[test]
fn a_closed_terminal_ends_the_call_and_its_row_is_recorded() {
    let (world, terminal, call) = hanging("", None);
    let Terminal { keyboard, screen, mut child } = terminal;
    // The thread of the screen holds the line too.
    drop(screen);
    kill(i32::try_from(child.id()).expect("a pid"), Signal::HUP);
    drop(keyboard);
    assert_eq!(child.wait().expect("ours").code(), Some(129));
    converges(&world, call);
}

/// What a shell runs: the line as its job, and once somebody presses return, `fg`.
const JOB: &str = r#""$@"; echo "left $?"; read -r _; fg; echo "ended $?""#;

#[test]
fn a_suspended_command_goes_on_where_it_was() {
    let world = World::with_fake();
    world.script(&["late 0.5"]);
    world.run(PUT).exits(0);
    let mut terminal = Terminal::start(&world, Some(JOB), "actuate k1");
    world.call_file();
    terminal.press(CTRL_Z);
    terminal.await_text("left 148");
    world.until("the call is over", || !world.fake_log("effects").is_empty());
    // Its lease is not over yet: it keeps the word.
    world.run("replay k1").exits(11);
    terminal.press(b'\n');
    terminal.await_text("ended 0");
    assert_eq!(terminal.code(), Some(0));
    assert_eq!(world.json("intent show k1").at("/execution/state"), "succeeded");
    assert_eq!(world.fake_log("effects").len(), 1);
    world.await_no_children();
}

/// The clock of everybody else, so long after now.
fn later(world: &mut World, seconds: i64) {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    let micros = (now.tv_sec + seconds) * 1_000_000;
    let at = scalectl::domain::time::Timestamp::from_micros(micros).expect("in range");
    world.clock(&at.to_string());
}

#[test]
fn a_suspended_command_does_not_keep_its_key_beyond_its_lease() {
    for (answer, effects) in [("fork-and-hang", 1), ("late 1.5", 1)] {
        let mut world = world_with("", ALL_SEEING, "4s");
        world.script(&[answer]);
        std::fs::write(world.fake_dir().join("on-inspect"), "sleep 0.3\n").expect("ours");
        world.run(PUT).exits(0);
        let mut terminal = Terminal::start(&world, Some(JOB), "actuate k1");
        world.until("it is called", || !world.fake_log("calls").is_empty());
        terminal.press(CTRL_Z);
        terminal.await_text("left 148");
        std::fs::remove_file(world.fake_dir().join("on-inspect")).expect("ours");
        world.until("the effect is there", || !world.fake_log("effects").is_empty());
        world.until("the guard has ended the call", || {
            processes(|line| {
                line.contains(&"guard")
                    && line.iter().any(|word| world.path("wrapped.sh").to_str() == Some(*word))
            })
            .is_empty()
        });
        world.run("replay k1").exits(11);
        later(&mut world, 120);
        let status = world.json("status web").exits(0);
        assert_eq!(status.at("/services/0/outcome"), "unknown", "{answer}: it is derived");
        world.run("replay k1").exits(0);
        assert_eq!(world.json("intent show k1").at("/execution/outcome"), "converged", "{answer}");
        // Whoever comes back finds it done, and what it has to say is evidence at most.
        terminal.press(b'\n');
        terminal.await_text("ended ");
        terminal.code();
        let shown = world.json("intent show k1").exits(0);
        assert_eq!(shown.at("/execution/outcome"), "converged", "{answer}");
        assert_eq!(world.fake_log("effects").len(), effects);
        world.run("verify").exits(0);
        world.await_no_children();
    }
}
