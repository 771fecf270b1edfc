//! What `scale` is asked, and what it came to.

use super::super::carry::CarryOptions;
use super::super::report::Report;
use super::super::resume::Wished;
use crate::domain::scale::state::ServiceHead;
use crate::domain::time::DurationMs;

/// Until when `scale` goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// Until the actuator has answered.
    Applied,
    /// Until enough readings agree.
    Verified,
    /// Until, beyond that, all wished replicas are ready.
    Ready,
}

/// What `scale` is asked.
pub struct ScaleRequest {
    /// What is wished.
    pub wished: Wished,
    /// Until when to go on.
    pub wait: Wait,
    /// How long to wait for all of it; zero for no wait at all.
    pub timeout: DurationMs,
    /// Whether a colleague is waited for, too.
    pub wait_approval: bool,
    /// How attempts are carried out.
    pub options: CarryOptions,
}

/// What `scale` came to.
pub struct Scaled {
    /// Where the key stands; none where the target was already as wished and nothing was recorded.
    pub report: Option<Report>,
    /// The service.
    pub head: ServiceHead,
    /// Whether this run changed the target or the ledger.
    pub changed: bool,
    /// Whether the wished replicas are ready, where [`Wait::Ready`] asked for it.
    pub readiness: Readiness,
}

/// Whether the wished replicas are ready, where that was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// They are, or nobody asked.
    Reached,
    /// Not all of them.
    NotYet,
    /// The target does not say.
    Unknown,
}
