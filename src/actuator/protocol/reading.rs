//! Answers, as we read them: strictly, and never taken for more than they prove.

mod discovery;
mod inspection;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::discovery::{FOUND_MAX, read_discovery};
use self::inspection::check_inspection;
use super::answer::{ApplyReply, Description, ErrorReply, FenceReply, Inspection, LookupReply};
use super::{PROTOCOL, PartialTarget, one_line};
use crate::domain::canonical::{DocumentError, from_value, parse_strict};
use crate::domain::id::{ExecutionKey, TargetResourceVersion};
use crate::domain::scale::intent::TargetBinding;
use crate::domain::scale::observation::Evidence;
use crate::domain::scale::result::{ActuationResult, Answer, Detail, ResultState};

/// The most environment names, and the most owners, that one answer may list.
pub const LIST_ITEMS_MAX: usize = 64;
/// The longest version, environment name or owner, in characters.
const WORD_CHARS_MAX: usize = 256;

/// How the process of a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was killed because its time was over.
    TimedOut,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit {code}"),
            Self::Signal(signal) => write!(f, "death by signal {signal}"),
            Self::TimedOut => f.write_str("the end of its time"),
        }
    }
}

/// Why an answer is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Not one strict JSON object of the expected shape.
    #[error("the actuator's answer cannot be read: {0}")]
    Document(#[from] DocumentError),
    /// Another protocol.
    #[error("the actuator's answer is of protocol {found}, expected {PROTOCOL:?}")]
    Protocol {
        /// What it names, as JSON.
        found: String,
    },
    /// About another key.
    #[error("the actuator answered for key {found}, asked was {asked}")]
    WrongKey {
        /// The key that was asked.
        asked: ExecutionKey,
        /// The key that was answered.
        found: ExecutionKey,
    },
    /// About another target.
    #[error("the actuator answered for another target than was asked: {found}")]
    WrongTarget {
        /// The target that was answered, as JSON.
        found: String,
    },
    /// A simulation, which no actuator is ever asked for.
    #[error("the actuator says that it only simulated")]
    Simulated,
    /// A member breaks its bounds.
    #[error("the actuator's answer breaks a bound: {problem}")]
    Bounds {
        /// Which one.
        problem: &'static str,
    },
    /// The process did not end with exit 0.
    #[error("the actuator ended with {0}")]
    Exit(Exit),
    /// The actuator refused.
    #[error("the actuator refused ({}): {}", .0.code, .0.detail.as_str().escape_debug())]
    Refused(ErrorReply),
}

/// Why nobody knows whether an `apply` had its effect. The word is stored and shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownWhy {
    /// Nothing was answered.
    NoResult,
    /// What was answered is not one valid typed result.
    GarbledResult,
    /// More was answered than is read.
    ResultTooLong,
    /// The answer is of another protocol.
    WrongProtocol,
    /// The answer is about another key.
    WrongKey,
    /// The answer is about another target.
    WrongTarget,
    /// A live call was answered by a simulation.
    SimulatedResult,
    /// It says that it succeeded, and ended with another exit than 0.
    ExitContradicts,
    /// The actuator itself says that it does not know.
    SaidUnknown,
    /// Its time was over.
    TimedOut,
    /// It was killed.
    DiedBySignal,
}

impl UnknownWhy {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoResult => "no_result",
            Self::GarbledResult => "garbled_result",
            Self::ResultTooLong => "result_too_long",
            Self::WrongProtocol => "wrong_protocol",
            Self::WrongKey => "wrong_key",
            Self::WrongTarget => "wrong_target",
            Self::SimulatedResult => "simulated_result",
            Self::ExitContradicts => "exit_contradicts",
            Self::SaidUnknown => "said_unknown",
            Self::TimedOut => "timed_out",
            Self::DiedBySignal => "died_by_signal",
        }
    }

    const fn of(error: &AnswerError) -> Self {
        match error {
            AnswerError::Document(DocumentError::Empty) => Self::NoResult,
            AnswerError::Document(DocumentError::TooLong) => Self::ResultTooLong,
            AnswerError::Protocol { .. } => Self::WrongProtocol,
            AnswerError::WrongKey { .. } => Self::WrongKey,
            AnswerError::WrongTarget { .. } => Self::WrongTarget,
            AnswerError::Simulated => Self::SimulatedResult,
            AnswerError::Exit(_) => Self::ExitContradicts,
            AnswerError::Document(_) | AnswerError::Bounds { .. } | AnswerError::Refused(_) => {
                Self::GarbledResult
            }
        }
    }
}

