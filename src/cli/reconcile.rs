//! `reconcile`: one pass of the reconciler.

use clap::{ArgMatches, Args, FromArgMatches as _};
use serde_json::{Value, json};

use super::app::App;
use super::exit::Exit;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Applied, Out, Recorded};
use super::problem::Problem;
use super::table::{Cell, Column, Table};
use super::ticks::{TickArgs, answer_of_rows, closed, recorded};
use super::unwell::left_to_a_person;
use super::{ending, view};
use crate::domain::id::ServiceName;
use crate::domain::scale::decide::verdict_of;
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::observation::ReadingVerdict;
use crate::domain::scale::service::OnUnknown;
use crate::domain::scale::standing;
use crate::domain::time::Timestamp;
use crate::ops::reconcile::{Action, Converged, ReconcileRequest, Reconciled, reconcile};
use crate::ops::report::{Effect, Report};

pub(super) const NOUN: Noun = Noun {
    name: "reconcile",
    group: "Fleet",
    about: "One pass: carry out what was accepted, confirm it, find out what was lost",
    augment: ReconcileArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct ReconcileArgs {
    /// The services [default: all]
    #[arg(value_name = "SERVICE")]
    services: Vec<ServiceName>,
    /// Only bring static services, and what a person has pinned, back to their counts
    #[arg(long = "static")]
    only_static: bool,
    #[command(flatten)]
    tick: TickArgs,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let args = ReconcileArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    super::install_signals()?;
    let request = ReconcileRequest {
        services: args.services,
        health: args.tick.gate(),
        max_actions: args.tick.max_actions,
        only_static: args.only_static,
        valid_for: args.tick.valid_for,
        approve_within: args.tick.approve_within,
    };
    let done = reconcile(app.session()?, &request)?;
    Ok(answer_of(done, app))
}

/// How one row ends, as an answer about it alone would.
fn ending_of(row: &Converged, app: &App) -> Answer {
    let now = app.opened().map_or_else(|| app.clock().now(), crate::ops::Session::now);
    let Some(report) = &row.report else {
        let text = format!("{}: {}", row.service, row.why);
        let blind = || Answer::failed(Problem::new("fact_unknown", Exit::FactUnknown, text));
        let answer = if row.is_blind { blind() } else { Answer::ok() };
        return answer.applied(ending::applied(row.effect));
    };
    match exit_of(report, row.effect, now) {
        exit @ Exit::Attention => {
            Answer::failed(for_a_person(report, app)).applied(ending::applied_of(report, exit))
        }
        exit => ending::of(app, report, exit),
    }
}

/// What has succeeded waits for the next pass, and what was proposed for a colleague: both is well.
fn exit_of(report: &Report, effect: Effect, now: Timestamp) -> Exit {
    let execution = &report.execution;
    match &execution.phase {
        // Somebody has wished anew meanwhile: that is what counts.
        Phase::Proposed { .. } | Phase::Withdrawn | Phase::Superseded { .. } => Exit::Ok,
        Phase::RecoveryPending { pending } => {
            let terms = &execution.intent.terms;
            let time_tells = terms.on_unknown != OnUnknown::Halt
                && (effect == Effect::Unknown || !pending.is_quiet(terms.quiet_ms, now));
            if time_tells { Exit::Unknown } else { Exit::Attention }
        }
        Phase::Succeeded | Phase::Observed if !execution.drift && !is_not_ready(execution) => {
            Exit::Ok
        }
        _ => view::exit_of(standing::of_observe(execution)),
    }
}

fn is_not_ready(execution: &Execution) -> bool {
    let last = execution.last_reading.as_ref();
    last.is_some_and(|reading| verdict_of(execution, reading) == ReadingVerdict::NotYet)
}

/// What nobody but a person can tell any more.
fn for_a_person(report: &Report, app: &App) -> Problem {
    let execution = &report.execution;
    let name = format!("{}@{}", execution.intent.service, execution.revision());
    let text = format!("{name} is unknown, and neither time nor its actuator can tell");
    let problem = Problem::new("attention", Exit::Attention, text)
        .hint("what is known is told by the first; look at the target, then say what became of it");
    left_to_a_person(problem, execution, &app.problem_context())
}

fn answer_of(done: Reconciled, app: &App) -> Answer {
    let actions = done.actions();
    let (gate, health) = (closed(&done.health), done.health.as_str());
    let (mut problems, mut views, mut applied) = (Vec::new(), Views::default(), Applied::No);
    let mut table = Table::new([
        Column::left("SERVICE"),
        Column::left("DONE"),
        Column::right("REV"),
        Column::right("WANT"),
        Column::left("STATE"),
        Column::right("EXIT"),
        Column::left("WHY").wraps(),
    ]);
    for row in done.rows {
        let ending = ending_of(&row, app);
        let (service, action, why) = (row.service, row.action, row.why);
        let execution = row.report.map(|report| report.execution);
        let ending = match row.failure {
            Some(error) => Answer::failed(app.problem_of(error.into(), row.left)),
            None => ending,
        };
        applied = applied.max(ending.is_applied());
        let view = view_of(&service, action, &why, execution.as_ref(), ending.exit());
        table.row([
            Cell::new(&service),
            Cell::new(action.as_str()),
            Cell::maybe(execution.as_ref().map(Execution::revision)),
            Cell::maybe(execution.as_ref().map(Execution::desired)),
            Cell::maybe(execution.as_ref().map(|it| it.phase.as_str())),
            Cell::new(ending.exit().code()),
            Cell::new(&why),
        ]);
        views.add(action, view, execution.as_ref());
        problems.extend(ending.into_problem());
    }
    let mut answer = gate.unwrap_or_else(|| answer_of_rows(problems, done.end, app));
    let is_recorded = recorded(app);
    answer.changed = is_recorded == Recorded::Yes;
    answer = answer
        .recorded(is_recorded)
        .applied(applied)
        .noun("actions", &actions)
        .noun("converged", &views.converged)
        .noun("deferred", &views.deferred)
        .noun("unchanged", &views.unchanged)
        .noun("health", &health);
    for key in views.keys {
        answer = answer.name(key);
    }
    if table.is_empty() { answer.line("no service was looked at") } else { answer.table(table) }
}

/// The rows for machines, by what was done.
#[derive(Default)]
struct Views {
    converged: Vec<Value>,
    deferred: Vec<Value>,
    unchanged: Vec<Value>,
    keys: Vec<String>,
}

impl Views {
    fn add(&mut self, action: Action, view: Value, execution: Option<&Execution>) {
        match action {
            Action::Nothing => self.unchanged.push(view),
            Action::Deferred => self.deferred.push(view),
            Action::Actuate
            | Action::Retry
            | Action::Observe
            | Action::Recover
            | Action::BringBack => {
                self.converged.push(view);
                self.keys.extend(execution.map(|it| it.key().to_string()));
            }
        }
    }
}

fn view_of(
    service: &ServiceName,
    action: Action,
    why: &str,
    execution: Option<&Execution>,
    exit: Exit,
) -> Value {
    json!({
        "service": service,
        "action": action.as_str(),
        "reason": why,
        "exit": exit.code(),
        "execution_key": execution.map(Execution::key),
        "intent_revision": execution.map(Execution::revision),
        "desired": execution.map(Execution::desired),
        "state": execution.map(|it| it.phase.as_str()),
        "outcome": execution.and_then(view::outcome_word),
    })
}
