//! A second model of the outside, of another shape than the rules: a table over the phase of a key,
//! the command and a few facts, which says how the command exits and what the phase is then.
//!
//! Random walks of the real commands, against the scripted fake actuator, are held against it. The
//! table knows nothing of leases, fences, events or clocks. `SCALECTL_WALKS` sets how many walks
//! there are, `SCALECTL_WALK_SEED` repeats those of a seed.

mod table;

use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use crate::support::World;
use table::{ATTEMPTS, KEYS, Oracle, READINGS, Row, Step, TABLE};

/// The exits that promise that the command has not changed the target.
const UNTOUCHED: &[i32] = &[2, 10, 11, 12, 13, 14, 15, 17, 22, 24, 25];

/// The commands of a walk, the common ones more than once.
const VERBS: &[&str] = &[
    "put",
    "put",
    "put",
    "queue",
    "rehearse",
    "actuate",
    "actuate",
    "actuate",
    "actuate",
    "observe",
    "observe",
    "observe",
    "replay",
    "replay",
    "simulate",
    "settle-applied",
    "settle-not",
    "withdraw",
    "abandon",
    "acquire",
    "outsider",
];

/// What the actuator does, in our words and in those of its script.
const SCRIPT: &[(&str, &str)] = &[
    ("ok", "ok"),
    ("ok", "ok"),
    ("refused", "fail retryable busy"),
    ("refused-for-good", "fail terminal broken"),
    ("other-count", "count 7"),
    ("half", "half 7 retryable"),
    ("half-for-good", "half 7 terminal"),
    ("changed-and-died", "die"),
    ("changed-and-garbled", "garble"),
    ("changed-and-unsure", "unknown"),
    // A word that the script does not know: no answer, and no effect.
    ("lost", "nothing"),
];

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} k{} {} ({})", self.verb, self.key, self.count, self.script.0)
    }
}

fn step() -> impl Strategy<Value = Step> {
    (0..VERBS.len(), 0..KEYS, 1..4_u64, 0..SCRIPT.len()).prop_map(|(verb, key, count, script)| {
        Step { verb: VERBS[verb], key, count, script: SCRIPT[script] }
    })
}

/// The line of a step; none where it is no command.
fn line(step: &Step) -> Option<String> {
    let Step { verb, key, count, .. } = step;
    let why = "--reason walk -o json";
    Some(match *verb {
        "put" => format!("intent put web --replicas {count} --key k{key} {why}"),
        "queue" => format!("intent put web --replicas {count} --key k{key} --queue {why}"),
        "rehearse" => format!("intent put web --replicas {count} --key k{key} --dry-run {why}"),
        "simulate" => format!("actuate k{key} --simulate -o json"),
        "settle-applied" => format!("settle k{key} --applied {why}"),
        "settle-not" => format!("settle k{key} --not-applied {why}"),
        "withdraw" => format!("intent withdraw k{key} -o json"),
        "abandon" => format!("intent abandon k{key} {why}"),
        "acquire" => format!("lease acquire k{key} -o json"),
        "actuate" | "observe" | "replay" => format!("{verb} k{key} -o json"),
        _ => return None,
    })
}

/// State and outcome, as the ledger says a phase.
fn state_of(phase: &str) -> (&str, Option<&str>) {
    match phase {
        "unknown" => ("recovery_pending", Some("unknown")),
        "converged" => ("verified", Some("converged")),
        "over" | "abandoned" | "mismatch" | "half-over" | "half-abandoned" => {
            ("verified", Some("failed"))
        }
        "simulated" => ("verified", Some("simulated")),
        phase => (phase, None),
    }
}