impl fmt::Display for UnknownWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an `apply` came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyAnswer {
    /// A valid typed result: `succeeded` or `failed`, never `simulated`.
    Known {
        /// The result.
        result: Box<ActuationResult>,
        /// Something was left half-done that a person should look at.
        rollback_required: bool,
        /// The version of the target after the call, where it is known.
        resource_version_after: Option<TargetResourceVersion>,
    },
    /// It may or may not have had its effect.
    Unknown {
        /// The word for why.
        why: UnknownWhy,
        /// The same for people, at most 512 characters.
        detail: Detail,
        /// Something was left half-done that a person should look at.
        rollback_required: bool,
    },
}

/// Reads what an `apply` printed, given how it ended.
///
/// A valid typed *failure* is the result whatever the exit code. `succeeded` with another exit than
/// 0, no valid result, the end of its time and death by a signal are unknown (design, section 6).
/// A refusal by an error answer is a failed result of the same code: it says that nothing was
/// changed.
pub fn read_apply_answer(
    bytes: &[u8],
    key: &ExecutionKey,
    target: &TargetBinding,
    exit: Exit,
) -> ApplyAnswer {
    let unknown = |why: UnknownWhy, detail: &str, rollback_required: bool| ApplyAnswer::Unknown {
        why,
        detail: Detail::cut(detail),
        rollback_required,
    };
    let ended = format!("the actuator ended with {exit}");
    match exit {
        Exit::TimedOut => return unknown(UnknownWhy::TimedOut, &ended, false),
        Exit::Signal(_) => return unknown(UnknownWhy::DiedBySignal, &ended, false),
        Exit::Code(_) => {}
    }
    let reply = match read_apply_reply(bytes, key, target) {
        Ok(reply) => reply,
        Err(AnswerError::Refused(refusal)) => refused_result(refusal, key, target),
        Err(error) => return unknown(UnknownWhy::of(&error), &error.to_string(), false),
    };
    if reply.outcome_unknown {
        let detail = reply.result.detail.as_str();
        return unknown(UnknownWhy::SaidUnknown, detail, reply.rollback_required);
    }
    if reply.result.state() == ResultState::Succeeded && exit != Exit::Code(0) {
        let detail = format!("the actuator says that it succeeded, and ended with {exit}");
        return unknown(UnknownWhy::ExitContradicts, &detail, reply.rollback_required);
    }
    ApplyAnswer::Known {
        result: Box::new(reply.result),
        rollback_required: reply.rollback_required,
        resource_version_after: reply.resource_version_after,
    }
}

fn read_apply_reply(
    bytes: &[u8],
    key: &ExecutionKey,
    target: &TargetBinding,
) -> Result<ApplyReply, AnswerError> {
    let reply: ApplyReply = from_value(Value::Object(open(bytes)?))?;
    check_result(&reply.result, key, target)?;
    Ok(reply)
}

fn refused_result(refusal: ErrorReply, key: &ExecutionKey, target: &TargetBinding) -> ApplyReply {
    ApplyReply {
        result: ActuationResult {
            execution_key: key.clone(),
            target: target.clone(),
            answer: Answer::Failed {
                observed_replicas: None,
                retryable: refusal.retryable,
                error_code: refusal.code,
            },
            detail: refusal.detail,
            actuator_operation_id: None,
        },
        outcome_unknown: false,
        rollback_required: false,
        resource_version_after: None,
    }
}

fn check_result(
    result: &ActuationResult,
    key: &ExecutionKey,
    target: &TargetBinding,
) -> Result<(), AnswerError> {
    if result.execution_key != *key {
        let (asked, found) = (key.clone(), result.execution_key.clone());
        return Err(AnswerError::WrongKey { asked, found });
    }
    if result.target != *target {
        return Err(wrong_target(&result.target));
    }
    if result.state() == ResultState::Simulated {
        return Err(AnswerError::Simulated);
    }
    Ok(())
}

