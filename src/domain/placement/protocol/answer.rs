//! Answers: a receipt, or a refusal with its facts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{PROTOCOL, Receipt, one_line};
use crate::domain::canonical::{DocumentError, from_value, parse_strict};
use crate::domain::id::{CellName, FenceToken, PlacementEpoch};

/// Whether a call that did not come to its end has changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Applied {
    /// Nothing that anybody but the relocator sees.
    No,
    /// Something: the same request goes on from there.
    Yes,
    /// It cannot tell.
    Unknown,
}

/// Why an operation did not come to its end: a code and its facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", content = "facts", rename_all = "snake_case")]
pub enum Refusal {
    /// The copy needs what is not there.
    MissingDependency {
        /// What is missing, each by its name below the copy.
        missing: Vec<String>,
    },
    /// Somebody works in the workspace: stop it first.
    WorkspaceRunning,
    /// The cell or its disk is full: this is no admission, the bytes do not fit.
    CapacityExhausted {
        /// The cell.
        cell: CellName,
        /// How many bytes are asked for.
        needed_bytes: u64,
        /// How many there may be.
        limit_bytes: u64,
        /// How many there are.
        used_bytes: u64,
        /// How many more there would have to be.
        missing_bytes: u64,
    },
    /// That nothing is written any more cannot be proved.
    UnprovableFencing {
        /// Why.
        why: String,
    },
    /// A newer lease has fenced meanwhile: this call is of a worker that is over.
    StaleToken {
        /// The token of the request.
        given: FenceToken,
        /// The newest that was seen.
        current: FenceToken,
    },
    /// This token has not fenced the copy, or not yet.
    NotFenced {
        /// The token of the request.
        given: FenceToken,
        /// The token that has fenced last; none where none has.
        current: Option<FenceToken>,
    },
    /// The move was committed: there is no way back, only forward.
    Committed {
        /// The epoch that was committed.
        epoch: PlacementEpoch,
    },
    /// A file is not what the manifest says.
    Damaged {
        /// The file, by its name below the copy.
        file: String,
        /// The digest or the fact that is expected.
        expected: String,
        /// What was found.
        actual: String,
    },
    /// There is a copy, and it is not the one that is meant.
    OtherGeneration {
        /// What is meant.
        expected: String,
        /// What is there.
        found: String,
    },
    /// There is no such thing.
    NotThere {
        /// What.
        what: String,
    },
    /// A file of the copy cannot be used as it is.
    Unusable {
        /// The file, by its name below the copy.
        file: String,
        /// What is wrong.
        problem: String,
    },
    /// The time was over before something happened.
    TimedOut {
        /// What was waited for.
        waited_for: String,
    },
    /// The host has refused something.
    Io {
        /// What was being done.
        doing: String,
        /// To which file.
        file: String,
        /// What the host says.
        problem: String,
    },
    /// The request makes no sense.
    BadRequest {
        /// Why.
        problem: String,
    },
}

impl Refusal {
    /// The word of the code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::MissingDependency { .. } => "missing_dependency",
            Self::WorkspaceRunning => "workspace_running",
            Self::CapacityExhausted { .. } => "capacity_exhausted",
            Self::UnprovableFencing { .. } => "unprovable_fencing",
            Self::StaleToken { .. } => "stale_token",
            Self::NotFenced { .. } => "not_fenced",
            Self::Committed { .. } => "committed",
            Self::Damaged { .. } => "damaged",
            Self::OtherGeneration { .. } => "other_generation",
            Self::NotThere { .. } => "not_there",
            Self::Unusable { .. } => "unusable",
            Self::TimedOut { .. } => "timed_out",
            Self::Io { .. } => "io",
            Self::BadRequest { .. } => "bad_request",
        }
    }

    /// Whether the same request may come to its end later without anybody changing the copy.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::CapacityExhausted { .. } | Self::TimedOut { .. } | Self::Io { .. } => true,
            Self::MissingDependency { .. }
            | Self::WorkspaceRunning
            | Self::UnprovableFencing { .. }
            | Self::StaleToken { .. }
            | Self::NotFenced { .. }
            | Self::Committed { .. }
            | Self::Damaged { .. }
            | Self::OtherGeneration { .. }
            | Self::NotThere { .. }
            | Self::Unusable { .. }
            | Self::BadRequest { .. } => false,
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::MissingDependency { missing } => write!(f, "missing: {}", missing.join(", ")),
            Self::WorkspaceRunning => f.write_str("the workspace is running: stop it first"),
            Self::CapacityExhausted {
                cell,
                needed_bytes,
                limit_bytes,
                used_bytes,
                missing_bytes,
            } => write!(
                f,
                "cell {cell} is full, {missing_bytes} bytes are missing: {needed_bytes} are \
                 needed, {used_bytes} of {limit_bytes} are used"
            ),
            Self::UnprovableFencing { why } => write!(f, "the fence cannot be proved: {why}"),
            Self::StaleToken { given, current } => {
                write!(f, "token {given} is over: {current} has fenced since")
            }
            Self::NotFenced { given, current: Some(current) } => {
                write!(f, "token {given} has not fenced: the fence is of token {current}")
            }
            Self::NotFenced { given, current: None } => {
                write!(f, "token {given} has not fenced: there is no fence")
            }
            Self::Committed { epoch } => write!(f, "epoch {epoch} is committed: only forward"),
            Self::Damaged { file, expected, actual } => {
                write!(f, "{file} is damaged: {expected} is expected, found is {actual}")
            }
            Self::OtherGeneration { expected, found } => {
                write!(f, "{expected} is expected, found is {found}")
            }
            Self::NotThere { what } => write!(f, "there is no {what}"),
            Self::Unusable { file, problem } => write!(f, "{file} cannot be used: {problem}"),
            Self::TimedOut { waited_for } => write!(f, "no time was left for {waited_for}"),
            Self::Io { doing, file, problem } => write!(f, "{doing} {file}: {problem}"),
            Self::BadRequest { problem } => f.write_str(problem),
        }
    }
}

