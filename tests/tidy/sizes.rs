//! How long a line, a function and a file may be, and the few that are longer.

use std::collections::BTreeSet;

use super::{hold, rust, texts};

/// Files over 400 lines, each with the most that it may have. The list may only shrink.
const LONG_FILES: [(&str, usize); 7] = [
    ("src/cli/problem.rs", 420),
    ("src/cli/problem/tests.rs", 480),
    ("src/domain/scale/intent.rs", 510),
    ("src/domain/scale/rejection.rs", 500),
    ("src/policy/code.rs", 440),
    ("tests/scenarios.rs", 420),
    ("tests/support/mod.rs", 430),
];
const FILE_LINES_MAX: usize = 400;

/// Functions over 70 lines, with the most that each may have: tables of one arm a row, mostly.
const LONG_FUNCTIONS: [(&str, usize); 10] = [
    ("src/cli/policy.rs test", 95),
    ("src/cli/problem/rejection.rs about", 145),
    ("src/cli/view.rs execution", 75),
    ("src/domain/scale/fold.rs apply", 104),
    ("src/ledger/tests/damage.rs every_change_is_found_and_named", 105),
    ("tests/bad_input/documents.rs a_document_of_another_shape_is_refused_by_member", 75),
    ("tests/crash/scenarios.rs all", 100),
    ("tests/model/machine.rs perform", 120),
    ("tests/model/orders.rs command", 75),
    ("tests/bad_input/lines.rs a_wrong_line_is_refused_with_a_word_and_nothing_written", 120),
];
const FUNCTION_LINES_MAX: usize = 70;

const COLUMNS_MAX: usize = 100;
/// Lines over that: texts and comments that the formatter leaves alone. The number may only shrink.
const LONG_LINES_MAX: usize = 55;

#[test]
fn lines_have_at_most_100_columns_and_the_longer_ones_get_fewer() {
    let mut files = rust();
    files.extend(texts("fixtures/actuators", "sh"));
    let mut wrong = Vec::new();
    for (file, text) in files {
        for (number, line) in text.lines().enumerate() {
            if line.chars().count() > COLUMNS_MAX {
                wrong.push(format!("{file}:{}", number + 1));
            }
        }
    }
    assert!(wrong.len() <= LONG_LINES_MAX, "{} long lines\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn files_are_short_and_the_long_ones_get_shorter() {
    let mut wrong = Vec::new();
    let mut files = rust();
    for (file, max) in LONG_FILES {
        let lines = files.remove(file).map_or(0, |text| text.lines().count());
        if lines > max {
            wrong.push(format!("{file} has {lines} lines, at most {max}"));
        }
        if lines <= FILE_LINES_MAX {
            wrong.push(format!("{file} has {lines} lines: take it off the list of long files"));
        }
    }
    for (file, text) in files {
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX {
            wrong.push(format!("{file} has {lines} lines, at most {FILE_LINES_MAX}"));
        }
    }
    hold(&wrong);
}

/// The functions of a formatted text and their lines: from `fn` to the brace in the same column.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let words: Vec<&str> = line.split_whitespace().take_while(|word| *word != "//").collect();
        let Some(at) = words.iter().position(|word| *word == "fn") else { continue };
        let is_head = words[..at]
            .iter()
            .all(|word| ["const", "unsafe", "async"].contains(word) || word.starts_with("pub"))
            || words[..at].join(" ").starts_with("pub(");
        if !is_head {
            continue;
        }
        let end = format!("{}}}", " ".repeat(indent));
        let length = lines[start..].iter().position(|line| **line == *end);
        let name = words.get(at + 1).map_or("", |name| name.split(['(', '<']).next().unwrap_or(""));
        found.push((name.to_owned(), length.map_or(1, |length| length + 1)));
    }
    found
}

#[test]
fn functions_are_short_and_the_long_ones_get_shorter() {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for (file, text) in rust() {
        for (name, lines) in functions(&text) {
            let place = format!("{file} {name}");
            let listed = LONG_FUNCTIONS.iter().find(|(long, _)| *long == place);
            let max = listed.map_or(FUNCTION_LINES_MAX, |(_, max)| *max);
            if lines > max {
                wrong.push(format!("{place} has {lines} lines, at most {max}"));
            }
            if lines > FUNCTION_LINES_MAX {
                seen.insert(place);
            }
        }
    }
    for (place, _) in LONG_FUNCTIONS.iter().filter(|(place, _)| !seen.contains(*place)) {
        wrong.push(format!("{place} is not long any more: take it off the list"));
    }
    hold(&wrong);
}
