//! Where a database may be: what is refused before SQLite sees the file.
//!
//! Only asks for metadata. A descriptor on the database itself is never opened here: to close it
//! would drop every lock that this process holds on it.

use std::ffi::OsStr;
use std::fs::{DirEntry, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::ledger::error::LedgerError;

/// The file systems on which locks or shared memory do not hold, by `statfs` (linux/magic.h).
const NETWORK_FILE_SYSTEMS: [(u64, &str); 17] = [
    (0x6969, "nfs"),
    (0x517B, "smb"),
    (0xFF53_4D42, "cifs"),
    (0xFE53_4D42, "smb2"),
    (0x0102_1997, "9p"),
    (0x5346_414F, "afs"),
    (0x6B41_4653, "kafs"),
    (0x00C3_6400, "ceph"),
    (0x0BD0_0BD0, "lustre"),
    (0x4750_4653, "gpfs"),
    (0x7461_636F, "ocfs2"),
    (0x0116_1970, "gfs2"),
    (0x7375_7245, "coda"),
    (0x564C, "ncp"),
    (0x1983_0326, "beegfs"),
    (0xAAD7_AAEA, "panfs"),
    (0x0BD0_0BD1, "lustre"),
];

const FUSE: u64 = 0x6573_5546;

/// What of FUSE is on a network; the rest of it is local.
const NETWORK_FUSE: [&str; 14] = [
    "virtiofs",
    "fuse.sshfs",
    "fuse.glusterfs",
    "fuse.ceph",
    "fuse.ceph-fuse",
    "fuse.s3fs",
    "fuse.rclone",
    "fuse.gcsfuse",
    "fuse.goofys",
    "fuse.mount-s3",
    "fuse.davfs",
    "fuse.juicefs",
    "fuse.mfs",
    "fuse.smbnetfs",
];

/// The path from the root. A relative `file:` path would be an address to SQLite.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, LedgerError> {
    std::path::absolute(path).map_err(|error| LedgerError::Failed {
        doing: "find",
        path: path.to_owned(),
        problem: error.to_string(),
    })
}

/// The path without links and dots, as far as it is there; the rest as it is said.
pub(in crate::ledger) fn canonical(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let known = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match known {
        Some((above, found)) => match path.strip_prefix(above) {
            Ok(rest) if rest.as_os_str().is_empty() => found,
            Ok(rest) => found.join(rest),
            Err(_) => path.clone(),
        },
        None => path,
    }
}

/// The log, its index, and the journal of other modes.
pub(in crate::ledger) fn side_files(path: &Path) -> [PathBuf; 3] {
    ["-wal", "-shm", "-journal"].map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    })
}

/// Why a ledger is missing whose log is not.
pub(in crate::ledger) const LOG_ALONE: &str =
    "only its log (-wal) is left, and is nothing without it";

/// There must be a regular file.
pub(super) fn check_file(path: &Path) -> Result<(), LedgerError> {
    let missing = |why| LedgerError::Missing { path: path.to_owned(), why };
    match path.metadata() {
        Ok(found) if !found.is_file() => Err(LedgerError::NotAFile { path: path.to_owned() }),
        Ok(found) if found.len() == 0 => {
            let problem = "it is empty".to_owned();
            Err(LedgerError::Foreign { path: path.to_owned(), problem })
        }
        Ok(found) => check_names(path, &found),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let [log, ..] = side_files(path);
            Err(missing(if path.symlink_metadata().is_ok() {
                "it is a link to nothing"
            } else if log.exists() {
                LOG_ALONE
            } else if path.parent().is_some_and(|parent| !parent.exists()) {
                "its directory is not there either"
            } else {
                ""
            }))
        }
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            Err(missing("a part of the path is not a directory"))
        }
        Err(error) => Err(refused("open", path, path, &error)),
    }
}

