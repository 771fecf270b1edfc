//! One line of a batch, taken apart: a command as it is typed, or a wish as a document.
//!
//! Owns what a batch takes: steps that name their key, so that the same line again is the same
//! step, and that call nobody.

use std::ffi::OsString;

use clap::{Command, FromArgMatches as _};
use serde_json::Value;

use super::super::app::App;
use super::super::args::whole_number;
use super::super::fault::Fault;
use super::super::intent::{self, WishArgs, put_of_flags};
use super::super::problem::Problem;
use super::super::record::put_of_record;
use super::super::{lease, parse_fault};
use super::document::{Document, PutDocument, Revision};
use super::lines::Raw;
use crate::domain::id::{ExecutionKey, IntentRevision, InvalidIdentifier, ServiceName};
use crate::domain::scale::consent::APPROVE_WITHIN_DEFAULT;
use crate::domain::scale::lease::LEASE_TTL_DEFAULT;
use crate::domain::scale::result::Detail;
use crate::ops::OpError;
use crate::ops::batch::{Named, Order, Step};

/// The commands of a batch, as they are typed.
const TAKEN: [&[&str]; 6] = [
    &["intent", "put"],
    &["intent", "withdraw"],
    &["intent", "abandon"],
    &["lease", "acquire"],
    &["lease", "renew"],
    &["lease", "release"],
];

/// A line: what it asks for, and who it is told to.
pub(super) struct Line {
    /// Its number, from 1.
    pub(super) number: u64,
    /// The caller's own name for it.
    pub(super) id: Option<Value>,
    /// The words of its verb; none where it has none.
    pub(super) verb: &'static [&'static str],
    /// The command as it is typed alone; empty where it came as a document.
    pub(super) argv: Vec<String>,
    /// The wish as `plan` takes it.
    pub(super) wish: Option<String>,
    /// What is to be done.
    pub(super) order: Result<Order, Fault>,
}

/// The parser of commands, built once: building it costs more than a line.
pub(super) struct Parser {
    command: Command,
}

impl Parser {
    pub(super) fn new() -> Self {
        let command = Command::new("scalectl")
            .disable_help_subcommand(true)
            .subcommand_required(true)
            .subcommand(intent::NOUN.command())
            .subcommand(lease::NOUN.command());
        Self { command }
    }

    pub(super) fn line(&mut self, raw: &Raw, number: u64, app: &mut App) -> Line {
        let mut line = Line {
            number,
            id: None,
            verb: &[],
            argv: Vec::new(),
            wish: None,
            order: Err(Fault::internal("a line that was not read")),
        };
        line.order = self.order(raw, &mut line, app);
        line
    }

    fn order(&mut self, raw: &Raw, line: &mut Line, app: &mut App) -> Result<Order, Fault> {
        let number = line.number;
        let wrong = |source| OpError::Document { what: format!("line {number}"), source };
        let (id, document) = Document::read(raw);
        line.id = id;
        let document = document.map_err(wrong)?;
        match document {
            Document::Command(argv) => self.order_of_argv(argv, line, app),
            Document::Put(put) => order_of_put(*put, line, app),
        }
    }

    fn order_of_argv(
        &mut self,
        argv: Vec<String>,
        line: &mut Line,
        app: &mut App,
    ) -> Result<Order, Fault> {
        let taken = TAKEN
            .iter()
            .find(|taken| argv.iter().map(String::as_str).take(2).eq(taken.iter().copied()));
        line.argv = argv;
        let Some(verb) = taken else {
            return Err(not_taken(&line.argv, app));
        };
        line.verb = verb;
        let words = std::iter::once("scalectl").chain(line.argv.iter().map(String::as_str));
        let matches = self
            .command
            .try_get_matches_from_mut(words.map(OsString::from))
            .map_err(parse_fault)?;
        match matches.subcommand() {
            Some(("intent", below)) => {
                let verb = intent::Verb::from_arg_matches(below).map_err(parse_fault)?;
                order_of_intent(verb, line, app)
            }
            Some((_, below)) => {
                order_of_lease(lease::Verb::from_arg_matches(below).map_err(parse_fault)?)
            }
            None => Err(not_taken(&line.argv, app)),
        }
    }
}

fn order_of_intent(verb: intent::Verb, line: &mut Line, app: &App) -> Result<Order, Fault> {
    match verb {
        intent::Verb::Put(args) => {
            let (Some(service), Some(replicas)) = (&args.service, args.replicas) else {
                let problem = Problem::usage("not_in_batch", "a line of a batch reads no file")
                    .hint("give the record itself, as {\"intent_put\":{\"record\":…}}");
                return Err(problem.into());
            };
            put(service, replicas, &args.wish, args.dry_run, line, app)
        }
        intent::Verb::Withdraw(args) => {
            let reason = args.reason.map(intent::detail).transpose()?;
            Ok(Order::Step(named(args.key.word())?, Step::Withdraw(reason, args.supersede)))
        }
        intent::Verb::Abandon(args) => {
            let reason = intent::reason(args.reason.as_deref(), app)?;
            let step = Step::Abandon(Detail::cut(reason.as_str()), args.supersede);
            Ok(Order::Step(named(args.key.word())?, step))
        }
        intent::Verb::Show(_) | intent::Verb::List(_) => Err(not_taken(&line.argv, app)),
    }
}

