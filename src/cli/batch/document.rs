//! The shape of one line of a batch: a command as it is typed, or a wish as a document.

use serde::Deserialize;
use serde_json::Value;

use super::lines::Raw;
use crate::domain::canonical::{DocumentError, from_value, parse_strict};
use crate::domain::id::ServiceName;
use crate::domain::scale::intent::IntentRecord;
use crate::domain::time::DurationMs;

/// What a line says.
#[derive(Debug)]
pub enum Document {
    /// The words of a command.
    Command(Vec<String>),
    /// A wish.
    Put(Box<PutDocument>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    #[expect(dead_code, reason = "it was taken before, for lines that have no other sense")]
    id: Option<Value>,
    command: Option<Vec<String>>,
    intent_put: Option<Box<PutDocument>>,
}

/// The flags of `intent put`, or its record.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent flag of the caller")]
pub struct PutDocument {
    pub(super) service: Option<ServiceName>,
    pub(super) replicas: Option<u64>,
    pub(super) key: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) expect_revision: Option<Revision>,
    pub(super) current_replicas: Option<u64>,
    pub(super) max_attempts: Option<u64>,
    pub(super) backoff_ms: Option<DurationMs>,
    pub(super) fence: Option<String>,
    pub(super) valid_for_ms: Option<DurationMs>,
    pub(super) approve_within_ms: Option<DurationMs>,
    pub(super) record: Option<Box<IntentRecord>>,
    #[serde(default)]
    pub(super) queue: bool,
    #[serde(default)]
    pub(super) supersede: bool,
    #[serde(default)]
    pub(super) override_cooldown: bool,
    #[serde(default)]
    pub(super) attest_not_drained: bool,
    #[serde(default)]
    pub(super) dry_run: bool,
}

/// An intent revision, or the word `latest`.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "an intent revision, 0 for none, or \"latest\"")]
pub enum Revision {
    /// A number.
    Number(u64),
    /// A word.
    Word(String),
}

impl Document {
    /// Reads a line: the caller's own name for it, which is known where the rest has no sense, and
    /// the rest.
    pub fn read(raw: &Raw) -> (Option<Value>, Result<Self, DocumentError>) {
        let value = match raw {
            Raw::Line(bytes) => parse_strict(bytes),
            Raw::TooLong => Err(DocumentError::TooLong),
        };
        let value = match value {
            Ok(value) => value,
            Err(error) => return (None, Err(error)),
        };
        let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
        if value.get("id").is_some() && id.is_none() {
            let problem = "a string or a number".to_owned();
            return (None, Err(DocumentError::Shape { path: "id".to_owned(), problem }));
        }
        (id, Self::of_value(value))
    }

    fn of_value(value: Value) -> Result<Self, DocumentError> {
        let whole: Whole = from_value(value)?;
        match (whole.command, whole.intent_put) {
            (Some(argv), None) => Ok(Self::Command(argv)),
            (None, Some(put)) => Ok(Self::Put(put)),
            (None, None) | (Some(_), Some(_)) => {
                let problem = "a line has either command or intent_put".to_owned();
                Err(DocumentError::Shape { path: String::new(), problem })
            }
        }
    }
}

impl PutDocument {
    /// Whether it says anything that a record says itself.
    pub(super) fn has_flags(&self) -> bool {
        self.replicas.is_some()
            || self.key.is_some()
            || self.reason.is_some()
            || self.expect_revision.is_some()
            || self.current_replicas.is_some()
            || self.max_attempts.is_some()
            || self.backoff_ms.is_some()
            || self.fence.is_some()
            || self.valid_for_ms.is_some()
    }
}
