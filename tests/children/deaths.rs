//! The parent dies, and the guard, in the middle of a call.

use std::process::Child;

use rustix::process::Signal;

use super::{ALL_SEEING, PUT, kill, world_with};
use crate::support::{World, group_members, is_alive, processes};

const PUT_2: &str = "intent put web --replicas 5 --expect-revision 1 --key k2 --reason r --queue";

/// A call that has had its effect and hangs, with a child in its group, and a wish behind it.
fn hanging_call(world: &World) -> Child {
    world.script(&["fork-and-hang", "ok", "ok"]);
    world.run(PUT).exits(0);
    let parent = world.start("actuate k1");
    world.until("the effect is there", || !world.fake_log("effects").is_empty());
    let call = world.call_file();
    world.until("it has forked", || group_members(call.group).len() >= 2);
    world.run(PUT_2).exits(0);
    parent
}

fn end(mut child: Child) {
    child.kill().expect("it is ours");
    child.wait().expect("it is ours");
}

/// The first call is over and known, and only then was the second one made.
fn converge(world: &World, group: i32) {
    assert_eq!(world.fake_log("calls").len(), 1, "a second call was made before");
    world.run("replay k1").exits(0);
    assert!(group_members(group).is_empty());
    assert_eq!(world.json("intent show k1").at("/execution/outcome"), "converged");
    world.run("actuate k2").exits(0);
    world.run("observe k2").exits(0);
    let effects = world.fake_log("effects");
    assert_eq!(effects.len(), 2, "{effects:?}");
    world.run("verify").exits(0);
}

#[test]
fn a_killed_parent_takes_its_group_along_before_the_next_intent_starts() {
    let world = World::with_fake();
    let parent = hanging_call(&world);
    let call = world.call_file();
    // While the call lives, nobody else starts, and nobody can end it from outside.
    world.run("actuate k2").exits(19);
    world.run("actuate k1").exits(11);
    world.run("replay k1").exits(11);
    assert!(group_members(call.group).len() >= 2);
    end(parent);
    world.until("its group is gone", || group_members(call.group).is_empty());
    world.until("its guard is gone", || !is_alive(call.guard));
    world.run("actuate k2").exits(19);
    let status = world.json("status web").exits(0);
    assert_eq!(status.at("/services/0/state"), "started");
    assert_eq!(status.at("/services/0/outcome"), "unknown", "it is derived");
    converge(&world, call.group);
}

#[test]
fn what_a_killed_guard_leaves_is_ended_by_replay() {
    let world = World::with_fake();
    let parent = hanging_call(&world);
    let call = world.call_file();
    // A stopped guard cannot react to the death of its parent.
    kill(call.guard, Signal::STOP);
    end(parent);
    kill(call.guard, Signal::KILL);
    world.until("its guard is gone", || !is_alive(call.guard));
    assert!(group_members(call.group).len() >= 2, "nobody was left to end it");
    // Nobody starts beside it, and looking at it ends nothing.
    world.run("actuate k2").exits(19);
    assert_eq!(world.json("status web").at("/services/0/outcome"), "unknown");
    assert!(group_members(call.group).len() >= 2);
    converge(&world, call.group);
}

#[test]
fn who_left_the_session_is_neither_killed_nor_waited_for() {
    let marker = format!("32000.{:07}", std::process::id());
    let prelude = format!("setsid sleep {marker} >/dev/null 2>&1 </dev/null &");
    let world = world_with(&prelude, ALL_SEEING, "20s");
    let parent = hanging_call(&world);
    let call = world.call_file();
    let left = || processes(|line| line == ["sleep", &marker]);
    kill(call.guard, Signal::STOP);
    end(parent);
    kill(call.guard, Signal::KILL);
    world.until("its guard is gone", || !is_alive(call.guard));
    world.run("replay k1").exits(0);
    assert!(group_members(call.group).is_empty());
    let still_there = left();
    for pid in &still_there {
        kill(*pid, Signal::KILL);
    }
    assert_eq!(still_there.len(), 1);
}

#[test]
fn a_killed_guard_alone_makes_the_outcome_unknown_and_ends_the_call() {
    let world = World::with_fake();
    let mut parent = hanging_call(&world);
    let call = world.call_file();
    kill(call.guard, Signal::KILL);
    let status = parent.wait().expect("it is ours");
    assert_eq!(status.code(), Some(16));
    assert!(group_members(call.group).is_empty(), "the parent has ended what was left");
    converge(&world, call.group);
}
