//! A backup: a copy of one instant, whatever others write meanwhile, held against its own events
//! before it has its name.
//!
//! A file is copied by SQLite itself; no other descriptor touches the database. A ledger on a
//! server is copied event by event out of one snapshot. The copy is marked: it can be read and
//! restored, and takes no writes, so that no second ledger begins by accident. After a crash there
//! is no backup, or the one before.

use std::path::{Path, PathBuf};

use super::copy::{identity_of, pull};
use crate::domain::id::CommandId;
use crate::ledger::error::LedgerError;
use crate::ledger::sqlite::{self, Draft};
use crate::ledger::{Head, Ledger, OpenOptions};

/// What a backup is to be.
#[derive(Debug, Clone)]
pub struct BackupOrder<'a> {
    /// The file.
    pub to: &'a Path,
    /// Whether an older backup there is replaced.
    pub force: bool,
    /// The run of the command.
    pub command_id: CommandId,
    /// How to open the copy.
    pub open: OpenOptions,
}

/// A backup that was made.
#[derive(Debug, Clone)]
pub struct Backup {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// The end of every chain in it: what `verify --since` takes.
    pub heads: Vec<Head>,
    /// How many events it has.
    pub events: u64,
}

/// Makes a backup.
pub fn backup(ledger: &mut Ledger, order: &BackupOrder<'_>) -> Result<Backup, LedgerError> {
    let seed = order.command_id.as_str();
    let draft = if order.force {
        check_replaceable(order.to, ledger, order.open)?;
        Draft::begin_over(order.to, seed)?
    } else {
        Draft::begin(order.to, seed)?
    };
    let path = draft.path().to_owned();
    let found = fill(&draft, ledger, order)?;
    let bytes = draft.temporary().metadata().map_or(0, |found| found.len());
    if order.force {
        draft.publish_over()?;
    } else {
        draft.publish()?;
    }
    Ok(Backup { path, bytes, heads: found.heads, events: found.events })
}

fn fill(
    draft: &Draft,
    ledger: &mut Ledger,
    order: &BackupOrder<'_>,
) -> Result<crate::ledger::Verification, LedgerError> {
    let identity = ledger.identity().clone();
    if !ledger.engine.copy_into(draft.temporary())? {
        let engine = draft.connect(order.open.lock_timeout)?;
        let mut copy = Ledger::of_file(engine, identity.clone(), draft.temporary());
        pull(&ledger.read()?, &mut copy)?;
        copy.name_copy(order.command_id.clone(), identity.incarnation)?;
    }
    let (_, mut engine) = sqlite::open_as_it_is(draft.temporary(), order.open.lock_timeout)?;
    sqlite::mark_backup(&mut engine, true)?;
    sqlite::end_log(&engine)?;
    let mut copy = Ledger::of_file(engine, identity, draft.temporary());
    copy.read()?.verify_whole()
}

/// Only a backup of the same ledger is replaced: never a ledger, nor somebody's file.
fn check_replaceable(to: &Path, ledger: &Ledger, open: OpenOptions) -> Result<(), LedgerError> {
    if to.symlink_metadata().is_err() {
        return Ok(());
    }
    let other = |problem: &str| LedgerError::OtherLedger {
        doing: "replace",
        path: to.to_owned(),
        problem: problem.to_owned(),
    };
    let (path, engine) =
        sqlite::open_as_it_is(to, open.lock_timeout).map_err(|_| other("it is not a backup"))?;
    let is_same = identity_of(&engine, &path)?
        .is_some_and(|(id, _)| id == ledger.identity().ledger_id.as_str());
    match crate::ledger::sql::Engine::is_backup(&engine) {
        false => Err(other("it is a ledger, not a backup")),
        true if !is_same => Err(other("it is a backup of another ledger")),
        true => Ok(()),
    }
}
