//! Commands: what somebody asks for, in the imperative, with every fact that was gathered for it.

mod attempt;
mod authority;
mod gateway;
mod put;

pub use attempt::{CallEnd, CallPlan, Settlement, StartAttempt};
pub use authority::{
    Adopt, AuthorityCommand, Authorize, HandOver, Observed, RegisterService, Tick,
};
pub use gateway::{GatewayCommand, ImportService};
pub use put::{Premise, PutForm, PutIntent};

use super::lease::Holder;
use super::observation::Reading;
use super::others::Others;
use super::policy::{PolicyGate, RecentChanges};
use super::provenance::Provenance;
use super::result::Detail;
use super::service::{Binding, RegisteredActuator};
use super::state::FenceMark;
use crate::domain::id::{
    AttemptNumber, AuthorizationId, CellName, ControllerId, EnvironmentName, ExecutionKey,
    LeaseInstanceId, LedgerId, OperationId, ServiceName, TargetUid,
};
use crate::domain::time::{DurationMs, Timestamp};

/// What holds for every command: who asks, where, and what is known beside the service's stream.
pub struct Context<'a> {
    /// Who asks.
    pub by: &'a Provenance,
    /// The ledger.
    pub ledger_id: &'a LedgerId,
    /// The actuator of the service, as registered.
    pub actuator: Option<&'a RegisteredActuator>,
    /// Whoever answers policy questions.
    pub policy: &'a dyn PolicyGate,
    /// How much was changed lately; none where no rule asks for it.
    pub recent: Option<RecentChanges>,
    /// How its environment stands; none where it is a part of none, or nobody has placed that.
    pub placed: Option<PlacedIn>,
}

/// How the environment of a service stands, as far as its counts go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedIn {
    /// The environment.
    pub environment: EnvironmentName,
    /// The cell that it serves in.
    pub cell: CellName,
    /// The change that keeps requests away from it, while one does.
    pub away: Option<OperationId>,
    /// Whether it keeps a positive count.
    pub keeps_one: bool,
}

/// Everything that can be asked of one service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Make or change the settings.
    RegisterService(Box<RegisterService>),
    /// Record what the target is.
    BindTarget {
        /// The service.
        service: ServiceName,
        /// The reading.
        reading: Reading,
        /// The serial of the service before it began.
        began_after_serial: u64,
        /// What was bound before it began.
        bound_before: Option<Binding>,
        /// The new identity that is meant, where the object was recreated.
        accept_uid: Option<TargetUid>,
        /// The other services of the ledger that have the target as it was read.
        others: Others,
    },
    /// Put a wish.
    Put(Box<PutIntent>),
    /// Take a wish back before it starts.
    Withdraw {
        /// The key.
        key: ExecutionKey,
        /// Why.
        reason: Option<Detail>,
        /// Whether it may be somebody else's.
        supersede: bool,
    },
    /// End a retryable failure.
    Abandon {
        /// The key.
        key: ExecutionKey,
        /// Why.
        reason: Detail,
        /// Whether it may be somebody else's.
        supersede: bool,
    },
    /// Take the permission for the next attempt.
    AcquireLease {
        /// The key.
        key: ExecutionKey,
        /// Who.
        controller: ControllerId,
        /// The instance to use where none is held.
        lease_instance_id: LeaseInstanceId,
        /// The process that holds it.
        holder: Holder,
        /// How long.
        ttl: DurationMs,
    },
    /// Keep a lease longer.
    RenewLease {
        /// The key.
        key: ExecutionKey,
        /// The lease.
        lease_instance_id: LeaseInstanceId,
        /// How long from now.
        ttl: DurationMs,
    },
    /// Give a lease back.
    ReleaseLease {
        /// The key.
        key: ExecutionKey,
        /// The lease.
        lease_instance_id: LeaseInstanceId,
    },
    /// Record a simulation: nobody is called.
    Simulate {
        /// The key.
        key: ExecutionKey,
        /// Who acts.
        controller: ControllerId,
    },
    /// Start the next attempt.
    Start(Box<StartAttempt>),
    /// Record what became of a call.
    EndCall {
        /// The key.
        key: ExecutionKey,
        /// The attempt.
        attempt: AttemptNumber,
        /// The lease under which it was made.
        lease_instance_id: LeaseInstanceId,
        /// What became of it.
        end: CallEnd,
        /// When its process group was known dead, where that could be proved.
        ended_at: Option<Timestamp>,
    },
    /// Record that the end of a lost call was proved.
    ProveEnd {
        /// The key.
        key: ExecutionKey,
        /// The attempt.
        attempt: AttemptNumber,
        /// When its process group was known dead.
        ended_at: Timestamp,
    },
    /// Record the target's promise that nothing of a lost attempt takes effect any more.
    RecordFence {
        /// The key.
        key: ExecutionKey,
        /// The attempt.
        attempt: AttemptNumber,
        /// What the target was right before it promised; none where nobody could read it.
        before: Option<Reading>,
    },
    /// Settle an attempt whose outcome is unknown.
    Settle {
        /// The key.
        key: ExecutionKey,
        /// How.
        settlement: Box<Settlement>,
        /// The authorization that breaks the glass for a person's word.
        authorization: Option<AuthorizationId>,
    },
    /// Confirm a result, by a reading or, without one, by the actuator's own word.
    Observe {
        /// The key.
        key: ExecutionKey,
        /// The reading and the serial of the service before it began.
        reading: Option<(Reading, u64)>,
        /// What was bound before it began.
        bound_before: Option<Binding>,
    },
    /// Take the clock for right that is behind the time mark.
    AcceptClock {
        /// The service.
        service: ServiceName,
        /// Why.
        reason: Detail,
    },
    /// Lay something upon the service as a whole, or answer what waits for a person.
    Authority(Box<AuthorityCommand>),
    /// What only the gateway's contract asks for.
    Gateway(Box<GatewayCommand>),
    /// Go on after the ledger was put back from a copy.
    Restore {
        /// The incarnation that begins.
        incarnation: u64,
        /// No fence of the lost history is above this.
        lost: FenceMark,
    },
    /// Go on where the environment is that the service is a part of.
    Relocate {
        /// What is said of wishes that have waited meanwhile.
        why: Detail,
    },
}

