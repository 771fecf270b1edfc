//! `intent`: put, show, list, withdraw, abandon.

use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};

use super::app::App;
use super::args::whole_number;
use super::exit::Exit;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::record::put_of_file;
use super::view;
use super::wish::VALID_FOR_DEFAULT;
pub(super) use super::wish::WishArgs;
use crate::domain::id::{
    ExecutionKey, FenceToken, InvalidIdentifier, LeaseEpoch, MaxAttempts, Replicas, ServiceName,
};
use crate::domain::scale::command::{Premise, PutForm, PutIntent};
use crate::domain::scale::intent::{BACKOFF_MAX, Reason, RetryAsked};
use crate::domain::scale::result::Detail;
use crate::domain::scale::standing;
use crate::domain::time::DurationMs;
use crate::ledger::ExecutionFilter;
use crate::ops::intent_abandon::intent_abandon;
use crate::ops::intent_put::intent_put;
use crate::ops::intent_withdraw::intent_withdraw;
use crate::ops::mint;

pub(super) const NOUN: Noun = Noun {
    name: "intent",
    group: "Step by step",
    about: "Wishes: put, show, list, withdraw, abandon",
    augment: |command| Verb::augment_subcommands(command).subcommand_required(true),
    run,
    hidden: false,
};

#[derive(Subcommand)]
pub(super) enum Verb {
    /// Record a wish for a count; nothing is called
    Put(PutArgs),
    /// Show one intent whole
    Show(KeyArgs),
    /// List intents, the newest first
    List(ListArgs),
    /// Take back a wish that has not started
    Withdraw(WithdrawArgs),
    /// End a failure that could be tried again
    Abandon(AbandonArgs),
}

#[derive(Args)]
pub(super) struct PutArgs {
    /// The service
    #[arg(required_unless_present = "file")]
    pub(super) service: Option<ServiceName>,
    /// How many replicas are wished
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    #[arg(required_unless_present = "file")]
    pub(super) replicas: Option<u64>,
    /// The whole record as JSON, from a file or from - (stdin)
    #[arg(long, value_name = "FILE", conflicts_with = "replicas")]
    pub(super) file: Option<PathBuf>,
    /// Declare a simulation: it is recorded, and never calls anybody
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) wish: WishArgs,
}

#[derive(Args)]
pub(super) struct KeyArgs {
    #[command(flatten)]
    key: KeyArg,
}

/// A key, positional or by flag.
#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = false)]
pub(super) struct KeyArg {
    /// A key, SERVICE@REVISION or SERVICE@latest
    #[arg(value_name = "KEY")]
    positional: Option<String>,
    /// The same as a flag
    #[arg(long = "key", value_name = "KEY")]
    flag: Option<String>,
}

impl KeyArg {
    /// The word that was typed.
    pub(super) fn word(&self) -> &str {
        let word = self.positional.as_deref().or(self.flag.as_deref());
        word.expect("BUG: clap requires one of the two")
    }

    /// The key that is meant.
    pub(super) fn resolve(&self, app: &mut App) -> Result<ExecutionKey, Fault> {
        app.key(self.word())
    }
}

