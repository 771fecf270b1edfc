//! `gate`: whether a deployment may go on; a line per service, and the one exit of the worst.

mod summary;
mod words;

use std::ffi::OsString;
use std::path::Path;

use clap::{ArgMatches, Args, FromArgMatches as _};
use serde_json::{Value, json};

use super::app::App;
use super::args::wait;
use super::exit::Exit;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::problem::Problem;
use super::scale::wish_of;
use super::selection::{Selection, is_in_service};
use super::table::{Cell, Column, Table, Tone};
use super::{install_signals, parse_fault, view};
use crate::actuator::host::Deadline;
use crate::domain::id::{InvalidIdentifier, OutOfRange, Replicas, ServiceName};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::passage::Passage;
use crate::domain::time::{DurationMs, Timestamp};
use crate::ops::gate::{GateRequest, Gated, gate};
use words::{held, problem_of, read_text, verdict, why, wish_text};

pub(super) const NOUN: Noun = Noun {
    name: "gate",
    group: "Every day",
    about: "Whether a deployment may go on: 0 where every service is as wished",
    augment: GateArgs::augment_args,
    run,
    hidden: false,
};

/// How old what is recorded may be where no target is read.
const RECORDED_AGE_MAX: DurationMs = DurationMs::from_secs(300);

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is one flag")]
struct GateArgs {
    /// A service, or a service and the count that must be wished of it
    #[arg(value_name = "SERVICE[=N]", required_unless_present = "selector")]
    services: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    /// All replicas must be ready
    #[arg(long)]
    ready: bool,
    /// Every broken glass of the service must have been reviewed
    #[arg(long)]
    reviewed: bool,
    /// Read no target: what is recorded must do
    #[arg(long)]
    recorded: bool,
    /// What was read so long ago at most need not be read again [default: 0s; 5m with --recorded]
    #[arg(long, value_name = "DURATION", value_parser = wait)]
    max_age: Option<DurationMs>,
    /// Look again while time alone may open it
    #[arg(long)]
    wait: bool,
    /// How long to wait for that
    #[arg(long, value_name = "DURATION", value_parser = wait, default_value = "10m")]
    timeout: DurationMs,
    /// Add the verdict in Markdown to FILE [default file: $GITHUB_STEP_SUMMARY, else stdout]
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
    )]
    summary: Option<OsString>,
}

fn run(matches: &ArgMatches, app: &mut App, out: &mut Out) -> Outcome {
    let args = GateArgs::from_arg_matches(matches).map_err(parse_fault)?;
    install_signals()?;
    if args.wait {
        app.waits_at_most(args.timeout);
    }
    let services = match args.selection.services(app, is_in_service)? {
        Some(selected) => selected.into_iter().map(|service| (service, None)).collect(),
        None => services(&args.services)?,
    };
    let age_max = if args.recorded { RECORDED_AGE_MAX } else { DurationMs::ZERO };
    let request = GateRequest {
        ready: args.ready,
        reviewed: args.reviewed,
        age_max: args.max_age.unwrap_or(age_max),
        is_recorded: args.recorded,
        until: args.wait.then(|| Deadline::after(args.timeout)),
    };
    app.session()?.tell_standing()?;
    let mut said = String::new();
    let rows = gate(app.session()?, &services, request, &mut |rows, left| {
        let (what, line) = waiting(rows, left);
        if what != said {
            out.progress(&line);
            said = what;
        }
    })?;
    let now = app.session()?.now();
    let mut answer = answer_of(app, rows, now, out);
    if let Some(file) = &args.summary {
        let file = Some(Path::new(file)).filter(|file| !file.as_os_str().is_empty());
        answer = summary::add(answer, file, app, out.format());
    }
    Ok(answer.answer)
}

/// The services, each named once.
fn services(words: &[String]) -> Result<Vec<(ServiceName, Option<Replicas>)>, Fault> {
    let mut services: Vec<(ServiceName, Option<Replicas>)> = Vec::new();
    for word in words {
        let (service, count) = if word.contains('=') {
            let (service, count) = wish_of(word)?;
            let refuse =
                |error: OutOfRange| Fault::usage("invalid_wish", format!("{word}: {error}"));
            (service, Some(Replicas::new(count).map_err(refuse)?))
        } else {
            let refuse =
                |error: InvalidIdentifier| Fault::usage("invalid_service", error.to_string());
            (word.parse().map_err(refuse)?, None)
        };
        if services.iter().any(|(known, _)| *known == service) {
            return Err(named_twice(service.as_str()).into());
        }
        services.push((service, count));
    }
    Ok(services)
}

/// A service that a line names more than once.
pub(super) fn named_twice(service: &str) -> Problem {
    Problem::usage("named_twice", format!("{service} is named twice"))
        .hint("name each service once, with the count that is meant")
}

