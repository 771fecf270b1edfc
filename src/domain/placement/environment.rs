//! An environment: what is wished of it, who its committed owner is, and what is reserved for it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::capacity::Amounts;
use super::protocol::{CopyPlace, Generation};
use super::request::{LocationWish, StandbyWish};
use crate::domain::digest::Digest;
use crate::domain::id::{
    CellName, EnvironmentName, EnvironmentRevision, FenceToken, LocationName, OperationId,
    OutOfRange, PlacementEpoch, PlacementPolicyName, ProfileName, RelocatorName, counted,
};
use crate::domain::time::Timestamp;

/// Whether an environment may sleep (facts/placement.md, section 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeMode {
    /// Zero replicas are allowed.
    OnDemand,
    /// At least one is kept.
    AlwaysOn,
}

/// A text that names no runtime mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not on-demand or always-on")]
pub struct InvalidMode(String);

impl RuntimeMode {
    /// The word for people and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OnDemand => "on-demand",
            Self::AlwaysOn => "always-on",
        }
    }
}

impl fmt::Display for RuntimeMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RuntimeMode {
    type Err = InvalidMode;
    fn from_str(text: &str) -> Result<Self, InvalidMode> {
        [Self::OnDemand, Self::AlwaysOn]
            .into_iter()
            .find(|mode| mode.as_str() == text)
            .ok_or_else(|| InvalidMode(text.chars().take(80).collect()))
    }
}

/// What is wished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Desired {
    /// How much.
    pub profile: ProfileName,
    /// Where.
    pub location: LocationWish,
    /// Exactly where, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellName>,
    /// Where its recovery copy is.
    pub standby: StandbyWish,
    /// Whether it may sleep.
    pub runtime_mode: RuntimeMode,
}

/// The committed owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effective {
    /// The cell that it serves in.
    pub cell: CellName,
    /// The location of that.
    pub location: LocationName,
    /// What it is promised there.
    pub profile: ProfileName,
    /// Whether it may sleep.
    pub runtime_mode: RuntimeMode,
    /// The copy that serves.
    pub generation: Generation,
    /// One more at each commit of another owner.
    pub epoch: PlacementEpoch,
    /// Since when.
    pub since: Timestamp,
}

impl Effective {
    /// The copy that serves.
    pub fn copy(&self) -> CopyPlace {
        CopyPlace { cell: self.cell.clone(), generation: self.generation.clone() }
    }
}

/// A verified recovery copy of one point in time. It is not replicated on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standby {
    /// The package.
    pub copy: CopyPlace,
    /// The location of its cell.
    pub location: LocationName,
    /// The instant whose state it has.
    pub captured_at: Timestamp,
    /// Its bytes.
    pub bytes: u64,
    /// The digest of its manifest.
    pub manifest_sha256: Digest,
}

/// What a reservation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The committed owner.
    Primary,
    /// The recovery copy.
    Standby,
    /// What a change needs beside them until it is over.
    Overlap,
}

impl Role {
    /// The word for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Standby => "standby",
            Self::Overlap => "overlap",
        }
    }
}

/// Capacity of a cell that nobody else is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reservation {
    /// What for.
    pub role: Role,
    /// Of which cell.
    pub cell: CellName,
    /// By which profile.
    pub profile: ProfileName,
    /// How much.
    pub amounts: Amounts,
}

/// An environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Its name.
    pub name: EnvironmentName,
    /// 1, and one more at each change that was admitted.
    pub revision: EnvironmentRevision,
    /// The policy that it is under.
    pub policy: PlacementPolicyName,
    /// Who moves its copies; none where nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relocator: Option<RelocatorName>,
    /// What is wished.
    pub desired: Desired,
    /// The committed owner.
    pub effective: Effective,
    /// The verified recovery copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standby: Option<Standby>,
    /// What is reserved for it.
    pub reservations: Vec<Reservation>,
    /// The change that is not over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
    /// How many leases of its operations were ever given.
    #[serde(deserialize_with = "counted")]
    pub leases: u64,
    /// The newest token that its relocator has seen, where that was not of this ledger: a person
    /// has said that nobody holds it any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<FenceToken>,
    /// Older copies of which the workspace was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept_workspaces: Vec<CopyPlace>,
}

/// How many leases one incarnation of a ledger can give to one environment.
const LEASES_BITS: u32 = 32;

impl Environment {
    /// The token of its next lease: above all of this ledger and of every state of it that was put
    /// back from a copy, because it begins with the incarnation.
    pub fn next_token(&self, incarnation: u64) -> Result<FenceToken, OutOfRange> {
        let number = self.leases.saturating_add(1);
        let whole = incarnation.saturating_mul(1 << LEASES_BITS);
        if number >= 1 << LEASES_BITS {
            return FenceToken::new(u64::MAX);
        }
        let above = self.seen.map_or(0, |seen| seen.get().saturating_add(1));
        FenceToken::new(whole.saturating_add(number).max(above))
    }

    /// The reservation of a role.
    pub fn reserved(&self, role: Role) -> Option<&Reservation> {
        self.reservations.iter().find(|reservation| reservation.role == role)
    }
}
