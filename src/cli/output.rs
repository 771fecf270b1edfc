//! Answers: the one document on stdout, and everything else on stderr.
//!
//! Owns every byte that a command prints. Never prints a second document, never panics because a
//! reader went away, and never lets a foreign text reach a terminal unescaped. Nothing here is
//! durable: whatever an answer says was committed before it is printed.

use std::io::{self, Write};

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::address::without_password;
use super::escape::{escape, escape_json, escape_lines};
use super::exit::Exit;
use super::problem::Problem;
use super::table::{Look, Table};
use crate::domain::id::LedgerId;
use sink::Sink;

mod end;
mod last;
mod narrow;
mod screen;
mod sink;

/// The version of the answer's shape.
pub const FORMAT_VERSION: u32 = 1;

/// What stdout carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Lines and tables for people.
    #[default]
    Table,
    /// One indented document.
    Json,
    /// One document or row per line.
    Ndjson,
    /// Names alone, one per line: nothing on failure.
    Name,
}

/// Whether the ledger changed: of many, the most of them says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recorded {
    /// It did not.
    #[default]
    No,
    /// It did.
    Yes,
    /// COMMIT failed: nobody knows.
    Unknown,
}

/// Whether the target changed: from what is surest on, so that the most of many says the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Applied {
    /// It did not.
    #[default]
    No,
    /// It did.
    Yes,
    /// In part.
    Partial,
    /// Nobody knows.
    Unknown,
}

/// Which ledger answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerShown {
    id: LedgerId,
    name: String,
    engine: &'static str,
}

impl LedgerShown {
    /// `name` is how the ledger was chosen: a name, a path or an address, whose password is cut.
    pub fn new(id: LedgerId, name: &str, engine: &'static str) -> Self {
        Self { id, name: without_password(name).into_owned(), engine }
    }
}

/// Something that is worth saying and changes nothing about the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// For machines.
    pub code: &'static str,
    /// For people.
    pub message: String,
}

#[derive(Debug, Clone)]
enum Block {
    Line(String),
    Table(Table),
}

#[derive(Debug, Clone)]
enum End {
    Exit(Exit),
    Problem(Box<Problem>),
}

/// What a command answers: one document for machines, and the lines for people.
#[must_use = "an answer is printed"]
#[derive(Debug, Clone)]
pub struct Answer {
    /// Whether the key had its answer already.
    pub replayed: bool,
    /// Whether anything is now different from before.
    pub changed: bool,
    /// Which ledger answered; none where none was opened.
    pub ledger: Option<LedgerShown>,
    /// What holds now: the latest intent, the desired count, the newest reading.
    pub current: Option<Value>,
    /// What is worth saying besides.
    pub warnings: Vec<Warning>,
    recorded: Recorded,
    applied: Applied,
    end: End,
    nouns: Map<String, Value>,
    blocks: Vec<Block>,
    names: Vec<String>,
    is_streamed: bool,
}

/// The members that every answer has; no noun may take their names.
pub const FIXED_MEMBERS: [&str; 11] = [
    "format_version",
    "ok",
    "exit",
    "recorded",
    "applied",
    "replayed",
    "changed",
    "ledger",
    "current",
    "warnings",
    "error",
];

impl Answer {
    /// An answer that says ok and that nothing changed.
    pub fn ok() -> Self {
        Self::ending(Exit::Ok)
    }

    /// An answer with another exit code and no error: a gate that is not open yet, a cooldown.
    pub fn ending(exit: Exit) -> Self {
        Self {
            replayed: false,
            changed: false,
            ledger: None,
            current: None,
            warnings: Vec::new(),
            recorded: Recorded::No,
            applied: Applied::No,
            end: End::Exit(exit),
            nouns: Map::new(),
            blocks: Vec::new(),
            names: Vec::new(),
            is_streamed: false,
        }
    }

    /// An answer that is an error. `recorded` and `applied` are the problem's.
    pub fn failed(problem: Problem) -> Self {
        let (recorded, applied) = (problem.recorded, problem.applied);
        let end = End::Problem(Box::new(problem));
        Self { end, ..Self::ending(Exit::Ok) }.recorded(recorded).applied(applied)
    }

    /// Says whether the ledger changed.
    pub fn recorded(mut self, recorded: Recorded) -> Self {
        self.recorded = recorded;
        if let End::Problem(problem) = &mut self.end {
            problem.recorded = recorded;
        }
        self
    }

    /// Says whether the target changed.
    pub fn applied(mut self, applied: Applied) -> Self {
        self.applied = applied;
        if let End::Problem(problem) = &mut self.end {
            problem.applied = applied;
        }
        self
    }

    /// Adds a noun for machines: `intent`, `execution`, `lease` …
    pub fn noun(self, name: &'static str, value: &impl Serialize) -> Self {
        self.whole_noun(name, serde_json::to_value(value).expect("BUG: every noun is a JSON value"))
    }

    /// The same of what is JSON already.
    pub fn whole_noun(mut self, name: &'static str, value: Value) -> Self {
        assert!(!FIXED_MEMBERS.contains(&name), "BUG: {name} is a member of every answer");
        self.nouns.insert(name.to_owned(), value);
        self
    }

