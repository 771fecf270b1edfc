//! `operation`: show, list, run, wait, retry, abandon.

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};
use serde_json::{Value, json};

use super::app::App;
use super::args::wait as wait_of;
use super::capacity::recorded;
use super::escape::shell_line;
use super::exit::Exit;
use super::fault::Fault;
use super::hold::Why;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Applied, Out};
use super::problem::Problem;
use super::table::{Cell, Column, Table, Tone};
use crate::actuator::host::Deadline;
use crate::domain::id::{EnvironmentName, OperationId};
use crate::domain::placement::operation::{Course, Operation, Step, Trouble};
use crate::domain::time::{DurationMs, Timestamp};
use crate::ops::operation_leave::{operation_abandon, operation_retry};
use crate::ops::operation_run::{Told, operation_run};
use crate::ops::operation_wait::operation_wait;

pub(super) const NOUN: Noun = Noun {
    name: "operation",
    group: "Placement",
    about: "Changes of a placement, step by step: show, list, run, wait, retry, abandon",
    augment: |command| Verb::augment_subcommands(command).subcommand_required(true),
    run,
    hidden: false,
};

#[derive(Subcommand)]
enum Verb {
    /// Show one operation: its steps, its receipts, and what comes next
    Show(IdArgs),
    /// List the operations that are not over
    List(ListArgs),
    /// Carry an operation out on this host, as far as it goes
    Run(RunArgs),
    /// Wait until an operation is over; giving up the wait ends nothing
    Wait(WaitArgs),
    /// Let an operation that is stuck be tried again
    Retry(SayArgs),
    /// Give an operation up: what was done of it is undone
    Abandon(SayArgs),
}

#[derive(Args)]
struct IdArgs {
    /// The operation
    id: OperationId,
}

#[derive(Args)]
struct ListArgs {
    /// Only of this environment
    #[arg(value_name = "ENVIRONMENT")]
    environment: Option<EnvironmentName>,
    /// Those that are over, too
    #[arg(long)]
    all: bool,
}

#[derive(Args)]
struct RunArgs {
    /// The operation
    id: OperationId,
    /// Take it from whoever carries it out now
    #[arg(long)]
    supersede: bool,
}

#[derive(Args)]
struct WaitArgs {
    /// The operation
    id: OperationId,
    /// How long to wait
    #[arg(long, value_name = "DURATION", value_parser = wait_of, default_value = "10m")]
    timeout: DurationMs,
}

#[derive(Args)]
struct SayArgs {
    /// The operation
    id: OperationId,
    #[command(flatten)]
    why: Why,
}

fn run(matches: &ArgMatches, app: &mut App, out: &mut Out) -> Outcome {
    match Verb::from_arg_matches(matches).map_err(super::parse_fault)? {
        Verb::Show(args) => show(&args.id, app),
        Verb::List(args) => list(&args, app),
        Verb::Run(args) => {
            let operation = carry(&args.id, args.supersede, app, out)?;
            let now = app.session()?.now();
            Ok(ended(app, &operation, now))
        }
        Verb::Wait(args) => wait(&args, app, out),
        Verb::Retry(args) => {
            let reason = args.why.detail(app)?;
            let placed = operation_retry(app.session()?, &args.id, reason)?;
            said(app, &placed)
        }
        Verb::Abandon(args) => {
            let reason = args.why.detail(app)?;
            let placed = operation_abandon(app.session()?, &args.id, reason)?;
            said(app, &placed)
        }
    }
}

fn said(app: &mut App, placed: &crate::ops::placing::Placed) -> Outcome {
    let now = app.session()?.now();
    let operation = placed.operation().expect("BUG: what was said is about one");
    let mut answer = Answer::ok().recorded(recorded(placed));
    answer.changed = placed.committed.is_some();
    Ok(with_next(answer, app, operation, now))
}

/// An answer about an operation.
fn with_operation(answer: Answer, operation: &Operation, now: Timestamp) -> Answer {
    let answer = answer.noun("operation", &operation_view(operation, now));
    let answer = answer.name(operation.operation_id.as_str());
    operation_lines(operation, now).into_iter().fold(answer, Answer::line)
}

/// The same with the line that carries it on, unless it is over.
pub(super) fn with_next(
    answer: Answer,
    app: &App,
    operation: &Operation,
    now: Timestamp,
) -> Answer {
    let answer = with_operation(answer, operation, now);
    if operation.course.is_over() {
        return answer;
    }
    let run = ["operation", "run", operation.operation_id.as_str()];
    let line = shell_line(&app.problem_context().command(&run));
    answer.line(format!("  next       {line}"))
}

