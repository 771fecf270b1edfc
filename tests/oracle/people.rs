//! Walks of several persons with the real commands, held against the table of `asked.rs`: wishes
//! that policy leaves to a colleague, answers, broken glasses and reviews. Who they are is told by
//! the user of the system, or, on a server, by their role; they all claim the same name.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use super::answers::TABLE;
use super::asked::{GLASSES, KEYS, Outside, Step};
use super::number;
use super::table::Row;
use crate::crash::in_parallel;
use crate::support::World;

const PEOPLE: [&str; 3] = ["ann:2001", "bob:2002", "cid:2003"];

/// Small counts need nobody; any other is asked for.
const POLICY: &str = r#"
@id("small")
permit (
  principal,
  action in [Action::"scale_up", Action::"scale_down"],
  resource is Service
) when { context has desired && context.desired <= 3 };
@id("people")
permit (
  principal,
  action in [Action::"propose", Action::"approve", Action::"break_glass", Action::"settle"],
  resource is Service
);
@id("admin")
permit (
  principal,
  action in [Action::"register", Action::"set_policy", Action::"administer"],
  resource is Ledger
);
"#;

/// The commands of a walk, the common ones more than once.
const VERBS: &str = "put put put put smash smash grant grant grant deny withdraw actuate actuate \
    actuate observe observe simulate say say-under say-under authorize authorize revoke review \
    review outsider pass";

/// What the actuator does: in our words, and in those of its script.
const SCRIPT: &[(&str, &str)] = &[
    ("ok", "ok"),
    ("ok", "ok"),
    ("refused", "fail retryable busy"),
    ("died", "die"),
    // A word that the script does not know: no answer, and no effect.
    ("lost", "nothing"),
];

const COUNTS: &[u64] = &[2, 5, 6];

/// The hours of a walk; the clock stands still in each.
const HOURS: usize = 9;

fn step() -> impl Strategy<Value = Step> {
    let numbers = (0..PEOPLE.len(), 0..KEYS, 0..GLASSES, 0..COUNTS.len(), 0..SCRIPT.len());
    let verbs: Vec<&str> = VERBS.split_whitespace().collect();
    (prop::sample::select(verbs), numbers).prop_map(
        |(verb, (person, key, glass, count, script))| Step {
            verb,
            person,
            key,
            glass,
            count: COUNTS[count],
            script: SCRIPT[script].0,
        },
    )
}

/// The step as it is taken: what names a key or an authorization names one that is there, and what
/// makes one makes a new one, mostly.
fn aimed(outside: &Outside, step: Step) -> Step {
    let next = |from: usize, all: usize, is_meant: &dyn Fn(usize) -> bool| {
        (from..all).chain(0..from).find(|at| is_meant(*at))
    };
    let phase = |key: usize| outside.wishes[key].phase;
    let key = |is_meant: &dyn Fn(usize) -> bool| next(step.key, KEYS, is_meant);
    let glass = |is_meant: &dyn Fn(usize) -> bool| next(step.glass, GLASSES, is_meant);
    let is_given = |at: usize| outside.glasses[at].phase != "new";
    let put = Step { verb: "put", ..step };
    match step.verb {
        "authorize" => glass(&|at| !is_given(at)).map_or(put, |glass| Step { glass, ..step }),
        "revoke" | "review" => glass(&is_given).map_or(put, |glass| Step { glass, ..step }),
        "smash" => {
            let is_open = |at: usize| is_given(at) && outside.glasses[at].phase != "reviewed";
            match (key(&|key| phase(key) == "absent"), glass(&is_open)) {
                (Some(key), Some(glass)) => {
                    // What it does with an unknown call is the other table's.
                    let script = if step.script == "refused" { "refused" } else { "ok" };
                    Step { key, glass, script, ..step }
                }
                _ => put,
            }
        }
        "say" | "say-under" => {
            let is_open = |at: usize| is_given(at) && outside.glasses[at].phase != "reviewed";
            match (key(&|key| phase(key) == "unknown"), glass(&is_open)) {
                (Some(key), Some(glass)) => Step { key, glass, ..step },
                (Some(key), None) => Step { key, verb: "say", ..step },
                (None, _) => put,
            }
        }
        "put" if step.count == 5 => step,
        "put" => key(&|key| phase(key) == "absent").map_or(step, |key| Step { key, ..step }),
        "grant" | "deny" if step.person == 0 => {
            key(&|key| phase(key) == "asked").map_or(step, |key| Step { key, ..step })
        }
        _ => key(&|key| phase(key) != "absent").map_or(put, |key| Step { key, ..step }),
    }
}

