//! A copy is made: of a fenced source to be the owner, or of a serving one as a recovery package.
//!
//! Owns the unfinished copy beside the place of the copy, `.partial-GENERATION.tTOKEN`, which gets
//! its name by one rename once it is whole. A newer token takes an unfinished copy over under a
//! name of its own, so that an older call finds its folder gone. What was there before stays.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::authority;
use super::contents::Contents;
use super::copying::{Copied, DRAFT, JOURNAL, copy_tree};
use super::database;
use super::fault::{Done, Fault, io, os};
use super::fence::{self, Fence, FenceState, Mark};
use super::files::{make_dirs, names, remove, replace_json};
use super::inventory::{self, Found};
use super::manifest::{self, DatabaseEntry, FORMAT, Made, Manifest, read_back};
use super::place::{
    DATABASE, FENCE, RESERVED, Root, VERIFIED, disk_full, existing, partial_of, partials_of,
    reserve,
};
use super::progress::Progress;
use super::reading::digest_of;
use super::tree;
use super::verify::Proof;
use crate::actuator::host::Deadline;
use crate::adapters::durable::sync_dir;
use crate::adapters::now;
use crate::crash::{self, CrashPoint, RelocatorPoint};
use crate::domain::digest::Digest;
use crate::domain::placement::protocol::{Call, CopyPlace, Refusal, Transferred};
use crate::domain::time::Timestamp;

/// The database while it is written.
const EXPORT: &str = ".export.sqlite";

/// One copy that is being made.
struct Work<'call> {
    root: &'call Root,
    call: &'call Call,
    source: &'call CopyPlace,
    target: &'call CopyPlace,
    made: Made,
    until: Deadline,
}

/// Copies a fenced copy, whole.
pub(super) fn transfer(
    root: &Root,
    call: &Call,
    source: &CopyPlace,
    target: &CopyPlace,
    until: Deadline,
) -> Done<Transferred> {
    if target.generation.epoch.get() != call.epoch.get().saturating_add(1) {
        let problem = format!("after epoch {} comes the next one, not {target}", call.epoch);
        return Err(Refusal::BadRequest { problem }.into());
    }
    Work { root, call, source, target, made: Made::Transfer, until }.run()
}

/// Makes a recovery package of a serving copy and reads it back.
pub(super) fn snapshot(
    root: &Root,
    call: &Call,
    source: &CopyPlace,
    target: &CopyPlace,
    until: Deadline,
) -> Done<Transferred> {
    Work { root, call, source, target, made: Made::Snapshot, until }.run()
}