/// What of an operation has reached its copies and its route.
fn applied_of(operation: &Operation) -> Applied {
    if operation.begun.iter().all(|step| *step == Step::Inventory) {
        return Applied::No;
    }
    match operation.course {
        Course::Failed => Applied::No,
        Course::Succeeded => Applied::Yes,
        Course::Forward | Course::Back | Course::Stuck => match operation.unsure {
            Some(_) => Applied::Unknown,
            None => Applied::Partial,
        },
    }
}

/// How an operation ends a line that is about it.
pub(super) fn exit_of(operation: &Operation) -> Exit {
    match operation.course {
        Course::Succeeded => Exit::Ok,
        Course::Failed => Exit::Failed,
        Course::Stuck => Exit::Attention,
        Course::Forward | Course::Back if operation.trouble.is_some() && operation.tries > 0 => {
            Exit::RetryLater
        }
        Course::Forward | Course::Back => Exit::NotYet,
    }
}

/// An operation for machines.
pub(super) fn operation_view(operation: &Operation, now: Timestamp) -> Value {
    let trouble = operation.trouble.as_ref();
    let alive = operation.lease.as_ref().filter(|lease| lease.is_alive(now));
    json!({
        "operation_id": operation.operation_id,
        "environment": operation.environment,
        "key": operation.key,
        "request": operation.request,
        "revision": operation.revision,
        "kind": operation.kind,
        "course": operation.course,
        "phase": super::placement::phase_of(operation),
        "next_step": operation.next_step(),
        "steps": operation.steps,
        "done": operation.done,
        "started": operation.started,
        "tries": operation.tries,
        "reason": trouble.map(|it| json!({"code": it.code(), "text": it.text()})),
        "from": operation.from,
        "to": operation.to,
        "snapshot": operation.snapshot,
        "committed": operation.is_committed(),
        "unavailable": operation.keeps_away(),
        "lease": alive,
        "admitted_at": operation.admitted_at,
        "ended_at": operation.ended_at,
        "actor": operation.actor,
    })
}

/// An operation for people.
pub(super) fn operation_lines(operation: &Operation, now: Timestamp) -> Vec<String> {
    let it = operation;
    let place = if it.from.cell == it.to.cell {
        format!("in cell {}", it.from.cell)
    } else {
        format!("cell {} → {}", it.from.cell, it.to.cell)
    };
    let mut lines = vec![format!(
        "{}  {} of {}  {place}  {}",
        it.operation_id,
        it.kind.as_str(),
        it.environment,
        super::placement::phase_of(it)
    )];
    let words = |steps: &[Step]| {
        let words: Vec<&str> = steps.iter().map(|step| step.as_str()).collect();
        words.join(", ")
    };
    if !it.done.is_empty() {
        let done: Vec<Step> = it.done.iter().map(|done| done.step).collect();
        lines.push(format!("  done       {}", words(&done)));
    }
    if !it.steps.is_empty() {
        lines.push(format!("  to do      {}", words(&it.steps)));
    }
    if let Some(started) = &it.started {
        lines.push(format!("  started    {} {} ago", started.step.as_str(), now.since(started.at)));
    }
    if let Some(trouble) = &it.trouble {
        lines.push(format!("  reason     {}: {}", trouble.code(), trouble.text()));
    }
    if let Some(lease) = it.lease.as_ref().filter(|lease| lease.is_alive(now)) {
        lines.push(format!(
            "  by         {} (pid {}) until {}",
            lease.holder.host, lease.holder.pid, lease.expires_at
        ));
    }
    if it.keeps_away() {
        lines.push(format!("  serving    no: {} is being moved", it.environment));
    }
    lines
}

fn show(id: &OperationId, app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let now = app.session()?.now();
    let (_, operation) = app.session()?.operation(id)?;
    let events = app.session()?.operation_events(id)?;
    let mut table = Table::new([
        Column::right("POS"),
        Column::left("TIME"),
        Column::left("EVENT"),
        Column::left("STEP"),
        Column::left("WHO"),
        Column::left("WHAT").wraps(),
    ]);
    for event in &events {
        let step = event.body["step"].as_str().unwrap_or("-").to_owned();
        table.row([
            Cell::new(event.position),
            Cell::new(event.at),
            Cell::new(&event.kind),
            Cell::new(step),
            Cell::new(&event.by.actor),
            Cell::new(super::log::placement_words(&event.kind, &event.body)),
        ]);
    }
    let answer = Answer::ok().noun("operation", &operation_view(&operation, now)).name(id.as_str());
    let answer = operation_lines(&operation, now).into_iter().fold(answer, Answer::line);
    Ok(answer.line(String::new()).table(table))
}

