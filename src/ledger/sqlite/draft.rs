//! A ledger or a copy in the making: a file under another name until it is complete.
//!
//! After a crash there is either nothing under the name or the whole; at worst the draft is left
//! over, under a hidden name that nothing reads but the same copy when it goes on.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::{SqliteEngine, connection, place};
use crate::crash::{self, CrashPoint};
use crate::domain::digest::sha256_hex;
use crate::domain::time::DurationMs;
use crate::files;
use crate::ledger::error::LedgerError;

/// How long to wait before asking again for a place that another process holds.
const PLACE_PAUSE: Duration = Duration::from_millis(20);

/// A file in the making. Removes it when it is dropped, unless it is one that goes on later.
pub(in crate::ledger) struct Draft {
    path: PathBuf,
    directory: PathBuf,
    temporary: PathBuf,
    is_kept: bool,
    group: Option<u32>,
}

impl Draft {
    /// Checks the place and makes an empty file beside it, under a name that `seed` gives.
    pub(in crate::ledger) fn begin(path: &Path, seed: &str) -> Result<Self, LedgerError> {
        Self::begin_for(path, seed, None)
    }

    /// The same for a group of the operating system, whose members share it.
    pub(in crate::ledger) fn begin_for(
        path: &Path,
        seed: &str,
        group: Option<u32>,
    ) -> Result<Self, LedgerError> {
        let mut draft = Self::at(path, seed)?;
        draft.group = group;
        if draft.path.symlink_metadata().is_ok() {
            return Err(LedgerError::Exists { path: draft.path.clone() });
        }
        draft.refuse_side_files()?;
        group.map_or(Ok(()), |group| place::check_reachable(&draft.directory, group))?;
        draft.make_file(true)?;
        Ok(draft)
    }

    /// The same, but what is there under the name is going to be replaced.
    pub(in crate::ledger) fn begin_over(path: &Path, seed: &str) -> Result<Self, LedgerError> {
        let mut draft = Self::at(path, seed)?;
        // What a group shares it goes on sharing.
        let found = draft.path.metadata().ok();
        draft.group = found.filter(|found| found.mode() & 0o020 != 0).map(|found| found.gid());
        draft.make_file(true)?;
        Ok(draft)
    }

    /// The same, and the file is kept for later: a run before this one may have left it.
    pub(in crate::ledger) fn go_on(path: &Path, seed: &str) -> Result<Self, LedgerError> {
        let mut draft = Self::at(path, seed)?;
        draft.refuse_side_files()?;
        draft.is_kept = true;
        draft.make_file(false)?;
        Ok(draft)
    }

    /// Whether a run before this one has left a draft of that seed that has never had its name.
    pub(in crate::ledger) fn was_begun(path: &Path, seed: &str) -> Result<bool, LedgerError> {
        let mut draft = Self::at(path, seed)?;
        draft.is_kept = true;
        Ok(draft.temporary.symlink_metadata().is_ok_and(|found| found.nlink() == 1))
    }

