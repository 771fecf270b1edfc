//! A ledger in the making: a file under another name until it is complete.
//!
//! After a crash there is either no ledger or a whole one; at worst the draft is left over, under a
//! hidden name that nothing reads.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{SqliteEngine, connection, place};
use crate::domain::digest::sha256_hex;
use crate::domain::id::LedgerId;
use crate::domain::time::DurationMs;
use crate::files;
use crate::ledger::error::LedgerError;

/// A ledger in the making. Removes its file when it is dropped.
pub(in crate::ledger) struct Draft {
    path: PathBuf,
    directory: PathBuf,
    temporary: PathBuf,
}

impl Draft {
    /// Checks the place and makes an empty file beside it.
    pub(in crate::ledger) fn begin(path: &Path, ledger_id: &LedgerId) -> Result<Self, LedgerError> {
        let path = place::absolute(path)?;
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(LedgerError::NotAFile { path });
        };
        if path.symlink_metadata().is_ok() {
            return Err(LedgerError::Exists { path });
        }
        if let Some(side) = place::side_files(&path).into_iter().find(|side| side.exists()) {
            return Err(LedgerError::SideFile { path: side });
        }
        let failed = |error: &std::io::Error| place::refused("create", &path, directory, error);
        files::make_private_dirs(directory).map_err(|error| failed(&error))?;
        sync_ancestors(directory).map_err(|error| failed(&error))?;
        place::check_file_system(directory, None)?;
        let suffix = &sha256_hex(ledger_id.as_str().as_bytes())[..16];
        let hidden = format!("{}{suffix}", place::draft_prefix(name));
        let temporary = directory.join(hidden);
        // SQLite gives the side files the mode of the database.
        files::make_private_file(&temporary).map_err(|error| failed(&error))?;
        Ok(Self { directory: directory.to_owned(), path, temporary })
    }

    /// Where the ledger is going to be.
    pub(in crate::ledger) fn path(&self) -> &Path {
        &self.path
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

    /// Gives it its name, unless another ledger has taken that. No connection may be open.
    pub(in crate::ledger) fn publish(self) -> Result<(), LedgerError> {
        let failed =
            |error: &std::io::Error| place::refused("create", &self.path, &self.directory, error);
        let [log, ..] = place::side_files(&self.temporary);
        if log.exists() {
            let problem = "the log of the new database could not be closed".to_owned();
            return Err(LedgerError::Failed { doing: "create", path: self.path.clone(), problem });
        }
        match fs::hard_link(&self.temporary, &self.path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(LedgerError::Exists { path: self.path.clone() });
            }
            Err(error) => return Err(failed(&error)),
        }
        // The name is durable only once its directory is.
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
        let _ = fs::remove_file(&self.temporary);
        for side in place::side_files(&self.temporary) {
            let _ = fs::remove_file(side);
        }
    }
}
