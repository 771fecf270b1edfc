//! What is registered beforehand: locations, cells, profiles, policies, pools, and measured usage.
//!
//! Source: facts/placement.md, section 2. Their JSON is stored for ever.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::capacity::{Amounts, Totals};
use super::protocol::WorkspaceState;
use crate::domain::id::{
    CellName, Cost, EnvironmentName, IsolationName, LocationName, PlacementPolicyName, PoolName,
    ProfileName, RelocatorName, Replicas, SettingRevision,
};
use crate::domain::scale::intent::Reason;
use crate::domain::scale::provenance::Claim;
use crate::domain::scale::result::Detail;
use crate::domain::scale::service::CLOCK_SKEW_MAX;
use crate::domain::time::{DurationMs, Timestamp};

/// How old measured usage may be unless a policy says otherwise.
pub const USAGE_FRESH_FOR_DEFAULT: DurationMs = DurationMs::from_secs(300);

/// Whether something that was measured then still counts. What was measured in the future, by a
/// clock that is wrong, does not.
pub fn is_fresh(measured_at: Timestamp, fresh_for: DurationMs, now: Timestamp) -> bool {
    now.since(measured_at) <= fresh_for && measured_at <= now.plus(CLOCK_SKEW_MAX)
}

/// Where cells are. A list of locations informs: the policy is asked again at every change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceLocation {
    /// Its name.
    pub name: LocationName,
    /// 1, and one more at each change.
    pub revision: SettingRevision,
    /// What people should know about it.
    pub about: Detail,
}

/// Why a cell takes nobody in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cordon {
    /// Since when.
    pub at: Timestamp,
    /// By whom.
    pub actor: Claim,
    /// Why.
    pub reason: Reason,
}

/// A place with capacity of its own, in one location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Its name.
    pub name: CellName,
    /// 1, and one more at each change.
    pub revision: SettingRevision,
    /// Where it is.
    pub location: LocationName,
    /// What environments may have of it together: what its host keeps for itself is not in here.
    pub allocatable: Amounts,
    /// When that was measured.
    pub measured_at: Timestamp,
    /// How long it counts; none for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh_for_ms: Option<DurationMs>,
    /// Why it takes nobody in, while it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cordon: Option<Cordon>,
}

impl Cell {
    /// Whether what was measured still counts.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        self.fresh_for_ms.is_none_or(|fresh_for| is_fresh(self.measured_at, fresh_for, now))
    }
}

/// What is reserved beside the floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overheads {
    /// While one version of the application replaces another.
    pub rollout_overlap: Amounts,
    /// What stands in front of every replica.
    pub queue_proxy: Amounts,
}

/// How much an environment is promised, and how much it may take at most. Never changed: another
/// content is another profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name.
    pub name: ProfileName,
    /// What is promised: a reservation, and no permission to take the maximum.
    pub floor: Amounts,
    /// The most that it may take, where there is room.
    pub maximum: Amounts,
    /// What is reserved beside the floor.
    pub overheads: Overheads,
    /// How it is kept apart from others.
    pub isolation: IsolationName,
}

impl Profile {
    /// What is reserved for it.
    pub fn reserved(&self) -> Amounts {
        self.floor.plus(self.overheads.rollout_overlap).plus(self.overheads.queue_proxy)
    }

    /// Whether an environment has less of something with this one than with another.
    pub fn is_smaller_than(&self, other: &Self) -> bool {
        self.floor.first_below(other.floor).or(self.maximum.first_below(other.maximum)).is_some()
    }
}

/// Which profiles and cells an environment may have, and what it may cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlacementPolicy {
    /// Its name.
    pub name: PlacementPolicyName,
    /// 1, and one more at each change. A request names the one that it was made against.
    pub revision: SettingRevision,
    /// The profiles that it offers, with what each costs per copy.
    pub offers: BTreeMap<ProfileName, Cost>,
    /// The cells that it lets an environment into.
    pub cells: BTreeSet<CellName>,
    /// The locations of these that it lets an environment into; empty for all of them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub locations: BTreeSet<LocationName>,
    /// The most that an environment may cost with its recovery copy. No request raises it.
    pub budget: Cost,
    /// How old measured usage may be that lets a profile shrink.
    pub usage_fresh_for_ms: DurationMs,
}

impl PlacementPolicy {
    /// Whether it lets an environment into a cell.
    pub fn lets_into(&self, cell: &Cell) -> bool {
        self.cells.contains(&cell.name)
            && (self.locations.is_empty() || self.locations.contains(&cell.location))
    }
}

/// What several services have together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplicaPool {
    /// Its name.
    pub name: PoolName,
    /// 1, and one more at each change.
    pub revision: SettingRevision,
    /// The most replicas that its services may have together.
    pub max_replicas: Replicas,
}

/// What an environment was measured to take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Which.
    pub environment: EnvironmentName,
    /// What its application and its data take.
    pub used: Amounts,
    /// Its workspace.
    pub workspace: WorkspaceState,
    /// What a running workspace takes; none where that was not measured, which is not zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_used: Option<Amounts>,
    /// When.
    pub measured_at: Timestamp,
}

impl Usage {
    /// All that it takes; none where a running workspace was not measured.
    pub fn total(&self) -> Option<Totals> {
        let mut total = Totals::default();
        total.add(self.used);
        match (self.workspace, self.workspace_used) {
            (WorkspaceState::Running, None) => return None,
            (WorkspaceState::Running, Some(used)) => total.add(used),
            // What nobody works in is storage of its own, outside of every profile.
            (WorkspaceState::None | WorkspaceState::Stopped, _) => {}
        }
        Some(total)
    }
}

/// Who moves copies, as it has introduced itself. The command stays on the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisteredRelocator {
    /// Its name here.
    pub name: RelocatorName,
    /// What it calls itself.
    pub adapter: String,
    /// Its version.
    pub version: String,
    /// The protocol that it speaks.
    pub protocol: String,
    /// What it can do.
    pub ops: BTreeSet<String>,
    /// How long one call may take.
    pub timeout_ms: DurationMs,
}

impl RegisteredRelocator {
    /// Whether it can do something.
    pub fn can(&self, op: &str) -> bool {
        self.ops.contains(op)
    }
}