fn list(args: &ListArgs, app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let now = app.session()?.now();
    let session = app.session()?;
    let state = if args.all { session.whole_placement()? } else { session.placement()? };
    let mut found: Vec<&Operation> = state.operations.values().collect();
    found.retain(|it| args.environment.as_ref().is_none_or(|name| it.environment == *name));
    found.sort_by_key(|it| std::cmp::Reverse(it.admitted_at));
    let mut table = Table::new([
        Column::left("OPERATION"),
        Column::left("ENVIRONMENT"),
        Column::left("KIND"),
        Column::left("PHASE"),
        Column::left("ADMITTED"),
        Column::left("REASON").wraps(),
    ]);
    let mut answer = Answer::ok();
    for it in &found {
        let phase = Cell::new(super::placement::phase_of(it));
        let phase = match it.course {
            Course::Stuck => phase.tone(Tone::Bad),
            Course::Forward | Course::Back | Course::Succeeded | Course::Failed => phase,
        };
        table.row([
            Cell::new(&it.operation_id),
            Cell::new(&it.environment),
            Cell::new(it.kind.as_str()),
            phase,
            Cell::new(it.admitted_at),
            Cell::new(it.trouble.as_ref().map_or("", Trouble::text)),
        ]);
        answer = answer.name(it.operation_id.as_str());
    }
    let views: Vec<Value> = found.iter().map(|it| operation_view(it, now)).collect();
    let answer = answer.noun("operations", &views);
    let none = if args.all { "there is no operation" } else { "no operation is under way" };
    Ok(answer.table_or(table, none))
}

/// Carries an operation out, and tells on stderr how far it is.
pub(super) fn carry(
    id: &OperationId,
    supersede: bool,
    app: &mut App,
    out: &mut Out,
) -> Result<Operation, Fault> {
    super::install_signals()?;
    let session = app.session()?;
    let done = operation_run(session, id, supersede, &mut |told| match told {
        Told::Begins(operation, step) => {
            out.progress(&format!("{}  {}", operation.operation_id, step.as_str()));
        }
        Told::Says(line) => out.progress(&format!("  {line}")),
        Told::Failed(operation, step) => {
            let why = operation.trouble.as_ref().map_or("", Trouble::text);
            out.progress(&format!("{}  {} failed: {why}", operation.operation_id, step.as_str()));
        }
    });
    Ok(done?)
}

fn wait(args: &WaitArgs, app: &mut App, out: &mut Out) -> Outcome {
    super::install_signals()?;
    app.session()?.tell_standing()?;
    let until = Deadline::after(args.timeout);
    let operation = operation_wait(app.session()?, &args.id, until, &mut |operation| {
        out.progress(&format!(
            "waiting for {}: {}",
            operation.operation_id,
            super::placement::phase_of(operation)
        ));
    })?;
    let now = app.session()?.now();
    Ok(ended(app, &operation, now))
}

/// The answer about an operation that was waited for or carried out.
pub(super) fn ended(app: &App, operation: &Operation, now: Timestamp) -> Answer {
    let exit = exit_of(operation);
    let c = app.problem_context();
    let id = operation.operation_id.as_str();
    let trouble = operation.trouble.as_ref();
    let why = trouble.map_or("nobody knows why", |trouble| trouble.text());
    let phase = super::placement::phase_of(operation);
    let problem = match operation.course {
        Course::Succeeded => None,
        Course::Failed => {
            let code = trouble.map_or("failed", |trouble| trouble.code());
            let text = format!("operation {id} has failed, and all is as before: {why}");
            Some(Problem::new(code, exit, text).hint("mend it; a new wish needs a new key"))
        }
        Course::Stuck => {
            let text = format!("operation {id} is {phase}: {why}");
            let problem = Problem::new("stuck", exit, text);
            let problem =
                problem.hint("see what has happened, mend it, then let it be tried again");
            Some(problem.run(c.command(&["operation", "retry", id, "--reason", "TEXT"])))
        }
        Course::Forward | Course::Back => {
            let text = format!("operation {id} is not over: {phase}");
            let code = if exit == Exit::RetryLater { "retry_later" } else { "not_yet" };
            let problem = Problem::new(code, exit, text);
            let problem = match trouble {
                Some(_) => problem.fact("reason", why.to_owned()),
                None => problem,
            };
            Some(
                problem
                    .hint("nothing was cancelled: carry it out, or wait for whoever does")
                    .run(c.command(&["operation", "run", id]))
                    .run(c.command(&["operation", "wait", id])),
            )
        }
    };
    let answer = match problem {
        None => Answer::ok(),
        Some(problem) => Answer::failed(problem.applied(&c)),
    };
    with_operation(answer.applied(applied_of(operation)), operation, now)
}