/// Runs the walk for real, and says where it first differs from the oracle.
fn walk(steps: &[Step]) -> Result<(), String> {
    let world = World::new();
    world.init_fake();
    world
        .run(&format!(
            "service put web --actuator fake --writer ops --max 10 --quiet 0s --backoff 0s \
             --drain none --target-match replicas --max-attempts {ATTEMPTS} --readings {READINGS}/0s",
        ))
        .exits(0);
    let mut oracle = Oracle::new();
    let mut said = String::new();
    for step in steps {
        let before = oracle.clone();
        let expected = oracle.perform(step);
        let effects = world.fake_log("effects").len();
        let Some(line) = line(step) else {
            std::fs::write(world.fake_dir().join("count"), format!("{}\n", step.count))
                .expect("the test's own file");
            continue;
        };
        let mut script = vec!["ok"; world.fake_log("calls").len()];
        script.extend([step.script.1; 8]);
        world.script(&script);
        let ran = world.run(&line);
        let _ = writeln!(said, "{line} ({}) exits {:?}", step.script.0, ran.code);
        let made = world.fake_log("effects").len() - effects;
        let differs = |what: String| {
            Err(format!("{said}{what}\n{before:?}\n{oracle:?}\n{}\n{}", ran.stdout, ran.stderr))
        };
        if ran.code != Some(expected) {
            return differs(format!("the table says {expected}"));
        }
        if made != oracle.effects {
            return differs(format!("{made} effects, the table says {}", oracle.effects));
        }
        let is_as_it_was = step.script.0.starts_with("half") && before.count == oracle.count;
        let is_touched = made > 0 && !is_as_it_was;
        if is_touched && UNTOUCHED.contains(&expected) && step.verb != "replay" {
            return differs(format!("{expected} says untouched, and it was touched"));
        }
        let listed = world.run("intent list web -o json").exits(0).at("/executions");
        for (index, key) in oracle.keys.iter().enumerate() {
            let listed = listed.as_array().and_then(|all| {
                all.iter().find(|execution| execution["execution_key"] == format!("k{index}"))
            });
            let found = listed.map_or(Some("absent"), |execution| execution["state"].as_str());
            let (state, outcome) = state_of(key.phase);
            let is_outcome = outcome.is_none_or(|outcome| {
                listed.is_some_and(|execution| execution["outcome"] == outcome)
            });
            if found != Some(state) || !is_outcome {
                return differs(format!("k{index} is {listed:?}, the table says {}", key.phase));
            }
        }
    }
    let verified = world.run("verify");
    if verified.code != Some(0) {
        return Err(format!("{said}{}{}", verified.stdout, verified.stderr));
    }
    let mut calls: Vec<String> = world.fake_log("effects");
    for call in &mut calls {
        // The last word is the process.
        *call = call.rsplit_once(' ').map_or("", |(call, _)| call).to_owned();
    }
    let distinct: BTreeSet<&String> = calls.iter().collect();
    if distinct.len() != calls.len() {
        return Err(format!("{said}an attempt had two effects: {calls:?}"));
    }
    Ok(())
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn random_walks_of_real_commands_go_as_the_table_says() {
    // The same walks every time, so that a failure is the change's; other seeds by the variable.
    let seed = number("SCALECTL_WALK_SEED").unwrap_or(1);
    let cases = number("SCALECTL_WALKS").and_then(|n| u32::try_from(n).ok()).unwrap_or(20);
    let config =
        Config { cases, max_shrink_iters: 60, failure_persistence: None, ..Config::default() };
    let bytes: Vec<u8> = seed.to_le_bytes().iter().copied().cycle().take(32).collect();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let steps = prop::collection::vec(step(), 8..16);
    let outcome = runner.run(&steps, |steps| walk(&steps).map_err(TestCaseError::fail));
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, steps)) => {
            panic!("SCALECTL_WALK_SEED={seed}: {steps:#?}\n{why}")
        }
        Err(TestError::Abort(why)) => panic!("SCALECTL_WALK_SEED={seed}: {why}"),
    }
}

