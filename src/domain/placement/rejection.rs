//! Rejections: every reason why nothing changes, with the facts that a person asks next.
//!
//! Source: facts/placement.md, section 3.

use std::fmt;

use serde::Serialize;

use super::capacity::{Amounts, Axis, Shortage};
use super::environment::Role;
use super::operation::{Course, OperationLease, Step};
use super::registry::Usage;
use crate::domain::id::{
    CellName, EnvironmentName, FenceToken, IdempotencyKey, OperationId, PlacementPolicyName,
    ProfileName, ServiceName,
};
use crate::domain::scale::policy::PolicyAnswer;
use crate::domain::scale::rejection::{Class, Difference};
use crate::domain::time::{DurationMs, Timestamp};

/// Why a cell cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Unfit {
    /// It has not enough.
    Short {
        /// Of what.
        missing: Vec<Shortage>,
    },
    /// It takes nobody in.
    Cordoned {
        /// Why.
        reason: String,
    },
    /// It was measured too long ago.
    Stale {
        /// When.
        measured_at: Timestamp,
    },
    /// The policy does not let the environment in.
    NotEligible,
    /// It is the cell of the other copy.
    Taken,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { missing } => {
                let missing: Vec<String> = missing.iter().map(Shortage::to_string).collect();
                f.write_str(&missing.join(", "))
            }
            Self::Cordoned { reason } => write!(f, "cordoned: {reason}"),
            Self::Stale { measured_at } => write!(f, "measured too long ago, at {measured_at}"),
            Self::NotEligible => f.write_str("the policy does not let it in"),
            Self::Taken => f.write_str("its other copy is there"),
        }
    }
}

/// What limits one cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// The cell.
    pub cell: CellName,
    /// Why it cannot be had.
    #[serde(flatten)]
    pub unfit: Unfit,
}

