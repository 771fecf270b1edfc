//! What the ledger needs of a database engine: numbered parameters, typed rows, transactions.
//!
//! Owns no SQL and no connection. An engine never panics on a row that is not as expected and never
//! gives an error without what was being done.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use super::WhileAsked;
use super::error::LedgerError;
use crate::domain::time::{DurationMs, Timestamp};

/// One SQL text that both engines understand, with what it does, for the error.
///
/// The text is static: nothing is ever pasted into it. Parameters are `$1`, `$2` … and bound by
/// number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Statement {
    /// What it does to the ledger: `append an event to` …
    pub(super) doing: &'static str,
    /// The text.
    pub(super) text: &'static str,
    /// For an answer that may be long: the same behind a cursor, where an engine needs one to stop
    /// early or not to hold all of it.
    pub(super) cursor: Option<&'static str>,
}

impl Statement {
    /// A statement that answers few rows or none.
    pub(super) const fn few(doing: &'static str, text: &'static str) -> Self {
        Self { doing, text, cursor: None }
    }
}

/// A statement that may answer many rows. Its rows are not read while another such one is.
macro_rules! many {
    ($doing:literal, $text:literal $(,)?) => {
        $crate::ledger::sql::Statement {
            doing: $doing,
            text: $text,
            cursor: Some(concat!("DECLARE walk NO SCROLL CURSOR FOR ", $text)),
        }
    };
}
pub(super) use many;

/// One chain that a write reads for its decision or adds to, or what else no two may decide on at a
/// time. Every write takes its locks in this order, so that no two can wait for each other in a
/// circle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lock {
    /// Its place in the order.
    pub(super) rank: u8,
    /// The name of the chain, or of what else is locked.
    pub(super) name: String,
    /// Whether nobody else may even read it for a decision meanwhile.
    pub(super) alone: bool,
}

/// Why a COMMIT was not answered with success.
#[derive(Debug)]
pub(super) enum CommitError {
    /// Nothing was committed.
    NotApplied(LedgerError),
    /// Nobody knows whether the write is durable.
    Unknown(LedgerError),
    /// The answer was lost: the write is there as a whole or not at all, and whoever holds the same
    /// locks after it can see which.
    Lost(LedgerError),
}

impl CommitError {
    /// What went wrong, for a write that is found again by the same line.
    pub(super) fn into_problem(self) -> LedgerError {
        match self {
            Self::NotApplied(error) | Self::Unknown(error) | Self::Lost(error) => error,
        }
    }
}

