//! SQLite: the embedded engine. WAL, `synchronous=FULL`, one file and its two side files.
//!
//! Owns the only connections to the database. Keeps the log across processes (a close does not
//! checkpoint) and bounds it by hand. After a crash SQLite's own recovery leaves exactly the
//! committed transactions.

mod connection;
mod draft;
mod place;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{CachedStatement, Connection, ErrorCode, MAIN_DB};

pub(super) use connection::{
    bring_up, copy_into, end_log, mark_backup, open, open_as_it_is, schema_version, use_log,
    version,
};
pub(super) use draft::Draft;

pub use place::mount_type;
pub(super) use place::{LOG_ALONE, canonical, forget_draft_names, side_files, unwritable};

use super::columns::nonsense;
use super::error::LedgerError;
use super::sql::{CommitError, Engine, Lock, Row, RowFlow, Statement, Value};
use crate::domain::time::DurationMs;

/// Whether the file system of a path, or of what is above it, holds locks.
pub(super) fn check_place(path: &Path) -> Result<(), LedgerError> {
    let there = path.ancestors().find(|above| above.exists()).unwrap_or(path);
    place::check_file_system(there, None)
}

/// Why a group does not share what is in a directory; none where it does.
pub(super) fn unshared(directory: &Path, group: u32) -> Option<LedgerError> {
    let checked = place::check_shared(directory, group);
    checked.and_then(|()| place::check_reachable(directory, group)).err()
}

/// From so many frames on the log is checkpointed before a write, which then starts it anew.
const LOG_FRAMES_MAX: i32 = 128;
/// The same for who writes again and again: a page that many writes change goes to the database
/// once for all of them. Who comes after a crash reads the log once, which takes milliseconds.
const LOG_FRAMES_MAX_OFTEN: i32 = 8192;
/// What such a connection is told beside that: nobody but us moves the log; when it starts anew all
/// of it stays there, because a file that grows costs more to sync (in bytes); and the pages of the
/// indexes stay in memory (in KiB).
const OFTEN: &str = "PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 50331648;
    PRAGMA cache_size = -32768;";

/// One connection.
pub(super) struct SqliteEngine {
    connection: Connection,
    origin: Origin,
    is_backup: bool,
    log_frames_max: Cell<i32>,
}

/// What every error of a connection says beside what was being done.
#[derive(Debug, Clone)]
struct Origin {
    path: PathBuf,
    lock_timeout: DurationMs,
    /// Which file had the name of the ledger when it was opened.
    file: place::FileId,
}

impl Origin {
    fn failed(&self, doing: &'static str, error: &rusqlite::Error) -> LedgerError {
        let path = self.path.clone();
        let problem = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                LedgerError::Busy { doing, path, waited: self.lock_timeout }
            }
            Some(ErrorCode::DiskFull) => LedgerError::Full { doing, path },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                let culprit = place::unwritable(&path).unwrap_or_else(|| path.clone());
                LedgerError::ReadOnly { doing, path, culprit }
            }
            Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure) if place::is_exhausted() => {
                LedgerError::Exhausted { doing, path }
            }
            Some(ErrorCode::CannotOpen) => match place::unwritable(&path) {
                Some(culprit) => LedgerError::ReadOnly { doing, path, culprit },
                None => LedgerError::Failed { doing, path, problem },
            },
            Some(ErrorCode::NotADatabase) => LedgerError::Foreign { path, problem },
            Some(ErrorCode::DatabaseCorrupt) => LedgerError::Corrupt { doing, path, problem },
            _ => LedgerError::Failed { doing, path, problem },
        }
    }
}

impl SqliteEngine {
    fn run(&self, doing: &'static str, text: &str) -> Result<(), LedgerError> {
        self.connection
            .prepare_cached(text)
            .and_then(|mut statement| statement.raw_execute().map(|_| ()))
            .map_err(|error| self.origin.failed(doing, &error))
    }

