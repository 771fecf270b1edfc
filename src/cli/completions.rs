//! `completions`: a script that completes the words of this tool in a shell.

use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use clap_complete::Shell;

use super::NOUNS;
use super::app::App;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::topics::TOPICS;

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
    shell: Shell,
}

fn run(matches: &ArgMatches, _app: &mut App, out: &mut Out) -> Outcome {
    let args = CompletionsArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    out.data(&script(args.shell));
    Ok(Answer::ok().streamed())
}

/// The script for a shell: what `completions/` holds. Three of them ask `complete` for the names
/// that a ledger has.
pub fn script(shell: Shell) -> String {
    let mut bytes = Vec::new();
    let mut command = super::whole_command().subcommand(help());
    clap_complete::generate(shell, &mut command, "scalectl", &mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match shell {
        Shell::Bash => text + include_str!("shells/values.bash"),
        Shell::Zsh => with_values_of_zsh(&text),
        Shell::Fish => with_values_of_fish(&text),
        _ => text,
    }
}

/// `help`, which is no noun: what may stand behind it.
fn help() -> Command {
    let about = "Print the help of a command, or of a topic";
    let help = Command::new("help").about(about).disable_help_subcommand(true);
    let topics = TOPICS.iter().map(|(topic, _)| Command::new(*topic).about("A topic"));
    let nouns = NOUNS.iter().filter(|noun| !noun.hidden);
    let nouns = nouns.map(|noun| Command::new(noun.name).about(noun.about));
    help.subcommands(topics.chain(nouns))
}

/// The words are kept before they are taken apart, and names are asked where a file would be.
fn with_values_of_zsh(text: &str) -> String {
    let kept = "_scalectl() {\n    typeset -ga _scalectl_line\n    \
                _scalectl_line=(\"${(@)words[1,CURRENT]}\")\n";
    let text = text.replacen("_scalectl() {\n", kept, 1);
    // Labels are neither names nor files.
    let text = text.replace(":SELECTOR:_default'", ":SELECTOR: '");
    let text = text.replace(":_default'", ":_scalectl_values'");
    let at = text.rfind("if [ \"$funcstack[1]\"").unwrap_or(text.len());
    [&text[..at], include_str!("shells/values.zsh"), &text[at..]].concat()
}

/// An option that takes a value asks for it, too.
fn with_values_of_fish(text: &str) -> String {
    let lines = text.lines().map(|line| match line.strip_suffix(" -r") {
        Some(option) if option.contains(" -l selector ") => format!("{option} -r -f\n"),
        Some(option) => format!("{option} -r -a '(__scalectl_values)'\n"),
        None => format!("{line}\n"),
    });
    lines.collect::<String>() + include_str!("shells/values.fish")
}
