//! Files that are read by a name, and the directories and files that we make. A leaf.
//!
//! Never waits for who else has a file open, never reads without end, and gives what it makes the
//! modes that are meant: a umask can only take bits away, even those that its owner needs.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _, chown};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// The most that is read of a file of settings, in bytes.
pub const SETTINGS_BYTES_MAX: u64 = 1024 * 1024;

/// The whole of a file of settings. What is no regular file, such as a FIFO or a device, is an
/// error at once; so is what is larger than [`SETTINGS_BYTES_MAX`].
pub fn read_settings(path: &Path) -> io::Result<Vec<u8>> {
    // Without NONBLOCK the opening of a FIFO waits until somebody writes it.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let bytes = bounded(file, SETTINGS_BYTES_MAX)?;
    if bytes.len() as u64 > SETTINGS_BYTES_MAX {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(bytes)
}

/// A document that somebody names: `-` is stdin. One byte more than `bytes_max` tells that it is
/// too long.
pub fn read_given(path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
    let bytes_max = bytes_max as u64;
    if path.as_os_str() == "-" {
        return bounded(io::stdin().lock(), bytes_max);
    }
    bounded(File::open(path)?, bytes_max)
}

fn bounded(from: impl io::Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(bytes_max + 1).read_to_end(&mut bytes)?;
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
