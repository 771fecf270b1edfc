//! The model of the gateway's operations: every way that a few operations, replays, conflicts,
//! finalizations and a person's wishes can follow each other on one service, to a depth, by the
//! real checks, rules and fold, each held against the authority of `oracle/authority.rs`.
//!
//! What must hold in every state: what was acknowledged is answered for ever as it was last; the
//! count and the revision are the authority's; nothing but an acceptance moves them.

mod rules;

use std::collections::{BTreeMap, BTreeSet};

use scalectl::domain::gateway::{Direction, ScaleOperation};
use scalectl::domain::id::LedgerId;
use scalectl::domain::scale::state::ServiceState;

use crate::oracle::authority::{Authority, Said};
use crate::rules::support::{World, id};

/// How many steps a way has at most.
const DEPTH: usize = 5;

/// A fault on purpose: one thing that a check or the fold forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutant {
    None,
    /// A used id is judged anew.
    JudgesAnew,
    /// The id alone tells that it is the same operation.
    ComparesIds,
    /// The premise always holds.
    Believes,
    /// The counts may go either way.
    AnyWay,
    /// Any answer takes the place of the stored one.
    FinalizesAnything,
    /// The fold counts no acceptance.
    ForgetsCount,
    /// It counts a finalization.
    CountsTwice,
    /// It loses the receipt, or the answer that a finalization has given.
    LosesReceipt,
    KeepsAnswer,
    /// It does not keep what is wished.
    ForgetsWish,
    /// A person's wish is no revision.
    MissesPerson,
}

const MUTANTS: [Mutant; 11] = [
    Mutant::JudgesAnew,
    Mutant::ComparesIds,
    Mutant::Believes,
    Mutant::AnyWay,
    Mutant::FinalizesAnything,
    Mutant::ForgetsCount,
    Mutant::CountsTwice,
    Mutant::LosesReceipt,
    Mutant::KeepsAnswer,
    Mutant::ForgetsWish,
    Mutant::MissesPerson,
];

#[derive(Clone, Debug)]
enum Act {
    Apply(ScaleOperation),
    Finalize { asked: ScaleOperation, ready: u32, made: u64 },
    Person(u32),
}

#[derive(Clone)]
struct Stand {
    state: ServiceState,
    authority: Authority,
    way: Vec<Act>,
}

struct Explored {
    /// How many different states there are.
    states: usize,
    /// What was met, and how often.
    met: BTreeMap<&'static str, usize>,
    /// The shortest way to what is not so.
    found: Option<String>,
}

struct Model {
    world: World,
    ledger_id: LedgerId,
    mutant: Mutant,
}

fn explore(mutant: Mutant) -> Explored {
    let model = Model { world: World::new("unregistered"), ledger_id: id("ledger-1"), mutant };
    let mut met = BTreeMap::new();
    let first =
        Stand { state: model.registered(), authority: Authority::default(), way: Vec::new() };
    let mut known = BTreeSet::from([text(&first)]);
    let mut edge = vec![first];
    for _ in 0..DEPTH {
        let mut next = Vec::new();
        for stand in &edge {
            for act in acts(&stand.authority) {
                let after = match model.perform(stand, &act, &mut met) {
                    Ok(after) => after,
                    Err(found) => {
                        return Explored { states: known.len(), met, found: Some(found) };
                    }
                };
                if known.insert(text(&after)) {
                    next.push(after);
                }
            }
        }
        edge = next;
    }
    Explored { states: known.len(), met, found: None }
}

fn text(stand: &Stand) -> String {
    let executions: Vec<_> = stand.state.executions.values().collect();
    serde_json::to_string(&(&stand.state.head, executions)).expect("a state is JSON")
}

/// What anybody may do where the authority stands so.
fn acts(authority: &Authority) -> Vec<Act> {
    let (current_replicas, revision) = authority.held("web");
    let fresh = |desired_replicas: u32| ScaleOperation {
        schema_version: 1,
        operation_id: format!("op-{}", authority.receipts.len()),
        service: "web".to_owned(),
        expected_revision: Some(revision.to_string()),
        direction: if desired_replicas > current_replicas {
            Direction::Up
        } else {
            Direction::Down
        },
        current_replicas,
        desired_replicas,
        reason: "load".to_owned(),
    };
    let mut acts: Vec<Act> = [0, 2].into_iter().map(|desired| Act::Apply(fresh(desired))).collect();
    let up = ScaleOperation { direction: Direction::Up, ..fresh(1) };
    acts.push(Act::Apply(ScaleOperation { expected_revision: None, ..up.clone() }));
    acts.push(Act::Apply(ScaleOperation { current_replicas: 7, ..fresh(9) }));
    acts.push(Act::Apply(ScaleOperation { schema_version: 2, ..up.clone() }));
    acts.push(Act::Apply(up));
    for (known, ..) in &authority.receipts {
        acts.push(Act::Apply(known.clone()));
    }
    for (known, actual, made) in authority.receipts.iter().rev().take(2) {
        acts.push(Act::Apply(ScaleOperation { reason: "other".to_owned(), ..known.clone() }));
        let finalize = |ready, made| Act::Finalize { asked: known.clone(), ready, made };
        acts.extend([finalize(1, *made), finalize(*actual, made + 1)]);
    }
    acts.push(Act::Person(3));
    acts
}

