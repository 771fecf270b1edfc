//! What the target's cell has already, by its content: bytes that need not be sent again.
//!
//! Scoped to one environment: nobody learns from it what another one has. A file counts only as a
//! place to copy from; what is copied is digested on its way, and read back like everything else.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::fault::Done;
use super::files::names;
use super::manifest::{self, Entry};
use super::reading::{PIECE_BYTES, open_plain};
use crate::domain::digest::Digest;

/// Files below this size are sent: to look for them elsewhere takes longer.
const BYTES_MIN: u64 = 4096;

/// A file of the target's cell, as a manifest or this very transfer says it.
struct Known {
    path: PathBuf,
    sha256: Digest,
    /// Of its first [`PIECE_BYTES`], once they were looked at.
    head: Option<Digest>,
}

/// The files of one environment in one cell, by their size.
#[derive(Default)]
pub(super) struct Contents(HashMap<u64, Vec<Known>>);

impl Contents {
    /// Those of all finished copies in a folder of copies.
    pub(super) fn of_copies(copies: &Path) -> Done<Self> {
        let mut contents = Self::default();
        // The newest first: there is most of what is asked for.
        for name in names(copies)?.into_iter().rev() {
            let is_hidden = name.to_string_lossy().starts_with('.');
            let copy = copies.join(name);
            // One that cannot be interpreted is of no use here, and no fault of this transfer.
            let Some((manifest, _)) = manifest::read(&copy).ok().flatten().filter(|_| !is_hidden)
            else {
                continue;
            };
            for (path, entry) in manifest.entries {
                if let Entry::File { bytes, sha256, .. } = entry {
                    contents.add(copy.join(path), bytes, sha256, None);
                }
            }
        }
        Ok(contents)
    }

    /// One more, with the digest of its beginning where it is known.
    pub(super) fn add(&mut self, path: PathBuf, bytes: u64, sha256: Digest, head: Option<Digest>) {
        if bytes < BYTES_MIN {
            return;
        }
        let same = self.0.entry(bytes).or_default();
        if !same.iter().any(|known| known.sha256 == sha256) {
            same.push(Known { path, sha256, head });
        }
    }

    /// A file of this content.
    pub(super) fn find(&self, bytes: u64, sha256: &Digest) -> Option<&Path> {
        let same = self.0.get(&bytes)?;
        same.iter().find(|known| known.sha256 == *sha256).map(|known| known.path.as_path())
    }

    /// Whether a file of this size begins like this: only then is it worth reading a source to its
    /// end before it is sent.
    pub(super) fn may_have(&mut self, bytes: u64, head: &Digest) -> bool {
        let Some(same) = self.0.get_mut(&bytes) else { return false };
        same.iter_mut().any(|known| {
            known.head = known.head.or_else(|| head_of(&known.path));
            known.head.as_ref() == Some(head)
        })
    }
}

/// The digest of a file's beginning; none where it cannot be read.
fn head_of(path: &Path) -> Option<Digest> {
    let mut head = Vec::with_capacity(PIECE_BYTES);
    let file = open_known(path)?;
    file.take(u64::try_from(PIECE_BYTES).unwrap_or(u64::MAX)).read_to_end(&mut head).ok()?;
    Some(Digest::of(&head))
}

/// Opens a known file; none where it is not there as a file any more.
pub(super) fn open_known(path: &Path) -> Option<File> {
    let file = open_plain(path).ok()?;
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some(file)
}
