//! The documents of the contract, as they are on the wire.
//!
//! They are read as leniently as by the service that has spoken the contract so far (facts, 1 and
//! 3.3): unknown members and bytes after the value are ignored, and a list of the members in their
//! order is taken for the object. They are written with exactly the members of the contract.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::error::Category;

/// The one version of the contract.
pub const SCHEMA_VERSION: u32 = 1;

/// The longest operation that is read, in bytes.
pub const OPERATION_BYTES_MAX: usize = 64 * 1024;

/// Which way the count goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Direction {
    /// More.
    Up,
    /// Fewer.
    Down,
}

/// One wish of the gateway. Two are the same operation if they are equal in every member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaleOperation {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What names the operation for ever. Any text that is not blank.
    pub operation_id: String,
    /// What is scaled. Any text that is not blank.
    pub service: String,
    /// The revision that it was derived from, compared as text; none matches no service.
    pub expected_revision: Option<String>,
    /// Which way.
    pub direction: Direction,
    /// The desired count that it was derived from.
    pub current_replicas: u32,
    /// The wished count.
    pub desired_replicas: u32,
    /// Why. Not checked, and a part of what makes two operations the same.
    pub reason: String,
}

/// What an accepted operation is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaleAnswer {
    /// Whether it was accepted: always, on the wire; a refusal is a [`ScaleConflict`].
    pub accepted: bool,
    /// How many there are: the wished count, or, once finalized, what whoever converged has said.
    pub actual_replicas: u32,
    /// The revision that it made.
    pub revision: Option<String>,
    /// For people.
    pub message: String,
}

/// Where a service stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaleObservation {
    /// The desired count.
    pub replicas: u32,
    /// The gateway revision.
    pub revision: Option<String>,
    /// How many are ready; never more than are desired.
    #[serde(default)]
    pub ready_replicas: u32,
    /// Where they are reached.
    #[serde(default)]
    pub endpoints: Vec<ScaleEndpoint>,
}

/// Where one replica is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaleEndpoint {
    /// Which instance.
    pub instance_id: String,
    /// Its place among the replicas.
    pub slot: u32,
    /// Its address.
    pub url: String,
}

/// A refusal, with where the service stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScaleConflict {
    /// The word for machines.
    pub code: Code,
    /// For people.
    pub message: String,
    /// Where the service stands, without live facts.
    pub observation: ScaleObservation,
}

/// An accepted operation and what it was answered: kept for ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The operation.
    pub request: ScaleOperation,
    /// The answer.
    pub response: ScaleAnswer,
}

impl Receipt {
    /// The revision that the operation made, as a number; none where the answer names none.
    pub fn revision(&self) -> Option<u64> {
        let text = self.response.revision.as_ref()?;
        let number: u64 = text.parse().ok()?;
        (number.to_string() == *text).then_some(number)
    }
}

/// The word of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// Not derived from what holds now.
    StaleRevision,
    /// The id names another operation.
    OperationConflict,
    /// Another version of the contract.
    UnsupportedSchema,
    /// No id, or no service.
    InvalidRequest,
    /// The counts do not go the way that is said.
    InvalidDirection,
    /// No room in the pool.
    CapacityExceeded,
    /// There is no such service any more.
    UnknownService,
    /// The operation is of another service than the one that is asked.
    ServiceMismatch,
    /// An operation cannot be finalized, or nothing can be recorded.
    AuthorityStateError,
    /// The operation was accepted, and what runs is not as it wishes, or not yet.
    ReconcileFailed,
    /// Where a service stands cannot be read.
    ObservationFailed,
    /// Our own: policy says no.
    PolicyDenied,
    /// Our own: somebody else owns the count.
    ExternalOwner,
    /// Our own: outside of the bounds of the service.
    OutOfBounds,
    /// Our own: too soon after the last change.
    Cooldown,
    /// Our own: something of the service is in the way.
    Busy,
    /// Our own: a fact could not be read or proved.
    Unknown,
}

