//! Ticks that are killed at every point that they pass: the next ones go on, and nothing is made
//! twice. Either may come first.

use std::os::unix::process::ExitStatusExt as _;

use super::Fleet;
use crate::support::World;

/// The points that a line passes, in order.
fn passed(world: &mut World, line: &str) -> Vec<String> {
    let trace = world.path("trace").to_str().expect("UTF-8").to_owned();
    world.set("SCALECTL_TEST_CRASH_TRACE", trace);
    world.run(line).exits(0);
    world.unset("SCALECTL_TEST_CRASH_TRACE");
    let text = std::fs::read_to_string(world.path("trace")).expect("a trace");
    std::fs::remove_file(world.path("trace")).expect("it was there");
    text.lines().map(str::to_owned).collect()
}

/// Each point with its number among those of its name.
fn numbered(points: &[String]) -> Vec<(String, usize)> {
    let before = |at: usize| points[..at].iter().filter(|point| **point == points[at]).count();
    (0..points.len()).map(|at| (points[at].clone(), before(at) + 1)).collect()
}

/// Lets a line die there, and asserts that it did.
fn die(world: &mut World, line: &str, point: &str, nth: usize) {
    for (name, value) in [("", format!("{point}#{nth}")), ("_MARK", "mark".to_owned())] {
        world.set(&format!("SCALECTL_TEST_CRASH{name}"), value);
    }
    world.set("SCALECTL_TEST_CRASH_TRACE", "trace");
    let words: Vec<&str> = line.split_whitespace().collect();
    let output = world.command(&words).output().expect("it starts");
    for name in ["", "_MARK", "_TRACE"] {
        world.unset(&format!("SCALECTL_TEST_CRASH{name}"));
    }
    let mark = std::fs::read_to_string(world.path("mark")).unwrap_or_default();
    assert_eq!(mark, point, "it did not die there: {output:?}");
    // The death of a guard is news to its parent, which lives to tell it.
    let in_guard = point.starts_with("guard_");
    assert_eq!(output.status.signal(), (!in_guard).then_some(9), "{output:?}");
}

fn copy(fleet: &Fleet) -> Fleet {
    Fleet { world: fleet.world.copy(), seconds: fleet.seconds }
}

#[test]
fn a_tick_that_is_killed_anywhere_makes_no_second_wish() {
    let mut fleet = Fleet::scaled();
    fleet.later(1);
    fleet.world.write("signals.json", super::document(&[fleet.sample("web", 55.0)]));
    let line = "autoscale --signals signals.json";
    let points = numbered(&passed(&mut copy(&fleet).world, line));
    assert!(points.len() >= 4, "{points:?}");
    for (point, nth) in points {
        let mut fleet = copy(&fleet);
        die(&mut fleet.world, line, &point, nth);
        fleet.world.run("verify").exits(0);
        // The same sample again, then a newer one.
        fleet.world.run(line).exits(0);
        assert_eq!(fleet.intents(), 1, "{point}#{nth}");
        let said = fleet.tick("", 55.0);
        assert!(said.contains("awaiting"), "{point}#{nth}: {said}");
        assert_eq!(fleet.intents(), 1, "{point}#{nth}");
        fleet.settle();
        assert_eq!(fleet.state("web@1"), "verified converged", "{point}#{nth}");
        assert_eq!(fleet.world.fake_log("effects").len(), 1, "{point}#{nth}");
    }
}

#[test]
fn a_pass_that_is_killed_anywhere_has_one_effect() {
    let mut wished = Fleet::plain();
    wished.wish(5, "k1");
    wished.later(1);
    let mut declared = Fleet::plain();
    declared.world.run("service put web --replicas 5").exits(0);
    declared.later(1);
    let mut called = copy(&wished);
    called.world.run("reconcile").exits(0);
    called.later(1);
    for (fleet, least) in [(wished, 10), (declared, 12), (called, 2)] {
        let points = numbered(&passed(&mut copy(&fleet).world, "reconcile"));
        assert!(points.len() >= least, "{points:?}");
        for (point, nth) in points {
            let mut fleet = copy(&fleet);
            die(&mut fleet.world, "reconcile", &point, nth);
            fleet.world.await_no_children();
            fleet.world.run("verify").exits(0);
            fleet.settle();
            assert_eq!(fleet.intents(), 1, "{point}#{nth}");
            assert_eq!(fleet.state("web@1"), "verified converged", "{point}#{nth}");
            let effects = fleet.world.fake_log("effects");
            assert_eq!(effects.len(), 1, "{point}#{nth}: {effects:?}");
        }
    }
}

#[test]
fn either_tick_may_come_first() {
    let mut fleet = Fleet::scaled();
    assert_eq!(fleet.pass(""), "nothing: nothing is under way");
    assert_eq!(fleet.tick("", 55.0), "intent_accepted 3 → 6");
    assert_eq!(fleet.pass(""), "actuate succeeded");
    assert!(fleet.tick("", 95.0).contains("awaiting"));
    assert_eq!(fleet.pass(""), "observe verified");
    assert_eq!(fleet.tick("", 61.0), "skipped: within the deadband");
    assert_eq!(fleet.world.fake_log("effects").len(), 1);
}
