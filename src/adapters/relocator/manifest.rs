//! The manifest of a copy: what is needed to interpret it and to hold every byte against it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self as std_io, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::Advice;
use serde::{Deserialize, Serialize};

use super::database::{self, DatabaseFacts};
use super::durable::{read_up_to, unusable};
use super::fault::{Done, Fault, io};
use super::place::{DATABASE, MANIFEST};
use super::progress::Progress;
use super::tree::{self, Item, Kind};
use crate::actuator::host::Deadline;
use crate::domain::digest::{Digest, Hasher};
use crate::domain::id::EnvironmentName;
use crate::domain::placement::protocol::{CopyPlace, Refusal};
use crate::domain::time::Timestamp;

pub(super) const FORMAT: u32 = 1;
/// The longest manifest that is read, in bytes: that of some millions of files.
const MANIFEST_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// How much is read at once.
pub(super) const PIECE_BYTES: usize = 1024 * 1024;

/// How a copy was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Made {
    /// Of a fenced copy, to be the owner.
    Transfer,
    /// Of a serving copy, at one instant: a recovery package.
    Snapshot,
    /// Of a recovery package.
    Restore,
}

/// A file, a folder or a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub(super) enum Entry {
    Folder { mode: u32 },
    File { mode: u32, bytes: u64, sha256: Digest },
    Link { to: String },
}

/// All that a copy is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) format: u32,
    pub(super) made: Made,
    pub(super) environment: EnvironmentName,
    pub(super) copy: CopyPlace,
    pub(super) source: CopyPlace,
    pub(super) captured_at: Timestamp,
    /// The number of the source's seal: another one would be another content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) seal: Option<u64>,
    /// By their names below the copy.
    pub(super) entries: BTreeMap<String, Entry>,
    pub(super) database: DatabaseEntry,
    /// Caches that can be made again: whoever does so replaces nothing that is listed here.
    pub(super) left_out: Vec<String>,
}

/// The database as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DatabaseEntry {
    pub(super) bytes: u64,
    pub(super) sha256: Digest,
    pub(super) facts: DatabaseFacts,
}

impl Manifest {
    pub(super) fn bytes(&self) -> u64 {
        let bytes = self.entries.values().map(|entry| match entry {
            Entry::File { bytes, .. } => *bytes,
            Entry::Folder { .. } | Entry::Link { .. } => 0,
        });
        bytes.fold(self.database.bytes, u64::saturating_add)
    }

    /// The files, the database counted in.
    pub(super) fn files(&self) -> u64 {
        let files = self.entries.values().filter(|entry| matches!(entry, Entry::File { .. }));
        u64::try_from(files.count()).unwrap_or(u64::MAX).saturating_add(1)
    }
}

/// The manifest of a copy and its digest; none where there is none.
pub(super) fn read(copy: &Path) -> Done<Option<(Manifest, Digest)>> {
    let path = copy.join(MANIFEST);
    let Some(bytes) = read_up_to(&path, MANIFEST_BYTES_MAX)? else { return Ok(None) };
    let manifest: Manifest =
        serde_json::from_slice(&bytes).map_err(|error| unusable(&path, &error.to_string()))?;
    if manifest.format != FORMAT {
        let problem = format!("its format is {}, this is {FORMAT}", manifest.format);
        return Err(unusable(&path, &problem));
    }
    Ok(Some((manifest, Digest::of(&bytes))))
}

fn damaged(file: &str, expected: impl Into<String>, actual: impl Into<String>) -> Fault {
    let (expected, actual) = (expected.into(), actual.into());
    Refusal::Damaged { file: file.to_owned(), expected, actual }.into()
}

/// What reading a copy back has found.
pub(super) struct ReadBack {
    pub(super) bytes: u64,
    pub(super) files: u64,
    pub(super) rows: u64,
}

/// Reads back every byte of a copy, as far as that can be had from the disk, and the database as a
/// database. The first thing that is not as the manifest says it is the fault.
pub(super) fn read_back(copy: &Path, manifest: &Manifest, until: Deadline) -> Done<ReadBack> {
    let mut progress = Progress::new("verify", manifest.bytes());
    hold_files(copy, manifest, until, &mut progress, |_| true)?;
    let path = copy.join(DATABASE);
    for side in ["-wal", "-journal"] {
        let side = format!("{DATABASE}{side}");
        if fs::metadata(copy.join(&side)).is_ok_and(|found| found.len() > 0) {
            return Err(damaged(&side, "no file", "a file"));
        }
    }
    let (bytes, sha256) = digest_of(&path, DATABASE, until, &mut progress)?;
    if (bytes, sha256) != (manifest.database.bytes, manifest.database.sha256) {
        return Err(damaged(DATABASE, manifest.database.sha256.to_string(), sha256.to_string()));
    }
    let rows = database::check(&path, &manifest.database.facts, until)?;
    Ok(ReadBack { bytes: manifest.bytes(), files: manifest.files(), rows })
}

/// Holds the files of a copy against its manifest, of those tops that are meant.
pub(super) fn hold_files(
    copy: &Path,
    manifest: &Manifest,
    until: Deadline,
    progress: &mut Progress,
    is_meant: fn(&str) -> bool,
) -> Done<()> {
    let found = tree::walk(copy)?;
    let wanted = manifest.entries.iter().filter(|(path, _)| is_meant(path));
    // Both in the order of names: the walk's own is by folders.
    let mut items: Vec<&Item> = found.items.iter().filter(|item| is_meant(&item.path)).collect();
    items.sort_by(|one, other| one.path.cmp(&other.path));
    let mut items = items.into_iter().peekable();
    for (path, entry) in wanted {
        if let Some(stranger) = items.next_if(|item| item.path < *path) {
            return Err(damaged(&stranger.path, "no such name", "a name"));
        }
        let Some(item) = items.next_if(|item| item.path == *path) else {
            return Err(damaged(path, "a name", "no such name"));
        };
        hold_one(copy, path, entry, item, until, progress)?;
    }
    match items.next() {
        Some(stranger) => Err(damaged(&stranger.path, "no such name", "a name")),
        None => Ok(()),
    }
}

fn hold_one(
    copy: &Path,
    path: &str,
    entry: &Entry,
    item: &Item,
    until: Deadline,
    progress: &mut Progress,
) -> Done<()> {
    match (entry, &item.kind) {
        (Entry::Folder { mode }, Kind::Folder) if *mode == item.mode => Ok(()),
        (Entry::Link { to }, Kind::Link { to: found }) if to == found => Ok(()),
        (Entry::File { mode, sha256, .. }, Kind::File { .. }) if *mode == item.mode => {
            let (_, found) = digest_of(&copy.join(path), path, until, progress)?;
            if found == *sha256 {
                return Ok(());
            }
            Err(damaged(path, sha256.to_string(), found.to_string()))
        }
        (_, kind) => {
            let expected = serde_json::to_string(entry).unwrap_or_default();
            Err(damaged(path, expected, format!("{kind:?}, mode {:o}", item.mode)))
        }
    }
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
    progress: &mut Progress,
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
