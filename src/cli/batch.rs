//! `batch`: many keyed steps from one stream, an answer to each.
//!
//! Owns the order of things outside: no line is read while a transaction is open, and no answer is
//! printed before the commit that it tells of.

pub mod document;
mod input;
mod line;
pub mod lines;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, FromArgMatches as _};

use super::app::{App, OutputFormat};
use super::escape::escape_json;
use super::exit::Exit;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, LedgerShown, Out, Recorded};
use super::problem::Problem;
use super::{lease, record, view};
use crate::actuator::signals::{self, Signals};
use crate::domain::count::counted;
use crate::domain::scale::standing;
use crate::ledger::LedgerError;
use crate::ops::batch::{Done, batch};
use crate::ops::report::Report;
use crate::ops::{OpError, Turn};
use input::Input;
use line::{Line, Parser};
use lines::Raw;

pub(super) const NOUN: Noun = Noun {
    name: "batch",
    group: "Step by step",
    about: "Many keyed steps, a JSON line each, an answer each",
    augment: BatchArgs::augment_args,
    run,
    hidden: false,
};

/// Lines are {"command":["intent","put",…]} or {"intent_put":{…}}, with an "id" if you like
#[derive(Args)]
struct BatchArgs {
    /// Where the lines come from; - is stdin
    #[arg(long, value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// Stop after the first line that does not end with 0
    #[arg(long)]
    fail_fast: bool,
}

fn run(matches: &ArgMatches, app: &mut App, out: &mut Out) -> Outcome {
    let args = BatchArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    let is_asked = matches.value_source("output") == Some(ValueSource::CommandLine);
    if is_asked && app.globals.output != OutputFormat::Ndjson {
        return Err(Fault::usage("contradiction", "a batch answers in ndjson, a line for a line"));
    }
    app.globals.output = OutputFormat::Ndjson;
    let signals = signals::install().map_err(|error| Fault::host(error.to_string()))?;
    let unreadable = |error: std::io::Error| record::unreadable(&args.file, &error);
    let mut input = Input::open(&args.file, signals).map_err(unreadable)?;
    app.session()?;
    let mut run = Run {
        parser: Parser::new(),
        ledger: app.ledger_shown(),
        program: app.problem_context().program,
        fail_fast: args.fail_fast,
        tally: Tally::default(),
        is_over: false,
    };
    let own = (app.verb.clone(), app.line.clone());
    let read = loop {
        let group = match input.group() {
            Ok(group) => group,
            Err(error) => break Err(unreadable(error)),
        };
        if group.is_empty() {
            break Ok(());
        }
        run.group(&group, app, out)?;
        if run.is_over || out.is_closed() || signals.first().is_some() {
            break Ok(());
        }
    };
    (app.verb, app.line) = own;
    app.wish = None;
    out.progress(&run.tally.text());
    read?;
    Ok(run.tally.answer(signals, app))
}

/// A batch under way.
struct Run {
    parser: Parser,
    ledger: Option<LedgerShown>,
    /// What a line is typed behind.
    program: Vec<String>,
    fail_fast: bool,
    tally: Tally,
    /// Whether no other group may follow.
    is_over: bool,
}

impl Run {
    /// Carries out the lines of a group and prints their answers.
    fn group(&mut self, group: &[Raw], app: &mut App, out: &mut Out) -> Result<(), Fault> {
        let (mut lines, mut orders) = (Vec::new(), Vec::new());
        let mut ordered = Vec::new();
        for raw in group {
            let number = self.tally.lines + lines.len() as u64 + 1;
            let mut line = self.parser.line(raw, number, app);
            let refused = match std::mem::replace(&mut line.order, Err(Fault::internal("taken"))) {
                Ok(order) => {
                    ordered.push(lines.len());
                    orders.push(order);
                    None
                }
                Err(fault) => Some(fault),
            };
            let is_last = refused.is_some() && self.fail_fast;
            lines.push((line, refused));
            if is_last {
                break;
            }
        }
        let mut ends_well = |at: usize, outcome: &Result<Report, OpError>| {
            let verb = lines[ordered[at]].0.verb;
            let is_well = outcome.as_ref().is_ok_and(|report| exit_of(verb, report) == Exit::Ok);
            is_well || !self.fail_fast
        };
        let done = batch(app.session()?, orders, &mut ends_well)?;
        let has_failed = done.is_over;
        self.is_over = has_failed;
        let mut done = done.lines.into_iter();
        let mut text = String::new();
        for (line, refused) in lines {
            let answer = match refused {
                Some(fault) => self.failed(&line, fault, app),
                None => match done.next() {
                    Some(done) => {
                        let answer = self.answer(&line, done, app);
                        if has_failed {
                            self.tally.stop = Some(stop_of(answer.exit()));
                        }
                        answer
                    }
                    // The line before has ended the batch.
                    None => break,
                },
            };
            self.tally.note(&answer);
            let json = serde_json::to_string(&answer).expect("BUG: an answer is a JSON document");
            text.extend([&*escape_json(&json), "\n"]);
            if self.fail_fast && answer.exit() != Exit::Ok {
                self.is_over = true;
                break;
            }
        }
        out.data(&text);
        Ok(())
    }

