//! What an answer says of the target, of the key and of the way on: the three must agree, in the
//! command that did it and in every one after it.

use std::fs;

use crate::support::{Ran, SERVICE, World};

const SCALE: &str = "scale web=3 --key k1 --reason r";

/// A world with `exec`: apply runs a script of ours with the wished count, inspect prints `count`.
fn with_exec(apply: &str, is_read: bool) -> World {
    let world = World::new();
    world.init_fake();
    fs::write(world.path("count"), "0\n").expect("ours");
    let script = format!("cd {}\necho $1 >>calls\n{apply}\n", world.path("").display());
    fs::write(world.path("apply.sh"), script).expect("ours");
    let apply = format!("/bin/sh {} {{desired_replicas}}", world.path("apply.sh").display());
    let inspect = format!("/bin/cat {}", world.path("count").display());
    let mut words = vec!["actuator", "put", "ex", "--", "scalectl", "actuator", "run", "exec"];
    words.extend(["--apply", &apply]);
    if is_read {
        words.extend(["--inspect", &inspect]);
    }
    world.run_args(&words).exits(0);
    let target = "--cluster c --runtime r --target-uid u --target-version 1";
    let target = if is_read { "" } else { target };
    let service = format!(
        "service put web --actuator ex --writer ops --max 10 --quiet 0s --backoff 0s \
         --drain none --target-match replicas --max-attempts 3 {target}"
    );
    world.run(&service).exits(0);
    world
}

fn calls(world: &World) -> usize {
    fs::read_to_string(world.path("calls")).unwrap_or_default().lines().count()
}

#[track_caller]
fn stands(ran: &Ran, exit: i32, applied: &str, state: &str) {
    assert_eq!(ran.code, Some(exit), "{ran:#?}");
    let said = (ran.at("/applied"), ran.at("/execution/state"));
    assert_eq!(said, (applied.into(), state.into()), "{ran:#?}");
    assert_eq!(ran.at("/error").is_null(), exit == 0, "{ran:#?}");
}

#[test]
fn a_command_that_fails_after_its_effect_is_not_said_to_have_changed_nothing() {
    // The count is read after the failure: the one before, another, the wished one.
    let world = with_exec("exit 3", true);
    stands(&world.json(SCALE), 17, "no", "verified");
    assert_eq!(calls(&world), 3, "a failure that changed nothing is tried again");
    for left in ["2", "$1"] {
        let world = with_exec(&format!("echo {left} >count; exit 3"), true);
        let ran = world.json(&format!("{SCALE} --no-wait"));
        assert!(ran.code == Some(18) || ran.code == Some(23), "{ran:#?}");
        assert_eq!(ran.at("/applied"), "partial", "{ran:#?}");
    }
    let world = with_exec("echo $1 >count; rm count; exit 3", true);
    stands(&world.json(SCALE), 16, "unknown", "recovery_pending");
    let world = with_exec("exit 3", false);
    stands(&world.json(SCALE), 16, "unknown", "recovery_pending");
    assert_eq!(calls(&world), 1, "what nobody can read is not called again");
}

#[test]
fn a_failure_that_changed_the_target_says_so_again_and_needs_a_person() {
    let world = World::with_fake();
    world.run("service put web --max-attempts 2").exits(0);
    world.script(&["half 2 retryable", "half 2 terminal"]);
    world.run("intent put web --replicas 3 --key k1 --reason r").exits(0);
    stands(&world.json("actuate k1"), 18, "partial", "failed");
    let status = world.json("status --check").exits(26);
    assert_eq!(status.at("/services/0/drift"), true);
    assert_eq!(
        status.at("/services/0/next").as_str().map(|next| &next[..16]),
        Some("scalectl actuate")
    );
    stands(&world.json("observe k1"), 18, "partial", "failed");
    stands(&world.json("actuate k1"), 23, "partial", "verified");
    for line in ["actuate k1", "observe k1", "replay k1", SCALE] {
        stands(&world.json(line), 23, "partial", "verified");
    }
    assert_eq!(world.json("actuate k1").at("/error/code"), "failed_partly_applied");
    let status = world.json("status --check").exits(26);
    assert_eq!(status.at("/services/0/next"), "scalectl explain web@1");
    assert_eq!(world.fake_log("calls").len(), 2);
}

