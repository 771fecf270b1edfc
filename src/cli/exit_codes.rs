//! `exit-codes`: the exit codes as a table.

use clap::{ArgMatches, Command};

use super::app::App;
use super::exit::Exit;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::table::{Cell, Column, Table};

pub(super) const NOUN: Noun = Noun {
    name: "exit-codes",
    group: "About",
    about: "The exit codes, what each says of the target, and what to do",
    augment: |command: Command| command,
    run,
    hidden: false,
};

#[expect(clippy::unnecessary_wraps, reason = "the form of every verb")]
fn run(_matches: &ArgMatches, _app: &mut App, _out: &mut Out) -> Outcome {
    let mut table = Table::new([
        Column::right("EXIT"),
        Column::left("WORD"),
        Column::left("THE TARGET"),
        Column::left("WHAT TO DO").wraps(),
    ]);
    let mut rows = Vec::new();
    for exit in Exit::ALL {
        table.row([
            Cell::new(exit.code()),
            Cell::new(exit.word()),
            Cell::new(plain(exit.target())),
            Cell::new(plain(exit.advice())),
        ]);
        rows.push(serde_json::json!({
            "exit": exit.code(),
            "word": exit.word(),
            "target": plain(exit.target()),
            "advice": plain(exit.advice()),
        }));
    }
    Ok(Answer::ok().noun("exit_codes", &rows).table(table))
}

/// The table as lines for the help.
pub(super) fn lines() -> String {
    let lines = Exit::ALL.iter().map(|exit| {
        let (target, advice) = (plain(exit.target()), plain(exit.advice()));
        format!("  {:>3}  {:<17}  {target:<29}  {advice}\n", exit.code(), exit.word())
    });
    lines.chain(["\n".to_owned()]).collect()
}

/// Without the marks of the page.
fn plain(markdown: &str) -> String {
    markdown.replace("**", "").replace('`', "")
}
