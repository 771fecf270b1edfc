//! A bounded model check of a move and of the way back, by the real rules and the real fold, over
//! a world that holds the truth: copies, fences, the route.
//!
//! Two workers, a person, calls that sleep between any two of their parts and wake up late, deaths
//! of either between every two durable steps and between any two writes of a call, lost answers,
//! and an application that has rows acknowledged by whatever takes them. In every state that can be
//! reached at most one copy takes writes, it is the owner's by the ledger, and it has every
//! acknowledged row; no route leads elsewhere, nor to a copy that was not read back.

mod book;
mod calls;
mod machine;
mod promises;
mod truth;

use std::collections::BTreeMap;

use stateright::{Checker, Model};

use book::Book;
use machine::{Budget, Machine};

/// A fault on purpose: one guard of the rules, of the fold or of the relocator that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutant {
    None,
    /// Whatever token a worker has, it is taken for the newest.
    BelievesAnyWorker,
    /// A lease is given beside one that lives.
    TakesALiveLease,
    /// A change is given up while a worker is at it.
    GivesUpUnderAWorker,
    /// A worker whose call may live goes on under the same lease.
    KeepsLease,
    /// A worker that takes over does not fence first.
    TrustsOldFence,
    /// Steps that are left out, or come too early.
    NeverVerifies,
    NeverFences,
    RoutesFirst,
    RetiresFirst,
    /// What was begun is not undone.
    ForgetsDrain,
    ForgetsFence,
    ForgetsCopy,
    /// There is a way back after the commit.
    GoesBackAfterCommit,
    /// The relocator compares no tokens.
    ForgetsTokens,
    /// It lets writes into the source again where it is to leave it.
    LetsSourceIn,
    /// It gives the route back where it is to replace it.
    RoutesBack,
    /// It retires the newer copy.
    RetiresTheNewer,
    /// It copies what was there at first.
    CopiesWhatWas,
}

/// A model that is larger than this has lost its bounds.
const STATES_MAX: usize = 3_000_000;

const NOTHING: Budget =
    Budget { mishaps: 0, refusals: 0, supersedes: 0, abandons: 0, retries: 1, writes: 1, moves: 1 };
const DEATHS: Budget = Budget { mishaps: 2, writes: 2, ..NOTHING };
const REFUSED: Budget = Budget { mishaps: 1, refusals: 1, ..NOTHING };
const RIVALS: Budget = Budget { mishaps: 1, supersedes: 1, abandons: 1, ..NOTHING };
const FAILBACK: Budget = Budget { mishaps: 1, writes: 2, moves: 2, ..NOTHING };

struct Explored {
    states: usize,
    met: BTreeMap<String, usize>,
    /// The broken promise, and the shortest way to it.
    found: Option<(&'static str, String)>,
}

fn explore(budget: Budget, mutant: Mutant) -> Explored {
    let machine = Machine { book: Book::new(mutant), mutant, budget };
    let checker = machine.checker().target_state_count(STATES_MAX).spawn_bfs().join();
    let found = checker.discoveries().into_values().next().map(|path| {
        let broken = path.last_state().broken.unwrap_or("another property");
        let acts: Vec<String> = path.into_actions().iter().map(|act| format!("{act:?}")).collect();
        (broken, acts.join("\n    "))
    });
    assert!(found.is_some() || checker.state_count() < STATES_MAX, "a model is cut short");
    let states = checker.unique_state_count();
    Explored { states, met: checker.model().book.met(), found }
}

fn holds(budget: Budget, states: usize, met: &str) {
    let explored = explore(budget, Mutant::None);
    if let Some((broken, way)) = &explored.found {
        panic!("{broken}\n    {way}");
    }
    let words = explored.met.iter().map(|(word, times)| format!("{word} {times}"));
    let words: Vec<String> = words.collect();
    assert_eq!((explored.states, words.join(", ").as_str()), (states, met));
}

#[test]
fn one_copy_takes_writes_and_has_every_row_whoever_is_killed() {
    holds(DEATHS, 76_640, "forward 1557, operation_held 1444, succeeded 46");
}

#[test]
fn one_copy_takes_writes_where_something_is_in_the_way() {
    let met = "back 408, failed 45, forward 541, operation_held 878, stuck 80, succeeded 24";
    holds(REFUSED, 15_567, met);
}

#[test]
fn one_copy_takes_writes_whoever_takes_over_or_gives_up() {
    let met = "back 624, failed 63, forward 1291, lease_lost 6813, only_forward 94, \
        operation_held 2940, succeeded 43";
    holds(RIVALS, 151_766, met);
}

#[test]
fn the_way_back_is_a_move_of_what_is_there_by_then() {
    holds(FAILBACK, 26_897, "forward 822, operation_held 784, succeeded 578");
}

/// Each fault, where it is found, and what is found.
const FAULTS: &[(Mutant, Budget, &str)] = &[
    (Mutant::BelievesAnyWorker, RIVALS, "a worker whose lease is over has changed something"),
    (Mutant::TakesALiveLease, DEATHS, "a second lease beside a live one"),
    (Mutant::GivesUpUnderAWorker, RIVALS, "it was given up under a worker that is at it"),
    (Mutant::KeepsLease, REFUSED, "it is over, and the owner does not serve"),
    (Mutant::TrustsOldFence, DEATHS, "it is stuck, and nothing is in the way"),
    (
        Mutant::NeverVerifies,
        NOTHING,
        "a copy was committed that is not the whole of a closed source",
    ),
    (Mutant::NeverFences, NOTHING, "a copy was committed that is not the whole of a closed source"),
    (Mutant::RoutesFirst, NOTHING, "a route is to change before the commit"),
    (Mutant::RetiresFirst, NOTHING, "a copy is to go before the newer one serves"),
    (Mutant::ForgetsDrain, REFUSED, "it is over, and the owner does not serve"),
    (Mutant::ForgetsFence, REFUSED, "it is stuck, and nothing is in the way"),
    (Mutant::ForgetsCopy, REFUSED, "it is over, and something is left of it"),
    (Mutant::GoesBackAfterCommit, REFUSED, "another copy than the owner's takes writes"),
    (Mutant::ForgetsTokens, REFUSED, "it is over, and the owner does not serve"),
    (Mutant::ForgetsTokens, FAILBACK, "it is stuck, and nothing is in the way"),
    (Mutant::LetsSourceIn, NOTHING, "two copies take writes"),
    (Mutant::RoutesBack, NOTHING, "a route leads to another copy than the owner's"),
    (Mutant::RetiresTheNewer, NOTHING, "the owner's copy is gone"),
    (Mutant::CopiesWhatWas, NOTHING, "an acknowledged row is lost"),
];

#[test]
fn every_guard_of_a_move_that_is_taken_away_is_missed() {
    let mut wrong = Vec::new();
    for (mutant, budget, words) in FAULTS {
        let explored = explore(*budget, *mutant).found;
        let found = explored.map_or("nothing", |(broken, _)| broken);
        if found != *words {
            wrong.push((mutant, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
