//! The outside: arguments in, one answer out. The only home of clap.
//!
//! Owns how a line is read, how an answer looks, and which exit code it has. Holds no rule, no SQL
//! and no process: a verb parses, calls one operation, and shows what came of it. Nothing here
//! survives a crash or needs to.

pub mod address;
mod app;
mod args;
mod bug;
mod chosen;
pub mod config;
mod ending;
mod fault;
mod habits;
mod metrics;
mod mistyped;
mod noun;
mod overview;
pub mod passwd;
mod record;
mod ticks;
mod unwell;
mod upon;
mod view;
mod wish;

mod actuate;
mod actuator;
mod adopt;
mod approval;
mod attempt;
mod autoscale;
mod backup;
pub mod batch;
mod break_glass;
mod capacity;
mod clock;
mod complete;
pub mod completions;
mod cooldown;
mod doctor;
pub mod examples;
mod exit_codes;
mod explain;
mod gate;
mod gateway;
mod hold;
mod init;
mod intent;
mod lease;
mod ledger;
mod log;
pub mod man;
mod observe;
mod operation;
mod pinned;
mod placement;
mod plan;
mod policy;
mod quickstart;
mod reconcile;
mod recovery;
mod relocator;
mod replay;
mod restore;
mod scale;
mod schema;
mod selection;
pub mod serve;
mod service;
mod settle;
mod sign;
mod span;
mod status;
mod timeline;
pub mod topics;
mod verify;
mod version;
mod zone;

pub mod escape;
pub mod exit;
pub mod output;
pub mod problem;
pub mod table;

use std::ffi::OsString;
use std::process::ExitCode;

use address::without_passwords;
use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};

use crate::actuator::signals;
use app::{App, Environment, Globals};
use fault::Fault;
use noun::Noun;
use output::{Answer, Format, Out};
use problem::Problem;
use table::Look;

/// What it is for.
const PURPOSE: &str = "The durable authority for replica counts";

/// The groups of the help, in their order.
const GROUPS: [&str; 8] =
    ["Every day", "Step by step", "Set up", "People", "Fleet", "Placement", "Ledger", "About"];

/// Every noun in the order of the help.
const NOUNS: &[Noun] = &[
    scale::NOUN,
    status::NOUN,
    plan::NOUN,
    explain::NOUN,
    gate::NOUN,
    log::NOUN,
    timeline::NOUN,
    cooldown::NOUN,
    intent::NOUN,
    lease::NOUN,
    actuate::NOUN,
    observe::NOUN,
    replay::NOUN,
    settle::NOUN,
    attempt::NOUN,
    batch::NOUN,
    init::NOUN,
    actuator::NOUN,
    service::NOUN,
    policy::NOUN,
    approval::NOUN,
    break_glass::NOUN,
    hold::NOUN,
    pinned::NOUN,
    adopt::NOUN,
    autoscale::NOUN,
    reconcile::NOUN,
    gateway::NOUN,
    serve::NOUN,
    capacity::NOUN,
    placement::NOUN,
    operation::NOUN,
    relocator::NOUN,
    recovery::NOUN,
    verify::NOUN,
    backup::NOUN,
    restore::NOUN,
    ledger::NOUN,
    doctor::NOUN,
    clock::NOUN,
    metrics::NOUN,
    quickstart::NOUN,
    schema::NOUN,
    exit_codes::NOUN,
    completions::NOUN,
    complete::NOUN,
    man::NOUN,
    version::NOUN,
];

/// Runs one line and returns its exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let environment = Environment::of_process();
    let line: Vec<String> = args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let look = Look::of_stdout(environment.text("NO_COLOR"), environment.text("TERM"));
    let mut out = Out::process(format_of(&line), look);
    let is_traced = environment.get("RUST_BACKTRACE").is_some_and(|word| word != "0");
    let exit = bug::answered(is_traced, &mut out, |out| match parsed(&args) {
        Ok(Parsed::Help(text)) => {
            out.lines(&text);
            exit::Exit::Ok
        }
        Ok(Parsed::Verb(noun, matches)) => verb(noun, matches, environment, line, out),
        Err(problem) => out.answer(&Answer::failed(*problem)),
    });
    out.finish(exit).into()
}

