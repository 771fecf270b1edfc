//! Who looks on while a call is made, and what a lock or a signal at a bad moment comes to.

use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::{ALL_SEEING, PUT, kill, world_with};
use crate::support::{Ran, World, fake_actuator};

fn pid(child: &Child) -> i32 {
    i32::try_from(child.id()).expect("a pid")
}

fn ended(child: Child) -> Ran {
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Ran {
        line: "the call".to_owned(),
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn call_path(world: &World) -> Option<PathBuf> {
    let files = std::fs::read_dir(world.path(".local/state/scalectl/calls")).ok()?;
    files.flatten().map(|file| file.path()).next()
}

fn await_end(world: &World) -> PathBuf {
    world.until("the guard has written the end", || {
        let text = call_path(world).and_then(|path| std::fs::read_to_string(path).ok());
        text.is_some_and(|text| text.contains("ended "))
    });
    call_path(world).expect("a call file")
}

/// A call whose actuator has begun, and waits to be let [`go`] however busy the machine is.
fn begun(world: &World, line: &str) -> Child {
    world.script(&["gate"]);
    world.run(PUT).exits(0);
    let parent = world.start(line);
    world.until("the actuator has begun", || !world.fake_log("calls").is_empty());
    world.call_file();
    parent
}

fn go(world: &World) {
    std::fs::write(world.fake_dir().join("go"), "").expect("ours");
}

/// Waits until the kernel says that a process is stopped: a signal is only on its way at first.
fn await_stop(world: &World, child: &Child) {
    let stat = format!("/proc/{}/stat", pid(child));
    world.until("it is stopped", || {
        let text = std::fs::read_to_string(&stat).expect("it is ours, and not reaped");
        text.rsplit(')').next().is_some_and(|rest| rest.starts_with(" T "))
    });
}

/// A call that ends while its parent is stopped and cannot see that.
fn unseen_end(world: &World) -> Child {
    let parent = begun(world, "actuate k1 -o json");
    kill(pid(&parent), Signal::STOP);
    await_stop(world, &parent);
    go(world);
    parent
}

#[test]
fn nobody_takes_the_answer_from_a_parent_that_lives() {
    let world = World::with_fake();
    let parent = unseen_end(&world);
    let path = await_end(&world);
    for line in ["replay k1", "observe k1", "actuate k1"] {
        world.run(line).exits(11);
    }
    assert!(path.exists(), "the parent still has to read it");
    kill(pid(&parent), Signal::CONT);
    let ran = ended(parent).exits(0);
    assert_eq!(ran.at("/execution/state"), "succeeded");
    assert!(!path.exists());
}

#[test]
fn the_parent_knows_the_end_although_the_file_is_gone() {
    let world = World::with_fake();
    let parent = unseen_end(&world);
    std::fs::remove_file(await_end(&world)).expect("ours");
    kill(pid(&parent), Signal::CONT);
    assert_eq!(ended(parent).exits(0).at("/execution/state"), "succeeded");
}

#[test]
fn what_was_read_before_another_attempt_is_read_again() {
    let world = world_with("", ALL_SEEING, "20s");
    // The first reading after `slow` is there takes its time to arrive.
    let fake = fake_actuator();
    let script = format!(
        "read -r request\ncase $request in *'\"op\":\"inspect\"'*) if [ -e slow ]; then rm slow\n\
         answer=$(printf '%s\\n' \"$request\" | /bin/sh {fake}); : >read\n\
         while [ ! -e go ]; do sleep 0.02; done; printf '%s\\n' \"$answer\"; exit 0; fi;; esac\n\
         printf '%s\\n' \"$request\" | /bin/sh {fake}\n",
        fake = fake.display()
    );
    let script = format!("cd {}\n{script}", world.fake_dir().display());
    std::fs::write(world.path("slow.sh"), script).expect("ours");
    let path = world.path("slow.sh");
    let path = path.to_str().expect("UTF-8");
    world.run_args(&["actuator", "put", "wrapped", "--", "/bin/sh", path]).exits(0);
    world.script(&["fail retryable busy", "ok"]);
    world.run(PUT).exits(0);
    std::fs::write(world.fake_dir().join("slow"), "").expect("ours");
    let slow = world.start("actuate k1 -o json");
    world.until("it has read", || world.fake_dir().join("read").exists());
    world.run("actuate k1").exits(18);
    std::fs::write(world.fake_dir().join("count"), "8\n").expect("ours");
    std::fs::write(world.fake_dir().join("go"), "").expect("ours");
    ended(slow).exits(0);
    let log = world.json("log").exits(0);
    let events = log.at("/events");
    let bases: Vec<&Value> = events
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|event| event.pointer("/body/call/base/replicas"))
        .collect();
    assert_eq!(bases, [0, 8], "{events:#}");
}

#[test]
fn a_signal_between_two_questions_is_an_interruption() {
    let world = World::with_fake();
    world.script(&["hang"]);
    world.run(PUT).exits(0);
    let parent = world.start("actuate k1");
    world.until("the effect is there", || !world.fake_log("effects").is_empty());
    kill(pid(&parent), Signal::KILL);
    ended(parent);
    await_end(&world);
    // It has to write down the loss before it asks.
    let held = world.lock();
    let settling = world.start("settle k1 --applied --reason r");
    std::thread::sleep(Duration::from_millis(300));
    kill(pid(&settling), Signal::INT);
    std::thread::sleep(Duration::from_millis(100));
    drop(held);
    ended(settling).exits(130);
}

#[test]
fn a_result_is_recorded_although_the_ledger_is_locked_for_long() {
    let world = World::with_fake();
    let parent = begun(&world, "actuate k1 -o json --lock-timeout 20ms");
    let held = world.lock();
    go(&world);
    await_end(&world);
    std::thread::sleep(Duration::from_millis(1500));
    drop(held);
    assert_eq!(ended(parent).exits(0).at("/execution/state"), "succeeded");
}

#[test]
fn a_result_that_cannot_be_recorded_still_says_what_it_was() {
    let world = World::with_fake();
    let parent = begun(&world, "actuate k1 -o json --lock-timeout 20ms");
    let held = world.lock();
    go(&world);
    await_end(&world);
    std::thread::sleep(Duration::from_millis(300));
    kill(pid(&parent), Signal::INT);
    std::thread::sleep(Duration::from_millis(100));
    kill(pid(&parent), Signal::TERM);
    let ran = ended(parent).exits(16);
    assert_eq!(ran.at("/error/code"), "unrecorded");
    assert_eq!(ran.at("/applied"), "yes");
    drop(held);
    world.run("replay k1").exits(0);
    assert_eq!(world.fake_log("effects").len(), 1);
}

#[test]
fn a_broken_provider_of_evidence_does_not_silence_a_person() {
    let world = World::new();
    world.init_fake_that(&["inspect", "evidence"]);
    std::fs::write(world.fake_dir().join("count"), "5\n").expect("ours");
    let line = "service put web --actuator fake --writer ops --max 10 --quiet 0s --backoff 0s \
                --drain required";
    world.run(line).exits(0);
    world.run(PUT).exits(0);
    world.run("actuate k1").exits(25).says("evidence");
    assert!(world.fake_log("calls").is_empty());
    let ran = world.json("actuate k1 --attest not-drained").exits(0);
    assert_eq!(ran.at("/warnings/0/code"), "evidence_failed");
}
