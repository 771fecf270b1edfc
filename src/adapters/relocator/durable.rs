//! Files that are replaced as a whole, and locks that are waited for no longer than a deadline.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fault::{Done, Fault, io, os};
use crate::actuator::host::Deadline;
use crate::domain::placement::protocol::Refusal;

/// How often a lock is asked for.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The longest file of settings that is read, in bytes.
const SETTINGS_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Replaces a file so that a crash leaves the old or the new one, whole and durable.
pub(super) fn replace_file(dir: &Path, name: &str, bytes: &[u8]) -> Done<()> {
    let (path, draft) = (dir.join(name), dir.join(format!(".{name}.new")));
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)
        .map_err(io("opening", &draft))?;
    file.write_all(bytes).map_err(io("writing", &draft))?;
    file.sync_all().map_err(io("syncing", &draft))?;
    fs::rename(&draft, &path).map_err(io("replacing", &path))?;
    sync_dir(dir)
}

/// The same of a document.
pub(super) fn replace_json<T: Serialize>(dir: &Path, name: &str, document: &T) -> Done<()> {
    let mut bytes = serde_json::to_vec_pretty(document).expect("BUG: a document that is not JSON");
    bytes.push(b'\n');
    replace_file(dir, name, &bytes)
}

/// Makes the names in a folder durable.
pub(super) fn sync_dir(dir: &Path) -> Done<()> {
    let open = File::open(dir).map_err(io("opening", dir))?;
    open.sync_all().map_err(io("syncing", dir))
}

/// Makes a folder and those above it that are missing, for their owner alone.
pub(super) fn make_dirs(dir: &Path) -> Done<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(io("making", dir))
}

/// The bytes of a file up to a bound; none where there is no such file.
pub(super) fn read_up_to(path: &Path, bytes_max: u64) -> Done<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io("opening", path)(error)),
    };
    if !file.metadata().map_err(io("inspecting", path))?.is_file() {
        return Err(unusable(path, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(io("reading", path))?;
    if bytes.len() as u64 > bytes_max {
        return Err(unusable(path, "it is longer than anything that was written"));
    }
    Ok(Some(bytes))
}

/// A document; none where there is no such file.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Done<Option<T>> {
    let Some(bytes) = read_up_to(path, SETTINGS_BYTES_MAX)? else { return Ok(None) };
    let read = serde_json::from_slice(&bytes);
    read.map(Some).map_err(|error| unusable(path, &error.to_string()))
}

pub(super) fn unusable(path: &Path, problem: &str) -> Fault {
    let problem = problem.to_owned();
    Refusal::Unusable { file: path.display().to_string(), problem }.into()
}

/// Takes the lock of a file, which is made where it is missing, for this process alone. It is given
/// back when the file is closed, by a death too.
pub(super) fn lock(path: &Path, until: Deadline, waited_for: &str) -> Done<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(io("opening", path))?;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(error) => return Err(os("locking", path)(error)),
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