#[derive(Args)]
pub(super) struct ListArgs {
    /// Only of this service
    service: Option<ServiceName>,
    /// Only what is under way
    #[arg(long)]
    unfinished: bool,
    /// At most so many
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

#[derive(Args)]
pub(super) struct WithdrawArgs {
    #[command(flatten)]
    pub(super) key: KeyArg,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
    /// It is a wish of somebody else, and is meant
    #[arg(long)]
    pub(super) supersede: bool,
}

#[derive(Args)]
pub(super) struct AbandonArgs {
    #[command(flatten)]
    pub(super) key: KeyArg,
    /// Why [env: SCALECTL_REASON]
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
    /// It is a wish of somebody else, and is meant
    #[arg(long)]
    pub(super) supersede: bool,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    match Verb::from_arg_matches(matches).map_err(super::parse_fault)? {
        Verb::Put(args) => put(&args, app),
        Verb::Show(args) => show(&args.key, app),
        Verb::List(args) => list(&args, app),
        Verb::Withdraw(args) => {
            let key = args.key.resolve(app)?;
            let reason = args.reason.map(detail).transpose()?;
            let report = intent_withdraw(app.session()?, &key, reason, args.supersede)?;
            Ok(view::answer(app, &report, Exit::Ok))
        }
        Verb::Abandon(args) => {
            let key = args.key.resolve(app)?;
            let reason = reason(args.reason.as_deref(), app)?;
            let text = Detail::cut(reason.as_str());
            let report = intent_abandon(app.session()?, &key, text, args.supersede)?;
            Ok(view::answer(app, &report, Exit::Ok))
        }
    }
}

fn put(args: &PutArgs, app: &mut App) -> Outcome {
    let put = if let Some(file) = &args.file {
        put_of_file(file, args, app)?
    } else {
        let service = args.service.clone().expect("BUG: clap requires it without --file");
        let replicas = args.replicas.expect("BUG: clap requires it without --file");
        app.wish = Some(format!("{service}={replicas}"));
        put_of_flags(&service, replicas, &args.wish, app, args.dry_run)?
    };
    let put = args.wish.undoing(put, app)?;
    let is_keyless = args.file.is_none() && args.wish.key.is_none();
    let report = intent_put(app.session()?, put)?;
    let exit = view::exit_of(standing::of_put(&report.execution));
    let mut answer = view::answer(app, &report, exit);
    if is_keyless && args.wish.expect_revision.as_deref().is_none_or(|word| word == "latest") {
        answer = answer.warning(
            "not_idempotent",
            "without --key and --expect-revision, the same line again makes another intent",
        );
    }
    Ok(answer)
}

/// The wish that flags name.
pub(super) fn put_of_flags(
    service: &ServiceName,
    replicas: u64,
    wish: &WishArgs,
    app: &App,
    dry_run: bool,
) -> Result<PutIntent, Fault> {
    let usage = |code, text: String| Fault::usage(code, text);
    let replicas =
        Replicas::new(replicas).map_err(|error| usage("invalid_replicas", error.to_string()))?;
    let key = match &wish.key {
        Some(word) => {
            word.parse().map_err(|error: InvalidIdentifier| Fault::no_key(error.to_string()))?
        }
        None => mint(&format!("{}-", cut(service.as_str()))).map_err(Fault::from)?,
    };
    let valid_for = wish.valid_for.unwrap_or(VALID_FOR_DEFAULT);
    if valid_for == DurationMs::ZERO {
        return Err(usage("invalid_fence", "--valid-for is more than 0s".to_owned()));
    }
    let form = PutForm::Flags {
        replicas,
        reason: reason(wish.reason.as_deref(), app)?,
        retry: retry_asked(wish)?,
        key,
        fence: wish.fence.as_deref().map(fence).transpose()?,
        valid_for,
    };
    let put = PutIntent {
        dry_run,
        premise: premise(wish.expect_revision.as_deref())?,
        expect_count: wish
            .current_replicas
            .map(Replicas::new)
            .transpose()
            .map_err(|error| usage("invalid_replicas", error.to_string()))?,
        ..PutIntent::new(service.clone(), form)
    };
    Ok(wish.applied_to(put))
}

/// A key that is minted begins with the service's name, as far as there is room.
pub(super) fn cut(service: &str) -> &str {
    &service[..service.len().min(200)]
}

/// The reason: the flag, else the environment. It must be there.
pub(super) fn reason(flag: Option<&str>, app: &App) -> Result<Reason, Fault> {
    let text = flag.or_else(|| app.environment.text("SCALECTL_REASON")).ok_or_else(|| {
        Fault::from(
            super::problem::Problem::usage("reason_missing", "nobody says why")
                .hint("add --reason TEXT, or set SCALECTL_REASON")
                .with_reason(&app.line),
        )
    })?;
    Reason::try_from(text.to_owned())
        .map_err(|error| Fault::usage("invalid_reason", error.to_string()))
}

pub(super) fn detail(text: String) -> Result<Detail, Fault> {
    Detail::try_from(text).map_err(|error| Fault::usage("invalid_reason", error.to_string()))
}

fn retry_asked(wish: &WishArgs) -> Result<RetryAsked, Fault> {
    let max_attempts = wish
        .max_attempts
        .map(MaxAttempts::new)
        .transpose()
        .map_err(|error| Fault::usage("invalid_attempts", error.to_string()))?;
    if let Some(backoff) = wish.backoff.filter(|backoff| *backoff > BACKOFF_MAX) {
        return Err(Fault::usage(
            "invalid_backoff",
            format!("a backoff is at most {BACKOFF_MAX}, not {backoff}"),
        ));
    }
    Ok(RetryAsked { max_attempts, backoff: wish.backoff })
}

fn fence(text: &str) -> Result<(LeaseEpoch, FenceToken), Fault> {
    let refuse = || {
        Fault::usage(
            "invalid_fence",
            format!("{text:?} is no fence: EPOCH.TOKEN, both 1 or more, such as 4.9"),
        )
    };
    let (epoch, token) = text.split_once('.').ok_or_else(refuse)?;
    let epoch =
        whole_number(epoch).ok().and_then(|n| LeaseEpoch::new(n).ok()).ok_or_else(refuse)?;
    let token =
        whole_number(token).ok().and_then(|n| FenceToken::new(n).ok()).ok_or_else(refuse)?;
    Ok((epoch, token))
}

fn premise(word: Option<&str>) -> Result<Premise, Fault> {
    match word {
        None | Some("latest") => Ok(Premise::Latest),
        Some(number) => whole_number(number).map(Premise::Revision).map_err(|_| {
            Fault::usage(
                "invalid_revision",
                format!("--expect-revision {number:?}: an intent revision, 0 for none, or latest"),
            )
        }),
    }
}

fn show(key: &KeyArg, app: &mut App) -> Outcome {
    let key = key.resolve(app)?;
    app.session()?.tell_standing()?;
    let (state, execution) = app.session()?.load(&key)?;
    let mut answer = Answer::ok()
        .whole_noun("intent", view::intent(&execution))
        .whole_noun("execution", view::execution(&execution))
        .name(execution.key().as_str())
        .line(view::headline(&execution))
        .line(format!("  reason     {}", execution.intent.wish.reason.as_str()))
        .line(format!("  put        {} by {}", execution.put_at, execution.put_by.actor))
        .line(format!("  wish       {}", execution.intent.wish.digest()));
    if let Some(acceptance) = &execution.acceptance {
        answer = answer.line(format!("  identity   {}", acceptance.identity_digest)).line(format!(
            "  fence      {}/{} until {}",
            acceptance.fence.lease_epoch, acceptance.fence.fence_token, acceptance.fence.expires_at
        ));
    }
    if let Some(observation) = &execution.observation {
        answer = answer.noun("observation", observation);
    }
    answer.current = view::current(&state.head);
    Ok(answer)
}

fn list(args: &ListArgs, app: &mut App) -> Outcome {
    if let Some(service) = &args.service {
        app.session()?.load_service(service)?;
    }
    let filter = ExecutionFilter {
        service: args.service.clone(),
        unfinished: args.unfinished,
        limit: Some(args.limit),
    };
    app.session()?.tell_standing()?;
    let found = app.session()?.wishes(&filter)?;
    let views: Vec<_> = found.iter().map(view::execution).collect();
    let answer = Answer::ok().noun("executions", &views);
    let mut answer = answer.table_or(view::intents_table(&found), "no wish is recorded");
    for execution in &found {
        answer = answer.name(execution.key().as_str());
    }
    Ok(answer)
}