    /// Says which line is told of, and what it has recorded: hints are about it, and not about the
    /// batch, and what lines before it have recorded is theirs.
    fn turn_to(&self, line: &Line, recorded: bool, app: &mut App) {
        if let Ok(session) = app.session() {
            session.begin(Turn::Line { recorded });
        }
        app.verb = line.verb.iter().map(|word| (*word).to_owned()).collect();
        app.line = if line.argv.is_empty() {
            Vec::new()
        } else {
            self.program.iter().chain(&line.argv).cloned().collect()
        };
        app.wish.clone_from(&line.wish);
    }

    fn answer(&self, line: &Line, done: Done, app: &mut App) -> Answer {
        let Done { command_id, outcome, notices } = done;
        let is_unknown = matches!(outcome, Err(OpError::Ledger(LedgerError::CommitUnknown { .. })));
        let is_recorded = outcome.as_ref().is_ok_and(|report| report.recorded);
        let mut answer = match outcome {
            Ok(report) => {
                self.turn_to(line, report.recorded, app);
                let exit = exit_of(line.verb, &report);
                self.numbered(line, view::answer(app, &report, exit))
            }
            Err(error) => self.failed(line, error.into(), app),
        };
        if is_recorded || is_unknown {
            answer = answer.noun("command_id", &command_id);
        }
        for notice in notices {
            answer = answer.warning(notice.code, notice.text);
        }
        answer
    }

    fn failed(&self, line: &Line, fault: Fault, app: &mut App) -> Answer {
        self.turn_to(line, false, app);
        let current = fault.head().and_then(view::current);
        let mut answer = Answer::failed(app.problem(fault));
        answer.current = current;
        self.numbered(line, answer)
    }

    fn numbered(&self, line: &Line, mut answer: Answer) -> Answer {
        answer.ledger.clone_from(&self.ledger);
        answer = answer.noun("line", &line.number);
        match &line.id {
            Some(id) => answer.noun("id", id),
            None => answer,
        }
    }
}

/// How the single command would have ended.
fn exit_of(verb: &[&str], report: &Report) -> Exit {
    match verb {
        ["intent", "put"] => view::exit_of(standing::of_put(&report.execution)),
        ["lease", ..] => lease::exit_of(report),
        _ => Exit::Ok,
    }
}

/// How a batch ends that the ledger has failed at, by how its last line did.
fn stop_of(exit: Exit) -> Exit {
    match exit {
        Exit::Unknown | Exit::Unavailable => exit,
        // Also where every line was carried out, and only a refusal could not be kept.
        _ => Exit::LedgerUnusable,
    }
}

/// How the lines have ended so far.
#[derive(Default)]
struct Tally {
    lines: u64,
    exits: BTreeMap<Exit, u64>,
    /// The first line that did not end with 0, and how it ended.
    first: Option<(u64, Exit)>,
    /// How the lines end that the ledger failed at as a whole.
    stop: Option<Exit>,
    /// Whether the ledger was written.
    recorded: Recorded,
}

impl Tally {
    fn note(&mut self, answer: &Answer) {
        self.lines += 1;
        let exit = answer.exit();
        *self.exits.entry(exit).or_default() += 1;
        if exit != Exit::Ok && self.first.is_none() {
            self.first = Some((self.lines, exit));
        }
        self.recorded = match (self.recorded, answer.is_recorded()) {
            (Recorded::Unknown, _) | (_, Recorded::Unknown) => Recorded::Unknown,
            (Recorded::Yes, _) | (_, Recorded::Yes) => Recorded::Yes,
            (Recorded::No, Recorded::No) => Recorded::No,
        };
    }

    /// One line for people.
    fn text(&self) -> String {
        let told =
            |(exit, count): (&Exit, &u64)| format!("{count} × {} {}", exit.code(), exit.word());
        let exits: Vec<String> = self.exits.iter().map(told).collect();
        let what = if exits.is_empty() { String::new() } else { format!(": {}", exits.join(", ")) };
        format!("batch: {}{what}", counted(self.lines, "line"))
    }

    /// How the whole ends: by a signal; else as a line that nobody knows of; else as the ledger
    /// that has failed; else as the first line that did not end with 0.
    fn answer(&self, signals: &Signals, app: &App) -> Answer {
        let problem = if let Some(signal) = signals.first() {
            Some(app.problem(OpError::Interrupted { signal, key: None }.into()))
        } else {
            self.first.map(|(line, first)| self.problem(line, first))
        };
        let answer = problem.map_or_else(Answer::ok, Answer::failed);
        answer.recorded(self.recorded).streamed()
    }

    fn problem(&self, line: u64, first: Exit) -> Problem {
        let is_unknown = self.exits.contains_key(&Exit::Unknown);
        let exit = if is_unknown { Exit::Unknown } else { self.stop.unwrap_or(first) };
        let well = self.exits.get(&Exit::Ok).copied().unwrap_or(0);
        let message = format!(
            "{} of {} did not end with 0, the first is line {line} with {}",
            self.lines - well,
            counted(self.lines, "line"),
            first.code()
        );
        Problem::new("batch_incomplete", exit, message)
            .hint("each line has its own answer; the same lines again are safe")
    }
}
