//! Every line that we suggest is one that can be typed.

use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use scalectl::cli::topics::TOPICS;
use scalectl::cli::whole_command;

use super::in_repository;

/// Where lines are suggested.
const PLACES: [&str; 6] =
    ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "fixtures/texts", "fixtures/help"];

pub(super) fn files_below(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).expect("a folder of ours");
        let mut entries: Vec<PathBuf> = entries.map(|entry| entry.expect("one").path()).collect();
        entries.sort();
        for entry in &entries {
            files_below(entry, found);
        }
    } else if path.exists() {
        found.push(path.to_owned());
    }
}

fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for place in PLACES {
        files_below(&in_repository(place), &mut files);
    }
    // Those are wrong lines.
    files.retain(|file| !file.ends_with("fixtures/texts/lines.txt"));
    files
}

/// The words of the first command of a shell line, as far as our lines need it: quotes, escapes,
/// and what ends a command.
fn words_of(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(rest.next()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | '>' | '<' | ';' | '&') => break,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Why a line cannot be typed; none where it can.
fn refusal(line: &str) -> Option<String> {
    refusal_of(&words_of(line))
}

/// The same of words.
pub(super) fn refusal_of(words: &[String]) -> Option<String> {
    let mut words = words.to_vec();
    // Flags may stand before it, such as the ledger of a hint.
    if let Some(at) = words.iter().take(4).position(|word| word == "help") {
        words.remove(at);
        words.push("--help".to_owned());
    }
    match whole_command().try_get_matches_from(&words) {
        Ok(_) => None,
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
            _ => Some(error.to_string()),
        },
    }
}

#[test]
fn every_line_that_is_suggested_can_be_typed() {
    let files = files();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for file in &files {
        let text = std::fs::read_to_string(file).expect("a text of ours");
        // A line that goes on behind a backslash is one line.
        for line in text.replace("\\\n", " ").lines() {
            let line = line.trim_start();
            let line = line.strip_prefix("$ ").or(line.strip_prefix("+ ")).unwrap_or(line);
            // Prose may begin a line with the name of the tool; a command goes on with a word.
            let is_line = line
                .strip_prefix("scalectl ")
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '-'));
            if is_line && !is_prose(line) {
                seen += 1;
                if let Some(why) = refusal(line) {
                    wrong.push(format!("{}: {line}\n{why}", file.display()));
                }
            }
        }
    }
    assert!(seen > 60, "only {seen} lines were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A sentence about the tool: it goes on with no verb of ours, and ends as sentences do.
fn is_prose(line: &str) -> bool {
    let verb = line.split_whitespace().nth(1).unwrap_or_default();
    let is_verb = whole_command().get_subcommands().any(|noun| noun.get_name() == verb);
    !is_verb && verb != "help" && line.split_whitespace().count() > 4 && !line.contains(" --")
}

/// Commands inside of sentences are cut short; their verbs must still be there.
#[test]
fn every_verb_that_a_sentence_names_is_there() {
    let files = files();
    let root = whole_command();
    let mut wrong = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("a text of ours");
        for quoted in text.lines().flat_map(|line| line.split('`').skip(1).step_by(2)) {
            let Some(rest) = quoted.strip_prefix("scalectl ") else { continue };
            let topic = rest.strip_prefix("help").unwrap_or("of a command").trim();
            if topic.is_empty() || TOPICS.iter().any(|(name, _)| *name == topic) {
                continue;
            }
            let mut at = &root;
            for word in rest.split_whitespace() {
                match at.find_subcommand(word) {
                    Some(below) => at = below,
                    None if at.has_subcommands() && !word.starts_with('-') && word != "…" => {
                        wrong.push(format!("{}: {quoted}: no {word}", file.display()));
                        break;
                    }
                    None => break,
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn words_are_taken_apart_as_a_shell_would() {
    for (line, words) in [
        ("scalectl scale web=1 --reason \"a b\" # why", "scalectl|scale|web=1|--reason|a b"),
        ("scalectl log -o ndjson | head -1", "scalectl|log|-o|ndjson"),
        (r"scalectl x 'it'\''s' ''", "scalectl|x|it's|"),
        ("scalectl x>y", "scalectl|x"),
    ] {
        assert_eq!(words_of(line).join("|"), words, "{line}");
    }
}
