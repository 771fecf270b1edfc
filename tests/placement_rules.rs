//! The seed of placement, held sentence by sentence: a page of `docs/decisions` names for each the
//! test that shows it, or says why we differ, or that it is still open.

use std::collections::BTreeSet;
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

/// Those that may say *open*: who shows one takes it off this list.
const OPEN: [&str; 31] = [
    "owner.1",
    "owner.2",
    "owner.3",
    "owner.6",
    "owner.7",
    "owner.9",
    "api.1",
    "api.2",
    "api.3",
    "api.4",
    "api.5",
    "api.6",
    "api.7",
    "api.8",
    "api.9",
    "api.10",
    "api.11",
    "api.12",
    "api.13",
    "api.14",
    "api.16",
    "api.17",
    "capacity.1",
    "capacity.2",
    "capacity.3",
    "capacity.4",
    "capacity.5",
    "capacity.6",
    "capacity.10",
    "capacity.13",
    "capacity.15",
];

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    std::fs::read_to_string(path).expect("the page")
}

/// What is wrong with the page, the open sentences left aside.
fn wrong_in(page: &str) -> Vec<String> {
    let (open, told): (Vec<&str>, Vec<&str>) =
        page.lines().partition(|line| line.ends_with("| open |"));
    let names = open.iter().map(|line| line.split(" | ").next().unwrap_or_default());
    let open: BTreeSet<&str> = names.map(|name| name.trim_matches(['|', ' '])).collect();
    let mut found = Vec::new();
    for name in open.symmetric_difference(&OPEN.into_iter().collect()) {
        found.push(format!("{name} is open here or there, not on both lists"));
    }
    let mut sentences = numbered(&SENTENCES);
    sentences.retain(|name| !open.contains(name.as_str()));
    found.extend(wrong(&told.join("\n"), &sentences, &tests(), &pages()));
    found
}

#[test]
fn every_sentence_of_the_seed_is_shown_by_a_test_or_differs_on_a_page_or_is_open() {
    assert_eq!(wrong_in(&page()), Vec::<String>::new());
}

#[test]
fn a_sentence_that_is_lost_or_open_by_oversight_is_seen() {
    let page = page();
    let row = |name: &str| {
        let begins = format!("| {name} |");
        page.lines().find(|line| line.starts_with(&begins)).expect("a row").to_owned()
    };
    let lost = page.replace(&row("move.3"), "");
    assert_eq!(wrong_in(&lost), ["move.3"]);
    let opened = page.replace(&row("move.3"), "| move.3 | a claim | open |");
    assert_eq!(wrong_in(&opened), ["move.3 is open here or there, not on both lists"]);
    let shown = page.replace(&row("api.1"), "| api.1 | a claim | `relocator::nothing` |");
    let found = wrong_in(&shown);
    assert!(found.iter().any(|it| it.contains("api.1 names relocator::nothing")), "{found:?}");
    assert!(found.iter().any(|it| it.contains("api.1 is open here or there")), "{found:?}");
}
