//! Problems: every way in which a command does not do what was asked, with the way on.
//!
//! Owns the form of an error text and of the JSON `error` object. Never decides that something is
//! an error and never acts on it. Nothing here is stored; a refusal that is kept was kept below.
//!
//! The form, always: `error[code]: what, with the two values`, then the facts that a person would
//! ask next, `applied`, and `hint:` with the commands to paste. No id is followed by a period.

use std::fmt::Write as _;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::address::{line_without_passwords, without_password};
use super::escape::{SHOWN_CHARS_MAX, escape_bounded, shell_line};
use super::exit::Exit;
use super::output::{Applied, Recorded};
use crate::domain::id::{ActuatorName, CommandId};
use crate::domain::scale::lease::HeldLease;
use crate::domain::time::{DurationMs, Timestamp};

#[cfg(test)]
mod authority_rows;
mod left;
mod placement;
#[cfg(test)]
mod placement_rows;
mod rejection;
mod rejection_authority;
mod rejection_facts;
mod rejection_missing;
mod rejection_times;
#[cfg(test)]
mod tests;

pub(crate) use rejection_facts::why_text;

/// Where the values of facts begin, the indent excluded.
const LABEL_WIDTH_MIN: usize = 10;

/// What a problem is told in: when, and by which command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemContext {
    /// When it is told.
    pub now: Timestamp,
    /// The words that every suggested command begins with: `scalectl`, and `--ledger NAME` where
    /// the ledger was chosen on the command line, or the suggestion would ask another one.
    pub program: Vec<String>,
    /// The words of the subcommand: `intent`, `put`.
    pub verb: Vec<String>,
    /// This command line as a whole, to be suggested again; empty where it cannot be.
    pub line: Vec<String>,
    /// The wish as `plan` and `policy test` take it, where there is one: `web=0`.
    pub wish: Option<String>,
    /// How the ledger was chosen, for `not_found`.
    pub ledger: Option<String>,
    /// Who is told, where that is known: the name that they act under, and the user of the system.
    pub told: Option<(String, String)>,
    /// Whether what is told is only supposed, as a plan does: there is no such proposal yet.
    pub is_supposed: bool,
    /// What this command has recorded so far.
    pub recorded: Recorded,
    /// What this command has done to the target so far.
    pub applied: Applied,
}

impl ProblemContext {
    /// A context in which nothing was recorded or applied, and nothing else is known.
    pub fn at(now: Timestamp) -> Self {
        Self {
            now,
            program: vec!["scalectl".to_owned()],
            verb: Vec::new(),
            line: Vec::new(),
            wish: None,
            ledger: None,
            told: None,
            is_supposed: false,
            recorded: Recorded::No,
            applied: Applied::No,
        }
    }

    /// A suggested command.
    pub fn command<S: AsRef<str>>(&self, words: &[S]) -> Vec<String> {
        let words = words.iter().map(|word| word.as_ref().to_owned());
        self.program.iter().cloned().chain(words).collect()
    }
}

/// Who is in the way, until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldBy {
    /// The name that it acts under.
    pub controller: Option<String>,
    /// Its host.
    pub host: Option<String>,
    /// Its process on that host.
    pub pid: Option<u32>,
    /// Until when, where that is known.
    pub until: Option<Timestamp>,
}

impl From<&HeldLease> for HeldBy {
    fn from(held: &HeldLease) -> Self {
        Self {
            controller: Some(held.lease.controller_id.to_string()),
            host: Some(held.holder.host.clone()),
            pid: Some(held.holder.pid),
            until: Some(held.lease.expires_at),
        }
    }
}

/// A command that did not do what was asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// The word that a machine reads.
    pub code: String,
    /// How the command ends.
    pub exit: Exit,
    /// What, with both values, verbatim: it is escaped where a person sees it.
    pub message: String,
    /// What a person would ask next, as (label, value); labels do not repeat.
    pub facts: Vec<(String, String)>,
    /// What was expected.
    pub expected: Option<Value>,
    /// What was found.
    pub actual: Option<Value>,
    /// Who is in the way.
    pub held_by: Option<HeldBy>,
    /// Whether the same line may succeed later without anybody changing it.
    pub retryable: bool,
    /// How long to wait before, where that is known.
    pub retry_after_ms: Option<u64>,
    /// Whether the ledger changed.
    pub recorded: Recorded,
    /// Whether the target changed.
    pub applied: Applied,
    /// The way on, in words.
    pub hint: Option<String>,
    /// The way on, as commands to paste: each an argument vector.
    pub next: Vec<Vec<String>>,
    /// The name that is not there, where one is not.
    pub subject: Option<String>,
}

