//! Files that are replaced as a whole, and files that are locks, for whoever keeps state on a disk.
//!
//! After a crash a replaced file is the old or the new one. Never waits: whoever asks for a lock
//! that somebody holds decides how long to ask again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

/// What could not be done to which file, and what the host says.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) doing: &'static str,
    pub(super) path: PathBuf,
    pub(super) source: io::Error,
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Failed {
    move |source| Failed { doing, path: path.to_owned(), source }
}

/// Replaces a file so that a crash leaves the old or the new one, whole and durable. The draft is
/// always a new file: what has its name, such as a link that leads elsewhere, is not written.
pub(super) fn replace_file(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), Failed> {
    let (path, draft) = (dir.join(name), dir.join(format!(".{name}.new")));
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(failed("removing", &draft)(error));
        }
        Ok(()) | Err(_) => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .map_err(failed("opening", &draft))?;
    file.write_all(bytes).map_err(failed("writing", &draft))?;
    file.sync_all().map_err(failed("syncing", &draft))?;
    fs::rename(&draft, &path).map_err(failed("replacing", &path))?;
    sync_dir(dir)
}

/// Makes the names in a folder durable.
pub(super) fn sync_dir(dir: &Path) -> Result<(), Failed> {
    let open = File::open(dir).map_err(failed("opening", dir))?;
    open.sync_all().map_err(failed("syncing", dir))
}

/// Opens a file that is a lock, and makes it where it is missing. What it says stays, and a link is
/// not followed.
pub(super) fn open_lock(path: &Path) -> Result<File, Failed> {
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or(0);
    OpenOptions::new()
        .custom_flags(flags)
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(failed("opening", path))
}

/// Takes the lock of an open file for this process alone, if nobody has it. It is given back when
/// the file is closed, by a death too.
pub(super) fn try_lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