/// What a walk has seen.
#[derive(Debug, Default)]
struct Seen {
    used: BTreeSet<Row>,
    commands: usize,
}

struct Walk {
    world: World,
    outside: Outside,
    /// The names of the authorizations.
    names: [String; GLASSES],
    hour: usize,
    said: String,
    commands: usize,
}

impl Walk {
    fn new() -> Self {
        let mut world = World::new();
        world.still("2026-01-05T10:00:00Z");
        world.init_fake();
        let line = format!(
            "service put web --actuator fake --writer ops --max 10 --quiet 0s --backoff 0s \
             --drain none --target-match replicas --max-attempts {} --readings 1/0s",
            super::asked::ATTEMPTS
        );
        world.run(&line).exits(0);
        world.write("rules.cedar", POLICY);
        world.run("policy put rules.cedar --reason walk").exits(0);
        let (outside, said) = (Outside::new(), String::new());
        Self { world, outside, names: Default::default(), hour: 0, said, commands: 0 }
    }

    fn line(&self, step: &Step) -> Option<String> {
        let Step { key, count, glass, .. } = step;
        let name = &self.names[*glass];
        let why = "--reason walk --actor walk -o json";
        let is_so = if self.outside.wishes[*key].is_happened() { "applied" } else { "not-applied" };
        Some(match step.verb {
            "put" => format!(
                "intent put web --replicas {count} --key k{key} --approve-within 1h \
                 --valid-for 24h {why}"
            ),
            "smash" => format!(
                "scale web={count} --key k{key} --break-glass {name} --valid-for 24h --no-wait \
                 {why}"
            ),
            "grant" | "deny" => format!("approval {} k{key} {why}", step.verb),
            "withdraw" => format!("intent withdraw k{key} --actor walk -o json"),
            "actuate" | "observe" => format!("{} k{key} --actor walk -o json", step.verb),
            "simulate" => format!("actuate k{key} --simulate --actor walk -o json"),
            "say" => format!("settle k{key} --{is_so} {why}"),
            "say-under" => format!("settle k{key} --{is_so} --break-glass {name} {why}"),
            "authorize" => {
                format!(
                    "break-glass authorize web={count} --incident INC-1 --authorized-for 1h {why}"
                )
            }
            "revoke" | "review" => format!("break-glass {} {name} {why}", step.verb),
            "pass" => "service bind web -o json".to_owned(),
            _ => return None,
        })
    }

