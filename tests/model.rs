//! A bounded model check of the rules: `decide` and `apply`, in a world that holds the truth.
//!
//! Hosts, an operator, children that outlive their parents, crashes between every two durable
//! steps, late, lost and contradicting answers, clocks that step. The world knows the count of the
//! target, which calls live and what they did; readings and lookups say just that. Every promise of
//! the rules is held against it, in every state that can be reached within the budget.

mod actions;
mod answers;
mod bites;
mod book;
mod consent;
mod deeds;
mod faults;
mod forged;
mod gateway;
mod machine;
mod mutants;
mod orders;
mod papers;
mod people;
mod setup;
mod snapshot;
mod torn;
mod transition;
mod truth;

use std::collections::BTreeMap;
use std::sync::Mutex;

use stateright::{Checker, Model};

use book::{Book, Met};
use machine::Machine;
use mutants::Mutant;
use people::PEOPLE;
use setup::{MODELS, Setup};

struct Explored {
    /// How many different states of the model there are.
    states: usize,
    met: Met,
    /// The broken promise, and the shortest way to it.
    found: Option<(&'static str, String)>,
}

/// Explores a model, with or without the rules' own check of every state.
fn explore(setup: Setup, mutant: Mutant, asks_invariants: bool) -> Explored {
    let book = Book::new(setup, mutant, asks_invariants);
    let checker = Machine { setup, book }.checker();
    // Children, processes and people are few: breadth first, so that the way to a fault is short.
    let checker = checker.target_state_count(STATES_MAX).spawn_bfs().join();
    let found = checker.discoveries().into_values().next().map(|path| {
        let broken = path.last_state().broken.unwrap_or("another property");
        let acts: Vec<String> = path.into_actions().iter().map(|act| format!("{act:?}")).collect();
        (broken, acts.join("\n    "))
    });
    assert!(found.is_some() || checker.state_count() < STATES_MAX, "a model is cut short");
    let states = checker.unique_state_count();
    Explored { states, found, met: checker.model().book.met() }
}

/// A model that is larger than this has lost its bounds.
const STATES_MAX: usize = 2_000_000;

/// What a simulation came to is kept in the head of its service until the next wish is accepted: in
/// the world `dry` two histories that differ in that alone are two states. That is all that Fleet
/// has added to these numbers (20 `verified(simulated)`, 30 `simulated_key`, 30 `wrong_state`, 60
/// `replayed`, and 60 states of `dry`): without that member they are as before.
///
/// Every phase with its outcome, a `!` where it has drifted, and in how many states it is met.
const PHASES: &[&str] = &[
    "accepted 817 failed 758 failed! 62 observed 95 recovery_pending(unknown) 3090",
    "recovery_pending(unknown)! 313 started 2266 started! 114 succeeded 2806 succeeded! 125",
    "superseded 277 superseded(unconfirmed) 1623 verified(converged) 5321",
    "verified(failed) 3566 verified(failed)! 927 verified(simulated) 390 withdrawn 1465",
];

/// Every refusal that the model can come to, and how often it is asked so. The others need settings
/// and mistakes that the rules have rows for.
const CODES: &[&str] = &[
    "clock_skew 419 cooldown 12 cooldown_unknown 30 fence_expired 105 fence_lost 285 held 55",
    "in_flight 63 in_progress 8036 key_conflict 1200 lease_lost 28 live_key 2110",
    "not_writer 274 others_intent 3 outcome_unknown 17807 quiet_time 4683 reading_differs 192",
    "reading_missing 3359 retry_later 130 simulated_key 903 stale_revision 5",
    "stale_unit_revision 86 target_changed 25 waits_behind 137 wrong_state 16044",
];

const REPLIES: &[&str] = &["done 35641 late 142 replayed 49380 stale_reading 1090 unchanged 8718"];

#[test]
fn every_promise_holds_in_every_state_and_the_interesting_ones_are_reached() {
    let pinned = Pins { phases: PHASES, codes: CODES, replies: REPLIES };
    pinned.hold(MODELS);
}

/// The same in the worlds of several persons, whose promises are about consent, too.
#[test]
fn nothing_that_needs_consent_is_done_without_it() {
    people::PINS.hold(PEOPLE);
}

/// What is met in all worlds of a list, and how often.
struct Pins {
    phases: &'static [&'static str],
    codes: &'static [&'static str],
    replies: &'static [&'static str],
}

impl Pins {
    fn hold(&self, models: &[(&'static str, Setup, usize, usize)]) {
        let explored = all_of(models);
        let (mut phases, mut codes, mut replies) =
            (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut sizes = Vec::new();
        for (name, _, states, pages) in models {
            let Explored { states: found_states, met, found } = &explored[name];
            if let Some((broken, way)) = found {
                panic!("{name}: {broken}\n    {way}");
            }
            add(&mut phases, met.phases.iter().map(|(word, times)| (word.as_str(), *times)));
            add(&mut codes, met.codes.iter().map(|(word, times)| (*word, *times)));
            add(&mut replies, met.replies.iter().map(|(word, times)| (*word, *times)));
            sizes.push(((*name, *found_states, met.pages), (*name, *states, *pages)));
        }
        let (found, pinned): (Vec<_>, Vec<_>) = sizes.into_iter().unzip();
        let found = (words(&phases), words(&codes), words(&replies), found);
        let pinned = (self.phases.join(" "), self.codes.join(" "), self.replies.join(" "), pinned);
        assert_eq!(found, pinned, "the rules or the model have changed");
    }
}

/// Explores all worlds of a list, two at a time.
fn all_of(models: &[(&'static str, Setup, usize, usize)]) -> BTreeMap<&'static str, Explored> {
    let explored = Mutex::new(BTreeMap::new());
    let next = Mutex::new(models.iter());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((name, setup, ..)) = next.lock().expect("no panic").next() else {
                        return;
                    };
                    let found = explore(*setup, Mutant::None, true);
                    explored.lock().expect("no panic").insert(*name, found);
                }
            });
        }
    });
    explored.into_inner().expect("no panic")
}

fn add<'w>(all: &mut BTreeMap<&'w str, usize>, more: impl Iterator<Item = (&'w str, usize)>) {
    for (word, times) in more {
        *all.entry(word).or_default() += times;
    }
}

fn words(counts: &BTreeMap<&str, usize>) -> String {
    let words: Vec<String> = counts.iter().map(|(word, times)| format!("{word} {times}")).collect();
    words.join(" ")
}
