//! `status`: what is wished, what was read, and what needs a person.

mod laid;

use clap::{ArgMatches, Args, FromArgMatches as _};
use serde_json::{Value, json};

use super::app::App;
use super::exit::Exit;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::table::{Cell, Column, Table, Tone};
use super::view;
use crate::domain::id::ServiceName;
use crate::domain::scale::attempt::Pending;
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::service::RegisteredMode;
use crate::domain::scale::state::ServiceHead;
use crate::domain::time::Timestamp;
use crate::ledger::ExecutionFilter;
use crate::ops::Session;

pub(super) const NOUN: Noun = Noun {
    name: "status",
    group: "Every day",
    about: "What is wished, what was read, and what needs a person",
    augment: StatusArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct StatusArgs {
    /// Only these services
    services: Vec<ServiceName>,
    /// Exit 26 if anything needs a person
    #[arg(long)]
    check: bool,
}

/// One row: a service and the intent that says where it stands.
struct Row {
    head: ServiceHead,
    execution: Option<Execution>,
    state: &'static str,
    outcome: Option<&'static str>,
    by: Option<String>,
    next: Option<String>,
    need: Option<String>,
    drift: bool,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let args = StatusArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    for service in &args.services {
        app.session()?.load_service(service)?;
    }
    let rows = rows(app.session()?, &args.services)?;
    for row in &rows {
        let phase = row.execution.as_ref().map(|execution| &execution.phase);
        if let Some(
            Phase::Started { call } | Phase::RecoveryPending { pending: Pending { call, .. } },
        ) = phase
        {
            app.session()?.tell_unreadable(call);
        }
    }
    let session = app.session()?;
    let now = session.now();
    let identity = session.ledger.identity().clone();
    let needs: Vec<String> = rows.iter().filter_map(|row| row.need.clone()).collect();
    let exit = if args.check && !needs.is_empty() { Exit::Attention } else { Exit::Ok };
    let views: Vec<Value> = rows.iter().map(|row| row_view(row, now)).collect();
    let mut answer = Answer::ending(exit)
        .noun("services", &views)
        .noun("need_a_person", &needs)
        .line(format!(
            "ledger {} ({}, {})   {}",
            identity.path.display(),
            identity.engine,
            identity.ledger_id,
            now.truncated_to_millis()
        ))
        .line(String::new());
    if rows.is_empty() {
        answer = answer.line("no service is registered");
    } else {
        answer = answer.table(table_of(&rows, now));
    }
    if !needs.is_empty() {
        let verb = if needs.len() == 1 { "needs" } else { "need" };
        answer = answer.line(String::new()).line(format!(
            "{} {verb} a person: {}",
            needs.len(),
            needs.join(", ")
        ));
    }
    for line in laid::lines(&rows, now) {
        answer = answer.line(line);
    }
    for row in &rows {
        if let Some(registration) = &row.head.registration {
            answer = answer.name(registration.service.as_str());
        }
    }
    Ok(answer)
}

fn rows(session: &mut Session, services: &[ServiceName]) -> Result<Vec<Row>, super::fault::Fault> {
    let read = session.ledger.read()?;
    let heads = read.service_heads()?;
    let filter = ExecutionFilter { unfinished: true, ..ExecutionFilter::default() };
    let unfinished = read.executions(&filter)?;
    let mut found = Vec::new();
    for (service, head) in heads {
        if !services.is_empty() && !services.contains(&service) {
            continue;
        }
        // What is over is shown to whoever names it.
        if services.is_empty() && head.authority.retired.is_some() {
            continue;
        }
        let mut own: Vec<Execution> = unfinished
            .iter()
            .filter(|execution| execution.intent.service == service && execution.is_live())
            .cloned()
            .collect();
        if let Some(wanted) = &head.wanted
            && own.iter().all(|execution| *execution.key() != wanted.execution_key)
        {
            own.extend(read.find_execution(&wanted.execution_key)?);
        }
        own.sort_by_key(Execution::revision);
        found.push((head, own));
    }
    drop(read);
    let mut rows = Vec::new();
    for (head, own) in found {
        if own.is_empty() {
            rows.push(row_of(session, head, None));
        } else {
            for execution in own {
                rows.push(row_of(session, head.clone(), Some(execution)));
            }
        }
    }
    Ok(rows)
}

fn row_of(session: &Session, head: ServiceHead, execution: Option<Execution>) -> Row {
    let now = session.now();
    let is_external = head.registration.as_ref().is_some_and(|registration| {
        matches!(registration.mode, RegisteredMode::ExternalHpa | RegisteredMode::ExternalKeda)
    });
    let wanted = head.wanted.as_ref().map(|wanted| wanted.desired_replicas);
    let read = head.newest_reading.as_ref().map(|reading| reading.replicas);
    let Some(execution) = execution else {
        let state = if is_external { "external" } else { "-" };
        return Row {
            head,
            execution: None,
            state,
            outcome: None,
            by: None,
            next: None,
            need: None,
            drift: false,
        };
    };
    let name = format!("{}@{}", execution.intent.service, execution.revision());
    let key = execution.key();
    let mut outcome = view::outcome_word(&execution);
    let mut need = None;
    let next = match &execution.phase {
        Phase::Proposed { .. } => Some(format!("scalectl approval show {name}")),
        Phase::Accepted if execution.fence().is_some_and(|fence| !fence.is_alive(now)) => {
            Some("its fence ran out: wish it anew".to_owned())
        }
        Phase::Accepted => Some(format!("scalectl actuate {name}")),
        Phase::Started { call } if session.call_seems_ended(&execution, call) => {
            // Derived, not stored: the next write records it.
            outcome = Some("unknown");
            need = Some(format!("{name} (its call has ended without a result)"));
            Some(format!("scalectl replay {name}"))
        }
        Phase::Started { .. } => execution.lease.as_ref().map(|held| {
            let until = held.lease.expires_at.truncated_to_millis();
            format!("on {} until {until}", held.holder.host)
        }),
        Phase::RecoveryPending { .. } => {
            let age = now.since(execution.updated_at);
            need = Some(format!("{name} (unknown for {age})"));
            Some(format!("scalectl replay {name}"))
        }
        Phase::Failed { retry_at } => Some(format!("scalectl actuate {key} (from {retry_at})")),
        Phase::Succeeded | Phase::Observed => Some(format!("scalectl observe {name} --wait")),
        Phase::Verified { .. } | Phase::Rejected | Phase::Withdrawn | Phase::Superseded { .. } => {
            None
        }
    };
    let drift = execution.drift
        || (execution.phase.is_finished() && wanted.is_some() && read.is_some() && wanted != read);
    let wants = if execution.phase.is_finished() { wanted } else { Some(execution.desired()) };
    if let (true, None, Some(read), Some(wants)) = (drift, &need, read, wants) {
        need = Some(format!("{} (reads {read}, wants {wants})", execution.intent.service));
    }
    let need = need.or_else(|| odd_need(&execution, &name));
    let next = next.or_else(|| need.is_some().then(|| format!("scalectl explain {name}")));
    Row {
        state: execution.phase.as_str(),
        by: Some(execution.put_by.actor.to_string()),
        head,
        execution: Some(execution),
        outcome,
        next,
        need,
        drift,
    }
}

/// What a person must look at although the state alone does not say so.
fn odd_need(execution: &Execution, name: &str) -> Option<String> {
    let is_failure = execution.result.as_ref().is_some_and(|recorded| !recorded.result.scaled());
    if execution.drift && is_failure {
        return Some(format!("{name} (failed, and the target is not as it was)"));
    }
    execution.rollback_required.then(|| format!("{name} ({})", view::ROLLBACK))
}

fn table_of(rows: &[Row], now: Timestamp) -> Table {
    let mut table = Table::new([
        Column::left("SERVICE"),
        Column::left("MODE"),
        Column::right("WANT"),
        Column::right("READ"),
        Column::right("READY"),
        Column::right("AGE"),
        Column::right("REV"),
        Column::left("STATE"),
        Column::left("OUTCOME"),
        Column::left("BY"),
        Column::left("NEXT"),
    ]);
    for row in rows {
        let Some(registration) = &row.head.registration else {
            continue;
        };
        let reading = row.head.newest_reading.as_ref();
        let binding = row.head.binding.as_ref();
        let read = reading.map(|r| r.replicas).or(binding.and_then(|b| b.replicas));
        let ready = reading
            .map_or(binding.and_then(|b| b.ready_replicas), |reading| reading.ready_replicas);
        let at = reading.map(|r| r.read_at).or(binding.map(|b| b.read_at));
        let want = row.execution.as_ref().map(Execution::desired);
        let ready = match (ready, want) {
            (Some(ready), Some(want)) => Some(format!("{ready}/{want}")),
            (Some(ready), None) => Some(ready.to_string()),
            (None, _) => None,
        };
        let tone = match row.outcome {
            Some("unknown" | "failed") => Tone::Bad,
            Some("converged") => Tone::Good,
            _ => Tone::Plain,
        };
        table.row([
            Cell::new(&registration.service),
            Cell::new(registration.mode.as_str()),
            Cell::maybe(want),
            if row.drift { Cell::maybe(read).mark("!") } else { Cell::maybe(read) },
            Cell::maybe(ready),
            Cell::maybe(at.map(|at| now.since(at))),
            Cell::maybe(row.execution.as_ref().map(Execution::revision)),
            Cell::new(row.state),
            Cell::maybe(row.outcome).tone(tone),
            Cell::maybe(row.by.as_ref()),
            Cell::maybe(row.next.as_ref()),
        ]);
    }
    table
}

fn row_view(row: &Row, now: Timestamp) -> Value {
    let execution = row.execution.as_ref();
    json!({
        "service": row.head.registration.as_ref().map(|r| &r.service),
        "mode": row.head.registration.as_ref().map(|r| r.mode),
        "desired_replicas": execution.map(Execution::desired),
        "reading": row.head.newest_reading,
        "binding": row.head.binding,
        "intent_revision": execution.map(Execution::revision),
        "execution_key": execution.map(Execution::key),
        "state": row.state,
        "outcome": row.outcome,
        "by": row.by,
        "drift": row.drift,
        "next": row.next,
        "needs_a_person": row.need,
        "lease": execution
            .and_then(|execution| execution.lease.as_ref())
            .map(|held| view::lease(held, now)),
        "current": view::current(&row.head),
    })
}