    /// Takes one step, and says where it differs from the table.
    fn step(&mut self, step: &Step) -> Result<(), String> {
        if step.verb == "pass" {
            self.hour += 1;
            self.world.still(&format!("2026-01-05T{}:00:00Z", 10 + self.hour));
        }
        let line = self.line(step);
        let before = self.outside.clone();
        let expected = self.outside.perform(step);
        self.world.be(PEOPLE[step.person]);
        let Some(line) = line else {
            std::fs::write(self.world.fake_dir().join("count"), format!("{}\n", step.count))
                .expect("the test's own file");
            return Ok(());
        };
        let effects = self.world.fake_log("effects").len();
        let does = SCRIPT.iter().find(|(word, _)| *word == step.script).expect("a word").1;
        let mut script = vec!["ok"; self.world.fake_log("calls").len()];
        script.extend([does; 8]);
        self.world.script(&script);
        let ran = self.world.run(&line);
        let who = PEOPLE[step.person];
        let _ = writeln!(self.said, "{who} {line} ({}) exits {:?}", step.script, ran.code);
        self.commands += 1;
        let made = self.world.fake_log("effects").len() - effects;
        let (said, outside) = (&self.said, &self.outside);
        let differs = |what: String| {
            let (out, err) = (&ran.stdout, &ran.stderr);
            Err(format!("{said}{what}\n{before:#?}\n{outside:#?}\n{out}\n{err}"))
        };
        if ran.code != Some(expected) {
            return differs(format!("the table says {expected}"));
        }
        if made != outside.effects {
            return differs(format!("{made} effects, the table says {}", outside.effects));
        }
        if step.verb == "authorize" {
            let id = ran.at("/authorization/authorization/authorization_id");
            id.as_str().unwrap_or_default().clone_into(&mut self.names[step.glass]);
        }
        if let Err(what) = self.check_keys() {
            return differs(what);
        }
        Ok(())
    }

    /// Every wish is as the table says, and so is every question.
    fn check_keys(&self) -> Result<(), String> {
        let listed = self.world.run("intent list web -o json").exits(0).at("/executions");
        let asked = self.world.run("approval list --all -o json").exits(0).at("/approvals");
        let of = |all: &serde_json::Value, key: usize, member: &str| {
            let all = all.as_array()?;
            let found = all.iter().find(|it| it["execution_key"] == format!("k{key}"))?;
            found[member].as_str().map(str::to_owned)
        };
        for (key, wish) in self.outside.wishes.iter().enumerate() {
            let (state, outcome) = state_of(wish.phase);
            let found = (of(&listed, key, "state"), of(&listed, key, "outcome"));
            let is_outcome = outcome.is_none_or(|it| found.1.as_deref() == Some(it));
            if found.0.as_deref().unwrap_or("absent") != state || !is_outcome {
                return Err(format!("k{key} is {found:?}, the table says {}", wish.phase));
            }
            let status = of(&asked, key, "status");
            if status.as_deref() != wish.answer() {
                return Err(format!("k{key} is {status:?}, the table says {:?}", wish.answer()));
            }
        }
        Ok(())
    }

    /// The ledger is sound, and every authorization tells what was done under it.
    fn finish(self) -> Result<Seen, String> {
        let said = &self.said;
        let verified = self.world.run("verify");
        if verified.code != Some(0) {
            return Err(format!("{said}{}{}", verified.stdout, verified.stderr));
        }
        for (name, glass) in self.names.iter().zip(&self.outside.glasses) {
            if glass.phase == "new" {
                continue;
            }
            let shown = self.world.run(&format!("break-glass show {name} -o json")).exits(0);
            let uses = shown.at("/authorization/uses");
            let used: BTreeSet<String> =
                uses.as_object().map(|it| it.keys().cloned().collect()).unwrap_or_default();
            let told: BTreeSet<String> = glass.uses.iter().map(|key| format!("k{key}")).collect();
            if used != told {
                return Err(format!(
                    "{said}{name} was used for {used:?}, and for {told:?}\n{shown:#?}"
                ));
            }
        }
        Ok(Seen { used: self.outside.used, commands: self.commands })
    }
}

/// State and outcome, as the ledger says a phase.
fn state_of(phase: &str) -> (&str, Option<&str>) {
    match phase {
        "asked" => ("proposed", None),
        "denied" => ("rejected", None),
        other => super::state_of(other),
    }
}

fn walk(steps: &[Step], is_aimed: bool) -> Result<Seen, String> {
    let mut walk = Walk::new();
    for step in steps {
        let is_late = step.verb == "pass" && walk.hour == HOURS;
        let step = if is_aimed { aimed(&walk.outside, *step) } else { *step };
        if !is_late {
            walk.step(&step)?;
        }
    }
    walk.finish()
}

