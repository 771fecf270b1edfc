//! The bundled `local` actuator, as the parent sees it: one process per call, real replicas.
//!
//! The truth is counted without the adapter's help: by looking for the replicas' own command line
//! in /proc.

mod world;

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};

use self::world::{ATTEMPT, PROTOCOL, TOKEN, World, in_short, kill_call, session, with};

#[test]
fn the_count_follows_the_wish_up_and_down() {
    let world = World::new();
    assert_eq!(world.count(), 0);
    for (key, desired) in [("k1", 3), ("k2", 1), ("k3", 2), ("k4", 0)] {
        let answer = world.scale(key, desired);
        assert_eq!(in_short(&answer), format!("succeeded {desired}"));
        let version = &world.inspect()["target"]["target_resource_version"];
        assert_eq!(&answer["resource_version_after"], version);
        assert_eq!(world.count(), desired);
    }
}

#[test]
fn replicas_live_in_sessions_of_their_own_and_hold_nothing_of_the_call() {
    let world = World::new();
    let call = world.spawn(&world.apply("k1", 2));
    let group = Pid::from_raw(i32::try_from(call.id()).expect("a pid")).expect("a pid");
    let output = call.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert!(kill_process_group(group, Signal::KILL).is_err(), "the group of the call is empty");
    for pid in world.replicas() {
        assert_eq!(session(pid), Some(pid));
        let files = fs::read_dir(format!("/proc/{pid}/fd")).expect("ours").flatten();
        let mut open: Vec<_> = files
            .map(|file| {
                let path = fs::read_link(file.path()).expect("open");
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                name.replace(|c: char| c.is_ascii_digit(), "N")
            })
            .collect();
        open.sort();
        assert_eq!(open, ["null", "slot-N.log", "slot-N.log"]);
    }
    assert_eq!(world.count(), 2);
}

#[test]
fn a_call_killed_in_the_middle_of_a_start_loses_nothing_and_starts_nothing_twice() {
    for delay_ms in [0, 1, 2, 3, 4, 6, 8, 12, 20, 40, 80] {
        let world = World::new();
        let request = world.apply("k1", 4);
        let call = world.spawn(&request);
        thread::sleep(Duration::from_millis(delay_ms));
        kill_call(call);
        let kept = world.count();
        assert!(kept <= 4, "{kept} after {delay_ms} ms");
        let again = with(request, ATTEMPT, json!(2));
        assert_eq!(in_short(&world.call(&again)), "succeeded 4", "after {delay_ms} ms");
        assert_eq!(world.count(), 4, "after {delay_ms} ms");
    }
}

#[test]
fn a_call_killed_once_it_has_begun_is_continued_by_its_next_attempt() {
    let world = World::new();
    let request = world.apply("k1", 3);
    let call = world.spawn(&request);
    let dir = world.dir.path().join("web");
    world.eventually("the first slot", |_| dir.join("slot-0").exists());
    kill_call(call);
    assert_eq!(outcome(&dir, "k1"), "begun", "it was killed in the middle");
    world.count();
    assert_eq!(in_short(&world.call(&with(request, ATTEMPT, json!(2)))), "succeeded 3");
    assert_eq!((world.count(), outcome(&dir, "k1")), (3, "finished".to_owned()));
}

/// What the journal says of a key.
fn outcome(dir: &Path, key: &str) -> String {
    let text = fs::read_to_string(dir.join("state.json")).expect("a state");
    let state: Value = serde_json::from_str(&text).expect("whole, whatever was killed");
    let journal = state["journal"].as_array().expect("a journal");
    let entry = journal.iter().find(|entry| entry["key"] == key);
    entry.and_then(|entry| entry["outcome"]["outcome"].as_str()).unwrap_or("none").to_owned()
}

#[test]
fn a_call_killed_in_the_middle_of_a_stop_is_finished_by_the_next() {
    for delay_ms in [0, 20, 60, 90] {
        let world = World::stubborn("200ms");
        let dir = world.dir.path().join("web");
        assert_eq!(in_short(&world.scale("k1", 3)), "succeeded 3");
        let request = world.apply("k2", 1);
        let call = world.spawn(&request);
        world.eventually("the decision to stop", |_| is_stopping(&dir, "slot-1"));
        thread::sleep(Duration::from_millis(delay_ms));
        kill_call(call);
        assert_eq!(outcome(&dir, "k2"), "begun", "it was killed in the middle");
        assert!((1..=3).contains(&world.count()));
        // Another wish for what is still there must not count what was told to end.
        let other = with(world.apply("k3", 3), TOKEN, json!(6));
        assert_eq!(in_short(&world.call(&other)), "succeeded 3", "after {delay_ms} ms");
        assert_eq!(world.count(), 3);
        let fewer = with(world.apply("k4", 1), TOKEN, json!(7));
        assert_eq!(in_short(&world.call(&fewer)), "succeeded 1");
        assert_eq!(world.count(), 1);
    }
}

