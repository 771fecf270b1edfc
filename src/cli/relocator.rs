//! `relocator`: put, bind, list, show, run.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};
use serde_json::json;

use super::app::App;
use super::capacity::no_such;
use super::escape::shell_line;
use super::exit::Exit;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out, Recorded};
use super::table::{Cell, Column, Table, Tone};
use crate::adapters::relocator::{Root, serve};
use crate::domain::id::RelocatorName;
use crate::domain::placement::registry::RegisteredRelocator;
use crate::domain::time::DurationMs;
use crate::ops::relocator_put::{TypedRelocator, relocator_bind, relocator_put};

pub(super) const NOUN: Noun = Noun {
    name: "relocator",
    group: "Placement",
    about: "Who moves environments between cells: put, bind, list, show, run",
    augment: |command| Verb::augment_subcommands(command).subcommand_required(true),
    run,
    hidden: false,
};

#[derive(Subcommand)]
enum Verb {
    /// Register a relocator and bind its command on this host
    Put(PutArgs),
    /// Bind a registered relocator to a command of this host
    Bind(BindArgs),
    /// List the registered relocators
    List,
    /// Show one relocator
    Show {
        /// Its name in the ledger
        name: RelocatorName,
    },
    /// Be a bundled relocator: reads one request from stdin, writes one answer to stdout
    #[command(subcommand)]
    Run(Bundled),
}

#[derive(Args)]
struct PutArgs {
    /// Its name in the ledger
    name: RelocatorName,
    /// How long one call may take, up to 1d [default: 1h]
    #[arg(long, value_name = "DURATION")]
    timeout: Option<DurationMs>,
    /// The command; scalectl as its first word means this very binary
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Args)]
struct BindArgs {
    /// Its name in the ledger
    name: RelocatorName,
    /// The command of this host
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Subcommand)]
enum Bundled {
    /// Cells are folders of this host
    Local(LocalArgs),
}

#[derive(Args)]
struct LocalArgs {
    /// Where its cells, routes, sessions and fences are
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    match Verb::from_arg_matches(matches).map_err(super::parse_fault)? {
        Verb::Put(args) => put(&args, app),
        Verb::Bind(args) => bind(&args, app),
        Verb::List => list(app),
        Verb::Show { name } => show(&name, app),
        Verb::Run(Bundled::Local(args)) => {
            let root = Root::new(args.root);
            let code = serve(&root, &mut std::io::stdin().lock(), &mut std::io::stdout().lock());
            // The answer is on stdout already, in the protocol's own words.
            let exit = if code == 0 { Exit::Ok } else { Exit::Internal };
            Ok(Answer::ending(exit).streamed())
        }
    }
}

fn current_dir() -> Result<PathBuf, Fault> {
    std::env::current_dir().map_err(|error| {
        Fault::usage("no_directory", format!("the working directory cannot be told: {error}"))
    })
}

fn put(args: &PutArgs, app: &mut App) -> Outcome {
    let current_dir = current_dir()?;
    let search_path = app.environment.get("PATH").map(ToOwned::to_owned);
    let command = TypedRelocator {
        words: &args.command,
        current_dir: &current_dir,
        search_path: search_path.as_deref(),
    };
    let here = relocator_put(app.session()?, &args.name, &command, args.timeout)?;
    let recorded = if here.changed { Recorded::Yes } else { Recorded::No };
    let mut answer = shown(&here.relocator).recorded(recorded);
    answer.changed = here.changed;
    Ok(answer)
}

fn bind(args: &BindArgs, app: &mut App) -> Outcome {
    let current_dir = current_dir()?;
    let search_path = app.environment.get("PATH").map(ToOwned::to_owned);
    let command = TypedRelocator {
        words: &args.command,
        current_dir: &current_dir,
        search_path: search_path.as_deref(),
    };
    let relocator = relocator_bind(app.session()?, &args.name, &command)?;
    Ok(shown(&relocator).line("  bound      on this host"))
}

fn shown(relocator: &RegisteredRelocator) -> Answer {
    let ops: Vec<&str> = relocator.ops.iter().map(String::as_str).collect();
    Answer::ok()
        .noun("relocator", relocator)
        .name(relocator.name.as_str())
        .line(format!(
            "relocator {}  {} {}  {}",
            relocator.name, relocator.adapter, relocator.version, relocator.protocol
        ))
        .line(format!("  can        {}", ops.join(", ")))
        .line(format!("  timeout    {}", relocator.timeout_ms))
}

fn show(name: &RelocatorName, app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let state = app.session()?.placement()?;
    let relocator = state.relocators.get(name).ok_or_else(|| no_such("relocator", name))?;
    let words = app.session()?.relocator_words(name);
    let answer = shown(relocator).noun("bound_here", &words.is_some()).noun("command", &words);
    Ok(match &words {
        Some(words) => answer.line(format!("  command    {}", shell_line(words))),
        None => answer.line("  bound      not on this host"),
    })
}

fn list(app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let state = app.session()?.placement()?;
    let mut table = Table::new([
        Column::left("NAME"),
        Column::left("ADAPTER"),
        Column::left("VERSION"),
        Column::left("HERE"),
        Column::right("TIMEOUT"),
    ]);
    let mut views = Vec::new();
    let mut answer = Answer::ok();
    for relocator in state.relocators.values() {
        let here = app.session()?.relocator_words(&relocator.name).is_some();
        table.row([
            Cell::new(&relocator.name),
            Cell::new(&relocator.adapter),
            Cell::new(&relocator.version),
            if here { Cell::new("yes") } else { Cell::new("no").tone(Tone::Warn) },
            Cell::new(relocator.timeout_ms),
        ]);
        views.push(json!({"relocator": relocator, "bound_here": here}));
        answer = answer.name(relocator.name.as_str());
    }
    let answer = answer.noun("relocators", &views);
    Ok(answer.table_or(table, "no relocator is registered"))
}