    fn run_batch(&self, doing: &'static str, text: &'static str) -> Result<(), LedgerError> {
        self.connection.execute_batch(text).map_err(|error| self.origin.failed(doing, &error))
    }

    fn prepare(
        &self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<CachedStatement<'_>, LedgerError> {
        let failed = |error| self.origin.failed(statement.doing, &error);
        let mut prepared = self.connection.prepare_cached(statement.text).map_err(failed)?;
        bind(&mut prepared, values).map_err(failed)?;
        Ok(prepared)
    }

    /// Keeps the log short: nothing else would, because a close does not checkpoint. What a reader
    /// still needs stays; a checkpoint that meets another one is left to that one.
    fn bound_the_log(&self) -> Result<(), LedgerError> {
        use rusqlite::wal::CheckpointMode::{NOOP, PASSIVE};
        let checkpoint = |mode| match self.connection.wal_checkpoint_v2(Some(MAIN_DB), mode) {
            Ok((frames, _)) => Ok(frames),
            // PASSIVE says busy without asking the busy handler.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(0),
            Err(error) => Err(self.origin.failed("checkpoint", &error)),
        };
        if checkpoint(NOOP)? > self.log_frames_max.get() {
            checkpoint(PASSIVE)?;
        }
        Ok(())
    }
}

/// Nobody who comes later should have to read a long log.
impl Drop for SqliteEngine {
    fn drop(&mut self) {
        if self.log_frames_max.get() == LOG_FRAMES_MAX_OFTEN {
            self.empty_log();
        }
    }
}

/// Binds `$1`, `$2` … by their number: to SQLite they are names, numbered by first occurrence.
fn bind(statement: &mut CachedStatement<'_>, values: &[Value<'_>]) -> rusqlite::Result<()> {
    for index in 1..=statement.parameter_count() {
        let number = statement.parameter_name(index).and_then(|name| name.strip_prefix('$'));
        let number: usize =
            number.and_then(|digits| digits.parse().ok()).expect("BUG: a parameter is not $N");
        match values[number - 1] {
            Value::Int(value) => statement.raw_bind_parameter(index, value)?,
            Value::Text(value) => statement.raw_bind_parameter(index, value)?,
            Value::Bytes(value) => statement.raw_bind_parameter(index, value)?,
            Value::OptionalText(value) => statement.raw_bind_parameter(index, value)?,
        }
    }
    Ok(())
}

impl Engine for SqliteEngine {
    fn is_backup(&self) -> bool {
        self.is_backup
    }

    fn copy_into(&self, file: &Path) -> Result<bool, LedgerError> {
        copy_into(self, file).map(|()| true)
    }

    fn wait_at_most(&self, lock_timeout: DurationMs) -> Result<(), LedgerError> {
        self.connection
            .busy_timeout(lock_timeout.min(super::LOCK_TIMEOUT_MAX).to_std())
            .map_err(|error| self.origin.failed("open", &error))
    }

    fn writes_often(&self) -> Result<(), LedgerError> {
        self.log_frames_max.set(LOG_FRAMES_MAX_OFTEN);
        self.run_batch("open", OFTEN)
    }

    /// Whoever is in is not waited for, and what stays in the log is as safe there.
    fn empty_log(&self) {
        use rusqlite::wal::CheckpointMode::TRUNCATE;
        let _ = self.connection.busy_timeout(Duration::ZERO);
        let _ = self.connection.wal_checkpoint_v2(Some(MAIN_DB), TRUNCATE);
        let _ = self.wait_at_most(self.origin.lock_timeout);
    }

    fn begin_read(&self) -> Result<(), LedgerError> {
        self.run("read", "BEGIN")
    }

    fn begin_write(&self, _locks: &[Lock]) -> Result<(), LedgerError> {
        self.bound_the_log()?;
        self.run("write to", "BEGIN IMMEDIATE")
    }

