//! Reads files to their end, for their digests: as the disk has them, a few at once.

use std::fs::File;
use std::io::{self as std_io, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::fs::Advice;

use super::fault::{Done, Fault, damaged, io};
use super::progress::Progress;
use crate::actuator::host::Deadline;
use crate::domain::digest::{Digest, Hasher};
use crate::domain::placement::protocol::Refusal;

/// How much is read at once.
pub(super) const PIECE_BYTES: usize = 1024 * 1024;
/// How many files are read at once: one is digested while another one comes from the disk.
const READERS: usize = 2;

/// Reads some files of a copy and holds each against its digest. The first one that is another is
/// the fault.
pub(super) fn hold_digests(
    copy: &Path,
    wanted: &[(&str, Digest)],
    until: Deadline,
    progress: &Progress,
) -> Done<()> {
    let next = AtomicUsize::new(0);
    let first: Mutex<Option<(usize, Fault)>> = Mutex::new(None);
    let read = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((path, sha256)) = wanted.get(at) else { return };
            let Err(fault) = hold_digest(copy, path, sha256, until, progress) else { continue };
            // Nobody begins another one; whoever has begun an earlier one comes to its end.
            next.store(wanted.len(), Ordering::Relaxed);
            let mut first = first.lock().expect("BUG: a reader has panicked");
            if first.as_ref().is_none_or(|(earlier, _)| at < *earlier) {
                *first = Some((at, fault));
            }
            return;
        }
    };
    thread::scope(|scope| {
        for _ in 1..READERS.min(wanted.len()) {
            scope.spawn(read);
        }
        read();
    });
    let first = first.into_inner().expect("BUG: a reader has panicked");
    first.map_or(Ok(()), |(_, fault)| Err(fault))
}

fn hold_digest(
    copy: &Path,
    path: &str,
    sha256: &Digest,
    until: Deadline,
    progress: &Progress,
) -> Done<()> {
    let (_, found) = digest_of(&copy.join(path), path, until, progress)?;
    if found == *sha256 {
        return Ok(());
    }
    Err(damaged(path, sha256.to_string(), found.to_string()))
}

/// Opens a file, and never what a link leads to.
pub(super) fn open_plain(path: &Path) -> std_io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    File::options().read(true).custom_flags(flags).open(path)
}

/// The size and the digest of a file, as the disk has it: what memory still holds of it is let go
/// first where the system takes such advice.
pub(super) fn digest_of(
    path: &Path,
    name: &str,
    until: Deadline,
    progress: &Progress,
) -> Done<(u64, Digest)> {
    let mut file = match open_plain(path) {
        Err(error) if error.kind() == std_io::ErrorKind::NotFound => {
            return Err(damaged(name, "a file", "no file"));
        }
        opened => opened.map_err(io("opening", path))?,
    };
    // Advice only: a file system that takes none is read all the same.
    let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
    let _ = rustix::fs::fadvise(&file, 0, None, Advice::Sequential);
    let (mut hasher, mut bytes) = (Hasher::default(), 0_u64);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let count = file.read(&mut piece).map_err(io("reading", path))?;
        if count == 0 {
            return Ok((bytes, hasher.finish()));
        }
        hasher.update(&piece[..count]);
        let count = u64::try_from(count).unwrap_or(0);
        bytes = bytes.saturating_add(count);
        progress.add(count);
        in_time(until, "reading the files")?;
    }
}

pub(super) fn in_time(until: Deadline, waited_for: &str) -> Done<()> {
    if until.is_past() {
        return Err(Refusal::TimedOut { waited_for: waited_for.to_owned() }.into());
    }
    Ok(())
}
