//! Who drives a count: autoscalers of either kind, and how each is taken away.
//!
//! One that cannot be understood may drive anything: it is named, and never taken for none. It does
//! not stand in the way of the others.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::client::Client;
use super::object::List;
use super::place::{Kind, is_name};
use crate::adapters::shown_name as name;
use crate::domain::canonical::{DocumentError, from_value, read_document_of_any_length};
use crate::domain::scale::owners::{Owners, TakeAway};

/// Where KEDA is told to leave a count alone, or to hold it.
const PAUSED: &str = "autoscaling.keda.sh/paused";
const PAUSED_AT: &str = "autoscaling.keda.sh/paused-replicas";
/// The longest name that a line may have: a word of a line has at most 256 characters.
const LINE_NAME_MAX: usize = 200;
/// The kind of KEDA.
pub(super) const SCALED_OBJECT: &str = "ScaledObject";

/// An autoscaler of either kind, with no member more than is needed: what else is odd about it is
/// no reason not to know what it drives.
#[derive(Debug, Deserialize)]
struct Autoscaler {
    metadata: Metadata,
    spec: Spec,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    annotations: BTreeMap<String, Value>,
    #[serde(default)]
    owner_references: Vec<OwnerReference>,
}

#[derive(Debug, Deserialize)]
struct OwnerReference {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    scale_target_ref: ScaleTarget,
    #[serde(default)]
    min_replicas: Value,
    #[serde(default)]
    max_replicas: Value,
    #[serde(default)]
    min_replica_count: Value,
    #[serde(default)]
    max_replica_count: Value,
}

#[derive(Debug, Deserialize)]
struct ScaleTarget {
    kind: Option<String>,
    name: String,
}

/// What a list of autoscalers says about one object.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) owners: Vec<String>,
    pub(super) take_away: Vec<TakeAway>,
    pub(super) unread: Vec<String>,
}

impl Found {
    /// Of a list of one kind that kubectl printed.
    pub(super) fn of(
        printed: &[u8],
        kind: &str,
        (target, name_of_target): (Kind, &str),
        client: &Client<'_>,
    ) -> Result<Self, DocumentError> {
        let list: List<Value> = read_document_of_any_length(printed)?;
        let mut found = Self::default();
        for item in list.items {
            let own = item.pointer("/metadata/name").and_then(Value::as_str).map(name);
            let Ok(one) = from_value::<Autoscaler>(item) else {
                let own = own.unwrap_or_else(|| name(""));
                found.unread.push(name(&format!("{kind} {}/{own}", client.namespace)));
                continue;
            };
            if one.targets(target, name_of_target) && one.drives(kind) {
                let owner = one.described(kind);
                let lines = one.taken_away(kind, client);
                if !lines.is_empty() {
                    found.take_away.push(TakeAway { owner: owner.clone(), lines });
                }
                found.owners.push(owner);
            }
        }
        Ok(found)
    }
}

impl Autoscaler {
    /// Whether it is meant for an object. A ScaledObject that names no kind means a Deployment.
    fn targets(&self, kind: Kind, name: &str) -> bool {
        let target = &self.spec.scale_target_ref;
        let found = target.kind.as_deref().unwrap_or("Deployment");
        target.name == name && found == kind.as_str()
    }

    /// Whether it moves the count. A ScaledObject lets it alone where it is paused, by the word
    /// true only, and not at a count that it then holds. An HPA that is there drives, whatever is
    /// written on it: KEDA's annotations mean nothing there, and KEDA takes its own away when it
    /// pauses.
    fn drives(&self, kind: &str) -> bool {
        let says_true =
            |value: &Value| value.as_str().is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let is_paused = self.metadata.annotations.get(PAUSED).is_some_and(says_true)
            && !self.metadata.annotations.contains_key(PAUSED_AT);
        kind != SCALED_OBJECT || !is_paused
    }

    /// What it is called, for people.
    fn described(&self, kind: &str) -> String {
        let spec = &self.spec;
        let text = |count: &Value| count.as_u64().map_or_else(|| "?".to_owned(), |c| c.to_string());
        let named = |one: &'_ Value, other: &'_ Value| match (one, other) {
            (Value::Null, Value::Null) => None,
            (Value::Null, other) => Some(text(other)),
            (one, _) => Some(text(one)),
        };
        let least = named(&spec.min_replicas, &spec.min_replica_count);
        let most = named(&spec.max_replicas, &spec.max_replica_count);
        let text = |count: Option<String>| count.unwrap_or_else(|| "?".to_owned());
        let bounds = match (least, most) {
            (None, None) => String::new(),
            (least, most) => format!(" (min {}, max {})", text(least), text(most)),
        };
        let (namespace, own) = (name(&self.metadata.namespace), name(&self.metadata.name));
        name(&format!("{kind} {namespace}/{own}{bounds}"))
    }

    /// The lines of kubectl that keep a copy of it and take it away: an HPA that KEDA has made goes
    /// by pausing what it was made of, because KEDA would make it anew. None where a name could be
    /// read as an option or as two words.
    fn taken_away(&self, kind: &str, client: &Client<'_>) -> Vec<Vec<String>> {
        let made_by = self.metadata.owner_references.iter().find(|one| one.kind == SCALED_OBJECT);
        let (paused, own) = match made_by {
            Some(one) => (true, &one.name),
            None => (kind == SCALED_OBJECT, &self.metadata.name),
        };
        if !is_name(own) || own.len() > LINE_NAME_MAX {
            return Vec::new();
        }
        let line = |words: &[&str]| {
            let begin = ["kubectl", "--context", client.context, "-n", client.namespace];
            begin.iter().chain(words).map(|word| (*word).to_owned()).collect::<Vec<_>>()
        };
        if paused {
            let object = format!("scaledobject/{own}");
            let pause = format!("{PAUSED}=true");
            let release = format!("{PAUSED_AT}-");
            return vec![line(&["annotate", &object, &pause, &release, "--overwrite"])];
        }
        let object = format!("horizontalpodautoscaler/{own}");
        vec![line(&["get", &object, "-o", "yaml"]), line(&["delete", &object])]
    }
}

/// Who drives the count of a Deployment, and who could not be understood, by the list of
/// autoscalers of a kind that kubectl printed.
pub fn owners_in(printed: &[u8], kind: &str, deployment: &str) -> Result<Owners, DocumentError> {
    let client = Client { context: "context", namespace: "shop" };
    let Found { owners, take_away, unread } =
        Found::of(printed, kind, (Kind::Deployment, deployment), &client)?;
    Ok(Owners { drive: owners, take_away, unread, managers: Vec::new() })
}
