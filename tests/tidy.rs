//! The house rules that no compiler holds: layers, homes, sizes, and what must not be in a file.

mod arrows;
mod migrations;
mod sizes;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What each folder of `src/` may name with `crate::`, besides itself.
const LAYERS: [(&str, &[&str]); 9] = [
    ("domain", &[]),
    ("crash.rs", &[]),
    ("files.rs", &[]),
    ("policy", &["domain"]),
    ("ledger", &["domain", "crash", "files"]),
    ("actuator", &["domain", "crash", "files"]),
    ("adapters", &["domain", "crash", "actuator"]),
    ("ops", &["domain", "crash", "files", "ledger", "policy", "actuator"]),
    ("cli", &["domain", "files", "ledger", "policy", "actuator", "adapters", "ops"]),
];

/// What the outside may take from layers that it otherwise reaches through `ops`.
const OUTSIDE: [(&str, &[&str]); 2] = [
    ("actuator", &["error", "guard", "host", "protocol", "signals"]),
    ("policy", &["PolicyError", "PolicySource", "schema", "template"]),
];

/// Where the outside becomes a bundled actuator or relocator, or reads what one has left.
const OF_ADAPTERS: [&str; 4] = ["actuator.rs", "actuator/run.rs", "recovery.rs", "relocator.rs"];

/// Where SQL is besides the ledger: the fence lives in the database that it guards.
const SQL_OF_THE_FENCE: [&str; 2] =
    ["src/adapters/relocator/database.rs", "src/adapters/relocator/fence.rs"];

/// The steps that verbs share; a verb names no other verb, but for `scale` and what is listed.
const SHARED_STEPS: [&str; 37] = [
    "breaking",
    "administer",
    "ask",
    "call",
    "carry",
    "foretell",
    "gateway",
    "clock",
    "error",
    "health",
    "ids",
    "lock_wait",
    "look",
    "lost",
    "mod",
    "moving",
    "notify",
    "outwait",
    "placing",
    "policy_cache",
    "read",
    "recover",
    "relocating",
    "report",
    "resume",
    "scale",
    "seal",
    "session",
    "sight",
    "signals",
    "signing",
    "ssh_keygen",
    "stderr",
    "tally",
    "told",
    "transition",
    "wait",
];
/// The facts that a put gathers, and the lease that is asked for.
const VERBS_OF_VERBS: [(&str, &str); 8] = [
    ("plan", "intent_put"),
    ("batch", "intent_put"),
    ("batch", "lease_acquire"),
    ("gateway/asked", "intent_put"),
    ("gateway_converge", "gateway_finalize"),
    ("gateway_converge", "intent_put"),
    ("gateway_converge", "reconcile"),
    ("reconcile", "intent_put"),
];

/// The homes of each third-party crate. A crate that is not listed has no home.
const HOMES: [(&str, &[&str]); 29] = [
    ("axum", &["cli"]),
    ("cedar_policy_core", &["policy"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("close_fds", &["actuator", "adapters"]),
    ("futures_util", &["ledger"]),
    ("getrandom", &["adapters", "ops"]),
    ("httparse", &["adapters"]),
    ("hyper", &["cli"]),
    ("hyper_util", &["cli"]),
    ("jiff", &["cli", "domain"]),
    ("miette", &["policy"]),
    ("rusqlite", &["adapters", "ledger"]),
    ("rustls", &["ledger"]),
    ("rustls_native_certs", &["ledger"]),
    ("rustix", &["actuator", "adapters", "cli", "crash.rs", "files.rs", "ledger"]),
    ("serde", &["actuator", "adapters", "cli", "domain", "ledger", "ops", "policy"]),
    ("serde_json", &["actuator", "adapters", "cli", "domain", "ledger", "ops", "policy"]),
    ("serde_path_to_error", &["domain"]),
    ("sha2", &["actuator", "domain"]),
    ("signal_hook", &["actuator"]),
    ("thiserror", &["actuator", "adapters", "cli", "domain", "ledger", "ops", "policy"]),
    ("tokio", &["cli", "ledger"]),
    ("tokio_postgres", &["ledger"]),
    ("tokio_postgres_rustls", &["ledger"]),
    ("toml", &["actuator", "cli"]),
    ("unicode_width", &["cli"]),
    ("ureq", &["ops"]),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below a directory with that ending: its path from the root, and its text.
fn texts(below: &str, ending: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open: Vec<PathBuf> = vec![root().join(below)];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                let name = path.strip_prefix(root()).expect("below the root");
                let text = std::fs::read_to_string(&path).expect("a text");
                found.insert(name.to_str().expect("UTF-8").to_owned(), text);
            }
        }
    }
    found
}