fn verb(
    noun: &'static Noun,
    mut matches: ArgMatches,
    environment: Environment,
    mut line: Vec<String>,
    out: &mut Out,
) -> exit::Exit {
    let globals = match Globals::from_arg_matches_mut(&mut matches) {
        Ok(globals) => globals,
        Err(error) => {
            let words: Vec<OsString> = line.iter().map(OsString::from).collect();
            return out.answer(&Answer::failed(mistyped::said(usage_of(&error), &words)));
        }
    };
    if let Some(name) = environment.garbled() {
        let problem = Problem::usage("invalid_environment", format!("{name} is not UTF-8"))
            .hint("set it to text, or take it away with unset");
        return out.answer(&Answer::failed(problem));
    }
    let words = words_of(noun, &matches);
    if let Some(first) = line.first_mut() {
        "scalectl".clone_into(first);
    }
    let mut app = App::new(globals, environment, words, line);
    let own = matches.subcommand_matches(noun.name).unwrap_or(&matches);
    let outcome = (noun.run)(own, &mut app, out);
    let mut answer = match outcome {
        Ok(answer) => answer,
        Err(fault) => {
            let current = fault.head().and_then(view::current);
            let problem = app.problem(fault);
            let mut answer = Answer::failed(app.meant(problem));
            answer.current = current;
            answer
        }
    };
    answer.ledger = app.ledger_shown();
    if app.opened().is_some()
        && let Ok(session) = app.session()
    {
        session.end_notifications();
    }
    for notice in app.opened().map(|session| session.notices.clone()).unwrap_or_default() {
        answer = answer.warning(notice.code, notice.text);
    }
    let exit = out.answer(&answer);
    leave_to_the_system((app, matches, answer));
    exit
}

/// The words of the verb that was typed: `intent`, `put`.
fn words_of(noun: &Noun, matches: &ArgMatches) -> Vec<String> {
    let mut words = vec![noun.name.to_owned()];
    let mut at = matches.subcommand_matches(noun.name);
    while let Some((name, below)) = at.and_then(ArgMatches::subcommand) {
        words.push(name.to_owned());
        at = Some(below);
    }
    words
}

/// The format, found before anything is parsed: a wrong line is answered in it too.
fn format_of(line: &[String]) -> Format {
    let mut words = line.iter().skip(1).take_while(|word| *word != "--");
    let mut format = Format::Table;
    while let Some(word) = words.next() {
        let value = match word.as_str() {
            "-o" | "--output" => words.next().map(String::as_str),
            other => other
                .strip_prefix("--output=")
                .or_else(|| other.strip_prefix("-o="))
                .or_else(|| other.strip_prefix("-o").filter(|rest| !rest.is_empty())),
        };
        match value {
            Some("json") => format = Format::Json,
            Some("ndjson") => format = Format::Ndjson,
            Some("name") => format = Format::Name,
            Some("table") => format = Format::Table,
            Some(_) | None => {}
        }
    }
    format
}

enum Parsed {
    Help(String),
    Verb(&'static Noun, ArgMatches),
}

/// Two stages: the noun is picked from the line, and only its arguments are built. All nouns are
/// built only for help and for words that are none.
fn parsed(args: &[OsString]) -> Result<Parsed, Box<Problem>> {
    let at = first_word(args);
    let word = at.map(|at| args[at].to_string_lossy());
    let Some(noun) = NOUNS.iter().find(|noun| word.as_deref() == Some(noun.name)) else {
        return without_noun(args, at);
    };
    let is_help = args.iter().any(|word| word == "--help" || word == "-h");
    let noun_command =
        if is_help { examples::first(noun.command(), noun.name) } else { noun.command() };
    let mut command = base().subcommand(noun_command);
    let parsed = match command.try_get_matches_from_mut(args) {
        Ok(matches) => Ok(Parsed::Verb(noun, matches)),
        Err(error) => help_or_problem(&error, args),
    };
    leave_to_the_system(command);
    parsed
}

/// Not given back piece by piece: the process is about to end, and then all of it is given back at
/// once. For the ledger this is the same as a close: nothing is open in it, and a close leaves its
/// log as it is.
fn leave_to_the_system<T>(what: T) {
    std::mem::forget(what);
}

/// The place of the first word of the line that is neither a flag nor a flag's value.
fn first_word(args: &[OsString]) -> Option<usize> {
    const WITH_VALUE: [&str; 6] =
        ["--ledger", "--output", "-o", "--actor", "--ref", "--lock-timeout"];
    let mut words = args.iter().enumerate().skip(1).map(|(at, word)| (at, word.to_string_lossy()));
    while let Some((at, word)) = words.next() {
        if WITH_VALUE.contains(&word.as_ref()) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(at);
        }
    }
    None
}

