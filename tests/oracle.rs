//! A second model of the outside, of another shape than the rules: a table over the phase of a key,
//! the command and a few facts, which says how the command exits and what the phase is then.
//!
//! Random walks of the real commands, against the scripted fake actuator, are held against it. The
//! table knows nothing of leases, fences, events or clocks. `SCALECTL_WALKS` sets how many walks
//! there are, `SCALECTL_WALK_SEED` repeats those of a seed.

mod answers;
mod asked;
pub(crate) mod authority;
mod gateway;
mod outside;
mod people;
mod table;

use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use crate::crash::in_parallel;
use crate::support::World;
use outside::{ATTEMPTS, KEYS, Oracle, READINGS, Step, Terms};
use table::{Row, TABLE};

/// The exits that promise that the command has not changed the target.
const UNTOUCHED: &[i32] = &[2, 10, 11, 12, 13, 14, 15, 17, 22, 24, 25];

/// The commands of a walk, the common ones more than once.
const VERBS: &[&str] = &[
    "put",
    "put",
    "put",
    "queue",
    "bob",
    "bob-over",
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
    "renew",
    "release",
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

/// Keys of random walks: few, so that each of them has a life.
const FEW: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    (0..VERBS.len(), 0..FEW, 1..4_u64, 0..SCRIPT.len()).prop_map(|(verb, key, count, script)| {
        Step { verb: VERBS[verb], key, count, script: SCRIPT[script] }
    })
}

fn terms() -> impl Strategy<Value = Terms> {
    prop_oneof![4 => Just(Terms::Usual), 1 => Just(Terms::Halts), 1 => Just(Terms::Cools)]
}

/// The step as it is taken: a new wish has a new key while there is one, two times in three, and
/// whatever else names a key names one that is there. Where there is none yet, it is a wish.
fn aimed(oracle: &Oracle, step: Step) -> Step {
    let is_there = |key: usize| oracle.keys[key].phase != "absent";
    let verb = if (0..KEYS).any(is_there) { step.verb } else { "put" };
    let is_wish = matches!(verb, "put" | "queue" | "bob" | "bob-over" | "rehearse");
    let is_meant = |key: usize| is_there(key) != is_wish;
    let is_raw = is_wish && step.count == 3;
    let mut keys = (step.key..KEYS).chain(0..step.key);
    let key = keys.find(|key| is_meant(*key) && !is_raw).unwrap_or(step.key);
    Step { verb, key, ..step }
}

