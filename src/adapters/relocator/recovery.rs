//! Recovery packages, with nothing else at hand: no ledger, no relocator, no log.
//!
//! A package is a copy with its manifest. It is read back as a whole before anything is made of it,
//! and what is made of it is read back before it gets its name.

use std::fs;
use std::path::{Path, PathBuf};

use super::contents::Contents;
use super::copying::{DRAFT, JOURNAL, copy_tree};
use super::fault::{Done, Fault, damaged, io};
use super::fence::{self, FenceState, Mark};
use super::files::{make_dirs, names, remove};
use super::manifest::{self, Made, Manifest, read_back};
use super::place::{
    DATABASE, FILES_LOCK, LIMIT, MANIFEST, RESERVED, disk_full, folder_of, reserve,
};
use super::progress::Progress;
use super::reading::digest_of;
use super::transfer::sync_all;
use super::{TIME_MAX, tree};
use crate::actuator::host::Deadline;
use crate::adapters::durable::{replace_file, sync_dir};
use crate::crash::{self, CrashPoint, RelocatorPoint};
use crate::domain::digest::Digest;
use crate::domain::id::{EnvironmentName, FenceToken};
use crate::domain::placement::protocol::{CopyPlace, Refusal};
use crate::domain::time::Timestamp;

const PARTIAL: &str = ".partial-restore";

/// A package whose every byte was read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Whose copy it is.
    pub environment: EnvironmentName,
    /// The copy.
    pub copy: CopyPlace,
    /// The instant whose state it has.
    pub captured_at: Timestamp,
    /// Its bytes, the database included.
    pub bytes: u64,
    /// Its files.
    pub files: u64,
    /// The rows of its database.
    pub rows: u64,
    /// The digest of its manifest.
    pub manifest_sha256: Digest,
}

/// What was made of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The package.
    pub package: Package,
    /// Where its copy is now.
    pub path: PathBuf,
    /// Whether it was there already, from an earlier run.
    pub was_there: bool,
}

fn manifest_of(dir: &Path) -> Done<(Manifest, Digest)> {
    let missing = || Refusal::NotThere { what: format!("{MANIFEST} in {}", dir.display()) };
    manifest::read(dir)?.ok_or_else(|| missing().into())
}

/// Reads a package back: every byte and hash, and the database as a database.
pub fn verify_package(dir: &Path) -> Result<Package, Fault> {
    let (manifest, manifest_sha256) = manifest_of(dir)?;
    let read = read_back(dir, &manifest, Deadline::after(TIME_MAX))?;
    Ok(Package {
        environment: manifest.environment,
        copy: manifest.copy,
        captured_at: manifest.captured_at,
        bytes: read.bytes,
        files: read.files,
        rows: read.rows,
        manifest_sha256,
    })
}

/// Makes a copy of a package in an empty cell. A run that was killed is gone on with.
pub fn restore_package(dir: &Path, into: &Path) -> Result<Restored, Fault> {
    let until = Deadline::after(TIME_MAX);
    let package = verify_package(dir)?;
    let (manifest, _) = manifest_of(dir)?;
    let environment = folder_of(manifest.environment.as_str());
    let copies = into.join(&environment);
    let path = copies.join(folder_of(&manifest.copy.generation.to_string()));
    if fs::symlink_metadata(&path).is_ok() {
        let (there, _) = manifest_of(&path)?;
        let is_of_it = there.copy == manifest.copy && there.captured_at == manifest.captured_at;
        if !is_of_it {
            return Err(not_empty(into, &path));
        }
        read_back(&path, &there, until)?;
        return Ok(Restored { package, path, was_there: true });
    }
    hold_empty(into, &environment)?;
    let partial = copies.join(PARTIAL);
    make_dirs(&partial)?;
    if into.join(LIMIT).exists() {
        let reserved = reserve(into, &manifest.copy.cell, &partial, manifest.bytes(), until);
        if reserved.is_err() {
            remove(&copies)?;
        }
        reserved?;
    }
    fill(dir, &partial, &manifest, until).map_err(|fault| {
        let is_full = fault.is_full;
        let cell = &manifest.copy.cell;
        if is_full { disk_full(&partial, cell, manifest.bytes(), fault) } else { fault }
    })?;
    remove(&partial.join(RESERVED))?;
    crash::hit(CrashPoint::Relocator(RelocatorPoint::BeforeName));
    fs::rename(&partial, &path).map_err(io("naming", &path))?;
    sync_dir(&copies)?;
    sync_dir(into)?;
    crash::hit(CrashPoint::Relocator(RelocatorPoint::Named));
    Ok(Restored { package, path, was_there: false })
}

fn not_empty(into: &Path, found: &Path) -> Fault {
    let expected = format!("an empty cell at {}", into.display());
    Refusal::OtherGeneration { expected, found: found.display().to_string() }.into()
}

/// A cell in which nothing is, but for its limit and what an earlier run has begun.
fn hold_empty(into: &Path, environment: &str) -> Done<()> {
    for name in names(into)? {
        let is_begun =
            name == *environment && names(&into.join(&name))?.iter().all(|below| below == PARTIAL);
        if !(name == *LIMIT || name == *FILES_LOCK || is_begun) {
            return Err(not_empty(into, &into.join(name)));
        }
    }
    Ok(())
}

fn fill(dir: &Path, partial: &Path, manifest: &Manifest, until: Deadline) -> Done<()> {
    let progress = Progress::new("restore", manifest.bytes());
    let what = (&tree::walk(dir)?, Contents::default());
    let entries = copy_tree(dir, partial, what, until, &progress)?.entries;
    let changed = manifest.entries.iter().find(|(path, entry)| entries.get(*path) != Some(entry));
    if let Some((file, expected)) = changed {
        let actual = format!("{:?}", entries.get(file));
        return Err(damaged(file, format!("{expected:?}"), actual));
    }
    let (from, to) = (dir.join(DATABASE), partial.join(DATABASE));
    remove(&to)?;
    fs::copy(&from, &to).map_err(io("copying", &from))?;
    let mut restored = manifest.clone();
    open_database(&to, &mut restored, until)?;
    for name in [DRAFT, JOURNAL] {
        remove(&partial.join(name))?;
    }
    sync_all(partial)?;
    if restored == *manifest {
        // The very bytes of the manifest: their digest is the name of the package.
        let bytes = fs::read(dir.join(MANIFEST)).map_err(io("reading", &dir.join(MANIFEST)))?;
        replace_file(partial, MANIFEST, &bytes)?;
    } else {
        manifest::write(partial, &restored)?;
    }
    read_back(partial, &restored, until)?;
    Ok(())
}

/// A copy that was fenced lets writes in again: whoever restores it has no other owner.
fn open_database(path: &Path, manifest: &mut Manifest, until: Deadline) -> Done<()> {
    if manifest.made == Made::Snapshot {
        return Ok(());
    }
    let generation = &manifest.copy.generation;
    let mark =
        Mark { token: FenceToken::MAX, operation: &generation.operation, epoch: generation.epoch };
    fence::change_row(path, &mark, FenceState::Open, until)?;
    let progress = Progress::new("restore", manifest.bytes());
    let (bytes, sha256) = digest_of(path, DATABASE, until, &progress)?;
    manifest.database.bytes = bytes;
    manifest.database.sha256 = sha256;
    manifest.made = Made::Restore;
    Ok(())
}
