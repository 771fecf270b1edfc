//! `settle`: a person's word about an attempt whose outcome is unknown.

use clap::{ArgGroup, ArgMatches, Args, FromArgMatches as _};

use super::app::App;
use super::args::whole_number;
use super::exit::Exit;
use super::fault::Fault;
use super::intent::{KeyArg, reason};
use super::noun::{Noun, Outcome};
use super::output::Out;
use super::view;
use crate::domain::id::{AttemptNumber, AuthorizationId};
use crate::domain::scale::decide::Reply;
use crate::ops::settle::{Word, settle};

pub(super) const NOUN: Noun = Noun {
    name: "settle",
    group: "Step by step",
    about: "Say what became of a call that nobody else can tell",
    augment: SettleArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
#[group(skip)]
#[command(group = ArgGroup::new("word").args(["applied", "not_applied"]).required(true))]
struct SettleArgs {
    #[command(flatten)]
    key: KeyArg,
    /// It took effect; a reading of the wished count must agree
    #[arg(long)]
    applied: bool,
    /// It did not and will not take effect; the same key may then be tried again
    #[arg(long)]
    not_applied: bool,
    /// The attempt that did not take effect [default: the one that is unknown now]
    #[arg(long, value_name = "N", value_parser = whole_number, conflicts_with = "applied")]
    attempt: Option<u64>,
    /// Under this authorization, where policy does not let you
    #[arg(long, value_name = "ID")]
    break_glass: Option<AuthorizationId>,
    /// Why [env: SCALECTL_REASON]
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let args = SettleArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    super::install_signals()?;
    let key = args.key.resolve(app)?;
    let reason = reason(args.reason.as_deref(), app)?;
    let word = if args.applied { Word::Applied } else { Word::NotApplied };
    // Whoever has nothing to settle is told how the key stands, as by every other step.
    let meant = args.attempt.map(AttemptNumber::new).transpose();
    let meant = meant.map_err(|error| Fault::usage("out_of_range", error.to_string()))?;
    let glass = args.break_glass.as_ref();
    let report = settle(app.session()?, &key, word, meant, &reason, glass)?;
    let exit = match report.reply {
        Reply::Done => Exit::Ok,
        Reply::Replayed
        | Reply::Unchanged
        | Reply::StaleReading
        | Reply::Late
        | Reply::Evaluated => view::step_exit(&report),
    };
    let answer = view::answer(app, &report, exit);
    let settled = report.execution.result.as_ref().filter(|_| report.reply == Reply::Done);
    Ok(match settled {
        Some(recorded) => {
            answer.line(format!("  settled    attempt {}, by your word", recorded.attempt))
        }
        None => answer,
    })
}
