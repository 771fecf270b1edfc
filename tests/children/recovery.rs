//! Recovery: what is asked, how often, and what is said of it.

use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;

use super::{ALL_SEEING, PUT, kill, world_with};
use crate::support::{World, fake_actuator};

/// Words for `world_with` that run before an op that is not `apply`.
fn before(op: &str, words: &str) -> String {
    format!(":\n;; *'\"op\":\"{op}\"'*)\n{words}")
}

fn unknown(world: &World) {
    world.script(&["unknown"]);
    world.run(PUT).exits(0);
    world.run("actuate k1").exits(16);
}

fn put_fake(world: &World, timeout: &str) -> crate::support::Ran {
    let fake = fake_actuator();
    let fake = fake.to_str().expect("UTF-8");
    world.run_args(&["actuator", "put", "fake", "--timeout", timeout, "--", "/bin/sh", fake])
}

#[test]
fn an_actuator_does_not_become_another_while_an_outcome_is_unknown() {
    let world = World::with_fake();
    unknown(&world);
    std::fs::write(world.fake_dir().join("capabilities"), "inspect\n").expect("ours");
    let before = std::fs::read(world.path(".config/scalectl/actuators.toml")).expect("ours");
    let events = world.events();
    put_fake(&world, "5s").exits(11).says("error[in_flight]");
    assert_eq!(world.events(), events);
    let after = std::fs::read(world.path(".config/scalectl/actuators.toml")).expect("ours");
    assert_eq!(after, before, "the command was bound all the same");
    // What it can do is the same: another timeout endangers nothing.
    std::fs::write(world.fake_dir().join("capabilities"), "inspect\nlookup\nfence\n")
        .expect("ours");
    put_fake(&world, "6s").exits(0);
    world.run("replay k1").exits(0);
    std::fs::write(world.fake_dir().join("capabilities"), "inspect\n").expect("ours");
    put_fake(&world, "5s").exits(0);
}

#[test]
fn a_reading_settles_where_lookup_and_fence_fail() {
    for op in ["lookup", "fence"] {
        let capabilities = ["inspect", op];
        let world = world_with(&before(op, "echo '{}'; exit 1"), &capabilities, "5s");
        unknown(&world);
        let ran = world.json("replay k1").exits(0);
        let steps = ran.at("/steps").to_string();
        assert!(steps.contains(&format!("{op} gave no answer")), "{op}: {steps}");
        assert_eq!(ran.at("/execution/outcome"), "converged", "{op}");
    }
}

#[test]
fn waiting_for_a_quiet_time_does_not_wear_the_target_out() {
    let words = before("lookup", "echo . >>\"$FAKE_ACTUATOR_DIR/lookups.log\"");
    let world = world_with(&words, &["inspect", "lookup"], "5s");
    world.run("service put web --quiet 4s").exits(0);
    std::fs::write(world.fake_dir().join("lookup-unknown"), "").expect("ours");
    world.script(&["no such word"]);
    world.run(PUT).exits(0);
    world.run("actuate k1").exits(16);
    let ran = world.json("replay k1 --wait").exits(0);
    let lookups = world.fake_log("lookups").len();
    assert!((2..=4).contains(&lookups), "{lookups} lookups: {ran:#?}");
    let steps = ran.at("/steps");
    let mut steps: Vec<String> =
        steps.as_array().expect("steps").iter().map(ToString::to_string).collect();
    let all = steps.len();
    steps.sort();
    steps.dedup();
    assert_eq!(steps.len(), all, "a step is told twice: {ran:#?}");
}

#[test]
fn replay_keeps_the_reading_interval() {
    let world = World::with_fake();
    world.run("service put web --readings 3/1s").exits(0);
    world.run(PUT).exits(0);
    world.run("actuate k1").exits(0);
    let ran = world.json("replay k1").exits(19);
    assert_eq!(ran.at("/execution/readings/matched"), 2, "the actuator's own and one more");
    let began = Instant::now();
    world.run("replay k1 --wait").exits(0);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let log = world.json("intent show k1").exits(0);
    assert_eq!(log.at("/execution/outcome"), "converged");

    world.run("intent put web --replicas 4 --key k2 --reason r").exits(0);
    world.run("actuate k2").exits(0);
    let began = Instant::now();
    world.run("replay k2 --wait").exits(0);
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
}

#[test]
fn a_replay_of_all_says_what_it_did_to_the_target() {
    let world = World::with_fake();
    world.script(&["fail retryable busy", "ok"]);
    world.run(PUT).exits(0);
    world.run("actuate k1").exits(18);
    let ran = world.json("replay --all").exits(0);
    assert_eq!(ran.at("/applied"), "yes");
    assert_eq!(ran.at("/recorded"), "yes");
    let ran = world.json("replay --all").exits(0);
    assert_eq!(ran.at("/applied"), "no");
    assert_eq!(ran.at("/recorded"), "no");
}

