//! Transcripts: what a person types and reads, line by line, with every rejection and every arrow
//! of the life of an intent.
//!
//! A file of `fixtures/scenarios/` is rows that set the scene, and blocks: `$ scalectl …` lines,
//! `----`, and for each line what it printed (stderr behind `! `) and its exit code. A `|` at the
//! end of a line picks members of the JSON answer. `SCALECTL_UPDATE_SCENARIOS=1` writes the
//! transcripts anew. The clock stands still until a `tick`, so instants and durations are what they
//! are; ids, digests, paths, processes and hosts are replaced by stable words.

mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Child;

use scalectl::domain::time::{DurationMs, Timestamp};

use crate::support::placed::shop_in;
use crate::support::{Ran, SERVICE, World};
use words::split;

const BEGIN: &str = "2026-01-05T10:00:00Z";
const CAPABILITIES: [&str; 3] = ["inspect", "lookup", "fence"];

/// The target, where nobody can inspect it.
const TARGET: [&str; 8] =
    ["--cluster", "fake", "--runtime", "sh", "--target-uid", "fake:web", "--target-version", "1"];

/// Refusals that no line can reach: a reading is missing only where an actuator has lost the gift of
/// reading between two steps.
const LATER: [&str; 1] = ["reading_missing"];

/// The stage of one scenario.
pub(crate) struct Stage {
    world: World,
    now: Timestamp,
    call: Option<Child>,
    is_still: bool,
    words: Words,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self {
            world: World::new(),
            now: BEGIN.parse().expect("an instant"),
            call: None,
            is_still: true,
            words: Words::default(),
        }
    }

    fn kill(&mut self) {
        if let Some(mut call) = self.call.take() {
            let children = self.world.children();
            drop(call.kill());
            drop(call.wait());
            self.world.await_ended(&children);
        }
    }

    /// A new world under a clock that stands still.
    fn fresh_fake(&mut self, words: &[String]) {
        self.kill();
        *self = Self::new();
        self.tick(DurationMs::ZERO);
        self.world.set("SCALECTL_ACTOR", "alice");
        let mut capabilities: BTreeSet<&str> = CAPABILITIES.into();
        let mut settings = Vec::new();
        for word in words {
            match (word.strip_prefix('+'), word.strip_prefix('-').filter(|w| !w.starts_with('-'))) {
                (Some(more), _) => drop(capabilities.insert(more)),
                (_, Some(less)) if settings.is_empty() => drop(capabilities.remove(less)),
                _ => settings.push(word.as_str()),
            }
        }
        let list: Vec<&str> = capabilities.iter().copied().collect();
        self.world.init_fake_that(&list);
        self.world.run_args(&registration(&settings, capabilities.contains("inspect"))).exits(0);
    }

    fn settle(&mut self, root: &str) {
        self.is_still = false;
        shop_in(&self.world.path(root));
    }

    fn tick(&mut self, by: DurationMs) {
        self.now = self.now.plus(by);
        self.world.still(&self.now.to_string());
    }

    /// One row that is not a command.
    pub(crate) fn row(&mut self, row: &str, body: &[&str]) {
        let words = split(row);
        let rest = row.split_once(' ').map_or("", |(_, rest)| rest);
        match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["fresh", "fake", ..] => self.fresh_fake(&words[2..]),
            ["fresh", kind @ ("empty" | "ledger")] => {
                *self = Self::new();
                self.tick(DurationMs::ZERO);
                self.world.set("SCALECTL_ACTOR", "alice");
                if *kind == "ledger" {
                    self.world.init_fake();
                }
            }
            ["fresh", "local"] => {
                *self = Self::new();
                self.world = World::with_local();
                self.world.set("SCALECTL_ACTOR", "alice");
                self.is_still = false;
            }
            ["tick", by] => self.tick(by.parse().expect("a duration")),
            ["back", by] => {
                let by: DurationMs = by.parse().expect("a duration");
                let micros = i64::try_from(by.as_millis()).expect("small") * 1000;
                self.now = Timestamp::from_micros(self.now.as_micros() - micros).expect("instant");
                self.tick(DurationMs::ZERO);
            }
            ["placed"] => self.world.place(),
            ["environment", root] => self.settle(root),
            ["user", user] => self.world.be(user),
            ["key", name] => self.world.make_key(name, "signers"),
            ["as", actor] => drop(self.world.set("SCALECTL_ACTOR", *actor)),
            ["person", name, uid] => {
                self.world.set("SCALECTL_ACTOR", *name);
                self.world.be(&format!("{name}:{uid}"));
            }
            ["script", ..] => {
                // The calls before have used their lines.
                let used = self.world.fake_log("calls").len();
                let lines = std::iter::repeat_n("ok", used).chain(rest.split(", "));
                self.world.script(&lines.collect::<Vec<_>>());
            }
            ["count", count] => {
                let version = self.world.fake_dir().join("version");
                let text = std::fs::read_to_string(&version).unwrap_or_else(|_| "1".to_owned());
                let last = text.lines().last().expect("a version");
                let next = last.parse::<u64>().expect("a version") + 1;
                std::fs::write(version, format!("{next}\n")).expect("ours");
                std::fs::write(self.world.fake_dir().join("count"), format!("{count}\n"))
                    .expect("ours");
            }
            ["touch", name] => std::fs::write(self.world.fake_dir().join(name), "").expect("ours"),
            ["remove", name] => std::fs::remove_file(self.world.path(name)).expect("ours"),
            ["file", name] => {
                let text: String = body.iter().flat_map(|line| [&line[2..], "\n"]).collect();
                std::fs::write(self.world.path(name), text).expect("ours");
            }
            ["start", "scalectl", args @ ..] => {
                let before = self.world.fake_log("calls").len();
                self.call = Some(self.world.start(&args.join(" ")));
                self.world.until("the call begins", || self.world.fake_log("calls").len() > before);
            }
            ["effect"] => self.world.until("the call has its effect", || {
                self.world.fake_log("effects").last() == self.world.fake_log("calls").last()
            }),
            ["kill"] => self.kill(),
            _ => panic!("no such row: {row}"),
        }
    }

    /// One command and what a person sees of it.
    pub(crate) fn command(&mut self, line: &str) -> String {
        let (line, members) = match line.rsplit_once(" | ") {
            Some((line, members)) => (line, Some(members)),
            None => (line, None),
        };
        let mut words = split(&self.words.real(line));
        assert_eq!(words.remove(0), "scalectl", "{line}");
        let stdin = words.iter().position(|word| word == "<").map(|at| {
            let file = words.remove(at + 1);
            words.remove(at);
            std::fs::read(self.world.path(&file)).expect("the file of the scenario")
        });
        if members.is_some() {
            words.extend(["-o".to_owned(), "json".to_owned()]);
        }
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = match stdin {
            Some(bytes) => self.world.run_args_with(&args, &bytes),
            None => self.world.run_args(&args),
        };
        self.shown(&ran, members)
    }

    fn shown(&mut self, ran: &Ran, members: Option<&str>) -> String {
        let mut text = String::new();
        match members {
            None => text.push_str(&ran.stdout),
            Some(members) => {
                let document = ran.json();
                for member in members.split_whitespace() {
                    let found = document
                        .pointer(member)
                        .map_or_else(|| panic!("no {member} in {document:#}"), ToString::to_string);
                    writeln!(text, "{member} = {found}").expect("a String");
                }
            }
        }
        for line in ran.stderr.lines().filter(|_| members.is_none()) {
            writeln!(text, "! {line}").expect("a String");
        }
        let exit = ran.code.map_or_else(|| "by a signal".to_owned(), |code| code.to_string());
        writeln!(text, "[exit {exit}]").expect("a String");
        let home = self.world.path("");
        let home = home.to_str().expect("UTF-8").trim_end_matches('/');
        let text = self.world.as_on_sqlite(&text);
        let text = text.replace(home, "~").replace(env!("CARGO_MANIFEST_DIR"), "<repo>");
        self.words.stable(&text, self.is_still)
    }
}

