//! Receipts: what an operation has done, as its durable traces say it.

use serde::{Deserialize, Serialize};

use super::CopyPlace;
use crate::domain::digest::Digest;
use crate::domain::id::{FenceToken, PlacementEpoch};
use crate::domain::time::Timestamp;

/// The answer to `describe`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Described {
    /// What it calls itself.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// The operations that it can do.
    pub ops: Vec<String>,
}

/// Whether somebody works in a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceState {
    /// There is no workspace.
    None,
    /// Nobody: its source stays as it was edited.
    Stopped,
    /// Somebody: it must be stopped before it is copied.
    Running,
}

/// What a copy consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    /// The copy.
    pub source: CopyPlace,
    /// The bytes that a transfer would write, the database included.
    pub bytes: u64,
    /// The files that it would write.
    pub files: u64,
    /// The bytes of the database.
    pub database_bytes: u64,
    /// Its tables, the fence's own not counted.
    pub tables: u64,
    /// Its views, triggers and indexes, the fence's own not counted.
    pub rules: u64,
    /// Its credential references.
    pub credentials: u64,
    /// Its subject mappings.
    pub subjects: u64,
    /// Its workspace.
    pub workspace: WorkspaceState,
    /// The caches that a transfer leaves out.
    pub left_out: Vec<String>,
}

/// The route is taken away and nothing is accepted any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drained {
    /// The copy that served.
    pub source: CopyPlace,
    /// When the last accepted request had ended and sessions were revoked.
    pub drained_at: Timestamp,
    /// How many sessions were revoked.
    pub sessions_revoked: u64,
}

/// The route is as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undrained {
    /// The copy that serves.
    pub source: CopyPlace,
    /// The epoch of the route.
    pub epoch: PlacementEpoch,
}

/// No write gets into the copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fenced {
    /// The copy.
    pub source: CopyPlace,
    /// Under which token.
    pub token: FenceToken,
    /// Since when.
    pub fenced_at: Timestamp,
    /// How many tables are guarded.
    pub tables: u64,
}

/// Writes get into the copy again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfenced {
    /// The copy.
    pub source: CopyPlace,
    /// Under which token.
    pub token: FenceToken,
}

/// A copy is complete: of `transfer` and of `snapshot`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transferred {
    /// What it is a copy of.
    pub source: CopyPlace,
    /// The copy.
    pub target: CopyPlace,
    /// Its bytes, the database included.
    pub bytes: u64,
    /// Its files.
    pub files: u64,
    /// How many of its bytes came from the source's cell.
    pub sent_bytes: u64,
    /// How many of its bytes the target's cell had already, in another file of this environment.
    /// Both together are all of its bytes.
    pub reused_bytes: u64,
    /// The digest of its manifest.
    pub manifest_sha256: Digest,
    /// The instant whose state it has: of a snapshot, when its one read transaction began.
    pub captured_at: Timestamp,
}

/// Every byte was read back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// The copy.
    pub target: CopyPlace,
    /// How many bytes were read.
    pub bytes: u64,
    /// In how many files.
    pub files: u64,
    /// How many rows the database has.
    pub rows: u64,
    /// The digest of the manifest that they were held against.
    pub manifest_sha256: Digest,
    /// When.
    pub verified_at: Timestamp,
}

/// The route names the new owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routed {
    /// The copy that serves.
    pub target: CopyPlace,
    /// The epoch of the route.
    pub epoch: PlacementEpoch,
    /// Since when.
    pub routed_at: Timestamp,
}

/// What became of an older workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceLeft {
    /// There is none.
    None,
    /// It stays, without its caches, until it is retired by name.
    Kept,
}

/// An older copy is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retired {
    /// That copy.
    pub source: CopyPlace,
    /// What is left of it.
    pub workspace: WorkspaceLeft,
}

/// A copy that never served is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discarded {
    /// That copy.
    pub target: CopyPlace,
}

/// What an operation has done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Receipt {
    /// Who it is.
    Describe(Described),
    /// What there is.
    Inventory(Inventory),
    /// Nothing is accepted any more.
    Drain(Drained),
    /// The route is back.
    Undrain(Undrained),
    /// Nothing is written any more.
    Fence(Fenced),
    /// Writes get in again.
    Unfence(Unfenced),
    /// The copy is complete.
    Transfer(Transferred),
    /// The copy was read back.
    Verify(Verified),
    /// The route is new.
    Route(Routed),
    /// The older copy is gone.
    Retire(Retired),
    /// The copy is gone.
    Discard(Discarded),
    /// The package is complete and was read back.
    Snapshot(Transferred),
}

impl Receipt {
    /// The word of the operation.
    pub const fn op(&self) -> &'static str {
        match self {
            Self::Describe(_) => "describe",
            Self::Inventory(_) => "inventory",
            Self::Drain(_) => "drain",
            Self::Undrain(_) => "undrain",
            Self::Fence(_) => "fence",
            Self::Unfence(_) => "unfence",
            Self::Transfer(_) => "transfer",
            Self::Verify(_) => "verify",
            Self::Route(_) => "route",
            Self::Retire(_) => "retire",
            Self::Discard(_) => "discard",
            Self::Snapshot(_) => "snapshot",
        }
    }
}
