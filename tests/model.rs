//! A bounded model check of the rules: `decide` and `apply`, in a world that holds the truth.
//!
//! Hosts, an operator, children that outlive their parents, crashes between every two durable
//! steps, late, lost and contradicting answers, clocks that step. The world knows the count of the
//! target, which calls live and what they did; readings and lookups say just that. Every promise of
//! the rules is held against it, in every state that can be reached within the budget.

mod actions;
mod book;
mod machine;
mod mutants;
mod orders;
mod setup;
mod snapshot;
mod transition;
mod truth;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use stateright::{Checker, Model};

use book::{Book, Met};
use machine::Machine;
use mutants::Mutant;
use setup::{MODELS, Setup};

struct Explored {
    /// How many different states of the model there are.
    states: usize,
    met: Met,
    /// The broken promise, and the shortest way to it.
    found: Option<(&'static str, String)>,
}

fn explore(setup: Setup, mutant: Mutant) -> Explored {
    let checker = Machine { setup, book: Book::new(setup, mutant) }.checker();
    // Children, processes and people are few: breadth first, so that the way to a fault is short.
    let checker = checker.target_state_count(STATES_MAX).spawn_bfs().join();
    let found = checker.discoveries().into_values().next().map(|path| {
        let broken = path.last_state().broken.unwrap_or("another property");
        let acts: Vec<String> = path.into_actions().iter().map(|act| format!("{act:?}")).collect();
        (broken, acts.join("\n    "))
    });
    let states = checker.unique_state_count();
    Explored { states, found, met: checker.model().book.met() }
}

/// A model that is larger than this has lost its bounds.
const STATES_MAX: usize = 2_000_000;

/// Every phase with its outcome, and a `!` where it has drifted.
const PHASES: &str = "accepted failed failed! observed recovery_pending(unknown) \
     recovery_pending(unknown)! started started! succeeded succeeded! superseded \
     superseded(unconfirmed) verified(converged) verified(failed) verified(failed)! \
     verified(simulated) withdrawn";

/// Every refusal that the model can come to. The others need settings and mistakes that the rules
/// have rows for.
const CODES: &str = "clock_skew cooldown cooldown_unknown fence_expired in_flight in_progress \
     key_conflict lease_lost live_key others_intent outcome_unknown quiet_time reading_differs \
     reading_missing retry_later simulated_key stale_revision target_changed waits_behind \
     wrong_state";

const REPLIES: &str = "done late replayed stale_reading unchanged";

#[test]
fn every_promise_holds_in_every_state_and_the_interesting_ones_are_reached() {
    let explored = Mutex::new(BTreeMap::new());
    let next = Mutex::new(MODELS.iter());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((name, setup, ..)) = next.lock().expect("no panic").next() else {
                        return;
                    };
                    let found = explore(*setup, Mutant::None);
                    explored.lock().expect("no panic").insert(*name, found);
                }
            });
        }
    });
    let explored = explored.into_inner().expect("no panic");
    let (mut phases, mut codes, mut replies) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut sizes = Vec::new();
    for (name, _, states, pages) in MODELS {
        let Explored { states: found_states, met, found } = &explored[name];
        if let Some((broken, way)) = found {
            panic!("{name}: {broken}\n    {way}");
        }
        phases.extend(met.phases.iter().map(String::as_str));
        codes.extend(met.codes.iter().copied());
        replies.extend(met.replies.iter().copied());
        sizes.push(((*name, *found_states, met.pages), (*name, *states, *pages)));
    }
    let words = |set: &BTreeSet<&str>| set.iter().copied().collect::<Vec<_>>().join(" ");
    assert_eq!(words(&phases), PHASES);
    assert_eq!(words(&codes), CODES);
    assert_eq!(words(&replies), REPLIES);
    let (found, pinned): (Vec<_>, Vec<_>) = sizes.into_iter().unzip();
    assert_eq!(found, pinned, "another number of states: the rules or the model have changed");
}

/// Each fault, the model that finds it, and what it says.
const MUTANTS: &[(Mutant, &str, &str)] = &[
    (Mutant::Quiet, "retries", "18 says unchanged, and it is changed"),
    (Mutant::Turn, "queue", "two calls at a time"),
    (Mutant::InFlight, "others", "a wish was accepted while another is in flight"),
    (Mutant::Lease, "leases", "a second lease beside a live one"),
    (Mutant::Budget, "retries", "more attempts than the budget"),
    (Mutant::Fence, "leases", "a start under another fence"),
    (Mutant::Readings, "retries", "verified with too few readings"),
    (Mutant::StaleReading, "fence", "a stale reading was recorded"),
    (Mutant::LateResult, "overtaken", "a late result was applied"),
    (Mutant::Premise, "mistakes", "a premise that does not hold was believed"),
    (Mutant::Key, "mistakes", "an event was decided that cannot follow"),
    (Mutant::Clock, "mistakes", "a clock that is far behind was believed"),
    (Mutant::Blind, "unread", "an effect happened twice"),
    (Mutant::CountAlone, "outsider", "18 says unchanged, and it is changed"),
    (Mutant::FailedCount, "outsider", "18 says unchanged, and it is changed"),
];

#[test]
fn every_guard_that_is_taken_away_is_missed() {
    let mut found = Vec::new();
    for (mutant, name, _) in MUTANTS {
        let (_, setup, ..) = MODELS.iter().find(|(known, ..)| known == name).expect("a model");
        let broken = explore(*setup, *mutant).found.map_or("nothing", |(broken, _)| broken);
        found.push((*mutant, *name, broken));
    }
    assert_eq!(found, MUTANTS);
}