/// Which signal ended the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndSignal {
    /// SIGHUP: the terminal went away.
    Hangup,
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl Problem {
    /// A problem that changed nothing and has no facts yet.
    pub fn new(code: impl Into<String>, exit: Exit, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            exit,
            message: message.into(),
            facts: Vec::new(),
            expected: None,
            actual: None,
            held_by: None,
            retryable: matches!(
                exit,
                Exit::Cooldown | Exit::RetryLater | Exit::NotYet | Exit::Unavailable
            ),
            retry_after_ms: None,
            recorded: Recorded::No,
            applied: Applied::No,
            hint: None,
            next: Vec::new(),
            subject: None,
        }
    }

    /// 2: the line or a document is wrong.
    pub fn usage(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(code, Exit::Usage, message)
    }

    /// 1: a fault of this tool.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new("internal", Exit::Internal, message)
            .hint("this is a fault of scalectl: please report it with the line that you typed")
    }

    /// A failure of the ledger: 20 where waiting helps, 21 where it does not, 24 …
    pub fn ledger(
        code: impl Into<String>,
        exit: Exit,
        message: impl Into<String>,
        facts: Vec<(String, String)>,
        hint: impl Into<String>,
    ) -> Self {
        Self { facts, ..Self::new(code, exit, message) }.hint(hint)
    }

    /// 16: COMMIT failed, and nobody knows whether the ledger has the write.
    ///
    /// `may_be_applied` says whether a call was made before; else the target is known untouched.
    pub fn unknown_commit(
        context: &ProblemContext,
        command: &CommandId,
        message: impl Into<String>,
        may_be_applied: bool,
    ) -> Self {
        let applied = if may_be_applied { Applied::Unknown } else { context.applied };
        Self {
            recorded: Recorded::Unknown,
            applied,
            ..Self::new("commit_unknown", Exit::Unknown, message)
        }
        .fact("command", command.as_str())
        .hint("nothing more was written or called; whether this command was recorded is told by")
        .run(context.command(&["log", "--command", command.as_str()]))
    }

    /// 24: this user has bound no command for an actuator on this host.
    pub fn actuator_not_bound(context: &ProblemContext, name: &ActuatorName) -> Self {
        let user = context.told.as_ref().map_or("this user", |(_, user)| user.as_str());
        let what = format!("actuator {name} has no command of {user} on this host");
        Self::new("actuator_not_bound", Exit::NotFound, what)
            .applied(context)
            .hint(
                "each user binds their own: what it must be able to do is shown by the first; bind \
                 the command that reaches the same target with the second",
            )
            .run(context.command(&["actuator", "show", name.as_str()]))
            .run(context.command(&["actuator", "bind", name.as_str(), "--", "COMMAND"]))
    }

    /// 10: the command of an actuator is not what was bound on this host.
    pub fn actuator_changed(
        context: &ProblemContext,
        name: &ActuatorName,
        what: &str,
        bound: &[String],
    ) -> Self {
        let words = ["actuator", "bind", name.as_str(), "--"].into_iter();
        let words: Vec<&str> = words.chain(bound.iter().map(String::as_str)).collect();
        Self::new("actuator_changed", Exit::Conflict, format!("actuator {name}: {what}"))
            .applied(context)
            .hint("if what is there now is meant, bind it again")
            .run(context.command(&words))
    }

    /// 20: an actuator could not be asked, and nothing was changed through it.
    pub fn actuator_unavailable(
        context: &ProblemContext,
        name: &ActuatorName,
        doing: &str,
        cause: &str,
    ) -> Self {
        let message = format!("actuator {name} could not {doing}: {cause}");
        Self::new("unavailable", Exit::Unavailable, message)
            .applied(context)
            .hint("find out why, then run this same line again")
            .run(context.command(&["actuator", "show", name.as_str()]))
            .again(context)
    }

    /// 129, 130, 143: a signal ended the command. `key` is what it was at, if anything.
    pub fn interrupted(context: &ProblemContext, signal: EndSignal, key: Option<&str>) -> Self {
        let (exit, name) = match signal {
            EndSignal::Hangup => (Exit::HungUp, "SIGHUP"),
            EndSignal::Interrupt => (Exit::Interrupted, "SIGINT"),
            EndSignal::Terminate => (Exit::Terminated, "SIGTERM"),
        };
        let message = match key {
            Some(key) => format!("{name} ended this command while it was at {key}"),
            None => format!("{name} ended this command"),
        };
        let problem = Self::new("interrupted", exit, message).applied(context);
        match key {
            Some(key) => problem
                .hint("what was begun is finished, or found out about, with")
                .run(context.command(&["replay", key])),
            None => problem.hint("run this same line again").again(context),
        }
    }

    /// Adds a fact that a person would ask for next.
    #[must_use]
    pub fn fact(mut self, label: impl Into<String>, value: impl Into<String>) -> Self {
        self.facts.push((label.into(), value.into()));
        self
    }

    /// Says the way on in words. Commands that follow are printed below it.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Adds a command to paste.
    #[must_use]
    pub fn run(mut self, argv: Vec<String>) -> Self {
        self.next.push(argv);
        self
    }

    /// Adds this command line to paste again, where it is known.
    #[must_use]
    pub fn again(self, context: &ProblemContext) -> Self {
        if context.line.is_empty() { self } else { self.run(context.line.clone()) }
    }

    /// Says which two values do not agree.
    #[must_use]
    pub fn values(self, expected: impl Into<Value>, actual: impl Into<Value>) -> Self {
        Self { expected: Some(expected.into()), actual: Some(actual.into()), ..self }
    }

    /// Takes over what the command has done so far.
    #[must_use]
    pub fn applied(self, context: &ProblemContext) -> Self {
        Self { recorded: context.recorded, applied: context.applied, ..self }
    }

    /// Says when the same line may succeed.
    #[must_use]
    pub fn retry_at(self, context: &ProblemContext, at: Option<Timestamp>) -> Self {
        let wait = at.map(|at| ceil_millis(at, context.now));
        Self { retry_after_ms: wait.map(DurationMs::as_millis), ..self }
    }

    /// The text for people, escaped, each line with its line feed.
    pub fn text(&self) -> String {
        self.render(self.applied_text())
    }

    fn render(&self, applied: &str) -> String {
        let shown = |text: &str| escape_bounded(text, SHOWN_CHARS_MAX).into_owned();
        let mut out = format!("error[{}]: {}\n", shown(&self.code), shown(&self.message));
        let facts = self.facts.iter().map(|(label, value)| (label.as_str(), value.as_str()));
        let facts: Vec<_> = facts.chain([("applied", applied)]).collect();
        let longest = facts.iter().map(|(label, _)| label.chars().count() + 2).max();
        let width = longest.unwrap_or(0).max(LABEL_WIDTH_MIN);
        for (label, value) in facts {
            writeln!(out, "  {:width$}{}", shown(label), shown(value))
                .expect("BUG: a String takes every text");
        }
        if let Some(hint) = &self.hint {
            let mark = if self.next.is_empty() { "" } else { ":" };
            writeln!(out, "hint: {}{mark}", shown(hint)).expect("BUG: a String takes every text");
        }
        for argv in self.shown_next() {
            writeln!(out, "        {}", shell_line(&argv)).expect("BUG: a String takes every text");
        }
        out
    }

    const fn applied_text(&self) -> &'static str {
        match (self.applied, self.recorded) {
            (Applied::No, Recorded::No) => "no: nothing was written or called",
            (Applied::No, Recorded::Yes) => "no: recorded, and the target was not changed",
            (Applied::No, Recorded::Unknown) => "no: nothing was called; perhaps recorded",
            (Applied::Yes, Recorded::Unknown) => "yes; perhaps not recorded",
            (Applied::Yes, _) => "yes",
            (Applied::Unknown, _) => "unknown: the request may have reached the target",
            (Applied::Partial, _) => "partial: it failed, and the target is not as it was",
        }
    }

    /// The commands to paste, without passwords.
    fn shown_next(&self) -> Vec<Vec<String>> {
        self.next.iter().map(|argv| line_without_passwords(argv)).collect()
    }
}