    fn at(path: &Path, seed: &str) -> Result<Self, LedgerError> {
        let path = place::absolute(path)?;
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(LedgerError::NotAFile { path });
        };
        let suffix = &sha256_hex(seed.as_bytes())[..16];
        let temporary = directory.join(format!("{}{suffix}", place::draft_prefix(name)));
        Ok(Self { directory: directory.to_owned(), temporary, path, is_kept: false, group: None })
    }

    /// Keeps every other process from replacing anything in the same directory until it is dropped:
    /// what one has looked at and closed is what it then moves away.
    #[expect(clippy::disallowed_methods, reason = "how long was waited is no deadline")]
    pub(in crate::ledger) fn hold_place(
        &self,
        lock_timeout: DurationMs,
    ) -> Result<File, LedgerError> {
        let directory = File::open(&self.directory).map_err(|error| self.refused(&error))?;
        let began = Instant::now();
        loop {
            match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(directory),
                Err(Errno::WOULDBLOCK) if began.elapsed() < lock_timeout.to_std() => {
                    std::thread::sleep(PLACE_PAUSE);
                }
                Err(Errno::WOULDBLOCK) => {
                    return Err(LedgerError::busy("replace", self.path.clone(), lock_timeout));
                }
                Err(error) => return Err(self.refused(&error.into())),
            }
        }
    }

    fn refuse_side_files(&self) -> Result<(), LedgerError> {
        match place::side_files(&self.path).into_iter().find(|side| side.exists()) {
            Some(side) => Err(LedgerError::SideFile { path: side }),
            None => Ok(()),
        }
    }

    fn make_file(&self, is_new: bool) -> Result<(), LedgerError> {
        let failed = |error: &io::Error| self.refused(error);
        let made = match self.group {
            None => files::make_private_dirs(&self.directory),
            Some(group) => files::make_group_dirs(&self.directory, group),
        };
        made.map_err(|error| failed(&error))?;
        self.group.map_or(Ok(()), |group| place::check_shared(&self.directory, group))?;
        sync_ancestors(&self.directory).map_err(|error| failed(&error))?;
        place::check_file_system(&self.directory, None)?;
        // SQLite gives the side files the mode of the database.
        match files::make_private_file(&self.temporary) {
            Err(error) if !is_new && error.kind() == ErrorKind::AlreadyExists => Ok(()),
            made => made
                .and_then(|file| self.group.map_or(Ok(()), |it| files::give_to_group(&file, it)))
                .map_err(|error| failed(&error)),
        }
    }

    fn refused(&self, error: &io::Error) -> LedgerError {
        place::refused("create", &self.path, &self.directory, error)
    }

    /// Where the ledger is going to be.
    pub(in crate::ledger) fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is until then.
    pub(in crate::ledger) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// A connection to the draft, with its tables made.
    pub(in crate::ledger) fn connect(
        &self,
        lock_timeout: DurationMs,
    ) -> Result<SqliteEngine, LedgerError> {
        let engine = connection::connect(&self.temporary, lock_timeout)?;
        connection::migrate(&engine)?;
        Ok(engine)
    }

    /// Gives it its name, unless another file has taken that. No connection may be open.
    pub(in crate::ledger) fn publish(self) -> Result<(), LedgerError> {
        self.refuse_open_log()?;
        match fs::hard_link(&self.temporary, &self.path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(LedgerError::Exists { path: self.path.clone() });
            }
            Err(error) => return Err(self.refused(&error)),
        }
        self.make_name_durable()?;
        // From here on the other name is only in the way.
        let _ = fs::remove_file(&self.temporary);
        Ok(())
    }

    /// Gives it its name in place of whatever has it. No connection may be open to either.
    pub(in crate::ledger) fn publish_over(self) -> Result<(), LedgerError> {
        self.refuse_open_log()?;
        fs::rename(&self.temporary, &self.path).map_err(|error| self.refused(&error))?;
        self.make_name_durable()
    }

    fn refuse_open_log(&self) -> Result<(), LedgerError> {
        let [log, ..] = place::side_files(&self.temporary);
        if log.exists() {
            let problem = "the log of the new database could not be closed".to_owned();
            return Err(LedgerError::Failed { doing: "create", path: self.path.clone(), problem });
        }
        // The engine does not sync a copy that it makes.
        let synced = File::open(&self.temporary).and_then(|file| file.sync_all());
        synced.map_err(|error| self.refused(&error))?;
        crash::hit(CrashPoint::BeforeName);
        Ok(())
    }

    /// The name is durable only once its directory is.
    fn make_name_durable(&self) -> Result<(), LedgerError> {
        crash::hit(CrashPoint::AfterName);
        let synced = File::open(&self.directory).and_then(|directory| directory.sync_all());
        synced.map_err(|error| LedgerError::NameUnknown {
            path: self.path.clone(),
            problem: error.to_string(),
        })
    }
}

/// Makes the names of the directories above durable, up to the root of their file system: any of
/// them may have been made just now, or by a run that crashed. Whoever may not look into one has
/// not made anything in it.
fn sync_ancestors(directory: &Path) -> io::Result<()> {
    let device = directory.metadata()?.dev();
    for above in directory.ancestors().skip(1) {
        match File::open(above) {
            Ok(opened) if opened.metadata()?.dev() == device => opened.sync_all()?,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
            Ok(_) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let _ = fs::remove_file(&self.temporary);
        for side in place::side_files(&self.temporary) {
            let _ = fs::remove_file(side);
        }
    }
}
