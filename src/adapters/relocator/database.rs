//! The database of a copy: opened, exported, counted, checked.
//!
//! With `fence.rs` the only SQL outside the ledger: the fence lives in the database that it guards
//! ([0055](../../../docs/decisions/0055-relocator-local.md)).

use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use serde::{Deserialize, Serialize};

use super::fault::{Done, damaged, io, sql};
use super::place::DATABASE;
use super::progress::Progress;
use crate::actuator::host::Deadline;
use crate::adapters::now;
use crate::domain::digest::{Digest, Hasher};
use crate::domain::placement::protocol::Refusal;
use crate::domain::time::Timestamp;

/// How many pages are copied before it is looked whether there is time left.
const PAGES_A_STEP: i32 = 2048;
/// How long a step waits for a writer that holds the database, before it is tried again.
const STEP_PAUSE: Duration = Duration::from_millis(20);

/// The names of our own, which an inventory does not count.
pub(super) const OWN: &str = "scalectl_fence";

const TABLES: &str = "SELECT name, type FROM pragma_table_list
    WHERE schema = 'main' AND type <> 'view' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
    ORDER BY name";
const SCHEMA: &str = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema
    ORDER BY type, name";

/// How many rows a table has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TableRows {
    pub(super) name: String,
    pub(super) rows: u64,
}

/// What a database is, as far as it can be said in a few words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DatabaseFacts {
    /// Every table with its rows; a virtual table is counted by the tables that carry it.
    pub(super) tables: Vec<TableRows>,
    /// Views, triggers and indexes.
    pub(super) rules: u64,
    /// Of the text of the whole schema.
    pub(super) schema_sha256: Digest,
    pub(super) user_version: i64,
    pub(super) application_id: i64,
}

/// A table as the schema tells of it.
pub(super) struct Listed {
    pub(super) name: String,
    /// `table`, `shadow` or `virtual`.
    pub(super) kind: String,
}

/// The database of a copy has one name: by another one somebody would write a log that nobody sees
/// here, and no seal would break.
pub(super) fn hold_one_name(path: &Path) -> Done<()> {
    let found = fs::symlink_metadata(path).map_err(io("inspecting", path))?;
    let names = if found.is_file() { found.nlink() } else { 0 };
    let why = match names {
        0 => "is no regular file".to_owned(),
        1 => return Ok(()),
        _ => format!("has {names} names"),
    };
    let why = format!("{DATABASE} {why}: what is written by another name is not seen");
    Err(Refusal::UnprovableFencing { why }.into())
}

/// Opens a database that is there, to read and write it.
pub(super) fn open(path: &Path, until: Deadline) -> Done<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    opened(path, flags, until)
}

/// Opens a database that nobody has open, without leaving a file beside it.
pub(super) fn open_unchanging(path: &Path, until: Deadline) -> Done<Connection> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            write!(uri, "%{byte:02X}").expect("BUG: writing to a String failed");
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    opened(Path::new(&uri), flags, until)
}

#[expect(clippy::disallowed_methods, reason = "the one place where a copy's database is opened")]
fn opened(path: &Path, flags: OpenFlags, until: Deadline) -> Done<Connection> {
    let failed = |error| sql("opening", path)(error);
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(until.remaining()).map_err(failed)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false).map_err(failed)?;
    connection.execute_batch("PRAGMA synchronous = FULL").map_err(failed)?;
    Ok(connection)
}

/// The tables, virtual ones and those that carry them included, without SQLite's own.
pub(super) fn tables(connection: &Connection) -> rusqlite::Result<Vec<Listed>> {
    let mut statement = connection.prepare(TABLES)?;
    let rows =
        statement.query_map([], |row| Ok(Listed { name: row.get(0)?, kind: row.get(1)? }))?;
    rows.collect()
}

/// A name as SQL takes it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// What a connection sees, in the transaction that it is in.
pub(super) fn facts(connection: &Connection) -> rusqlite::Result<DatabaseFacts> {
    let mut counted = Vec::new();
    for Listed { name, kind } in tables(connection)? {
        if kind == "virtual" {
            continue;
        }
        // A name cannot be bound.
        let count = ["SELECT count(*) FROM ", &quoted(&name)].concat();
        let rows: i64 = connection.query_row(&count, [], |row| row.get(0))?;
        counted.push(TableRows { name, rows: u64::try_from(rows).unwrap_or(0) });
    }
    let mut hasher = Hasher::default();
    let mut rules = 0;
    let mut statement = connection.prepare(SCHEMA)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let kind: String = row.get(0)?;
        let (name, table, text): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
        let is_own = name.starts_with(OWN) || table == OWN;
        rules += u64::from(kind != "table" && !is_own && !name.starts_with("sqlite_"));
        for word in [kind, name, table, text] {
            hasher.update(word.as_bytes());
            hasher.update(&[0]);
        }
    }
    Ok(DatabaseFacts {
        tables: counted,
        rules,
        schema_sha256: hasher.finish(),
        user_version: connection.query_row("PRAGMA user_version", [], |row| row.get(0))?,
        application_id: connection.query_row("PRAGMA application_id", [], |row| row.get(0))?,
    })
}

/// What SQLite itself finds wrong; nothing where all is well.
pub(super) fn fault_in(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let said: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    Ok(Some(said).filter(|said| said != "ok"))
}

/// How large a database is, in bytes, its log counted in.
pub(super) fn bytes_of(connection: &Connection) -> rusqlite::Result<u64> {
    let pages = number(connection, "PRAGMA page_count")?;
    Ok(pages.saturating_mul(number(connection, "PRAGMA page_size")?))
}

