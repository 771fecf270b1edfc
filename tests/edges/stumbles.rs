//! What somebody has met who knew the README only: each answer leads on, and says what is so.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::people::{next, pasted};
use crate::support::{Ran, World};

fn send(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Whether a process is stopped.
fn is_stopped(child: &Child) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    stat.rsplit_once(") ").unwrap().1.starts_with('T')
}

fn ended(line: &str, child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        line: line.to_owned(),
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn after_a_signal_before_the_start_the_same_line_is_the_way_on() {
    let mut world = World::with_fake();
    let line = "-o json scale web=3 --key k1 --reason x";
    world.set("SCALECTL_TEST_STOP", "yes").set("SCALECTL_TEST_CRASH", "after_commit#2");
    let child = world.start(line);
    world.unset("SCALECTL_TEST_STOP").unset("SCALECTL_TEST_CRASH");
    world.until("it has stopped", || is_stopped(&child));
    let shown = world.json("intent show k1").exits(0);
    assert_eq!(shown.at("/execution/state"), "accepted");
    send(&child, Signal::INT);
    send(&child, Signal::CONT);
    let ran = ended(line, child).exits(130);
    assert_eq!(ran.at("/recorded"), "yes");
    let lines = next(&ran);
    assert_eq!((lines.len(), lines[0].join(" ")), (2, format!("scalectl {line}")));
    assert_eq!(lines[1].join(" "), "scalectl intent withdraw web@1");

    // A replay starts no wish, and does not look as if it had done anything.
    let replayed = world.json("replay k1").exits(19);
    assert_eq!(replayed.at("/error/code"), "not_started");
    assert_eq!(next(&replayed)[0].join(" "), "scalectl actuate k1");
    assert!(world.fake_log("calls").is_empty());
    world.json("replay k1 --wait --timeout 1s").exits(19);
    assert!(world.json("replay k1 --dry-run").exits(0).stdout.contains("replay starts no wish"));

    pasted(&world, &ran, 0).exits(0);
    assert_eq!(world.fake_log("effects").len(), 1);
}

#[test]
fn a_wish_that_ends_a_waiting_one_says_so() {
    let world = World::with_fake();
    world.run("intent put web --replicas 2 --key c-5 --reason x").exits(0);
    assert!(world.run("plan web=3 --reason x").exits(0).stdout.contains("ends web@1"));
    let ran = world.json("intent put web --replicas 3 --key c-6 --reason x").exits(0);
    assert_eq!(ran.at("/warnings/0/code"), "ends_waiting");
    let text = "this ends web@1 (key c-5), which had not started";
    assert_eq!(ran.at("/warnings/0/message"), text);
    let ran = world.run("scale web=4 --key c-7 --reason x").exits(0);
    assert!(ran.stderr.contains("warning: this ends web@2 (key c-6)"), "{ran:#?}");
    // A batch says it to the line that did it.
    let lines = r#"{"command":["intent","put","web","--replicas","5","--key","c-8","--reason","x"]}
{"command":["intent","put","web","--replicas","6","--key","c-9","--reason","x"]}
"#;
    let ran = world.run_with("batch", lines.as_bytes()).exits(0);
    let last: Value = serde_json::from_str(ran.stdout.lines().nth(1).unwrap()).unwrap();
    assert_eq!(last["warnings"][0]["message"], text.replace("web@1 (key c-5)", "web@4 (key c-8)"));
    assert!(!ran.stdout.lines().next().unwrap().contains("ends_waiting"), "{ran:#?}");
}

#[test]
fn a_waiting_wish_under_a_lease_is_ended_only_on_purpose() {
    let world = World::with_fake();
    world.run("intent put web --replicas 2 --key c-5 --reason x").exits(0);
    world.run("lease acquire c-5 --ttl 60s").exits(0);
    let put = "intent put web --replicas 3 --key c-6 --reason x";
    let ran = world.json(put).exits(11);
    assert_eq!(ran.at("/error/code"), "held");
    assert!(ran.at("/error/retry_after_ms").as_u64().unwrap() > 50_000, "{ran:#?}");
    assert!(ran.at("/error/hint").as_str().unwrap().contains("--supersede"), "{ran:#?}");
    pasted(&world, &ran, 0).exits(0);
    world.run("scale web=3 --key c-6 --reason x --no-wait").exits(11);
    assert_eq!(world.json("intent show c-5").at("/execution/state"), "accepted");
    let ran = world.run(&format!("{put} --supersede")).exits(0);
    assert!(ran.stderr.contains("this ends web@1 (key c-5)"), "{ran:#?}");
}
