//! Leases: permission for one attempt, and who holds it.

use serde::{Deserialize, Serialize};

use super::intent::Fence;
use crate::domain::id::{AttemptNumber, ControllerId, HostKey, LeaseInstanceId};
use crate::domain::time::{DurationMs, Timestamp};

/// The shortest lease.
pub const LEASE_TTL_MIN: DurationMs = DurationMs::from_secs(1);
/// The longest lease (seed 000).
pub const LEASE_TTL_MAX: DurationMs = DurationMs::from_secs(900);
/// The lease that `actuate` takes and `lease acquire` gives unless told otherwise.
pub const LEASE_TTL_DEFAULT: DurationMs = DurationMs::from_secs(60);
/// What `actuate` keeps of its lease beyond the timeout of the actuator.
pub const LEASE_MARGIN: DurationMs = DurationMs::from_secs(30);

/// A lease as the contract says it (`ControllerLease` of seed 000).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerLease {
    /// This grant and no other.
    pub lease_instance_id: LeaseInstanceId,
    /// Who may act.
    pub controller_id: ControllerId,
    /// The fence of the intent.
    pub fence: Fence,
    /// The attempt that it permits.
    pub attempt: AttemptNumber,
    /// When it began.
    pub acquired_at: Timestamp,
    /// From this instant on it permits nothing. After `acquired_at`.
    pub expires_at: Timestamp,
}

/// Which process holds a lease: shown to whoever waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holder {
    /// The host's name, for people.
    pub host: String,
    /// The host, its boot and its process namespace, for machines.
    pub host_key: HostKey,
    /// The process on that host.
    pub pid: u32,
}

/// A lease with its holder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldLease {
    /// The lease.
    pub lease: ControllerLease,
    /// Who holds it.
    pub holder: Holder,
}

impl HeldLease {
    /// Whether it still permits something at `now`.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        now < self.lease.expires_at
    }
}
