//! The wire of protocol `scalectl.actuator/1`: one process per call, one JSON object in, one out.
//!
//! Owns the text of every request and answer and the strict reading of both. Never starts a
//! process and never guesses: what is not a valid typed result of an `apply` is *unknown*, with a
//! word for why. Nothing here is stored, so nothing here can be lost in a crash.
//!
//! Words may be added. A reader of requests ignores members that it does not know, so that old
//! actuators survive new words; a reader of answers does the same, except inside the types of the
//! contract (`ScaleActuationRequest`, `ScaleActuationResult`, the target), which refuse them.
//! `docs/actuator-protocol.md` is the page for authors; `fixtures/protocol/` has one sample of each
//! message, held equal to this module by its tests.

mod answer;
mod reading;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use answer::{
    ApplyReply, Description, Discovery, ErrorReply, FenceReply, Found, Inspection, LookupReply,
    Reply,
};
pub use reading::{
    AnswerError, ApplyAnswer, Exit, FOUND_MAX, LIST_ITEMS_MAX, UnknownWhy, read_apply_answer,
    read_describe, read_discovery, read_evidence, read_fence, read_inspect, read_lookup,
};

use crate::domain::canonical::{DocumentError, from_value, parse_strict};
use crate::domain::id::{
    AttemptNumber, ClusterId, ExecutionKey, FenceToken, LeaseEpoch, LedgerId, Replicas, RuntimeId,
    TargetResourceVersion, TargetUid, WorkloadId,
};
use crate::domain::scale::intent::TargetBinding;
use crate::domain::scale::observation::Evidence;
use crate::domain::scale::result::ActuationRequest;
use crate::domain::time::DurationMs;

/// The protocol, as every message names it.
pub const PROTOCOL: &str = "scalectl.actuator/1";

/// The version of the behaviour of the bundled actuators; a binding is pinned to it.
pub const BUNDLED_VERSION: &str = "1";

/// Which ledger asks, so that a target can refuse another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerIdentity {
    /// Minted by `init`.
    pub id: LedgerId,
    /// Raised by every `restore`; an older incarnation is a copy that was left behind.
    pub incarnation: u64,
}

/// What the target was just before the call. A member that is not known is null.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Base {
    /// The declared count.
    pub replicas: Option<Replicas>,
    /// The generation, where the target has one.
    pub generation: Option<u64>,
    /// The version. A conditional actuator writes only if this is still the version.
    pub resource_version: Option<TargetResourceVersion>,
}

/// A target of which only the name must be known: what `inspect` is asked at `service put`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialTarget {
    /// The cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    /// The runtime in the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_id: Option<RuntimeId>,
    /// What the target is called there.
    pub workload_id: WorkloadId,
    /// The identity of the object, if it was read before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_uid: Option<TargetUid>,
    /// The version of the object, if it was read before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_resource_version: Option<TargetResourceVersion>,
}

impl PartialTarget {
    /// Whether `found` is where and what was asked for. The uid and the version are not compared:
    /// telling that they moved is what a reading is for.
    pub fn is_place_of(&self, found: &TargetBinding) -> bool {
        self.workload_id == found.workload_id
            && self.cluster_id.as_ref().is_none_or(|cluster| *cluster == found.cluster_id)
            && self.runtime_id.as_ref().is_none_or(|runtime| *runtime == found.runtime_id)
    }
}

impl From<&TargetBinding> for PartialTarget {
    fn from(target: &TargetBinding) -> Self {
        Self {
            cluster_id: Some(target.cluster_id.clone()),
            runtime_id: Some(target.runtime_id.clone()),
            workload_id: target.workload_id.clone(),
            target_uid: Some(target.target_uid.clone()),
            target_resource_version: Some(target.target_resource_version.clone()),
        }
    }
}

/// `apply`: make the count as wished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyRequest {
    /// Which ledger asks.
    pub ledger: LedgerIdentity,
    /// How long the call may take from its start; then its process group is killed.
    pub deadline_ms: DurationMs,
    /// The wish, as the contract says it.
    pub request: ActuationRequest,
    /// What the target was just before.
    #[serde(default)]
    pub base: Base,
    /// What is known about the safety of a reduction, where that was asked for.
    #[serde(default)]
    pub evidence: Option<Evidence>,
}

/// `inspect`: read the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InspectRequest {
    /// What to read.
    pub target: PartialTarget,
}

/// `lookup`: say what became of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookupRequest {
    /// Which ledger asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerIdentity>,
    /// The key.
    pub execution_key: ExecutionKey,
    /// The target that it was for.
    pub target: TargetBinding,
    /// The fence of the newest call, first half.
    pub epoch: LeaseEpoch,
    /// The fence of the newest call, second half.
    pub token: FenceToken,
    /// The newest attempt that was called: `never` speaks of it and of all below.
    pub attempt: AttemptNumber,
}

