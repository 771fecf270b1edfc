//! `actuator check`, ended in its middle: the workload is as it was, and nobody is left.

use std::process::{Child, Output};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{World, fake_actuator};

/// A check of a workload with three replicas; its first calls work, then the script goes on.
fn checked(script: &[&str]) -> (World, Child) {
    let world = World::new();
    world.run("init").exits(0);
    world.write("fake/capabilities", "inspect\n");
    world.write("fake/count", "3\n");
    // first, one, two; the next one is the one that is ended
    world.script(&[&["ok", "ok", "ok"], script].concat());
    let fake = fake_actuator();
    world.run(&format!("actuator put it -- /bin/sh {}", fake.display())).exits(0);
    let check = world.start("-o json actuator check it");
    reaches(&world, 4);
    (world, check)
}

/// Waits until that many calls have had their effect.
fn reaches(world: &World, calls: usize) {
    world.until("the call has its effect", || world.fake_log("effects").len() == calls);
}

fn send(check: &Child, signal: Signal) {
    let pid = i32::try_from(check.id()).expect("a pid");
    kill_process(Pid::from_raw(pid).expect("not 0"), signal).expect("it is there");
}

fn count(world: &World) -> String {
    std::fs::read_to_string(world.fake_dir().join("count")).unwrap().trim().to_owned()
}

fn warning(ended: &Output) -> (Value, Value) {
    let document: Value = serde_json::from_slice(&ended.stdout).unwrap();
    (document["applied"].clone(), document["warnings"][0]["code"].clone())
}

#[test]
fn a_check_that_is_interrupted_leaves_the_workload_as_it_was() {
    for (signal, exit) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let (world, check) = checked(&["hang"]);
        send(&check, signal);
        let ended = check.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(exit), "{ended:?}");
        assert_eq!(warning(&ended), ("yes".into(), "left_as_found".into()));
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(said.contains("workload scalectl-check was brought back to 3"), "{said}");
        assert_eq!(count(&world), "3");
        world.await_no_children();
        let calls = std::fs::read_dir(world.path(".local/state/scalectl/calls")).unwrap();
        assert_eq!(calls.count(), 0, "a file of a call is left");
    }
}

#[test]
fn a_second_signal_ends_the_way_back_too_and_that_is_said() {
    let (world, check) = checked(&["hang", "hang"]);
    send(&check, Signal::INT);
    reaches(&world, 5);
    send(&check, Signal::INT);
    let ended = check.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    assert_eq!(warning(&ended), ("unknown".into(), "not_left_as_found".into()));
    world.await_no_children();
}

#[test]
fn the_call_of_a_check_that_is_killed_ends_with_it() {
    let (world, mut check) = checked(&["fork-and-hang"]);
    let call = world.call_file();
    send(&check, Signal::KILL);
    check.wait().unwrap();
    world.until("its group is gone", || crate::support::group_members(call.group).is_empty());
    world.await_no_children();
}

#[test]
fn a_check_that_is_interrupted_before_it_changed_anything_has_changed_nothing() {
    let world = World::new();
    world.run("init").exits(0);
    world.write("fake/capabilities", "inspect\n");
    let fake = fake_actuator();
    world.run(&format!("actuator put it -- /bin/sh {}", fake.display())).exits(0);
    world.write("fake/on-inspect", "echo >>inspections; exec sleep 60\n");
    let check = world.start("-o json actuator check it");
    world.until("it looks", || world.path("fake/inspections").exists());
    send(&check, Signal::INT);
    let ended = check.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    assert_eq!(warning(&ended), ("no".into(), Value::Null));
    assert!(world.fake_log("calls").is_empty());
    world.await_no_children();
}
