//! Opening a database that is a ledger of ours, and refusing every other.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OpenFlags};

use super::{Origin, SqliteEngine, place};
use crate::domain::time::DurationMs;
use crate::ledger::LOCK_TIMEOUT_MAX;
use crate::ledger::error::LedgerError;
use crate::ledger::sql::{Engine, Statement};

/// `ScL1` in the header of every ledger.
const APPLICATION_ID: i64 = 0x5363_4C31;

/// The migrations, in order. Never edited, only added to.
const MIGRATIONS: [&str; 1] = [include_str!("migrations/0001.sql")];

/// The version of the tables that this program reads and writes.
#[expect(clippy::cast_possible_wrap, reason = "the number of migrations is small")]
pub(in crate::ledger) const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// The first SQLite without the WAL-reset fault (sqlite.org/wal.html#walresetbug).
const SQLITE_VERSION_MIN: i32 = 3_051_003;

/// More than there are: a batch runs nearly all of them over and over.
const STATEMENTS_KEPT: usize = 64;

/// Opens a ledger. Never creates a database, nor a side file where there is none.
pub(in crate::ledger) fn open(
    path: &Path,
    lock_timeout: DurationMs,
) -> Result<(PathBuf, SqliteEngine), LedgerError> {
    let path = place::absolute(path)?;
    place::check_file(&path)?;
    place::check_file_system(&path, None)?;
    let engine = connect(&path, lock_timeout)?;
    engine
        .connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .map_err(|error| engine.origin.failed("open", &error))?;
    check_identity(&engine)?;
    Ok((path, engine))
}

/// A configured connection to a file that is there.
#[expect(clippy::disallowed_methods, reason = "the one place that opens databases")]
pub(super) fn connect(path: &Path, lock_timeout: DurationMs) -> Result<SqliteEngine, LedgerError> {
    if rusqlite::version_number() < SQLITE_VERSION_MIN {
        return Err(LedgerError::EngineTooOld { found: rusqlite::version().to_owned() });
    }
    let file = place::file_id(path).map_err(|error| place::refused("open", path, path, &error))?;
    let origin = Origin { path: path.to_owned(), lock_timeout, file };
    let failed = |error: rusqlite::Error| origin.failed("open", &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(lock_timeout.min(LOCK_TIMEOUT_MAX).to_std()).map_err(failed)?;
    for (setting, value) in [
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true),
        // Or a statement is compiled again whenever another value is bound to it.
        (DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true),
    ] {
        connection.set_db_config(setting, value).map_err(failed)?;
    }
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    connection.execute_batch(SETTINGS).map_err(failed)?;
    Ok(SqliteEngine { connection, origin })
}

/// What a connection is told. The limit is in bytes: a log that grew under load shrinks to it.
#[cfg(not(target_os = "macos"))]
const SETTINGS: &str = "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 1048576;";
/// On macOS only `F_FULLFSYNC` reaches the disk.
#[cfg(target_os = "macos")]
const SETTINGS: &str = "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 1048576;
    PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1;";

/// Makes the tables in an empty database.
pub(super) fn migrate(engine: &SqliteEngine) -> Result<(), LedgerError> {
    for migration in MIGRATIONS {
        engine
            .connection
            .execute_batch(migration)
            .map_err(|error| engine.origin.failed("make the tables of", &error))?;
    }
    query_word(engine, "PRAGMA journal_mode = WAL").map(|_| ())
}

/// Refuses what is not a ledger, or not one that this program can write.
fn check_identity(engine: &SqliteEngine) -> Result<(), LedgerError> {
    let path = &engine.origin.path;
    let application_id = query_number(engine, "PRAGMA application_id")?;
    if application_id != APPLICATION_ID {
        let problem = format!("its application id is {application_id:#010x}");
        return Err(LedgerError::Foreign { path: path.clone(), problem });
    }
    let found = query_number(engine, "PRAGMA user_version")?;
    if found > SCHEMA_VERSION {
        return Err(LedgerError::Newer { path: path.clone(), found, known: SCHEMA_VERSION });
    }
    if found < SCHEMA_VERSION {
        return Err(LedgerError::Older { path: path.clone(), found, known: SCHEMA_VERSION });
    }
    let is_read_only = engine.connection.is_readonly(MAIN_DB);
    if is_read_only.map_err(|error| engine.origin.failed("open", &error))? {
        let culprit = place::unwritable(path).unwrap_or_else(|| path.clone());
        return Err(LedgerError::ReadOnly { doing: "open", path: path.clone(), culprit });
    }
    // Somebody may have switched it with a tool of their own; readers would block writers then.
    if query_word(engine, "PRAGMA journal_mode")? != "wal" {
        query_word(engine, "PRAGMA journal_mode = WAL")?;
    }
    Ok(())
}

fn query_number(engine: &SqliteEngine, text: &'static str) -> Result<i64, LedgerError> {
    let mut found = 0;
    engine.each(Statement::few("open", text), &[], &mut |row| {
        found = row.int(0)?;
        Ok(ControlFlow::Break(()))
    })?;
    Ok(found)
}

fn query_word(engine: &SqliteEngine, text: &'static str) -> Result<String, LedgerError> {
    let mut found = String::new();
    engine.each(Statement::few("open", text), &[], &mut |row| {
        row.text(0)?.clone_into(&mut found);
        Ok(ControlFlow::Break(()))
    })?;
    Ok(found)
}
