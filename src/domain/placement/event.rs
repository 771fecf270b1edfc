//! Events: what happened to the placement, in the past tense. Their JSON is stored for ever.

use serde::{Deserialize, Serialize};

use super::environment::{Environment, Reservation, Standby};
use super::operation::{Course, Operation, OperationLease, Step, Trouble};
use super::protocol::Receipt;
use super::registry::{
    Cell, PlaceLocation, PlacementPolicy, Profile, RegisteredRelocator, ReplicaPool, Usage,
};
use crate::domain::id::{
    CallId, EnvironmentName, FenceToken, OperationId, PlacementEpoch, ServiceName,
};
use crate::domain::scale::event::Stamped;
use crate::domain::scale::intent::Reason;
use crate::domain::scale::policy::PolicyAnswer;
use crate::domain::scale::result::Detail;
use crate::domain::time::Timestamp;

/// One thing that happened to the placement.
pub type PlacementEvent = Stamped<PlacementBody>;

/// What happened to the placement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event", deny_unknown_fields)]
pub enum PlacementBody {
    /// A location was made or changed.
    LocationPut {
        /// As it is now.
        location: PlaceLocation,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// A cell was made or changed, or measured anew.
    CellPut {
        /// As it is now.
        cell: Cell,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// A profile was registered.
    ProfileRegistered {
        /// For ever.
        profile: Profile,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// A placement policy was made or changed.
    PlacementPolicyPut {
        /// As it is now.
        policy: PlacementPolicy,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// A pool was made or changed.
    PoolPut {
        /// As it is now.
        pool: ReplicaPool,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// An environment was measured.
    UsageRecorded {
        /// What it takes.
        usage: Usage,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// A relocator was registered, or registered anew under the same name.
    RelocatorRegistered {
        /// What it can do.
        relocator: RegisteredRelocator,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// An environment that is there is known from now on, as it is.
    EnvironmentAdopted {
        /// As it is.
        environment: Box<Environment>,
        /// Why.
        reason: Reason,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// A change was admitted, with everything that it needs.
    ChangeAdmitted {
        /// The change.
        operation: Box<Operation>,
        /// What is reserved for the environment from now on.
        reservations: Vec<Reservation>,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// Somebody carries it out.
    OperationLeased {
        /// Which.
        operation_id: OperationId,
        /// Who, and until when.
        lease: OperationLease,
    },
    /// They go on with it.
    OperationLeaseRenewed {
        /// Which.
        operation_id: OperationId,
        /// Under which token.
        token: FenceToken,
        /// Until when.
        expires_at: Timestamp,
    },
    /// They do not go on with it.
    OperationLeaseReleased {
        /// Which.
        operation_id: OperationId,
        /// Under which token.
        token: FenceToken,
    },
    /// A step is about to be done.
    StepStarted {
        /// Of which.
        operation_id: OperationId,
        /// The step.
        step: Step,
        /// Under which token.
        token: FenceToken,
        /// The committed epoch before the change.
        epoch: PlacementEpoch,
        /// The call.
        call_id: CallId,
    },
    /// A step is done.
    StepDone {
        /// Of which.
        operation_id: OperationId,
        /// The step.
        step: Step,
        /// Under which token.
        token: FenceToken,
        /// The committed epoch before the change.
        epoch: PlacementEpoch,
        /// What the relocator says.
        receipt: Box<Receipt>,
    },
    /// A step did not come to its end.
    StepFailed {
        /// Of which.
        operation_id: OperationId,
        /// The step.
        step: Step,
        /// Under which token.
        token: FenceToken,
        /// The committed epoch before the change.
        epoch: PlacementEpoch,
        /// Why.
        trouble: Trouble,
        /// What follows.
        course: Course,
    },
    /// Another owner is the committed one.
    PlacementCommitted {
        /// By which.
        operation_id: OperationId,
        /// Under which token; none where nothing is moved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<FenceToken>,
        /// The epoch that holds now.
        epoch: PlacementEpoch,
        /// What is reserved from now on.
        reservations: Vec<Reservation>,
        /// The services of the environment: which object each of them is now, its next reading says.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        services: Vec<ServiceName>,
    },
    /// Another recovery copy is the one that counts, or none is.
    StandbyCommitted {
        /// By which.
        operation_id: OperationId,
        /// Under which token.
        token: FenceToken,
        /// The copy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        standby: Option<Standby>,
        /// What is reserved from now on.
        reservations: Vec<Reservation>,
    },
    /// A person lets what is stuck be tried again.
    OperationRetried {
        /// Which.
        operation_id: OperationId,
        /// Why.
        reason: Detail,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// A person has given a change up, so that it is undone.
    OperationAbandoned {
        /// Which.
        operation_id: OperationId,
        /// Why.
        reason: Detail,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// A change is over.
    OperationEnded {
        /// Which.
        operation_id: OperationId,
        /// How.
        course: Course,
        /// What is reserved from now on.
        reservations: Vec<Reservation>,
    },
}

impl PlacementBody {
    /// The word on the wire.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::LocationPut { .. } => "location_put",
            Self::CellPut { .. } => "cell_put",
            Self::ProfileRegistered { .. } => "profile_registered",
            Self::PlacementPolicyPut { .. } => "placement_policy_put",
            Self::PoolPut { .. } => "pool_put",
            Self::UsageRecorded { .. } => "usage_recorded",
            Self::RelocatorRegistered { .. } => "relocator_registered",
            Self::EnvironmentAdopted { .. } => "environment_adopted",
            Self::ChangeAdmitted { .. } => "change_admitted",
            Self::OperationLeased { .. } => "operation_leased",
            Self::OperationLeaseRenewed { .. } => "operation_lease_renewed",
            Self::OperationLeaseReleased { .. } => "operation_lease_released",
            Self::StepStarted { .. } => "step_started",
            Self::StepDone { .. } => "step_done",
            Self::StepFailed { .. } => "step_failed",
            Self::PlacementCommitted { .. } => "placement_committed",
            Self::StandbyCommitted { .. } => "standby_committed",
            Self::OperationRetried { .. } => "operation_retried",
            Self::OperationAbandoned { .. } => "operation_abandoned",
            Self::OperationEnded { .. } => "operation_ended",
        }
    }

    /// The operation that it is about, if it is about one.
    pub const fn operation_id(&self) -> Option<&OperationId> {
        match self {
            Self::LocationPut { .. }
            | Self::CellPut { .. }
            | Self::ProfileRegistered { .. }
            | Self::PlacementPolicyPut { .. }
            | Self::PoolPut { .. }
            | Self::UsageRecorded { .. }
            | Self::RelocatorRegistered { .. }
            | Self::EnvironmentAdopted { .. } => None,
            Self::ChangeAdmitted { operation, .. } => Some(&operation.operation_id),
            Self::OperationLeased { operation_id, .. }
            | Self::OperationLeaseRenewed { operation_id, .. }
            | Self::OperationLeaseReleased { operation_id, .. }
            | Self::StepStarted { operation_id, .. }
            | Self::StepDone { operation_id, .. }
            | Self::StepFailed { operation_id, .. }
            | Self::PlacementCommitted { operation_id, .. }
            | Self::StandbyCommitted { operation_id, .. }
            | Self::OperationRetried { operation_id, .. }
            | Self::OperationAbandoned { operation_id, .. }
            | Self::OperationEnded { operation_id, .. } => Some(operation_id),
        }
    }

    /// The environment that it names itself; one of an operation is found in that.
    pub const fn environment(&self) -> Option<&EnvironmentName> {
        match self {
            Self::EnvironmentAdopted { environment, .. } => Some(&environment.name),
            Self::ChangeAdmitted { operation, .. } => Some(&operation.environment),
            Self::UsageRecorded { usage, .. } => Some(&usage.environment),
            _ => None,
        }
    }
}
