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
use crate::domain::time::Timestamp;

mod row;

use row::{Row, rows};

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

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let args = StatusArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    for service in &args.services {
        app.session()?.load_service(service)?;
    }
    app.session()?.tell_standing()?;
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
        let read = row.seen.as_ref().map(|seen| seen.replicas);
        let ready = row.seen.as_ref().and_then(|seen| seen.ready);
        let at = row.seen.as_ref().map(|seen| seen.at);
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
            match (row.is_old, row.drift) {
                (true, _) => Cell::maybe(read).mark("?"),
                (false, true) => Cell::maybe(read).mark("!"),
                (false, false) => Cell::maybe(read),
            },
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
        "read_before_restore": row.is_old,
        "next": row.next,
        "needs_a_person": row.need,
        "lease": execution
            .and_then(|execution| execution.lease.as_ref())
            .map(|held| view::lease(held, now)),
        "current": view::current(&row.head),
    })
}
