//! A backup that becomes the ledger.
//!
//! The copy is made, verified and raised under a hidden name: another incarnation, higher fences,
//! and what was in flight unknown, all in one transaction, before anybody can open it. What it
//! replaces is sealed and put aside first, with its log, because a log beside another database
//! would be replayed into it. After a crash there is the old one, or none and the old one aside, or
//! the new one; the same line again goes on.

use std::fs;
use std::path::{Path, PathBuf};

use crate::crash::{self, CrashPoint};
use crate::domain::id::CommandId;
use crate::domain::scale::service::FenceSource;
use crate::ledger::error::LedgerError;
use crate::ledger::sqlite::{self, Draft};
use crate::ledger::{Ledger, LedgerIdentity, Location, OpenOptions, Verification, read_identity};

/// What is put back, and where.
#[derive(Debug, Clone)]
pub struct RestoreOrder<'a> {
    /// The backup.
    pub from: &'a Path,
    /// Where the ledger is to be.
    pub to: &'a Path,
    /// The ending under which what is there is put aside; none where nothing may be there.
    pub aside: Option<&'a str>,
    /// The run of the command.
    pub command_id: CommandId,
    /// How to open both.
    pub open: OpenOptions,
}

/// What is known of the history that is given up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lost {
    /// Its incarnation.
    pub incarnation: u64,
    /// The highest epoch of a fence that it has minted.
    pub epoch: u64,
    /// Why it could not be asked.
    pub unreadable: Option<String>,
}

/// A restore under way.
pub struct Restoring {
    draft: Draft,
    to: PathBuf,
    aside: Option<PathBuf>,
    /// What is known of what is replaced.
    pub lost: Lost,
}

/// A restored ledger.
#[derive(Debug, Clone)]
pub struct Restored {
    /// What was found in it, before it got its name.
    pub found: Verification,
    /// Where the old one is now.
    pub aside: Option<PathBuf>,
}

impl Restoring {
    /// Copies the backup and holds it against its events; answers the copy, in which the caller
    /// records that it is restored.
    pub fn begin(order: &RestoreOrder<'_>) -> Result<(Self, Ledger), LedgerError> {
        let timeout = order.open.lock_timeout;
        let (source_path, source) = sqlite::open_as_it_is(order.from, timeout)?;
        let seed = order.command_id.as_str();
        let (draft, lost) = if order.aside.is_none() {
            (Draft::begin(order.to, seed)?, (Lost::default(), None))
        } else {
            let draft = Draft::begin_over(order.to, seed)?;
            let lost = ask_the_old(draft.path(), order.open);
            (draft, lost)
        };
        sqlite::copy_into(&source, draft.temporary())?;
        drop(source);
        let (_, mut engine) = sqlite::open_as_it_is(draft.temporary(), timeout)?;
        sqlite::bring_up(&engine)?;
        sqlite::mark_backup(&mut engine, false)?;
        sqlite::use_log(&engine)?;
        let version = sqlite::schema_version();
        let identity = read_identity(&engine, "sqlite", &source_path, version)?;
        if let Some((id, _)) = &lost.1
            && *id != identity.ledger_id.as_str()
        {
            let problem = format!("ledger {id} is there, the backup is of {}", identity.ledger_id);
            let path = draft.path().to_owned();
            return Err(LedgerError::OtherLedger { doing: "replace", path, problem });
        }
        let mut ledger = Ledger::of_file(engine, identity, &source_path);
        ledger.read()?.verify_whole()?;
        let to = draft.path().to_owned();
        let aside = order.aside.map(|ending| with_ending(&to, ending));
        Ok((Self { draft, to, aside, lost: lost.0 }, ledger))
    }

    /// The ledger that is going to be replaced, where it can be opened: so that it can be sealed.
    pub fn old(&self, open: OpenOptions) -> Option<Ledger> {
        self.aside.as_ref()?;
        Ledger::open(&Location::File(self.to.clone()), open).ok()
    }

    /// Puts the old one aside and the new one in its place.
    pub fn finish(self, mut ledger: Ledger) -> Result<Restored, LedgerError> {
        let found = ledger.read()?.verify_whole()?;
        drop(ledger);
        let Self { draft, to, aside, .. } = self;
        let aside = match aside {
            None => None,
            Some(aside) => put_aside(&to, &aside)?,
        };
        draft.publish()?;
        Ok(Restored { found, aside })
    }
}

/// Its identity and the highest fences, as far as it can still be read.
fn ask_the_old(path: &Path, open: OpenOptions) -> (Lost, Option<(String, u64)>) {
    let mut lost = Lost::default();
    if path.symlink_metadata().is_err() {
        return (lost, None);
    }
    let asked = || -> Result<(LedgerIdentity, u64), LedgerError> {
        let mut old = Ledger::open(&Location::File(path.to_owned()), open)?;
        let mut epoch = 0;
        for (_, head) in old.read()?.service_heads()? {
            if head.registration.is_none_or(|r| r.fences == FenceSource::Minted) {
                epoch = epoch.max(head.mark.epoch);
            }
        }
        Ok((old.identity().clone(), epoch))
    };
    match asked() {
        Ok((identity, epoch)) => {
            lost.incarnation = identity.incarnation;
            lost.epoch = epoch;
            (lost, Some((identity.ledger_id.to_string(), identity.incarnation)))
        }
        Err(error) => {
            lost.unreadable = Some(error.to_string());
            (lost, None)
        }
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// The database first: without it, its log is nobody's, and nothing takes it for its own.
fn put_aside(path: &Path, aside: &Path) -> Result<Option<PathBuf>, LedgerError> {
    let failed = |error: std::io::Error| LedgerError::Failed {
        doing: "put aside",
        path: path.to_owned(),
        problem: error.to_string(),
    };
    let is_there = path.symlink_metadata().is_ok();
    let aside = if is_there {
        if aside.symlink_metadata().is_ok() {
            return Err(LedgerError::Exists { path: aside.to_owned() });
        }
        fs::rename(path, aside).map_err(failed)?;
        aside.to_owned()
    } else {
        // A run before this one came no further: its log belongs to the newest that is aside.
        newest_aside(path).unwrap_or_else(|| aside.to_owned())
    };
    crash::hit(CrashPoint::BeforeName);
    for ending in ["-wal", "-shm", "-journal"] {
        let side = with_ending(path, ending);
        if side.symlink_metadata().is_ok() {
            fs::rename(&side, with_ending(&aside, ending)).map_err(failed)?;
        }
    }
    Ok(is_there.then_some(aside))
}

fn newest_aside(path: &Path) -> Option<PathBuf> {
    let prefix = format!("{}.replaced-", path.file_name()?.to_string_lossy());
    let entries = fs::read_dir(path.parent()?).ok()?.flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_database = |name: &String| {
        name.starts_with(&prefix) && !["-wal", "-shm", "-journal"].iter().any(|e| name.ends_with(e))
    };
    let newest = names.filter(is_database).max()?;
    Some(path.with_file_name(newest))
}
