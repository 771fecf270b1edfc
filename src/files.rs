//! Files that are read by a name, and the directories and files that we make. A leaf.
//!
//! Never waits for who else has a file open, never reads without end, and gives what it makes the
//! modes that are meant: a umask can only take bits away, even those that its owner needs.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, OpenOptionsExt as _, PermissionsExt as _, chown,
};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// The most that is read of a file of settings, in bytes.
pub const SETTINGS_BYTES_MAX: u64 = 1024 * 1024;

/// How long a silent pipe is waited for before it is asked again whether to stop: 50 ms.
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
const PIECE_BYTES: usize = 64 * 1024;

/// The whole of a file of settings. What is no regular file, such as a FIFO or a device, is an
/// error at once; so is what is larger than [`SETTINGS_BYTES_MAX`].
pub fn read_settings(path: &Path) -> io::Result<Vec<u8>> {
    let file = open_given(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(SETTINGS_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > SETTINGS_BYTES_MAX {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(bytes)
}

/// Opens what somebody names for reading, and never waits for who has the other end: without
/// NONBLOCK the opening of a FIFO waits until somebody writes it.
pub fn open_given(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// A document that somebody names: `-` is stdin. One byte more than `bytes_max` tells that it is
/// too long. Who writes to a pipe is waited for until `is_stopped`; a FIFO to which nobody writes
/// is an error at once.
pub fn read_given(
    path: &Path,
    bytes_max: usize,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<Vec<u8>> {
    if path.as_os_str() == "-" {
        return patient(rustix::stdio::stdin(), true, bytes_max, is_stopped);
    }
    let file = open_given(path)?;
    let bytes = patient(file.as_fd(), false, bytes_max, is_stopped)?;
    if bytes.is_empty() && file.metadata()?.file_type().is_fifo() {
        return Err(io::Error::other("nobody has written to this pipe"));
    }
    Ok(bytes)
}

/// Reads up to one byte more than `bytes_max`. What blocks is asked first whether it would.
fn patient(
    from: BorrowedFd<'_>,
    blocks: bool,
    bytes_max: usize,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; PIECE_BYTES];
    let mut is_ready = !blocks;
    while bytes.len() <= bytes_max {
        if is_stopped() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "ended by a signal"));
        }
        if !is_ready {
            let mut fds = [PollFd::new(&from, PollFlags::IN)];
            is_ready = match poll(&mut fds, Some(&LOOK_AGAIN)) {
                Ok(count) => count > 0,
                Err(Errno::INTR) => false,
                Err(error) => return Err(error.into()),
            };
            continue;
        }
        match rustix::io::read(from, &mut piece[..]) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
            Err(Errno::AGAIN) => is_ready = false,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        is_ready &= !blocks;
    }
    bytes.truncate(bytes_max + 1);
    Ok(bytes)
}

/// The same as text.
pub fn read_settings_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_settings(path)?).map_err(|_| io::Error::other("it is not UTF-8"))
}

/// Makes a directory and those above it that are missing, each with mode 0700. What is there stays
/// as it is.
pub fn make_private_dirs(dir: &Path) -> io::Result<()> {
    if dir.as_os_str().is_empty() || dir.is_dir() {
        return Ok(());
    }
    if let Some(above) = dir.parent() {
        make_private_dirs(above)?;
    }
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => fs::set_permissions(dir, Permissions::from_mode(0o700)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes a file that is not there yet, with mode 0600, open for reading and for writing at its end.
pub fn make_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.read(true).append(true).create_new(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Puts a file with this mode in the place of what has its name, as a whole. After an error what was
/// there is as it was. For one writer at a time.
pub fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let mut name = OsString::from(".");
    name.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    // A file of a process of this id that has crashed may be left.
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let written = make_private_file(&temporary)
        .and_then(|mut file| {
            file.set_permissions(Permissions::from_mode(mode))?;
            file.write_all(content)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // It may be that it could not even be made.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// A file to add to, made where it is not there yet.
pub fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// Makes a directory and those above it that are missing, each for a group: with mode 2770, so that
/// what is made in it is the group's, too. What is there stays as it is.
pub fn make_group_dirs(dir: &Path, group: u32) -> io::Result<()> {
    if dir.as_os_str().is_empty() || dir.is_dir() {
        return Ok(());
    }
    if let Some(above) = dir.parent() {
        make_group_dirs(above, group)?;
    }
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => {
            chown(dir, None, Some(group))?;
            // Last: a change of the group takes the bit away.
            fs::set_permissions(dir, Permissions::from_mode(0o2770))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Lets a group read and write a file of ours, and nobody else.
pub fn give_to_group(file: &File, group: u32) -> io::Result<()> {
    rustix::fs::fchown(file, None, Some(rustix::fs::Gid::from_raw(group)))?;
    file.set_permissions(Permissions::from_mode(0o660))
}