/// The line that registers `web`: the usual settings, but for what is set otherwise.
fn registration<'a>(settings: &[&'a str], can_inspect: bool) -> Vec<&'a str> {
    let usual: Vec<&str> = SERVICE.split_whitespace().collect();
    let (verb, usual) = usual.split_at(3);
    let mut line = verb.to_vec();
    for flag in usual.chunks(2).filter(|flag| !settings.contains(&flag[0])) {
        line.extend(flag);
    }
    if !can_inspect {
        line.extend(TARGET);
    }
    line.extend(settings);
    line
}

/// Words that stand for what varies, numbered by first occurrence.
#[derive(Default)]
struct Words {
    known: BTreeMap<String, String>,
    used: BTreeMap<String, usize>,
}

impl Words {
    fn stable(&mut self, text: &str, is_still: bool) -> String {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let mut out = String::new();
        let mut token = String::new();
        let is_of_token = |char: char| char.is_ascii_alphanumeric() || "_-:.".contains(char);
        let mut before = String::new();
        for char in text.chars().chain(['\0']) {
            if is_of_token(char) {
                token.push(char);
                continue;
            }
            if !token.is_empty() {
                let end: String = token.chars().rev().take_while(|c| ":.".contains(*c)).collect();
                let word = &token[..token.len() - end.len()];
                out.push_str(&match word {
                    _ if before == "pid" => "<pid>".to_owned(),
                    _ if before == "deadline_boot_ms" => "<boot>".to_owned(),
                    word if word == host.trim() => "<host>".to_owned(),
                    word if !is_still && is_instant(word) => "<time>".to_owned(),
                    word => self.of_id(word),
                });
                out.push_str(&end);
                before = std::mem::take(&mut token);
            }
            if char != '\0' {
                out.push(char);
            }
        }
        out
    }

