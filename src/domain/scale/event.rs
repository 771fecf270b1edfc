//! Events: what happened to a service, in the past tense. Their JSON is stored for ever.

mod about;

pub use about::Event;
use serde::{Deserialize, Serialize};

use super::attempt::{Call, ResultSource, UnknownWhy};
use super::consent::{Asked, Authorization};
use super::execution::{Acceptance, FailureCause, NewIntent, Outcome};
use super::lease::HeldLease;
use super::observation::{Evidence, Observation, Reading, ReadingVerdict};
use super::policy::PolicyAnswer;
use super::provenance::Provenance;
use super::result::{ActuationResult, Detail};
use super::service::{Binding, RegisteredMode, Registration};
use super::state::FenceMark;
use super::tick::Evaluation;
use crate::domain::gateway::{Imported, Receipt, ScaleAnswer};
use crate::domain::id::{
    AttemptNumber, AuthorizationId, ExecutionKey, IntentRevision, LeaseInstanceId, Replicas,
    TargetResourceVersion,
};
use crate::domain::time::Timestamp;

/// One thing that happened, when, and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stamped<B> {
    /// When, on the ledger's clock; never before the event before it, but for `clock_accepted`.
    pub at: Timestamp,
    /// By whom.
    pub by: Provenance,
    /// What.
    pub body: B,
}

