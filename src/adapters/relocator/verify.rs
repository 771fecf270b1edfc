//! A copy is read back: every byte against its manifest, and the database as a database.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::authority;
use super::fault::{Done, Fault};
use super::fence::{self, FenceState};
use super::files::{read_json, replace_json};
use super::manifest::{self, Made, Manifest, ReadBack, read_back};
use super::place::{DATABASE, Root, VERIFIED, existing};
use super::seal::is_intact;
use super::tree;
use crate::actuator::host::Deadline;
use crate::adapters::now;
use crate::crash::{self, CrashPoint, RelocatorPoint};
use crate::domain::digest::Digest;
use crate::domain::placement::protocol::{Call, CopyPlace, Refusal, Verified};
use crate::domain::time::Timestamp;

/// `verified.json`: which manifest the bytes were held against, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Proof {
    manifest_sha256: Digest,
    bytes: u64,
    files: u64,
    rows: u64,
    verified_at: Timestamp,
}

impl Proof {
    pub(super) fn of(read: &ReadBack, manifest_sha256: Digest) -> Self {
        let ReadBack { bytes, files, rows } = *read;
        Self { manifest_sha256, bytes, files, rows, verified_at: now() }
    }

    fn receipt(self, target: &CopyPlace) -> Verified {
        Verified {
            target: target.clone(),
            bytes: self.bytes,
            files: self.files,
            rows: self.rows,
            manifest_sha256: self.manifest_sha256,
            verified_at: self.verified_at,
        }
    }
}

fn not_there(what: String) -> Fault {
    Refusal::NotThere { what }.into()
}

/// The proof that a copy was read back against the manifest that it has, of a source to which
/// nothing was written since where that is given.
pub(super) fn proved(copy: &Path, source: Option<&Path>) -> Done<(Manifest, Proof)> {
    let (manifest, digest) =
        manifest::read(copy)?.ok_or_else(|| not_there("manifest of the copy".to_owned()))?;
    let proof: Option<Proof> = read_json(&copy.join(VERIFIED))?;
    let proof = proof.filter(|proof| proof.manifest_sha256 == digest);
    let proof = proof.ok_or_else(|| not_there("proof that the copy was read back".to_owned()))?;
    if let Some(source) = source {
        hold_source(&manifest, source)?;
    }
    Ok((manifest, proof))
}

/// Whether the source is as it was when it was copied.
fn hold_source(manifest: &Manifest, source: &Path) -> Done<()> {
    let fence = fence::read(source)?;
    if fence.as_ref().is_some_and(|fence| fence.state == FenceState::Left) {
        // It was held against the copy right before it was left, and takes no write since.
        return Ok(());
    }
    let is_same = match fence.and_then(|fence| fence.seal) {
        Some(seal) => {
            Some(seal.number) == manifest.seal && is_intact(&source.join(DATABASE), &seal)?
        }
        None => false,
    };
    let is_same = is_same && manifest.source_tree == Some(tree::walk(source)?.digest());
    if is_same {
        return Ok(());
    }
    let why = "the source was written after it was copied: discard the copy".to_owned();
    Err(Refusal::UnprovableFencing { why }.into())
}

/// Reads a copy back. One that serves has changed since, and answers by its proof.
pub(super) fn verify(
    root: &Root,
    call: &Call,
    target: &CopyPlace,
    until: Deadline,
) -> Done<Verified> {
    drop(authority::hold(root, call, until)?);
    let copy = root.copy(&call.environment, target);
    existing(&copy, target)?;
    let fence = fence::read(&copy)?;
    if fence.is_some_and(|fence| fence.state != FenceState::Fenced) {
        return Ok(proved(&copy, None)?.1.receipt(target));
    }
    let (manifest, digest) =
        manifest::read(&copy)?.ok_or_else(|| not_there(format!("manifest of copy {target}")))?;
    if manifest.copy != *target || manifest.environment != call.environment {
        let found = format!("{} of environment {}", manifest.copy, manifest.environment);
        return Err(Refusal::OtherGeneration { expected: target.to_string(), found }.into());
    }
    let read = read_back(&copy, &manifest, until)?;
    if manifest.made == Made::Transfer {
        hold_source(&manifest, &root.copy(&call.environment, &manifest.source))?;
    }
    crash::hit(CrashPoint::Relocator(RelocatorPoint::Read));
    let _held = authority::hold(root, call, until)?;
    let proof = Proof::of(&read, digest);
    replace_json(&copy, VERIFIED, &proof)?;
    Ok(proof.receipt(target))
}
