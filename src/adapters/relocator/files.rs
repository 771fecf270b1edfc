//! Documents that are replaced as a whole, and locks that are waited for no longer than a deadline.

use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fault::{Done, io, unusable};
use crate::actuator::host::Deadline;
use crate::adapters::durable::{open_lock, replace_file, try_lock};
use crate::domain::placement::protocol::Refusal;

/// How often a lock is asked for.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The longest file of settings that is read, in bytes.
const SETTINGS_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Replaces a document so that a crash leaves the old or the new one, whole and durable.
pub(super) fn replace_json<T: Serialize>(dir: &Path, name: &str, document: &T) -> Done<()> {
    Ok(replace_file(dir, name, &bytes_of(document))?)
}

/// A document as it is written.
pub(super) fn bytes_of<T: Serialize>(document: &T) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(document).expect("BUG: a document that is not JSON");
    bytes.push(b'\n');
    bytes
}

/// Makes a folder and those above it that are missing, for their owner alone.
pub(super) fn make_dirs(dir: &Path) -> Done<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(io("making", dir))
}

/// The bytes of a file up to a bound; none where there is no such file.
pub(super) fn read_up_to(path: &Path, bytes_max: u64) -> Done<Option<Vec<u8>>> {
    // Without NONBLOCK the opening of a pipe would wait until somebody writes it.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io("opening", path)(error)),
    };
    if !file.metadata().map_err(io("inspecting", path))?.is_file() {
        return Err(unusable(path.display(), "it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(io("reading", path))?;
    if bytes.len() as u64 > bytes_max {
        return Err(unusable(path.display(), "it is longer than anything that was written"));
    }
    Ok(Some(bytes))
}

/// A document; none where there is no such file.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Done<Option<T>> {
    let Some(bytes) = read_up_to(path, SETTINGS_BYTES_MAX)? else { return Ok(None) };
    let read = serde_json::from_slice(&bytes);
    read.map(Some).map_err(|error| unusable(path.display(), &error.to_string()))
}

/// Takes the lock of a file, which is made where it is missing, for this process alone.
pub(super) fn lock(path: &Path, until: Deadline, waited_for: &str) -> Done<File> {
    let file = open_lock(path)?;
    loop {
        if try_lock(&file).map_err(io("locking", path))? {
            return Ok(file);
        }
        if until.is_past() {
            return Err(Refusal::TimedOut { waited_for: waited_for.to_owned() }.into());
        }
        thread::sleep(until.remaining().min(LOOK_EVERY));
    }
}

/// Removes what is there, be it a folder or a file; nothing is no fault.
pub(super) fn remove(path: &Path) -> Done<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other.map_err(io("removing", path)),
    }
}

/// The names in a folder; none where there is no such folder.
pub(super) fn names(dir: &Path) -> Done<Vec<std::ffi::OsString>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io("listing", dir)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(io("listing", dir))?.file_name());
    }
    names.sort();
    Ok(names)
}