fn order_of_lease(verb: lease::Verb) -> Result<Order, Fault> {
    let (key, step) = match verb {
        lease::Verb::Acquire(args) => {
            let ttl = args.ttl.unwrap_or(LEASE_TTL_DEFAULT);
            (args.key, Step::Acquire(args.controller, ttl))
        }
        lease::Verb::Renew(args) => {
            (args.key, Step::Renew(args.lease, args.ttl.unwrap_or(LEASE_TTL_DEFAULT)))
        }
        lease::Verb::Release(args) => (args.key, Step::Release(args.lease)),
        lease::Verb::Show(_) => return Err(Fault::internal("a step that shows")),
    };
    Ok(Order::Step(named(key.word())?, step))
}

fn order_of_put(document: PutDocument, line: &mut Line, app: &mut App) -> Result<Order, Fault> {
    line.verb = TAKEN[0];
    let PutDocument { service, replicas, record, dry_run, .. } = document;
    let wish = WishArgs {
        reason: document.reason,
        key: document.key,
        expect_revision: document.expect_revision.map(|revision| match revision {
            Revision::Number(number) => number.to_string(),
            Revision::Word(word) => word,
        }),
        current_replicas: document.current_replicas,
        max_attempts: document.max_attempts,
        backoff: document.backoff_ms,
        fence: document.fence,
        valid_for: document.valid_for_ms,
        queue: document.queue,
        supersede: document.supersede,
        override_cooldown: document.override_cooldown,
        attest: document.attest_not_drained.then(|| "not-drained".to_owned()),
        approve_within: document.approve_within_ms.unwrap_or(APPROVE_WITHIN_DEFAULT),
        rolls_back: None,
    };
    if let Some(record) = record {
        if replicas.is_some() {
            return Err(Fault::usage(
                "contradiction",
                "a record says all of the wish itself, and replicas is said beside it",
            ));
        }
        let put = put_of_record(*record, service.as_ref(), &wish, dry_run, app)?;
        return Ok(Order::Put(Box::new(put)));
    }
    let (Some(service), Some(replicas)) = (service, replicas) else {
        return Err(Fault::usage("usage", "intent_put needs service and replicas, or a record"));
    };
    put(&service, replicas, &wish, dry_run, line, app)
}

fn put(
    service: &ServiceName,
    replicas: u64,
    wish: &WishArgs,
    dry_run: bool,
    line: &mut Line,
    app: &App,
) -> Result<Order, Fault> {
    line.wish = Some(format!("{service}={replicas}"));
    if wish.key.is_none() {
        return Err(not_repeatable("a put without a key is another wish each time"));
    }
    if wish.rolls_back.is_some() {
        let what = "a batch does not take --rolls-back: it names another key than that of the line";
        return Err(Problem::usage("contradiction", what).hint("type that line by itself").into());
    }
    let put = put_of_flags(service, replicas, wish, app, dry_run)?;
    Ok(Order::Put(Box::new(put)))
}

/// A key, or `SERVICE@REVISION`. What is the latest, the lines before may have changed.
fn named(word: &str) -> Result<Named, Fault> {
    let invalid = |error: InvalidIdentifier| Fault::no_key(error.to_string());
    let Some((service, revision)) = word.split_once('@') else {
        return word.parse::<ExecutionKey>().map(Named::Key).map_err(invalid);
    };
    let service = service.parse().map_err(invalid)?;
    if revision == "latest" {
        return Err(not_repeatable(&format!("{word} is another intent after each put")));
    }
    let number = whole_number(revision).ok().and_then(|n| IntentRevision::new(n).ok());
    number
        .map(|number| Named::At(service, number))
        .ok_or_else(|| Fault::no_key(format!("{word}: after @ comes an intent revision")))
}

fn not_repeatable(why: &str) -> Fault {
    let message = format!("{why}, and a batch must be safe to send again");
    Problem::usage("not_repeatable", message)
        .hint("name the key: the same line again is then answered by what is recorded")
        .into()
}

fn not_taken(argv: &[String], app: &App) -> Fault {
    let words: Vec<&str> = argv.iter().map(String::as_str).take(2).collect();
    let taken: Vec<String> = TAKEN.iter().map(|words| words.join(" ")).collect();
    let message = format!(
        "a batch does not take {:?}: it takes steps with a key that call nobody ({})",
        words.join(" "),
        taken.join(", ")
    );
    let problem = Problem::usage("not_in_batch", message);
    if argv.is_empty() {
        return problem.into();
    }
    problem.hint("type it alone").run(app.problem_context().command(argv)).into()
}