    /// A line with the words that really stand behind the stable ones.
    fn real(&self, line: &str) -> String {
        let known = self.known.iter();
        known.fold(line.to_owned(), |line, (word, stable)| line.replace(stable, word))
    }

    fn of_id(&mut self, word: &str) -> String {
        let digits = word.len() - word.trim_end_matches(|c: char| c.is_ascii_hexdigit()).len();
        let (name, hex) = word.split_at(word.len() - digits);
        let is_glass = name == "bg-" && hex.len() == 8 && hex != "00000000";
        if ![32, 64].contains(&hex.len()) && !is_glass {
            return word.to_owned();
        }
        if let Some(known) = self.known.get(word) {
            return known.clone();
        }
        let name = name.trim_end_matches(['-', ':']);
        let name = if name.is_empty() { "digest" } else { name };
        let number = self.used.entry(name.to_owned()).or_default();
        *number += 1;
        let stable = format!("<{name}-{number}>");
        self.known.insert(word.to_owned(), stable.clone());
        stable
    }
}

fn is_instant(word: &str) -> bool {
    word.ends_with('Z') && word.parse::<Timestamp>().is_ok()
}

/// Runs a scenario and returns its text with the transcripts that really came out.
fn replayed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut stage = Stage::new();
    let mut out = String::new();
    let mut commands: Vec<&str> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        out.push_str(line);
        out.push('\n');
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push(command);
        } else if line == "----" {
            assert!(!commands.is_empty(), "a transcript of nothing");
            for command in commands.drain(..) {
                out.push_str(&stage.command(command));
            }
            at += length_of_transcript(&lines[at..]);
        } else if !line.is_empty() && !line.starts_with('#') {
            let body = lines[at..].iter().take_while(|line| line.starts_with("  "));
            let body: Vec<&str> = body.copied().collect();
            stage.row(line, &body);
            for line in &body {
                out.extend([line, "\n"]);
            }
            at += body.len();
        }
    }
    assert!(commands.is_empty(), "a command without ----: {commands:?}");
    out
}

/// How many lines the committed transcript has: up to its last exit code.
fn length_of_transcript(lines: &[&str]) -> usize {
    let next = lines.iter().position(|line| *line == "----").unwrap_or(lines.len());
    lines[..next].iter().rposition(|line| line.starts_with("[exit ")).map_or(0, |last| last + 1)
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/scenarios")
}

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory()).expect("the scenarios");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files
}

#[test]
fn every_transcript_is_what_really_comes_out() {
    let update = std::env::var_os("SCALECTL_UPDATE_SCENARIOS").is_some();
    let only = std::env::var("SCALECTL_SCENARIO").unwrap_or_default();
    let all = files().into_iter().filter(|file| file.to_string_lossy().contains(&only));
    let queue = std::sync::Mutex::new(all.collect::<Vec<_>>().into_iter());
    let wrong = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let file = queue.lock().expect("nothing panics in here").next();
                    let Some(file) = file else { break };
                    let found = difference(&file, update);
                    wrong.lock().expect("nothing panics in here").extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("nothing panics in here");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// How a file differs from what came out; `update` writes what came out instead.
fn difference(file: &Path, update: bool) -> Option<String> {
    let committed = std::fs::read_to_string(file).expect("a scenario");
    let found = match std::panic::catch_unwind(|| replayed(&committed)) {
        Ok(found) => found,
        Err(why) => {
            let why = why.downcast_ref::<String>().cloned().unwrap_or_default();
            return Some(format!("{}: {why}", file.display()));
        }
    };
    if update {
        std::fs::write(file, found).expect("the scenario is written");
        return None;
    }
    let (mut old, mut new) = (committed.lines(), found.lines());
    for number in 1.. {
        match (old.next(), new.next()) {
            (None, None) => break,
            (old, new) if old == new => {}
            (old, new) => {
                let old = old.unwrap_or("(the end)");
                let new = new.unwrap_or("(the end)");
                return Some(format!("{}:{number}:\n- {old}\n+ {new}", file.display()));
            }
        }
    }
    None
}

/// A refusal without a transcript is one that nobody has read.
#[test]
fn every_rejection_has_a_transcript() {
    let source = include_str!("../src/domain/scale/rejection.rs");
    let (_, code) = source.split_once("pub const fn code(").expect("the codes");
    let codes: BTreeSet<&str> = code.split('"').skip(1).step_by(2).collect();
    let all: String =
        files().iter().filter_map(|file| std::fs::read_to_string(file).ok()).collect();
    let missing: Vec<&&str> = codes
        .iter()
        .filter(|code| !LATER.contains(code) && !all.contains(&format!("error[{code}]")))
        .collect();
    assert!(missing.is_empty(), "no transcript shows {missing:?}");
}