/// What is waited for, and the line that says so.
fn waiting(rows: &[Gated], left: DurationMs) -> (String, String) {
    let closed: Vec<&Gated> = rows.iter().filter(|row| row.passage != Passage::Open).collect();
    let reasons: Vec<String> =
        closed.iter().map(|row| format!("{}: {}", row.service, why(row))).collect();
    let what = reasons.join("; ");
    let left = DurationMs::from_secs(left.as_millis() / 1000);
    let line = format!(
        "gate: {} of {} not yet, {left} left; waiting for {what}",
        closed.len(),
        rows.len()
    );
    (what, line)
}

/// An answer, and what its summary is made of.
struct Told {
    answer: Answer,
    rows: Vec<Gated>,
    last: String,
    now: Timestamp,
}

/// The rows, and the problem of the worst of them.
fn answer_of(app: &App, mut rows: Vec<Gated>, now: Timestamp, out: &mut Out) -> Told {
    let mut problems: Vec<(ServiceName, Problem)> = Vec::new();
    for row in &mut rows {
        if row.passage != Passage::Open {
            problems.push((row.service.clone(), problem_of(app, row, now)));
        }
    }
    summary::annotate(&problems, app, out);
    let open = rows.len() - problems.len();
    let last = match problems.len() {
        0 => format!("gate: open ({open} of {open})"),
        closed => format!("gate: closed ({closed} of {})", rows.len()),
    };
    let views: Vec<Value> = rows
        .iter()
        .map(|row| {
            let own = problems.iter().find(|(service, _)| *service == row.service);
            view_of(row, own.map(|(_, problem)| problem), now)
        })
        .collect();
    let worst = problems.iter().map(|(_, problem)| rank(problem.exit)).max();
    let first = problems.iter().position(|(_, problem)| Some(rank(problem.exit)) == worst);
    let answer = match first {
        None => Answer::ok(),
        Some(first) => {
            let (_, problem) = problems.remove(first);
            let also = problems.iter().map(|(_, other)| other.message.clone());
            let also = also.collect::<Vec<_>>().join("; ");
            let problem = if also.is_empty() { problem } else { problem.fact("also", also) };
            Answer::failed(problem)
        }
    };
    let mut answer = answer
        .noun("open", &(open == rows.len()))
        .noun("services", &views)
        .table(table_of(&rows, now));
    for row in &rows {
        if let Some(hold) = row.head.authority.hold_at(now) {
            answer = answer.line(held(&row.service, hold));
        }
    }
    answer = answer.line(last.clone());
    for row in rows.iter().filter(|row| row.passage == Passage::Open) {
        answer = answer.name(row.service.as_str());
    }
    Told { answer, rows, last, now }
}

/// What a person must look at first, then what somebody else must do, then what time may bring.
pub(super) const fn rank(exit: Exit) -> (u8, u8) {
    match exit {
        Exit::Internal | Exit::LedgerUnusable => (5, 0),
        Exit::Unknown => (4, 2),
        Exit::Diverged => (4, 1),
        Exit::Failed => (4, 0),
        Exit::NotYet => (0, 0),
        Exit::FactUnknown | Exit::Unavailable => (1, exit.code()),
        Exit::ApprovalRequired | Exit::Attention => (2, exit.code()),
        other => (3, other.code()),
    }
}

fn table_of(rows: &[Gated], now: Timestamp) -> Table {
    let mut table = Table::new([
        Column::left("SERVICE"),
        Column::right("WANT"),
        Column::left("READ"),
        Column::left("WISH"),
        Column::left("GATE"),
        Column::left("WHY").wraps(),
    ]);
    for row in rows {
        let is_open = row.passage == Passage::Open;
        let tone = match (is_open, row.may_open()) {
            (true, _) => Tone::Good,
            (false, true) => Tone::Plain,
            (false, false) => Tone::Bad,
        };
        table.row([
            Cell::new(&row.service),
            Cell::maybe(row.asked.or(row.wanted)),
            Cell::maybe(read_text(row, now)),
            Cell::maybe(row.wish.as_ref().map(wish_text)),
            Cell::new(verdict(row)).tone(tone),
            Cell::maybe((!is_open).then(|| why(row))),
        ]);
    }
    table
}

fn view_of(row: &Gated, problem: Option<&Problem>, now: Timestamp) -> Value {
    json!({
        "service": row.service,
        "verdict": row.passage.as_str(),
        "exit": problem.map_or(Exit::Ok, |problem| problem.exit).code(),
        "asked_replicas": row.asked,
        "desired_replicas": row.wanted,
        "replicas": row.seen.map(|seen| seen.replicas),
        "ready_replicas": row.seen.and_then(|seen| seen.ready),
        "read_at": row.seen.map(|seen| seen.at),
        "age_ms": row.seen.map(|seen| now.since(seen.at)),
        "intent_revision": row.wish.as_ref().map(Execution::revision),
        "execution_key": row.wish.as_ref().map(|wish| wish.key().clone()),
        "state": row.wish.as_ref().map(|wish| wish.phase.as_str()),
        "outcome": row.wish.as_ref().and_then(view::outcome_word),
        "unreviewed": row.head.authorizations.len(),
        "held": row.head.authority.hold_at(now),
        "why": (row.passage != Passage::Open).then(|| why(row)),
        "next": problem.map(|problem| problem.next.clone()),
    })
}
