//! What happens beside the services: the ledger itself, its actuators, its policy, and refusals.
//!
//! Owns the bodies of those events and the fold of the registry. Never decides whether a change is
//! allowed. Their JSON is stored for ever.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::id::{ActuatorName, ExecutionKey, LedgerId, ServiceName};
use super::scale::event::Stamped;
use super::scale::policy::PolicyAnswer;
use super::scale::result::Detail;
use super::scale::service::RegisteredActuator;
use super::time::DurationMs;

/// How long an equal refusal is not written again.
pub const REFUSAL_QUIET: DurationMs = DurationMs::from_secs(60);

/// One thing that happened to the ledger or to its actuators.
pub type RegistryEvent = Stamped<RegistryBody>;
/// One change of the policy.
pub type PolicyEvent = Stamped<PolicyBody>;
/// One command that changed nothing.
pub type RefusalEvent = Stamped<RefusalBody>;

/// What happened to the ledger or to its actuators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum RegistryBody {
    /// The ledger came into being. Always the first event of the stream, and only the first.
    LedgerCreated {
        /// Its identity.
        ledger_id: LedgerId,
        /// 1; a restored ledger has a higher one.
        incarnation: u64,
    },
    /// An actuator was registered, or registered anew under the same name.
    ActuatorRegistered {
        /// What it declares.
        actuator: RegisteredActuator,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// Another list of those whose signatures are taken.
    SignersSet {
        /// The list.
        signers: AllowedSigners,
        /// Why.
        reason: Detail,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// The ledger was put back from a copy, or is told to be one that was.
    LedgerRestored {
        /// The one before, and one more.
        incarnation: u64,
        /// Why.
        reason: Detail,
        /// What policy said.
        decision: PolicyAnswer,
    },
    /// The ledger has moved: nothing is written here any more.
    LedgerSealed {
        /// Where it goes on.
        to: String,
        /// The ends of all chains before this event: what the other place must have.
        heads: Vec<ChainHead>,
        /// Why.
        reason: Detail,
        /// What policy said.
        decision: PolicyAnswer,
        /// None at first. A second such event, once the copy in the other place is whole, says with
        /// which incarnation it is about to open there: from then on no other copy is made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opens: Option<u64>,
    },
    /// The ledger goes on here, with all that it had when it was sealed.
    LedgerOpened {
        /// Where it was.
        from: String,
        /// The one before, and one more.
        incarnation: u64,
    },
}

/// Those whose signatures are taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowedSigners {
    /// Their keys, in the format of `ssh-keygen(1)`, ALLOWED SIGNERS.
    pub text: String,
    /// Whether answers and broken glass are taken only with a signature.
    pub is_required: bool,
}

impl AllowedSigners {
    /// What tells one list from another.
    pub fn digest(&self) -> Digest {
        let word: &[u8] = if self.is_required { b"required\n" } else { b"optional\n" };
        Digest::of(&[word, self.text.as_bytes()].concat())
    }
}

/// The end of a chain, as an event keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainHead {
    /// The name of the chain.
    pub stream: String,
    /// The number of its newest event.
    pub sequence: u64,
    /// The hash of its newest event.
    pub hash: Digest,
}

/// What happened to the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum PolicyBody {
    /// Another policy holds from now on.
    PolicySet {
        /// The policy.
        policy: StoredPolicy,
        /// What the policy before it said.
        decision: PolicyAnswer,
        /// Why, where somebody said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Detail>,
    },
}

/// What was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum RefusalBody {
    /// A command changed nothing.
    Refused {
        /// The service that it was about, where it named one.
        service: Option<ServiceName>,
        /// The key that it was about, where it named one.
        execution_key: Option<ExecutionKey>,
        /// The word for machines.
        code: String,
        /// The text for people.
        message: String,
        /// The message without what varies from try to try: equal ones are written once a minute.
        fingerprint: String,
        /// What policy said, where it was asked.
        answer: Option<PolicyAnswer>,
    },
}

/// A policy as the ledger keeps it. The document is opaque here; `policy/` makes and reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredPolicy {
    /// The digest that decisions name.
    pub digest: Digest,
    /// The document.
    pub document: String,
}