impl Code {
    /// Every word.
    pub const ALL: [Self; 17] = [
        Self::StaleRevision,
        Self::OperationConflict,
        Self::UnsupportedSchema,
        Self::InvalidRequest,
        Self::InvalidDirection,
        Self::CapacityExceeded,
        Self::UnknownService,
        Self::ServiceMismatch,
        Self::AuthorityStateError,
        Self::ReconcileFailed,
        Self::ObservationFailed,
        Self::PolicyDenied,
        Self::ExternalOwner,
        Self::OutOfBounds,
        Self::Cooldown,
        Self::Busy,
        Self::Unknown,
    ];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StaleRevision => "stale_revision",
            Self::OperationConflict => "operation_conflict",
            Self::UnsupportedSchema => "unsupported_schema",
            Self::InvalidRequest => "invalid_request",
            Self::InvalidDirection => "invalid_direction",
            Self::CapacityExceeded => "capacity_exceeded",
            Self::UnknownService => "unknown_service",
            Self::ServiceMismatch => "service_mismatch",
            Self::AuthorityStateError => "authority_state_error",
            Self::ReconcileFailed => "reconcile_failed",
            Self::ObservationFailed => "observation_failed",
            Self::PolicyDenied => "policy_denied",
            Self::ExternalOwner => "external_owner",
            Self::OutOfBounds => "out_of_bounds",
            Self::Cooldown => "cooldown",
            Self::Busy => "busy",
            Self::Unknown => "unknown",
        }
    }

    /// The status of HTTP that it comes with.
    pub const fn status(self) -> u16 {
        match self {
            Self::PolicyDenied => 403,
            Self::UnknownService => 404,
            Self::StaleRevision | Self::OperationConflict | Self::ExternalOwner => 409,
            Self::UnsupportedSchema
            | Self::InvalidRequest
            | Self::InvalidDirection
            | Self::ServiceMismatch
            | Self::OutOfBounds => 422,
            Self::Cooldown => 429,
            Self::AuthorityStateError => 500,
            Self::Busy | Self::Unknown | Self::ReconcileFailed | Self::ObservationFailed => 503,
            Self::CapacityExceeded => 507,
        }
    }
}

/// Why bytes are no document of the contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Undecodable {
    /// More than may be read.
    #[error("the document is longer than {max} bytes")]
    TooLong {
        /// The bound.
        max: usize,
    },
    /// No JSON.
    #[error("the document is no JSON: {0}")]
    Syntax(String),
    /// JSON of another shape.
    #[error("the document is not of its shape: {0}")]
    Shape(String),
}

impl Undecodable {
    /// The status of HTTP that it comes with.
    pub const fn status(&self) -> u16 {
        match self {
            Self::TooLong { .. } => 413,
            Self::Syntax(_) => 400,
            Self::Shape(_) => 422,
        }
    }
}

