//! Nouns and verbs: how a subcommand is declared, so that only the one that was typed is built.

use clap::{ArgMatches, Command};

use super::app::App;
use super::fault::Fault;
use super::output::{Answer, Out};

/// What a verb returns.
pub(crate) type Outcome = Result<Answer, Fault>;

/// One word after `scalectl`.
pub(crate) struct Noun {
    /// The word.
    pub(crate) name: &'static str,
    /// Its group in the help.
    pub(crate) group: &'static str,
    /// What it is for, in one line.
    pub(crate) about: &'static str,
    /// Adds its arguments or verbs.
    pub(crate) augment: fn(Command) -> Command,
    /// Runs it.
    pub(crate) run: fn(&ArgMatches, &mut App, &mut Out) -> Outcome,
    /// Whether it is left out of the help.
    pub(crate) hidden: bool,
}

impl Noun {
    /// The noun as a subcommand.
    pub(crate) fn command(&self) -> Command {
        (self.augment)(Command::new(self.name).about(self.about).hide(self.hidden))
    }
}