fn rust() -> BTreeMap<String, String> {
    ["src", "tests", "benches"].into_iter().flat_map(|below| texts(below, "rs")).collect()
}

fn hold(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The code of a text: without comments, and without what a string says.
fn code(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The layer of a file: its folder below `src/`, or its own name.
fn layer_of(file: &str) -> Option<&str> {
    file.strip_prefix("src/").and_then(|rest| rest.split('/').next())
}

/// The names that follow `prefix` in a text, up to the next character that is none of a name's.
fn after<'t>(text: &'t str, prefix: &'t str) -> impl Iterator<Item = &'t str> {
    text.match_indices(prefix).map(|(at, _)| {
        let rest = &text[at + prefix.len()..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        &rest[..end.unwrap_or(rest.len())]
    })
}

#[test]
fn arrows_between_layers_go_down_only() {
    let mut wrong = Vec::new();
    for (file, text) in texts("src", "rs") {
        let Some((layer, below)) = LAYERS.iter().find(|(layer, _)| Some(*layer) == layer_of(&file))
        else {
            continue;
        };
        let text = code(&text);
        for name in after(&text, "crate::") {
            if name != *layer && !below.contains(&name) && !name.is_empty() {
                wrong.push(format!("{file}: {layer} may not name crate::{name}"));
            }
        }
        for name in after(&text, "super::super::") {
            if LAYERS.iter().any(|(layer, _)| layer.trim_end_matches(".rs") == name) {
                wrong.push(format!("{file}: write crate::{name}, not super::super::{name}"));
            }
        }
    }
    hold(&wrong);
}

#[test]
fn every_file_of_the_source_belongs_to_a_layer() {
    let layers: BTreeSet<&str> =
        LAYERS.iter().map(|(layer, _)| *layer).chain(["lib.rs", "main.rs"]).collect();
    let files = texts("src", "rs");
    let strangers = files.keys().filter(|file| !layers.contains(layer_of(file).unwrap_or("")));
    hold(&strangers.cloned().collect::<Vec<_>>());
}

#[test]
fn the_outside_reaches_the_inside_through_the_operations() {
    let mut wrong = Vec::new();
    for (file, text) in texts("src/cli", "rs") {
        let text = code(&text);
        for (layer, allowed) in OUTSIDE {
            for name in after(&text, &format!("crate::{layer}::")) {
                if !name.is_empty() && !allowed.contains(&name) {
                    wrong.push(format!("{file} names crate::{layer}::{name}"));
                }
            }
        }
        let is_home = OF_ADAPTERS.iter().any(|home| file == format!("src/cli/{home}"));
        if text.contains("crate::adapters") && !is_home {
            wrong.push(format!("{file} names an adapter: only what becomes one does"));
        }
    }
    hold(&wrong);
}

#[test]
fn a_verb_does_not_call_another() {
    let files = texts("src/ops", "rs");
    let verbs: BTreeSet<&str> = files
        .keys()
        .filter_map(|file| file.strip_prefix("src/ops/")?.strip_suffix(".rs"))
        .filter(|name| !SHARED_STEPS.contains(name))
        .collect();
    let mut wrong = Vec::new();
    for (file, text) in &files {
        let name = file.trim_start_matches("src/ops/").trim_end_matches(".rs");
        if ["mod", "scale"].contains(&name) {
            continue;
        }
        let text = code(text);
        let named = after(&text, "super::").chain(after(&text, "crate::ops::"));
        for other in named.filter(|other| verbs.contains(other) && *other != name) {
            if !VERBS_OF_VERBS.contains(&(name, other)) {
                wrong.push(format!("{file} names the verb {other}"));
            }
        }
    }
    hold(&wrong);
}

/// The dependencies of the library, as the code names them.
fn dependencies() -> BTreeSet<String> {
    let manifest = include_str!("../Cargo.toml");
    let (_, rest) = manifest.split_once("[dependencies]").expect("the dependencies");
    let (table, _) = rest.split_once("\n[").expect("the next table");
    let names = table.lines().filter(|line| !line.starts_with('#'));
    names
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name.replace('-', "_"))
        .collect()
}

#[test]
fn third_party_crates_have_their_homes() {
    let files: BTreeMap<String, String> =
        texts("src", "rs").into_iter().map(|(file, text)| (file, code(&text))).collect();
    let mut wrong = Vec::new();
    for dependency in dependencies() {
        let homes = HOMES.iter().find(|(name, _)| *name == dependency);
        let homes = homes.map_or(&[][..], |(_, homes)| *homes);
        let mut lived_in = BTreeSet::new();
        for (file, _) in files.iter().filter(|(_, text)| names_crate(text, &dependency)) {
            let layer = layer_of(file).unwrap_or("");
            lived_in.insert(layer);
            if !homes.contains(&layer) {
                wrong.push(format!("{file} names {dependency}, whose homes are {homes:?}"));
            }
        }
        for home in homes.iter().filter(|home| !lived_in.contains(*home)) {
            wrong.push(format!("{dependency} does not live in {home} any more: take it off"));
        }
        if lived_in.is_empty() {
            wrong.push(format!("{dependency} is a dependency that nobody names"));
        }
    }
    hold(&wrong);
}

/// Whether a text names a crate as the head of a path.
fn names_crate(text: &str, name: &str) -> bool {
    text.match_indices(&format!("{name}::")).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_' && c != ':')
    })
}

