//! Opening a database that is a ledger of ours, and refusing every other.

use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OpenFlags};

use super::{LOG_FRAMES_MAX, Origin, SqliteEngine, place};
use crate::crash::{self, CrashPoint};
use crate::domain::time::DurationMs;
use crate::ledger::LOCK_TIMEOUT_MAX;
use crate::ledger::error::LedgerError;
use crate::ledger::sql::{Engine, Statement};

/// `ScL1` in the header of every ledger.
const APPLICATION_ID: i64 = 0x5363_4C31;

/// `ScLB`: a backup. Programs that know of no backups take it for a stranger, and write nothing.
const BACKUP_ID: i64 = 0x5363_4C42;

/// The migrations, in order. Never edited, only added to.
const MIGRATIONS: [&str; 1] = [include_str!("migrations/0001.sql")];

/// The migration that only a test knows.
const TESTING: &str = "CREATE TABLE testing_only (name TEXT PRIMARY KEY) STRICT;
    PRAGMA user_version = 2;";

/// The migrations that this program knows, in order.
pub(super) fn migrations() -> impl Iterator<Item = &'static str> {
    MIGRATIONS.into_iter().chain(crash::knows_another_schema().then_some(TESTING))
}

/// The version of the tables that this program reads and writes.
pub(in crate::ledger) fn schema_version() -> i64 {
    i64::try_from(migrations().count()).expect("BUG: more migrations than numbers")
}

/// The first SQLite without the WAL-reset fault (sqlite.org/wal.html#walresetbug).
const SQLITE_VERSION_MIN: i32 = 3_051_003;

/// More than there are: a batch runs nearly all of them over and over.
const STATEMENTS_KEPT: usize = 64;

/// Opens a ledger. Never creates a database, nor a side file where there is none.
pub(in crate::ledger) fn open(
    path: &Path,
    lock_timeout: DurationMs,
) -> Result<(PathBuf, SqliteEngine), LedgerError> {
    let (path, engine) = open_as_it_is(path, lock_timeout)?;
    engine
        .connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .map_err(|error| engine.origin.failed("open", &error))?;
    check_schema(&engine)?;
    check_writable(&engine)?;
    Ok((path, engine))
}

/// Opens a ledger of any schema, or a backup, to look at it. A close leaves no side file behind.
pub(in crate::ledger) fn open_as_it_is(
    path: &Path,
    lock_timeout: DurationMs,
) -> Result<(PathBuf, SqliteEngine), LedgerError> {
    let path = place::absolute(path)?;
    place::check_file(&path)?;
    place::check_file_system(&path, None)?;
    let mut engine = connect(&path, lock_timeout)?;
    engine.is_backup = match query_number(&engine, "PRAGMA application_id")? {
        APPLICATION_ID => false,
        BACKUP_ID => true,
        other => {
            let problem = format!("its application id is {other:#010x}");
            return Err(LedgerError::Foreign { path, problem });
        }
    };
    Ok((path, engine))
}

/// The SQLite that is linked, where it can be used.
pub(in crate::ledger) fn version() -> Result<&'static str, LedgerError> {
    if rusqlite::version_number() < SQLITE_VERSION_MIN {
        return Err(LedgerError::EngineTooOld { found: rusqlite::version().to_owned() });
    }
    Ok(rusqlite::version())
}

/// A configured connection to a file that is there.
#[expect(clippy::disallowed_methods, reason = "the one place that opens databases")]
pub(super) fn connect(path: &Path, lock_timeout: DurationMs) -> Result<SqliteEngine, LedgerError> {
    version()?;
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
    let log_frames_max = Cell::new(LOG_FRAMES_MAX);
    Ok(SqliteEngine { connection, origin, is_backup: false, log_frames_max })
}

/// What a connection is told. The limit is in bytes: a log that grew under load shrinks to it.
#[cfg(not(target_os = "macos"))]
const SETTINGS: &str = "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 1048576;";
/// On macOS only `F_FULLFSYNC` reaches the disk.
#[cfg(target_os = "macos")]
const SETTINGS: &str = "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 1048576;
    PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1;";

/// Makes the tables in an empty database, all or none; what has them already stays as it is.
pub(super) fn migrate(engine: &SqliteEngine) -> Result<(), LedgerError> {
    engine.run("make the tables of", "BEGIN IMMEDIATE")?;
    if query_number(engine, "PRAGMA application_id")? == 0 {
        for migration in migrations() {
            run_migration(engine, migration)?;
        }
    }
    engine.run("make the tables of", "COMMIT")?;
    use_log(engine)
}