#[test]
fn another_count_is_partial_also_when_it_is_said_again() {
    let world = World::with_fake();
    world.script(&["count 2"]);
    for _ in 0..2 {
        let ran = world.json(SCALE);
        stands(&ran, 23, "partial", "verified");
        assert!(!ran.stderr.contains("was not changed"), "{}", ran.stderr);
    }
}

/// What one replay says of a key and what `--all` says of it are the same.
#[test]
fn replay_of_one_and_of_all_say_the_same() {
    for (script, count, exit, applied) in [
        // Nobody can tell, neither now nor before.
        (["die", "ok"], Some("2\n"), 16, "unknown"),
        // Looked up: it had its effect, by an earlier command.
        (["die", "ok"], None, 0, "no"),
        // The replay itself makes the next attempt.
        (["fail retryable x", "ok"], None, 0, "yes"),
        (["fail retryable x", "half 2 terminal"], None, 23, "partial"),
        (["fail retryable x", "fail terminal x"], None, 17, "no"),
        (["half 2 retryable", "fail terminal x"], None, 23, "partial"),
    ] {
        let world = World::new();
        // Without lookup nobody can tell where the count is another one.
        world.init_fake_that(if count.is_some() { &["inspect"] } else { &["inspect", "lookup"] });
        world.run(&format!("{SERVICE} --backoff 0s")).exits(0);
        world.script(&script);
        world.run("intent put web --replicas 3 --key k1 --reason r").exits(0);
        world.run("actuate k1");
        if let Some(count) = count {
            fs::write(world.fake_dir().join("count"), count).expect("ours");
        }
        for line in ["replay k1", "replay --all"] {
            let copy = world.copy();
            let ran = copy.json(line);
            let what = format!("{line} after {script:?}: {ran:#?}");
            assert_eq!(ran.code, Some(exit), "{what}");
            assert_eq!(
                (ran.at("/exit"), ran.at("/applied")),
                (exit.into(), applied.into()),
                "{what}"
            );
            assert_eq!(ran.at("/ok"), exit == 0, "{what}");
            assert_eq!(ran.at("/error").is_null(), exit == 0, "{what}");
        }
    }
}

/// Attempts that were all looked up as never made an effect leave nothing unknown.
#[test]
fn what_was_found_out_never_to_have_happened_is_not_unknown() {
    let world = World::with_fake();
    world.run("service put web --max-attempts 2").exits(0);
    world.script(&["no such word", "no such word"]);
    world.run("intent put web --replicas 3 --key k1 --reason r").exits(0);
    world.run("actuate k1").exits(16);
    stands(&world.json("replay k1"), 17, "no", "verified");
    assert!(world.fake_log("effects").is_empty());
}

/// A target that moves its version with every change, and with every fence.
#[test]
fn only_a_target_that_nothing_has_touched_is_called_again() {
    for (capabilities, script, is_back, exit, calls) in [
        (vec!["inspect"], "no such word", false, 0, 2),
        (vec!["inspect", "fence"], "no such word", false, 0, 2),
        // Somebody has taken back what the call had done.
        (vec!["inspect"], "die", true, 16, 1),
        (vec!["inspect", "fence"], "die", true, 16, 1),
    ] {
        let world = World::new();
        world.init_fake_that(&capabilities);
        let service = SERVICE.replace("match replicas", "match version");
        world.run(&format!("{service} --backoff 0s")).exits(0);
        world.script(&[script, "ok"]);
        world.run("intent put web --replicas 3 --key k1 --reason r").exits(0);
        world.run("actuate k1").exits(16);
        if is_back {
            world.write("fake/count", "0\n");
            world.write("fake/version", "7\n");
        }
        let ran = world.json("replay k1");
        assert_eq!(ran.code, Some(exit), "{capabilities:?} {script}: {ran:#?}");
        assert_eq!(world.fake_log("calls").len(), calls, "{capabilities:?} {script}");
    }
}

