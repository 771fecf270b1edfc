//! The manifest of a copy: what is needed to interpret it and to hold every byte against it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::database::{self, DatabaseFacts};
use super::fault::{Done, damaged, unusable};
use super::files::{bytes_of, read_up_to};
use super::place::{DATABASE, MANIFEST};
use super::progress::Progress;
use super::reading::{digest_of, hold_digests};
use super::tree::{self, Item, Kind};
use crate::actuator::host::Deadline;
use crate::adapters::durable::replace_file;
use crate::domain::digest::Digest;
use crate::domain::id::EnvironmentName;
use crate::domain::placement::protocol::CopyPlace;
use crate::domain::time::Timestamp;

pub(super) const FORMAT: u32 = 1;
/// The longest manifest that is read, in bytes: that of some millions of files.
const MANIFEST_BYTES_MAX: u64 = 1024 * 1024 * 1024;

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
    /// Of the source's names and their times: another one would be other files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) source_tree: Option<Digest>,
    /// By their names below the copy.
    pub(super) entries: BTreeMap<String, Entry>,
    pub(super) database: DatabaseEntry,
    /// Of its bytes those that the cell had already, in other files of the environment.
    #[serde(default)]
    pub(super) reused_bytes: u64,
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
    let manifest: Manifest = serde_json::from_slice(&bytes)
        .map_err(|error| unusable(path.display(), &error.to_string()))?;
    if manifest.format != FORMAT {
        let problem = format!("its format is {}, this is {FORMAT}", manifest.format);
        return Err(unusable(path.display(), &problem));
    }
    Ok(Some((manifest, Digest::of(&bytes))))
}

/// Writes the manifest of a copy, and answers its digest.
pub(super) fn write(copy: &Path, manifest: &Manifest) -> Done<Digest> {
    let bytes = bytes_of(manifest);
    replace_file(copy, MANIFEST, &bytes)?;
    Ok(Digest::of(&bytes))
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
    let progress = Progress::new("verify", manifest.bytes());
    hold_files(copy, manifest, until, &progress, |_| true)?;
    let path = copy.join(DATABASE);
    for side in ["-wal", "-journal"] {
        let side = format!("{DATABASE}{side}");
        if fs::metadata(copy.join(&side)).is_ok_and(|found| found.len() > 0) {
            return Err(damaged(&side, "no file", "a file"));
        }
    }
    let (bytes, sha256) = digest_of(&path, DATABASE, until, &progress)?;
    if (bytes, sha256) != (manifest.database.bytes, manifest.database.sha256) {
        return Err(damaged(DATABASE, manifest.database.sha256.to_string(), sha256.to_string()));
    }
    let rows = database::check(&path, &manifest.database.facts, until)?;
    Ok(ReadBack { bytes: manifest.bytes(), files: manifest.files(), rows })
}

/// Holds the files of a copy against its manifest, of those tops that are meant: first their names,
/// then their bytes.
pub(super) fn hold_files(
    copy: &Path,
    manifest: &Manifest,
    until: Deadline,
    progress: &Progress,
    is_meant: fn(&str) -> bool,
) -> Done<()> {
    let found = tree::walk(copy)?;
    let wanted = manifest.entries.iter().filter(|(path, _)| is_meant(path));
    // Both in the order of names: the walk's own is by folders.
    let mut items: Vec<&Item> = found.items.iter().filter(|item| is_meant(&item.path)).collect();
    items.sort_by(|one, other| one.path.cmp(&other.path));
    let mut items = items.into_iter().peekable();
    let mut digests = Vec::new();
    for (path, entry) in wanted {
        if let Some(stranger) = items.next_if(|item| item.path < *path) {
            return Err(damaged(&stranger.path, "no such name", "a name"));
        }
        let Some(item) = items.next_if(|item| item.path == *path) else {
            return Err(damaged(path, "a name", "no such name"));
        };
        digests.extend(digest_to_hold(path, entry, item)?.map(|sha256| (path.as_str(), sha256)));
    }
    if let Some(stranger) = items.next() {
        return Err(damaged(&stranger.path, "no such name", "a name"));
    }
    hold_digests(copy, &digests, until, progress)
}

/// Holds all but the bytes of one name; a file's are still to be read.
fn digest_to_hold(path: &str, entry: &Entry, item: &Item) -> Done<Option<Digest>> {
    match (entry, &item.kind) {
        (Entry::Folder { mode }, Kind::Folder) if *mode == item.mode => Ok(None),
        (Entry::Link { to }, Kind::Link { to: found }) if to == found => Ok(None),
        (Entry::File { mode, sha256, .. }, Kind::File { .. }) if *mode == item.mode => {
            Ok(Some(*sha256))
        }
        (_, kind) => {
            let expected = serde_json::to_string(entry).unwrap_or_default();
            Err(damaged(path, expected, format!("{kind:?}, mode {:o}", item.mode)))
        }
    }
}
