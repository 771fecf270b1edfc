//! `relocator`: run.

use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};

use super::app::App;
use super::exit::Exit;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use crate::adapters::relocator::{Root, serve};

pub(super) const NOUN: Noun = Noun {
    name: "relocator",
    group: "Placement",
    about: "Who moves environments between cells: run",
    augment: |command| Verb::augment_subcommands(command).subcommand_required(true),
    run,
    hidden: false,
};

#[derive(Subcommand)]
enum Verb {
    /// Be a bundled relocator: reads one request from stdin, writes one answer to stdout
    #[command(subcommand)]
    Run(Bundled),
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

fn run(matches: &ArgMatches, _app: &mut App, _out: &mut Out) -> Outcome {
    let Verb::Run(Bundled::Local(args)) =
        Verb::from_arg_matches(matches).map_err(super::parse_fault)?;
    let root = Root::new(args.root);
    let code = serve(&root, &mut std::io::stdin().lock(), &mut std::io::stdout().lock());
    // The answer is on stdout already, in the protocol's own words.
    let exit = if code == 0 { Exit::Ok } else { Exit::Internal };
    Ok(Answer::ending(exit).streamed())
}