#[test]
fn a_signal_ends_a_replay_of_all_with_the_rows_so_far() {
    for (signal, exit) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let world = World::with_fake();
        world.script(&["fail retryable busy", "hang"]);
        world.run(PUT).exits(0);
        world.run("actuate k1").exits(18);
        let child = world.start("-o json replay --all");
        world.until("the effect is there", || !world.fake_log("effects").is_empty());
        kill(i32::try_from(child.id()).expect("a pid"), signal);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(exit), "{output:?}");
        let document: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("one document");
        assert_eq!(document["exit"], exit, "{document:#}");
        assert_eq!(document["recorded"], "yes", "{document:#}");
        assert_eq!(document["applied"], "unknown", "{document:#}");
        assert_eq!(document["replays"].as_array().map(Vec::len), Some(1), "{document:#}");
        world.until("replay may go on", || world.run("replay k1").code != Some(11));
        world.await_no_children();
    }
}

#[test]
fn a_settlement_across_the_end_of_the_quiet_settles_or_says_that_it_did_not() {
    let world = world_with(&before("inspect", "sleep 0.4"), &["inspect"], "5s");
    world.run("service put web --quiet 2s").exits(0);
    unknown(&world);
    // One of these lines begins to read before the end of the quiet and is told after it.
    let mut codes = Vec::new();
    world.until("it is settled", || {
        let ran = world.json("settle k1 --applied --reason looked");
        codes.push(ran.code);
        ran.code != Some(16)
    });
    assert_eq!(codes.last(), Some(&Some(0)), "{codes:?}");
    assert!(codes.len() > 1, "the quiet was over before: {codes:?}");
    let shown = world.json("intent show k1").exits(0);
    assert_eq!(shown.at("/execution/state"), "succeeded", "{codes:?}");
}

#[test]
fn a_number_that_a_simulation_has_used_up_is_not_the_latest() {
    let world = World::with_fake();
    world.run(PUT).exits(0);
    world.run("intent put web --replicas 5 --key k2 --reason r").exits(0);
    world.run("actuate k2 --simulate").exits(0);
    assert_eq!(world.run("-o name intent show web@latest").exits(0).stdout, "k1\n");
    assert_eq!(world.run("-o name explain web").exits(0).stdout, "k1\n");
    world.run("intent put web --replicas 6 --key simulated --reason r --dry-run").exits(0);
    let listed = world.json("intent list web --unfinished").exits(0);
    assert!(!listed.stdout.contains("simulated"), "a simulation is never under way: {listed:#?}");
    world.run("actuate simulated").exits(0);
}

#[test]
fn old_words_of_actuators_are_swept_with_the_call_files() {
    let world = World::with_fake();
    let old = world.write(".local/state/scalectl/stderr/call-old", "words");
    let new = world.write(".local/state/scalectl/stderr/call-new", "words");
    let file = std::fs::File::options().write(true).open(&old).expect("ours");
    file.set_modified(SystemTime::now() - Duration::from_hours(8 * 24)).expect("ours");
    world.run("replay --all").exits(0);
    assert!(!old.exists() && new.exists());
}

#[test]
fn status_shows_what_is_wanted_and_the_drift_of_what_is_unfinished() {
    let world = World::with_fake();
    world.run("service put web --readings 3").exits(0);
    world.run(PUT).exits(0);
    world.run("actuate k1").exits(0);
    std::fs::write(world.fake_dir().join("count"), "7\n").expect("ours");
    world.run("observe k1").exits(23);
    let ran = world.json("status --check").exits(26);
    assert_eq!(ran.at("/services/0/drift"), true);
    assert_eq!(ran.at("/services/0/needs_a_person"), "web (reads 7, wants 3)");
}

#[test]
fn an_overtaken_success_leaves_nothing_under_way() {
    let world = world_with("", ALL_SEEING, "20s");
    world.script(&["late 1", "ok"]);
    world.run(PUT).exits(0);
    let first = world.start("actuate k1");
    world.until("the call is under way", || !world.fake_log("calls").is_empty());
    world
        .run("intent put web --replicas 5 --expect-revision 1 --key k2 --reason r --queue")
        .exits(0);
    first.wait_with_output().expect("it ends");
    world.run("actuate k2").exits(0);
    world.run("observe k2").exits(0);
    assert_eq!(world.json("intent show k1").at("/execution/outcome"), "unconfirmed");
    world.run("replay --all").exits(0);
    let status = world.json("status --check").exits(0);
    assert_eq!(status.at("/services/0/execution_key"), "k2");
}