#[test]
fn a_key_has_one_effect() {
    let world = World::new();
    let request = world.apply("k1", 2);
    let first = world.call(&request);
    assert_eq!(in_short(&first), "succeeded 2");
    let replicas = world.replicas();
    assert_eq!(world.call(&request), first);
    assert_eq!(world.call(&with(request.clone(), ATTEMPT, json!(2))), first);
    assert_eq!(world.replicas(), replicas);
    // The stored answer is the answer, whatever has become of the replicas since.
    let victim = Pid::from_raw(replicas[0]).expect("a pid");
    kill_process(victim, Signal::KILL).expect("ours");
    world.eventually("the end of a replica", |world| world.count() == 1);
    assert_eq!(world.call(&request), first);
    assert_eq!(world.count(), 1);
    let conflict = with(request, "/request/desired_replicas", json!(3));
    assert_eq!(in_short(&world.call(&conflict)), "failed key_conflict for good");
}

#[test]
fn eight_calls_of_one_key_at_once_have_one_effect() {
    let world = World::new();
    let request = world.apply("k1", 3);
    let calls: Vec<Child> = (0..8).map(|_| world.spawn(&request)).collect();
    for call in calls {
        let output = call.wait_with_output().expect("it ends");
        let answer = serde_json::from_slice(&output.stdout).expect("one JSON object");
        assert_eq!(in_short(&answer), "succeeded 3");
    }
    assert_eq!(world.count(), 3);
    assert_eq!(world.inspect()["target"]["target_resource_version"], "2", "one effect");
}

#[test]
fn stale_fences_other_ledgers_and_moved_targets_are_refused_without_effect() {
    let world = World::new();
    let early = world.apply("k0", 7);
    assert_eq!(in_short(&world.scale("k1", 1)), "succeeded 1");
    let request = world.apply("k2", 4);
    let uid = "/request/target/target_uid";
    for (refused, expected) in [
        (early, "failed precondition_moved again"),
        (with(request.clone(), TOKEN, json!(4)), "failed stale_fence for good"),
        (with(request.clone(), "/ledger/id", json!("l2")), "failed other_ledger for good"),
        (with(request.clone(), "/ledger/incarnation", json!(1)), "failed other_ledger for good"),
        (with(request.clone(), uid, json!("local:0")), "failed other_target for good"),
        (with(request.clone(), "/request/dry_run", json!(true)), "failed dry_run for good"),
    ] {
        assert_eq!(in_short(&world.call(&refused)), expected);
        assert_eq!(world.count(), 1);
    }
    let unknown = with(request.clone(), "/request/target/workload_id", json!("api"));
    assert_eq!(in_short(&world.call(&unknown)), "failed unknown_workload for good");
    let restored = with(request, "/ledger/incarnation", json!(3));
    assert_eq!(in_short(&world.call(&restored)), "succeeded 4");
}

fn lookup(apply: &Value, attempt: u64) -> Value {
    json!({"protocol": PROTOCOL, "op": "lookup", "ledger": apply["ledger"], "epoch": 1, "token": 5,
        "execution_key": apply["request"]["execution_key"], "target": apply["request"]["target"],
        "attempt": attempt})
}

#[test]
fn lookup_says_what_became_of_a_key() {
    let world = World::new();
    let request = world.apply("k1", 2);
    assert_eq!(world.call(&lookup(&request, 1))["outcome"], "never");
    assert_eq!(in_short(&world.call(&request)), "failed stale_fence for good");
    let next = with(request.clone(), ATTEMPT, json!(2));
    let answer = world.call(&next);
    assert_eq!(in_short(&answer), "succeeded 2");
    let found = world.call(&lookup(&request, 2));
    assert_eq!((&found["outcome"], &found["result"]), (&json!("applied"), &answer["result"]));
    let foreign = with(lookup(&request, 2), "/ledger/id", json!("l2"));
    assert_eq!(world.call(&foreign)["error"]["code"], "other_ledger");
}

#[test]
fn a_copied_folder_is_another_object() {
    let world = World::new();
    let first = world.apply("k1", 1);
    let copy = World::new();
    #[expect(clippy::disallowed_methods, reason = "it keeps modes and times as a backup does")]
    let mut cp = Command::new("cp");
    let copied = cp.arg("-a").arg(world.dir.path().join("web")).arg(copy.dir.path()).status();
    assert!(copied.expect("cp runs").success());
    assert_eq!(in_short(&world.call(&first)), "succeeded 1");
    // The journal of the copy does not know the call, and must not deny it.
    assert_eq!(copy.call(&lookup(&first, 1))["error"]["code"], "unknown_workload");
    let uid = |world: &World| world.inspect()["target"]["target_uid"].clone();
    assert_ne!(uid(&copy), uid(&world));
    assert_eq!(uid(&copy), uid(&copy), "it is one object from then on");
    assert_eq!(copy.call(&lookup(&first, 1))["error"]["code"], "other_target");
    // A folder that was moved is the same one.
    let moved = World::new();
    fs::rename(world.dir.path().join("web"), moved.dir.path().join("web")).expect("moved");
    assert_eq!(moved.call(&lookup(&first, 1))["outcome"], "applied");
    fs::rename(moved.dir.path().join("web"), world.dir.path().join("web")).expect("moved back");
}

