//! The wire of protocol `scalectl.relocator/1`: one process per call, one JSON object in, one out.
//!
//! Owns the text of every request and answer and the strict reading of both, for the parent and
//! for relocators alike. Never starts a process and never touches a disk. Every operation is
//! idempotent: after a crash the same request comes to the same end, and its receipt says so.
//!
//! `docs/relocator-protocol.md` is the page for authors. Members that are not known are ignored, so
//! that words may be added.

mod answer;
mod receipt;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use answer::{AnswerError, Applied, Refusal, RelocatorError, Reply, read_reply};
pub use receipt::{
    Described, Discarded, Drained, Fenced, Inventory, Receipt, Retired, Routed, Transferred,
    Undrained, Unfenced, Verified, WorkspaceLeft, WorkspaceState,
};

use crate::domain::canonical::{DocumentError, from_value, parse_strict};
use crate::domain::id::{
    CallId, CellName, EnvironmentName, FenceToken, OperationId, PlacementEpoch,
};
use crate::domain::time::DurationMs;

/// The protocol, as every message names it.
pub const PROTOCOL: &str = "scalectl.relocator/1";

/// The operations, as they are named in every request and receipt.
pub const OPS: [&str; 12] = [
    "describe",
    "inventory",
    "drain",
    "undrain",
    "fence",
    "unfence",
    "transfer",
    "verify",
    "route",
    "retire",
    "discard",
    "snapshot",
];

/// The version of the behaviour of the bundled relocator.
pub const BUNDLED_VERSION: &str = "1";

/// One copy of an environment, in the order in which they were made: `<epoch>-<operation>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Generation {
    /// The epoch in which it is or would be the owner.
    pub epoch: PlacementEpoch,
    /// The operation that made it.
    pub operation: OperationId,
}

/// A text that names no generation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("generation {0:?} is not EPOCH-OPERATION, such as 3-op1")]
pub struct InvalidGeneration(String);

impl FromStr for Generation {
    type Err = InvalidGeneration;
    fn from_str(text: &str) -> Result<Self, InvalidGeneration> {
        let invalid = || InvalidGeneration(text.chars().take(80).collect());
        let (epoch, operation) = text.split_once('-').ok_or_else(invalid)?;
        let is_number = !epoch.is_empty()
            && epoch.bytes().all(|b| b.is_ascii_digit())
            && (epoch == "0" || !epoch.starts_with('0'));
        let epoch = epoch.parse().ok().filter(|_| is_number).ok_or_else(invalid)?;
        Ok(Self {
            epoch: PlacementEpoch::new(epoch).map_err(|_| invalid())?,
            operation: operation.parse().map_err(|_| invalid())?,
        })
    }
}

impl TryFrom<String> for Generation {
    type Error = InvalidGeneration;
    fn try_from(text: String) -> Result<Self, InvalidGeneration> {
        text.parse()
    }
}

impl From<Generation> for String {
    fn from(generation: Generation) -> String {
        generation.to_string()
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.operation)
    }
}

/// Where a copy is: an effect names exactly one, and touches no other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CopyPlace {
    /// The cell.
    pub cell: CellName,
    /// The copy in it.
    pub generation: Generation,
}

impl fmt::Display for CopyPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in cell {}", self.generation, self.cell)
    }
}