/// A refusal as it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelocatorError {
    /// Why.
    #[serde(flatten)]
    pub refusal: Refusal,
    /// The same for people.
    pub message: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// Whether anything was changed.
    pub applied: Applied,
}

/// The one answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Done: now, or before.
    Done(Box<Receipt>),
    /// Not done.
    Refused(Box<RelocatorError>),
}

#[derive(Serialize, Deserialize)]
struct Wire {
    protocol: String,
    ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    receipt: Option<Receipt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<RelocatorError>,
}

/// Why bytes are no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Not one strict JSON document of the expected shape.
    #[error("the answer cannot be read: {0}")]
    Document(#[from] DocumentError),
    /// Another protocol.
    #[error("the answer is of protocol {found}, this is {PROTOCOL}")]
    Protocol {
        /// What it names, as JSON.
        found: String,
    },
    /// A receipt beside a refusal, or neither.
    #[error("the answer says ok {ok} and has {what}")]
    Contradiction {
        /// What it says.
        ok: bool,
        /// What it has.
        what: &'static str,
    },
    /// A receipt of something else.
    #[error("the answer is about {found}, asked was {asked}")]
    OtherOp {
        /// What was asked.
        asked: &'static str,
        /// What it is about.
        found: &'static str,
    },
}

impl Reply {
    /// The answer on the wire: one line, with its line feed.
    pub fn to_json(&self) -> String {
        let protocol = PROTOCOL.to_owned();
        one_line(&match self {
            Self::Done(receipt) => {
                Wire { protocol, ok: true, receipt: Some((**receipt).clone()), error: None }
            }
            Self::Refused(error) => {
                Wire { protocol, ok: false, receipt: None, error: Some((**error).clone()) }
            }
        })
    }
}

/// Reads the answer to an operation.
pub fn read_reply(bytes: &[u8], asked: &'static str) -> Result<Reply, AnswerError> {
    let value = parse_strict(bytes)?;
    let protocol = value.get("protocol").cloned().unwrap_or(Value::Null);
    if protocol != PROTOCOL {
        return Err(AnswerError::Protocol { found: protocol.to_string() });
    }
    let Wire { ok, receipt, error, .. } = from_value(value)?;
    match (ok, receipt, error) {
        (true, Some(receipt), None) if receipt.op() == asked => Ok(Reply::Done(Box::new(receipt))),
        (true, Some(receipt), None) => Err(AnswerError::OtherOp { asked, found: receipt.op() }),
        (false, None, Some(error)) => Ok(Reply::Refused(Box::new(error))),
        (ok, Some(_), Some(_)) => Err(AnswerError::Contradiction { ok, what: "both" }),
        (ok, None, None) => Err(AnswerError::Contradiction { ok, what: "neither" }),
        (ok, Some(_), None) => Err(AnswerError::Contradiction { ok, what: "a receipt" }),
        (ok, None, Some(_)) => Err(AnswerError::Contradiction { ok, what: "an error" }),
    }
}