#[test]
fn lookup_of_a_half_done_call_is_unknown_until_the_count_is_right() {
    let world = World::stubborn("30s");
    assert_eq!(in_short(&world.scale("k1", 2)), "succeeded 2");
    let request = world.apply("k2", 0);
    let call = world.spawn(&request);
    let dir = world.dir.path().join("web");
    world.eventually("the decision to stop", |_| is_stopping(&dir, "slot-1"));
    kill_call(call);
    assert_eq!(world.call(&lookup(&request, 1))["outcome"], "unknown");
    for pid in world.replicas() {
        kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL).expect("ours");
    }
    world.eventually("the end of the replicas", |world| world.count() == 0);
    let found = world.call(&lookup(&request, 1));
    assert_eq!((&found["outcome"], in_short(&found)), (&json!("applied"), "succeeded 0".into()));
}

fn is_stopping(dir: &Path, slot: &str) -> bool {
    fs::read_to_string(dir.join(slot)).is_ok_and(|record| record.contains("stopping"))
}

#[test]
fn a_fence_makes_older_calls_harmless_and_reads() {
    let world = World::new();
    let request = world.apply("k1", 3);
    let fence = json!({"protocol": PROTOCOL, "op": "fence", "target": request["request"]["target"],
        "epoch": 1, "token": 5, "attempt": 2});
    let fenced = world.call(&fence);
    assert_eq!((&fenced["fenced"], &fenced["reading"]["replicas"]), (&json!(true), &json!(0)));
    assert_eq!(world.call(&fence)["reading"]["target"], fenced["reading"]["target"]);
    assert_eq!(in_short(&world.call(&request)), "failed stale_fence for good");
    let next = with(world.apply("k1", 3), ATTEMPT, json!(2));
    assert_eq!(in_short(&world.call(&next)), "succeeded 3");
}

#[test]
fn a_command_that_cannot_run_is_a_retryable_failure_with_its_reason() {
    let mut world = World::new();
    let works = std::mem::replace(&mut world.command, "/nonexistent/web --port=80".to_owned());
    let request = world.apply("k1", 2);
    for (attempt, command, reason) in [
        (1, "/nonexistent/web --port=80", "executing /nonexistent/web: No such file"),
        (2, "exit 7;", "ended with exit status: 7"),
        (3, "", "ended before it was recorded"),
    ] {
        command.clone_into(&mut world.command);
        let answer = world.call(&with(request.clone(), ATTEMPT, json!(attempt)));
        assert_eq!(in_short(&answer), "failed replica_start_failed again");
        let detail = answer["result"]["detail"].as_str().expect("text");
        assert!(detail.contains(reason), "{detail}");
        assert_eq!(world.inspect()["replicas"], 0);
    }
    world.command = works;
    // The key's own attempts have moved the version; the base says what was read since.
    let version = world.inspect()["target"]["target_resource_version"].clone();
    let again = with(with(request, ATTEMPT, json!(4)), "/base/resource_version", version);
    assert_eq!(in_short(&world.call(&again)), "succeeded 2");
    assert_eq!(world.count(), 2);
}

#[test]
fn what_a_stopped_replica_leaves_behind_is_ended_too() {
    let mut world = World::new();
    // The leader ends at TERM and leaves a child that does not.
    world.command = format!("(trap '' TERM; exec {0}) & trap 'exit 0' TERM; wait", world.command);
    world.grace = "200ms";
    assert_eq!(in_short(&world.scale("k1", 1)), "succeeded 1");
    world.eventually("the child", |world| world.replicas().len() == 2);
    assert_eq!(in_short(&world.scale("k2", 0)), "succeeded 0");
    assert_eq!(world.replicas(), Vec::<i32>::new());
}

#[test]
fn unreadable_requests_and_states_are_answered_by_name() {
    let world = World::new();
    for (request, code) in [
        (json!([]), "unknown_protocol"),
        (json!({"protocol": PROTOCOL, "op": "dance"}), "unknown_op"),
        (json!({"protocol": PROTOCOL, "op": "inspect"}), "bad_request"),
        (
            json!({"protocol": PROTOCOL, "op": "inspect", "target": {"workload_id": "web",
            "cluster_id": "prod"}}),
            "unknown_workload",
        ),
    ] {
        assert_eq!(world.call(&request)["error"]["code"], code, "{request}");
    }
    let request = world.apply("k1", 1);
    for text in ["", "{", "{\"format\":2}", "[1]"] {
        fs::write(world.dir.path().join("web/state.json"), text).expect("ours");
        let inspect = world.inspect();
        assert_eq!(inspect["error"]["code"], "state_unusable", "{text:?}: {inspect}");
        assert_eq!(in_short(&world.call(&request)), "failed state_unusable for good");
    }
}
