//! The rule book of the fleet's authority, held rule by rule: a page of `docs/decisions` names for
//! each rule the test that shows it, or says why we differ and on which page.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::support::World;

/// The page that names a test for each rule.
const PAGE: &str = "docs/decisions/0065-rule-book-of-the-fleet.md";

/// The rules by their section, and how many the section has; 0 is the section itself.
const RULES: [(&str, usize); 24] = [
    ("1B.scaling", 8),
    ("1B.kubernetes", 4),
    ("1B.desired", 2),
    ("1B.action", 2),
    ("1B.intent", 4),
    ("1B.store", 5),
    ("1B.outbox", 2),
    ("limits", 6),
    ("4.wiring", 0),
    ("4.1", 5),
    ("4.2", 0),
    ("4.3", 15),
    ("4.4", 0),
    ("4.5", 0),
    ("4.6", 8),
    ("5.1", 0),
    ("5.2", 10),
    ("5.3", 5),
    ("5.4", 17),
    ("5.5", 7),
    ("5.6", 0),
    ("6.1", 9),
    ("6.2", 0),
    ("6.3", 0),
];

fn rules() -> BTreeSet<String> {
    let mut rules = numbered(&RULES);
    rules.insert("6.4".to_owned());
    rules
}

/// The names of the rules of some sections; 0 is the section itself.
pub(crate) fn numbered(sections: &[(&str, usize)]) -> BTreeSet<String> {
    let numbered = |(section, count): &(&str, usize)| -> Vec<String> {
        match count {
            0 => vec![(*section).to_owned()],
            _ => (1..=*count).map(|number| format!("{section}.{number}")).collect(),
        }
    };
    sections.iter().flat_map(numbered).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The path of a file's module, as the list of a test binary says it.
fn module_of(folder: &Path, file: &Path) -> String {
    let below = file.strip_prefix(folder).expect("below").with_extension("");
    let words = below.iter().map(|word| word.to_str().expect("text"));
    words.filter(|word| *word != "mod").collect::<Vec<_>>().join("::")
}

/// The file that a test of the suite stands in; none where there is no such file.
pub(crate) fn file_of(test: &str) -> Option<PathBuf> {
    let (module, _) = test.rsplit_once("::")?;
    let path = root().join("tests").join(module.replace("::", "/")).with_extension("rs");
    path.exists().then_some(path)
}

/// The full names of all tests, of the suite and of the library.
pub(crate) fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for folder in ["tests", "src"] {
        let folder = root().join(folder);
        let mut files = Vec::new();
        sources(&folder, &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).expect("a source");
            let mut module = module_of(&folder, &file);
            let mut is_test = false;
            for line in text.lines() {
                let code = line.trim_start();
                if code == "mod tests {" {
                    module.push_str("::tests");
                }
                if let Some(name) = code.strip_prefix("fn ").filter(|_| is_test) {
                    let name = name.split('(').next().unwrap_or_default();
                    names.insert(format!("{module}::{name}"));
                }
                is_test = code == "#[test]" || is_test && code.starts_with("#[");
            }
        }
    }
    names
}

/// What is wrong with a page that has a row for each of some rules.
pub(crate) fn wrong(
    page: &str,
    rules: &BTreeSet<String>,
    tests: &BTreeSet<String>,
    pages: &BTreeSet<String>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut told: BTreeMap<&str, usize> = BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [rule, claim, shown] = cells[..] else {
            wrong.push(format!("not three cells: {line}"));
            continue;
        };
        if ["rule", "sentence"].contains(&rule) || rule.starts_with("---") {
            continue;
        }
        *told.entry(rule).or_default() += 1;
        if !rules.contains(rule) || claim.is_empty() {
            wrong.push(format!("no rule of the book, or no claim: {line}"));
        }
        let (shown, why) = shown.split_once("differs: ").unwrap_or((shown, ""));
        let number = |word: &str| pages.contains(word.trim_matches(['(', ')', ',']));
        if cells[2].contains("differs") && (why.len() < 20 || !why.split(' ').any(number)) {
            wrong.push(format!("{rule} differs without a reason and a page"));
        }
        let names: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
        if names.is_empty() && why.is_empty() {
            wrong.push(format!("{rule} names no test"));
        }
        let missing = names.iter().filter(|name| !tests.contains(**name));
        wrong.extend(missing.map(|name| format!("{rule} names {name}, which is no test")));
    }
    wrong.extend(rules.iter().filter(|rule| !told.contains_key(rule.as_str())).cloned());
    wrong.extend(told.iter().filter(|(_, n)| **n > 1).map(|(rule, _)| format!("{rule} twice")));
    wrong
}

pub(crate) fn pages() -> BTreeSet<String> {
    let entries = std::fs::read_dir(root().join("docs/decisions")).expect("the decisions");
    let name = |entry: std::fs::DirEntry| entry.file_name().into_string().expect("text");
    entries.map(|entry| name(entry.expect("an entry"))[..4].to_owned()).collect()
}