fn without_noun(args: &[OsString], first: Option<usize>) -> Result<Parsed, Box<Problem>> {
    if args.len() <= 1 || args[1..].iter().all(|word| word == "--help" || word == "-h") {
        return Ok(Parsed::Help(overview::page()));
    }
    if let Some(at) = first.filter(|at| args[*at] == "help") {
        return help_of(&args[at + 1..]);
    }
    match whole_command().try_get_matches_from(args) {
        Ok(_) => Ok(Parsed::Help(overview::page())),
        Err(error) => help_or_problem(&error, args),
    }
}

/// `scalectl help NOUN [VERB]`.
fn help_of(words: &[OsString]) -> Result<Parsed, Box<Problem>> {
    if words.is_empty() {
        return Ok(Parsed::Help(overview::page()));
    }
    if let Some(text) = words[0].to_str().and_then(topics::topic) {
        return Ok(Parsed::Help(text.to_owned()));
    }
    let mut line: Vec<OsString> = vec!["scalectl".into()];
    line.extend(words.iter().cloned());
    line.push("--help".into());
    let nouns = NOUNS.iter().map(|noun| examples::first(noun.command(), noun.name));
    match nouns.fold(base(), Command::subcommand).try_get_matches_from(line) {
        Ok(_) => Ok(Parsed::Help(overview::page())),
        Err(error) => help_or_problem(&error, &[]),
    }
}

fn help_or_problem(error: &clap::Error, args: &[OsString]) -> Result<Parsed, Box<Problem>> {
    use clap::error::ErrorKind;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            Ok(Parsed::Help(error.render().to_string()))
        }
        _ => Err(Box::new(mistyped::said(usage_of(error), args))),
    }
}

/// A wrong line as a problem: clap's words, in the one form of errors.
fn usage_of(error: &clap::Error) -> Problem {
    let text = without_passwords(&error.render().to_string());
    let text = text.trim().strip_prefix("error: ").unwrap_or(text.trim());
    let mut paragraphs = text.split("\n\n");
    let message = paragraphs.next().unwrap_or("a wrong line").replace('\n', " ");
    let message: Vec<&str> = message.split_whitespace().collect();
    let mut problem = Problem::usage("usage", message.join(" "));
    for paragraph in paragraphs {
        let paragraph: Vec<&str> = paragraph.split_whitespace().collect();
        let text = paragraph.join(" ");
        if let Some(usage) = text.strip_prefix("Usage: ") {
            problem = problem.fact("usage", usage.to_owned());
        } else if let Some(tip) = text.strip_prefix("tip: ") {
            problem = problem.fact("tip", tip.to_owned());
        }
    }
    problem
}

/// An error of clap inside a verb, where a value could not be taken apart.
#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
fn parse_fault(error: clap::Error) -> Fault {
    usage_of(&error).into()
}

fn base() -> Command {
    let command = Command::new("scalectl")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .subcommand_required(true)
        .infer_long_args(false)
        .args_override_self(false);
    // The flags would bring the words of their own type along.
    Globals::augment_args(command).about(PURPOSE).long_about(None)
}

/// The whole tree: for help, completions and tests.
pub fn whole_command() -> Command {
    NOUNS.iter().fold(base(), |command, noun| command.subcommand(noun.command()))
}

/// Handlers for Ctrl-C and its like, before anything that waits or calls.
fn install_signals() -> Result<(), Fault> {
    signals::install().map(|_| ()).map_err(|error| Fault::host(error.to_string()))
}
