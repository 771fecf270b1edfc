//! `backup`: a verified copy of the ledger.

use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches as _};
use serde_json::json;

use super::app::App;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use crate::domain::count::counted;
use crate::ops::backup::backup;

pub(super) const NOUN: Noun = Noun {
    name: "backup",
    group: "Ledger",
    about: "Copy the ledger while it is in use, and hold the copy against its events",
    augment: BackupArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct BackupArgs {
    /// The file: it appears whole and verified, or not at all
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// Replace an older backup of the same ledger
    #[arg(long)]
    force: bool,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let args = BackupArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    App::file_named("--to", &args.to)?;
    let lock_timeout = app.globals.lock_timeout;
    let made = backup(app.session()?, &args.to, args.force, lock_timeout)?;
    let shown = made.path.display().to_string();
    let mut answer = Answer::ok()
        .noun("backup", &json!({"path": shown, "bytes": made.bytes}))
        .noun("heads", &made.heads)
        .noun("events", &made.events)
        .line(format!("{shown}: {}, {} bytes, sound", counted(made.events, "event"), made.bytes))
        .name(shown);
    for head in &made.heads {
        answer = answer.line(format!("  {}  {}  {}", head.hash, head.sequence, head.stream));
    }
    Ok(answer)
}
