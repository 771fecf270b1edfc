//! `completions`: a script that completes the words of this tool in a shell.

use clap::{ArgMatches, Args, FromArgMatches as _};

use super::app::App;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};

pub(super) const NOUN: Noun = Noun {
    name: "completions",
    group: "About",
    about: "Print the completions for a shell",
    augment: CompletionsArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct CompletionsArgs {
    /// The shell
    shell: clap_complete::Shell,
}

fn run(matches: &ArgMatches, _app: &mut App, out: &mut Out) -> Outcome {
    let args = CompletionsArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    out.data(&script(args.shell));
    Ok(Answer::ok().streamed())
}

/// The script for a shell: what `completions/` holds.
pub fn script(shell: clap_complete::Shell) -> String {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut super::whole_command(), "scalectl", &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}