    /// Adds a line for people.
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.blocks.push(Block::Line(line.into()));
        self
    }

    /// Adds a table for people.
    pub fn table(mut self, table: Table) -> Self {
        self.blocks.push(Block::Table(table));
        self
    }

    /// Adds a table for people, or, where it has no row, the line that says so.
    pub fn table_or(self, table: Table, none: impl Into<String>) -> Self {
        if table.is_empty() { self.line(none) } else { self.table(table) }
    }

    /// Adds a name for `-o name`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// Says that its rows were printed already, so that nothing more goes to stdout.
    pub fn streamed(self) -> Self {
        Self { is_streamed: true, ..self }
    }

    /// Adds a warning.
    pub fn warning(mut self, code: &'static str, message: impl Into<String>) -> Self {
        self.warnings.push(Warning { code, message: message.into() });
        self
    }

    fn stdout_text(&self, format: Format, look: &Look) -> String {
        let as_json = |json: serde_json::Result<String>| {
            let json = json.expect("BUG: an answer is a JSON document");
            format!("{}\n", escape_json(&json))
        };
        match format {
            _ if self.is_streamed => String::new(),
            Format::Json => as_json(serde_json::to_string_pretty(self)),
            Format::Ndjson => as_json(serde_json::to_string(self)),
            Format::Name if self.problem().is_some() => String::new(),
            Format::Name => {
                self.names.iter().flat_map(|name| [escape(name), "\n".into()]).collect()
            }
            Format::Table => self.blocks.iter().map(|block| block.render(look)).collect(),
        }
    }

    fn stderr_text(&self) -> String {
        let warn = |warning: &Warning| format!("warning: {}\n", escape(&warning.message));
        let warnings: String = self.warnings.iter().map(warn).collect();
        warnings + &self.problem().map(Problem::text).unwrap_or_default()
    }
}

impl Block {
    fn render(&self, look: &Look) -> String {
        match self {
            Self::Line(line) => format!("{}\n", escape(line)),
            Self::Table(table) => table.render(look),
        }
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("format_version", &FORMAT_VERSION)?;
        map.serialize_entry("ok", &(self.exit() == Exit::Ok))?;
        map.serialize_entry("exit", &self.exit().code())?;
        map.serialize_entry("recorded", &self.recorded)?;
        map.serialize_entry("applied", &self.applied)?;
        map.serialize_entry("replayed", &self.replayed)?;
        map.serialize_entry("changed", &self.changed)?;
        map.serialize_entry("ledger", &self.ledger)?;
        map.serialize_entry("current", &self.current)?;
        map.serialize_entry("warnings", &self.warnings)?;
        map.serialize_entry("error", &self.problem())?;
        for (name, value) in &self.nouns {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// The two streams of this process.
///
/// A reader that went away closes its stream and is no error: what was to be done is done by then.
/// Any other failure of stdout is kept and decides the exit code in [`Out::finish`], because a
/// script that branches on a cut document would be wrong.
pub struct Out {
    format: Format,
    look: Look,
    stdout: Sink,
    stderr: Sink,
    screen: Option<usize>,
    told: Option<last::Told>,
}

impl Out {
    /// The streams of this process.
    pub fn process(format: Format, look: Look) -> Self {
        let out = Self::to_writers(format, look, io::stdout(), io::stderr());
        Self { screen: narrow::width(), ..out }
    }

    /// Other streams, for tests.
    pub fn to_writers(
        format: Format,
        look: Look,
        stdout: impl Write + Send + 'static,
        stderr: impl Write + Send + 'static,
    ) -> Self {
        let (stdout, stderr) = (Sink::new(stdout), Sink::new(stderr));
        Self { format, look, stdout, stderr, screen: None, told: None }
    }

    /// What stdout carries.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Whether the reader of stdout went away: a stream without end may then stop.
    pub const fn is_closed(&self) -> bool {
        self.stdout.is_closed
    }

    /// Prints an answer: its one document, then warnings, error and hint on stderr.
    pub fn answer(&mut self, answer: &Answer) -> Exit {
        self.stdout.write(&answer.stdout_text(self.format, &self.look));
        self.stderr.write(&narrow::narrowed(&answer.stderr_text(), self.screen));
        if self.stdout.failure.is_some() {
            self.told = Some(last::Told::of(answer));
        }
        answer.exit()
    }

    /// Prints one row of a stream as a line of JSON (`-o ndjson`).
    pub fn row(&mut self, row: &impl Serialize) {
        let json = serde_json::to_string(row).expect("BUG: every row is a JSON value");
        self.stdout.write(&format!("{}\n", escape_json(&json)));
    }

    /// Prints lines of a stream for people.
    pub fn lines(&mut self, text: &str) {
        self.stdout.write(&ended(&escape_lines(text)));
    }

    /// Prints data of our own making as it is: a completion script, a page, a policy template.
    pub fn data(&mut self, text: &str) {
        self.stdout.write(text);
    }

    /// Says what is going on, on stderr.
    pub fn progress(&mut self, text: &str) {
        self.stderr.write(&ended(&escape_lines(text)));
    }
}

/// Says on stderr what is waited for, while nobody else of this process can print.
pub(super) fn say_while_waiting(line: &str) {
    // That nobody reads it changes nothing.
    let _ = io::stderr().write_all(ended(&escape_lines(line)).as_bytes());
}

fn ended(text: &str) -> String {
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