impl RegistryBody {
    /// The word on the wire.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::LedgerCreated { .. } => "ledger_created",
            Self::ActuatorRegistered { .. } => "actuator_registered",
            Self::SignersSet { .. } => "signers_set",
            Self::LedgerRestored { .. } => "ledger_restored",
            Self::LedgerSealed { .. } => "ledger_sealed",
            Self::LedgerOpened { .. } => "ledger_opened",
        }
    }
}

impl PolicyBody {
    /// The word on the wire.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::PolicySet { .. } => "policy_set",
        }
    }
}

impl RefusalBody {
    /// The word on the wire.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "refused",
        }
    }

    /// The key that it is about, if it is about one.
    pub const fn execution_key(&self) -> Option<&ExecutionKey> {
        match self {
            Self::Refused { execution_key, .. } => execution_key.as_ref(),
        }
    }
}

/// Whether two refusals are the same one again: same service, code, actor and fingerprint.
pub fn is_same_refusal(one: &RefusalEvent, other: &RefusalEvent) -> bool {
    let identity = |event: &RefusalEvent| match &event.body {
        RefusalBody::Refused { service, code, fingerprint, .. } => {
            (service.clone(), code.clone(), fingerprint.clone())
        }
    };
    one.by.actor == other.by.actor && identity(one) == identity(other)
}

/// The fold of the registry's stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RegistryState {
    /// The identity of the ledger and its incarnation; none before the first event.
    pub ledger: Option<(LedgerId, u64)>,
    /// The actuators.
    pub actuators: BTreeMap<ActuatorName, RegisteredActuator>,
    /// Where it has moved, while it is sealed.
    pub sealed: Option<String>,
    /// With which incarnation it opens there, once its copy is whole.
    pub opens: Option<u64>,
}

/// An event of the registry that cannot follow what happened before: a damaged ledger, or a bug.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {event} cannot follow in the registry: {problem}")]
pub struct IllegalRegistryEvent {
    /// The event.
    pub event: &'static str,
    /// Why not.
    pub problem: &'static str,
}

impl RegistryState {
    /// The state after one more event.
    pub fn apply(mut self, event: &RegistryEvent) -> Result<Self, IllegalRegistryEvent> {
        let illegal = |problem| IllegalRegistryEvent { event: event.body.kind(), problem };
        match &event.body {
            RegistryBody::LedgerCreated { ledger_id, incarnation } => {
                if self.ledger.is_some() {
                    return Err(illegal("the ledger is already there"));
                }
                self.ledger = Some((ledger_id.clone(), *incarnation));
            }
            RegistryBody::ActuatorRegistered { actuator, .. } => {
                self.ledger.as_ref().ok_or_else(|| illegal("there is no ledger yet"))?;
                if self.sealed.is_some() {
                    return Err(illegal("the ledger is sealed"));
                }
                self.actuators.insert(actuator.name.clone(), actuator.clone());
            }
            RegistryBody::SignersSet { .. } => {
                self.ledger.as_ref().ok_or_else(|| illegal("there is no ledger yet"))?;
                if self.sealed.is_some() {
                    return Err(illegal("the ledger is sealed"));
                }
            }
            RegistryBody::LedgerSealed { to, opens, .. } => {
                self.ledger.as_ref().ok_or_else(|| illegal("there is no ledger yet"))?;
                match (&self.sealed, self.opens, opens) {
                    (None, _, None) => self.sealed = Some(to.clone()),
                    (Some(before), None, Some(_)) if before == to => self.opens = *opens,
                    (Some(_), ..) => return Err(illegal("the ledger is sealed")),
                    (None, ..) => return Err(illegal("the ledger is not sealed")),
                }
            }
            RegistryBody::LedgerRestored { incarnation, .. }
            | RegistryBody::LedgerOpened { incarnation, .. } => {
                let is_opened = matches!(event.body, RegistryBody::LedgerOpened { .. });
                if is_opened && self.sealed.is_none() {
                    return Err(illegal("the ledger is not sealed"));
                }
                (self.sealed, self.opens) = (None, None);
                match &mut self.ledger {
                    Some((_, before)) if *before < *incarnation => *before = *incarnation,
                    Some(_) => return Err(illegal("the incarnation does not rise")),
                    None => return Err(illegal("there is no ledger yet")),
                }
            }
        }
        Ok(self)
    }
}
