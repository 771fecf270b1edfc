//! Views: how the nouns look in JSON and in the tables. Shapes here are what scripts rely on.

use serde_json::{Value, json};

use super::app::App;
use super::ending;
use super::exit::Exit;
use super::output::{Answer, Recorded};
use super::table::{Cell, Column, Table, Tone};
pub(crate) use crate::domain::count::{counted, number};
use crate::domain::scale::decide::Reply;
use crate::domain::scale::execution::{Execution, Outcome, Phase};
use crate::domain::scale::lease::HeldLease;
use crate::domain::scale::observation::Reading;
use crate::domain::scale::passage::newest_reading;
use crate::domain::scale::rejection::Class;
use crate::domain::scale::service::Registration;
use crate::domain::scale::standing;
use crate::domain::scale::state::{CurrentIntent, ServiceHead};
use crate::domain::time::Timestamp;
use crate::ops::report::{Effect, Report};

/// The intent: the record of the contract, or the wish of a proposal.
pub(crate) fn intent(execution: &Execution) -> Value {
    match execution.record() {
        Some(record) => json!(record),
        None => json!(execution.intent.wish),
    }
}

/// What has become of an intent.
pub(crate) fn execution(execution: &Execution) -> Value {
    let recorded = execution.result.as_ref();
    let acceptance = execution.acceptance.as_ref();
    let cause = match &execution.phase {
        Phase::Verified { cause } => *cause,
        _ => None,
    };
    let mut view = json!({
        "execution_id": execution.execution_id,
        "execution_key": execution.key(),
        "service": execution.intent.service,
        "intent_id": execution.intent.wish.intent_id,
        "intent_revision": execution.revision(),
        "state": execution.phase.as_str(),
        "outcome": outcome_word(execution),
        "cause": cause,
        "attempt": execution.attempts,
        "max_attempts": execution.intent.wish.retry_policy.max_attempts,
        "calls": execution.calls,
        "actuator_called": execution.calls > 0,
        "scaled": recorded.is_some_and(|recorded| recorded.result.scaled()),
        "dry_run": !execution.is_live(),
        "desired_replicas": execution.desired(),
        "current_replicas": execution.intent.current,
        "target": execution.intent.wish.target,
        "result": recorded.map(|recorded| &recorded.result),
        "result_attempt": recorded.map(|recorded| recorded.attempt),
        "result_source": recorded.map(|recorded| recorded.source),
        "partly_applied": recorded.is_some_and(|recorded| recorded.partly_applied),
        "readings": {
            "matched": execution.readings_matched,
            "required": execution.intent.terms.required_readings,
        },
        "last_reading": execution.last_reading,
        "drift": execution.drift,
        "rollback_required": execution.rollback_required,
        "on_unknown": execution.intent.terms.on_unknown,
        "observation_id": execution.observation.as_ref().map(|o| &o.observation_id),
        "identity_digest": acceptance.map(|acceptance| acceptance.identity_digest),
        "wish_digest": execution.intent.wish.digest(),
        "put_by": execution.put_by,
        "created_at": acceptance.map(|acceptance| acceptance.created_at),
        "put_at": execution.put_at,
        "updated_at": execution.updated_at,
    });
    let extra = match &execution.phase {
        Phase::Failed { retry_at } => json!({"retry_at": retry_at}),
        Phase::Started { call } => json!({"call": call}),
        Phase::RecoveryPending { pending } => json!({
            "call": pending.call,
            "unknown": {
                "why": pending.why,
                "detail": pending.detail,
                "ended_at": pending.ended_at,
                "fenced": pending.fenced,
                "quiet_until": pending.quiet_until(execution.intent.terms.quiet_ms),
            },
        }),
        Phase::Superseded { by, .. } => json!({"superseded_by": by}),
        Phase::Proposed { until } => json!({"until": until}),
        Phase::Accepted
        | Phase::Succeeded
        | Phase::Observed
        | Phase::Verified { .. }
        | Phase::Rejected
        | Phase::Withdrawn => json!({}),
    };
    if let (Value::Object(view), Value::Object(extra)) = (&mut view, extra) {
        view.extend(extra);
    }
    view
}

/// A lease with its holder.
pub(crate) fn lease(held: &HeldLease, now: Timestamp) -> Value {
    let mut view = json!(held.lease);
    if let Value::Object(members) = &mut view {
        members.insert("holder".to_owned(), json!(held.holder));
        members.insert("alive".to_owned(), json!(held.is_alive(now)));
    }
    view
}

/// What holds now in a service.
pub(crate) fn current(head: &ServiceHead) -> Option<Value> {
    let registration = head.registration.as_ref()?;
    Some(json!({
        "service": registration.service,
        "intent_revision": head.latest_revision,
        "intent": head.current,
        "desired_replicas": head.wanted.as_ref().map(|wanted| wanted.desired_replicas),
        "reading": newest_reading(head),
        "unit_revision": registration.unit_revision,
    }))
}

