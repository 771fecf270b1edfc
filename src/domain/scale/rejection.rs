//! Rejections: every reason why a command changes nothing, with the facts that a person asks next.

mod class;
mod parts;
mod retry;

pub use class::Class;
pub use parts::{Difference, MissingFact, TargetPart};
use parts::{counted_as, named, unauthorized};

use super::attempt::UnknownWhy;
use super::authority::{Hold, Override};
use super::consent::Unauthorized;
use super::execution::Phase;
use super::lease::HeldLease;
use super::owners::TakeAway;
use super::policy::PolicyAnswer;
use super::provenance::PersonEvidence;
use super::service::RegisteredMode;
use super::state::{CurrentIntent, LastEffect};
use crate::domain::count::{counted, number};
use crate::domain::id::{
    AuthorizationId, ControllerId, EnvironmentName, ExecutionKey, IntentId, IntentRevision,
    LeaseInstanceId, OperationId, Replicas, ServiceName, TargetUid, UnitRevision, WorkloadId,
};
use crate::domain::time::{DurationMs, Timestamp};

/// Why a command changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the facts that the texts name")]
pub enum Rejection {
    /// Outside the bounds of the registration.
    #[error("{desired} is outside {min} to {max} of {service} (registration {unit_revision})")]
    OutOfBounds {
        service: ServiceName,
        desired: Replicas,
        min: Replicas,
        max: Replicas,
        unit_revision: UnitRevision,
    },
    /// The writer of the service brings its own fences.
    #[error("{service} takes its fences from its writer, and none was given")]
    FenceMissing { service: ServiceName },
    /// A supplied fence that jumps too far.
    #[error("fence {epoch}.{token} is more than 2^32 above {mark_epoch}.{mark_token} of {service}")]
    FenceTooFar { service: ServiceName, epoch: u64, token: u64, mark_epoch: u64, mark_token: u64 },
    /// A setting that contradicts another.
    #[error("{0}")]
    Contradiction(String),