#[test]
fn a_target_has_one_service() {
    let world = World::with_fake();
    let ran = world.json(&format!("{} --workload web", SERVICE.replace("put web", "put api")));
    assert_eq!(ran.exits(10).at("/error/code"), "target_taken");
    world.run("service show api").exits(24);
    // By its own name it may be changed, and what was left free may be taken.
    world.run("service put web --max 9").exits(0);
    world.run(&format!("{SERVICE} --workload other")).exits(0);
    world.run(&format!("{} --workload web", SERVICE.replace("put web", "put api"))).exits(0);
    // An object that was recreated as that of another service is not bound either.
    fs::write(world.fake_dir().join("uid"), "fake:web\n").expect("ours");
    let ran = world.json("service bind web --accept-uid fake:web").exits(10);
    assert_eq!(ran.at("/error/code"), "target_taken");
    assert!(ran.stderr.contains("service show api"), "{}", ran.stderr);
    world.run("verify").exits(0);
}

/// What an actuator says that it read years ago, or will read, confirms and settles nothing.
#[test]
fn a_reading_of_another_time_confirms_nothing() {
    for now in ["2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"] {
        let world = World::new();
        world.init_fake_that(&["inspect"]);
        world.run(&format!("{SERVICE} --backoff 0s")).exits(0);
        world.script(&["die", "ok"]);
        world.run("intent put web --replicas 3 --key k1 --reason r").exits(0);
        world.run("actuate k1").exits(16);
        let dated = || fs::write(world.fake_dir().join("now"), format!("{now}\n")).expect("ours");
        let undated = || fs::remove_file(world.fake_dir().join("now")).expect("ours");
        dated();
        for (line, exit) in
            [("replay k1", 16), ("service bind web", 20), ("scale web=4 --key k2 --reason r", 20)]
        {
            let ran = world.json(line);
            assert_eq!(ran.code, Some(exit), "{now}: {ran:#?}");
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(said.contains(&now[..10]) && said.contains("was asked at 20"), "{ran:#?}");
        }
        assert_eq!(world.json("intent show k1").at("/execution/state"), "recovery_pending");
        undated();
        world.run("replay k1").exits(0);
        // What was applied is said to be so, and not to be confirmed.
        world.run("intent put web --replicas 4 --key k2 --reason r").exits(0);
        world.run("actuate k2").exits(0);
        dated();
        let ran = world.json("observe k2").exits(19);
        assert_eq!(ran.at("/error/code"), "unavailable", "{now}");
        undated();
        world.run("observe k2").exits(0);
        assert_eq!(world.fake_log("calls").len(), 2, "{now}");
    }
}

/// A success that asks for a person says so, and is listed until a newer wish has taken its place.
#[test]
fn a_rollback_that_is_asked_for_reaches_a_person() {
    let world = World::with_fake();
    world.script(&["rollback", "ok"]);
    let ran = world.json(SCALE).exits(0);
    assert_eq!(ran.at("/warnings/0/code"), "rollback_required");
    assert_eq!(world.json("observe k1").exits(0).at("/warnings/0/code"), "rollback_required");
    let status = world.json("status --check").exits(26);
    assert!(status.stdout.contains("a person should look at"), "{}", status.stdout);
    assert_eq!(status.at("/services/0/next"), "scalectl explain web@1");
    world.run("scale web=4 --key k2 --reason r").exits(0);
    world.run("status --check").exits(0);
}

#[test]
fn a_scale_that_is_to_be_tried_later_shows_its_execution() {
    let world = World::with_fake();
    world.run("service put web --backoff 1m").exits(0);
    world.script(&["fail retryable busy"]);
    for _ in 0..2 {
        let ran = world.json(&format!("{SCALE} --no-wait"));
        stands(&ran, 18, "no", "failed");
        assert_eq!(ran.at("/error/code"), "retry_later");
        assert!(!ran.at("/error/retry_after_ms").is_null());
    }
    assert_eq!(world.fake_log("calls").len(), 1);
}

#[test]
fn a_word_for_an_object_that_is_gone_names_the_other_one() {
    let world = World::with_fake();
    world.script(&["die"]);
    world.run("intent put web --replicas 3 --key k1 --reason r").exits(0);
    world.run("actuate k1").exits(16);
    fs::write(world.fake_dir().join("uid"), "fake:second\n").expect("ours");
    let ran = world.json("settle k1 --applied --reason r").exits(23);
    assert_eq!(ran.at("/error/code"), "target_recreated");
    assert_eq!(ran.at("/error/actual"), "fake:second");
    world.run("settle k1 --not-applied --reason r").exits(0);
}