/// Reads the first JSON value of some bytes as a document of the contract.
pub fn read_lenient<T: DeserializeOwned>(bytes: &[u8], max: usize) -> Result<T, Undecodable> {
    if bytes.len() > max {
        return Err(Undecodable::TooLong { max });
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    T::deserialize(&mut reader).map_err(|error| match error.classify() {
        Category::Data => Undecodable::Shape(error.to_string()),
        Category::Io | Category::Syntax | Category::Eof => Undecodable::Syntax(error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"{"schema_version":1,"operation_id":"op-1","service":"api",
        "expected_revision":"0","direction":"Up","current_replicas":0,"desired_replicas":2,
        "reason":"load"}"#;

    fn read(text: &str) -> Result<ScaleOperation, Undecodable> {
        read_lenient(text.as_bytes(), OPERATION_BYTES_MAX)
    }

    #[test]
    fn an_operation_is_read_as_leniently_as_on_the_wire() {
        let whole = read(WHOLE).expect("an operation");
        let listed = r#"[1,"op-1","api","0","Up",0,2,"load"]"#;
        for same in [
            WHOLE.replace("\"reason\"", "\"more\":{\"a\":[1]},\"reason\""),
            format!("{WHOLE} and more"),
            format!("  {WHOLE}{WHOLE}"),
            listed.to_owned(),
        ] {
            assert_eq!(read(&same).as_ref(), Ok(&whole), "{same}");
        }
        for none in
            [WHOLE.replace("\"0\"", "null"), WHOLE.replace("\"expected_revision\":\"0\",", "")]
        {
            assert_eq!(read(&none).expect("an operation").expected_revision, None, "{none}");
        }
    }

    #[test]
    fn what_is_no_operation_says_by_which_status() {
        let rows = [
            (String::new(), 400),
            ("{".to_owned(), 400),
            ("nonsense".to_owned(), 400),
            (WHOLE.replace("load", "\u{1}"), 400),
            (WHOLE.replace("\"Up\"", "\"up\""), 422),
            (WHOLE.replace(":2,", ":\"2\","), 422),
            (WHOLE.replace(":2,", ":2.0,"), 422),
            (WHOLE.replace(":2,", ":-1,"), 422),
            (WHOLE.replace(":2,", ":4294967296,"), 422),
            (WHOLE.replace("\"reason\":\"load\"", "\"reason\":null"), 422),
            (WHOLE.replace("\"service\":\"api\",", ""), 422),
            (WHOLE.replace("\"service\"", "\"service\":\"api\",\"service\""), 422),
            ("7".to_owned(), 422),
            (r#"[1,"op-1"]"#.to_owned(), 422),
            ("x".repeat(OPERATION_BYTES_MAX + 1), 413),
        ];
        for (text, status) in rows {
            let error = read(&text).expect_err("no operation");
            assert_eq!(error.status(), status, "{text:.80}: {error}");
        }
        let filler = OPERATION_BYTES_MAX - WHOLE.len();
        assert!(read(&format!("{WHOLE}{}", " ".repeat(filler))).is_ok());
    }

    #[test]
    fn documents_have_exactly_the_members_of_the_contract() {
        let operation = read(WHOLE).expect("an operation");
        let compact: String = WHOLE.split_whitespace().collect();
        assert_eq!(serde_json::to_string(&operation).expect("JSON"), compact);
        let observation = ScaleObservation {
            replicas: 2,
            revision: Some("1".to_owned()),
            ready_replicas: 1,
            endpoints: Vec::new(),
        };
        let conflict = ScaleConflict {
            code: Code::StaleRevision,
            message: "m".to_owned(),
            observation: observation.clone(),
        };
        let written = concat!(
            r#"{"code":"stale_revision","message":"m","observation":"#,
            r#"{"replicas":2,"revision":"1","ready_replicas":1,"endpoints":[]}}"#
        );
        assert_eq!(serde_json::to_string(&conflict).expect("JSON"), written);
        let least: ScaleObservation =
            read_lenient(br#"{"replicas":2,"revision":"1"}"#, 64).expect("an observation");
        assert_eq!(least, ScaleObservation { ready_replicas: 0, ..observation });
    }

    #[test]
    fn every_code_is_written_as_it_is_called() {
        for code in Code::ALL {
            let written = serde_json::to_string(&code).expect("JSON");
            assert_eq!(written, format!("{:?}", code.as_str()));
            assert!((400..600).contains(&code.status()), "{code:?}");
        }
    }

    #[test]
    fn a_receipt_names_its_revision_in_one_way_only() {
        let revision = |text: Option<&str>| {
            let response = ScaleAnswer {
                accepted: true,
                actual_replicas: 0,
                revision: text.map(str::to_owned),
                message: String::new(),
            };
            Receipt { request: read(WHOLE).expect("an operation"), response }.revision()
        };
        assert_eq!(revision(Some("17")), Some(17));
        for not in [None, Some(""), Some("01"), Some("+1"), Some("-1"), Some("one")] {
            assert_eq!(revision(not), None, "{not:?}");
        }
    }
}
