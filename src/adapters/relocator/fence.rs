//! The fence of a copy: a row with triggers in its database, and a file beside its files.
//!
//! Owns `scalectl_fence`, the triggers of every table, and `fence.json`. A fenced write fails in
//! its own transaction. What triggers cannot stop (a change of the schema, a connection that has
//! turned triggers off) is found: after the fence the log is emptied into the database, and the
//! size and time of both are the *seal*. Whatever is written later breaks it, and then nothing that
//! was copied counts. After a crash the row is as it was committed, and the same call goes on.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use super::database::{self, Listed, OWN, quoted};
use super::fault::{Done, Fault, io, sql};
use super::files::{lock, read_json, replace_json};
use super::place::{DATABASE, FENCE, FILES_LOCK};
use super::seal::{Seal, is_intact, settled_seal};
use crate::actuator::host::Deadline;
use crate::adapters::now;
use crate::crash::{self, CrashPoint, RelocatorPoint};
use crate::domain::id::{FenceToken, OperationId, PlacementEpoch};
use crate::domain::placement::protocol::Refusal;
use crate::domain::time::Timestamp;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS scalectl_fence (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    token INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'fenced', 'left')),
    operation TEXT NOT NULL,
    epoch INTEGER NOT NULL
) STRICT";
const SET: &str = "INSERT INTO scalectl_fence (one, token, state, operation, epoch)
    VALUES (1, $1, $2, $3, $4)
    ON CONFLICT (one) DO UPDATE SET token = $1, state = $2, operation = $3, epoch = $4
    WHERE token <= $1";
const ROW: &str = "SELECT token, state FROM scalectl_fence WHERE one = 1";
const TRIGGERS: &str = "SELECT name, sql FROM sqlite_schema
    WHERE type = 'trigger' AND name LIKE 'scalectl\\_fence\\_%' ESCAPE '\\'";
const HAS_TABLE: &str =
    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'scalectl_fence'";

/// Whether writes get into a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FenceState {
    /// They do.
    Open,
    /// They do not, until it is unfenced.
    Fenced,
    /// They never will again: another copy is the owner.
    Left,
}

impl FenceState {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Fenced => "fenced",
            Self::Left => "left",
        }
    }

    fn read(text: &str) -> Option<Self> {
        [Self::Open, Self::Fenced, Self::Left].into_iter().find(|state| state.as_str() == text)
    }
}

/// What `fence.json` says, to whoever writes files of the copy and to the relocator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fence {
    pub(super) token: FenceToken,
    pub(super) state: FenceState,
    pub(super) operation: OperationId,
    pub(super) epoch: PlacementEpoch,
    pub(super) since: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) seal: Option<Seal>,
    #[serde(default)]
    pub(super) tables: u64,
}

/// Who sets a fence, and for which epoch.
pub(super) struct Mark<'call> {
    pub(super) token: FenceToken,
    pub(super) operation: &'call OperationId,
    pub(super) epoch: PlacementEpoch,
}

pub(super) fn read(copy: &Path) -> Done<Option<Fence>> {
    read_json(&copy.join(FENCE))
}

fn unprovable(why: impl Into<String>) -> Fault {
    Refusal::UnprovableFencing { why: why.into() }.into()
}

/// Fences a copy, or only raises the token of a fence that is there. The files' lock is waited for:
/// who holds it finishes first, and who comes later finds the copy fenced.
pub(super) fn close(copy: &Path, mark: &Mark<'_>, until: Deadline) -> Done<Fence> {
    let path = copy.join(DATABASE);
    let _files = lock(&copy.join(FILES_LOCK), until, "who writes files of the copy")?;
    let before = read(copy)?;
    if let Some(fence) = &before
        && fence.token == mark.token
        && fence.state != FenceState::Open
        && fence.seal.as_ref().is_some_and(|seal| is_intact(&path, seal).unwrap_or(false))
    {
        return Ok(fence.clone());
    }
    let mut database = database::open(&path, until)?;
    let (state, tables, was_intact) = close_rows(&mut database, &path, mark, before.as_ref())?;
    crash::hit(CrashPoint::Relocator(RelocatorPoint::AfterFence));
    empty_log(&database, &path, until)?;
    prove(&database, &path, mark, state)?;
    drop(database);
    let number = match before.as_ref().and_then(|fence| fence.seal.as_ref()) {
        Some(seal) if was_intact => seal.number,
        Some(seal) => seal.number.saturating_add(1),
        None => 1,
    };
    let since = match &before {
        Some(fence) if fence.state == state && was_intact => fence.since,
        Some(_) | None => now(),
    };
    let epoch = match &before {
        // The epoch that was committed, and not the one before it.
        Some(fence) if state == FenceState::Left && fence.state == state => fence.epoch,
        Some(_) | None => mark.epoch,
    };
    let fence = Fence {
        token: mark.token,
        state,
        operation: mark.operation.clone(),
        epoch,
        since,
        seal: Some(settled_seal(&path, number)?),
        tables,
    };
    replace_json(copy, FENCE, &fence)?;
    Ok(fence)
}

