//! The documents of the API that are read here, and no member more than is needed.
//!
//! A member that is absent is unknown. The one exception are the counts of a status, which the API
//! leaves out where they are 0: they are 0 once the controller has seen the object as it is.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::place::Kind;
use crate::domain::id::{Replicas, TargetResourceVersion, TargetUid};

/// The annotation that holds the newest fence.
pub(super) const FENCE_ANNOTATION: &str = "scalectl.io/fence";
/// Who sets the count through this adapter.
const OWN_MANAGER: (&str, &str) = ("kubectl", "scale");

/// A Deployment or a StatefulSet.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Object {
    pub(super) kind: Option<String>,
    pub(super) metadata: Metadata,
    #[serde(default)]
    pub(super) spec: Spec,
    #[serde(default)]
    pub(super) status: Status,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) uid: TargetUid,
    pub(super) resource_version: TargetResourceVersion,
    pub(super) generation: Option<u64>,
    #[serde(default)]
    pub(super) annotations: BTreeMap<String, String>,
    #[serde(default)]
    managed_fields: Vec<ManagedFields>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManagedFields {
    #[serde(default)]
    manager: String,
    #[serde(default)]
    subresource: String,
    #[serde(default)]
    fields_v1: Value,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Spec {
    /// Absent is unknown, never 1.
    pub(super) replicas: Option<Replicas>,
    #[serde(default)]
    pub(super) template: Template,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Template {
    #[serde(default)]
    pub(super) metadata: TemplateMetadata,
    #[serde(default)]
    pub(super) spec: PodSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct TemplateMetadata {
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodSpec {
    pub(super) termination_grace_period_seconds: Option<u64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Status {
    pub(super) observed_generation: Option<u64>,
    pub(super) replicas: Option<Replicas>,
    pub(super) ready_replicas: Option<Replicas>,
    pub(super) updated_replicas: Option<Replicas>,
    pub(super) available_replicas: Option<Replicas>,
    pub(super) current_revision: Option<String>,
    pub(super) update_revision: Option<String>,
}

impl Object {
    /// Whether its controller has seen it as it is.
    pub(super) fn is_seen(&self) -> bool {
        match (self.status.observed_generation, self.metadata.generation) {
            (Some(seen), Some(generation)) => seen >= generation,
            (_, None) => true,
            (None, Some(_)) => false,
        }
    }

    /// A count of the status; unknown until the controller has seen the object as it is.
    pub(super) fn counted(&self, count: Option<Replicas>) -> Option<Replicas> {
        self.is_seen().then(|| count.unwrap_or(Replicas::MIN))
    }

    /// Who else has set the count, as the API server remembers it, each once.
    pub(super) fn managers(&self) -> Vec<String> {
        let sets = |entry: &&ManagedFields| {
            entry.fields_v1.pointer("/f:spec/f:replicas").is_some()
                && (entry.manager.as_str(), entry.subresource.as_str()) != OWN_MANAGER
        };
        let mut names: Vec<String> =
            self.metadata.managed_fields.iter().filter(sets).map(|e| name(&e.manager)).collect();
        names.sort();
        names.dedup();
        names.truncate(super::read::NAMES_MAX);
        names
    }
}

/// A foreign name as an answer may carry it: short, and without anything that moves a cursor.
pub(super) fn name(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
    if text.is_empty() { "(no name)".to_owned() } else { text }
}

/// A list of anything.
#[derive(Debug, Deserialize)]
pub(super) struct List<T> {
    pub(super) items: Vec<T>,
}

/// An autoscaler of either kind.
#[derive(Debug, Deserialize)]
pub(super) struct Autoscaler {
    metadata: AutoscalerMetadata,
    spec: AutoscalerSpec,
}

#[derive(Debug, Deserialize)]
struct AutoscalerMetadata {
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AutoscalerSpec {
    scale_target_ref: ScaleTarget,
    min_replicas: Option<u64>,
    max_replicas: Option<u64>,
    min_replica_count: Option<u64>,
    max_replica_count: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct ScaleTarget {
    kind: Option<String>,
    name: String,
}

impl Autoscaler {
    /// Whether it is meant for an object. A ScaledObject that names no kind means a Deployment.
    pub(super) fn targets(&self, kind: Kind, name: &str) -> bool {
        let target = &self.spec.scale_target_ref;
        let found = target.kind.as_deref().unwrap_or("Deployment");
        target.name == name && found == kind.as_str()
    }

    /// Whether a ScaledObject lets the count alone. Only the word true pauses; one that is paused
    /// at a count holds that count, so it drives.
    pub(super) fn is_paused(&self) -> bool {
        let annotation =
            |name: &str| self.metadata.annotations.get(&format!("autoscaling.keda.sh/{name}"));
        annotation("paused").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            && annotation("paused-replicas").is_none()
    }

    /// What it is called, for people.
    pub(super) fn described(&self, kind: &str) -> String {
        let spec = &self.spec;
        let text = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |c| c.to_string());
        let least = spec.min_replicas.or(spec.min_replica_count);
        let most = spec.max_replicas.or(spec.max_replica_count);
        let bounds = match (least, most) {
            (None, None) => String::new(),
            (least, most) => format!(" (min {}, max {})", text(least), text(most)),
        };
        let (namespace, own) = (name(&self.metadata.namespace), name(&self.metadata.name));
        format!("{kind} {namespace}/{own}{bounds}")
    }
}