/// Whether nothing can be opened, whatever it is.
pub(super) fn is_exhausted() -> bool {
    use rustix::io::Errno;
    let opened = std::fs::File::open("/dev/null");
    let error = opened.err().and_then(|error| error.raw_os_error());
    error.is_some_and(|error| {
        [Errno::MFILE, Errno::NFILE].iter().any(|errno| errno.raw_os_error() == error)
    })
}

/// Device and number: which file it is, whatever its names are.
pub(super) type FileId = (u64, u64);

/// Which file has a name now.
pub(super) fn file_id(path: &Path) -> io::Result<FileId> {
    path.metadata().map(|found| (found.dev(), found.ino()))
}

/// How a ledger in the making is called, up to what is random.
pub(super) fn draft_prefix(name: &OsStr) -> String {
    format!(".{}.", name.to_string_lossy())
}

/// Removes the hidden names that a run which died right after it had published a ledger has left:
/// they are in the way once it is called otherwise.
pub(in crate::ledger) fn forget_draft_names(path: &Path) -> io::Result<()> {
    let (id, own) = (file_id(path)?, path.file_name().unwrap_or_default());
    let prefix = draft_prefix(own);
    for entry in path.parent().into_iter().map(Path::read_dir).collect::<io::Result<Vec<_>>>()? {
        for entry in entry.flatten() {
            let is_it = entry.metadata().is_ok_and(|it| (it.dev(), it.ino()) == id);
            if is_it && entry.file_name().to_string_lossy().starts_with(&prefix) {
                std::fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(())
}

/// A ledger has one name: SQLite finds a log by the name of its database. The hidden name that an
/// `init` has left when it was killed is none that anybody opens.
fn check_names(path: &Path, found: &Metadata) -> Result<(), LedgerError> {
    if found.nlink() <= 1 {
        return Ok(());
    }
    // A symbolic link is followed: the names are where the file is.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (own, directory) = (path.file_name().unwrap_or_default(), path.parent());
    let is_it = |entry: &DirEntry| {
        let id = entry.metadata().map(|it| (it.dev(), it.ino()));
        id.is_ok_and(|id| id == (found.dev(), found.ino())) && entry.file_name() != own
    };
    let entries = directory.and_then(|directory| directory.read_dir().ok());
    let others: Vec<_> = entries.into_iter().flatten().flatten().filter(is_it).collect();
    let is_draft =
        |entry: &DirEntry| entry.file_name().to_string_lossy().starts_with(&draft_prefix(own));
    if others.len() as u64 == found.nlink() - 1 && others.iter().all(is_draft) {
        return Ok(());
    }
    let other = others.iter().find(|entry| !is_draft(entry)).map(DirEntry::path);
    Err(LedgerError::HardLinked { path, other })
}

/// An error of the system about a file.
pub(super) fn refused(
    doing: &'static str,
    path: &Path,
    culprit: &Path,
    error: &io::Error,
) -> LedgerError {
    let path = path.to_owned();
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            LedgerError::ReadOnly { doing, path, culprit: culprit.to_owned() }
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => LedgerError::Full { doing, path },
        _ => LedgerError::Failed { doing, path, problem: error.to_string() },
    }
}

/// Which of the database, its side files and its directory this user cannot write.
pub(in crate::ledger) fn unwritable(path: &Path) -> Option<PathBuf> {
    let [log, index, _] = side_files(path);
    let candidates = [Some(path.to_owned()), Some(log), Some(index), path.parent().map(Into::into)];
    candidates.into_iter().flatten().find(|candidate| {
        use rustix::fs::{Access, access};
        candidate.exists() && access(candidate, Access::WRITE_OK).is_err()
    })
}

/// A group's directory must be the group's, or what one member makes there is closed to the others.
pub(super) fn check_shared(directory: &Path, group: u32) -> Result<(), LedgerError> {
    let found =
        directory.metadata().map_err(|error| refused("create", directory, directory, &error))?;
    let mode = found.mode() & 0o7777;
    if found.gid() == group && mode & 0o2072 == 0o2070 {
        return Ok(());
    }
    let problem =
        format!("its mode is {mode:04o} and its group {}, not 2770 and {group}", found.gid());
    Err(LedgerError::NotShared { path: directory.to_owned(), problem })
}

/// What is above a group's directory must let the group through.
pub(super) fn check_reachable(directory: &Path, group: u32) -> Result<(), LedgerError> {
    for above in directory.ancestors().skip(1) {
        let Ok(found) = above.metadata() else { continue };
        let mode = found.mode();
        if mode & 0o001 == 0 && !(found.gid() == group && mode & 0o010 != 0) {
            let problem = format!("its mode is {:04o}: the group cannot pass it", mode & 0o7777);
            return Err(LedgerError::NotShared { path: above.to_owned(), problem });
        }
    }
    Ok(())
}

/// The file system must be local. `found` stands in for the system's answer in tests.
pub(super) fn check_file_system(path: &Path, found: Option<u64>) -> Result<(), LedgerError> {
    let Some(magic) = found.or_else(|| file_system_of(path)) else {
        return Ok(());
    };
    let fuse = if magic == FUSE { fuse_type(path) } else { None };
    let network = NETWORK_FILE_SYSTEMS
        .into_iter()
        .find_map(|(known, name)| (known == magic).then_some(name))
        .or_else(|| NETWORK_FUSE.into_iter().find(|known| fuse.as_deref() == Some(known)));
    match network {
        None => Ok(()),
        Some(name) => {
            let file_system = name.to_owned();
            Err(LedgerError::NetworkFileSystem { path: path.to_owned(), file_system })
        }
    }
}

/// The number of the file system; none where the system does not say.
#[cfg(target_os = "linux")]
#[expect(clippy::cast_sign_loss, reason = "a magic number is a pattern of 32 bits")]
fn file_system_of(path: &Path) -> Option<u64> {
    rustix::fs::statfs(path).ok().map(|found| found.f_type as u64 & 0xFFFF_FFFF)
}

#[cfg(not(target_os = "linux"))]
fn file_system_of(_path: &Path) -> Option<u64> {
    None
}

/// The type in the mount table, by the device of the file.
fn fuse_type(path: &Path) -> Option<String> {
    let device = rustix::fs::stat(path).ok()?.st_dev;
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let mounts = std::fs::read("/proc/self/mountinfo").ok()?;
    mount_type(&mounts, (major, minor)).map(str::to_owned)
}

/// The type of the mount with a device, in the format of `proc_pid_mountinfo(5)`. Paths in it need
/// not be UTF-8, and hide no other line.
pub fn mount_type(mounts: &[u8], (major, minor): (u32, u32)) -> Option<&str> {
    let device = format!("{major}:{minor}");
    mounts.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b' ');
        let is_it = fields.nth(2) == Some(device.as_bytes());
        // Behind the path and the options come fields in any number, up to a lone dash.
        let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
        std::str::from_utf8(kind).ok().filter(|kind| is_it && !kind.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_refused_by_name() {
        let here = std::env::temp_dir();
        for (magic, name) in [(0x6969, "nfs"), (0xFF53_4D42, "cifs"), (0x0102_1997, "9p")] {
            let error = check_file_system(&here, Some(magic)).expect_err("a network");
            assert_eq!(error.code(), "ledger_network_fs");
            assert!(error.to_string().contains(name), "{error}");
        }
        for local in [0xEF53, 0x0102_1994, 0x9123_683E, FUSE] {
            assert!(check_file_system(&here, Some(local)).is_ok());
        }
    }

    #[test]
    fn the_mount_table_tells_one_fuse_from_another() {
        let mounts = b"35 1 0:51 / /home/Andr\xe9 rw - ext4 /dev/sda1 rw\n\
                      36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw\n\
                      40 35 0:52 / /home/a/far rw,nosuid shared:3 - fuse.sshfs b@host:/ rw\n";
        assert_eq!(mount_type(mounts, (0, 52)), Some("fuse.sshfs"));
        assert_eq!(mount_type(mounts, (98, 0)), Some("ext3"));
        assert_eq!(mount_type(mounts, (0, 53)), None);
    }
}
