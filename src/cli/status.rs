//! `status`: what is wished, what was read, and what needs a person.

mod laid;
mod watch;

use std::collections::BTreeMap;

use clap::{ArgMatches, Args, FromArgMatches as _};
use serde_json::{Value, json};

use super::app::App;
use super::args::wait;
use super::exit::Exit;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::placement::phase_of;
use super::problem::ProblemContext;
use super::selection::Selection;
use super::table::{Cell, Column, Table, Tone};
use super::{upon, view};
use crate::domain::id::ServiceName;
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::passage::newest_reading;
use crate::domain::time::{DurationMs, Timestamp};
use crate::ops::Session;

pub(super) mod row;

use row::{Row, rows_with};

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
    #[command(flatten)]
    selection: Selection,
    /// Exit 26 if anything needs a person
    #[arg(long)]
    check: bool,
    /// Read every target now, several at once; nothing is recorded
    #[arg(long)]
    live: bool,
    /// Show it again and again in the same place, until the line is ended
    #[arg(long, conflicts_with = "check")]
    watch: bool,
    /// How long after one look of --watch the next one comes
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = wait,
        default_value = "2s",
        requires = "watch"
    )]
    every: DurationMs,
}

fn run(matches: &ArgMatches, app: &mut App, out: &mut Out) -> Outcome {
    let args = StatusArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    if args.watch { watch::run(&args, app, out) } else { answer_of(&args, app) }
}

fn answer_of(args: &StatusArgs, app: &mut App) -> Outcome {
    for service in &args.services {
        app.session()?.load_service(service)?;
    }
    app.session()?.tell_standing()?;
    let selected = args.selection.services(app, |head| !head.is_over())?;
    let services = selected.as_ref().unwrap_or(&args.services);
    let fresh = if args.live { app.session()?.live(services)? } else { BTreeMap::new() };
    let rows = rows_with(app.session()?, services, &fresh)?;
    for row in &rows {
        if let Some(call) = row.execution.as_ref().and_then(Execution::open_call) {
            app.session()?.tell_unreadable(call);
        }
    }
    let session = app.session()?;
    let now = session.now();
    let identity = session.identity().clone();
    let c = ProblemContext { now, ..app.problem_context() };
    let mut facts = BTreeMap::new();
    // Whoever names none is told less of each.
    let asked = if args.services.is_empty() { BTreeMap::new() } else { laid::heads(&rows) };
    for (service, head) in asked {
        facts.insert(service.clone(), upon::all(app.session()?, service, head, &c)?);
    }
    let mut needs: Vec<String> = rows.iter().filter_map(|row| row.need.clone()).collect();
    needs.extend(laid::needs(&rows, now));
    if selected.is_none() && args.services.is_empty() {
        needs.extend(stuck_moves(app.session()?)?);
    }
    let exit = if args.check && !needs.is_empty() { Exit::Attention } else { Exit::Ok };
    let views: Vec<Value> = rows.iter().map(|row| row_view(row, &facts, now)).collect();
    let mut answer = Answer::ending(exit)
        .noun("services", &views)
        .noun("need_a_person", &needs)
        .line(format!(
            "ledger {} ({}, {})   {}",
            identity.path.display(),
            identity.engine,
            identity.ledger_id,
            now.truncated_to_seconds()
        ))
        .line(String::new());
    if rows.is_empty() {
        answer = answer.line("no service is registered");
    } else {
        answer = answer.table(table_of(&rows, &c));
    }
    let laid = laid::table(app.session()?, &rows, &c)?;
    answer = below(answer, laid.filter(|_| facts.is_empty()), &facts, &needs);
    for row in &rows {
        if let Some(registration) = &row.head.registration {
            answer = answer.name(registration.service.as_str());
        }
    }
    Ok(answer)
}

/// The changes of environments that wait for a person.
fn stuck_moves(session: &mut Session) -> Result<Vec<String>, Fault> {
    let state = session.placement()?;
    Ok(state
        .stuck()
        .map(|it| {
            let away = if it.keeps_away() { ", not serving" } else { "" };
            let show = format!("scalectl operation show {}", it.operation_id);
            format!("environment {} ({}{away}: {show})", it.environment, phase_of(it))
        })
        .collect())
}

/// What is known beside the rows: of services that were named all of it, else what people have laid
/// upon them; and what needs a person.
fn below(
    mut answer: Answer,
    laid: Option<Table>,
    facts: &BTreeMap<ServiceName, Vec<upon::Fact>>,
    needs: &[String],
) -> Answer {
    if let Some(table) = laid {
        answer = answer.line(String::new()).table(table);
    }
    for (service, facts) in facts {
        answer = answer.line(String::new()).line(service.as_str());
        for line in facts.iter().flat_map(upon::Fact::lines) {
            answer = answer.line(line);
        }
    }
    if needs.is_empty() {
        return answer;
    }
    let verb = if needs.len() == 1 { "needs" } else { "need" };
    let line = format!("{} {verb} a person: {}", needs.len(), needs.join(", "));
    answer.line(String::new()).line(line)
}

fn table_of(rows: &[Row], c: &ProblemContext) -> Table {
    let now = c.now;
    let mut table = Table::new([
        Column::left("SERVICE"),
        Column::left("MODE"),
        Column::left("KEPT"),
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
        // Of what was read: what is wished may be another count for a while.
        let ready = ready.zip(read).map(|(ready, read)| format!("{ready}/{read}"));
        let tone = match row.outcome {
            Some("unknown" | "failed") => Tone::Bad,
            Some("converged") => Tone::Good,
            _ => Tone::Plain,
        };
        table.row([
            Cell::new(&registration.service),
            Cell::new(registration.mode.as_str()),
            Cell::maybe(upon::kept(registration, &row.head.authority, now)),
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
            Cell::maybe(row.next.as_ref().map(|line| upon::on_this_ledger(line, c))),
        ]);
    }
    table
}

fn row_view(row: &Row, facts: &BTreeMap<ServiceName, Vec<upon::Fact>>, now: Timestamp) -> Value {
    let execution = row.execution.as_ref();
    let registration = row.head.registration.as_ref();
    let facts = registration.and_then(|it| facts.get(&it.service));
    let facts = facts.map(|facts| facts.iter().map(upon::Fact::view).collect::<Vec<_>>());
    let authority = &row.head.authority;
    let until = execution.and_then(|execution| match &execution.phase {
        Phase::Proposed { until } => Some(*until),
        _ => None,
    });
    json!({
        "service": registration.map(|r| &r.service),
        "mode": registration.map(|r| r.mode),
        "kept": registration.and_then(|r| upon::kept(r, authority, now)),
        "declared_replicas": registration.and_then(|r| r.declared_replicas),
        "hold": authority.hold_at(now),
        "override": authority.pinned_at(now),
        "unreviewed": row.head.authorizations.keys().collect::<Vec<_>>(),
        "proposed_until": until,
        "source": execution.map(|execution| execution.intent.source),
        "facts": facts,
        "desired_replicas": execution.map(Execution::desired),
        "reading": newest_reading(&row.head),
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