/// Does what may take long, and interrupts it once the time is over.
fn bounded<T>(
    connection: &Connection,
    until: Deadline,
    work: impl FnOnce() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let handle = connection.get_interrupt_handle();
    let (working, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            // One statement is interrupted at a time, so the next one is as well.
            let mut wait = until.remaining();
            while is_done.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                handle.interrupt();
                wait = STEP_PAUSE;
            }
        });
        let done = work();
        drop(working);
        done
    })
}

fn number(connection: &Connection, question: &str) -> rusqlite::Result<u64> {
    let number: i64 = connection.query_row(question, [], |row| row.get(0))?;
    Ok(u64::try_from(number).unwrap_or(0))
}

/// Copies a database as it is at one instant, in one read transaction: in WAL mode it keeps no
/// writer waiting. Answers what it is, and the instant.
pub(super) fn export(
    source: &Path,
    draft: &Path,
    until: Deadline,
    progress: &Progress,
) -> Done<(DatabaseFacts, Timestamp)> {
    let failed = |error| sql("exporting", source)(error);
    let from = open(source, until)?;
    from.execute_batch("BEGIN").map_err(failed)?;
    // The transaction reads from its first reading on.
    let _: i64 = from
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(failed)?;
    let captured_at = now();
    copy_pages(&from, source, draft, until, progress)?;
    let facts = bounded(&from, until, || facts(&from)).map_err(failed)?;
    from.execute_batch("COMMIT").map_err(failed)?;
    Ok((facts, captured_at))
}

fn copy_pages(
    from: &Connection,
    source: &Path,
    draft: &Path,
    until: Deadline,
    progress: &Progress,
) -> Done<()> {
    let failed = |error| sql("writing", draft)(error);
    File::create(draft).map_err(io("making", draft))?;
    let mut to = open(draft, until)?;
    // A draft that is not finished is thrown away, so it needs neither a journal nor a sync here.
    to.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF").map_err(failed)?;
    let page = number(from, "PRAGMA page_size").map_err(sql("reading", source))?;
    let backup = Backup::new(from, &mut to).map_err(failed)?;
    let mut copied = 0;
    loop {
        let step = backup.step(PAGES_A_STEP).map_err(failed)?;
        let at = backup.progress();
        let pages = u64::try_from(at.pagecount - at.remaining).unwrap_or(0);
        progress.add(pages.saturating_sub(copied).saturating_mul(page));
        copied = copied.max(pages);
        match step {
            StepResult::Done => return Ok(()),
            StepResult::More if !until.is_past() => {}
            StepResult::Busy | StepResult::Locked if !until.is_past() => {
                thread::sleep(STEP_PAUSE);
            }
            _ => {
                let waited_for = "the export of the database".to_owned();
                return Err(Refusal::TimedOut { waited_for }.into());
            }
        }
    }
}

/// Whether a database is sound and is what was exported.
pub(super) fn check(path: &Path, expected: &DatabaseFacts, until: Deadline) -> Done<u64> {
    let connection = open_unchanging(path, until)?;
    let failed = |error| sql("reading", path)(error);
    let (problem, found) =
        bounded(&connection, until, || Ok((fault_in(&connection)?, facts(&connection)?)))
            .map_err(failed)?;
    if let Some(problem) = problem {
        return Err(damaged(DATABASE, "a sound database", problem));
    }
    if found.schema_sha256 != expected.schema_sha256 {
        let (expected, found) = (expected.schema_sha256, found.schema_sha256);
        return Err(damaged(DATABASE, format!("schema {expected}"), format!("schema {found}")));
    }
    if found != *expected {
        let text = |facts: &DatabaseFacts| {
            serde_json::to_string(&facts.tables).unwrap_or_else(|error| error.to_string())
        };
        return Err(damaged(DATABASE, text(expected), text(&found)));
    }
    // Those of the application: the row of the fence is ours.
    let tables = found.tables.iter().filter(|table| table.name != OWN);
    Ok(tables.map(|table| table.rows).fold(0, u64::saturating_add))
}

/// What of a database that is read for an inventory: its size and its facts.
pub(super) fn survey(path: &Path, until: Deadline) -> Done<(u64, DatabaseFacts)> {
    let connection = open(path, until)?;
    let survey = || Ok((bytes_of(&connection)?, facts(&connection)?));
    bounded(&connection, until, survey).map_err(sql("reading", path))
}

/// Whether a database that may be in use is sound.
pub(super) fn sound(path: &Path, until: Deadline) -> Done<()> {
    let connection = open(path, until)?;
    let problem = bounded(&connection, until, || fault_in(&connection));
    match problem.map_err(sql("checking", path))? {
        Some(problem) => Err(damaged(DATABASE, "a sound database", problem)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::DurationMs;

    #[test]
    fn what_takes_too_long_is_interrupted_whatever_comes_after_it() {
        let connection = Connection::open_in_memory().expect("opened");
        let endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                       SELECT count(*) FROM n";
        let until = Deadline::after(DurationMs::from_millis(30));
        let ask = || connection.query_row(endless, [], |row| row.get::<_, i64>(0));
        let done = bounded(&connection, until, || {
            assert!(ask().is_err(), "the first one");
            ask()
        });
        let fault = sql("reading", Path::new("x"))(done.expect_err("the second one"));
        assert_eq!(fault.refusal.code(), "timed_out");
        let later = Deadline::after(DurationMs::from_secs(600));
        let one =
            bounded(&connection, later, || connection.query_row("SELECT 1", [], |r| r.get(0)));
        assert_eq!(one, Ok(1), "and what is quick is not waited for");
    }
}