impl Work<'_> {
    fn from(&self) -> PathBuf {
        self.root.copy(&self.call.environment, self.source)
    }

    fn to(&self) -> PathBuf {
        self.root.copy(&self.call.environment, self.target)
    }

    fn run(&self) -> Done<Transferred> {
        if self.source == self.target {
            let problem = "source and target are one copy".to_owned();
            return Err(Refusal::BadRequest { problem }.into());
        }
        let held = authority::hold(self.root, self.call, self.until)?;
        if let Some(done) = self.receipt()? {
            return Ok(done);
        }
        self.hold_free()?;
        existing(&self.from(), self.source)?;
        if self.made == Made::Transfer {
            fence::proved(&self.from(), self.call.token)?;
        }
        // What is long is done without the lock, so that a newer call need not wait for it.
        drop(held);
        let found = inventory::take(self.root, &self.call.environment, self.source, self.until)?;
        if self.made == Made::Transfer {
            let fenced_at = fence::files_fenced_at(&self.from())?;
            if let Some(path) = found.tree.changed_after(fenced_at) {
                return Err(changed(path));
            }
        }
        let held = authority::hold(self.root, self.call, self.until)?;
        let partial = self.begin(found.inventory.bytes)?;
        drop(held);
        let made = self.fill(&partial, &found).map_err(|fault| {
            let cell = &self.target.cell;
            let needed_bytes = found.inventory.bytes;
            let is_full = fault.is_full;
            if is_full { disk_full(&partial, cell, needed_bytes, fault) } else { fault }
        });
        if let Err(fault) = made {
            if matches!(fault.refusal, Refusal::CapacityExhausted { .. }) {
                // What does not fit takes no room away from those that do.
                remove(&partial)?;
            }
            return Err(fault);
        }
        self.finish(&partial)?;
        let lost = || Fault::from(Refusal::NotThere { what: format!("copy {}", self.target) });
        self.receipt()?.ok_or_else(lost)
    }

    /// What the copy itself says, once it is there.
    fn receipt(&self) -> Done<Option<Transferred>> {
        let Some((manifest, manifest_sha256)) = manifest::read(&self.to())? else {
            return Ok(None);
        };
        if manifest.source != *self.source || manifest.made != self.made {
            return Err(Refusal::OtherGeneration {
                expected: format!("a {:?} of {}", self.made, self.source).to_lowercase(),
                found: format!("a {:?} of {}", manifest.made, manifest.source).to_lowercase(),
            }
            .into());
        }
        Ok(Some(Transferred {
            source: self.source.clone(),
            target: self.target.clone(),
            bytes: manifest.bytes(),
            files: manifest.files(),
            sent_bytes: manifest.bytes().saturating_sub(manifest.reused_bytes),
            reused_bytes: manifest.reused_bytes,
            manifest_sha256,
            captured_at: manifest.captured_at,
        }))
    }

    /// Nothing has the place of the copy: found now, and not after everything was copied.
    fn hold_free(&self) -> Done<()> {
        if names(&self.to())?.is_empty() {
            return Ok(());
        }
        let (expected, found) =
            (format!("no copy {} yet", self.target), "a folder without a manifest");
        Err(Refusal::OtherGeneration { expected, found: found.to_owned() }.into())
    }

    /// The folder of the unfinished copy, with room for it. An older one is taken over.
    fn begin(&self, needed_bytes: u64) -> Done<PathBuf> {
        let cell = self.root.cell(&self.target.cell);
        super::place::limit_of(&cell, &self.target.cell)?;
        let copies = self.root.copies(&self.target.cell, &self.call.environment);
        make_dirs(&copies)?;
        let partial = partial_of(&self.to(), self.call.token);
        for older in partials_of(&self.to())?.into_iter().filter(|older| *older != partial) {
            if partial.exists() {
                remove(&older)?;
                continue;
            }
            fs::rename(&older, &partial).map_err(io("taking over", &older))?;
            // An older call may still write what it has open, and nothing that has its name.
            remove(&partial.join(DRAFT))?;
            remove(&partial.join(EXPORT))?;
        }
        make_dirs(&partial)?;
        let reserved = reserve(&cell, &self.target.cell, &partial, needed_bytes, self.until);
        if let Err(Fault { refusal: Refusal::CapacityExhausted { .. }, .. }) = &reserved {
            remove(&partial)?;
        }
        reserved?;
        Ok(partial)
    }

    /// Everything into the unfinished copy, its manifest last.
    fn fill(&self, partial: &Path, found: &Found) -> Done<()> {
        let what = if self.made == Made::Snapshot { "snapshot" } else { "transfer" };
        // The database is exported, and then read for its digest.
        let bytes = found.inventory.bytes.saturating_add(found.inventory.database_bytes);
        let progress = Progress::new(what, bytes);
        let from = self.from();
        let contents =
            Contents::of_copies(&self.root.copies(&self.target.cell, &self.call.environment))?;
        let what = (&found.tree, contents);
        let copied = copy_tree(&from, partial, what, self.until, &progress)?;
        let (database, captured_at) = self.export(partial, &progress)?;
        let seal = self.check_unmoved(found)?;
        let manifest = self.manifest(copied, database, captured_at, seal, found);
        for name in [DRAFT, JOURNAL, EXPORT] {
            remove(&partial.join(name))?;
        }
        if self.made == Made::Transfer {
            let fence = Fence {
                token: self.call.token,
                state: FenceState::Fenced,
                operation: self.call.operation.clone(),
                epoch: self.target.generation.epoch,
                since: now(),
                seal: None,
                tables: 0,
            };
            replace_json(partial, FENCE, &fence)?;
        }
        sync_all(partial)?;
        let digest = manifest::write(partial, &manifest)?;
        if self.made == Made::Snapshot {
            self.prove(partial, &manifest, digest)?;
        }
        crash::hit(CrashPoint::Relocator(RelocatorPoint::BeforeName));
        Ok(())
    }

    /// A package is read back before it takes its place.
    fn prove(&self, partial: &Path, manifest: &Manifest, digest: Digest) -> Done<()> {
        let read = read_back(partial, manifest, self.until)?;
        replace_json(partial, VERIFIED, &Proof::of(&read, digest))
    }

    fn export(&self, partial: &Path, progress: &Progress) -> Done<(DatabaseEntry, Timestamp)> {
        let draft = partial.join(EXPORT);
        remove(&draft)?;
        let source = self.from().join(DATABASE);
        let (facts, captured_at) = database::export(&source, &draft, self.until, progress)?;
        if self.made == Made::Snapshot {
            // Whoever restores it writes it: what fences the source is not part of the package.
            let mark = Mark {
                token: self.call.token,
                operation: &self.call.operation,
                epoch: self.target.generation.epoch,
            };
            fence::change_row(&draft, &mark, FenceState::Open, self.until)?;
        }
        crash::hit(CrashPoint::Relocator(RelocatorPoint::Exported));
        let path = partial.join(DATABASE);
        fs::rename(&draft, &path).map_err(io("naming", &path))?;
        let (bytes, sha256) = digest_of(&path, DATABASE, self.until, progress)?;
        Ok((DatabaseEntry { bytes, sha256, facts }, captured_at))
    }

    /// Nothing was written while it was copied. Answers the number of the source's seal.
    fn check_unmoved(&self, found: &Found) -> Done<Option<u64>> {
        let from = self.from();
        let moved = found.tree.moved(&tree::walk(&from)?);
        if self.made == Made::Snapshot {
            inventory::take(self.root, &self.call.environment, self.source, self.until)?;
            return match moved {
                Some(path) => {
                    let waited_for = format!("{path}, which was changed meanwhile, to stay");
                    Err(Refusal::TimedOut { waited_for }.into())
                }
                None => Ok(None),
            };
        }
        if let Some(path) = moved {
            return Err(changed(&path));
        }
        let (_, seal) = fence::proved(&from, self.call.token)?;
        Ok(Some(seal.number))
    }

    fn manifest(
        &self,
        copied: Copied,
        database: DatabaseEntry,
        captured_at: Timestamp,
        seal: Option<u64>,
        found: &Found,
    ) -> Manifest {
        Manifest {
            format: FORMAT,
            made: self.made,
            environment: self.call.environment.clone(),
            copy: self.target.clone(),
            source: self.source.clone(),
            captured_at,
            seal,
            source_tree: Some(found.tree.digest()),
            entries: copied.entries,
            database,
            reused_bytes: copied.reused_bytes,
            left_out: found.inventory.left_out.clone(),
        }
    }

    /// Gives the copy its name, if this call is still the one that may.
    fn finish(&self, partial: &Path) -> Done<()> {
        let _held = authority::hold(self.root, self.call, self.until)?;
        if self.made == Made::Transfer {
            fence::proved(&self.from(), self.call.token)?;
        }
        let to = self.to();
        remove(&partial.join(RESERVED))?;
        fs::rename(partial, &to).map_err(io("naming", &to))?;
        sync_dir(&self.root.copies(&self.target.cell, &self.call.environment))?;
        crash::hit(CrashPoint::Relocator(RelocatorPoint::Named));
        Ok(())
    }
}

fn changed(path: &str) -> Fault {
    Refusal::UnprovableFencing { why: format!("{path} was changed after the fence") }.into()
}

/// Makes everything on the file system of a folder durable.
pub(super) fn sync_all(folder: &Path) -> Done<()> {
    let open = File::open(folder).map_err(io("opening", folder))?;
    rustix::fs::syncfs(&open).map_err(os("syncing", folder))
}
