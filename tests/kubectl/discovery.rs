//! What the API server of the test says that it has.

use serde_json::{Value, json};

/// Group, version, resource, kind, and whether it has a count.
const KINDS: [Known; 5] = [
    ("apps", "v1", "deployments", "Deployment", true),
    ("apps", "v1", "statefulsets", "StatefulSet", true),
    ("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", false),
    ("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", false),
    ("keda.sh", "v1alpha1", "scaledobjects", "ScaledObject", false),
];

type Known = (&'static str, &'static str, &'static str, &'static str, bool);

fn present(absent: &[String]) -> impl Iterator<Item = Known> {
    KINDS.into_iter().filter(|(group, ..)| absent.iter().all(|gone| gone != group))
}

/// The document of a path of discovery; none where the path is of something else.
pub(super) fn document(path: &str, absent: &[String]) -> Option<Value> {
    match path {
        "/api" => Some(json!({"kind": "APIVersions", "versions": ["v1"]})),
        "/api/v1" => Some(resources(
            "v1",
            &[json!({
                "name": "namespaces", "singularName": "namespace", "namespaced": false,
                "kind": "Namespace", "verbs": ["get", "list"],
            })],
        )),
        "/apis" => {
            let mut groups: Vec<Value> = Vec::new();
            for (group, version, ..) in present(absent) {
                let named =
                    json!({"groupVersion": format!("{group}/{version}"), "version": version});
                let entry =
                    json!({"name": group, "versions": [named.clone()], "preferredVersion": named});
                if !groups.contains(&entry) {
                    groups.push(entry);
                }
            }
            Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
        }
        _ => {
            let of_group =
                |(group, version, ..): &Known| path == format!("/apis/{group}/{version}");
            let mut found = Vec::new();
            for (_, _, resource, kind, scales) in present(absent).filter(of_group) {
                let short = if kind == "HorizontalPodAutoscaler" { vec!["hpa"] } else { vec![] };
                found.push(json!({
                    "name": resource, "singularName": kind.to_lowercase(), "namespaced": true,
                    "kind": kind, "shortNames": short,
                    "verbs": ["create", "delete", "get", "list", "patch", "update"],
                }));
                if scales {
                    found.push(json!({
                        "name": format!("{resource}/scale"), "singularName": "",
                        "namespaced": true, "group": "autoscaling", "version": "v1",
                        "kind": "Scale", "verbs": ["get", "patch", "update"],
                    }));
                }
            }
            let version = path.strip_prefix("/apis/")?;
            (!found.is_empty()).then(|| resources(version, &found))
        }
    }
}

fn resources(version: &str, found: &[Value]) -> Value {
    json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": found,
    })
}

/// What a list is of: the kind of its items, its version, and where they are below the path of
/// their group; none where the path is of no list.
pub(super) fn list_kind(path: &str, absent: &[String]) -> Option<List> {
    let mut words = path.strip_prefix("/apis/")?.split('/');
    let (group, version) = (words.next()?, words.next()?);
    let rest: Vec<&str> = words.collect();
    let (namespace, resource) = match rest[..] {
        ["namespaces", namespace, resource] => (Some(namespace.to_owned()), resource),
        // Of all namespaces.
        [resource] => (None, resource),
        _ => return None,
    };
    let known = KINDS.iter().find(|known| {
        (known.0, known.1, known.2) == (group, version, resource)
            && absent.iter().all(|gone| gone != group)
    })?;
    let version = format!("{group}/{version}");
    Some(List { kind: known.3, version, namespace, resource: resource.to_owned() })
}

/// A list of one kind.
pub(super) struct List {
    pub(super) kind: &'static str,
    pub(super) version: String,
    namespace: Option<String>,
    resource: String,
}

impl List {
    /// Whether a document of this path is in it.
    pub(super) fn has(&self, path: &str) -> bool {
        let below = path.strip_prefix(&format!("/apis/{}/namespaces/", self.version));
        let mut words = below.unwrap_or_default().split('/');
        let (namespace, resource) = (words.next(), words.next());
        below.is_some()
            && self.namespace.as_deref().is_none_or(|own| namespace == Some(own))
            && resource == Some(&self.resource)
    }
}