/// A service: its settings and what its target was when last read.
pub(crate) fn service(head: &ServiceHead) -> Value {
    let mut view = json!(head.registration);
    if let (Value::Object(members), Some(registration)) = (&mut view, &head.registration) {
        if let Some(binding) = &head.binding {
            members.insert("target".to_owned(), json!(registration.target(binding)));
            members.insert("binding".to_owned(), json!(binding));
        }
        members.insert("latest_intent_revision".to_owned(), json!(head.latest_revision));
        members.insert("fence_mark".to_owned(), json!(head.mark));
        if let Some(retired) = &head.authority.retired {
            members.insert("retired".to_owned(), json!(retired));
        }
    }
    view
}

/// Whether a class of standing is an exit, and which.
pub(crate) fn exit_of(class: Option<Class>) -> Exit {
    class.map_or(Exit::Ok, Exit::from)
}

/// The answer of a verb on a key.
pub(crate) fn answer(app: &App, report: &Report, exit: Exit) -> Answer {
    let execution = &report.execution;
    let recorded = report.recorded || app.opened().is_some_and(crate::ops::Session::has_recorded);
    let mut out = ending::of(app, report, exit)
        .recorded(if recorded { Recorded::Yes } else { Recorded::No })
        .name(execution.key().as_str());
    out.replayed = report.reply == Reply::Replayed;
    out.changed = recorded;
    if execution.rollback_required {
        out = out.warning("rollback_required", ROLLBACK);
    }
    if exit == Exit::Ok && !standing::holds_now(execution, &report.head) {
        out = out.warning("not_current", stale_success(report));
    }
    out = out.line(headline(execution));
    if out.replayed && report.effect == Effect::None {
        let how = if recorded { "nothing was called but to read" } else { "nothing was called" };
        out = out.line(format!("  replayed   the stored answer, {how}"));
    }
    // Nobody sees the document, which costs more than the rest of the answer.
    if !app.globals.output.is_document() {
        return out;
    }
    out = out
        .whole_noun("intent", intent(execution))
        .whole_noun("execution", self::execution(execution));
    out.current = current(&report.head);
    let now = app.opened().map_or_else(|| app.clock().now(), crate::ops::Session::now);
    if let Some(held) = &execution.lease {
        out = out.noun("lease", &lease(held, now));
    }
    if let Some(observation) = &execution.observation {
        out = out.noun("observation", observation);
    }
    out
}

/// What a step warns of, and `explain` tells, where an actuator has asked for a person.
pub(crate) const ROLLBACK: &str = "the call left something that a person should look at";

/// What a step warns of that replays a success which no longer holds.
fn stale_success(report: &Report) -> String {
    let key = report.execution.key();
    match newer_than(report) {
        Some(newer) => format!(
            "{key} is done, but {} is now at {}@{} = {}",
            report.execution.intent.service,
            report.execution.intent.service,
            newer.intent_revision,
            newer.desired_replicas
        ),
        None => format!("{key} is done, but the newest reading differs from it"),
    }
}

/// The newer intent that holds now, where there is one.
pub(super) fn newer_than(report: &Report) -> Option<&CurrentIntent> {
    report.head.current.as_ref().filter(|c| c.execution_key != *report.execution.key())
}

/// The word of an outcome.
pub(crate) fn outcome_word(execution: &Execution) -> Option<&'static str> {
    execution.outcome().map(Outcome::as_str)
}

/// One line about a key for people.
pub(crate) fn headline(execution: &Execution) -> String {
    let from = execution.intent.current.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let state = crate::ops::report::stands(execution);
    let dry = if execution.is_live() { "" } else { "  simulation" };
    format!(
        "{}@{}  {from} → {}  {state}  key {}{dry}",
        execution.intent.service,
        execution.revision(),
        execution.desired(),
        execution.key(),
    )
}

/// The exit of a step on a key.
pub(crate) fn step_exit(report: &Report) -> Exit {
    exit_of(standing::of_step(&report.execution))
}

/// The exit of `replay`: what has succeeded is not yet confirmed, and it never starts what is only
/// accepted.
pub(crate) fn recovered_exit(report: &Report) -> Exit {
    if matches!(report.execution.phase, Phase::Accepted) {
        return Exit::NotYet;
    }
    exit_of(standing::of_observe(&report.execution))
}

/// The exit of `observe` and `scale`: a success that no longer holds is not one.
pub(crate) fn confirmed_exit(report: &Report) -> Exit {
    if report.reply == Reply::Replayed && !standing::holds_now(&report.execution, &report.head) {
        return Exit::Diverged;
    }
    exit_of(standing::of_observe(&report.execution))
}

