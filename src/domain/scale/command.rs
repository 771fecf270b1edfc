//! Commands: what somebody asks for, in the imperative, with every fact that was gathered for it.

use super::attempt::{ResultSource, UnknownWhy};
use super::intent::{IntentRecord, Reason, RetryPolicy};
use super::lease::Holder;
use super::observation::{Evidence, Reading};
use super::policy::PolicyGate;
use super::provenance::Provenance;
use super::result::{ActuationResult, Detail};
use super::service::{Binding, RegisteredActuator, Registration};
use super::state::FenceMark;
use crate::domain::id::{
    AttemptNumber, CallId, ControllerId, ExecutionKey, FenceToken, IntentRevision, LeaseEpoch,
    LeaseInstanceId, LedgerId, Replicas, ServiceName, TargetResourceVersion, TargetUid,
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
    /// Where the wish comes from, for policy: `cli` …
    pub source: &'a str,
}

/// What a put believes about the intents before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Premise {
    /// The newest intent revision is this; 0 before the first.
    Revision(u64),
    /// Whatever is newest.
    Latest,
}

/// How a wish was submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutForm {
    /// From flags: the rest is minted.
    Flags {
        /// What is wished.
        replicas: Replicas,
        /// Why.
        reason: Reason,
        /// How often and how soon to try again; none for the registration's.
        retry_policy: Option<RetryPolicy>,
        /// The key; the caller mints one where none was given.
        key: ExecutionKey,
        /// A fence of the writer's own.
        fence: Option<(LeaseEpoch, FenceToken)>,
        /// The life of the fence.
        valid_for: DurationMs,
    },
    /// The whole record of the contract.
    Record(Box<IntentRecord>),
}

/// Put one wish.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent flag of the caller")]
pub struct PutIntent {
    /// The service.
    pub service: ServiceName,
    /// The wish.
    pub form: PutForm,
    /// Whether it is a recorded simulation.
    pub dry_run: bool,
    /// What it believes about the intents before it.
    pub premise: Premise,
    /// What it believes about the count.
    pub expect_count: Option<Replicas>,
    /// Whether it may wait behind what is in flight.
    pub queue: bool,
    /// Whether it may end another actor's waiting intent.
    pub supersede: bool,
    /// Whether it asks policy to pass the cooldown.
    pub override_cooldown: bool,
    /// Whether a person vouches for what is not drained.
    pub attest_not_drained: bool,
    /// The service and revision that the key already names elsewhere in the ledger.
    pub key_elsewhere: Option<(ServiceName, IntentRevision)>,
    /// The key that the intent id and revision already name in the ledger.
    pub id_owner: Option<ExecutionKey>,
}

impl PutIntent {
    /// The key that it names.
    pub fn key(&self) -> &ExecutionKey {
        match &self.form {
            PutForm::Flags { key, .. } => key,
            PutForm::Record(record) => &record.wish().execution_key,
        }
    }

    /// The wished count.
    pub fn desired(&self) -> Replicas {
        match &self.form {
            PutForm::Flags { replicas, .. } => *replicas,
            PutForm::Record(record) => record.wish().desired_replicas,
        }
    }

    /// Why.
    pub fn reason(&self) -> &Reason {
        match &self.form {
            PutForm::Flags { reason, .. } => reason,
            PutForm::Record(record) => &record.wish().reason,
        }
    }
}

/// How a call is going to be made; minted before the transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPlan {
    /// The name of the call's file.
    pub call_id: CallId,
    /// The lease instance to use where none is held.
    pub lease_instance_id: LeaseInstanceId,
    /// The process that makes the call.
    pub holder: Holder,
    /// When the guard kills it, on the boot clock in milliseconds.
    pub deadline_boot_ms: u64,
    /// How long the call may take.
    pub timeout: DurationMs,
}

