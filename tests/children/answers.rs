//! What each answer of an actuator comes to: the state, the exit and `applied`, held against the
//! fake's own log.

use std::time::{Duration, Instant};

use super::{ALL_SEEING, PUT, world_with};
use crate::support::{World, group_members};

/// The word of the script, then exit, state, outcome and `applied`.
const ANSWERS: [(&str, i32, &str, &str, &str); 17] = [
    ("ok", 0, "succeeded", "null", "yes"),
    ("late 0.3", 0, "succeeded", "null", "yes"),
    ("fail retryable busy", 18, "failed", "null", "no"),
    ("fail terminal broken", 17, "verified", "\"failed\"", "no"),
    ("count 4", 23, "verified", "\"failed\"", "partial"),
    ("half 4 retryable", 18, "failed", "null", "partial"),
    ("half 4 terminal", 23, "verified", "\"failed\"", "partial"),
    ("half 3 terminal", 23, "verified", "\"failed\"", "partial"),
    ("unknown", 16, "recovery_pending", "\"unknown\"", "unknown"),
    ("garble", 16, "recovery_pending", "\"unknown\"", "unknown"),
    ("silent", 16, "recovery_pending", "\"unknown\"", "unknown"),
    ("flood", 16, "recovery_pending", "\"unknown\"", "unknown"),
    ("two", 16, "recovery_pending", "\"unknown\"", "unknown"),
    ("wrong-key", 16, "recovery_pending", "\"unknown\"", "unknown"),
    ("exit1-ok", 16, "recovery_pending", "\"unknown\"", "unknown"),
    ("die", 16, "recovery_pending", "\"unknown\"", "unknown"),
    ("no such word", 16, "recovery_pending", "\"unknown\"", "unknown"),
];

#[test]
fn every_answer_has_its_state_its_exit_and_its_applied() {
    let put = World::with_fake();
    put.run(PUT).exits(0);
    for (word, exit, state, outcome, applied) in ANSWERS {
        let world = put.copy();
        world.script(&[word]);
        let ran = world.json("actuate k1");
        assert_eq!(ran.code, Some(exit), "{word}: {ran:#?}");
        assert_eq!(ran.at("/exit"), exit, "{word}");
        assert_eq!(ran.at("/execution/state"), state, "{word}");
        assert_eq!(ran.at("/execution/outcome").to_string(), outcome, "{word}");
        assert_eq!(ran.at("/applied"), applied, "{word}");
        assert_eq!(ran.at("/recorded"), "yes", "{word}");
        let had_effect = !world.fake_log("effects").is_empty();
        match applied {
            "no" => assert!(!had_effect, "{word} had an effect"),
            "yes" | "partial" => assert!(had_effect, "{word} had no effect"),
            _ => {}
        }
    }
}

#[test]
fn a_timeout_is_unknown_in_bounded_time_and_leaves_nothing() {
    let world = world_with("trap '' TERM", ALL_SEEING, "1s");
    world.script(&["fork-and-hang"]);
    world.run(PUT).exits(0);
    let began = Instant::now();
    let child = world.start("actuate k1 -o json");
    world.until("the effect is there", || !world.fake_log("effects").is_empty());
    let call = world.call_file();
    let output = child.wait_with_output().expect("it ends");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(output.status.code(), Some(16), "{output:?}");
    assert!(group_members(call.group).is_empty());
    let shown = world.json("intent show k1").exits(0);
    assert_eq!(shown.at("/execution/unknown/why"), "timed_out");
    assert_eq!(shown.at("/execution/rollback_required"), true);
    world.run("replay k1").exits(0);
    assert_eq!(world.fake_log("effects").len(), 1);
}

#[test]
fn what_an_actuator_says_to_people_is_kept_bounded_and_shown() {
    let flood = "echo 'words for people' >&2; head -c 300000 /dev/zero | tr '\\0' y >&2";
    let world = world_with(flood, ALL_SEEING, "20s");
    // The longest reason, and an answer of three megabytes: nobody waits for the other for ever.
    let reason = "r".repeat(512);
    world.script(&["flood"]);
    world.run(&PUT.replace("--reason r", &format!("--reason {reason}"))).exits(0);
    world.run("actuate k1").exits(16);
    assert_eq!(world.json("intent show k1").at("/execution/unknown/why"), "garbled");
    let shown = world.run("attempt show k1 --stderr").exits(0);
    assert!(shown.stdout.starts_with("words for people\n"), "{:.100}", shown.stdout);
    assert!(shown.stdout.len() < 70_000, "{} bytes", shown.stdout.len());
    let tail = &shown.stdout[shown.stdout.len() - 40..];
    assert!(tail.trim_end().ends_with(" more bytes)"), "what is left out is said: {tail}");
}

#[test]
fn an_actuator_that_never_reads_is_unknown_and_no_broken_pipe() {
    let world = World::new();
    world.init_fake_that(&[]);
    let path = world.path("deaf.sh");
    let script = "[ -e deaf ] || exec /bin/sh FAKE\nexec <&-\nsleep 0.2\necho done\n";
    let fake = crate::support::fake_actuator();
    let script = script.replace("FAKE", fake.to_str().expect("UTF-8"));
    std::fs::write(&path, script).expect("ours");
    let path = path.to_str().expect("UTF-8");
    world.run_args(&["actuator", "put", "deaf", "--", "/bin/sh", path]).exits(0);
    world
        .run(
            "service put web --actuator deaf --writer ops --max 10 --quiet 0s --drain none \
               --cluster fake --runtime sh --target-uid fake:web --target-version 1",
        )
        .exits(0);
    let reason = "r".repeat(512);
    world.run(&PUT.replace("--reason r", &format!("--reason {reason}"))).exits(0);
    std::fs::write(world.path("deaf"), "").expect("ours");
    let ran = world.json("actuate k1").exits(16);
    assert_eq!(ran.at("/applied"), "unknown");
    assert_eq!(ran.at("/execution/unknown/why"), "garbled");
}