#[test]
fn only_the_ledger_speaks_sql() {
    let words = ["SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM ", "CREATE TABLE "];
    let files = texts("src", "rs");
    let wrong: Vec<String> = files
        .iter()
        .filter(|(file, _)| layer_of(file) != Some("ledger"))
        .filter(|(file, _)| !SQL_OF_THE_FENCE.contains(&file.as_str()))
        .filter(|(_, text)| words.iter().any(|word| code(text).contains(&format!("\"{word}"))))
        .map(|(file, _)| file.clone())
        .collect();
    hold(&wrong);
}

#[test]
fn nothing_is_left_open_in_the_code() {
    // The words are put together here, or this file would hold them.
    let macros = ["todo", "dbg", "unimplemented"].map(|word| format!("{word}!("));
    let marks = [["TO", "DO"], ["FIX", "ME"]].map(|word| word.concat());
    let mut wrong = Vec::new();
    for (file, text) in rust() {
        for (number, line) in text.lines().enumerate() {
            let at = |what: &str| format!("{file}:{}: {what}", number + 1);
            if let Some(found) = macros.iter().find(|word| line.contains(*word)) {
                wrong.push(at(found));
            }
            if let Some(found) = marks.iter().find(|word| line.contains(*word)) {
                wrong.push(at(found));
            }
        }
        let allow = ["allow", "("].concat();
        for (start, _) in text.match_indices(&format!("[{allow}")) {
            let end = text[start..].find(")]").map_or(text.len(), |end| start + end);
            // What no expectation can say is allowed right below the expectation that says why.
            let line = text[..start].rfind('\n').unwrap_or(0);
            let is_told = text[start..end].contains("reason = ")
                || text[..line].ends_with(")]") && text[..line].contains("allow_attributes");
            if !is_told {
                wrong.push(format!("{file}: a lint is allowed and nobody says why"));
            }
        }
    }
    hold(&wrong);
}

#[test]
fn every_file_of_tests_is_in_the_one_binary() {
    let suite = include_str!("suite.rs");
    let entries = std::fs::read_dir(root().join("tests")).expect("the tests");
    let mut wrong = Vec::new();
    for entry in entries {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        if name != "suite" && !suite.contains(&format!("mod {name};")) {
            wrong.push(format!("tests/{name} is in no binary"));
        }
    }
    hold(&wrong);
}

#[test]
fn every_decision_has_a_number_of_its_own_and_is_listed() {
    let mut numbers: BTreeMap<String, String> = BTreeMap::new();
    let mut wrong = Vec::new();
    let listed = std::fs::read_to_string(root().join("docs/architecture.md")).expect("a page");
    for file in texts("docs/decisions", "md").into_keys() {
        let name = file.rsplit('/').next().unwrap_or_default().to_owned();
        let number: String = name.chars().take(4).collect();
        if !number.bytes().all(|b| b.is_ascii_digit()) || name.chars().nth(4) != Some('-') {
            wrong.push(format!("{name} is not NNNN-words.md"));
        }
        if !listed.contains(&format!("(decisions/{name})")) {
            wrong.push(format!("{name} is not in the list of docs/architecture.md"));
        }
        if let Some(other) = numbers.insert(number, name.clone()) {
            wrong.push(format!("{name} and {other} have one number"));
        }
    }
    hold(&wrong);
}
