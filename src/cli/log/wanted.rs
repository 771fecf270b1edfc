//! Which events are wanted: the flags of `log` that pick some.

use super::{LogArgs, placement};
use crate::cli::app::Globals;
use crate::cli::fault::Fault;
use crate::cli::problem::Problem;
use crate::domain::near::nearest;
use crate::domain::scale::execution::Outcome;
use crate::ledger::{StoredEvent, Stream};

/// Every kind of event. A word that is none would find nothing, and say so as if nothing had been.
const KINDS: [&str; 42] = [
    "ledger_created",
    "actuator_registered",
    "signers_set",
    "policy_set",
    "refused",
    "service_registered",
    "service_handed_over",
    "service_retired",
    "hold_set",
    "hold_lifted",
    "override_set",
    "override_cleared",
    "authorization_granted",
    "authorization_used",
    "authorization_revoked",
    "authorization_reviewed",
    "autoscale_evaluated",
    "target_bound",
    "intent_proposed",
    "intent_rejected",
    "intent_accepted",
    "gateway_finalized",
    "gateway_imported",
    "intent_superseded",
    "intent_withdrawn",
    "lease_acquired",
    "lease_renewed",
    "lease_released",
    "attempt_started",
    "result_recorded",
    "attempt_lost",
    "call_ended",
    "target_fenced",
    "reading_recorded",
    "observation_recorded",
    "late_result_kept",
    "service_restored",
    "clock_accepted",
    "execution_clock_accepted",
    "ledger_restored",
    "ledger_sealed",
    "ledger_opened",
];

/// What a wish may come to, as an event says it.
const OUTCOMES: [Outcome; 6] = [
    Outcome::Converged,
    Outcome::Failed,
    Outcome::Simulated,
    Outcome::Unconfirmed,
    Outcome::Drifted,
    Outcome::Unknown,
];

/// Refuses a word that would find nothing because it is none.
pub(super) fn refuse_unknown_words(args: &LogArgs) -> Result<(), Fault> {
    let kinds: Vec<&str> = KINDS.into_iter().chain(placement::KINDS).collect();
    if let Some(kind) = args.event.iter().find(|kind| !kinds.contains(&kind.as_str())) {
        return Err(unknown(
            "invalid_kind",
            &format!("{kind:?} is no kind of event"),
            kind,
            &kinds,
        ));
    }
    let outcomes = OUTCOMES.map(Outcome::as_str);
    match args.outcome.as_deref().filter(|outcome| !outcomes.contains(outcome)) {
        Some(word) => {
            Err(unknown("invalid_outcome", &format!("{word:?} is no outcome"), word, &outcomes))
        }
        None => Ok(()),
    }
}

fn unknown(code: &'static str, what: &str, word: &str, known: &[&'static str]) -> Fault {
    let problem = Problem::usage(code, what.to_owned());
    let problem = match nearest(word, known.iter().copied()) {
        Some(near) => problem.fact("did you mean", near),
        None => problem,
    };
    problem.fact("words", known.join(" ")).into()
}

/// Who and what is asked for, beside what the ledger itself looks for.
pub(super) struct Wanted<'a> {
    args: &'a LogArgs,
    actor: Option<String>,
    reference: Option<String>,
}

impl<'a> Wanted<'a> {
    /// `--actor` and `--ref` say elsewhere who writes; here nothing is written, and they pick.
    pub(super) fn of(args: &'a LogArgs, globals: &Globals) -> Self {
        let actor = args.by.clone().or_else(|| globals.actor.clone());
        Self { args, actor, reference: globals.reference.clone() }
    }

    /// Whether an event is wanted.
    pub(super) fn has(&self, event: &StoredEvent) -> bool {
        let args = self.args;
        let is_refusal = event.stream == Stream::Refusals;
        (args.event.is_empty() || args.event.contains(&event.kind))
            && self.actor.as_ref().is_none_or(|actor| event.by.actor.as_str() == actor)
            && self.reference.as_ref().is_none_or(|it| event.by.reference.as_ref() == Some(it))
            && !(args.no_refused && is_refusal)
            && (!is_refusal || self.is_of_service(event))
            && (!args.break_glass || breaks_glass(event))
            && args.outcome.as_deref().is_none_or(|word| outcome_of(event) == Some(word))
    }

    fn is_of_service(&self, event: &StoredEvent) -> bool {
        let named = event.body["service"].as_str();
        let services = &self.args.services;
        services.is_empty() || services.iter().any(|it| Some(it.as_str()) == named)
    }
}

/// Whether an event is about a broken glass: an authorization, or what was done under one.
pub(in crate::cli) fn breaks_glass(event: &StoredEvent) -> bool {
    let body = &event.body;
    event.kind.starts_with("authorization_")
        || body["acceptance"]["consent"]["consent"] == "break_glass"
        || body["decision"]["action"] == "break_glass"
        || body["intent"]["decision"]["action"] == "break_glass"
        || body["answer"]["action"] == "break_glass"
}

/// What a wish came to by an event; none where it says nothing of that.
fn outcome_of(event: &StoredEvent) -> Option<&str> {
    match event.kind.as_str() {
        "observation_recorded" => event.body["observation"]["status"].as_str(),
        "intent_superseded" => event.body["outcome"].as_str(),
        "attempt_lost" => Some(Outcome::Unknown.as_str()),
        _ => None,
    }
}