impl Command {
    /// Whether it tells what has happened already, or keeps what is happening alive. That is never
    /// refused for a clock: no refusal would undo it.
    pub(super) const fn has_happened(&self) -> bool {
        match self {
            Self::EndCall { .. }
            | Self::ProveEnd { .. }
            | Self::RecordFence { .. }
            | Self::RenewLease { .. }
            | Self::Restore { .. }
            | Self::Relocate { .. } => true,
            Self::RegisterService(_)
            | Self::BindTarget { .. }
            | Self::Put(_)
            | Self::Withdraw { .. }
            | Self::Abandon { .. }
            | Self::AcquireLease { .. }
            | Self::ReleaseLease { .. }
            | Self::Simulate { .. }
            | Self::Start(_)
            | Self::Settle { .. }
            | Self::Observe { .. }
            | Self::AcceptClock { .. }
            | Self::Gateway(_)
            | Self::Authority(_) => false,
        }
    }

    /// Whether policy may be asked about the service for it.
    pub fn asks_about_a_service(&self) -> bool {
        match self {
            Self::Put(_)
            | Self::Simulate { .. }
            | Self::Start(_)
            | Self::Authority(_)
            | Self::Settle { .. } => true,
            // Raising a bound under an authorization asks for it again.
            Self::RegisterService(ask) => ask.authorization.is_some(),
            Self::BindTarget { .. }
            | Self::Withdraw { .. }
            | Self::Abandon { .. }
            | Self::AcquireLease { .. }
            | Self::RenewLease { .. }
            | Self::ReleaseLease { .. }
            | Self::EndCall { .. }
            | Self::ProveEnd { .. }
            | Self::RecordFence { .. }
            | Self::Observe { .. }
            | Self::AcceptClock { .. }
            | Self::Gateway(_)
            | Self::Restore { .. }
            | Self::Relocate { .. } => false,
        }
    }

    /// The key that it is about, if it is about one.
    pub fn execution_key(&self) -> Option<&ExecutionKey> {
        match self {
            Self::RegisterService(_)
            | Self::BindTarget { .. }
            | Self::AcceptClock { .. }
            | Self::Restore { .. }
            | Self::Relocate { .. } => None,
            Self::Put(put) => Some(put.key()),
            Self::Authority(command) => command.execution_key(),
            Self::Gateway(command) => command.execution_key(),
            Self::Start(start) => Some(&start.key),
            Self::Withdraw { key, .. }
            | Self::Abandon { key, .. }
            | Self::AcquireLease { key, .. }
            | Self::RenewLease { key, .. }
            | Self::ReleaseLease { key, .. }
            | Self::Simulate { key, .. }
            | Self::EndCall { key, .. }
            | Self::ProveEnd { key, .. }
            | Self::RecordFence { key, .. }
            | Self::Settle { key, .. }
            | Self::Observe { key, .. } => Some(key),
        }
    }
}