fn runner(seed: u64, cases: u32) -> TestRunner {
    let config =
        Config { cases, max_shrink_iters: 40, failure_persistence: None, ..Config::default() };
    let bytes: Vec<u8> = seed.to_le_bytes().iter().copied().cycle().take(32).collect();
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

#[test]
fn random_walks_of_several_persons_go_as_the_table_says() {
    let seed = number("SCALECTL_WALK_SEED").unwrap_or(1);
    let cases = number("SCALECTL_WALKS").and_then(|n| u32::try_from(n).ok()).unwrap_or(10);
    let seen = std::cell::RefCell::new(Seen::default());
    let outcome = runner(seed, cases).run(&prop::collection::vec(step(), 10..20), |steps| {
        let walked = walk(&steps, true).map_err(TestCaseError::fail)?;
        let mut seen = seen.borrow_mut();
        seen.used.extend(walked.used);
        seen.commands += walked.commands;
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, steps)) => {
            panic!("SCALECTL_WALK_SEED={seed}: {steps:#?}\n{why}")
        }
        Err(TestError::Abort(why)) => panic!("SCALECTL_WALK_SEED={seed}: {why}"),
    }
    let Seen { used, commands } = seen.into_inner();
    let (rows, all) = (used.len(), TABLE.len());
    assert!(cases < 10 || rows * 3 > all, "{rows} of {all} rows in {commands} commands");
}

/// Walks that come to every row, searched for on the table alone.
fn walks_to_every_row() -> Vec<Vec<Step>> {
    let (mut met, mut walks) = (BTreeSet::new(), Vec::new());
    let mut runner = runner(7, 1);
    for _ in 0..20_000 {
        let tree = prop::collection::vec(step(), 14..15).new_tree(&mut runner).expect("steps");
        let mut outside = Outside::new();
        let mut steps = Vec::new();
        for step in tree.current() {
            let step = aimed(&outside, step);
            outside.perform(&step);
            steps.push(step);
        }
        if !outside.used.is_subset(&met) {
            met.extend(outside.used);
            walks.push(steps);
        }
    }
    let dead: Vec<_> = TABLE.iter().filter(|row| !met.contains(row)).collect();
    assert_eq!(dead, Vec::<&Row>::new(), "nothing comes to these rows");
    walks
}

/// The real program comes to every row of the table, and does there what it says.
#[test]
fn every_row_of_the_people_is_met_by_the_real_program() {
    let walked = in_parallel(walks_to_every_row(), |steps| walk(&steps, false));
    let (mut used, mut failed) = (BTreeSet::new(), Vec::new());
    for walked in walked {
        match walked {
            Ok(seen) => used.extend(seen.used),
            Err(why) => failed.push(why),
        }
    }
    assert!(failed.is_empty(), "{} walks go otherwise:\n{}", failed.len(), failed.join("\n"));
    assert_eq!(used.len(), TABLE.len(), "no walk comes to some rows");
}

/// What the walks look for is seen: a count that moves behind the table's back, an answer that is
/// another person's.
#[test]
fn a_walk_of_several_persons_that_goes_otherwise_is_seen() {
    let step = |verb, person| Step { verb, person, key: 0, glass: 0, count: 5, script: "ok" };
    let steps = [step("put", 0), step("grant", 1), step("actuate", 0), step("observe", 0)];
    assert_eq!(walk(&steps, false).map(|seen| seen.commands), Ok(4));
    let mut own = Walk::new();
    own.step(&steps[0]).expect("it is asked");
    own.outside.perform(&Step { count: 6, ..step("outsider", 0) });
    let why = own.step(&steps[1]).expect_err("the table believes that the count has moved");
    assert!(why.contains("the table says 10"), "{why}");
}
