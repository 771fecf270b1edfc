//! The help texts, as people see them: one file per noun in `fixtures/help/`.

use clap::Command;
use scalectl::cli::whole_command;

use super::hold_committed;
use crate::support::World;

/// The flags that every verb takes, told once instead of in every file.
const EVERYWHERE: &str = "\nEverywhere:\n";

/// A command and all below it, as words to type.
fn lines_of(command: &Command, before: &str, found: &mut Vec<String>) {
    let line = format!("{before} {}", command.get_name());
    found.push(line.trim_start().to_owned());
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        lines_of(below, &line, found);
    }
}

#[test]
fn the_help_of_every_noun_is_the_committed_one() {
    let world = World::new();
    let mut everywhere = None;
    for noun in whole_command().get_subcommands().filter(|noun| !noun.is_hide_set()) {
        let mut lines = Vec::new();
        lines_of(noun, "", &mut lines);
        let mut page = String::new();
        for line in lines {
            let help = world.run(&format!("{line} --help")).exits(0);
            let (own, common) =
                help.stdout.split_once(EVERYWHERE).expect("every verb has the common flags");
            assert_eq!(everywhere.get_or_insert_with(|| common.to_owned()), common, "{line}");
            page.extend(["scalectl ", &line, " --help\n----\n", own.trim_end(), "\n\n"]);
            // Both ways to ask say the same.
            let asked = world.run(&format!("help {line}")).exits(0);
            assert_eq!(asked.stdout, help.stdout, "{line}");
            let asked = world.run(&format!("--ledger prod help {line}")).exits(0);
            assert_eq!(asked.stdout, help.stdout, "{line}");
        }
        let name = noun.get_name();
        hold_committed(&format!("fixtures/help/{name}.txt"), &format!("{}\n", page.trim_end()));
    }
    let everywhere = everywhere.expect("there are nouns");
    hold_committed("fixtures/help/everywhere.txt", &everywhere);
    let overview = world.run("").exits(0).stdout;
    assert_eq!(world.run("--help").exits(0).stdout, overview);
    assert_eq!(world.run("help").exits(0).stdout, overview);
    hold_committed("fixtures/help/scalectl.txt", &overview);
}

#[test]
fn every_noun_begins_its_help_with_its_own_words() {
    let world = World::new();
    for noun in whole_command().get_subcommands().filter(|noun| !noun.is_hide_set()) {
        let about = noun.get_about().expect("a noun says what it is for").to_string();
        let help = world.run(&format!("{} --help", noun.get_name())).exits(0);
        assert_eq!(help.stdout.lines().next(), Some(about.as_str()), "{}", noun.get_name());
    }
}
