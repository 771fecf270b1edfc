//! `capacity`: location, cell, profile, policy, pool, usage, fit.

mod cell;
mod fit;
mod location;
mod policy;
mod pool;
mod profile;
mod usage;

use clap::{ArgMatches, FromArgMatches as _, Subcommand};
use serde::Serialize;

use super::app::App;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out, Recorded};
use super::problem::Problem;
use crate::domain::id::OutOfRange;
use crate::domain::placement::rejection::PlacementRejection;
use crate::domain::time::Timestamp;
use crate::ops::placing::Placed;

pub(super) const NOUN: Noun = Noun {
    name: "capacity",
    group: "Placement",
    about: "What there is to place into: location, cell, profile, policy, pool, usage, fit",
    augment: |command| Verb::augment_subcommands(command).subcommand_required(true),
    run,
    hidden: false,
};

#[derive(Subcommand)]
enum Verb {
    /// Where cells are: put, show, list
    #[command(subcommand)]
    Location(location::Verb),
    /// Places with capacity of their own: put, cordon, uncordon, show, list
    #[command(subcommand)]
    Cell(cell::Verb),
    /// How much an environment is promised, and may take at most: put, show, list
    #[command(subcommand)]
    Profile(profile::Verb),
    /// Which profiles and cells an environment may have, and what it may cost: put, show, list
    #[command(subcommand)]
    Policy(policy::Verb),
    /// How many replicas several services may have together: put, show, list
    #[command(subcommand)]
    Pool(pool::Verb),
    /// What environments were measured to take: put, show, list
    #[command(subcommand)]
    Usage(usage::Verb),
    /// Show what would fit where, and what limits it
    Fit(fit::FitArgs),
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    match Verb::from_arg_matches(matches).map_err(super::parse_fault)? {
        Verb::Location(verb) => location::run(verb, app),
        Verb::Cell(verb) => cell::run(verb, app),
        Verb::Profile(verb) => profile::run(verb, app),
        Verb::Policy(verb) => policy::run(verb, app),
        Verb::Pool(verb) => pool::run(verb, app),
        Verb::Usage(verb) => usage::run(verb, app),
        Verb::Fit(args) => fit::run(&args, app),
    }
}

/// An answer about something that was put.
fn put<T: Serialize>(placed: &Placed, noun: &'static str, setting: &T, line: String) -> Answer {
    let mut answer = Answer::ok().noun(noun, setting).recorded(recorded(placed));
    answer.changed = placed.committed.is_some();
    let line = if answer.changed { line } else { format!("{line}  (unchanged)") };
    answer.line(line)
}

/// Whether the ledger has something new.
pub(super) const fn recorded(placed: &Placed) -> Recorded {
    if placed.committed.is_some() { Recorded::Yes } else { Recorded::No }
}

/// There is no such thing in what was read.
pub(super) fn no_such(noun: &'static str, name: &impl ToString) -> Fault {
    let rejection = PlacementRejection::NotFound { noun, name: name.to_string() };
    Fault::Op(rejection.into())
}

/// A number within its bounds.
pub(super) fn bounded<T>(
    number: u64,
    new: impl Fn(u64) -> Result<T, OutOfRange>,
) -> Result<T, Fault> {
    new(number).map_err(|error| Fault::usage("out_of_range", error.to_string()))
}

/// An instant that was written.
fn instant(flag: &'static str, text: Option<&str>) -> Result<Option<Timestamp>, Fault> {
    let read = |text: &str| {
        text.parse::<Timestamp>().map_err(|error| {
            Fault::from(
                Problem::usage("invalid_time", format!("{flag}: {error}"))
                    .hint("write when, such as 2026-01-01T12:00:00Z"),
            )
        })
    };
    text.map(read).transpose()
}