/// A row that no walk can come to says nothing; walks of the table alone are cheap.
#[test]
fn every_row_of_the_table_is_used() {
    use proptest::strategy::ValueTree;
    let mut runner = TestRunner::deterministic();
    let mut used = BTreeSet::new();
    for _ in 0..3000 {
        let steps = prop::collection::vec(step(), 30..31).new_tree(&mut runner);
        let mut oracle = Oracle::new();
        for step in steps.expect("a walk").current() {
            // Two keys only: long lives are rare among four.
            oracle.perform(&Step { key: step.key % 2, ..step });
        }
        used.extend(oracle.used);
    }
    let unused: Vec<_> = TABLE.iter().filter(|row| !used.contains(row)).collect();
    assert_eq!(unused, Vec::<&Row>::new());
}

/// What the walks look for is seen: a target that changes behind the table's back, an exit that is
/// another one.
#[test]
fn a_walk_that_goes_otherwise_is_seen() {
    let steps: Vec<Step> =
        ["put 0 3 ok", "actuate 0 3 ok", "observe 0 3 ok"].into_iter().map(read).collect();
    assert_eq!(walk(&steps), Ok(()));
    for (index, script) in [(1, ("ok", "fail retryable busy")), (1, ("refused", "count 3"))] {
        let mut bent = steps.clone();
        bent[index].script = script;
        let why = walk(&bent).expect_err("it goes otherwise");
        assert!(why.contains("the table says"), "{why}");
    }
}

/// The scripted way through most of the table, so that no walk can be all refusals.
#[test]
fn the_table_is_right_about_one_walk_of_every_kind() {
    let words = [
        "put 0 3 ok; acquire 0 3 ok; put 1 2 ok; actuate 0 3 refused; observe 0 3 ok; actuate 0 3 ok; \
         observe 0 3 ok; observe 0 3 ok; outsider 0 1 ok; observe 0 1 ok; put 1 2 ok; \
         actuate 1 2 ok; observe 0 3 ok",
        "put 0 3 ok; actuate 0 3 lost; put 1 2 ok; queue 1 2 ok; actuate 1 2 ok; \
         settle-applied 0 3 ok; settle-not 0 3 ok; actuate 1 2 ok; replay 1 2 ok; replay 0 3 ok",
        "put 0 3 ok; actuate 0 3 changed-and-died; replay 0 3 ok; rehearse 1 2 ok; actuate 1 2 ok; \
         put 2 1 ok; simulate 2 1 ok; observe 0 3 ok; abandon 0 3 ok; withdraw 3 1 ok",
        "put 0 3 ok; actuate 0 3 refused; queue 1 2 ok; actuate 0 3 ok; actuate 1 2 other-count; \
         put 2 3 ok; actuate 2 3 changed-and-garbled; settle-applied 2 3 ok; observe 2 3 ok",
        "put 0 3 ok; actuate 0 3 lost; replay 0 3 lost; put 1 2 ok; outsider 0 1 ok; \
         actuate 1 2 ok; withdraw 1 2 ok; put 1 2 ok; replay 1 2 ok; put 2 3 ok; \
         actuate 2 3 refused-for-good",
        "put 0 3 ok; actuate 0 3 half; observe 0 3 ok; actuate 0 3 lost; replay 0 3 ok; \
         outsider 0 1 ok; observe 0 3 ok; put 1 2 ok; actuate 1 2 half; \
         abandon 1 2 ok; abandon 1 2 ok; replay 1 2 ok; put 2 1 ok; \
         actuate 2 1 half-for-good; observe 2 1 ok; put 3 2 ok; actuate 3 2 half; replay 3 2 ok",
    ];
    for text in words {
        let steps: Vec<Step> = text.split("; ").map(read).collect();
        if let Err(why) = walk(&steps) {
            panic!("{why}");
        }
    }
}

fn read(text: &str) -> Step {
    let words: Vec<&str> = text.split_whitespace().collect();
    let verb = VERBS.iter().find(|verb| **verb == words[0]).expect("a verb");
    let script = SCRIPT.iter().find(|(word, _)| *word == words[3]).expect("a word of the script");
    Step {
        verb,
        key: words[1].parse().expect("a key"),
        count: words[2].parse().expect("a count"),
        script: *script,
    }
}
