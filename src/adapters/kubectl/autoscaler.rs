//! Who drives a count: autoscalers of either kind, and how each is taken away.
//!
//! One that cannot be understood may drive anything: it is named, and never taken for none. It does
//! not stand in the way of the others.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::client::{Client, Listed};
use super::object::List;
use super::place::{Kind, Place, is_name};
use crate::actuator::protocol::LIST_ITEMS_MAX;
use crate::adapters::refusal::Refusal;
use crate::adapters::shown_name as name;
use crate::domain::canonical::{DocumentError, from_value, read_document_of_others};
use crate::domain::scale::owners::{Owners, TakeAway};
use crate::domain::scale::service::RegisteredMode;

/// Where KEDA is told to leave a count alone, or to hold it.
const PAUSED: &str = "autoscaling.keda.sh/paused";
const PAUSED_AT: &str = "autoscaling.keda.sh/paused-replicas";
/// The longest name that a line may have: a word of a line has at most 256 characters.
const LINE_NAME_MAX: usize = 200;
/// The kind of KEDA.
const SCALED_OBJECT: &str = "ScaledObject";
/// Who drives a count, by the resource that says so.
const RESOURCES: [(&str, &str); 2] = [
    ("horizontalpodautoscalers.autoscaling", "HorizontalPodAutoscaler"),
    ("scaledobjects.keda.sh", SCALED_OBJECT),
];

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

/// Autoscalers of both kinds, and those of whom nobody knows what they drive.
#[derive(Debug, Default)]
pub(super) struct Autoscalers {
    known: Vec<(&'static str, Autoscaler)>,
    /// What cannot be understood, with the namespace that it is in, if that is known.
    odd: Vec<(Option<String>, String)>,
    /// Kinds that may not be read.
    forbidden: Vec<&'static str>,
}

/// What autoscalers say about one object.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) owners: Vec<String>,
    pub(super) take_away: Vec<TakeAway>,
    pub(super) unread: Vec<String>,
    /// The mode in which a service is registered that they drive.
    pub(super) mode: Option<RegisteredMode>,
}

impl Autoscalers {
    /// All that may be read where a client acts.
    pub(super) fn read(client: &Client<'_>) -> Result<Self, Refusal> {
        let mut all = Self::default();
        for (resource, kind) in RESOURCES {
            match client.list(resource, &[])? {
                Listed::Absent => {}
                Listed::Forbidden => all.forbidden.push(kind),
                Listed::Printed(printed) => all.add(&printed, kind).map_err(|error| {
                    let detail = format!("the list of {resource} cannot be read: {error}");
                    Refusal::retryable("read_failed", detail)
                })?,
            }
        }
        Ok(all)
    }

    /// Those of a list of one kind that kubectl printed.
    fn add(&mut self, printed: &[u8], kind: &'static str) -> Result<(), DocumentError> {
        let list: List<Value> = read_document_of_others(printed)?;
        for item in list.items {
            let said = |at: &str| item.pointer(at).and_then(Value::as_str).map(str::to_owned);
            let (namespace, own) = (said("/metadata/namespace"), said("/metadata/name"));
            if let Ok(one) = from_value::<Autoscaler>(item) {
                self.known.push((kind, one));
                continue;
            }
            let own = name(own.as_deref().unwrap_or_default());
            let place = namespace.as_deref().map(|it| name(it) + "/").unwrap_or_default();
            self.odd.push((namespace, name(&format!("{kind} {place}{own}"))));
        }
        Ok(())
    }

    /// Who drives an object, and who may.
    pub(super) fn found(&self, place: &Place, context: &str) -> Found {
        let is_here = |namespace: &str| namespace.is_empty() || namespace == place.namespace;
        let mut found = Found::default();
        for (kind, one) in &self.known {
            if !is_here(&one.metadata.namespace) || !one.targets(place) || !one.drives(kind) {
                continue;
            }
            let owner = one.described(kind);
            let lines = one.taken_away(kind, context, &place.namespace);
            if !lines.is_empty() {
                found.take_away.push(TakeAway { owner: owner.clone(), lines });
            }
            found.owners.push(owner);
            let is_keda = found.mode == Some(RegisteredMode::ExternalKeda);
            if !is_keda {
                found.mode = Some(one.mode(kind));
            }
        }
        let odd = self.odd.iter().filter(|(at, _)| is_here(at.as_deref().unwrap_or_default()));
        let forbidden = self.forbidden.iter().map(|kind| (*kind).to_owned());
        found.unread = forbidden.chain(odd.map(|(_, name)| name.clone())).collect();
        found.owners.truncate(LIST_ITEMS_MAX);
        found.unread.truncate(LIST_ITEMS_MAX);
        found.take_away.truncate(LIST_ITEMS_MAX);
        found
    }
}

impl Autoscaler {
    /// Whether it is meant for an object. A ScaledObject that names no kind means a Deployment.
    fn targets(&self, place: &Place) -> bool {
        let target = &self.spec.scale_target_ref;
        let found = target.kind.as_deref().unwrap_or("Deployment");
        target.name == place.name && found == place.kind.as_str()
    }

    /// The ScaledObject that KEDA has made it of, if it has.
    fn made_of(&self) -> Option<&OwnerReference> {
        self.metadata.owner_references.iter().find(|one| one.kind == SCALED_OBJECT)
    }

    /// The mode of what it drives.
    fn mode(&self, kind: &str) -> RegisteredMode {
        if kind == SCALED_OBJECT || self.made_of().is_some() {
            RegisteredMode::ExternalKeda
        } else {
            RegisteredMode::ExternalHpa
        }
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
    fn taken_away(&self, kind: &str, context: &str, namespace: &str) -> Vec<Vec<String>> {
        let (paused, own) = match self.made_of() {
            Some(one) => (true, &one.name),
            None => (kind == SCALED_OBJECT, &self.metadata.name),
        };
        if !is_name(own) || own.len() > LINE_NAME_MAX {
            return Vec::new();
        }
        let line = |words: &[&str]| {
            let begin = ["kubectl", "--context", context, "-n", namespace];
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
pub fn owners_in(
    printed: &[u8],
    kind: &'static str,
    deployment: &str,
) -> Result<Owners, DocumentError> {
    let mut all = Autoscalers::default();
    all.add(printed, kind)?;
    let (namespace, name) = ("shop".to_owned(), deployment.to_owned());
    let place = Place { namespace, kind: Kind::Deployment, name };
    let Found { owners, take_away, unread, mode: _ } = all.found(&place, "context");
    Ok(Owners { drive: owners, take_away, unread, managers: Vec::new() })
}