/// Sets the row and the triggers in one transaction. Answers what state it is in now, how many
/// tables are guarded, and whether the seal was whole right before.
fn close_rows(
    database: &mut Connection,
    path: &Path,
    mark: &Mark<'_>,
    before: Option<&Fence>,
) -> Done<(FenceState, u64, bool)> {
    let failed = |error| sql("fencing", path)(error);
    let transaction =
        database.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // From here on nobody else writes.
    let was_intact = match before.and_then(|fence| fence.seal.as_ref()) {
        Some(seal) => is_intact(path, seal)?,
        None => false,
    };
    let state = match row(&transaction, path)? {
        Some((_, FenceState::Left)) => FenceState::Left,
        Some(_) | None => FenceState::Fenced,
    };
    transaction.execute_batch(TABLE).map_err(failed)?;
    let tables = guard_tables(&transaction, path)?;
    set(&transaction, path, mark, state)?;
    crash::hit(CrashPoint::Relocator(RelocatorPoint::InFence));
    transaction.commit().map_err(failed)?;
    Ok((state, tables, was_intact))
}

/// The token and the state of the row; none where there is no fence.
fn row(database: &Connection, path: &Path) -> Done<Option<(FenceToken, FenceState)>> {
    let unreadable = |error: rusqlite::Error| {
        unprovable(format!("table scalectl_fence is not as it is made: {error}"))
    };
    let is_there =
        database.query_row(HAS_TABLE, [], |_| Ok(())).optional().map_err(sql("reading", path))?;
    if is_there.is_none() {
        return Ok(None);
    }
    let row: Option<(i64, String)> = database
        .query_row(ROW, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
        .map_err(unreadable)?;
    let Some((token, state)) = row else { return Ok(None) };
    let token = u64::try_from(token).ok().and_then(|token| FenceToken::new(token).ok());
    match (token, FenceState::read(&state)) {
        (Some(token), Some(state)) => Ok(Some((token, state))),
        (_, _) => Err(unprovable("the row of scalectl_fence is not as it is written")),
    }
}

/// Writes the row, unless a newer token is there.
fn set(database: &Connection, path: &Path, mark: &Mark<'_>, state: FenceState) -> Done<()> {
    let number = |value: u64| i64::try_from(value).expect("BUG: at most 2^53");
    let (token, epoch) = (number(mark.token.get()), number(mark.epoch.get()));
    let written = database
        .execute(SET, params![token, state.as_str(), mark.operation.as_str(), epoch])
        .map_err(sql("writing the fence of", path))?;
    if written == 1 {
        return Ok(());
    }
    match row(database, path)? {
        Some((current, _)) => Err(Refusal::StaleToken { given: mark.token, current }.into()),
        None => Err(unprovable("the row of scalectl_fence cannot be written")),
    }
}

/// The three triggers of a table, by name and text. What cannot be compared with `open` is closed:
/// a row that is missing, too.
fn triggers_of(table: &str) -> [(String, String); 3] {
    ["insert", "update", "delete"].map(|verb| {
        let name = format!("{OWN}_{verb}_{table}");
        let text = format!(
            "CREATE TRIGGER {} BEFORE {verb} ON {} WHEN (SELECT state FROM scalectl_fence \
             WHERE one = 1) IS NOT 'open' BEGIN SELECT RAISE(ABORT, 'scalectl: this copy is \
             fenced'); END",
            quoted(&name),
            quoted(table)
        );
        (name, text)
    })
}

/// Gives every table its three triggers, as we write them and no others of these names.
fn guard_tables(database: &Connection, path: &Path) -> Done<u64> {
    let failed = |error| sql("guarding the tables of", path)(error);
    let tables = guarded(database).map_err(failed)??;
    let wanted: Vec<(String, String)> = tables.iter().flat_map(|it| triggers_of(it)).collect();
    let found = triggers(database).map_err(failed)?;
    for (name, _) in found.iter().filter(|found| !wanted.contains(found)) {
        database.execute_batch(&["DROP TRIGGER ", &quoted(name)].concat()).map_err(failed)?;
    }
    for (_, text) in wanted.iter().filter(|wanted| !found.contains(wanted)) {
        database.execute_batch(text).map_err(failed)?;
    }
    Ok(u64::try_from(tables.len()).unwrap_or(u64::MAX))
}

/// The tables that need triggers; a virtual one can have none, so nothing can be proved of it.
fn guarded(database: &Connection) -> rusqlite::Result<Done<Vec<String>>> {
    let mut names = Vec::new();
    for Listed { name, kind } in database::tables(database)? {
        if kind == "virtual" {
            let why = format!("table {name} is virtual: no trigger can guard it");
            return Ok(Err(unprovable(why)));
        }
        if name != OWN {
            names.push(name);
        }
    }
    Ok(Ok(names))
}

fn triggers(database: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement = database.prepare(TRIGGERS)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// Reads back what the fence is: the row, and a guard of every table.
fn prove(database: &Connection, path: &Path, mark: &Mark<'_>, state: FenceState) -> Done<()> {
    let found = row(database, path)?;
    if found != Some((mark.token, state)) {
        return Err(unprovable(format!("the fence was read back as {found:?}")));
    }
    let failed = |error| sql("reading", path)(error);
    let tables = guarded(database).map_err(failed)??;
    let found = triggers(database).map_err(failed)?;
    let unguarded = tables.iter().find(|it| !triggers_of(it).iter().all(|it| found.contains(it)));
    match unguarded {
        Some(table) => Err(unprovable(format!("table {table} has no guard"))),
        None => Ok(()),
    }
}

/// Brings the log into the database and empties it, so that what is written later is seen.
fn empty_log(database: &Connection, path: &Path, until: Deadline) -> Done<()> {
    loop {
        let busy: i64 = database
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .map_err(sql("emptying the log of", path))?;
        if busy == 0 {
            return Ok(());
        }
        if until.is_past() {
            let waited_for = "readers of the database".to_owned();
            return Err(Fault::from(Refusal::TimedOut { waited_for }).after_effect());
        }
    }
}

/// When the files of a copy were fenced, on the clock of its file system: who has kept to the lock
/// has changed none since.
pub(super) fn files_fenced_at(copy: &Path) -> Done<(i64, i64)> {
    let path = copy.join(FENCE);
    let found = fs::metadata(&path).map_err(io("inspecting", &path))?;
    Ok((found.ctime(), found.ctime_nsec()))
}

/// The fence that this token has set on a copy, with its seal whole.
pub(super) fn proved(copy: &Path, token: FenceToken) -> Done<(Fence, Seal)> {
    let missing = |current| Fault::from(Refusal::NotFenced { given: token, current });
    let fence = read(copy)?.ok_or_else(|| missing(None))?;
    if fence.token > token {
        return Err(Refusal::StaleToken { given: token, current: fence.token }.into());
    }
    if fence.token < token || fence.state == FenceState::Open {
        return Err(missing(Some(fence.token)));
    }
    let seal = fence.seal.clone().ok_or_else(|| missing(Some(fence.token)))?;
    if !is_intact(&copy.join(DATABASE), &seal)? {
        return Err(unprovable("the database was written after it was fenced"));
    }
    Ok((fence, seal))
}

/// Sets a copy to another state under a token that has fenced it: `open`, or `left`.
pub(super) fn change(
    copy: &Path,
    mark: &Mark<'_>,
    state: FenceState,
    until: Deadline,
) -> Done<Fence> {
    let path = copy.join(DATABASE);
    let _files = lock(&copy.join(FILES_LOCK), until, "who writes files of the copy")?;
    change_row(&path, mark, state, until)?;
    let before = read(copy)?;
    let (seal, tables) = match before {
        Some(fence) if state == FenceState::Left => (fence.seal, fence.tables),
        Some(fence) => (None, fence.tables),
        None => (None, 0),
    };
    let operation = mark.operation.clone();
    let (token, epoch) = (mark.token, mark.epoch);
    let fence = Fence { token, state, operation, epoch, since: now(), seal, tables };
    replace_json(copy, FENCE, &fence)?;
    Ok(fence)
}

/// The same of the row alone, where there is a fence in the database.
pub(super) fn change_row(
    path: &Path,
    mark: &Mark<'_>,
    state: FenceState,
    until: Deadline,
) -> Done<()> {
    let failed = |error| sql("changing the fence of", path)(error);
    let mut database = database::open(path, until)?;
    let transaction =
        database.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    match row(&transaction, path)? {
        Some((_, FenceState::Left)) if state == FenceState::Open => {
            return Err(Refusal::Committed { epoch: mark.epoch }.into());
        }
        Some(_) => set(&transaction, path, mark, state)?,
        None => {}
    }
    transaction.commit().map_err(failed)
}