/// The line of a step; none where it is no command.
fn line(step: &Step, lease: &str) -> Option<String> {
    let Step { verb, key, count, .. } = step;
    let why = "--reason walk -o json";
    Some(match *verb {
        "put" => format!("intent put web --replicas {count} --key k{key} {why}"),
        "queue" => format!("intent put web --replicas {count} --key k{key} --queue {why}"),
        "bob" => format!("intent put web --replicas {count} --key k{key} --actor bob {why}"),
        "bob-over" => {
            format!("intent put web --replicas {count} --key k{key} --actor bob --supersede {why}")
        }
        "rehearse" => format!("intent put web --replicas {count} --key k{key} --dry-run {why}"),
        "simulate" => format!("actuate k{key} --simulate -o json"),
        "settle-applied" => format!("settle k{key} --applied {why}"),
        "settle-not" => format!("settle k{key} --not-applied {why}"),
        "withdraw" => format!("intent withdraw k{key} -o json"),
        "abandon" => format!("intent abandon k{key} {why}"),
        "acquire" => format!("lease acquire k{key} -o json"),
        "renew" => format!("lease renew k{key} --lease {lease} --ttl 900s -o json"),
        "release" => format!("lease release k{key} --lease {lease} -o json"),
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

/// What a walk has seen.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    /// The rows of the table that the program has come to.
    used: BTreeSet<Row>,
    commands: usize,
    /// How many of them were told that there is no such key.
    no_such_key: usize,
}

/// A walk under way.
struct Walk {
    world: World,
    oracle: Oracle,
    /// The newest lease that was taken by hand for each key.
    leases: [String; KEYS],
    said: String,
    seen: Seen,
}

impl Walk {
    fn new(terms: Terms) -> Self {
        let world = World::new();
        world.init_fake();
        let terms_said = match terms {
            Terms::Usual => "",
            Terms::Halts => "--on-unknown halt",
            Terms::Cools => "--cooldown 1h",
        };
        let line = format!(
            "service put web --actuator fake --writer ops --max 10 --quiet 0s --backoff 0s \
             --drain none --target-match replicas --max-attempts {ATTEMPTS} \
             --readings {READINGS}/0s {terms_said}",
        );
        world.run(&line).exits(0);
        let leases = std::array::from_fn(|_| "lease:none".to_owned());
        let (oracle, said) = (Oracle::new(terms), String::new());
        Self { world, oracle, leases, said, seen: Seen::default() }
    }

    /// Takes one step, and says where it differs from the oracle.
    fn step(&mut self, step: &Step) -> Result<(), String> {
        let world = &self.world;
        let before = self.oracle.clone();
        let expected = self.oracle.perform(step);
        let effects = world.fake_log("effects").len();
        let Some(line) = line(step, &self.leases[step.key]) else {
            std::fs::write(world.fake_dir().join("count"), format!("{}\n", step.count))
                .expect("the test's own file");
            return Ok(());
        };
        let mut script = vec!["ok"; world.fake_log("calls").len()];
        script.extend([step.script.1; 8]);
        world.script(&script);
        let ran = world.run(&line);
        let _ = writeln!(self.said, "{line} ({}) exits {:?}", step.script.0, ran.code);
        self.seen.commands += 1;
        self.seen.no_such_key += usize::from(ran.code == Some(24));
        let made = world.fake_log("effects").len() - effects;
        let (said, oracle) = (&self.said, &self.oracle);
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
        if let Err(what) = self.check_keys() {
            return differs(what);
        }
        if step.verb == "acquire" && expected == 0 {
            let held = ran.json().pointer("/lease/lease_instance_id").cloned();
            if let Some(held) = held.as_ref().and_then(serde_json::Value::as_str) {
                held.clone_into(&mut self.leases[step.key]);
            }
        }
        Ok(())
    }

    /// The state of every key is that of its phase.
    fn check_keys(&self) -> Result<(), String> {
        let listed = self.world.run("intent list web -o json").exits(0).at("/executions");
        for (index, key) in self.oracle.keys.iter().enumerate() {
            let listed = listed.as_array().and_then(|all| {
                all.iter().find(|execution| execution["execution_key"] == format!("k{index}"))
            });
            let found = listed.map_or(Some("absent"), |execution| execution["state"].as_str());
            let (state, outcome) = state_of(key.phase);
            let is_outcome = outcome.is_none_or(|outcome| {
                listed.is_some_and(|execution| execution["outcome"] == outcome)
            });
            if found != Some(state) || !is_outcome {
                return Err(format!("k{index} is {listed:?}, the table says {}", key.phase));
            }
        }
        Ok(())
    }

    /// The ledger is sound, and no attempt had two effects.
    fn finish(mut self) -> Result<Seen, String> {
        let said = &self.said;
        let verified = self.world.run("verify");
        if verified.code != Some(0) {
            return Err(format!("{said}{}{}", verified.stdout, verified.stderr));
        }
        let mut calls: Vec<String> = self.world.fake_log("effects");
        for call in &mut calls {
            // The last word is the process.
            *call = call.rsplit_once(' ').map_or("", |(call, _)| call).to_owned();
        }
        let distinct: BTreeSet<&String> = calls.iter().collect();
        if distinct.len() != calls.len() {
            return Err(format!("{said}an attempt had two effects: {calls:?}"));
        }
        self.seen.used = self.oracle.used;
        Ok(self.seen)
    }
}

/// Runs the steps for real, just as they are.
fn walk(terms: Terms, steps: &[Step]) -> Result<Seen, String> {
    let mut walk = Walk::new(terms);
    for step in steps {
        walk.step(step)?;
    }
    walk.finish()
}

/// Runs random steps for real, each aimed at a key that is there.
fn random_walk(terms: Terms, steps: &[Step]) -> Result<Seen, String> {
    let mut walk = Walk::new(terms);
    for step in steps {
        walk.step(&aimed(&walk.oracle, *step))?;
    }
    walk.finish()
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn random_walks_of_real_commands_go_as_the_table_says() {
    // The same walks every time, so that a failure is the change's; other seeds by the variable.
    let seed = number("SCALECTL_WALK_SEED").unwrap_or(1);
    let cases = number("SCALECTL_WALKS").and_then(|n| u32::try_from(n).ok()).unwrap_or(22);
    let config =
        Config { cases, max_shrink_iters: 60, failure_persistence: None, ..Config::default() };
    let bytes: Vec<u8> = seed.to_le_bytes().iter().copied().cycle().take(32).collect();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let steps = (terms(), prop::collection::vec(step(), 8..16));
    let seen = std::cell::RefCell::new(Seen::default());
    let outcome = runner.run(&steps, |(terms, steps)| {
        let walked = random_walk(terms, &steps).map_err(TestCaseError::fail)?;
        let mut seen = seen.borrow_mut();
        seen.used.extend(walked.used);
        seen.commands += walked.commands;
        seen.no_such_key += walked.no_such_key;
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, steps)) => {
            panic!("SCALECTL_WALK_SEED={seed}: {steps:#?}\n{why}")
        }
        Err(TestError::Abort(why)) => panic!("SCALECTL_WALK_SEED={seed}: {why}"),
    }
    // Walks that are mostly refusals, or all of one kind, say little.
    let Seen { used, commands, no_such_key } = seen.into_inner();
    let (rows, all) = (used.len(), TABLE.len());
    assert!(no_such_key * 10 < commands, "{no_such_key} of {commands} name no key");
    assert!(cases < 20 || rows * 2 > all, "only {rows} of {all} rows were met");
}

/// What the walks look for is seen: a target that changes behind the table's back, an exit that is
/// another one.
#[test]
fn a_walk_that_goes_otherwise_is_seen() {
    let steps: Vec<Step> =
        ["put 0 3 ok", "actuate 0 3 ok", "observe 0 3 ok"].into_iter().map(read).collect();
    assert_eq!(walk(Terms::Usual, &steps).map(|seen| seen.commands), Ok(3));
    for (index, script) in [(1, ("ok", "fail retryable busy")), (1, ("refused", "count 3"))] {
        let mut bent = steps.clone();
        bent[index].script = script;
        let why = walk(Terms::Usual, &bent).expect_err("it goes otherwise");
        assert!(why.contains("the table says"), "{why}");
    }
}

/// The scripted way through the whole table: the real program comes to every row of it.
#[test]
fn every_row_of_the_table_is_met_by_the_real_program() {
    let walks: Vec<&str> = include_str!("oracle/walks.txt")
        .split("\n\n")
        .filter(|walk| !walk.trim().is_empty())
        .collect();
    let walked = in_parallel(walks, |text| {
        let (terms, steps) = text.trim().split_once(':').expect("TERMS: STEPS");
        let terms = match terms {
            "usual" => Terms::Usual,
            "halts" => Terms::Halts,
            "cools" => Terms::Cools,
            other => panic!("no terms: {other}"),
        };
        let steps: Vec<Step> = steps.split(';').map(read).collect();
        walk(terms, &steps)
    });
    let (mut used, mut failed) = (BTreeSet::new(), Vec::new());
    for walked in walked {
        match walked {
            Ok(seen) => used.extend(seen.used),
            Err(why) => failed.push(why),
        }
    }
    assert!(failed.is_empty(), "{} walks go otherwise:\n{}", failed.len(), failed.join("\n"));
    let unused: Vec<_> = TABLE.iter().filter(|row| !used.contains(row)).collect();
    assert_eq!(unused, Vec::<&Row>::new(), "no walk comes to them");
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
