//! What the two ticks have in common: their flags, their gate, and how many rows end one command.

use std::path::PathBuf;

use clap::Args;

use super::app::App;
use super::args::{up_to, wait, whole_number};
use super::exit::Exit;
use super::fault::Fault;
use super::output::{Answer, Recorded};
use super::problem::Problem;
use crate::domain::scale::consent::APPROVE_WITHIN_MAX;
use crate::domain::time::DurationMs;
use crate::ops::OpError;
use crate::ops::health::Health;

/// The flags of both ticks.
#[derive(Debug, Clone, Args)]
pub(super) struct TickArgs {
    /// A document that says whether it may act: two booleans, autoscaling_ready and
    /// convergence_ready; - is stdin, none is no gate
    #[arg(long, value_name = "FILE|-|none", default_value = "none")]
    pub(super) health: PathBuf,
    /// How many calls and wishes it may make, at least 1
    #[arg(long, value_name = "N", value_parser = at_least_one, default_value = "5")]
    pub(super) max_actions: u64,
    /// How long the fence of a wish of its own lives
    #[arg(long, value_name = "DURATION", value_parser = wait, default_value = "1h")]
    pub(super) valid_for: DurationMs,
    /// How long a wish of its own may wait for a colleague where policy leaves it to one, at most
    /// 7d; 0s: not at all
    #[arg(long, value_name = "DURATION", value_parser = approve_within, default_value = "24h")]
    pub(super) approve_within: DurationMs,
}

fn at_least_one(text: &str) -> Result<u64, String> {
    match whole_number(text)? {
        0 => Err("at least 1".to_owned()),
        number => Ok(number),
    }
}

fn approve_within(text: &str) -> Result<DurationMs, String> {
    up_to(APPROVE_WITHIN_MAX, text)
}

impl TickArgs {
    /// Whether the gate is read from stdin.
    pub(super) fn health_is_stdin(&self) -> bool {
        self.health.as_os_str() == "-"
    }

    /// The document of the gate; none for no gate.
    pub(super) fn gate(&self) -> Option<PathBuf> {
        Some(self.health.clone()).filter(|file| file.as_os_str() != "none")
    }
}

/// The answer of a tick whose gate is closed; none where it is open.
pub(super) fn closed(health: &Health) -> Option<Answer> {
    let why = health.closed()?;
    let answer = match health {
        // What cannot be read proves nothing, and a gate that is closed on purpose is no failure.
        Health::Unreadable(_) => Answer::failed(
            Problem::new("health_unreadable", Exit::FactUnknown, why.clone())
                .hint("let whoever writes it write the two booleans; the next tick looks again"),
        ),
        Health::NotAsked | Health::Ready | Health::NotReady(_) => Answer::ok(),
    };
    Some(answer.noun("reason", &why).line(format!("nothing was looked at: {why}")))
}

/// The answer of rows: the most serious one decides how the command ends.
pub(super) fn answer_of_rows(problems: Vec<Problem>, end: Option<OpError>, app: &App) -> Answer {
    if let Some(error) = end {
        return Answer::failed(app.problem(Fault::from(error)));
    }
    let ends = problems.into_iter().map(Answer::failed);
    ends.max_by_key(|answer| rank(answer.exit())).unwrap_or_else(Answer::ok)
}

/// A person first, then what nobody knows, then our own faults, then the rest by number.
const fn rank(exit: Exit) -> (u8, u8) {
    match exit {
        Exit::Ok => (0, 0),
        Exit::Attention => (4, 0),
        Exit::Unknown => (3, 0),
        Exit::Internal | Exit::LedgerUnusable => (2, exit.code()),
        other => (1, other.code()),
    }
}

/// Whether the ledger changed by a run of many transactions.
pub(super) fn recorded(app: &App) -> Recorded {
    match app.opened() {
        Some(session) if session.is_poisoned() => Recorded::Unknown,
        Some(session) if session.has_recorded() => Recorded::Yes,
        Some(_) | None => Recorded::No,
    }
}