/// `fence`: make every call below (epoch, token, attempt) harmless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FenceRequest {
    /// Which ledger asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerIdentity>,
    /// What to fence.
    pub target: TargetBinding,
    /// The new mark, first part.
    pub epoch: LeaseEpoch,
    /// The new mark, second part.
    pub token: FenceToken,
    /// The new mark, third part: a call with this attempt may still have an effect.
    pub attempt: AttemptNumber,
}

/// `evidence`: gather what is known about the safety of a reduction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceRequest {
    /// What would be reduced.
    pub target: TargetBinding,
    /// The count now, where it is known.
    pub current: Option<Replicas>,
    /// The count that is wished.
    pub desired: Replicas,
}

/// `discover`: list what could be scaled, everywhere or in one place.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiscoverRequest {
    /// Which ledger asks, so that what takes orders from another one can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerIdentity>,
    /// Only in this cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    /// Only in this runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_id: Option<RuntimeId>,
}

/// What an actuator is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Who are you and what can you do?
    Describe,
    /// Make the count as wished.
    Apply(Box<ApplyRequest>),
    /// Read the target.
    Inspect(InspectRequest),
    /// Say what became of a key.
    Lookup(Box<LookupRequest>),
    /// Make older calls harmless.
    Fence(Box<FenceRequest>),
    /// Gather evidence for a reduction.
    Evidence(Box<EvidenceRequest>),
    /// List what could be scaled.
    Discover(DiscoverRequest),
}

/// Why a request could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Not one strict JSON document of the expected shape.
    #[error("the request cannot be read: {0}")]
    Document(#[from] DocumentError),
    /// Another protocol.
    #[error("the request is of protocol {found}, this is {PROTOCOL}")]
    Protocol {
        /// What it names, as JSON.
        found: String,
    },
    /// An operation that is not of this protocol.
    #[error("the request asks for operation {found}, which this actuator does not know")]
    Op {
        /// What it names, as JSON.
        found: String,
    },
}

#[derive(Serialize)]
struct Envelope<'body, Body: Serialize> {
    protocol: &'static str,
    op: &'static str,
    #[serde(flatten)]
    body: &'body Body,
}

impl Request {
    /// The word of the operation.
    pub const fn op(&self) -> &'static str {
        match self {
            Self::Describe => "describe",
            Self::Apply(_) => "apply",
            Self::Inspect(_) => "inspect",
            Self::Lookup(_) => "lookup",
            Self::Fence(_) => "fence",
            Self::Evidence(_) => "evidence",
            Self::Discover(_) => "discover",
        }
    }

    /// The request on the wire: one line, with its line feed.
    pub fn to_json(&self) -> String {
        let op = self.op();
        match self {
            Self::Describe => one_line(&Envelope { protocol: PROTOCOL, op, body: &Map::new() }),
            Self::Apply(body) => one_line(&Envelope { protocol: PROTOCOL, op, body }),
            Self::Inspect(body) => one_line(&Envelope { protocol: PROTOCOL, op, body }),
            Self::Lookup(body) => one_line(&Envelope { protocol: PROTOCOL, op, body }),
            Self::Fence(body) => one_line(&Envelope { protocol: PROTOCOL, op, body }),
            Self::Evidence(body) => one_line(&Envelope { protocol: PROTOCOL, op, body }),
            Self::Discover(body) => one_line(&Envelope { protocol: PROTOCOL, op, body }),
        }
    }

    /// Reads a request. Members that this version does not know are ignored.
    pub fn read(bytes: &[u8]) -> Result<Self, RequestError> {
        let value = parse_strict(bytes)?;
        let said = |member: &str| value.get(member).cloned().unwrap_or(Value::Null);
        let (protocol, op) = (said("protocol"), said("op"));
        if protocol != PROTOCOL {
            return Err(RequestError::Protocol { found: protocol.to_string() });
        }
        Ok(match op.as_str() {
            Some("describe") => Self::Describe,
            Some("apply") => Self::Apply(from_value(value)?),
            Some("inspect") => Self::Inspect(from_value(value)?),
            Some("lookup") => Self::Lookup(from_value(value)?),
            Some("fence") => Self::Fence(from_value(value)?),
            Some("evidence") => Self::Evidence(from_value(value)?),
            Some("discover") => Self::Discover(from_value(value)?),
            _ => return Err(RequestError::Op { found: op.to_string() }),
        })
    }
}

fn one_line<T: Serialize>(message: &T) -> String {
    let mut text = serde_json::to_string(message).expect("BUG: a message that is not JSON");
    text.push('\n');
    text
}
