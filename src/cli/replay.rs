//! `replay`: find out what became of a key, or of everything that is under way.

use clap::{ArgGroup, ArgMatches, Args, FromArgMatches as _};
use serde_json::json;

use super::app::App;
use super::args::wait;
use super::exit::Exit;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Applied, Out, Recorded};
use super::problem::Problem;
use super::table::{Cell, Column, Table};
use super::{ending, view};
use crate::actuator::host::Deadline;
use crate::domain::scale::execution::Execution;
use crate::domain::time::DurationMs;
use crate::ops::recover::Replayed;
use crate::ops::replay::{as_it_stands, confirm, next_step, replay, replay_until, unfinished};
use crate::ops::report::Effect;
use crate::ops::{OpError, Turn};

pub(super) const NOUN: Noun = Noun {
    name: "replay",
    group: "Step by step",
    about: "Find out what became of a call, and go on from there",
    augment: ReplayArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
#[group(skip)]
#[command(group = ArgGroup::new("which").args(["positional", "key", "all"]).required(true))]
struct ReplayArgs {
    /// A key, SERVICE@REVISION or SERVICE@latest
    #[arg(value_name = "KEY")]
    positional: Option<String>,
    /// The same as a flag
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Everything that is under way; one bad row never stops the rest
    #[arg(long)]
    all: bool,
    /// Say what would be done first, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Wait for what has a known end: a lease, a quiet time, a backoff
    #[arg(long)]
    wait: bool,
    /// How long to wait for that
    #[arg(long, value_name = "DURATION", value_parser = wait, default_value = "10m")]
    timeout: DurationMs,
}

fn run(matches: &ArgMatches, app: &mut App, out: &mut Out) -> Outcome {
    let args = ReplayArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    super::install_signals()?;
    if args.wait {
        app.waits_at_most(args.timeout);
    }
    if args.all {
        return all(&args, app, out);
    }
    let word = args.positional.as_deref().or(args.key.as_deref());
    let key = app.key(word.expect("BUG: clap requires one of the three"))?;
    if args.dry_run {
        let session = app.session()?;
        let (_, execution) = session.load(&key)?;
        let next = next_step(session, &execution);
        return Ok(Answer::ok()
            .whole_noun("execution", view::execution(&execution))
            .noun("next_step", &next)
            .name(key.as_str())
            .line(view::headline(&execution))
            .line(format!("  would      {next}")));
    }
    let session = app.session()?;
    let replayed = if args.wait {
        let deadline = Deadline::after(args.timeout);
        replay_until(session, &key, deadline, &mut |line| out.progress(line))?
    } else {
        replay(session, &key)?
    };
    let report = replayed.report;
    let mut answer =
        view::answer(app, &report, view::recovered_exit(&report)).noun("steps", &replayed.steps);
    for step in &replayed.steps {
        answer = answer.line(format!("  {step}"));
    }
    Ok(answer)
}

/// One row of `replay --all`.
struct Row {
    execution: Execution,
    text: String,
    /// What this run has done to its target.
    effect: Effect,
    /// How a replay of it alone ends.
    ending: Answer,
}

impl Row {
    fn of(app: &App, replayed: Replayed) -> Self {
        let Replayed { report, steps } = replayed;
        Self {
            text: steps.last().cloned().unwrap_or_default(),
            effect: report.effect,
            ending: ending::of(app, &report, view::recovered_exit(&report)),
            execution: report.execution,
        }
    }
}

/// How far one look at a row goes.
#[derive(Clone, Copy)]
enum Pass {
    /// What is due, and no wait.
    First,
    /// It waits for what has a known end.
    Waits(Deadline),
    /// The time is over: nobody is asked any more.
    Tells,
}

/// What a replay of many came to.
#[derive(Default)]
struct All {
    rows: Vec<Row>,
    /// Whether a commit of it may or may not be durable.
    is_unsure: bool,
    /// What ended it before the last row.
    end: Option<Problem>,
}

impl All {
    /// Replays one key, of which this run has done `effect`.
    fn replayed(
        &mut self,
        app: &mut App,
        execution: Execution,
        effect: Effect,
        pass: Pass,
        out: &mut Out,
    ) -> Result<Row, Fault> {
        let key = execution.key().clone();
        let session = app.session()?;
        // Each row answers for what it did itself.
        session.begin(Turn::Row { effect });
        let replayed = match pass {
            Pass::Tells => as_it_stands(session, &key),
            Pass::First => replay(session, &key),
            Pass::Waits(deadline) => {
                let mut say = |line: &str| out.progress(&format!("{key}: {line}"));
                replay_until(session, &key, deadline, &mut say)
            }
        };
        let error = match replayed {
            Ok(replayed) => return Ok(Row::of(app, replayed)),
            Err(error) => error,
        };
        let effect = session.effect();
        let ends = error.ends_all();
        let is_unsure = ends && !matches!(error, OpError::Interrupted { .. });
        let problem = app.problem(error.into());
        self.is_unsure |= is_unsure || problem.recorded == Recorded::Unknown;
        let text = problem.message.clone();
        if ends {
            self.end = Some(problem.clone());
        } else {
            out.progress(&format!("{key}: {text}"));
        }
        Ok(Row { execution, text, effect, ending: Answer::failed(problem) })
    }

    /// What was done to the targets: the least certain of it.
    fn applied(&self) -> Applied {
        self.rows.iter().map(|row| row.ending.is_applied()).max().unwrap_or_default()
    }
}

fn all(args: &ReplayArgs, app: &mut App, out: &mut Out) -> Outcome {
    let deadline = args.wait.then(|| Deadline::after(args.timeout));
    let found = unfinished(app.session()?, deadline)?;
    let mut all = All::default();
    if args.dry_run {
        for execution in found {
            let text = next_step(app.session()?, &execution);
            let (effect, ending) = (Effect::None, Answer::ok());
            all.rows.push(Row { execution, text, effect, ending });
        }
        return Ok(answer_of(all, Recorded::No));
    }
    confirm(app.session()?)?;
    for execution in found {
        let is_late = deadline.is_some_and(Deadline::is_past);
        let pass = if is_late { Pass::Tells } else { Pass::First };
        let row = all.replayed(app, execution, Effect::None, pass, out)?;
        all.rows.push(row);
        if all.end.is_some() {
            break;
        }
    }
    // Only once nobody waits for it any more: what one row waits for does not hold up the others.
    for at in 0..all.rows.len() {
        let Some(deadline) = deadline.filter(|end| all.end.is_none() && !end.is_past()) else {
            break;
        };
        if all.rows[at].ending.exit() != Exit::Ok {
            let (execution, effect) = (all.rows[at].execution.clone(), all.rows[at].effect);
            all.rows[at] = all.replayed(app, execution, effect, Pass::Waits(deadline), out)?;
        }
    }
    if all.end.is_none() {
        app.session()?.sweep_calls();
    }
    let recorded = match app.opened() {
        _ if all.is_unsure => Recorded::Unknown,
        Some(session) if session.has_recorded() => Recorded::Yes,
        _ => Recorded::No,
    };
    Ok(answer_of(all, recorded))
}

/// The row that the exit of many is: the most serious of them, in the order unknown, attention, the
/// rest by number.
fn worst(rows: &[Row]) -> Option<&Row> {
    let rank = |exit: Exit| match exit {
        Exit::Ok => (0, 0),
        Exit::Unknown => (3, 0),
        Exit::Internal | Exit::LedgerUnusable => (2, exit.code()),
        other => (1, other.code()),
    };
    rows.iter().max_by_key(|row| rank(row.ending.exit()))
}

fn answer_of(all: All, recorded: Recorded) -> Answer {
    let applied = all.applied();
    let rows = &all.rows;
    let mut table = Table::new([
        Column::left("SERVICE"),
        Column::right("REV"),
        Column::left("STATE"),
        Column::left("OUTCOME"),
        Column::right("EXIT"),
        Column::left("WHAT").wraps(),
    ]);
    let mut views = Vec::new();
    for row in rows {
        table.row([
            Cell::new(&row.execution.intent.service),
            Cell::new(row.execution.revision()),
            Cell::new(row.execution.phase.as_str()),
            Cell::maybe(view::outcome_word(&row.execution)),
            Cell::new(row.ending.exit().code()),
            Cell::new(&row.text),
        ]);
        views.push(json!({
            "execution": view::execution(&row.execution),
            "exit": row.ending.exit().code(),
            "what": row.text,
        }));
    }
    let mut answer = match all.end {
        Some(problem) => Answer::failed(problem),
        None => worst(rows).map_or_else(Answer::ok, |row| {
            let told = row.ending.clone().into_problem();
            told.map_or_else(|| Answer::ending(row.ending.exit()), Answer::failed)
        }),
    }
    .recorded(recorded)
    .applied(applied)
    .noun("replays", &views);
    answer.changed = recorded == Recorded::Yes;
    for row in rows {
        answer = answer.name(row.execution.key().as_str());
    }
    if table.is_empty() { answer.line("nothing is under way") } else { answer.table(table) }
}
