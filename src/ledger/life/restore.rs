//! A backup that becomes the ledger.
//!
//! The copy is made, verified and raised under a hidden name: another incarnation, higher fences,
//! and what was in flight unknown, all in one transaction, before anybody can open it. What it
//! replaces is sealed and put aside first, with its log, because a log beside another database
//! would be replayed into it. What is aside is never written over. After a crash there is the old
//! one, or none and the old one aside, or the new one; the same line again goes on.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
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
    /// Held from before the old one is asked until the new one has its name; none where nothing is
    /// replaced.
    place: Option<File>,
    to: PathBuf,
    /// The ending of what is put aside.
    aside: Option<String>,
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
    /// Side files of a ledger that was not there, under their new names.
    pub orphans: Vec<PathBuf>,
}

impl Restoring {
    /// Copies the backup and holds it against its events; answers the copy, in which the caller
    /// records that it is restored.
    pub fn begin(order: &RestoreOrder<'_>) -> Result<(Self, Ledger), LedgerError> {
        let timeout = order.open.lock_timeout;
        let opened = sqlite::open_as_it_is(order.from, timeout);
        let (source_path, source) = opened.map_err(|error| match error {
            LedgerError::Missing { path, why } => LedgerError::NoBackup { path, why },
            error => error,
        })?;
        let seed = order.command_id.as_str();
        let (draft, place, lost) = if order.aside.is_none() {
            (Draft::begin(order.to, seed)?, None, (Lost::default(), None))
        } else {
            let draft = Draft::begin_over(order.to, seed)?;
            let place = draft.hold_place(timeout)?;
            let lost = ask_the_old(draft.path(), order.open)?;
            (draft, Some(place), lost)
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
        let aside = order.aside.map(str::to_owned);
        Ok((Self { draft, place, to, aside, lost: lost.0 }, ledger))
    }

    /// The ledger that is going to be replaced, where there is one: so that it can be sealed.
    pub fn old(&self, open: OpenOptions) -> Option<Result<Ledger, LedgerError>> {
        self.aside.as_ref()?;
        self.to.symlink_metadata().ok()?;
        Some(Ledger::open(&Location::File(self.to.clone()), open))
    }

    /// Puts the old one aside and the new one in its place.
    pub fn finish(self, mut ledger: Ledger) -> Result<Restored, LedgerError> {
        let found = ledger.read()?.verify_whole()?;
        drop(ledger);
        let Self { draft, place, to, aside, .. } = self;
        let (aside, orphans) = match aside {
            None => (None, Vec::new()),
            Some(ending) => put_aside(&to, &ending)?,
        };
        draft.publish()?;
        drop(place);
        Ok(Restored { found, aside, orphans })
    }
}

/// What is known of the history that is given up, and which ledger it is of.
type OfTheOld = (Lost, Option<(String, u64)>);

/// Its identity and the highest fences, as far as it can still be read.
fn ask_the_old(path: &Path, open: OpenOptions) -> Result<OfTheOld, LedgerError> {
    let mut lost = Lost::default();
    if path.symlink_metadata().is_err() {
        return Ok((lost, None));
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
            Ok((lost, Some((identity.ledger_id.to_string(), identity.incarnation))))
        }
        // Whoever is in the way will be gone: then it can be asked.
        Err(error) if error.is_unavailable() => Err(error),
        Err(error) => {
            lost.unreadable = Some(error.to_string());
            Ok((lost, None))
        }
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

const SIDES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Puts a database and its side files under another name, which nothing else ever had. The side
/// files have that name before the database, and lose their old one after it: wherever this ends,
/// the database has its log beside it. Side files without a database are nobody's, and get a new
/// name that no database has: in a log of another one, SQLite would find what to write into it.
fn put_aside(path: &Path, ending: &str) -> Result<(Option<PathBuf>, Vec<PathBuf>), LedgerError> {
    let failed = |error: std::io::Error| LedgerError::Failed {
        doing: "put aside",
        path: path.to_owned(),
        problem: error.to_string(),
    };
    let aside = free_name(path, ending);
    let sides: Vec<&str> = SIDES
        .into_iter()
        .filter(|side| with_ending(path, side).symlink_metadata().is_ok())
        .collect();
    if path.symlink_metadata().is_err() {
        crash::hit(CrashPoint::BeforeName);
        let mut orphans = Vec::new();
        for side in sides {
            let (from, to) = (with_ending(path, side), with_ending(&aside, side));
            if from.symlink_metadata().map_err(failed)?.nlink() > 1 {
                // A run before this one came so far that it has its new name.
                fs::remove_file(&from).map_err(failed)?;
            } else {
                fs::rename(&from, &to).map_err(failed)?;
                orphans.push(to);
            }
        }
        return Ok((None, orphans));
    }
    sqlite::forget_draft_names(path).map_err(failed)?;
    for side in &sides {
        fs::hard_link(with_ending(path, side), with_ending(&aside, side)).map_err(failed)?;
    }
    crash::hit(CrashPoint::BeforeName);
    fs::rename(path, &aside).map_err(failed)?;
    crash::hit(CrashPoint::BeforeName);
    for side in &sides {
        fs::remove_file(with_ending(path, side)).map_err(failed)?;
    }
    Ok((Some(aside), Vec::new()))
}

/// A name that neither a database nor a side file has.
fn free_name(path: &Path, ending: &str) -> PathBuf {
    let is_free = |name: &PathBuf| {
        let is_there = |side: &str| with_ending(name, side).symlink_metadata().is_ok();
        !is_there("") && !SIDES.into_iter().any(is_there)
    };
    let numbered = (1_u64..).map(|n| with_ending(path, &format!("{ending}.{n}")));
    let mut names = std::iter::once(with_ending(path, ending)).chain(numbered);
    names.find(is_free).expect("BUG: there are more numbers than files")
}
