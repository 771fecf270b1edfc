//! What a refusal points at: the parts of a target, the fields of a re-delivery, missing facts.

use crate::domain::count::runs;
use crate::domain::id::{IntentRevision, Replicas, ServiceName};
use crate::domain::scale::consent::Unauthorized;
use serde::Serialize;

/// Which part of the target moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetPart {
    /// The cluster.
    Cluster,
    /// The runtime.
    Runtime,
    /// The workload.
    Workload,
    /// The identity: it is another object.
    Uid,
    /// The version.
    Version,
    /// The generation.
    Generation,
    /// The declared count.
    Replicas,
}

impl TargetPart {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Runtime => "runtime",
            Self::Workload => "workload",
            Self::Uid => "uid",
            Self::Version => "version",
            Self::Generation => "generation",
            Self::Replicas => "replicas",
        }
    }
}

/// One field in which a re-delivery differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The field.
    pub field: String,
    /// What is stored.
    pub stored: String,
    /// What was submitted.
    pub submitted: String,
}

/// How many run, in words.
pub(super) fn counted_as(count: Option<Replicas>) -> String {
    count.map_or_else(|| "nobody knows how many run".to_owned(), |count| runs(count.get()))
}

/// The name of an owner, behind its mode.
pub(super) fn named(owner: Option<&str>) -> String {
    owner.map_or_else(String::new, |owner| format!(", as {owner}"))
}

/// Which fact is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "fact")]
pub enum MissingFact {
    /// Evidence that a reduction is safe: none at all.
    Evidence,
    /// Evidence that a reduction is safe: it does not say so.
    EvidenceSays {
        /// Which part of it.
        part: &'static str,
        /// What it should say.
        expected: String,
        /// What it says.
        actual: String,
    },
    /// Evidence that a quorum survives: none, and nothing replaces it.
    Quorum {
        /// Whether whoever is asked could say so, and has not this time.
        may_come: bool,
    },
    /// The count of the target.
    Count {
        /// Why it could not be read.
        why: String,
    },
    /// The count of the target: others have recorded what they read before each reading was used.
    Overtaken {
        /// How many readings.
        readings: u32,
    },
    /// Whether a change is cooling: one is unknown.
    Cooldown {
        /// The unknown one.
        by: IntentRevision,
    },
    /// A reading of the target.
    Reading,
    /// Who else drives the count.
    Owners {
        /// Who could not be read.
        unread: Vec<String>,
    },
}

impl MissingFact {
    pub(super) fn text(&self, service: &ServiceName) -> String {
        match self {
            Self::Evidence => {
                format!("{service} is to be reduced, and nothing proves that it is safe")
            }
            Self::EvidenceSays { part, expected, actual } => format!(
                "{service} is to be reduced, and the evidence says {part} {actual}, not {expected}"
            ),
            Self::Quorum { may_come } => format!(
                "{service} is to be reduced, and nothing {} that its quorum survives",
                if *may_come { "said this time" } else { "says" }
            ),
            Self::Count { why } => format!("the count of {service} could not be read: {why}"),
            Self::Overtaken { readings } => format!(
                "the count of {service} could not be read: {readings} readings were overtaken by \
                 newer ones"
            ),
            Self::Cooldown { by } => {
                format!("{service} may be cooling: nobody knows what became of {service}@{by}")
            }
            Self::Reading => format!("{service} was not read, and nothing else can confirm it"),
            Self::Owners { unread } => format!(
                "nobody knows who drives the count of {service}: {} could not be read",
                unread.join(" and ")
            ),
        }
    }
}

/// Why an authorization does not permit something, and the count that it is for where that is
/// another one: whatever else is wrong, nobody is to mend the smaller half of it.
pub(super) fn unauthorized(why: Unauthorized, is_for: Option<Replicas>) -> String {
    match (why, is_for) {
        (why, None) => why.as_str().to_owned(),
        (Unauthorized::OtherCount, Some(count)) => format!("{}: {count}", why.as_str()),
        (why, Some(count)) => {
            format!("{}, and {}: {count}", why.as_str(), Unauthorized::OtherCount.as_str())
        }
    }
}
