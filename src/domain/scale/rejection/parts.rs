//! What a refusal points at: the parts of a target, and the fields of a re-delivery.

use crate::domain::id::Replicas;
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

/// A count in words.
pub(super) fn counted_as(count: Option<Replicas>) -> String {
    count.map_or_else(|| "nobody knows how many".to_owned(), |count| count.to_string())
}

/// The name of an owner, behind its mode.
pub(super) fn named(owner: Option<&str>) -> String {
    owner.map_or_else(String::new, |owner| format!(", as {owner}"))
}
