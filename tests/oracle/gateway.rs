//! Walks of the gateway's operations with the real commands, held against the authority of
//! `authority.rs`: two services in one pool, replays, conflicts, finalizations, and a person who
//! wishes in between.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use scalectl::domain::gateway::{Direction, ScaleOperation};
use serde_json::{Value, json};

use super::authority::{Authority, Said};
use super::number;
use crate::gateway::world;
use crate::support::World;

/// How much the services of a walk may have together.
const POOL: u32 = 6;

/// The steps of a walk, the common ones more than once.
const VERBS: &str = "fresh fresh fresh fresh again again other stale past wrong-way level schema \
    blank person finalize finalize finalize-other";

#[derive(Clone, Copy, Debug)]
struct Step {
    verb: &'static str,
    service: usize,
    /// Which receipt, counted from the newest.
    back: usize,
    count: u32,
}

fn step() -> impl Strategy<Value = Step> {
    let verbs: Vec<&str> = VERBS.split_whitespace().collect();
    (prop::sample::select(verbs), 0..2_usize, 0..4_usize, 0..6_u32)
        .prop_map(|(verb, service, back, count)| Step { verb, service, back, count })
}

/// The operation that a step is; none where it is no operation, or where there is no receipt yet.
fn operation(authority: &Authority, step: &Step, id: usize) -> Option<ScaleOperation> {
    let service = ["api", "web app"][step.service].to_owned();
    let (current_replicas, revision) = authority.held(&service);
    let goes = |desired| if desired > current_replicas { Direction::Up } else { Direction::Down };
    let fresh = ScaleOperation {
        schema_version: 1,
        operation_id: format!("op-{id}"),
        service,
        expected_revision: Some(revision.to_string()),
        direction: goes(step.count),
        current_replicas,
        desired_replicas: step.count,
        reason: "walk".to_owned(),
    };
    let receipts = &authority.receipts;
    let known = receipts.iter().rev().nth(step.back % receipts.len().max(1));
    let known = known.map(|(known, ..)| known.clone());
    Some(match step.verb {
        "fresh" => fresh,
        "again" => known?,
        "other" => ScaleOperation { reason: "another".to_owned(), ..known? },
        "stale" => ScaleOperation { expected_revision: Some("99".to_owned()), ..fresh },
        "past" => ScaleOperation { operation_id: fresh.operation_id, ..known? },
        "wrong-way" => {
            let direction = match fresh.direction {
                Direction::Up => Direction::Down,
                Direction::Down => Direction::Up,
            };
            ScaleOperation { direction, ..fresh }
        }
        "level" => ScaleOperation { desired_replicas: current_replicas, ..fresh },
        "schema" => ScaleOperation { schema_version: 2, ..fresh },
        "blank" => ScaleOperation { operation_id: " ".to_owned(), ..fresh },
        _ => return None,
    })
}

struct Walk {
    world: World,
    authority: Authority,
    said: String,
    /// What the authority has said, by its word.
    met: BTreeSet<&'static str>,
}