fn run_migration(engine: &SqliteEngine, text: &'static str) -> Result<(), LedgerError> {
    let done = engine.connection.execute_batch(text);
    done.map_err(|error| engine.origin.failed("make the tables of", &error))
}

/// Brings an older ledger up to what this program knows, in one transaction; answers what it was.
pub(in crate::ledger) fn bring_up(engine: &SqliteEngine) -> Result<i64, LedgerError> {
    engine.run("migrate", "BEGIN IMMEDIATE")?;
    let done = bring_up_in(engine);
    if done.is_err() {
        engine.rollback();
    }
    done
}

fn bring_up_in(engine: &SqliteEngine) -> Result<i64, LedgerError> {
    let found = query_number(engine, "PRAGMA user_version")?;
    let path = engine.origin.path.clone();
    let known = schema_version();
    let applied = usize::try_from(found).ok().filter(|_| (1..=known).contains(&found));
    let Some(applied) = applied else {
        return Err(LedgerError::Newer { path, found, known });
    };
    for migration in migrations().skip(applied) {
        run_migration(engine, migration)?;
    }
    crash::hit(CrashPoint::BeforeCommit);
    engine.run("migrate", "COMMIT")?;
    crash::hit(CrashPoint::AfterCommit);
    Ok(found)
}

/// Marks the file as a backup, or as a ledger; a part of the open transaction.
pub(in crate::ledger) fn mark_backup(
    engine: &mut SqliteEngine,
    is_backup: bool,
) -> Result<(), LedgerError> {
    let text = if is_backup {
        "PRAGMA application_id = 1399016514"
    } else {
        "PRAGMA application_id = 1399016497"
    };
    engine.run_batch("mark", text)?;
    engine.is_backup = is_backup;
    Ok(())
}

/// The log instead of a journal.
pub(in crate::ledger) fn use_log(engine: &SqliteEngine) -> Result<(), LedgerError> {
    query_word(engine, "PRAGMA journal_mode = WAL").map(|_| ())
}

/// One file without side files: what is done before it gets its name.
pub(in crate::ledger) fn end_log(engine: &SqliteEngine) -> Result<(), LedgerError> {
    let mode = query_word(engine, "PRAGMA journal_mode = DELETE")?;
    if mode == "delete" {
        return Ok(());
    }
    let problem = "its log could not be closed: somebody else has it open".to_owned();
    Err(LedgerError::Failed { doing: "close", path: engine.origin.path.clone(), problem })
}

/// A copy of what is there now into an empty file, whatever others write meanwhile.
pub(in crate::ledger) fn copy_into(engine: &SqliteEngine, file: &Path) -> Result<(), LedgerError> {
    let failed = |error: rusqlite::Error| engine.origin.failed("copy", &error);
    let Some(name) = file.to_str() else {
        let problem = "the name of the copy is not UTF-8".to_owned();
        return Err(LedgerError::Failed { doing: "copy", path: file.to_owned(), problem });
    };
    engine.connection.execute("VACUUM INTO ?1", [name]).map(|_| ()).map_err(failed)
}

/// Refuses tables that this program does not know.
fn check_schema(engine: &SqliteEngine) -> Result<(), LedgerError> {
    let path = &engine.origin.path;
    let (found, known) = (query_number(engine, "PRAGMA user_version")?, schema_version());
    match found.cmp(&known) {
        Ordering::Greater => Err(LedgerError::Newer { path: path.clone(), found, known }),
        Ordering::Less => Err(LedgerError::Older { path: path.clone(), found, known }),
        Ordering::Equal => Ok(()),
    }
}

fn check_writable(engine: &SqliteEngine) -> Result<(), LedgerError> {
    let path = &engine.origin.path;
    if engine.is_backup {
        return Ok(());
    }
    let is_read_only = engine.connection.is_readonly(MAIN_DB);
    if is_read_only.map_err(|error| engine.origin.failed("open", &error))? {
        let culprit = place::unwritable(path).unwrap_or_else(|| path.clone());
        return Err(LedgerError::ReadOnly { doing: "open", path: path.clone(), culprit });
    }
    // Somebody may have switched it with a tool of their own; readers would block writers then.
    if query_word(engine, "PRAGMA journal_mode")? == "wal" { Ok(()) } else { use_log(engine) }
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
