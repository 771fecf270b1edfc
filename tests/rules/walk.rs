//! Random walks of two people, a clock that steps both ways, lost calls and late answers.
//!
//! Every step is held by [`super::support::World::act`]: the invariants, the fold of the whole log,
//! and what a partial state decides. The seed of a failure is printed and stored by proptest.

use std::collections::BTreeMap;

use proptest::prelude::*;

use scalectl::domain::scale::execution::Phase;

use super::support::World;

const KEYS: usize = 24;

/// Commands, the common ones more than once; `K` is a key, `N` a count.
const STEPS: [&str; 37] = [
    "put K N",
    "observe K",
    "put K N queue",
    "observe K",
    "put K N dry",
    "put K N tries=1 queue",
    "start K",
    "start K",
    "start K",
    "start K as=other",
    "ok K",
    "ok K",
    "ok K N",
    "fail K",
    "fail K applied",
    "fatal K",
    "nostart K",
    "lose K",
    "lose K applied",
    "lose K elsewhere",
    "late K attempt=1",
    "fail K attempt=1",
    "garble K",
    "prove K",
    "fence K",
    "settle K reading",
    "settle K never",
    "settle K yes",
    "settle K no",
    "observe K",
    "observe K",
    "acquire K",
    "release K",
    "withdraw K",
    "abandon K",
    "simulate K",
    "put K N queue supersede",
];

const SETTINGS: [&str; 6] = [
    "match=replicas readings=3",
    "match=replicas on_unknown=retry_same_key dedupes blind readings=1",
    "match=replicas tries=1 readings=4",
    "match=replicas cooldown=30s quiet=0ms",
    "match=generation on_unknown=halt",
    "match=replicas drain=required evidence",
];

fn step() -> impl Strategy<Value = (usize, usize, u64, i64)> {
    (0..STEPS.len(), 0..KEYS, 0..8_u64, -90..120_i64)
}

/// A put takes any key; the rest mostly goes on with what is under way.
fn key_for(world: &World, step: &str, key: usize) -> String {
    let open = world.state.executions.values().filter(|e| !e.phase.is_finished());
    let newest = open.max_by_key(|execution| (execution.attempts, execution.revision()));
    match newest {
        Some(execution) if key > 1 && !step.starts_with("put") => execution.key().to_string(),
        Some(_) | None => format!("k{key}"),
    }
}

fn walk(settings: &str, steps: &[(usize, usize, u64, i64)], met: &mut BTreeMap<String, u64>) {
    let mut world = World::new(settings);
    let mut wishes = BTreeMap::new();
    for (step, key, count, seconds) in steps {
        let key = key_for(&world, STEPS[*step], *key);
        let line = STEPS[*step].replace('K', &key).replace('N', &count.to_string());
        // What ends a wish early is rare, or nothing else would ever happen.
        let mut ends = ["put", "withdraw", "abandon", "simulate"].iter();
        let is_open = world.state.executions.values().any(|e| !e.phase.is_finished());
        if is_open && ends.any(|verb| line.starts_with(verb)) && count % 4 != 0 {
            continue;
        }
        // Time goes on more than it goes back, in one step of three.
        if step % 3 == 0 {
            let verb = if *seconds < 0 { "back" } else { "wait" };
            world.run(&format!("{verb} {}s", seconds.abs()));
        }
        world.run(if count % 5 == 0 { "actor bob" } else { "actor ann" });
        let needs_key = line.contains(' ') && !line.starts_with("put");
        if needs_key && !world.state.executions.contains_key(&super::support::id(&key)) {
            continue;
        }
        // Only a call changes the target; its answer may still be a late one.
        let may_apply = line.starts_with("ok") || line.ends_with("applied");
        if may_apply && !matches!(world.execution(&key).phase, Phase::Started { .. }) {
            continue;
        }
        let _ = world.line(&line);
        for execution in world.state.executions.values() {
            let wish = execution.intent.wish.digest();
            let first = *wishes.entry(execution.key().clone()).or_insert(wish);
            assert_eq!(first, wish, "{} changed its intent", execution.key());
            *met.entry(execution.phase.as_str().to_owned()).or_default() += 1;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_walk_breaks_a_rule(
        setting in 0..SETTINGS.len(),
        steps in prop::collection::vec(step(), 1..90),
    ) {
        walk(SETTINGS[setting], &steps, &mut BTreeMap::new());
    }
}

/// A walk that never meets a state proves nothing about it.
#[test]
fn the_walks_reach_every_state() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut met = BTreeMap::new();
    for round in 0..90 {
        let steps = prop::collection::vec(step(), 90..91).new_tree(&mut runner);
        let steps = steps.expect("a walk").current();
        walk(SETTINGS[round % SETTINGS.len()], &steps, &mut met);
    }
    for state in [
        "accepted",
        "started",
        "recovery_pending",
        "failed",
        "succeeded",
        "observed",
        "verified",
        "withdrawn",
        "superseded",
    ] {
        assert!(met.get(state).is_some_and(|times| *times > 5), "{state} is not met: {met:?}");
    }
}
