//! What the ledger needs of a database engine: numbered parameters, typed rows, transactions.
//!
//! Owns no SQL and no connection. An engine never panics on a row that is not as expected and never
//! gives an error without what was being done.

use std::ops::ControlFlow;

use super::error::LedgerError;

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

/// What a row's reader says: go on, stop, or fail.
pub(super) type RowFlow = Result<ControlFlow<()>, LedgerError>;

/// One connection to a database.
pub(super) trait Engine: Send {
    /// Begins a transaction that reads one snapshot.
    fn begin_read(&self) -> Result<(), LedgerError>;
    /// Begins a transaction that excludes every other writer, waiting up to the lock timeout.
    fn begin_write(&self) -> Result<(), LedgerError>;
    /// Commits. After [`LedgerError::Full`] nothing was committed: what commits is the last thing
    /// that is written, and it did not fit. After any other error nobody knows whether the write is
    /// durable.
    fn commit(&self) -> Result<(), LedgerError>;
    /// Rolls back, as far as the connection still can.
    fn rollback(&self);
    /// Runs a statement that changes rows, and counts them.
    fn exec(&self, statement: Statement, values: &[Value<'_>]) -> Result<u64, LedgerError>;
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
