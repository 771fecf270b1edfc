//! A random walk: whatever happens in whatever order, no sum is over, one owner is reserved, no
//! epoch and no token falls. The world checks all of that after every step.

use scalectl::domain::placement::command::{Command, StepEnd};
use scalectl::domain::placement::operation::Step;
use scalectl::domain::placement::protocol::Refusal;
use scalectl::domain::scale::intent::Reason;
use scalectl::domain::scale::result::Detail;

use super::receipts::{refused_with, usage};
use super::world::World;
use crate::rules::support::id;
use scalectl::domain::id::{FenceToken, OperationId};

const WORDS: [&str; 12] = [
    "profile=large",
    "profile=small",
    "location=auto",
    "location=a",
    "location=b",
    "cell=a2",
    "standby=a",
    "standby=b",
    "standby=none",
    "refresh",
    "profile=large location=b standby=a",
    "location=auto mode=always-on",
];

/// `SplitMix64`: a walk follows from its seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).expect("a few")]
    }
}

/// What was reached between them all.
#[derive(Default)]
struct Seen {
    refused: std::collections::BTreeSet<&'static str>,
    succeeded: usize,
    failed: usize,
    stale: usize,
}

fn refusal(dice: &mut Dice) -> Refusal {
    match dice.below(4) {
        0 => Refusal::TimedOut { waited_for: "it".to_owned() },
        1 => Refusal::UnprovableFencing { why: "it".to_owned() },
        2 => Refusal::Damaged { file: "f".into(), expected: "1".into(), actual: "2".into() },
        _ => Refusal::CapacityExhausted {
            cell: id("b1"),
            needed_bytes: 2,
            limit_bytes: 2,
            used_bytes: 1,
            missing_bytes: 1,
        },
    }
}

fn act(world: &mut World, dice: &mut Dice, tokens: &mut Vec<(OperationId, FenceToken)>, turn: u64) {
    let environment = dice.one_of(&["e1", "e2", "e3", "e4", "e5"]);
    let refused = match dice.below(20) {
        0 | 1 => {
            let change = world.change_of(&format!("k{turn}"), environment, dice.one_of(&WORDS));
            world.run(&Command::Change(Box::new(change))).err()
        }
        2 => {
            let ask = world.adoption(environment, dice.one_of(&["a1", "a2", "b1"]), "small");
            world.run(&Command::Adopt(Box::new(ask))).err()
        }
        3 => {
            let it = usage(environment, "cpu=1,memory=1GiB,storage=1GiB", world.now);
            world.run(&Command::RecordUsage(Box::new(it))).err()
        }
        4 => {
            let reason = (dice.below(2) == 0).then(|| Reason::cut("it"));
            let cell = id(dice.one_of(&["a1", "a2", "b1"]));
            world.run(&Command::CordonCell { cell, reason }).err()
        }
        5 => {
            world.wait(dice.below(90));
            None
        }
        6 => {
            let Some(operation) = world.state.environments.get(&id(environment)) else { return };
            let Some(operation_id) = operation.operation.clone() else { return };
            let reason = Detail::cut("it");
            let command = if dice.below(2) == 0 {
                Command::Retry { operation_id, reason }
            } else {
                Command::Abandon { operation_id, reason, gone: None }
            };
            world.run(&command).err()
        }
        _ => {
            // A worker, of whatever lease it once had.
            let Some(it) = world.state.environments.get(&id(environment)) else { return };
            let Some(operation_id) = it.operation.clone() else { return };
            if dice.below(4) == 0 {
                match world.lease_as(&operation_id, dice.below(4) == 0) {
                    Ok(token) => tokens.push((operation_id, token)),
                    Err(refused) => note(&refused),
                }
                return;
            }
            let mine = tokens.iter().filter(|(of, _)| *of == operation_id).map(|it| it.1);
            let mine: Vec<FenceToken> = mine.collect();
            if mine.is_empty() {
                return;
            }
            let token = dice.one_of(&mine);
            work(world, dice, &operation_id, token)
        }
    };
    if let Some(refused) = refused {
        note(&refused);
    }
}

fn note(refused: &super::world::Refused) {
    SEEN.with(|seen| seen.borrow_mut().refused.insert(refused.code()));
}

thread_local! {
    static SEEN: std::cell::RefCell<Seen> = std::cell::RefCell::default();
}

fn work(
    world: &mut World,
    dice: &mut Dice,
    operation_id: &OperationId,
    token: FenceToken,
) -> Option<super::world::Refused> {
    let operation = world.operation(operation_id).clone();
    let is_stale = operation.lease.as_ref().is_none_or(|lease| lease.token != token);
    let done = match (&operation.started, operation.next_step()) {
        (Some(started), _) => {
            let step = started.step;
            let end = match dice.below(8) {
                0 => refused_with(refusal(dice)),
                1 => refused_with(Refusal::UnprovableFencing { why: "it".to_owned() }),
                2 => StepEnd::Lost(Detail::cut("it")),
                _ => StepEnd::Done(world.receipt(operation_id, step)),
            };
            world.end(operation_id, token, step, end).map(drop)
        }
        (None, Some(Step::Commit | Step::CommitStandby)) => {
            world.commit(operation_id, token).map(drop)
        }
        (None, _) => world.start(operation_id, token).map(drop),
    };
    if is_stale {
        let refused = done.as_ref().expect_err("a stale worker does nothing");
        assert_eq!(refused.code(), "lease_lost");
        SEEN.with(|seen| seen.borrow_mut().stale += 1);
    }
    done.err()
}

#[test]
#[expect(clippy::print_stdout, reason = "a run says its seed")]
fn whatever_happens_the_invariants_hold() {
    for seed in 0..8 {
        println!("seed {seed}");
        let mut dice = Dice(seed);
        let mut world = World::new();
        for (environment, cell, profile) in
            [("e1", "a1", "large"), ("e2", "a2", "small"), ("e3", "b1", "small")]
        {
            world.adopt(environment, cell, profile);
        }
        let mut tokens = Vec::new();
        for turn in 0..400 {
            act(&mut world, &mut dice, &mut tokens, turn);
        }
        SEEN.with(|seen| {
            let mut seen = seen.borrow_mut();
            let courses = world.state.operations.values().map(|it| it.course.as_str());
            for course in courses {
                seen.succeeded += usize::from(course == "succeeded");
                seen.failed += usize::from(course == "failed");
            }
        });
    }
    SEEN.with(|seen| {
        let seen = seen.borrow();
        let reached = (seen.succeeded, seen.failed, seen.stale);
        assert!(seen.succeeded > 20 && seen.failed > 5 && seen.stale > 5, "{reached:?}");
        for code in
            ["capacity_unavailable", "operation_in_flight", "lease_lost", "stuck", "operation_held"]
        {
            assert!(seen.refused.contains(code), "{code} of {:?}", seen.refused);
        }
    });
}
