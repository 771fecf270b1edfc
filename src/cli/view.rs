//! Views: how the nouns look in JSON and in the tables. Shapes here are what scripts rely on.

use serde_json::{Value, json};

use super::app::App;
use super::exit::Exit;
use super::output::{Answer, Applied, Recorded};
use super::table::{Cell, Column, Table, Tone};
use crate::domain::scale::decide::Reply;
use crate::domain::scale::execution::{Execution, FailureCause, Phase};
use crate::domain::scale::lease::HeldLease;
use crate::domain::scale::observation::Reading;
use crate::domain::scale::rejection::Class;
use crate::domain::scale::service::Registration;
use crate::domain::scale::standing;
use crate::domain::scale::state::ServiceHead;
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
        "outcome": execution.outcome().map(super::super::domain::scale::execution::Outcome::as_str),
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
        "reading": head.newest_reading,
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
    }
    view
}

/// Whether a class of standing is an exit, and which.
pub(crate) fn exit_of(class: Option<Class>) -> Exit {
    class.map_or(Exit::Ok, Exit::from)
}

const fn applied(effect: Effect) -> Applied {
    match effect {
        Effect::None => Applied::No,
        Effect::Applied => Applied::Yes,
        Effect::Partial => Applied::Partial,
        Effect::Unknown => Applied::Unknown,
    }
}

/// The answer of a verb on a key.
pub(crate) fn answer(app: &App, report: &Report, exit: Exit) -> Answer {
    let execution = &report.execution;
    let mut out = match problem_of_standing(app, report, exit) {
        Some(problem) => Answer::failed(problem),
        None => Answer::ending(exit),
    }
    .recorded(if report.recorded { Recorded::Yes } else { Recorded::No })
    .applied(applied(report.effect))
    .name(execution.key().as_str());
    out.replayed = report.reply == Reply::Replayed;
    out.changed = report.recorded;
    // Nobody sees the document, which costs more than the rest of the answer.
    if !app.globals.output.is_document() {
        return out.line(headline(execution));
    }
    out = out.noun("intent", &intent(execution)).noun("execution", &self::execution(execution));
    out.current = current(&report.head);
    let now = app.opened().map_or_else(|| app.clock().now(), crate::ops::Session::now);
    if let Some(held) = &execution.lease {
        out = out.noun("lease", &lease(held, now));
    }
    if let Some(observation) = &execution.observation {
        out = out.noun("observation", observation);
    }
    out.line(headline(execution))
}

/// One line about a key for people.
pub(crate) fn headline(execution: &Execution) -> String {
    let from = execution.intent.current.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let outcome =
        execution.outcome().map(|outcome| format!(" ({})", outcome.as_str())).unwrap_or_default();
    let dry = if execution.is_live() { "" } else { "  simulation" };
    format!(
        "{}@{}  {from} → {}  {}{outcome}  key {}{dry}",
        execution.intent.service,
        execution.revision(),
        execution.desired(),
        execution.phase.as_str(),
        execution.key(),
    )
}

/// The error that belongs to a standing which is not well.
fn problem_of_standing(app: &App, report: &Report, exit: Exit) -> Option<super::problem::Problem> {
    use super::problem::Problem;
    let execution = &report.execution;
    let context = app.problem_context();
    let name = format!("{}@{}", execution.intent.service, execution.revision());
    let key = execution.key().as_str();
    let change = {
        let from = execution.intent.current.map_or_else(|| "?".to_owned(), |c| c.to_string());
        format!("{from} → {}", execution.desired())
    };
    let detail = execution.result.as_ref().map(|recorded| recorded.result.detail.as_str());
    let problem = match (exit, &execution.phase) {
        (Exit::Ok | Exit::NotYet, _) => return None,
        (Exit::Diverged, Phase::Verified { cause: None } | Phase::Superseded { .. }) => {
            not_current(report, &name, &context)
        }
        (Exit::Diverged, Phase::Verified { cause: Some(_) }) => Problem::new(
            "observed_replicas_mismatch",
            exit,
            format!("{name} ({change}) was carried out with another count"),
        ),
        (Exit::Diverged, _) => {
            let read = execution.last_reading.as_ref().map(|reading| reading.replicas);
            let read = read.map_or_else(|| "?".to_owned(), |count| count.to_string());
            Problem::new(
                "diverged",
                exit,
                format!("{name} wants {}, and {read} were read", execution.desired()),
            )
            .hint("see what is known, then decide")
            .run(context.command(&["explain", key]))
        }
        (Exit::Unknown, Phase::RecoveryPending { pending }) => {
            let until = pending.quiet_until(execution.intent.terms.quiet_ms);
            let mut problem = Problem::new(
                "outcome_unknown",
                exit,
                format!(
                    "nobody knows what became of attempt {} of {name} ({change}): {}",
                    pending.call.attempt,
                    pending.why.as_str()
                ),
            )
            .fact("detail", pending.detail.as_str().to_owned())
            .fact(
                "blocks",
                format!("{} starts nothing until this is settled", execution.intent.service),
            )
            .hint("this finds out, without a blind second call; never use a new key")
            .run(context.command(&["replay", key]));
            if until > context.now && !pending.fenced {
                problem =
                    problem.fact("quiet", format!("a late effect is waited for until {until}"));
            }
            if app.opened().is_some_and(|s| s.kept_stderr(pending.call.call_id.as_str()).is_some())
            {
                problem = problem.run(context.command(&["attempt", "show", key, "--stderr"]));
            }
            problem
        }
        (Exit::Failed, Phase::Verified { cause }) => {
            let cause = match cause {
                Some(FailureCause::Terminal) | None => "trying again does not help",
                Some(FailureCause::Mismatch) => "with another count",
                Some(FailureCause::Exhausted) => "no attempt is left",
                Some(FailureCause::Abandoned) => "it was abandoned",
                Some(FailureCause::Overtaken) => "a newer intent overtook it",
                Some(FailureCause::FenceOver) => "its fence ran out",
            };
            Problem::new("failed", exit, format!("{name} ({change}) failed: {cause}"))
                .hint("look at it, then make a new wish under a new key")
                .run(context.command(&["explain", key]))
        }
        (Exit::RetryLater, Phase::Failed { retry_at }) => Problem::new(
            "retry_later",
            exit,
            format!("{name} ({change}) failed, and may be tried again at {retry_at}"),
        )
        .fact(
            "attempt",
            format!(
                "{} of {}",
                execution.attempts, execution.intent.wish.retry_policy.max_attempts
            ),
        )
        .retry_at(&context, Some(*retry_at))
        .hint("run this same line again then")
        .again(&context),
        (Exit::Conflict, Phase::Superseded { by, .. }) => Problem::new(
            "superseded",
            exit,
            format!("{name} was superseded by {}@{by}", execution.intent.service),
        )
        .run(context.command(&["explain", &format!("{}@{by}", execution.intent.service)])),
        (Exit::Conflict, Phase::Withdrawn) => {
            Problem::new("withdrawn", exit, format!("{name} was withdrawn"))
        }
        (Exit::Denied, Phase::Rejected) => {
            Problem::new("rejected", exit, format!("{name} was not approved"))
        }
        (exit, phase) => Problem::new("not_done", exit, format!("{name} is {}", phase.as_str()))
            .run(context.command(&["explain", key])),
    };
    let code = execution.result.as_ref().and_then(|recorded| recorded.result.error_code());
    let problem = match code {
        Some(code) if exit != Exit::Unknown => problem.fact("code", code.to_string()),
        _ => problem,
    };
    Some(match detail.filter(|detail| !detail.is_empty() && exit != Exit::Unknown) {
        Some(detail) => problem.fact("detail", detail.to_owned()),
        None => problem,
    })
}

