//! `replay`: what it says of one key and of many.

use crate::support::{Ran, SERVICE, World};

fn row(ran: &Ran, at: usize, member: &str) -> serde_json::Value {
    ran.at(&format!("/replays/{at}/{member}"))
}

/// The registration of a service whose count, which the fake shares among all, may move.
fn service(name: &str) -> String {
    SERVICE.replace("web", name).replace("match replicas", "match generation")
}

/// Three services, each with a success that waits for its confirmation by one more reading.
fn three_to_confirm() -> World {
    let world = World::new();
    world.init_fake();
    for name in ["web", "api", "db"] {
        world.run(&service(name)).exits(0);
        world.run(&format!("intent put {name} --replicas 3 --key {name} --reason x")).exits(0);
        world.run(&format!("actuate {name} --controller ops")).exits(0);
    }
    world
}

#[test]
fn nothing_is_written_after_a_commit_that_may_have_failed() {
    for (word, second) in [("lost", "succeeded"), ("kept", "verified")] {
        let mut world = three_to_confirm();
        let events = world.events();
        world.set("SCALECTL_TEST_COMMIT_ERROR", format!("{word}#2"));
        let ran = world.json("replay --all").exits(16);
        world.unset("SCALECTL_TEST_COMMIT_ERROR");
        assert_eq!(ran.at("/error/code"), "commit_unknown", "{word}");
        assert_eq!((ran.at("/recorded"), ran.at("/applied")), ("unknown".into(), "no".into()));
        let command = ran.at("/error/facts/command");
        // The row before is reported with what it came to; the one after was not begun.
        assert_eq!(ran.at("/replays").as_array().unwrap().len(), 2, "{word}");
        assert_eq!((row(&ran, 0, "exit"), row(&ran, 1, "exit")), (0.into(), 16.into()));
        assert_eq!(row(&ran, 0, "execution/state"), "verified");
        for (key, state) in [("web", "verified"), ("api", second), ("db", "succeeded")] {
            let shown = world.json(&format!("intent show {key}")).exits(0);
            assert_eq!(shown.at("/execution/state"), state, "{word} {key}");
        }
        // What became of it is told by the command's id, as the hint says.
        let log = world.json(&format!("log --command {}", command.as_str().unwrap())).exits(0);
        assert_eq!(log.at("/events").as_array().unwrap().is_empty(), word == "lost");
        world.run("replay --all").exits(0);
        assert_eq!(world.events(), events + 6, "a reading and an observation for each");
        world.run("verify").exits(0);
    }
}

#[test]
fn what_was_poisoned_by_an_earlier_commit_is_as_unknown() {
    let mut world = World::with_fake();
    world.run("service put web --cooldown 1s").exits(0);
    world.run("scale web=2 --reason x").exits(0);
    // The first commit binds; the second keeps the refusal, and that it fails is only a warning.
    world.set("SCALECTL_TEST_COMMIT_ERROR", "lost#2");
    let ran = world.json("scale web=3 --reason x --timeout 20s").exits(16).says("failed before");
    world.unset("SCALECTL_TEST_COMMIT_ERROR");
    assert_eq!(ran.at("/warnings/0/code"), "refusal_not_kept");
    assert_eq!(
        (ran.at("/error/code"), ran.at("/recorded")),
        ("commit_unknown".into(), "unknown".into())
    );
    assert_eq!(world.fake_log("effects").len(), 1, "nothing was called after it");
}

#[test]
fn replaying_all_waits_for_what_has_a_known_end() {
    let world = World::new();
    world.init_fake();
    world.run(&format!("{} --backoff 1s", service("web"))).exits(0);
    world.run(&format!("{} --backoff 2s", service("api"))).exits(0);
    world.script(&["fail retryable busy", "fail retryable busy"]);
    for name in ["web", "api"] {
        world.run(&format!("intent put {name} --replicas 3 --key {name} --reason x")).exits(0);
        world.run(&format!("actuate {name} --controller ops")).exits(18);
    }
    let hurried = world.json("replay --all").exits(18);
    assert_eq!((row(&hurried, 0, "exit"), row(&hurried, 1, "exit")), (18.into(), 18.into()));
    let bounded = world.json("replay --all --wait --timeout 1ms").exits(18);
    assert_eq!(bounded.at("/replays").as_array().unwrap().len(), 2);
    let ran = world.json("replay --all --wait --timeout 20s").exits(0);
    assert_eq!((row(&ran, 0, "exit"), row(&ran, 1, "exit")), (0.into(), 0.into()));
    assert_eq!(ran.at("/applied"), "yes");
    assert_eq!(world.fake_log("effects").len(), 2);
}

#[test]
fn what_a_replay_called_and_then_found_out_it_does_not_call_unknown() {
    for all in [false, true] {
        let world = World::with_fake();
        world.script(&["fail retryable busy", "unknown"]);
        world.run("intent put web --replicas 3 --key k1 --reason x").exits(0);
        world.run("actuate k1 --controller ops").exits(18);
        let line = if all { "replay --all" } else { "replay k1" };
        let ran = world.json(line).exits(0);
        assert_eq!(world.fake_log("effects").len(), 1);
        assert_eq!(ran.at("/applied"), "yes", "{line}");
    }
}

#[test]
fn what_a_replay_called_is_its_own_also_if_it_is_found_out_after_a_wait() {
    for line in ["replay k1 --wait", "replay --all --wait"] {
        let world = World::new();
        world.init_fake_that(&["inspect"]);
        world.run(&format!("{SERVICE} --backoff 0s").replace("quiet 0s", "quiet 1s")).exits(0);
        world.script(&["fail retryable busy", "unknown"]);
        world.run("intent put web --replicas 3 --key k1 --reason x").exits(0);
        world.run("actuate k1 --controller ops").exits(18);
        let ran = world.json(&format!("{line} --timeout 20s")).exits(0);
        assert_eq!(world.fake_log("effects").len(), 1);
        assert_eq!(ran.at("/applied"), "yes", "{line}");
    }
}

#[test]
fn a_call_file_without_sense_is_told_once_by_its_path() {
    let mut world = World::with_fake();
    world.run("intent put web --replicas 3 --key k1 --reason x").exits(0);
    world.set("SCALECTL_TEST_CRASH", "after_answer#1");
    assert_eq!(world.run("actuate k1 --controller ops").code, None);
    world.unset("SCALECTL_TEST_CRASH");
    for (line, exit) in [("status", 0), ("replay k1 --dry-run", 0)] {
        assert_eq!(world.json(line).exits(exit).at("/warnings"), serde_json::json!([]), "{line}");
    }
    let calls = std::fs::read_dir(world.path(".local/state/scalectl/calls")).unwrap();
    let file = calls.flatten().next().unwrap().path();
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, "nonsense\n").unwrap();
    for (line, exit) in [("status", 0), ("replay k1", 11), ("replay --all", 11)] {
        let ran = world.json(line).exits(exit);
        assert_eq!(ran.at("/warnings").as_array().unwrap().len(), 1, "{line}");
        assert_eq!(ran.at("/warnings/0/code"), "call_file_unreadable", "{line}");
        let message = ran.at("/warnings/0/message");
        assert!(message.as_str().unwrap().contains(file.to_str().unwrap()), "{line}: {message}");
    }
    std::fs::write(&file, whole).unwrap();
    world.run("replay k1").exits(0);
}
