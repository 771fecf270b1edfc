//! `ledger signers`: whose signatures are taken.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::app::App;
use crate::cli::fault::Fault;
use crate::cli::hold::Why;
use crate::cli::noun::Outcome;
use crate::cli::output::{Answer, Recorded};
use crate::cli::record::read_bounded;
use crate::domain::count::counted;
use crate::domain::registry::AllowedSigners;
use crate::ops::ledger_signers::{signers, signers_put};

#[derive(Subcommand)]
pub(super) enum SignersVerb {
    /// Let another list hold from now on
    Put(PutArgs),
    /// Show the list that holds
    Show,
}

#[derive(Args)]
pub(super) struct PutArgs {
    /// A file of allowed signers (ssh-keygen(1), ALLOWED SIGNERS), or - for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Take no answer and break no glass without a signature
    #[arg(long)]
    required: bool,
    #[command(flatten)]
    why: Why,
}

pub(super) fn run(verb: SignersVerb, app: &mut App) -> Outcome {
    match verb {
        SignersVerb::Put(args) => put(&args, app),
        SignersVerb::Show => show(app),
    }
}

fn put(args: &PutArgs, app: &mut App) -> Outcome {
    let reason = args.why.detail(app)?;
    let text = String::from_utf8(read_bounded(&args.file)?).map_err(|_| {
        Fault::usage("signers_invalid", format!("{} is not UTF-8", args.file.display()))
    })?;
    let list = AllowedSigners { text, is_required: args.required };
    let changed = signers_put(app.session()?, &list, &reason)?;
    let mut answer = shown(Answer::ok(), Some(&list)).recorded(if changed {
        Recorded::Yes
    } else {
        Recorded::No
    });
    answer.changed = changed;
    Ok(answer)
}

fn show(app: &mut App) -> Outcome {
    let list = signers(app.session()?)?;
    let answer = shown(Answer::ok(), list.as_ref());
    Ok(match &list {
        Some(list) => {
            list.text.lines().fold(answer, |answer, line| answer.line(format!("  {line}")))
        }
        None => answer,
    })
}

fn shown(answer: Answer, list: Option<&AllowedSigners>) -> Answer {
    let answer = answer.noun(
        "signers",
        &list.map(|list| {
            json!({"digest": list.digest(), "required": list.is_required, "text": list.text})
        }),
    );
    let Some(list) = list else {
        return answer.line("no list is set: no signature is taken, and none is asked for");
    };
    let is_key = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with('#');
    let keys = list.text.lines().filter(is_key).count();
    let asked = if list.is_required { "required" } else { "taken where one is given" };
    answer
        .name(list.digest().to_string())
        .line(format!("{}, signatures are {asked}", counted(keys, "key")))
}