#[test]
fn every_rule_of_the_book_is_shown_by_a_test_or_differs_on_a_page() {
    let page = std::fs::read_to_string(root().join(PAGE)).expect("the page");
    let wrong = wrong(&page, &rules(), &tests(), &pages());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_hole_in_the_page_is_seen() {
    let page = std::fs::read_to_string(root().join(PAGE)).expect("the page");
    let (rules, tests, pages) = (rules(), tests(), pages());
    let gone = page.lines().filter(|line| !line.starts_with("| 4.3.8 ")).collect::<Vec<_>>();
    assert_eq!(wrong(&gone.join("\n"), &rules, &tests, &pages), ["4.3.8"]);
    let one = "rule_4_3_8_one_wish_at_a_time";
    let found = wrong(&page.replace(one, "rule_4_3_8_two"), &rules, &tests, &pages);
    assert!(found.iter().any(|it| it.contains("which is no test")), "{found:?}");
    for (row, what) in [
        ("| 9.9 | a rule that nobody has written | `tidy::x` |", "no rule of the book"),
        ("| 5.1 | a claim | nothing |", "5.1 names no test"),
        ("| 5.1 | a claim | differs: because we like it so much (9999) |", "without a reason"),
        ("| 5.1 | a claim | `tidy::x`; differs: so |", "without a reason"),
        ("| 5.1 | a claim |", "not three cells"),
    ] {
        let found = wrong(&format!("{page}\n{row}\n"), &rules, &tests, &pages);
        assert!(found.iter().any(|it| it.contains(what)), "{row}: {found:?}");
    }
}

/// Section 1B: the bounds of a scaling block, at the last value that holds and the first that does
/// not. A block that does not hold is refused and leaves the registration as it was.
#[test]
fn rule_1b_every_bound_of_a_scaling_block_is_held_and_refused_whole() {
    let word = |length: usize| format!("--signal {}", "x".repeat(length));
    let rows = [
        ("--max 100000".to_owned(), "--max 100001".to_owned()),
        ("--min 10 --max 10".to_owned(), "--min 11 --max 10".to_owned()),
        (word(128), word(129)),
        ("--signal-target 1e12".to_owned(), "--signal-target 1.1e12".to_owned()),
        ("--signal-target 0.001".to_owned(), "--signal-target 0".to_owned()),
        ("--signal-target 2.5".to_owned(), "--signal-target NaN".to_owned()),
        ("--signal-target 2".to_owned(), "--signal-target inf".to_owned()),
        ("--scale-up-step 100000".to_owned(), "--scale-up-step 100001".to_owned()),
        ("--scale-up-step 1".to_owned(), "--scale-up-step 0".to_owned()),
        ("--scale-down-step 100000".to_owned(), "--scale-down-step 100001".to_owned()),
        ("--scale-down-step 1".to_owned(), "--scale-down-step 0".to_owned()),
        ("--cooldown 24h".to_owned(), "--cooldown 24h1s".to_owned()),
        ("--cooldown 0s".to_owned(), "--cooldown 25h".to_owned()),
        ("--deadband 1".to_owned(), "--deadband 1.01".to_owned()),
        ("--deadband 0".to_owned(), "--deadband=-0.01".to_owned()),
        ("--scale-up-samples 60".to_owned(), "--scale-up-samples 61".to_owned()),
        ("--scale-up-samples 1".to_owned(), "--scale-up-samples 0".to_owned()),
        ("--scale-down-samples 60".to_owned(), "--scale-down-samples 61".to_owned()),
        ("--scale-down-samples 1".to_owned(), "--scale-down-samples 0".to_owned()),
    ];
    let world = World::with_fake();
    world.run("service put web --signal queue --signal-target 10").exits(0);
    for (holds, does_not) in rows {
        let before = world.events();
        let ran = world.json(&format!("service put web {does_not}")).exits(2);
        assert_eq!(world.events(), before, "{does_not}: {ran:#?}");
        world.run(&format!("service put web {holds}")).exits(0);
    }
}

/// Section 1B: what a scaling block says where it says nothing.
#[test]
fn rule_1b_a_scaling_block_has_the_defaults_of_the_book() {
    let world = World::with_fake();
    world.run("service put web --signal queue --signal-target 10").exits(0);
    let shown = world.json("service show web").exits(0).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("a document");
    let text = shown.to_string();
    for member in [
        "\"cooldown_ms\":300000",
        "\"scale_up_step\":1",
        "\"scale_down_step\":1",
        "\"deadband\":0.05",
        "\"scale_up_samples\":1",
        "\"scale_down_samples\":3",
    ] {
        assert!(text.contains(member), "{member}: {text}");
    }
}

/// Section 1B: a mode is known by its name and its alias, whatever its case, and by nothing else.
#[test]
fn rule_1b_a_mode_is_known_by_its_name_and_its_alias() {
    for (word, mode) in [
        ("HPA", "external_hpa"),
        ("external_hpa", "external_hpa"),
        ("Keda", "external_keda"),
        ("external_keda", "external_keda"),
        ("NATIVE", "native"),
    ] {
        let world = World::with_fake();
        if word != "NATIVE" {
            let line = format!("service mode web {word} --reason r --owner them");
            world.run(&line).exits(0);
        }
        world.run(&format!("service put web --mode {word}")).exits(0);
        let shown = world.json("service show web").exits(0);
        assert!(shown.stdout.contains(&format!("\"{mode}\"")), "{word}: {shown:#?}");
    }
    let world = World::with_fake();
    let ran = world.json("service put web --mode vpa").exits(2);
    assert_eq!(ran.at("/error/code"), "invalid_mode");
}