impl Walk {
    fn new() -> Self {
        let (authority, said) = (Authority::of(POOL), String::new());
        Self { world: world(), authority, said, met: BTreeSet::new() }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        if let Some(asked) = operation(&self.authority, step, self.said.lines().count()) {
            let expected = self.authority.apply(&asked);
            let asked = serde_json::to_string(&asked).expect("JSON");
            let line = format!("gateway apply --file - --pool {POOL} -o json");
            return self.held(&line, &asked, expected);
        }
        match step.verb {
            "finalize" | "finalize-other" => self.finalize(step),
            "person" => {
                self.person(step);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn finalize(&mut self, step: &Step) -> Result<(), String> {
        let receipts = &self.authority.receipts;
        let known = receipts.iter().rev().nth(step.back % receipts.len().max(1));
        let Some((asked, _, made)) = known.cloned() else { return Ok(()) };
        let made = if step.verb == "finalize" { made } else { made + 1 };
        let expected = self.authority.finalize(&asked, step.count, made);
        let answer = json!({"accepted": true, "actual_replicas": step.count,
            "revision": made.to_string(), "message": "seen"});
        let asked = json!({"request": asked, "response": answer}).to_string();
        self.held("gateway finalize --file - -o json", &asked, expected)
    }

    fn person(&mut self, step: &Step) {
        // The other name is no identifier.
        if !self.authority.knows("api") {
            return;
        }
        let line = format!(
            "intent put api --replicas {} --expect-revision latest --supersede --reason walk",
            step.count
        );
        let _ = writeln!(self.said, "{line}");
        self.world.run(&line).exits(0);
        self.authority.wished("api", step.count);
        self.met.insert("a person");
    }

    /// What is answered is what the authority says, and so is where both services stand.
    fn held(&mut self, line: &str, asked: &str, expected: Said) -> Result<(), String> {
        let _ = writeln!(self.said, "{line} {asked}: {expected:?}");
        let document = self.world.run_with(line, asked.as_bytes()).json();
        let body = &document["gateway"]["body"];
        let found = match expected {
            Said::Accepted { actual, revision } | Said::Replayed { actual, revision } => {
                let is_so = body["accepted"] == true
                    && body["actual_replicas"] == actual
                    && body["revision"].as_str() == Some(&revision.to_string());
                is_so
                    && (document["replayed"] == matches!(expected, Said::Replayed { .. })
                        || line.contains("finalize"))
            }
            Said::Refused(code) => body["code"] == code,
        };
        self.met.insert(match expected {
            Said::Accepted { .. } => "accepted",
            Said::Replayed { .. } => "replayed",
            Said::Refused(code) => code,
        });
        if !found {
            return Err(format!("{}{document}", self.said));
        }
        for service in ["api", "web app"] {
            let stands = self.world.run_args(&["-o", "json", "gateway", "observe", service]).json();
            let (replicas, revision) = self.authority.held(service);
            let body = &stands["gateway"]["body"];
            if *body.get("replicas").unwrap_or(&Value::Null) != replicas
                || body["revision"].as_str() != Some(&revision.to_string())
            {
                return Err(format!("{}{service}: {replicas} at {revision}: {stands}", self.said));
            }
        }
        Ok(())
    }
}

fn walk(steps: &[Step]) -> Result<BTreeSet<&'static str>, String> {
    let mut walk = Walk::new();
    for step in steps {
        walk.step(step)?;
    }
    // Every receipt is answered at the end as it was last.
    for (asked, ..) in walk.authority.receipts.clone() {
        let expected = walk.authority.apply(&asked);
        let asked = serde_json::to_string(&asked).expect("JSON");
        walk.held("gateway apply --file - -o json", &asked, expected)?;
    }
    let verified = walk.world.run("verify");
    if verified.code != Some(0) {
        return Err(format!("{}{}{}", walk.said, verified.stdout, verified.stderr));
    }
    Ok(walk.met)
}

#[test]
fn random_walks_of_operations_go_as_the_authority_says() {
    let seed = number("SCALECTL_WALK_SEED").unwrap_or(1);
    let cases = number("SCALECTL_WALKS").and_then(|n| u32::try_from(n).ok()).unwrap_or(8);
    let config =
        Config { cases, max_shrink_iters: 40, failure_persistence: None, ..Config::default() };
    let bytes: Vec<u8> = seed.to_le_bytes().iter().copied().cycle().take(32).collect();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let met = std::cell::RefCell::new(BTreeSet::new());
    let outcome = runner.run(&prop::collection::vec(step(), 10..18), |steps| {
        met.borrow_mut().extend(walk(&steps).map_err(TestCaseError::fail)?);
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, steps)) => {
            panic!("SCALECTL_WALK_SEED={seed}: {steps:#?}\n{why}")
        }
        Err(TestError::Abort(why)) => panic!("SCALECTL_WALK_SEED={seed}: {why}"),
    }
    let words = "a person accepted authority_state_error capacity_exceeded invalid_direction \
        invalid_request operation_conflict replayed stale_revision unsupported_schema";
    let met: Vec<&str> = met.into_inner().into_iter().collect();
    assert!(cases < 8 || met.join(" ") == words, "{met:?}");
}

/// An authority that is another one is seen.
#[test]
fn a_walk_of_operations_that_goes_otherwise_is_seen() {
    let mut walk = Walk::new();
    let fresh = Step { verb: "fresh", service: 0, back: 0, count: 3 };
    walk.step(&fresh).expect("accepted");
    walk.authority.wished("api", 3);
    let seen = walk.step(&Step { verb: "fresh", service: 1, back: 0, count: 2 });
    let seen = seen.expect_err("api stands elsewhere");
    assert!(seen.contains("api: 3 at 2"), "{seen}");
    // And a pool that is larger than the program's.
    let mut walk = Walk::new();
    walk.authority.max = Some(POOL + 5);
    let seen = walk.step(&Step { verb: "fresh", service: 0, back: 0, count: POOL + 1 });
    assert!(seen.expect_err("no room").contains("capacity_exceeded"));
}
