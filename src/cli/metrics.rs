//! `metrics`: how the services stand, as Prometheus reads it from a text file.
//!
//! Reads what is recorded and asks no target. A file is replaced as a whole, so that whoever
//! scrapes it never reads half of one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches as _};
use serde_json::{Value, json};

use super::app::App;
use super::exit::Exit;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Format, Out};
use super::problem::Problem;
use super::status::row::{Row, rows};
use crate::domain::count::counted;
use crate::domain::id::{EnvironmentName, ServiceName};
use crate::domain::placement::environment::Environment;
use crate::domain::placement::operation::{Course, Operation};
use crate::domain::scale::cooldown::CooldownStatus;
use crate::domain::scale::execution::Outcome as WishOutcome;
use crate::domain::scale::passage::{Seen, wanted};
use crate::domain::time::{DurationMs, Timestamp};
use crate::files;
use crate::ops::OpError;
use crate::ops::cooldown::cooldown;

pub(super) const NOUN: Noun = Noun {
    name: "metrics",
    group: "Ledger",
    about: "How the services stand, as Prometheus text: for a node exporter's textfile directory",
    augment: MetricsArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct MetricsArgs {
    /// Only these services
    services: Vec<ServiceName>,
    /// Replace this file as a whole, and print nothing
    #[arg(long, value_name = "FILE")]
    textfile: Option<PathBuf>,
}

/// One gauge: its name and what it says.
struct Gauge {
    name: &'static str,
    help: &'static str,
}

/// Every gauge of a service, in the order of the text.
const GAUGES: [Gauge; 11] = [
    Gauge { name: "wanted_replicas", help: "The count that is wished." },
    Gauge { name: "read_replicas", help: "The count that was read last." },
    Gauge { name: "ready_replicas", help: "How many were ready when it was read last." },
    Gauge { name: "reading_age_seconds", help: "How long ago the target was read." },
    Gauge { name: "unfinished", help: "Wishes that are under way." },
    Gauge { name: "unknown", help: "Wishes with a call that nobody knows the outcome of." },
    Gauge { name: "drift", help: "1 where the target was seen to differ from what is wished." },
    Gauge { name: "unreviewed", help: "Broken glass that nobody has reviewed." },
    Gauge { name: "cooldown_seconds", help: "How long it still cools; -1 where nobody knows." },
    Gauge { name: "held", help: "1 while a hold lets nothing change the count." },
    Gauge { name: "needs_a_person", help: "Wishes that only a person brings on." },
];

/// Every gauge of an environment.
const MOVES: [Gauge; 2] = [
    Gauge { name: "environment_serves", help: "0 while a move keeps it away." },
    Gauge { name: "environment_stuck", help: "1 where only a person brings its change on." },
];

fn run(matches: &ArgMatches, app: &mut App, out: &mut Out) -> Outcome {
    let args = MetricsArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    for service in &args.services {
        app.session()?.load_service(service)?;
    }
    app.session()?.tell_standing()?;
    let mut of: BTreeMap<ServiceName, Vec<Row>> = BTreeMap::new();
    for row in rows(app.session()?, &args.services)? {
        let Some(service) = row.head.registration.as_ref().map(|it| it.service.clone()) else {
            continue;
        };
        of.entry(service).or_default().push(row);
    }
    let mut values: BTreeMap<&'static str, Vec<(ServiceName, f64)>> = BTreeMap::new();
    for (service, rows) in &of {
        let cools = cools(app, service)?;
        let now = app.session()?.now();
        for (name, value) in gauges(rows, cools, now) {
            values.entry(name).or_default().push((service.clone(), value));
        }
    }
    let moves = if args.services.is_empty() { moves(app)? } else { Vec::new() };
    let text = text(app, &values, &moves)?;
    let answer = Answer::ok().noun("metrics", &views(&values, &moves));
    if let Some(file) = &args.textfile {
        App::file_named("--textfile", file)?;
        files::replace(file, text.as_bytes(), 0o644).map_err(|error| {
            let what = format!("{} was not replaced: {error}", file.display());
            Fault::from(
                Problem::new("textfile_not_written", Exit::Unavailable, what)
                    .hint("what was there is as it was; make the directory writable for this user"),
            )
        })?;
        return Ok(answer.line(format!(
            "{} has {}",
            file.display(),
            counted(of.len() as u64, "service")
        )));
    }
    if out.format() == Format::Table {
        out.data(&text);
        return Ok(answer.streamed());
    }
    Ok(answer)
}

/// How long a service still cools, in seconds; below zero where nobody knows.
fn cools(app: &mut App, service: &ServiceName) -> Result<f64, Fault> {
    Ok(match cooldown(app.session()?, service) {
        Err(OpError::Rejected { .. }) | Ok((CooldownStatus::Unknown { .. }, ..)) => -1.0,
        Err(error) => return Err(error.into()),
        Ok((CooldownStatus::Clear { .. }, ..)) => 0.0,
        Ok((CooldownStatus::Active { until, .. }, _, now)) => seconds(until.since(now)),
    })
}

/// The gauges of one service; what is not known has none.
fn gauges(rows: &[Row], cools: f64, now: Timestamp) -> Vec<(&'static str, f64)> {
    let Some(head) = rows.first().map(|row| &row.head) else { return Vec::new() };
    let count = |is: &dyn Fn(&&Row) -> bool| small(rows.iter().filter(|row| is(row)).count());
    let mut found = Vec::new();
    let seen = Seen::of(head);
    found.extend(wanted(head).map(|count| ("wanted_replicas", number(count.get()))));
    if let Some(seen) = seen {
        found.push(("read_replicas", number(seen.replicas.get())));
        found.extend(seen.ready.map(|ready| ("ready_replicas", number(ready.get()))));
        found.push(("reading_age_seconds", seconds(now.since(seen.at))));
    }
    let is_unfinished =
        |row: &&Row| row.execution.as_ref().is_some_and(|it| !it.phase.is_finished());
    let is_unknown = |row: &&Row| row.outcome == Some(WishOutcome::Unknown.as_str());
    found.extend([
        ("unfinished", count(&is_unfinished)),
        ("unknown", count(&is_unknown)),
        ("drift", f64::from(u8::from(rows.iter().any(|row| row.drift)))),
        ("unreviewed", small(head.authorizations.len())),
        ("cooldown_seconds", cools),
        ("held", f64::from(u8::from(head.authority.hold_at(now).is_some()))),
        ("needs_a_person", count(&|row| row.need.is_some())),
    ]);
    found
}

/// Whether each environment serves, and whether a person is to bring it on.
fn moves(app: &mut App) -> Result<Vec<(EnvironmentName, [f64; 2])>, Fault> {
    let state = app.session()?.placement()?;
    let of = |environment: &Environment| {
        let operation = state.under_way(environment);
        let serves = !operation.is_some_and(Operation::keeps_away);
        let is_stuck = operation.is_some_and(|it| it.course == Course::Stuck);
        [serves, is_stuck].map(|is| f64::from(u8::from(is)))
    };
    Ok(state.environments.iter().map(|(name, it)| (name.clone(), of(it))).collect())
}

fn text(
    app: &mut App,
    values: &BTreeMap<&'static str, Vec<(ServiceName, f64)>>,
    moves: &[(EnvironmentName, [f64; 2])],
) -> Result<String, Fault> {
    let identity = app.session()?.identity();
    let mut text = String::from("# HELP scalectl_ledger_info Which ledger this is of.\n");
    text.push_str("# TYPE scalectl_ledger_info gauge\n");
    let (id, engine) = (&identity.ledger_id, identity.engine);
    let of =
        format!("ledger=\"{id}\",engine=\"{engine}\",incarnation=\"{}\"", identity.incarnation);
    let mut line = |line: std::fmt::Arguments<'_>| {
        writeln!(text, "{line}").expect("BUG: a String takes every text");
    };
    line(format_args!("scalectl_ledger_info{{{of}}} 1"));
    let mut series = |gauge: &Gauge, noun: &str, rows: &[(&str, f64)]| {
        let name = gauge.name;
        line(format_args!("# HELP scalectl_{name} {}", gauge.help));
        line(format_args!("# TYPE scalectl_{name} gauge"));
        for (of, value) in rows {
            line(format_args!("scalectl_{name}{{{noun}=\"{}\"}} {value}", label(of)));
        }
    };
    for gauge in &GAUGES {
        let Some(rows) = values.get(gauge.name) else { continue };
        let rows: Vec<_> = rows.iter().map(|(of, value)| (of.as_str(), *value)).collect();
        series(gauge, "service", &rows);
    }
    for (at, gauge) in MOVES.iter().enumerate().filter(|_| !moves.is_empty()) {
        let rows: Vec<_> = moves.iter().map(|(of, values)| (of.as_str(), values[at])).collect();
        series(gauge, "environment", &rows);
    }
    Ok(text)
}

fn views(
    values: &BTreeMap<&'static str, Vec<(ServiceName, f64)>>,
    moves: &[(EnvironmentName, [f64; 2])],
) -> Vec<Value> {
    let of_moves = moves.iter().flat_map(|(environment, values)| {
        MOVES.iter().zip(values).map(move |(gauge, value)| {
            let name = format!("scalectl_{}", gauge.name);
            json!({"name": name, "environment": environment, "value": value})
        })
    });
    let all = values.iter().flat_map(|(name, rows)| rows.iter().map(move |row| (name, row)));
    all.map(|(name, (service, value))| {
        json!({"name": format!("scalectl_{name}"), "service": service, "value": value})
    })
    .chain(of_moves)
    .collect()
}

/// A value between the quotes of a label.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}

fn small(count: usize) -> f64 {
    number(count as u64)
}

fn seconds(duration: DurationMs) -> f64 {
    number(duration.as_millis()) / 1000.0
}
