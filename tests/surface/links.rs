//! The documentation as a whole: every link leads somewhere, and every page is in the site.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::hold_committed;
use crate::recipes::page::root;

/// The pages: those of `docs/`, and those that stand beside it.
fn pages() -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root().join("docs")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                found.insert(path.clone(), std::fs::read_to_string(path).unwrap());
            }
        }
    }
    for name in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        let path = root().join(name);
        found.insert(path.clone(), std::fs::read_to_string(path).unwrap());
    }
    found
}

/// The lines of a page that are no code.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut is_code = false;
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            lines.push((number + 1, line));
        }
    }
    lines
}

/// The anchors of a page: its headings, as GitHub and mdBook name them, and its own.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = BTreeSet::new();
    for (_, line) in prose(text) {
        let heading = line.trim_start_matches('#');
        if heading.len() < line.len() && heading.starts_with(' ') {
            let lower = heading.trim().to_lowercase();
            let kept = lower.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            let name: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
            let mut again = 1;
            let mut own = name.clone();
            while !found.insert(own) {
                own = format!("{name}-{again}");
                again += 1;
            }
        }
        found.extend(
            line.split("<a id=\"")
                .skip(1)
                .filter_map(|rest| rest.split_once('"').map(|(id, _)| id.to_owned())),
        );
    }
    found
}

/// The targets of the links of a line, outside of `code`.
fn targets(line: &str) -> Vec<String> {
    let plain: String =
        line.split('`').enumerate().filter(|(at, _)| at % 2 == 0).map(|(_, part)| part).collect();
    let links = plain.split("](").skip(1);
    links.filter_map(|rest| rest.split_once(')').map(|(target, _)| target.to_owned())).collect()
}

/// A path without its dots.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

/// The links that lead nowhere.
fn broken(pages: &BTreeMap<PathBuf, String>) -> (usize, Vec<String>) {
    let (mut seen, mut wrong) = (0, Vec::new());
    for (page, text) in pages {
        for (number, line) in prose(text) {
            for target in targets(line) {
                if target.contains("://") || target.starts_with("mailto:") {
                    continue;
                }
                seen += 1;
                let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
                let path = match file {
                    "" => page.clone(),
                    file => plain(&page.parent().unwrap().join(file)),
                };
                let place = || format!("{}:{number}: {target}", page.display());
                let docs = root().join("docs");
                if !path.exists() {
                    wrong.push(place());
                } else if page.starts_with(&docs) && !path.starts_with(&docs) {
                    wrong.push(format!("{} (leaves the site)", place()));
                } else if !anchor.is_empty() {
                    let there = pages.get(&path).map(|text| anchors(text)).unwrap_or_default();
                    if !there.contains(anchor) {
                        wrong.push(format!("{} (no such anchor)", place()));
                    }
                }
            }
        }
    }
    (seen, wrong)
}

#[test]
fn every_link_leads_somewhere() {
    let (seen, wrong) = broken(&pages());
    assert!(seen > 200, "only {seen} links were found");
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_broken_link_is_seen() {
    let page = root().join("docs/index.md");
    let with = |line: &str| {
        let text = format!("# A Page: of `two` words\n\n<a id=\"own\"></a>\n\n{line}\n");
        broken(&[(page.clone(), text)].into()).1.len()
    };
    for (line, wrong) in [
        ("[a](ledger.md) and [b](recipes/cron.md)", 0),
        ("[a](../README.md)", 1),
        ("[a](#own) [b](#a-page-of-two-words) [c](https://example.org/x)", 0),
        ("`[a](nowhere.md)`", 0),
        ("[a](nowhere.md)", 1),
        ("[a](#nothing) [b](../docs/nowhere.md)", 2),
    ] {
        assert_eq!(with(line), wrong, "{line}");
    }
}

/// What stands before the decisions in the list of the site is written by hand.
const DECISIONS: &str = "\n# Decisions\n\n";

/// What is in no list of the site is found by nobody. The decisions are listed by
/// `SCALECTL_UPDATE_TEXTS=1`.
#[test]
fn every_page_of_docs_is_in_the_site() {
    let docs = root().join("docs");
    let pages = pages();
    let mut summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    summary.truncate(summary.find(DECISIONS).unwrap() + DECISIONS.len());
    let decisions = docs.join("decisions");
    for (page, text) in pages.iter().filter(|(page, _)| page.starts_with(&decisions)) {
        let title = text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap();
        let name = page.strip_prefix(&docs).unwrap().display().to_string();
        summary.extend(["- [", title, "](", &name, ")\n"]);
    }
    hold_committed("docs/SUMMARY.md", &summary);
    let listed: BTreeSet<PathBuf> =
        summary.lines().flat_map(targets).map(|target| plain(&docs.join(target))).collect();
    let there: BTreeSet<PathBuf> = pages
        .into_keys()
        .filter(|page| page.starts_with(&docs) && !page.ends_with("SUMMARY.md"))
        .collect();
    let missing: Vec<_> = there.difference(&listed).collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:#?}");
    let strangers: Vec<_> = listed.difference(&there).collect();
    assert!(strangers.is_empty(), "in docs/SUMMARY.md, and nowhere else: {strangers:#?}");
}
