//! Commands about a service as a whole, and about what breaks the glass.

use crate::domain::id::{
    ActuatorName, AuthorizationId, ExecutionKey, IntentRevision, Replicas, ServiceName, TargetUid,
};
use crate::domain::scale::consent::Incident;
use crate::domain::scale::intent::Reason;
use crate::domain::scale::observation::Reading;
use crate::domain::scale::others::Others;
use crate::domain::scale::owners::Owners;
use crate::domain::scale::result::Detail;
use crate::domain::scale::scaling::{CostCap, Sample};
use crate::domain::scale::service::{Binding, RegisteredMode, Registration};
use crate::domain::scale::signed::Signing;
use crate::domain::time::{DurationMs, Timestamp};

/// Make or change the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterService {
    /// The settings; the unit revision in it is ignored.
    pub registration: Registration,
    /// What the target is, where it was read or given.
    pub binding: Option<Binding>,
    /// The unit revision that is believed to hold; 0 for none.
    pub expected: Option<u64>,
    /// The new identity that is meant, where the object was recreated and nobody can read it.
    pub accept_uid: Option<TargetUid>,
    /// The other services of the ledger that have this target.
    pub others: Others,
    /// Who drives the count of the target, as it was read.
    pub owners: Owners,
    /// The authorization under which the upper bound is raised, where it is.
    pub authorization: Option<AuthorizationId>,
}

/// What a person or a tick lays upon a service as a whole, and answers to what waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthorityCommand {
    /// Give the count another owner.
    HandOver(HandOver),
    /// End the service.
    Retire {
        /// The service.
        service: ServiceName,
        /// Why.
        reason: Detail,
    },
    /// Let nothing change the count until then; none ends that.
    Hold {
        /// The service.
        service: ServiceName,
        /// When it ends by itself.
        until: Option<Timestamp>,
        /// Why.
        reason: Detail,
    },
    /// End an override.
    ClearOverride {
        /// The service.
        service: ServiceName,
        /// Why.
        reason: Detail,
    },
    /// Take what runs for what is wished.
    Adopt(Adopt),
    /// Answer a proposal.
    Answer {
        /// Its key.
        key: ExecutionKey,
        /// Yes or no.
        grants: bool,
        /// Why.
        reason: Detail,
        /// What is known of its signature.
        signing: Signing,
    },
    /// Permit to break the glass.
    Authorize(Authorize),
    /// Take an authorization back.
    RevokeAuthorization {
        /// The service.
        service: ServiceName,
        /// The authorization.
        authorization_id: AuthorizationId,
        /// Why.
        reason: Detail,
    },
    /// Say that somebody has looked at what was done under an authorization.
    ReviewAuthorization {
        /// The service.
        service: ServiceName,
        /// The authorization.
        authorization_id: AuthorizationId,
        /// What they say.
        reason: Detail,
        /// What is known of its signature.
        signing: Signing,
    },
    /// Look at a sample, and wish what follows from it.
    Tick(Tick),
}

impl AuthorityCommand {
    /// The key that it is about, if it is about one.
    pub const fn execution_key(&self) -> Option<&ExecutionKey> {
        match self {
            Self::HandOver(_)
            | Self::Retire { .. }
            | Self::Hold { .. }
            | Self::ClearOverride { .. }
            | Self::Authorize(_)
            | Self::RevokeAuthorization { .. }
            | Self::ReviewAuthorization { .. } => None,
            Self::Adopt(adopt) => Some(&adopt.key),
            Self::Tick(tick) => Some(&tick.key),
            Self::Answer { key, .. } => Some(key),
        }
    }
}

/// Give the count another owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandOver {
    /// The service.
    pub service: ServiceName,
    /// Who owns the count from now on.
    pub mode: RegisteredMode,
    /// The unit revision that is believed to hold.
    pub expected: Option<u64>,
    /// The actuator from now on; none for the one that is registered.
    pub actuator: Option<ActuatorName>,
    /// What the other controller is called; none for the one that is registered.
    pub owner: Option<String>,
    /// The target as just read, with the serial of the service before; none where nobody can.
    pub reading: Option<(Reading, u64)>,
    /// The controllers that were found to drive the count, or may.
    pub owners: Owners,
    /// Whether whoever asks says that those who could not be read do not drive it.
    pub accepts_unread: bool,
    /// Why.
    pub reason: Detail,
}

/// Take what runs for what is wished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adopt {
    /// The service.
    pub service: ServiceName,
    /// The key of the intent that it becomes.
    pub key: ExecutionKey,
    /// The target as just read.
    pub reading: Reading,
    /// The serial of the service before that reading began.
    pub began_after_serial: u64,
    /// Why.
    pub reason: Reason,
    /// Whether it may end another actor's waiting intent.
    pub supersede: bool,
    /// The service and revision that the key already names elsewhere in the ledger.
    pub key_elsewhere: Option<(ServiceName, IntentRevision)>,
    /// The key that the intent id and revision already name in the ledger.
    pub id_owner: Option<ExecutionKey>,
}

/// Permit to break the glass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorize {
    /// The service.
    pub service: ServiceName,
    /// What it is going to be called; minted by the caller.
    pub authorization_id: AuthorizationId,
    /// The one count that may be wished under it.
    pub desired_replicas: Replicas,
    /// The count that is believed to run.
    pub current: Option<Replicas>,
    /// What it is for.
    pub incident: Incident,
    /// Why.
    pub reason: Detail,
    /// How long it lasts.
    pub valid_for: DurationMs,
    /// How many wishes may be carried out under it.
    pub max_uses: u8,
    /// Whether whoever gives it vouches that what is not drained may lose its work.
    pub attests_not_drained: bool,
    /// The upper bound that it lets register.
    pub raises_max_to: Option<Replicas>,
    /// What is known of its signature.
    pub signing: Signing,
}

/// Look at a sample, and wish what follows from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tick {
    /// The service.
    pub service: ServiceName,
    /// What runs; none where nobody could say.
    pub observed: Option<Observed>,
    /// The newest sample of its signal.
    pub sample: Option<Sample>,
    /// What more may cost.
    pub cost_cap: Option<CostCap>,
    /// The key of the intent, where it makes one; minted by the caller.
    pub key: ExecutionKey,
    /// The life of the fence of that intent.
    pub valid_for: DurationMs,
    /// How long that intent may wait for a colleague; zero where it may not.
    pub approve_within: DurationMs,
    /// The key that the intent id and revision already name in the ledger.
    pub id_owner: Option<ExecutionKey>,
}

/// What runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    /// How many are declared.
    pub replicas: Replicas,
    /// Whether it is meant to run, and none of it does.
    pub is_down: bool,
    /// The serial of the service before it was read.
    pub began_after_serial: u64,
}