/// Why nothing changes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the facts that the texts name")]
pub enum PlacementRejection {
    /// A wish that contradicts itself or what is registered.
    #[error("{0}")]
    Contradiction(String),
    /// The policy does not offer the profile.
    #[error("policy {policy} does not offer profile {profile} to {environment}")]
    ProfileNotOffered {
        environment: EnvironmentName,
        policy: PlacementPolicyName,
        profile: ProfileName,
        offered: Vec<ProfileName>,
    },
    /// There is no such thing.
    #[error("there is no {noun} {name}")]
    NotFound { noun: &'static str, name: String },
    /// Nobody moves copies of the environment.
    #[error("{environment} has no relocator, and {what} needs one")]
    NoRelocator { environment: EnvironmentName, what: &'static str },

    /// A setting has moved.
    #[error("{noun} {name} is at revision {actual}, you expected {expected}")]
    StaleSetting { noun: &'static str, name: String, expected: u64, actual: u64 },
    /// The environment has moved.
    #[error("{environment} is at revision {actual}, you expected {expected}")]
    StaleRevision { environment: EnvironmentName, expected: u64, actual: u64 },
    /// The policy has moved.
    #[error("policy {policy} of {environment} is at revision {actual}, you named {expected}")]
    StalePolicy {
        environment: EnvironmentName,
        policy: PlacementPolicyName,
        expected: u64,
        actual: u64,
    },
    /// The key names another change.
    #[error("key {key} belongs to operation {operation_id} with another body")]
    KeyConflict { key: IdempotencyKey, operation_id: OperationId, differences: Vec<Difference> },
    /// The profile is another one.
    #[error("profile {profile} is registered with another {part}, and is never changed")]
    ProfileConflict { profile: ProfileName, part: &'static str, stored: String, submitted: String },
    /// What was measured later is recorded already.
    #[error("{environment} was measured at {recorded}, and this is of {given}")]
    OlderUsage { environment: EnvironmentName, recorded: Timestamp, given: Timestamp },
    /// The epoch of an environment would fall.
    #[error("{environment} is at epoch {actual}, and epoch {given} is before it")]
    OlderEpoch { environment: EnvironmentName, given: u64, actual: u64 },
    /// The operation is not in a state for this.
    #[error("operation {operation_id} is {}: {why}", course.as_str())]
    WrongCourse { operation_id: OperationId, course: Course, why: &'static str },
    /// Only forward.
    #[error("operation {operation_id} has committed epoch {epoch}: there is only forward")]
    OnlyForward { operation_id: OperationId, epoch: u64 },

    /// There is no room.
    #[error("{environment} finds no {} cell: {}", role.as_str(), shown(limits))]
    CapacityUnavailable {
        environment: EnvironmentName,
        role: Role,
        needed: Amounts,
        limits: Vec<Limit>,
    },
    /// It costs more than its budget.
    #[error("{environment} would cost {cost}, and its budget in policy {policy} is {budget}")]
    CostExceeded {
        environment: EnvironmentName,
        policy: PlacementPolicyName,
        cost: u128,
        budget: u64,
    },
    /// What it takes does not fit into the smaller profile.
    #[error(
        "{environment} takes {} of {}, and profile {profile} lets it have {}",
        axis.shown(*used),
        axis.as_str(),
        axis.shown(u128::from(*maximum))
    )]
    UnsafeShrink {
        environment: EnvironmentName,
        profile: ProfileName,
        axis: Axis,
        used: u128,
        maximum: u64,
        measured_at: Timestamp,
    },
    /// Nobody has said what it takes.
    #[error("nobody has measured what {environment} takes{}", of_workspace(usage.as_deref()))]
    UsageMissing { environment: EnvironmentName, usage: Option<Box<Usage>> },
    /// What it takes was measured too long ago.
    #[error(
        "what {environment} takes was measured {} ago, and the policy lets it be {fresh_for} old",
        now.since(*measured_at)
    )]
    UsageStale {
        environment: EnvironmentName,
        measured_at: Timestamp,
        fresh_for: DurationMs,
        now: Timestamp,
    },
    /// What it needs is not there.
    #[error("{environment} needs what is not there: {}", missing.join(", "))]
    MissingDependency { environment: EnvironmentName, missing: Vec<String> },
    /// That nothing is written any more could not be proved.
    #[error("that nobody writes to {environment} any more could not be proved: {why}")]
    UnprovableFencing { environment: EnvironmentName, why: String },
    /// Nobody could say what there is.
    #[error("nobody knows what {environment} consists of: {why}")]
    InventoryUnknown { environment: EnvironmentName, why: String },

    /// Somebody works in its workspace.
    #[error("the workspace of {environment} is running")]
    WorkspaceRunning { environment: EnvironmentName },
    /// It is being changed.
    #[error(
        "{environment} is being changed by operation {operation_id}, which {}",
        going(*course)
    )]
    OperationInFlight {
        environment: EnvironmentName,
        operation_id: OperationId,
        course: Course,
        step: Option<Step>,
    },
    /// Its services are being changed.
    #[error("{} of {environment} is being changed", named(services))]
    ServiceInFlight { environment: EnvironmentName, services: Vec<ServiceName> },
    /// Somebody else carries it out.
    #[error(
        "operation {operation_id} is carried out on {} (pid {}) until {}",
        lease.holder.host,
        lease.holder.pid,
        lease.expires_at
    )]
    OperationHeld { operation_id: OperationId, lease: Box<OperationLease> },
    /// Somebody else has taken it over.
    #[error("token {given} does not hold operation {operation_id} any more{}", of_token(*current))]
    LeaseLost { operation_id: OperationId, given: FenceToken, current: Option<FenceToken> },

    /// It waits for a person.
    #[error("operation {operation_id} is stuck at {}: {why}", step.as_str())]
    Stuck { operation_id: OperationId, step: Step, why: String },

    /// Policy says no.
    #[error("policy does not let {actor} {} {subject}", answer.action.as_str())]
    Denied { actor: String, subject: String, answer: Box<PolicyAnswer> },
}

fn shown(limits: &[Limit]) -> String {
    match limits {
        [] => "no cell is eligible".to_owned(),
        [one] => format!("{}: {}", one.cell, one.unfit),
        [first, ..] => {
            let more = crate::domain::count::counted(limits.len() as u64 - 1, "more cell");
            format!("{}: {}, and {more}", first.cell, first.unfit)
        }
    }
}

const fn going(course: Course) -> &'static str {
    match course {
        Course::Forward => "goes forward",
        Course::Back => "goes back",
        Course::Stuck => "is stuck",
        Course::Succeeded | Course::Failed => "is over",
    }
}

fn named(services: &[ServiceName]) -> String {
    let names: Vec<&str> = services.iter().map(ServiceName::as_str).collect();
    names.join(", ")
}

fn of_workspace(usage: Option<&Usage>) -> &'static str {
    if usage.is_some() { ": its workspace runs, and was left out" } else { "" }
}

fn of_token(current: Option<FenceToken>) -> String {
    current.map_or_else(String::new, |current| format!(": token {current} does"))
}