    /// The intent revision has moved.
    #[error("{service} is at intent revision {actual}, and this was wished after {expected}")]
    StaleRevision {
        service: ServiceName,
        expected: u64,
        actual: u64,
        current: Option<CurrentIntent>,
    },
    /// The registration has moved.
    #[error("{service} is at registration {actual}, you expected {expected}")]
    StaleUnitRevision { service: ServiceName, expected: u64, actual: u64 },
    /// The key names another intent.
    #[error("key {key} belongs to {service}@{revision} with another payload")]
    KeyConflict {
        key: ExecutionKey,
        service: ServiceName,
        revision: IntentRevision,
        differences: Vec<Difference>,
    },
    /// The key names a simulation.
    #[error("key {key} belongs to a recorded simulation: it never calls anybody")]
    SimulatedKey { key: ExecutionKey },
    /// The key names a live intent that has started.
    #[error("key {key} belongs to a live intent that is {state}: it cannot be simulated")]
    LiveKey { key: ExecutionKey, state: &'static str },
    /// The id and the revision name another intent.
    #[error("intent {intent_id} at revision {revision} is already bound to key {key}")]
    IntentIdConflict { intent_id: IntentId, revision: IntentRevision, key: ExecutionKey },
    /// The record was made for another mode.
    #[error("{service} is registered as {registered}, not as {submitted}")]
    ModeMismatch {
        service: ServiceName,
        registered: &'static str,
        submitted: &'static str,
        is_retired: bool,
    },
    /// The target is not what it was.
    #[error(
        "the target of {service} is not what was {basis}: {} is {actual}, not {expected}",
        part.as_str()
    )]
    TargetChanged {
        service: ServiceName,
        part: TargetPart,
        basis: &'static str,
        expected: String,
        actual: String,
    },
    /// Another service has the target.
    #[error("the target of {service} is the target of {holder} already: uid {uid}")]
    TargetTaken { service: ServiceName, uid: TargetUid, holder: ServiceName },
    /// Another service has the name of the target, and a person's or an owner's word is upon it.
    #[error("the target of {service} has the name of that of {holder} ({workload}), and {why}")]
    WorkloadTaken {
        service: ServiceName,
        uid: TargetUid,
        workload: WorkloadId,
        holder: ServiceName,
        why: Box<Rejection>,
    },
    /// The count is not what the caller believes.
    #[error(
        "{service} has {}, and {} expected",
        counted(actual.get(), "replica"),
        number(expected.get(), "was", "were")
    )]
    PremiseMoved { service: ServiceName, expected: Replicas, actual: Replicas },
    /// Somebody else's wish would be ended.
    #[error("{service}@{revision} of {actor} waits, and this would end it")]
    OthersIntent { service: ServiceName, revision: IntentRevision, actor: String },
    /// The key is not in a state for this.
    #[error("{service}@{revision} is {}: {why}", phase.as_str())]
    WrongState {
        service: ServiceName,
        revision: IntentRevision,
        phase: Box<Phase>,
        why: &'static str,
    },

    /// Something of the service is under way.
    #[error("{service}@{revision} is {state}, and nothing else may start")]
    InFlight {
        service: ServiceName,
        revision: IntentRevision,
        key: ExecutionKey,
        state: &'static str,
        held: Option<HeldLease>,
        /// When it is out of the way by itself, where that is known.
        until: Option<Timestamp>,
    },
    /// The key's call is alive.
    #[error(
        "{service}@{revision} is being carried out by {} on {} (pid {}) until {}",
        held.lease.controller_id,
        held.holder.host,
        held.holder.pid,
        held.lease.expires_at
    )]
    InProgress { service: ServiceName, revision: IntentRevision, held: Box<HeldLease> },
    /// Somebody else has the lease.
    #[error(
        "{service}@{revision} is leased to {} on {} (pid {}) until {}",
        held.lease.controller_id,
        held.holder.host,
        held.holder.pid,
        held.lease.expires_at
    )]
    LeaseHeld { service: ServiceName, revision: IntentRevision, held: Box<HeldLease> },
    /// The caller is not the writer.
    #[error("{given} may not act on {service}: its writer is {writer}")]
    NotWriter { service: ServiceName, given: ControllerId, writer: ControllerId },
    /// A newer fence was accepted.
    #[error("fence {epoch}.{token} is not above {mark_epoch}.{mark_token} of {service}")]
    FenceLost { service: ServiceName, epoch: u64, token: u64, mark_epoch: u64, mark_token: u64 },
    /// The fence has run out.
    #[error("the fence of {service}@{revision} ran out at {expires_at}")]
    FenceExpired { service: ServiceName, revision: IntentRevision, expires_at: Timestamp },
    /// The fence runs out before the call would.
    #[error(
        "the fence of {service}@{revision} ends at {expires_at}, before a call of {needed} would"
    )]
    FenceTooShort {
        service: ServiceName,
        revision: IntentRevision,
        expires_at: Timestamp,
        needed: DurationMs,
    },
    /// The lease is not, or no longer, the caller's.
    #[error("lease {given} does not hold {key}")]
    LeaseLost { key: ExecutionKey, given: LeaseInstanceId, held: Option<Box<HeldLease>> },

    /// Policy says no.
    #[error("policy does not let {actor} {} {subject}", answer.action.as_str())]
    Denied { actor: String, subject: String, answer: Box<PolicyAnswer> },
    /// A person holds the count.
    #[error("{} holds {service} until {}: {}", hold.actor, hold.until, hold.reason)]
    OnHold { service: ServiceName, hold: Box<Hold> },
    /// A person has pinned the count.
    #[error("{} has pinned {service} to {} until {}", pinned.actor, pinned.replicas, pinned.until)]
    Pinned { service: ServiceName, pinned: Box<Override> },
    /// Whoever answers is whoever asked.
    #[error("{service}@{revision} was proposed by the same person: {} {name}", evidence.as_str())]
    SamePerson {
        service: ServiceName,
        revision: IntentRevision,
        evidence: PersonEvidence,
        name: String,
    },
    /// Whoever reviews is whoever broke the glass, or did something under it.
    #[error(
        "{authorization_id} was given or used by the same person: {} {name}",
        evidence.as_str()
    )]
    SameReviewer { authorization_id: AuthorizationId, evidence: PersonEvidence, name: String },
    /// Somebody has reviewed it: its story is over.
    #[error("{by} has reviewed {authorization_id} at {at}")]
    Reviewed { authorization_id: AuthorizationId, by: String, at: Timestamp },
    /// The ledger takes nothing of the kind without a signature.
    #[error("this ledger asks for a signature of {subject}, and there is none")]
    SignatureMissing { subject: String },
    /// The signature is not good for this.
    #[error("the signature of {subject} is not taken: {why}")]
    SignatureRefused { subject: String, why: String },
    /// The authorization does not permit this.
    #[error(
        "{authorization_id} does not permit this of {service}: {}",
        unauthorized(*why, *is_for)
    )]
    NotAuthorized {
        service: ServiceName,
        authorization_id: AuthorizationId,
        why: Unauthorized,
        /// The count that it is for, where that is another one.
        is_for: Option<Replicas>,
    },
    /// The authorization may still be used.
    #[error("{authorization_id} of {service} may still be used until {until}")]
    AuthorizationOpen { service: ServiceName, authorization_id: AuthorizationId, until: Timestamp },
    /// Nobody has agreed in time.
    #[error("nobody has agreed to {service}@{revision} by {until}")]
    ApprovalExpired { service: ServiceName, revision: IntentRevision, until: Timestamp },
    /// What was agreed to was asked about another count.
    #[error(
        "{service}@{revision} was agreed to as {base} → {desired}, and {} now",
        counted_as(*actual)
    )]
    ApprovalMoved {
        service: ServiceName,
        revision: IntentRevision,
        base: Replicas,
        desired: Replicas,
        actual: Option<Replicas>,
        has_started: bool,
    },
    /// A colleague must agree.
    #[error("{service}@{revision} waits for approval until {until}")]
    ApprovalRequired { service: ServiceName, revision: IntentRevision, until: Timestamp },

    /// Its environment is being moved.
    #[error("{service} is a part of {environment}, which is being moved by {operation_id}")]
    Relocating { service: ServiceName, environment: EnvironmentName, operation_id: OperationId },
    /// Its environment never sleeps.
    #[error("{service} is a part of {environment}, which keeps at least one replica")]
    AlwaysOn { service: ServiceName, environment: EnvironmentName },

    /// Too soon after the last change.
    #[error("{service} was changed {} ago and cools for {cooldown}", now.since(last.ended_at))]
    Cooldown {
        service: ServiceName,
        last: Box<LastEffect>,
        cooldown: DurationMs,
        until: Timestamp,
        now: Timestamp,
    },

    /// Nobody knows whether the target changed.
    #[error(
        "nobody knows yet what became of attempt {attempt} of {service}@{revision} ({})",
        why.as_str()
    )]
    OutcomeUnknown {
        service: ServiceName,
        revision: IntentRevision,
        attempt: u64,
        why: UnknownWhy,
        until: Option<Timestamp>,
    },

    /// The next attempt may start later.
    #[error("{service}@{revision} failed, and may be tried again at {retry_at}")]
    RetryLater { service: ServiceName, revision: IntentRevision, retry_at: Timestamp },
    /// A late effect of a call that ended may still arrive.
    #[error("a late effect of {service}@{revision} is waited for until {until}")]
    QuietTime { service: ServiceName, revision: IntentRevision, until: Timestamp },

    /// Another intent of the service must end first.
    #[error("{service}@{revision} waits behind {service}@{behind}, which is {state}")]
    WaitsBehind {
        service: ServiceName,
        revision: IntentRevision,
        behind: IntentRevision,
        state: &'static str,
    },

    /// Somebody else owns the count.
    #[error("{} owns the count of {service}{}", mode.as_str(), named(owner.as_deref()))]
    ExternalOwner {
        service: ServiceName,
        mode: RegisteredMode,
        owner: Option<String>,
        is_retired: bool,
    },
    /// Another controller was found to drive the count.
    #[error(
        "{} still {} the count of {service}",
        owners.join(" and "),
        if owners.len() == 1 { "drives" } else { "drive" }
    )]
    StillOwned { service: ServiceName, owners: Vec<String>, take_away: Vec<TakeAway> },

    /// The reading is not the wished count.
    #[error("{service}@{revision} wishes a count of {desired}, and {actual} was read")]
    ReadingDiffers {
        service: ServiceName,
        revision: IntentRevision,
        desired: Replicas,
        actual: Replicas,
    },

    /// The reading is of another object than the one that was called.
    #[error("{service}@{revision} was called on {expected}, and {actual} was read in its place")]
    OtherObject {
        service: ServiceName,
        revision: IntentRevision,
        expected: TargetUid,
        actual: TargetUid,
    },

    /// No such service.
    #[error("there is no service {service}")]
    NoSuchService { service: ServiceName },
    /// The service is over.
    #[error("{service} was retired at {at}")]
    Retired { service: ServiceName, at: Timestamp },
    /// No such key.
    #[error("there is no intent {key}")]
    NoSuchKey { key: String },
    /// No such authorization that nobody has reviewed.
    #[error("there is no authorization {authorization_id} that waits for a review")]
    NoSuchAuthorization { authorization_id: AuthorizationId },
    /// No such actuator.
    #[error("there is no actuator {name}")]
    NoSuchActuator { name: String },
    /// The service has none: its wish is all there is.
    #[error("{service} has no actuator: its count is wished here and carried out elsewhere")]
    NotActuated { service: ServiceName },

    /// A fact could not be read or proved.
    #[error("{}", fact.text(service))]
    FactUnknown { service: ServiceName, fact: MissingFact },
    /// The clock went back too far.
    #[error("the clock says {now}, but {service} was written at {mark}")]
    ClockSkew { service: ServiceName, now: Timestamp, mark: Timestamp },
}

