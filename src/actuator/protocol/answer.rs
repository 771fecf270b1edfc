//! Answers, as actuators write them.

use serde::{Deserialize, Serialize};

use super::{PROTOCOL, one_line};
use crate::domain::id::{ActuatorName, ErrorCode, Replicas, TargetResourceVersion};
use crate::domain::scale::intent::TargetBinding;
use crate::domain::scale::observation::Evidence;
use crate::domain::scale::owners::TakeAway;
use crate::domain::scale::result::{ActuationResult, Detail};
use crate::domain::scale::service::{Capabilities, RegisteredMode};
use crate::domain::time::Timestamp;

/// The answer to `describe`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// What the actuator calls itself.
    pub name: ActuatorName,
    /// Its own version: printable, at most 256 characters.
    pub version: String,
    /// The environment variables that it needs: at most 64 names.
    #[serde(default)]
    pub environment: Vec<String>,
    /// What it can do; absent means that it cannot.
    #[serde(default)]
    pub capabilities: Capabilities,
}

/// The answer to `apply`, as an actuator writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyReply {
    /// The typed result of the contract.
    pub result: ActuationResult,
    /// The actuator itself does not know whether its effect took place.
    #[serde(default)]
    pub outcome_unknown: bool,
    /// Something was left half-done that a person should look at.
    #[serde(default)]
    pub rollback_required: bool,
    /// The version of the target after the call, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version_after: Option<TargetResourceVersion>,
}

/// The answer to `inspect`: the target as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inspection {
    /// All five members.
    pub target: TargetBinding,
    /// The generation, where the target has one.
    #[serde(default)]
    pub generation: Option<u64>,
    /// The declared count.
    pub replicas: Replicas,
    /// How many are ready, where the target says so.
    #[serde(default)]
    pub ready_replicas: Option<Replicas>,
    /// When it was read.
    pub read_at: Timestamp,
    /// Who drives the count besides us: at most 64 names for people.
    #[serde(default)]
    pub owners: Vec<String>,
    /// Who has set the count besides us and may do so again: at most 64 names for people. A
    /// warning, where an owner is a reason not to take the count over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub managers: Vec<String>,
    /// How those of `owners` are taken away that their own tool takes away: at most 64, each with
    /// at most 8 lines of at most 32 words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub take_away: Vec<TakeAway>,
    /// Owners, or kinds of them, that may not be read or not be understood: whether one of them
    /// drives the count nobody knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners_unread: Vec<String>,
}

/// The answer to `lookup`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum LookupReply {
    /// The key ended, with this result; a typed failure is a result too.
    Applied {
        /// The stored result.
        result: Box<ActuationResult>,
    },
    /// No call of the key at or below the attempt has had or will have an effect.
    Never,
    /// Neither can be said.
    Unknown,
}

/// The answer to `fence`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FenceReply {
    /// After this, no call below the mark can take effect.
    pub fenced: bool,
    /// A reading that began after the fence was in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<Inspection>,
}

/// The answer to `discover`: what could be scaled, by runtime and workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discovery {
    /// When it was read.
    pub read_at: Timestamp,
    /// At most 1000, each target once.
    pub found: Vec<Found>,
    /// Whether there is more than is listed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// What may not be read or not be understood: at most 64 names for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
}

/// One thing that could be scaled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// All five members.
    pub target: TargetBinding,
    /// The declared count, where it says one.
    #[serde(default)]
    pub replicas: Option<Replicas>,
    /// How many are ready, where that is known.
    #[serde(default)]
    pub ready_replicas: Option<Replicas>,
    /// Who drives the count: at most 64 names for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<String>,
    /// Who has set the count before and may do so again: at most 64 names for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub managers: Vec<String>,
    /// Owners, or kinds of them, of whom nobody knows whether they drive it: at most 64 names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners_unread: Vec<String>,
    /// The mode of those who drive it, where it is one that a service can be registered in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<RegisteredMode>,
}

/// The answer to any operation that was refused: this call has changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorReply {
    /// Why, for machines: `other_ledger`, `stale_fence`, `unknown_workload`, `busy` …
    pub code: ErrorCode,
    /// Why, for people.
    #[serde(default)]
    pub detail: Detail,
    /// Whether the same call may succeed later.
    #[serde(default)]
    pub retryable: bool,
}

/// What an actuator answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// To `describe`.
    Describe(Description),
    /// To `apply`.
    Apply(Box<ApplyReply>),
    /// To `inspect`.
    Inspect(Box<Inspection>),
    /// To `lookup`.
    Lookup(LookupReply),
    /// To `fence`.
    Fence(Box<FenceReply>),
    /// To `evidence`.
    Evidence(Box<Evidence>),
    /// To `discover`.
    Discover(Box<Discovery>),
    /// To anything.
    Error(ErrorReply),
}

#[derive(Serialize)]
struct Envelope<'body, Body: Serialize> {
    protocol: &'static str,
    #[serde(flatten)]
    body: &'body Body,
}

#[derive(Serialize)]
struct ErrorBody<'reply> {
    error: &'reply ErrorReply,
}

impl Reply {
    /// An error of our own making.
    pub fn error(code: &'static str, detail: &str, retryable: bool) -> Self {
        Self::Error(ErrorReply { code: own_code(code), detail: Detail::cut(detail), retryable })
    }

    /// The answer on the wire: one line, with its line feed.
    pub fn to_json(&self) -> String {
        let protocol = PROTOCOL;
        match self {
            Self::Describe(body) => one_line(&Envelope { protocol, body }),
            Self::Apply(body) => one_line(&Envelope { protocol, body }),
            Self::Inspect(body) => one_line(&Envelope { protocol, body }),
            Self::Lookup(body) => one_line(&Envelope { protocol, body }),
            Self::Fence(body) => one_line(&Envelope { protocol, body }),
            Self::Evidence(body) => one_line(&Envelope { protocol, body }),
            Self::Discover(body) => one_line(&Envelope { protocol, body }),
            Self::Error(error) => one_line(&Envelope { protocol, body: &ErrorBody { error } }),
        }
    }
}

fn own_code(code: &'static str) -> ErrorCode {
    code.parse().expect("BUG: an error code of our own is an identifier")
}
