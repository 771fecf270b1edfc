//! The seed of placement, held sentence by sentence: a page of `docs/decisions` names for each the
//! test that shows it, or says why we differ.

use std::path::Path;

use crate::fleet_rules::{numbered, pages, tests, wrong};

/// The page that names a test for each sentence.
const PAGE: &str = "docs/decisions/0087-seed-of-placement.md";

/// The sentences by their section.
const SENTENCES: [(&str, usize); 7] = [
    ("owner", 10),
    ("api", 17),
    ("capacity", 15),
    ("move", 16),
    ("recovery", 6),
    ("standby", 8),
    ("limits", 5),
];

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    std::fs::read_to_string(path).expect("the page")
}

/// What is wrong with the page.
fn wrong_in(page: &str) -> Vec<String> {
    wrong(page, &numbered(&SENTENCES), &tests(), &pages())
}

#[test]
fn every_sentence_of_the_seed_is_shown_by_a_test_or_differs_on_a_page() {
    assert_eq!(wrong_in(&page()), Vec::<String>::new());
}

#[test]
fn a_sentence_that_is_lost_or_open_is_seen() {
    let page = page();
    let row = |name: &str| {
        let begins = format!("| {name} |");
        page.lines().find(|line| line.starts_with(&begins)).expect("a row").to_owned()
    };
    let lost = page.replace(&row("move.3"), "");
    assert_eq!(wrong_in(&lost), ["move.3"]);
    let opened = page.replace(&row("move.3"), "| move.3 | a claim | open |");
    assert_eq!(wrong_in(&opened), ["move.3 names no test"]);
    let shown = page.replace(&row("api.1"), "| api.1 | a claim | `relocator::nothing` |");
    assert_eq!(wrong_in(&shown), ["api.1 names relocator::nothing, which is no test"]);
}
