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