fn wrong_target(found: &TargetBinding) -> AnswerError {
    AnswerError::WrongTarget { found: one_line(found).trim_end().to_owned() }
}

/// Reads the answer to `describe`.
pub fn read_describe(bytes: &[u8], exit: Exit) -> Result<Description, AnswerError> {
    let found: Description = read(bytes, exit)?;
    let is_name = |name: &String| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    if !is_short_text(&found.version) {
        return Err(AnswerError::Bounds { problem: "version is 1 to 256 printable characters" });
    }
    if found.environment.len() > LIST_ITEMS_MAX || !found.environment.iter().all(is_name) {
        return Err(AnswerError::Bounds { problem: "environment is at most 64 variable names" });
    }
    Ok(found)
}

/// Reads the answer to `inspect`: it must be about the place that was asked for.
pub fn read_inspect(
    bytes: &[u8],
    asked: &PartialTarget,
    exit: Exit,
) -> Result<Inspection, AnswerError> {
    let found: Inspection = read(bytes, exit)?;
    check_inspection(&found, asked)?;
    Ok(found)
}

/// Reads the answer to `lookup`: a result must be about the key and the target that were asked.
pub fn read_lookup(
    bytes: &[u8],
    key: &ExecutionKey,
    target: &TargetBinding,
    exit: Exit,
) -> Result<LookupReply, AnswerError> {
    let found: LookupReply = read(bytes, exit)?;
    if let LookupReply::Applied { result } = &found {
        check_result(result, key, target)?;
    }
    Ok(found)
}

/// Reads the answer to `fence`: its reading must be about the place that was asked for.
pub fn read_fence(
    bytes: &[u8],
    target: &TargetBinding,
    exit: Exit,
) -> Result<FenceReply, AnswerError> {
    let found: FenceReply = read(bytes, exit)?;
    if let Some(reading) = &found.reading {
        check_inspection(reading, &PartialTarget::from(target))?;
    }
    Ok(found)
}

/// Reads the answer to `evidence`.
pub fn read_evidence(bytes: &[u8], exit: Exit) -> Result<Evidence, AnswerError> {
    let mut members: Map<String, Value> = read(bytes, exit)?;
    // The stored type refuses unknown members; on the wire they are new words.
    members.retain(|member, _| {
        matches!(
            member.as_str(),
            "drained"
                | "stabilized"
                | "resource_version"
                | "observed_replicas"
                | "remaining_replicas"
                | "quorum_safe"
                | "read_at"
        )
    });
    Ok(from_value(Value::Object(members))?)
}

fn read<T: serde::de::DeserializeOwned>(bytes: &[u8], exit: Exit) -> Result<T, AnswerError> {
    match (exit, open(bytes)) {
        // A refusal says more than the exit code that comes with it.
        (Exit::Code(_), Err(AnswerError::Refused(refusal))) => Err(AnswerError::Refused(refusal)),
        (Exit::Code(0), members) => Ok(from_value(Value::Object(members?))?),
        (exit, _) => Err(AnswerError::Exit(exit)),
    }
}

fn open(bytes: &[u8]) -> Result<Map<String, Value>, AnswerError> {
    let mut members: Map<String, Value> = from_value(parse_strict(bytes)?)?;
    let protocol = members.get("protocol").unwrap_or(&Value::Null);
    if protocol != PROTOCOL {
        return Err(AnswerError::Protocol { found: protocol.to_string() });
    }
    match members.remove("error") {
        // A message with both a result and an error is neither.
        Some(error) if !error.is_null() && !members.contains_key("result") => {
            Err(AnswerError::Refused(from_value(error)?))
        }
        Some(error) if !error.is_null() => {
            Err(AnswerError::Bounds { problem: "a result and an error in one answer" })
        }
        _ => Ok(members),
    }
}

fn are_names(list: &[String]) -> bool {
    list.len() <= LIST_ITEMS_MAX && list.iter().all(|name| is_short_text(name))
}

fn is_short_text(text: &str) -> bool {
    !text.is_empty()
        && text.chars().count() <= WORD_CHARS_MAX
        && !text.chars().any(char::is_control)
}