impl PlacementRejection {
    /// The word that a machine reads.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Contradiction(_) => "contradiction",
            Self::ProfileNotOffered { .. } => "profile_not_offered",
            Self::NotFound { .. } => "placement_not_found",
            Self::NoRelocator { .. } => "no_relocator",
            Self::StaleSetting { .. } => "stale_setting",
            Self::StaleRevision { .. } => "stale_revision",
            Self::StalePolicy { .. } => "stale_policy",
            Self::KeyConflict { .. } => "key_conflict",
            Self::ProfileConflict { .. } => "profile_conflict",
            Self::OlderUsage { .. } => "older_usage",
            Self::OlderEpoch { .. } => "older_epoch",
            Self::WrongCourse { .. } => "wrong_state",
            Self::OnlyForward { .. } => "only_forward",
            Self::CapacityUnavailable { .. } => "capacity_unavailable",
            Self::CostExceeded { .. } => "cost_exceeded",
            Self::UnsafeShrink { .. } => "unsafe_capacity_shrink",
            Self::UsageMissing { .. } => "usage_missing",
            Self::UsageStale { .. } => "usage_stale",
            Self::MissingDependency { .. } => "missing_dependency",
            Self::UnprovableFencing { .. } => "unprovable_fencing",
            Self::InventoryUnknown { .. } => "inventory_unknown",
            Self::WorkspaceRunning { .. } => "workspace_running",
            Self::OperationInFlight { .. } => "operation_in_flight",
            Self::ServiceInFlight { .. } => "service_in_flight",
            Self::OperationHeld { .. } => "operation_held",
            Self::LeaseLost { .. } => "lease_lost",
            Self::Stuck { .. } => "stuck",
            Self::Denied { .. } => "denied",
        }
    }

    /// The word of the exit table.
    pub const fn class(&self) -> Class {
        match self {
            Self::Contradiction(_) | Self::ProfileNotOffered { .. } => Class::Usage,
            Self::NotFound { .. } | Self::NoRelocator { .. } => Class::NotFound,
            Self::StaleSetting { .. }
            | Self::StaleRevision { .. }
            | Self::StalePolicy { .. }
            | Self::KeyConflict { .. }
            | Self::ProfileConflict { .. }
            | Self::OlderUsage { .. }
            | Self::OlderEpoch { .. }
            | Self::WrongCourse { .. }
            | Self::OnlyForward { .. } => Class::Conflict,
            Self::CapacityUnavailable { .. }
            | Self::CostExceeded { .. }
            | Self::UnsafeShrink { .. } => Class::Capacity,
            Self::UsageMissing { .. }
            | Self::UsageStale { .. }
            | Self::MissingDependency { .. }
            | Self::UnprovableFencing { .. }
            | Self::InventoryUnknown { .. } => Class::FactUnknown,
            Self::WorkspaceRunning { .. }
            | Self::OperationInFlight { .. }
            | Self::ServiceInFlight { .. }
            | Self::OperationHeld { .. }
            | Self::LeaseLost { .. } => Class::Held,
            Self::Stuck { .. } => Class::Attention,
            Self::Denied { .. } => Class::Denied,
        }
    }

    /// Whether the same line may succeed later without anybody changing it.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::CapacityUnavailable { .. }
            | Self::UsageMissing { .. }
            | Self::UsageStale { .. }
            | Self::MissingDependency { .. }
            | Self::InventoryUnknown { .. }
            | Self::WorkspaceRunning { .. }
            | Self::OperationInFlight { .. }
            | Self::ServiceInFlight { .. }
            | Self::OperationHeld { .. } => true,
            Self::Contradiction(_)
            | Self::ProfileNotOffered { .. }
            | Self::NotFound { .. }
            | Self::NoRelocator { .. }
            | Self::StaleSetting { .. }
            | Self::StaleRevision { .. }
            | Self::StalePolicy { .. }
            | Self::KeyConflict { .. }
            | Self::ProfileConflict { .. }
            | Self::OlderUsage { .. }
            | Self::OlderEpoch { .. }
            | Self::WrongCourse { .. }
            | Self::OnlyForward { .. }
            | Self::CostExceeded { .. }
            | Self::UnsafeShrink { .. }
            | Self::UnprovableFencing { .. }
            | Self::LeaseLost { .. }
            | Self::Stuck { .. }
            | Self::Denied { .. } => false,
        }
    }

    /// Whether the refusal itself is kept as a row: what policy denies, and what finds no room.
    pub const fn is_kept(&self) -> bool {
        matches!(self.class(), Class::Denied | Class::Capacity)
    }
}
