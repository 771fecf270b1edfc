//! The help texts, as people see them: one file per noun in `fixtures/help/`.

use clap::Command;
use scalectl::cli::{examples, topics::TOPICS, whole_command};

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

#[test]
fn the_topics_are_the_committed_ones_and_no_commands() {
    let world = World::new();
    let overview = world.run("").exits(0).stdout;
    for (topic, text) in TOPICS {
        assert!(whole_command().find_subcommand(topic).is_none(), "{topic} is a command");
        assert_eq!(world.run(&format!("help {topic}")).exits(0).stdout, text);
        assert!(overview.contains(topic), "{topic} is not in the overview");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{topic}");
        hold_committed(&format!("fixtures/help/topics/{topic}.txt"), text);
    }
    let codes = world.run("help exit-codes").exits(0).stdout;
    for exit in scalectl::cli::exit::Exit::ALL {
        assert!(codes.contains(&format!("  {:>3}  {}", exit.code(), exit.word())), "{codes}");
    }
}

/// The commands that do something: those without commands below them.
fn leaves(command: &Command, before: &str, found: &mut Vec<String>) {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        let path = format!("{before} {}", below.get_name()).trim_start().to_owned();
        if below.has_subcommands() {
            leaves(below, &path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn the_help_of_every_command_begins_with_an_example_of_it() {
    let world = World::new();
    let mut paths = Vec::new();
    leaves(&whole_command(), "", &mut paths);
    for path in paths {
        let lines = examples::of(&path);
        assert!(!lines.is_empty(), "{path} has no example");
        let begin = format!("scalectl {path}");
        assert!(lines.iter().all(|line| line.starts_with(&begin)), "{lines:?}");
        let help = world.run(&format!("{path} --help")).exits(0).stdout;
        let example = help.find(&format!("Examples:\n  {}\n", lines[0]));
        assert!(example.is_some_and(|at| Some(at) < help.find("Usage:")), "{help}");
    }
}
