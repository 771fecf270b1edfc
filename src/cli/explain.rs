//! `explain`: what is known of a key and the ways out of it; or the plan of a wish.

mod at_call;
mod ways;

use std::fmt::Display;

use clap::{ArgMatches, Args, FromArgMatches as _};
use serde_json::json;

use super::app::App;
use super::approval::known_as;
use super::escape::shell_line;
use super::fault::Fault;
use super::intent::WishArgs;
use super::log::{describe, event_view};
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::problem::ProblemContext;
use super::table::{Cell, Column, Table};
use super::{plan, unwell, upon, view};
use crate::domain::id::{ExecutionKey, ServiceName};
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::gates::Gate;
use crate::domain::scale::left::Left;
use crate::domain::scale::policy::PolicyAction;
use crate::domain::scale::provenance::WishSource;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::state::ServiceHead;
use crate::domain::time::Timestamp;
use crate::ops::{OpError, Session};
use ways::{ways_out, with_ways};

pub(super) const NOUN: Noun = Noun {
    name: "explain",
    group: "Every day",
    about: "What happened to a wish, what is known, and the ways out",
    augment: ExplainArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct ExplainArgs {
    /// A key, SERVICE@REVISION, SERVICE (the newest not taken back), or a wish NAME=N
    #[arg(value_name = "KEY|NAME=N")]
    what: String,
    #[command(flatten)]
    wish: WishArgs,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let args = ExplainArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    if args.what.contains('=') {
        return plan::of_plain_wish(app, &args.what, args.wish, None);
    }
    let key = match app.key(&args.what) {
        Ok(key) if app.session()?.recorded_under(&key)?.is_some() => key,
        // A service stands for its newest intent, as `gate` and `status` mean it.
        Ok(key) if !args.what.contains('@') => match app.key(&format!("{}@latest", args.what)) {
            Ok(newest) => standing(newest, app)?,
            Err(Fault::Op(OpError::Rejected { rejection, .. }))
                if matches!(*rejection, Rejection::NoSuchKey { .. }) =>
            {
                let service = args.what.parse().map_err(|_| Fault::from(*rejection))?;
                return without_a_wish(&service, app);
            }
            // It is neither a key nor a service, and a key is what was most likely meant.
            Err(Fault::Op(OpError::Rejected { rejection, .. }))
                if matches!(*rejection, Rejection::NoSuchService { .. }) =>
            {
                return Err(Rejection::NoSuchKey { key: key.to_string() }.into());
            }
            Err(fault) => return Err(fault),
        },
        other => other?,
    };
    explained(&key, app)
}

/// The newest intent of a service, or the one that holds where that was taken back or refused.
fn standing(newest: ExecutionKey, app: &mut App) -> Result<ExecutionKey, Fault> {
    let (state, execution) = app.session()?.load(&newest)?;
    let is_void = matches!(execution.phase, Phase::Withdrawn | Phase::Rejected);
    let wanted = state.head.wanted.filter(|_| is_void);
    Ok(wanted.map_or(newest, |wanted| wanted.execution_key))
}

/// A service that nobody has wished anything of: who keeps its count, and what lies upon it.
fn without_a_wish(service: &ServiceName, app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let head = app.session()?.load_service(service)?.head;
    let c = ProblemContext { now: app.session()?.now(), ..app.problem_context() };
    let facts = upon::all(app.session()?, service, &head, &c)?;
    let mut answer = Answer::ok()
        .whole_noun("service", view::service(&head))
        .noun("facts", &facts.iter().map(upon::Fact::view).collect::<Vec<_>>())
        .name(service.as_str())
        .line(format!("{service}  nobody has wished a count of it"))
        .line(String::new())
        .line(format!("Upon {service}"));
    answer.current = view::current(&head);
    let answer = facts.iter().flat_map(upon::Fact::lines).fold(answer, Answer::line);
    // What another owns has its way among the facts.
    let is_own = head.registration.is_some_and(|it| it.owner.is_none());
    if !is_own || head.authority.retired.is_some() {
        return Ok(answer);
    }
    let line = shell_line(&c.command(&["scale", &format!("{service}=N"), "--reason", "TEXT"]));
    let ways = [(line, "wish a count of it".to_owned())];
    Ok(with_ways(answer, &ways))
}

fn explained(key: &ExecutionKey, app: &mut App) -> Outcome {
    let session = app.session()?;
    session.tell_standing()?;
    let (state, execution) = session.load(key)?;
    let now = session.now();
    let events = session.events_of(key)?;
    let call = call_text(session, &execution);
    let mut known = known(&execution, now, call);
    let c = ProblemContext { now, ..app.problem_context() };
    let session = app.session()?;
    known.extend(execution.intent.rolls_back.as_ref().map(|key| ("rolls back", key.to_string())));
    known.extend(consent(session, &state.head, &execution, now)?);
    let service = execution.intent.service.clone();
    let facts = upon::all(session, &service, &state.head, &c)?;
    let ways: Vec<(String, String)> = ways_out(&execution, &state, now)
        .into_iter()
        .map(|(line, why)| (upon::on_this_ledger(&line, &c), why))
        .collect();
    let mut answer = Answer::ok()
        .whole_noun("execution", view::execution(&execution))
        .noun("events", &events.iter().map(event_view).collect::<Vec<_>>())
        .noun("known", &json!(known))
        .noun("facts", &facts.iter().map(upon::Fact::view).collect::<Vec<_>>())
        .name(key.as_str())
        .line(view::headline(&execution))
        .line(String::new())
        .line("What happened");
    let happened = events.iter().map(|event| (event.at, describe(event)));
    answer = answer.table(list(happened)).line(String::new()).line("What is known");
    answer = answer.table(list(known.iter().map(|(label, text)| (format!("{label:<12}"), text))));
    let gates = at_call::seen(&execution, &events);
    if !gates.is_empty() {
        answer = answer.line(String::new()).line("Gates at the call");
    }
    let numbered = |(gate, seen): &(Gate, String)| {
        (format!("{:>2} {:<12}", gate.number(), gate.as_str()), seen.clone())
    };
    answer = answer.table(list(gates.iter().map(numbered)));
    let view = |(gate, seen): &(Gate, String)| {
        let (number, gate) = (gate.number(), gate.as_str());
        json!({"number": number, "gate": gate, "seen": seen})
    };
    answer = answer.noun("gates_at_call", &gates.iter().map(view).collect::<Vec<_>>());
    answer = answer.line(String::new()).line(format!("Upon {service}"));
    for line in facts.iter().flat_map(upon::Fact::lines) {
        answer = answer.line(line);
    }
    answer = with_ways(answer, &ways);
    answer.current = view::current(&state.head);
    Ok(answer)
}

/// A list below its heading: what is told, and what is said of it.
fn list(rows: impl Iterator<Item = (impl Display, impl Display)>) -> Table {
    let mut list = Table::list([Column::left(""), Column::left("").wraps()]);
    for (what, text) in rows {
        list.row([Cell::new(what), Cell::new(text)]);
    }
    list
}

/// Whose word the wish rests on, beside that of whoever made it, and who may still say it.
fn consent(
    session: &mut Session,
    head: &ServiceHead,
    execution: &Execution,
    now: Timestamp,
) -> Result<Vec<(&'static str, String)>, Fault> {
    let mut known = Vec::new();
    let made_by = match execution.intent.source {
        WishSource::Cli | WishSource::Gateway => None,
        WishSource::Override => Some("override set: a person has pinned the count"),
        WishSource::Adopt => {
            Some("adopt: a person took what ran for what is wished; nobody was called")
        }
        WishSource::Autoscaler => Some("autoscale: a tick followed a sample"),
        WishSource::Reconciler => Some("reconcile: a tick brought the count back"),
    };
    known.extend(made_by.map(|text| ("made by", text.to_owned())));
    if let Some(approval) = execution.approval() {
        let (actor, reason) = (&approval.by.actor, approval.reason.as_str());
        known.push(("approved by", format!("{actor} ({}): {reason}", known_as(&approval.by))));
    }
    if let Some(id) = execution.authorization_id() {
        let review = if head.authorizations.contains_key(id) { "not reviewed" } else { "reviewed" };
        known.push(("passed by", format!("broken glass {id}, {review}")));
    }
    let Phase::Proposed { until } = &execution.phase else {
        return Ok(known);
    };
    if let Some(asked) = &execution.asked {
        let rules: Vec<&str> = asked.refused.rules.iter().map(|rule| rule.id.as_str()).collect();
        let action = asked.refused.action.as_str();
        known.push((
            "asked because",
            if rules.is_empty() {
                format!("no rule permits {action}")
            } else {
                format!("rule {} forbids {action}", rules.join(", "))
            },
        ));
        known.push(("holds", format!("only while the count is {}", asked.base)));
    }
    let over = if *until <= now { "over since" } else { "open until" };
    known.push((over, format!("{until} ({})", until.apart(now))));
    if let Some(rules) = session.that_may_permit(PolicyAction::Approve)? {
        let rules = if rules.is_empty() {
            "nobody: no rule permits approve".to_owned()
        } else {
            format!("another person, whom policy permits approve: {}", rules.join(", "))
        };
        known.push(("may answer", rules));
    }
    Ok(known)
}

fn known(
    execution: &Execution,
    now: Timestamp,
    call: Option<String>,
) -> Vec<(&'static str, String)> {
    let mut known = vec![
        ("state", execution.phase.as_str().to_owned()),
        (
            "attempts",
            format!(
                "{} of {} (calls: {})",
                execution.attempts,
                execution.intent.wish.retry_policy.max_attempts,
                execution.calls
            ),
        ),
        ("readings", view::agreement(execution, "")),
    ];
    if let Some(reading) = &execution.last_reading {
        known.push((
            "last reading",
            format!(
                "{}, {} ago (version {})",
                view::reading_text(reading),
                now.since(reading.read_at),
                reading.target_resource_version
            ),
        ));
    }
    if let Some(fence) = execution.fence() {
        known.push((
            "fence",
            format!("{}/{} until {}", fence.lease_epoch, fence.fence_token, fence.expires_at),
        ));
    }
    if let Some(held) = execution.live_lease(now) {
        known.push((
            "lease",
            format!(
                "{} on {} (pid {}) until {}",
                held.lease.controller_id, held.holder.host, held.holder.pid, held.lease.expires_at
            ),
        ));
    }
    known.extend(call.map(|text| ("call", text)));
    if let Phase::RecoveryPending { pending } = &execution.phase {
        let quiet = pending.quiet_until(execution.intent.terms.quiet_ms);
        known.push(("unknown", super::problem::why_text(pending.why).to_owned()));
        known.extend(unwell::detail_of(pending).map(|detail| ("detail", detail.to_owned())));
        known.push((
            "applied",
            if pending.fenced { "fenced: nothing comes late" } else { "perhaps" }.to_owned(),
        ));
        known.push(("quiet from", quiet.to_string()));
        known.push(("blocks", format!("every new intent of {}", execution.intent.service)));
    }
    if execution.drift {
        known.push(("drift", drift(execution).to_owned()));
    }
    if execution.rollback_required {
        known.push(("rollback", view::ROLLBACK.to_owned()));
    }
    known
}

/// What can be seen of a call under way.
fn call_text(session: &Session, execution: &Execution) -> Option<String> {
    let Phase::Started { call } = &execution.phase else { return None };
    Some(if session.call_seems_ended(execution, call) {
        "it has ended, and nobody recorded how".to_owned()
    } else if session.call_is_silent(execution, call) {
        format!(
            "no sign of life from {}; its end is not proved here, and counts from {} (its deadline \
             and 300 s)",
            call.holder.host,
            call.ended_at_latest()
        )
    } else {
        "it may be running".to_owned()
    })
}

fn drift(execution: &Execution) -> &'static str {
    match execution.left() {
        Left::Changed => "it failed, and the target is not as it was",
        Left::Nothing | Left::Unconfirmed | Left::Unknown => {
            "a reading or a late result contradicts it"
        }
    }
}