/// What happened to a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event", deny_unknown_fields)]
pub enum EventBody {
    /// The settings were made or changed.
    ServiceRegistered {
        /// The settings, whole.
        registration: Registration,
        /// What the target was, where it was read or given.
        binding: Binding,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// The count has another owner from now on, and waits for what it was read as.
    ServiceHandedOver {
        /// Who owned it.
        from: RegisteredMode,
        /// The settings, whole.
        registration: Registration,
        /// What the target was right before.
        binding: Binding,
        /// Owners that nobody could read, of whom a person has said that they do not drive it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        owners_unread: Vec<String>,
        /// Why.
        reason: Detail,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// The service is over, until it is registered anew.
    ServiceRetired {
        /// Why.
        reason: Detail,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// Nothing changes the count for a time, but for a broken glass.
    HoldSet {
        /// When it ends by itself.
        until: Timestamp,
        /// Why.
        reason: Detail,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// A hold was ended.
    HoldLifted {
        /// Why.
        reason: Detail,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// A person has pinned the count of the intent that was accepted right before.
    OverrideSet {
        /// The intent.
        execution_key: ExecutionKey,
        /// The count.
        replicas: Replicas,
        /// When it ends by itself.
        until: Timestamp,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// An override was ended. The count stays as it is.
    OverrideCleared {
        /// Why.
        reason: Detail,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// Somebody may break the glass.
    AuthorizationGranted {
        /// What may be done.
        authorization: Box<Authorization>,
    },
    /// Something was done under an authorization.
    AuthorizationUsed {
        /// The authorization.
        authorization_id: AuthorizationId,
        /// The key that it was done for.
        execution_key: ExecutionKey,
        /// Who wished it, where that is another person than whoever carries it out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wished_by: Option<Box<Provenance>>,
    },
    /// An authorization was taken back.
    AuthorizationRevoked {
        /// The authorization.
        authorization_id: AuthorizationId,
        /// Why.
        reason: Detail,
    },
    /// Somebody has looked at what was done under an authorization.
    AuthorizationReviewed {
        /// The authorization.
        authorization_id: AuthorizationId,
        /// What they say.
        reason: Detail,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// A tick has looked at a sample.
    AutoscaleEvaluated {
        /// What it came to.
        evaluation: Evaluation,
    },
    /// The target was read outside of any attempt.
    TargetBound {
        /// What it was.
        binding: Binding,
    },
    /// An intent waits for a person.
    IntentProposed {
        /// The intent.
        intent: NewIntent,
        /// How long it waits.
        until: Timestamp,
        /// What it waits with.
        asked: Asked,
    },
    /// A person said no to a proposal.
    IntentRejected {
        /// The intent.
        execution_key: ExecutionKey,
        /// Why.
        reason: Detail,
        /// What policy said of that person.
        decision: PolicyAnswer,
    },
    /// An intent may be carried out.
    IntentAccepted {
        /// The intent.
        intent: NewIntent,
        /// Its fence and identity.
        acceptance: Acceptance,
        /// The gateway's operation that it was accepted for, with the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<Box<Receipt>>,
    },
    /// What a gateway's operation was answered is another answer from now on: it has converged.
    GatewayFinalized {
        /// The operation's key.
        execution_key: ExecutionKey,
        /// The answer.
        response: ScaleAnswer,
    },
    /// A gateway's own journal goes on here.
    GatewayImported {
        /// What was imported.
        imported: Imported,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// A newer intent ended this one.
    IntentSuperseded {
        /// The ended one.
        execution_key: ExecutionKey,
        /// The newer one.
        by: IntentRevision,
        /// What the ended one had come to.
        outcome: Option<Outcome>,
    },
    /// An intent was taken back before it started.
    IntentWithdrawn {
        /// The intent.
        execution_key: ExecutionKey,
        /// Why.
        reason: Option<Detail>,
    },
    /// A lease was given.
    LeaseAcquired {
        /// For this key.
        execution_key: ExecutionKey,
        /// The lease and its holder.
        held: HeldLease,
    },
    /// A lease was made longer.
    LeaseRenewed {
        /// For this key.
        execution_key: ExecutionKey,
        /// The lease.
        lease_instance_id: LeaseInstanceId,
        /// Its new end.
        expires_at: Timestamp,
    },
    /// A lease was given back.
    LeaseReleased {
        /// For this key.
        execution_key: ExecutionKey,
        /// The lease.
        lease_instance_id: LeaseInstanceId,
    },
    /// A call is about to be made. Durable before the child is spawned.
    AttemptStarted {
        /// The key.
        execution_key: ExecutionKey,
        /// The lease that permits it.
        held: HeldLease,
        /// The call.
        call: Call,
        /// What policy said right before.
        decision: PolicyAnswer,
        /// What made other gates yield.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        permissions: Vec<PolicyAnswer>,
        /// What showed that a reduction is safe.
        evidence: Option<Evidence>,
    },
    /// The result of an attempt is known.
    ResultRecorded {
        /// The key.
        execution_key: ExecutionKey,
        /// The attempt.
        attempt: AttemptNumber,
        /// The result.
        result: ActuationResult,
        /// How it is known.
        source: ResultSource,
        /// When the call had ended.
        ended_at: Timestamp,
        /// When another attempt may start; none where none may.
        retry_at: Option<Timestamp>,
        /// Whether the target was changed in part.
        partly_applied: bool,
        /// Whether a rollback is asked for.
        rollback_required: bool,
        /// The version of the target after the call.
        resource_version_after: Option<TargetResourceVersion>,
        /// What policy said of a person whose word it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision: Option<PolicyAnswer>,
    },
    /// A call ended, or was given up, without a result.
    AttemptLost {
        /// The key.
        execution_key: ExecutionKey,
        /// The attempt.
        attempt: AttemptNumber,
        /// Why nobody knows.
        why: UnknownWhy,
        /// Text for people.
        detail: Detail,
        /// When its process group was known dead, where that could be proved.
        ended_at: Option<Timestamp>,
        /// Whether a rollback is asked for.
        rollback_required: bool,
    },
    /// The end of a lost call was proved later.
    CallEnded {
        /// The key.
        execution_key: ExecutionKey,
        /// The attempt.
        attempt: AttemptNumber,
        /// When its process group was known dead.
        ended_at: Timestamp,
        /// Whether whoever proved it asks for a rollback.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        rollback_required: bool,
    },
    /// The target promised that nothing of a lost attempt takes effect any more.
    TargetFenced {
        /// The key.
        execution_key: ExecutionKey,
        /// The attempt.
        attempt: AttemptNumber,
        /// Whether something had touched the target since the call's base, or nobody could tell.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        touched: bool,
    },
    /// The target was read for a key.
    ReadingRecorded {
        /// The key.
        execution_key: ExecutionKey,
        /// The reading.
        reading: Reading,
        /// What it says about the wish.
        verdict: ReadingVerdict,
    },
    /// The one terminal record of a key.
    ObservationRecorded {
        /// The key.
        execution_key: ExecutionKey,
        /// The record.
        observation: Observation,
        /// How a failure came about.
        cause: Option<FailureCause>,
    },
    /// A result came too late to be applied and is kept as evidence.
    LateResultKept {
        /// The key.
        execution_key: ExecutionKey,
        /// The attempt that it belongs to.
        attempt: AttemptNumber,
        /// The result.
        result: ActuationResult,
        /// Whether it contradicts what was recorded instead.
        contradicts: bool,
    },
    /// The ledger was put back from a copy: nothing of what is lost may take effect any more.
    ServiceRestored {
        /// The incarnation that begins.
        incarnation: u64,
        /// The newest fence from here on: above all that the lost history may have minted.
        mark: FenceMark,
    },
    /// A clock had been ahead: time goes on from here, earlier than events before.
    ClockAccepted {
        /// What the time mark was.
        mark: Timestamp,
        /// Why.
        reason: Detail,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// The same for what is under way: its instants lie no further ahead than they may.
    ExecutionClockAccepted {
        /// The key.
        execution_key: ExecutionKey,
    },
}

impl EventBody {
    /// The word on the wire.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::ServiceRegistered { .. } => "service_registered",
            Self::ServiceHandedOver { .. } => "service_handed_over",
            Self::ServiceRetired { .. } => "service_retired",
            Self::HoldSet { .. } => "hold_set",
            Self::HoldLifted { .. } => "hold_lifted",
            Self::OverrideSet { .. } => "override_set",
            Self::OverrideCleared { .. } => "override_cleared",
            Self::AuthorizationGranted { .. } => "authorization_granted",
            Self::AuthorizationUsed { .. } => "authorization_used",
            Self::AuthorizationRevoked { .. } => "authorization_revoked",
            Self::AuthorizationReviewed { .. } => "authorization_reviewed",
            Self::AutoscaleEvaluated { .. } => "autoscale_evaluated",
            Self::TargetBound { .. } => "target_bound",
            Self::IntentProposed { .. } => "intent_proposed",
            Self::IntentRejected { .. } => "intent_rejected",
            Self::IntentAccepted { .. } => "intent_accepted",
            Self::GatewayFinalized { .. } => "gateway_finalized",
            Self::GatewayImported { .. } => "gateway_imported",
            Self::IntentSuperseded { .. } => "intent_superseded",
            Self::IntentWithdrawn { .. } => "intent_withdrawn",
            Self::LeaseAcquired { .. } => "lease_acquired",
            Self::LeaseRenewed { .. } => "lease_renewed",
            Self::LeaseReleased { .. } => "lease_released",
            Self::AttemptStarted { .. } => "attempt_started",
            Self::ResultRecorded { .. } => "result_recorded",
            Self::AttemptLost { .. } => "attempt_lost",
            Self::CallEnded { .. } => "call_ended",
            Self::TargetFenced { .. } => "target_fenced",
            Self::ReadingRecorded { .. } => "reading_recorded",
            Self::ObservationRecorded { .. } => "observation_recorded",
            Self::LateResultKept { .. } => "late_result_kept",
            Self::ServiceRestored { .. } => "service_restored",
            Self::ClockAccepted { .. } => "clock_accepted",
            Self::ExecutionClockAccepted { .. } => "execution_clock_accepted",
        }
    }
}
