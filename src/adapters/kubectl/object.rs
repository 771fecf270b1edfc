//! The documents of the API that are read here, and no member more than is needed.
//!
//! A member that is absent is unknown. The one exception are the counts of a status, which the API
//! leaves out where they are 0: they are 0 once the controller has seen the object as it is.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::actuator::protocol::LIST_ITEMS_MAX;
use crate::adapters::shown_name;
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
    time: Option<String>,
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

    /// Who else has set the count, as the API server remembers it, each once, with when they last
    /// did.
    pub(super) fn managers(&self) -> Vec<String> {
        let sets = |entry: &&ManagedFields| {
            entry.fields_v1.pointer("/f:spec/f:replicas").is_some()
                && (entry.manager.as_str(), entry.subresource.as_str()) != OWN_MANAGER
        };
        let mut last: BTreeMap<String, Option<&str>> = BTreeMap::new();
        for entry in self.metadata.managed_fields.iter().filter(sets) {
            let time = last.entry(shown_name(&entry.manager)).or_default();
            // Instants of the API are of one form, so that their texts have their order.
            *time = (*time).max(entry.time.as_deref());
        }
        let told = |(manager, time): (String, Option<&str>)| match time {
            Some(time) => shown_name(&format!("{manager} ({time})")),
            None => manager,
        };
        last.into_iter().map(told).take(LIST_ITEMS_MAX).collect()
    }
}

/// A list of anything.
#[derive(Debug, Deserialize)]
pub(super) struct List<T> {
    pub(super) items: Vec<T>,
}
