//! Each rule of the model is broken once, by a fault that it is the first to find.

use super::explore;
use super::faults::FAULTS;
use super::guarded::GUARDED;
use super::mutants::Mutant;
use super::people::PEOPLE;
use super::setup::MODELS;

/// Each fault, the model that finds it, and what it says. The rules' own check of a state is not
/// asked: what it would say is no proof of the model.
const MUTANTS: &[(Mutant, &str, &str)] = &[
    (Mutant::Quiet, "retries", "18 says unchanged, and it is changed"),
    (Mutant::Turn, "queue", "two calls of a service may take effect"),
    (Mutant::RepeatEarly, "same key", "two calls of a service may take effect"),
    (Mutant::InFlight, "others", "a wish was accepted while another is in flight"),
    (Mutant::Lease, "leases", "a second lease beside a live one"),
    (Mutant::StartLease, "leases", "a start beside a live lease"),
    (Mutant::Budget, "retries", "more calls than the budget"),
    (Mutant::StartFence, "leases", "a start under a stale fence"),
    (Mutant::LeaseFence, "leases", "a lease under a stale fence"),
    (Mutant::RenewFence, "leases", "a stale lease was renewed"),
    (Mutant::OtherFence, "retries", "a start under another fence"),
    (Mutant::ShortLease, "retries", "a start under a stale lease"),
    (Mutant::Readings, "retries", "converged with too few readings"),
    (Mutant::StaleReading, "fence", "a stale reading was recorded"),
    (Mutant::LateResult, "overtaken", "a late result was applied"),
    (Mutant::StaleLookup, "torn lookup", "17 says unchanged, and it is changed"),
    (Mutant::LateApplied, "lie", "a result of nothing"),
    (Mutant::SaidByNobody, "person", "a result that nobody gave"),
    (Mutant::Premise, "mistakes", "a premise that does not hold was believed"),
    (Mutant::Key, "mistakes", "an event was decided that cannot follow"),
    (Mutant::Clock, "mistakes", "a clock that is far behind was believed"),
    (Mutant::Blind, "unread", "an effect happened twice"),
    (Mutant::CountAlone, "outsider", "18 says unchanged, and it is changed"),
    (Mutant::FailedCount, "outsider", "18 says unchanged, and it is changed"),
    (Mutant::FailedCount, "last try", "17 says unchanged, and it is changed"),
    (Mutant::FailureIsSuccess, "retries", "19 says as wished, and it is not"),
    (Mutant::OneBreath, "blind", "0 says done, and it is not"),
    (Mutant::NoCause, "retries", "a simulation called somebody"),
    (Mutant::Unsaid, "queue", "called, and said to be untouched"),
    (Mutant::Oversaid, "others", "superseded as applied, and not applied"),
    (Mutant::Loading, "queue", "a partial state decides otherwise"),
    (Mutant::Unheard, "retries", "an answer was lost"),
    (Mutant::Unstarted, "retries", "a start that did not start"),
    (Mutant::Older, "retries", "an event is older than the one before it"),
    (Mutant::Misread, "retries", "an event is not read back"),
    (Mutant::FoldSkips, "retries", "a revision was skipped"),
    (Mutant::TwoAtOnce, "dry", "the revision does not count the wishes"),
    (Mutant::Misjudged, "retries", "a reading was misread"),
    (Mutant::OtherResult, "retries", "an observation of another result"),
    (Mutant::FoldForgets, "retries", "a key is gone"),
    (Mutant::FoldRevision, "retries", "the revision does not count the wishes"),
    (Mutant::FoldWish, "retries", "a used key changed its intent"),
    (Mutant::FoldReopens, "others", "a terminal state changed"),
    (Mutant::FoldSerial, "retries", "the fold of all events is another state"),
    (Mutant::FoldVerifies, "retries", "verified without its observation"),
    (Mutant::FoldLoses, "retries", "an observation of no result"),
    (Mutant::TwiceInLog, "retries", "two observations of one key"),
];

/// What the rules' own check of a state says of these, before anything is committed.
const INVARIANTS: &[(Mutant, &str, &str)] = &[
    (Mutant::Turn, "queue", "two calls at a time"),
    (Mutant::Budget, "retries", "more attempts than the budget"),
    (Mutant::Readings, "retries", "verified with too few readings"),
];

type Row = (Mutant, &'static str, &'static str);

fn check(rows: &[Row], asks_invariants: bool) {
    let mut found = Vec::new();
    for (mutant, name, _) in rows {
        let mut models = MODELS.iter().chain(PEOPLE).chain(GUARDED);
        let (_, setup, ..) = models.find(|(known, ..)| known == name).expect("a model");
        let broken = explore(*setup, *mutant, asks_invariants).found;
        found.push((*mutant, *name, broken.map_or("nothing", |(broken, _)| broken)));
    }
    let wrong: Vec<(&Row, &Row)> =
        found.iter().zip(rows).filter(|(found, row)| found != row).collect();
    assert!(wrong.is_empty(), "found, and to be found: {wrong:#?}");
}

#[test]
fn every_guard_that_is_taken_away_is_missed() {
    check(MUTANTS, false);
}

#[test]
fn every_consent_that_is_taken_away_is_missed() {
    let rows: Vec<Row> = FAULTS
        .iter()
        .map(|(fault, name, words)| (Mutant::Consent(*fault), *name, *words))
        .collect();
    check(&rows, false);
}

#[test]
fn the_check_before_a_commit_finds_what_it_is_for() {
    check(INVARIANTS, true);
}

/// A rule that no fault breaks may be dead, or deaf.
#[test]
fn every_rule_of_the_model_has_a_fault_that_breaks_it() {
    let shown = MUTANTS.iter().map(|(_, _, words)| *words);
    let shown: Vec<&str> = shown.chain(FAULTS.iter().map(|(_, _, words)| *words)).collect();
    let sources = [
        include_str!("book.rs"),
        include_str!("consent.rs"),
        include_str!("laid.rs"),
        include_str!("machine.rs"),
        include_str!("transition.rs"),
        include_str!("truth.rs"),
    ];
    let mut rules = 0;
    for source in sources {
        for text in source.split('"').skip(1).step_by(2).filter(|text| is_rule(source, text)) {
            rules += 1;
            assert!(shown.contains(&text), "nothing breaks this rule: {text}");
        }
    }
    assert!(rules > 30, "only {rules} rules");
}

/// Whether a text is what a broken rule says.
fn is_rule(source: &str, text: &str) -> bool {
    let said = ["Err(", "Broken(", "Some(", "then_some(", "ok_or("];
    text.contains(' ') && said.iter().any(|word| source.contains(&format!("{word}\"{text}\"")))
}
