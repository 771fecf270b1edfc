//! Words that people read: a count and its noun agree.

use super::{code, hold, texts};

/// What is counted in texts. `bytes` and bounds are never one.
const NOUNS: [&str; 14] = [
    "keys",
    "signatures",
    "events",
    "chains",
    "executions",
    "services",
    "rules",
    "wishes",
    "decisions",
    "files",
    "actuators",
    "replicas",
    "samples",
    "intents",
];

#[test]
fn a_count_and_its_noun_agree() {
    let mut wrong = Vec::new();
    for (file, text) in texts("src/cli", "rs").into_iter().chain(texts("src/ops", "rs")) {
        for line in code(&text).lines() {
            for noun in NOUNS {
                let Some((before, _)) = line.split_once(&format!("}} {noun}")) else { continue };
                // A range has no number of its own, and a bound is more than one.
                if !before.contains("{} to {") && !before.ends_with("_MAX") {
                    wrong.push(format!("{file}: {}: domain::count says it", line.trim()));
                }
            }
        }
    }
    hold(&wrong);
}

/// What a person fills in behind `--reason` is one word everywhere: that of the help.
#[test]
fn a_reason_to_fill_in_is_called_one_thing() {
    let places = [("src/cli", "rs"), ("src/ops", "rs"), ("docs", "md"), ("fixtures", "txt")];
    let mut seen = 0;
    let mut wrong = Vec::new();
    for (file, text) in places.into_iter().flat_map(|(place, ending)| texts(place, ending)) {
        for line in text.lines() {
            // As a line, and as the words of one.
            let joined = line.replace("\", \"", " ");
            for behind in joined.split("--reason ").skip(1) {
                let is_letter = |c: &char| c.is_ascii_uppercase();
                let word: String = behind.chars().take_while(is_letter).collect();
                if word.len() > 2 && word != "TEXT" {
                    wrong.push(format!("{file}: {}", line.trim()));
                }
                seen += usize::from(word == "TEXT");
            }
        }
    }
    assert!(seen > 20, "only {seen} were found");
    hold(&wrong);
}