    fn commit(&self) -> Result<(), CommitError> {
        // SQLITE_FULL comes from writing frames, before the log is synced and before its index
        // knows of them. Nothing follows the frame that commits, because SQLite pads the log only
        // where SQLITE_POWERSAFE_OVERWRITE is off (wal.c, walFrames).
        self.run("commit to", "COMMIT").map_err(|error| match error {
            LedgerError::Full { .. } => CommitError::NotApplied(error),
            error => CommitError::Unknown(error),
        })?;
        // It is recorded, in what was opened. Whoever looks for it by the name finds another file.
        if place::file_id(&self.origin.path).ok() != Some(self.origin.file) {
            let path = self.origin.path.clone();
            return Err(CommitError::Unknown(LedgerError::Moved { path }));
        }
        Ok(())
    }

    fn rollback(&self) {
        // Some errors have ended the transaction already; any other end of the connection does too.
        if !self.connection.is_autocommit() {
            let _ = self.run("roll back", "ROLLBACK");
        }
    }

    fn exec(&self, statement: Statement, values: &[Value<'_>]) -> Result<u64, LedgerError> {
        let mut prepared = self.prepare(statement, values)?;
        let changed =
            prepared.raw_execute().map_err(|error| self.origin.failed(statement.doing, &error))?;
        Ok(u64::try_from(changed).unwrap_or(u64::MAX))
    }

    fn each(
        &self,
        statement: Statement,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> RowFlow,
    ) -> Result<(), LedgerError> {
        let mut prepared = self.prepare(statement, values)?;
        let mut rows = prepared.raw_query();
        loop {
            let next = rows.next().map_err(|e| self.origin.failed(statement.doing, &e))?;
            let Some(next) = next else {
                return Ok(());
            };
            if row(&SqliteRow { row: next, origin: &self.origin })?.is_break() {
                return Ok(());
            }
        }
    }

    fn storage_problems(&self, thorough: bool, limit: usize) -> Result<Vec<String>, LedgerError> {
        // What is under way is found by the indexes of `execution` alone, so these are always held
        // against their table; the one of `event` is, by the walk along the chains.
        let checks: &[&str] = if thorough {
            &["PRAGMA integrity_check"]
        } else {
            &["PRAGMA quick_check", "PRAGMA integrity_check(execution)"]
        };
        let mut problems = Vec::new();
        for text in checks {
            self.each(Statement::few("check the storage of", text), &[], &mut |row| {
                let problem = row.text(0)?;
                if problem != "ok" && problems.len() < limit {
                    problems.push(problem.to_owned());
                }
                Ok(std::ops::ControlFlow::Continue(()))
            })?;
        }
        Ok(problems)
    }
}

struct SqliteRow<'r> {
    row: &'r rusqlite::Row<'r>,
    origin: &'r Origin,
}

impl SqliteRow<'_> {
    fn unexpected(&self, column: usize, problem: &dyn std::fmt::Display) -> LedgerError {
        let name = self.row.as_ref().column_name(column).unwrap_or("a column").to_owned();
        nonsense(&self.origin.path, name, &problem.to_string())
    }
}

impl Row for SqliteRow<'_> {
    fn int(&self, column: usize) -> Result<i64, LedgerError> {
        let value = self.row.get_ref(column).map_err(|error| self.unexpected(column, &error))?;
        value.as_i64().map_err(|error| self.unexpected(column, &error))
    }

    fn text(&self, column: usize) -> Result<&str, LedgerError> {
        let value = self.row.get_ref(column).map_err(|error| self.unexpected(column, &error))?;
        value.as_str().map_err(|error| self.unexpected(column, &error))
    }

    fn optional_text(&self, column: usize) -> Result<Option<&str>, LedgerError> {
        let value = self.row.get_ref(column).map_err(|error| self.unexpected(column, &error))?;
        value.as_str_or_null().map_err(|error| self.unexpected(column, &error))
    }

    fn bytes(&self, column: usize) -> Result<&[u8], LedgerError> {
        let value = self.row.get_ref(column).map_err(|error| self.unexpected(column, &error))?;
        value.as_blob().map_err(|error| self.unexpected(column, &error))
    }
}