/// What a relocator is asked to do, with the copies that it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Order {
    /// Say what the copy consists of, and whether anything that it needs is missing.
    Inventory {
        /// The copy that serves.
        source: CopyPlace,
    },
    /// Take the route away, let accepted requests end, revoke sessions.
    Drain {
        /// The copy that serves.
        source: CopyPlace,
    },
    /// Give the route back as it was: before the commit only.
    Undrain {
        /// The copy that served.
        source: CopyPlace,
    },
    /// Let no write into the copy: rows in their own transaction, files under the lock.
    Fence {
        /// The copy that served.
        source: CopyPlace,
    },
    /// Let writes in again: before the commit only.
    Unfence {
        /// The copy that served.
        source: CopyPlace,
    },
    /// Copy a fenced copy, whole.
    Transfer {
        /// The fenced copy.
        source: CopyPlace,
        /// The copy that is made.
        target: CopyPlace,
    },
    /// Read back every byte of a copy.
    Verify {
        /// The copy that was made.
        target: CopyPlace,
    },
    /// After the commit: close the source for ever, open the target, route to it.
    Route {
        /// The copy that served.
        source: CopyPlace,
        /// The copy that serves from now on.
        target: CopyPlace,
    },
    /// Remove an older copy, once a newer one serves or protects in its place.
    Retire {
        /// The older copy.
        source: CopyPlace,
        /// The copy that has taken its place.
        target: CopyPlace,
        /// Whether its workspace is removed as well.
        #[serde(default)]
        workspace: bool,
    },
    /// Remove a copy that never served.
    Discard {
        /// That copy.
        target: CopyPlace,
    },
    /// Make a recovery package: an online export that fences nothing.
    Snapshot {
        /// The copy that serves.
        source: CopyPlace,
        /// The package that is made.
        target: CopyPlace,
    },
}

impl Order {
    /// The word of the operation.
    pub const fn op(&self) -> &'static str {
        match self {
            Self::Inventory { .. } => "inventory",
            Self::Drain { .. } => "drain",
            Self::Undrain { .. } => "undrain",
            Self::Fence { .. } => "fence",
            Self::Unfence { .. } => "unfence",
            Self::Transfer { .. } => "transfer",
            Self::Verify { .. } => "verify",
            Self::Route { .. } => "route",
            Self::Retire { .. } => "retire",
            Self::Discard { .. } => "discard",
            Self::Snapshot { .. } => "snapshot",
        }
    }
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Which call this is, for people.
    pub call_id: CallId,
    /// How long it may take from its start; then its process group is killed.
    pub deadline_ms: DurationMs,
    /// Whose copies these are.
    pub environment: EnvironmentName,
    /// The operation that asks.
    pub operation: OperationId,
    /// The fence token of the operation's lease: strictly higher for each new lease of the
    /// environment.
    pub token: FenceToken,
    /// The committed epoch before the move.
    pub epoch: PlacementEpoch,
    /// What to do.
    #[serde(flatten)]
    pub order: Order,
}

/// What a relocator is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Who are you and what can you do?
    Describe,
    /// Do this.
    Call(Box<Call>),
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
}

#[derive(Serialize)]
struct Envelope<'call> {
    protocol: &'static str,
    #[serde(flatten)]
    call: &'call Call,
}

#[derive(Serialize)]
struct DescribeEnvelope {
    protocol: &'static str,
    op: &'static str,
}

impl Request {
    /// The word of the operation.
    pub const fn op(&self) -> &'static str {
        match self {
            Self::Describe => "describe",
            Self::Call(call) => call.order.op(),
        }
    }

    /// The request on the wire: one line, with its line feed.
    pub fn to_json(&self) -> String {
        match self {
            Self::Describe => one_line(&DescribeEnvelope { protocol: PROTOCOL, op: "describe" }),
            Self::Call(call) => one_line(&Envelope { protocol: PROTOCOL, call }),
        }
    }

    /// Reads a request. Members that this version does not know are ignored.
    pub fn read(bytes: &[u8]) -> Result<Self, RequestError> {
        let value = parse_strict(bytes)?;
        let protocol = value.get("protocol").cloned().unwrap_or(Value::Null);
        if protocol != PROTOCOL {
            return Err(RequestError::Protocol { found: protocol.to_string() });
        }
        if value.get("op").and_then(Value::as_str) == Some("describe") {
            return Ok(Self::Describe);
        }
        Ok(Self::Call(Box::new(from_value(value)?)))
    }
}

fn one_line<T: Serialize>(message: &T) -> String {
    let mut text = serde_json::to_string(message).expect("BUG: a message that is not JSON");
    text.push('\n');
    text
}