/// Start the next attempt of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartAttempt {
    /// The key.
    pub key: ExecutionKey,
    /// Who acts.
    pub controller: ControllerId,
    /// The lease that the caller says it holds.
    pub lease: Option<LeaseInstanceId>,
    /// How long a lease lasts.
    pub ttl: DurationMs,
    /// The target as just read; an error text where it could not be; none where nobody can.
    pub found: Option<Result<Reading, String>>,
    /// The serial of the service before that reading began.
    pub began_after_serial: u64,
    /// What shows that a reduction is safe.
    pub evidence: Option<Evidence>,
    /// Whether a person vouches for what is not drained.
    pub attest_not_drained: bool,
    /// Whether it asks policy to pass the cooldown.
    pub override_cooldown: bool,
    /// How the call is going to be made.
    pub call: CallPlan,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEnd {
    /// A typed answer.
    Answered {
        /// The answer.
        result: ActuationResult,
        /// Whether a rollback is asked for.
        rollback_required: bool,
        /// The version of the target after the call.
        resource_version_after: Option<TargetResourceVersion>,
    },
    /// The child never ran.
    NotStarted {
        /// Why.
        detail: Detail,
    },
    /// Nobody knows.
    Unknown {
        /// Why.
        why: UnknownWhy,
        /// Text for people.
        detail: Detail,
        /// Whether a rollback is asked for.
        rollback_required: bool,
    },
}

/// One way to settle an attempt whose outcome is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// The actuator was asked what became of the key, and knows the result. It was asked about this
    /// attempt: of a later one it has said nothing.
    LookupApplied(AttemptNumber, ActuationResult),
    /// The actuator was asked, and nothing has become or will become of this attempt.
    LookupNever(AttemptNumber),
    /// The target was read.
    Reading {
        /// The reading.
        reading: Reading,
        /// The serial of the service before it began.
        began_after_serial: u64,
    },
    /// A person says that it was applied, and a reading agrees.
    AttestedApplied {
        /// Why.
        reason: Reason,
        /// The reading; none where the target could not be read.
        reading: Option<Reading>,
    },
    /// A person says that it was not applied.
    AttestedNotApplied {
        /// Why.
        reason: Reason,
    },
}

/// Everything that can be asked of one service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Make or change the settings.
    RegisterService {
        /// The settings; the unit revision in it is ignored.
        registration: Box<Registration>,
        /// What the target is, where it was read or given.
        binding: Option<Binding>,
        /// The unit revision that is believed to hold; 0 for none.
        expected: Option<u64>,
        /// The other service of the ledger that has this target.
        target_holder: Option<ServiceName>,
    },
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
        /// The other service of the ledger that has the target as it was read.
        target_holder: Option<ServiceName>,
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
    },
    /// Confirm a result, by a reading or, without one, by the actuator's own word.
    Observe {
        /// The key.
        key: ExecutionKey,
        /// The reading and the serial of the service before it began.
        reading: Option<(Reading, u64)>,
    },
    /// Take the clock for right that is behind the time mark.
    AcceptClock {
        /// The service.
        service: ServiceName,
        /// Why.
        reason: Detail,
    },
    /// Go on after the ledger was put back from a copy.
    Restore {
        /// The incarnation that begins.
        incarnation: u64,
        /// No fence of the lost history is above this.
        lost: FenceMark,
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
            | Self::Restore { .. } => true,
            Self::RegisterService { .. }
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
            | Self::AcceptClock { .. } => false,
        }
    }

    /// The source of a result that a settlement makes.
    pub(super) const fn settlement_source(settlement: &Settlement) -> ResultSource {
        match settlement {
            Settlement::LookupApplied(..) | Settlement::LookupNever(_) => ResultSource::Lookup,
            Settlement::Reading { .. } => ResultSource::Reading,
            Settlement::AttestedApplied { .. } | Settlement::AttestedNotApplied { .. } => {
                ResultSource::Attested
            }
        }
    }
}