/// The table of services.
pub(crate) fn services_table(heads: &[ServiceHead]) -> Table {
    let mut table = Table::new([
        Column::left("NAME"),
        Column::left("MODE"),
        Column::left("KEPT"),
        Column::left("WRITER"),
        Column::right("MIN"),
        Column::right("MAX"),
        Column::left("ACTUATOR"),
        Column::left("TARGET").keeps_end(),
        Column::left("MATCH"),
        Column::left("READINGS"),
        Column::left("UNKNOWN"),
        Column::left("COOLDOWN"),
        Column::right("REG"),
        Column::left("LABELS").shrinks(),
    ]);
    for head in heads {
        if let Some(registration) = &head.registration {
            table.row(service_row(registration, head.authority.retired.is_some()));
        }
    }
    table
}

fn word<T: serde::Serialize>(value: &T) -> String {
    match json!(value) {
        Value::String(word) => word,
        other => other.to_string(),
    }
}

fn service_row(registration: &Registration, is_retired: bool) -> Vec<Cell> {
    let (terms, max) = (&registration.terms, registration.max_replicas);
    let interval = terms.reading_interval_ms;
    let readings = if interval == crate::domain::time::DurationMs::ZERO {
        terms.required_readings.to_string()
    } else {
        format!("{}/{interval}", terms.required_readings)
    };
    let labels: Vec<String> =
        registration.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    vec![
        Cell::new(&registration.service),
        if is_retired { Cell::new("retired") } else { Cell::new(registration.mode.as_str()) },
        Cell::maybe(super::upon::settled(registration)),
        Cell::new(&registration.writer),
        Cell::new(registration.min_replicas),
        // A service behind a gateway has no bound of ours.
        Cell::maybe(Some(max).filter(|max| max.get() != u64::from(u32::MAX))),
        Cell::maybe(registration.actuator.as_ref()),
        Cell::new(format!(
            "{}/{}/{}",
            registration.cluster_id, registration.runtime_id, registration.workload_id
        )),
        Cell::new(word(&terms.target_match)),
        Cell::new(readings),
        Cell::new(word(&terms.on_unknown)),
        Cell::maybe(registration.cooldown_ms),
        Cell::new(registration.unit_revision),
        if labels.is_empty() { Cell::none() } else { Cell::new(labels.join(",")) },
    ]
}

/// The table of intents.
pub(crate) fn intents_table(executions: &[Execution]) -> Table {
    let mut table = Table::new([
        Column::left("SERVICE"),
        Column::right("REV"),
        Column::right("WANT"),
        Column::left("STATE"),
        Column::left("OUTCOME"),
        Column::right("ATTEMPT"),
        Column::left("BY"),
        Column::left("PUT"),
        Column::left("KEY"),
        Column::left("WHY").wraps(),
    ]);
    for execution in executions {
        let tone = match execution.phase {
            Phase::RecoveryPending { .. } => Tone::Bad,
            Phase::Verified { cause: None } => Tone::Good,
            _ => Tone::Plain,
        };
        table.row([
            Cell::new(&execution.intent.service),
            if execution.is_live() { Cell::new(execution.revision()) } else { Cell::new("dry") },
            Cell::new(execution.desired()),
            Cell::new(execution.phase.as_str()).tone(tone),
            Cell::maybe(outcome_word(execution)),
            Cell::new(format!(
                "{}/{}",
                execution.attempts, execution.intent.wish.retry_policy.max_attempts
            )),
            Cell::new(&execution.put_by.actor),
            Cell::new(execution.put_at.truncated_to_seconds()),
            Cell::new(execution.key()),
            Cell::new(execution.intent.wish.reason.as_str()),
        ]);
    }
    table
}

/// What a detail says beyond the word that stands alone before it. The word of an actuator may only
/// begin like ours (`garbled_result`), and is a part of what is said.
pub(crate) fn beyond<'a>(word: &str, detail: &'a str) -> &'a str {
    match detail.strip_prefix(word) {
        Some("") => "",
        Some(rest) => rest.strip_prefix(": ").unwrap_or(detail),
        None => detail,
    }
}

/// How many readings agree, of how many that must: more than that may.
pub(crate) fn agreement(execution: &Execution, noun: &str) -> String {
    let (agree, needed) =
        (execution.readings_matched, execution.intent.terms.required_readings.get());
    if agree > needed {
        return format!("{agree} {noun}agree, and {needed} must");
    }
    format!("{agree} of {needed} {noun}agree")
}

/// A reading in words.
pub(crate) fn reading_text(reading: &Reading) -> String {
    match reading.ready_replicas {
        Some(ready) => format!("{ready} of {} running", reading.replicas),
        None => format!("{} declared", reading.replicas),
    }
}