/// From `now` to `at` in milliseconds, rounded up: whoever sleeps so long is not too early.
fn ceil_millis(at: Timestamp, now: Timestamp) -> DurationMs {
    let micros = at.as_micros().saturating_sub(now.as_micros());
    DurationMs::from_millis(u64::try_from(micros).unwrap_or(0).div_ceil(1000))
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let facts = self.facts.iter().map(|(label, value)| (label.clone(), value.clone().into()));
        let mut map = serializer.serialize_map(Some(10))?;
        map.serialize_entry("code", &self.code)?;
        map.serialize_entry("message", &self.message)?;
        map.serialize_entry("retryable", &self.retryable)?;
        map.serialize_entry("retry_after_ms", &self.retry_after_ms)?;
        map.serialize_entry("expected", &self.expected)?;
        map.serialize_entry("actual", &self.actual)?;
        map.serialize_entry("facts", &facts.collect::<Map<String, Value>>())?;
        map.serialize_entry("held_by", &self.held_by)?;
        map.serialize_entry("hint", &self.hint)?;
        map.serialize_entry("next", &self.shown_next())?;
        map.end()
    }
}

/// Holds a committed text equal to what the code says; `SCALECTL_UPDATE_TEXTS=1` writes it anew.
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test, regenerated by hand only")]
pub(crate) fn hold_committed(path: &str, committed: &str, generated: &str) {
    if std::env::var_os("SCALECTL_UPDATE_TEXTS").is_some() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        std::fs::write(root.join(path), generated).expect("the text is written");
    } else if committed != generated {
        let same = committed.lines().zip(generated.lines()).take_while(|(a, b)| a == b).count();
        panic!(
            "{path} differs from line {} on: {:?} is committed, {:?} is generated",
            same + 1,
            committed.lines().nth(same),
            generated.lines().nth(same)
        );
    }
}
