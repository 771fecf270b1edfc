//! `quickstart`: the first five minutes, on a ledger of its own.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, FromArgMatches as _};

use super::app::App;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Format, Out};
use crate::ops::quickstart::Quickstart;

pub(super) const NOUN: Noun = Noun {
    name: "quickstart",
    group: "About",
    about: "See it work: real processes, a crash on purpose, a recovery",
    augment: QuickstartArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct QuickstartArgs {
    /// The directory that it makes [default: ~/scalectl-quickstart]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Stop what it started and delete its directory
    #[arg(long)]
    remove: bool,
}

/// What stands in the way is gone on with, or removed.
fn led_on(fault: Fault, app: &App, dir: &Path) -> Fault {
    let problem = app.problem(fault);
    if problem.code != "quickstart_exists" {
        return problem.into();
    }
    let ledger = dir.join("ledger.db").display().to_string();
    let line = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let remove = app.line.iter().cloned().chain(["--remove".to_owned()]);
    problem
        .hint("go on with it, as with the first; or remove it with the second")
        .run(line(&["scalectl", "--ledger", &ledger, "status"]))
        .run(remove.collect())
        .into()
}

fn run(matches: &ArgMatches, app: &mut App, out: &mut Out) -> Outcome {
    let args = QuickstartArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    super::install_signals()?;
    let is_named = args.dir.is_some();
    let dir = if let Some(dir) = args.dir {
        std::path::absolute(&dir)
            .map_err(|error| Fault::usage("invalid_dir", format!("{}: {error}", dir.display())))?
    } else {
        let home = app.environment.get("HOME").map(PathBuf::from);
        home.ok_or_else(|| Fault::usage("no_home", "HOME is not set: name a --dir"))?
            .join("scalectl-quickstart")
    };
    let place = app.place()?;
    // In the JSON forms the one document is the answer; the story goes to stderr.
    let is_table = out.format() == Format::Table;
    let mut say = |line: &str| {
        if is_table {
            out.lines(&format!("{line}\n"));
        } else {
            out.progress(line);
        }
    };
    let mut quickstart = Quickstart { place: &place, dir: dir.clone(), is_named, say: &mut say };
    let done = if args.remove { quickstart.remove() } else { quickstart.start() };
    done.map_err(|error| led_on(error.into(), app, &dir))?;
    Ok(Answer::ok().noun("directory", &dir).name(dir.display().to_string()))
}