impl Rejection {
    /// The word that a machine reads.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::OutOfBounds { .. } => "out_of_bounds",
            Self::FenceMissing { .. } => "fence_missing",
            Self::FenceTooFar { .. } => "fence_too_far",
            Self::Contradiction(_) => "contradiction",
            Self::StaleRevision { .. } => "stale_revision",
            Self::StaleUnitRevision { .. } => "stale_unit_revision",
            Self::KeyConflict { .. } => "key_conflict",
            Self::SimulatedKey { .. } => "simulated_key",
            Self::LiveKey { .. } => "live_key",
            Self::IntentIdConflict { .. } => "intent_id_conflict",
            Self::ModeMismatch { .. } => "mode_mismatch",
            Self::TargetChanged { .. } => "target_changed",
            Self::TargetTaken { .. } => "target_taken",
            Self::WorkloadTaken { .. } => "workload_taken",
            Self::PremiseMoved { .. } => "premise_moved",
            Self::OthersIntent { .. } => "others_intent",
            Self::WrongState { .. } => "wrong_state",
            Self::InFlight { .. } => "in_flight",
            Self::InProgress { .. } => "in_progress",
            Self::LeaseHeld { .. } => "held",
            Self::NotWriter { .. } => "not_writer",
            Self::FenceLost { .. } => "fence_lost",
            Self::FenceExpired { .. } => "fence_expired",
            Self::FenceTooShort { .. } => "fence_too_short",
            Self::LeaseLost { .. } => "lease_lost",
            Self::Denied { .. } => "denied",
            Self::OnHold { .. } => "on_hold",
            Self::Pinned { .. } => "pinned",
            Self::SamePerson { .. } => "same_person",
            Self::SameReviewer { .. } => "same_reviewer",
            Self::SignatureMissing { .. } => "signature_missing",
            Self::SignatureRefused { .. } => "signature_refused",
            Self::NotAuthorized { .. } => "not_authorized",
            Self::AuthorizationOpen { .. } => "authorization_open",
            Self::Reviewed { .. } => "reviewed",
            Self::ApprovalExpired { .. } => "approval_expired",
            Self::ApprovalMoved { .. } => "approval_moved",
            Self::StillOwned { .. } => "still_owned",
            Self::Retired { .. } => "service_retired",
            Self::ApprovalRequired { .. } => "approval_required",
            Self::Relocating { .. } => "relocating",
            Self::AlwaysOn { .. } => "always_on",
            Self::Cooldown { .. } => "cooldown",
            Self::OutcomeUnknown { .. } => "outcome_unknown",
            Self::RetryLater { .. } => "retry_later",
            Self::QuietTime { .. } => "quiet_time",
            Self::WaitsBehind { .. } => "waits_behind",
            Self::ExternalOwner { .. } => "external_owner",
            Self::ReadingDiffers { .. } => "reading_differs",
            Self::OtherObject { .. } => "target_recreated",
            Self::NoSuchService { .. } => "service_not_found",
            Self::NoSuchKey { .. } => "key_not_found",
            Self::NoSuchActuator { .. } => "actuator_not_found",
            Self::NotActuated { .. } => "no_actuator",
            Self::NoSuchAuthorization { .. } => "authorization_not_found",
            Self::FactUnknown { fact, .. } => match fact {
                MissingFact::Evidence
                | MissingFact::EvidenceSays { .. }
                | MissingFact::Quorum { .. } => "evidence_missing",
                MissingFact::Count { .. } | MissingFact::Overtaken { .. } => "count_unknown",
                MissingFact::Cooldown { .. } => "cooldown_unknown",
                MissingFact::Owners { .. } => "owners_unknown",
                MissingFact::Reading => "reading_missing",
            },
            Self::ClockSkew { .. } => "clock_skew",
        }
    }
}
