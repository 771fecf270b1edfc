//! The seal of a fenced database: what its file and its log were once nothing was written any more.
//!
//! Whatever is written later, by whatever way around a trigger, shows in the size of the log, or in
//! the size, the time or the inode of the database.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::fault::{Done, io};
use super::place::DATABASE;

/// Longer than any step of a file system's clock, in nanoseconds.
const STEP_NS_MAX: i64 = 20_000_000;

/// The database and its log as the fence has left them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seal {
    /// Another number is another fence: something was written between the two.
    pub(super) number: u64,
    bytes: u64,
    modified: (i64, i64),
    inode: u64,
}

/// The seal, once the clock of the file system has gone on: a later write has another time.
pub(super) fn settled_seal(path: &Path, number: u64) -> Done<Seal> {
    loop {
        let seal = seal_of(path, number)?;
        let now = clock_gettime(ClockId::Realtime);
        let age = (now.tv_sec - seal.modified.0).saturating_mul(1_000_000_000);
        let age = age.saturating_add(now.tv_nsec - seal.modified.1);
        // One of the future is not reached by what is written now.
        if !(0..STEP_NS_MAX).contains(&age) {
            return Ok(seal);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn seal_of(path: &Path, number: u64) -> Done<Seal> {
    let found = fs::metadata(path).map_err(io("inspecting", path))?;
    let modified = (found.mtime(), found.mtime_nsec());
    Ok(Seal { number, bytes: found.size(), modified, inode: found.ino() })
}

/// Whether nothing was written since the seal: the log is empty and the database as it was.
pub(super) fn is_intact(path: &Path, seal: &Seal) -> Done<bool> {
    let log = path.with_file_name(format!("{DATABASE}-wal"));
    let is_log_empty = fs::metadata(log).map_or(true, |log| log.len() == 0);
    Ok(is_log_empty && seal_of(path, seal.number)? == *seal)
}