/// A stale success is not a success (journeys, text 10).
fn not_current(
    report: &Report,
    name: &str,
    context: &super::problem::ProblemContext,
) -> super::problem::Problem {
    use super::problem::Problem;
    let execution = &report.execution;
    let service = &execution.intent.service;
    let observed = execution.observation.as_ref().map(|observation| observation.observed_at);
    let done = observed.unwrap_or(execution.updated_at);
    let newer =
        report.head.current.as_ref().filter(|current| current.execution_key != *execution.key());
    let now = newer.map_or_else(
        || {
            let read = report.head.newest_reading.as_ref();
            read.map_or_else(
                || "is not known to be so now".to_owned(),
                |reading| format!("{} were read at {}", reading.replicas, reading.read_at),
            )
        },
        |current| {
            format!(
                "{service} is now at {service}@{} = {}",
                current.intent_revision, current.desired_replicas
            )
        },
    );
    let mut problem = Problem::new(
        "replayed_not_current",
        Exit::Diverged,
        format!(
            "{} was done at {done} ({name} = {}), but {now}",
            execution.key(),
            execution.desired()
        ),
    );
    if let Some(current) = newer {
        problem = problem.fact(
            "since",
            format!("{} by {}: {:?}", current.accepted_at, current.actor, current.reason),
        );
    }
    problem.hint("to scale again, use a new key").run(context.command(&[
        "scale",
        &format!("{service}={}", execution.desired()),
        "--key",
        &format!("{}-2", execution.key()),
        "--reason",
        "…",
    ]))
}

/// The exit of a step on a key.
pub(crate) fn step_exit(report: &Report) -> Exit {
    exit_of(standing::of_step(&report.execution))
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
        Column::left("WRITER"),
        Column::right("MIN"),
        Column::right("MAX"),
        Column::left("ACTUATOR"),
        Column::left("TARGET").shrinks(),
        Column::left("MATCH"),
        Column::left("READINGS"),
        Column::left("UNKNOWN"),
        Column::left("COOLDOWN"),
        Column::right("REG"),
        Column::left("LABELS").shrinks(),
    ]);
    for registration in heads.iter().filter_map(|head| head.registration.as_ref()) {
        table.row(service_row(registration));
    }
    table
}

fn word<T: serde::Serialize>(value: &T) -> String {
    match json!(value) {
        Value::String(word) => word,
        other => other.to_string(),
    }
}

fn service_row(registration: &Registration) -> Vec<Cell> {
    let terms = &registration.terms;
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
        Cell::new(registration.mode.as_str()),
        Cell::new(&registration.writer),
        Cell::new(registration.min_replicas),
        Cell::new(registration.max_replicas),
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
        Column::left("WHY").shrinks(),
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
            Cell::maybe(
                execution.outcome().map(super::super::domain::scale::execution::Outcome::as_str),
            ),
            Cell::new(format!(
                "{}/{}",
                execution.attempts, execution.intent.wish.retry_policy.max_attempts
            )),
            Cell::new(&execution.put_by.actor),
            Cell::new(execution.put_at.truncated_to_millis()),
            Cell::new(execution.key()),
            Cell::new(execution.intent.wish.reason.as_str()),
        ]);
    }
    table
}

/// A reading in words.
pub(crate) fn reading_text(reading: &Reading) -> String {
    match reading.ready_replicas {
        Some(ready) => format!("{ready} of {} running", reading.replicas),
        None => format!("{} declared", reading.replicas),
    }
}