/// One bound value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    /// A whole number; also an instant in microseconds, and 0 or 1.
    Int(i64),
    /// Text; also JSON.
    Text(&'a str),
    /// Bytes: a hash.
    Bytes(&'a [u8]),
    /// Text that may be absent.
    OptionalText(Option<&'a str>),
}

/// A statement with what is bound to it.
#[derive(Debug, Clone)]
pub(super) struct Bound<'a> {
    /// The statement.
    pub(super) statement: Statement,
    /// Its values, by number.
    pub(super) values: Vec<Value<'a>>,
}

impl<'a> Bound<'a> {
    /// A statement and its values.
    pub(super) fn new<const N: usize>(statement: Statement, values: [Value<'a>; N]) -> Self {
        Self { statement, values: values.into() }
    }
}

/// One row of an answer; columns count from 0. A column of another type is an error: the database
/// was changed by somebody else.
pub(super) trait Row {
    /// A whole number.
    fn int(&self, column: usize) -> Result<i64, LedgerError>;
    /// Text.
    fn text(&self, column: usize) -> Result<&str, LedgerError>;
    /// Text that may be absent.
    fn optional_text(&self, column: usize) -> Result<Option<&str>, LedgerError>;
    /// Bytes.
    fn bytes(&self, column: usize) -> Result<&[u8], LedgerError>;
}

/// Whether a wait goes on.
pub(super) type MayWait<'a> = &'a mut dyn FnMut() -> ControlFlow<()>;

/// What a row's reader says: go on, stop, or fail.
pub(super) type RowFlow = Result<ControlFlow<()>, LedgerError>;

/// One connection to a database.
pub(super) trait Engine: Send {
    /// Begins a transaction that reads one snapshot.
    fn begin_read(&self) -> Result<(), LedgerError>;
    /// Begins a transaction that excludes every other writer of the locked chains, waiting up to
    /// the lock timeout for each. An engine with one writer at a time needs no names.
    fn begin_write(&self, locks: &[Lock]) -> Result<(), LedgerError>;
    /// The same, and tells what will be asked for first: see [`Engine::look_ahead`]. Where waiting
    /// again would cost the place in the queue, `may_wait` is asked again and again meanwhile; its
    /// break gives the place up, and is told as busy.
    fn begin_write_ahead(
        &self,
        locks: &[Lock],
        _: &[Bound<'_>],
        _may_wait: MayWait<'_>,
    ) -> Result<(), LedgerError> {
        self.begin_write(locks)
    }
    /// Tells what will be asked for next. An engine to which every question is a journey asks all
    /// of it in one, and answers from that until something is changed. To an engine at hand it is
    /// nothing.
    fn look_ahead(&self, _: &[Bound<'_>]) -> Result<(), LedgerError> {
        Ok(())
    }
    /// Waits no longer than this for another writer from now on, where the engine can be told.
    fn wait_at_most(&self, _lock_timeout: DurationMs) -> Result<(), LedgerError> {
        Ok(())
    }
    /// Waits for no answer, but for one of a COMMIT, beyond so long from now, where the engine has
    /// somebody to wait for; none takes that back. What is there answers a little later, too.
    fn answer_within(&self, _left: Option<Duration>) {}
    /// Tells which ledger was found, so that after a lost connection no other is taken for it.
    fn knows(&self, _ledger_id: &str, _incarnation: i64) {}
    /// Tells that this connection writes again and again, and that its log may grow longer for it.
    fn writes_often(&self) -> Result<(), LedgerError> {
        Ok(())
    }
    /// Moves what was written to where it is found without a log, as far as nobody else is in: for
    /// whoever has written much and writes no more.
    fn empty_log(&self) {}
    /// Whether this is a backup, which takes no writes.
    fn is_backup(&self) -> bool {
        false
    }
    /// Copies what is there now into an empty file, where the engine can; answers whether it did.
    fn copy_into(&self, _file: &Path) -> Result<bool, LedgerError> {
        Ok(false)
    }
    /// What the clock of the database said when the transaction had its locks; none where the clock
    /// of this host is the clock.
    fn now(&self) -> Option<Timestamp> {
        None
    }
    /// Whom the server knows at the other end of the connection; none where there is no server.
    fn role(&self) -> Option<String> {
        None
    }
    /// Whether a position may have been used up by what was never committed.
    fn leaves_gaps(&self) -> bool {
        false
    }
    /// Tells, in a transaction that reads, what would refuse a write, where it can be told without
    /// a lock.
    fn check_may_write(&self) -> Result<(), LedgerError> {
        Ok(())
    }
    /// Waits, outside of a transaction, until nobody holds these locks; `may_wait` as in
    /// [`Engine::begin_write_ahead`]. Answers whether there may be more to see now: no transaction
    /// outlives its client, unless the engine says otherwise.
    fn outwait(&self, _locks: &[Lock], _may_wait: MayWait<'_>) -> Result<bool, LedgerError> {
        Ok(false)
    }
    /// Makes sure, outside of a transaction, that what was read before would survive as what is
    /// acknowledged does. To an engine that shows nothing else it is nothing.
    fn confirm(&self) -> Result<(), LedgerError> {
        Ok(())
    }
    /// Lets `ask` look after every wait for an answer, and end it. An engine that answers at once
    /// asks nobody.
    fn while_asked(&self, _ask: WhileAsked) {}
    /// Commits.
    fn commit(&self) -> Result<(), CommitError>;
    /// Rolls back, as far as the connection still can.
    fn rollback(&self);
    /// Runs a statement that changes rows, and counts them.
    fn exec(&self, statement: Statement, values: &[Value<'_>]) -> Result<u64, LedgerError>;
    /// Runs statements that change rows, in this order, and counts the rows of each.
    fn exec_all(&self, writes: &[Bound<'_>]) -> Result<Vec<u64>, LedgerError> {
        writes.iter().map(|write| self.exec(write.statement, &write.values)).collect()
    }
    /// Runs a statement that answers rows.
    fn each(
        &self,
        statement: Statement,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> RowFlow,
    ) -> Result<(), LedgerError>;
    /// What is wrong with the storage below the tables, at most `limit` lines.
    fn storage_problems(&self, thorough: bool, limit: usize) -> Result<Vec<String>, LedgerError>;
}
