//! Commands: what somebody wants of the placement, read at the border and told what the world said.

use super::environment::RuntimeMode;
use super::operation::{OperationLease, Step};
use super::protocol::{Generation, Inventory, Receipt, RelocatorError};
use super::registry::{
    Cell, PlaceLocation, PlacementPolicy, Profile, RegisteredRelocator, ReplicaPool, Usage,
};
use super::request::KeyedRequest;
use crate::domain::id::{
    CallId, CellName, EnvironmentName, FenceToken, LeaseInstanceId, LedgerId, OperationId,
    PlacementPolicyName, ProfileName, RelocatorName, ServiceName,
};
use crate::domain::scale::intent::Reason;
use crate::domain::scale::lease::Holder;
use crate::domain::scale::policy::PolicyGate;
use crate::domain::scale::provenance::Provenance;
use crate::domain::scale::result::Detail;
use crate::domain::time::DurationMs;

/// What a revisioned setting is to be; its revision is the one that it is made after, and it is
/// none where it must not be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put<T> {
    /// The setting. Its own revision does not count.
    pub setting: T,
    /// The revision that is expected: 0 where it must not be there; none takes what is there.
    pub expected: Option<u64>,
}

/// An environment that is there, as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptEnvironment {
    /// Its name.
    pub environment: EnvironmentName,
    /// The revision that is expected: 0 where it must not be known.
    pub expected_revision: u64,
    /// The policy that it is under.
    pub policy: PlacementPolicyName,
    /// Who moves its copies.
    pub relocator: Option<RelocatorName>,
    /// The cell that it is in.
    pub cell: CellName,
    /// The copy that serves there.
    pub generation: Generation,
    /// What it is promised.
    pub profile: ProfileName,
    /// Whether it may sleep.
    pub runtime_mode: RuntimeMode,
    /// Why.
    pub reason: Reason,
    /// What its relocator says of the copy; none where nobody moves it.
    pub sighting: Option<Sighting>,
}

/// What the relocator said of the copy that serves, right before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sighting {
    /// What there is.
    Seen(Box<Inventory>),
    /// It refused to say.
    Refused(Box<RelocatorError>),
    /// It could not be asked.
    Unasked(String),
}

/// A change, with what was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The change.
    pub asked: KeyedRequest,
    /// The name of its operation, if it is admitted.
    pub operation_id: OperationId,
    /// What the relocator said; none where it was not asked.
    pub sighting: Option<Sighting>,
    /// What of the environment's services is in flight.
    pub in_flight: Vec<ServiceName>,
}

/// How a call of a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepEnd {
    /// It is done.
    Done(Box<Receipt>),
    /// It was refused.
    Refused(Box<RelocatorError>),
    /// Nobody knows.
    Lost(Detail),
}

/// What somebody wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Make or change a location.
    PutLocation(Put<PlaceLocation>),
    /// Make, change or measure a cell.
    PutCell(Box<Put<Cell>>),
    /// Let a cell take nobody in, or somebody again.
    CordonCell {
        /// Which.
        cell: CellName,
        /// Why it takes nobody in; none where it does again.
        reason: Option<Reason>,
    },
    /// Register a profile.
    PutProfile(Box<Profile>),
    /// Make or change a placement policy.
    PutPolicy(Box<Put<PlacementPolicy>>),
    /// Make or change a pool.
    PutPool(Put<ReplicaPool>),
    /// Say what an environment takes.
    RecordUsage(Box<Usage>),
    /// Register a relocator.
    RegisterRelocator(Box<RegisteredRelocator>),
    /// Know an environment as it is.
    Adopt(Box<AdoptEnvironment>),
    /// Change a placement.
    Change(Box<Change>),
    /// Carry an operation out.
    AcquireLease {
        /// Which.
        operation_id: OperationId,
        /// The new grant.
        lease_instance_id: LeaseInstanceId,
        /// Who.
        holder: Holder,
        /// For how long.
        ttl: DurationMs,
        /// Whether whoever holds a lease that lives is known to be gone, or is to be superseded.
        supersede: bool,
    },
    /// Go on with it.
    RenewLease {
        /// Which.
        operation_id: OperationId,
        /// Under which token.
        token: FenceToken,
        /// For how long from now.
        ttl: DurationMs,
    },
    /// Do not go on with it.
    ReleaseLease {
        /// Which.
        operation_id: OperationId,
        /// Under which token.
        token: FenceToken,
    },
    /// Begin the next step: a call that is about to be made.
    StartStep {
        /// Of which.
        operation_id: OperationId,
        /// Under which token.
        token: FenceToken,
        /// The call.
        call_id: CallId,
        /// What of the environment's services is in flight.
        in_flight: Vec<ServiceName>,
    },
    /// Record how the call of a step ended.
    EndStep {
        /// Of which.
        operation_id: OperationId,
        /// Under which token.
        token: FenceToken,
        /// The step.
        step: Step,
        /// How.
        end: StepEnd,
    },
    /// Do the next step, which is the ledger's alone.
    Commit {
        /// Of which.
        operation_id: OperationId,
        /// Under which token.
        token: FenceToken,
        /// The services of the environment.
        services: Vec<ServiceName>,
    },
    /// Let what is stuck be tried again.
    Retry {
        /// Which.
        operation_id: OperationId,
        /// Why.
        reason: Detail,
    },
    /// Give a change up: undo what was done of it.
    Abandon {
        /// Which.
        operation_id: OperationId,
        /// Why.
        reason: Detail,
        /// A lease whose holder is known to be gone, where one is.
        gone: Option<FenceToken>,
    },
}

/// What a decision rests on beside the state.
pub struct Context<'c> {
    /// Who asks.
    pub by: &'c Provenance,
    /// The ledger.
    pub ledger_id: &'c LedgerId,
    /// How often the ledger was put back from a copy.
    pub incarnation: u64,
    /// Whoever answers whether somebody may.
    pub policy: &'c dyn PolicyGate,
}

/// What the ledger says of a lease that was given: kept by whoever carries an operation out.
pub type Granted = OperationLease;