impl Model {
    fn perform(
        &self,
        stand: &Stand,
        act: &Act,
        met: &mut BTreeMap<&'static str, usize>,
    ) -> Result<Stand, String> {
        let mut authority = stand.authority.clone();
        let mut way = stand.way.clone();
        way.push(act.clone());
        let told = |what: String| format!("{what}\n    {way:#?}");
        let (expected, done) = match act {
            Act::Apply(asked) => (authority.apply(asked), self.apply(&stand.state, asked)),
            Act::Finalize { asked, ready, made } => (
                authority.finalize(asked, *ready, *made),
                self.finalize(&stand.state, asked, *ready, *made),
            ),
            Act::Person(replicas) => {
                authority.wished("web", *replicas);
                let (actual, revision) = authority.held("web");
                let said = Said::Accepted { actual, revision };
                (said, self.person(&stand.state, *replicas).map(|after| (said, after)))
            }
        };
        let (said, state) = done.map_err(&told)?;
        if said != expected {
            return Err(told(format!("it says {said:?}, the authority {expected:?}")));
        }
        if !matches!(said, Said::Accepted { .. }) && state != stand.state {
            return Err(told("a refusal or a replay has changed something".to_owned()));
        }
        let holds = Self::holds(&state);
        let (replicas, revision) = authority.held("web");
        if (holds.replicas, holds.revision) != (replicas.into(), revision) {
            return Err(told(format!(
                "it holds {holds:?}, the authority {replicas} at {revision}"
            )));
        }
        self.every_receipt_is_answered(&state, &authority).map_err(&told)?;
        *met.entry(word(act, said, &stand.authority)).or_default() += 1;
        Ok(Stand { state, authority, way })
    }

    /// What was acknowledged is answered as it was last, whatever came after it.
    fn every_receipt_is_answered(
        &self,
        state: &ServiceState,
        authority: &Authority,
    ) -> Result<(), String> {
        for (asked, actual, revision) in &authority.receipts {
            let (said, _) = self.apply(state, asked)?;
            let expected = Said::Replayed { actual: *actual, revision: *revision };
            if said != expected {
                return Err(format!(
                    "{} is answered {said:?}, not {expected:?}",
                    asked.operation_id
                ));
            }
        }
        Ok(())
    }
}

/// What has happened, as it is counted.
fn word(act: &Act, said: Said, before: &Authority) -> &'static str {
    let (replicas, revision) = before.held("web");
    match (act, said) {
        (Act::Person(_), _) if revision == 0 => "a person first",
        (Act::Person(_), _) => "a person",
        (Act::Finalize { .. }, Said::Accepted { revision: made, .. }) if made < revision => {
            "finalized late"
        }
        (Act::Finalize { .. }, Said::Accepted { .. }) => "finalized",
        (Act::Apply(asked), Said::Accepted { .. }) if asked.desired_replicas == 0 => "to zero",
        (Act::Apply(_), Said::Accepted { .. }) if replicas == 3 => "after a person",
        (_, Said::Accepted { .. }) => "accepted",
        (_, Said::Replayed { revision: made, .. }) if made < revision => "replayed late",
        (Act::Apply(asked), Said::Replayed { actual, .. }) if actual != asked.desired_replicas => {
            "replayed as finalized"
        }
        (_, Said::Replayed { .. }) => "replayed",
        (_, Said::Refused(code)) => code,
    }
}

/// How many states there are, and what is met on the way to them, how often.
const STATES: usize = 487;
const MET: &str = "a person 149, a person first 1, accepted 104, after a person 46, \
    authority_state_error 258, finalized 103, finalized late 155, invalid_direction 193, \
    operation_conflict 258, replayed 83, replayed as finalized 20, replayed late 213, \
    stale_revision 300, to zero 107, unsupported_schema 150";

#[test]
fn every_operation_is_answered_as_the_authority_of_the_contract_says() {
    let Explored { states, met, found } = explore(Mutant::None);
    assert_eq!(found, None);
    let words: Vec<String> = met.iter().map(|(word, times)| format!("{word} {times}")).collect();
    assert_eq!((states, words.join(", ").as_str()), (STATES, MET));
}

#[test]
fn every_fault_of_a_check_or_of_the_fold_is_found() {
    for mutant in MUTANTS {
        assert!(explore(mutant).found.is_some(), "{mutant:?} was not found");
    }
}
