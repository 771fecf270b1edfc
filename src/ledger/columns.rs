//! Rows in, types out. What does not fit is an error that names the row, never a panic.

use std::fmt;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::error::LedgerError;
use super::read::EventFilter;
use super::sql::Row;
use super::stream::Stream;
use crate::domain::digest::Digest;
use crate::domain::id::{CommandId, ExecutionKey};
use crate::domain::scale::event::Stamped;
use crate::domain::scale::execution::Execution;
use crate::domain::scale::provenance::Provenance;
use crate::domain::time::Timestamp;

/// One event as it is stored, its body not yet understood.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEvent {
    /// 1, 2, 3 … over the whole ledger, in the order of commits.
    pub position: u64,
    /// The chain that it belongs to.
    pub stream: Stream,
    /// 1, 2, 3 … in its chain.
    pub sequence: u64,
    /// The run of the command that wrote it.
    pub command_id: CommandId,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: Provenance,
    /// The word for what happened.
    pub kind: String,
    /// The key that it is about, if it is about one.
    pub execution_key: Option<ExecutionKey>,
    /// What happened.
    pub body: serde_json::Value,
    /// The hash of the chain up to here.
    pub hash: Digest,
}

/// One row of `event`, borrowed.
pub(super) struct EventRow<'r> {
    pub(super) position: i64,
    pub(super) stream: &'r str,
    pub(super) sequence: i64,
    pub(super) command_id: &'r str,
    pub(super) at: i64,
    pub(super) kind: &'r str,
    pub(super) execution_key: Option<&'r str>,
    pub(super) body: &'r str,
    pub(super) hash: &'r [u8],
}

impl<'r> EventRow<'r> {
    pub(super) fn of(row: &'r dyn Row) -> Result<Self, LedgerError> {
        Ok(Self {
            position: row.int(0)?,
            stream: row.text(1)?,
            sequence: row.int(2)?,
            command_id: row.text(3)?,
            at: row.int(4)?,
            kind: row.text(5)?,
            execution_key: row.optional_text(6)?,
            body: row.text(7)?,
            hash: row.bytes(8)?,
        })
    }

    pub(super) fn place(&self) -> String {
        format!("event {} of {}", self.sequence, self.stream)
    }

    /// Whether a filter lets it through; `streams` are the names of the filter's chains.
    pub(super) fn passes(&self, filter: &EventFilter, streams: &[String]) -> bool {
        (streams.is_empty() || streams.iter().any(|stream| stream == self.stream))
            && filter.execution_key.as_ref().is_none_or(|k| self.execution_key == Some(k.as_str()))
            && filter.command_id.as_ref().is_none_or(|id| self.command_id == id.as_str())
            && filter.since.is_none_or(|since| self.at >= since.as_micros())
            && filter.until.is_none_or(|until| self.at < until.as_micros())
    }

    /// The event with its body read as far as every event is alike.
    pub(super) fn stored(&self, path: &Path) -> Result<StoredEvent, LedgerError> {
        let place = || self.place();
        let stamped: Stamped<serde_json::Value> = json(path, place, self.body)?;
        Ok(StoredEvent {
            position: number(path, place, self.position)?,
            stream: parsed(path, place, self.stream)?,
            sequence: number(path, place, self.sequence)?,
            command_id: parsed(path, place, self.command_id)?,
            at: stamped.at,
            by: stamped.by,
            kind: self.kind.to_owned(),
            execution_key: self.execution_key.map(|key| parsed(path, place, key)).transpose()?,
            body: stamped.body,
            hash: Digest::from_bytes(self.hash)
                .ok_or_else(|| nonsense(path, place(), "a hash of another length"))?,
        })
    }
}

/// One row of `execution`, borrowed.
pub(super) struct ExecutionRow<'r> {
    pub(super) position: i64,
    pub(super) execution_key: &'r str,
    pub(super) service: &'r str,
    pub(super) intent_id: &'r str,
    pub(super) intent_revision: i64,
    pub(super) dry_run: i64,
    pub(super) live: i64,
    pub(super) unfinished: i64,
    pub(super) state: &'r str,
    pub(super) version: i64,
    pub(super) document: &'r str,
}

impl<'r> ExecutionRow<'r> {
    pub(super) fn of(row: &'r dyn Row) -> Result<Self, LedgerError> {
        Ok(Self {
            position: row.int(0)?,
            execution_key: row.text(1)?,
            service: row.text(2)?,
            intent_id: row.text(3)?,
            intent_revision: row.int(4)?,
            dry_run: row.int(5)?,
            live: row.int(6)?,
            unfinished: row.int(7)?,
            state: row.text(8)?,
            version: row.int(9)?,
            document: row.text(10)?,
        })
    }

    /// The execution. Its columns must say what its document says.
    pub(super) fn execution(&self, path: &Path) -> Result<Execution, LedgerError> {
        let place = || format!("execution {}", self.execution_key);
        let execution: Execution = json(path, place, self.document)?;
        match self.first_difference(&execution) {
            None => Ok(execution),
            Some(column) => {
                let problem = format!("column {column} contradicts the document");
                Err(nonsense(path, place(), &problem))
            }
        }
    }

    /// The first column that does not follow from an execution.
    pub(super) fn first_difference(&self, execution: &Execution) -> Option<&'static str> {
        let intent = &execution.intent;
        let revision = i64::try_from(execution.revision().get()).ok();
        [
            ("execution_key", self.execution_key == execution.key().as_str()),
            ("service", self.service == intent.service.as_str()),
            ("intent_id", self.intent_id == intent.wish.intent_id.as_str()),
            ("intent_revision", Some(self.intent_revision) == revision),
            ("dry_run", self.dry_run == i64::from(intent.dry_run)),
            ("live", self.live == i64::from(execution.is_live())),
            ("unfinished", self.unfinished == i64::from(!execution.phase.is_finished())),
            ("state", self.state == execution.phase.as_str()),
        ]
        .into_iter()
        .find_map(|(column, same)| (!same).then_some(column))
    }
}

/// An error about what is stored.
pub(super) fn nonsense(path: &Path, place: String, problem: &str) -> LedgerError {
    LedgerError::Nonsense { path: path.to_owned(), place, problem: problem.to_owned() }
}

/// Reads stored JSON.
pub(super) fn json<T: DeserializeOwned>(
    path: &Path,
    place: impl Fn() -> String,
    text: &str,
) -> Result<T, LedgerError> {
    serde_json::from_str(text).map_err(|error| nonsense(path, place(), &error.to_string()))
}

/// Reads a stored identifier.
pub(super) fn parsed<T>(
    path: &Path,
    place: impl Fn() -> String,
    text: &str,
) -> Result<T, LedgerError>
where
    T: std::str::FromStr<Err: fmt::Display>,
{
    text.parse().map_err(|error: T::Err| nonsense(path, place(), &error.to_string()))
}

/// Reads a stored count.
pub(super) fn number(
    path: &Path,
    place: impl Fn() -> String,
    value: i64,
) -> Result<u64, LedgerError> {
    u64::try_from(value).map_err(|_| nonsense(path, place(), "a negative number"))
}

/// A stored number as a column takes it. Every number of the domain fits by far.
pub(super) fn column(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The JSON of a projection. Not canonical: it is never hashed.
pub(super) fn document<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("BUG: a domain type that is not JSON")
}
