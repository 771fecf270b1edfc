//! Who holds a lock of a file, as this host shows it.
//!
//! Opens no file of a database: to close a second descriptor would give up the locks of the first.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The byte of the index of a log that the one writer of a SQLite database locks
/// (`WAL_WRITE_LOCK` in <https://sqlite.org/walformat.html>).
pub const SQLITE_WRITER: u64 = 120;

/// A process that holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockHolder {
    /// Its number.
    pub pid: i32,
    /// Its name, as the kernel keeps it.
    pub name: String,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (pid {})", self.name, self.pid)
    }
}

/// Who holds the lock that covers a byte of a file; none where nobody does, or where this process
/// may not see it.
pub fn holder(file: &Path, byte: u64) -> Option<LockHolder> {
    let inode = fs::metadata(file).ok()?.ino();
    let table = fs::read_to_string("/proc/locks").ok()?;
    let pid = holder_in(&table, inode, byte)?;
    // The kernel cuts a name at 15 bytes, in the middle of a letter, too.
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(LockHolder { pid, name: String::from_utf8_lossy(&name).trim_end().to_owned() })
}

/// The process that a table in the form of proc_locks(5) names as the holder of an exclusive lock
/// on this byte of this file.
pub fn holder_in(table: &str, inode: u64, byte: u64) -> Option<i32> {
    table.lines().find_map(|line| holder_of_line(line, inode, byte))
}

/// The process of a line of proc_locks(5) that has an exclusive lock on this byte of this file.
/// The device is not compared: an overlay shows another one here than its files have.
fn holder_of_line(line: &str, inode: u64, byte: u64) -> Option<i32> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, kind, _, "WRITE", pid, file, first, last] = words[..] else { return None };
    let is_this = kind == "POSIX" && file.rsplit(':').next()?.parse() == Ok(inode);
    let last = if last == "EOF" { u64::MAX } else { last.parse().ok()? };
    let covers = (first.parse().ok()?..=last).contains(&byte);
    pid.parse().ok().filter(|pid| is_this && covers && *pid > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_exclusive_lock_on_that_byte_of_that_file_has_a_holder() {
        for (line, pid) in [
            ("1: POSIX  ADVISORY  WRITE 42 fe:01:77 120 120", Some(42)),
            ("12: POSIX  ADVISORY  WRITE 42 fe:01:77 0 EOF", Some(42)),
            ("1: POSIX  ADVISORY  READ 42 fe:01:77 120 120", None),
            ("1: POSIX  ADVISORY  WRITE 42 fe:01:78 120 120", None),
            ("1: POSIX  ADVISORY  WRITE 42 fe:01:77 121 127", None),
            ("1: FLOCK  ADVISORY  WRITE 42 fe:01:77 0 EOF", None),
            ("1: OFDLCK ADVISORY  WRITE -1 fe:01:77 120 120", None),
            ("1: -> POSIX  ADVISORY  WRITE 42 fe:01:77 120 120", None),
            ("", None),
        ] {
            assert_eq!(holder_in(line, 77, 120), pid, "{line}");
        }
    }
}
