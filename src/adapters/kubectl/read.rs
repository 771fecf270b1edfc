//! Reading an object, and proving that it is where the target says: in that order (facts: 6.1(6),
//! 6.1(7)).

use std::thread;
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::autoscaler::{Found, SCALED_OBJECT};
use super::client::{Client, KUBECTL};
use super::object::{List, Object};
use super::place::Place;
use super::{KubectlConfig, is_server_word};
use crate::actuator::host::Deadline;
use crate::actuator::protocol::Inspection;
use crate::adapters::child::{Ended, RunError, is_present};
use crate::adapters::now;
use crate::adapters::refusal::Refusal;
use crate::domain::canonical::{DocumentError, read_document_of_any_length};
use crate::domain::id::{ClusterId, Replicas, RuntimeId, TargetUid, WorkloadId};
use crate::domain::scale::intent::TargetBinding;
use crate::domain::time::DurationMs;

/// Begins a cluster id that is only what the settings of kubectl call the cluster, because its own
/// identity may not be read.
const BY_NAME: &str = "context-cluster";
/// How long the controller of an object may take to see it as it is, before a count of the status
/// is not known.
const CONTROLLER_WAIT: DurationMs = DurationMs::from_secs(5);
/// The most names that one list of an answer may have.
pub(super) const NAMES_MAX: usize = 64;
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Who drives a count, by the resource that says so.
const AUTOSCALERS: [(&str, &str); 2] = [
    ("horizontalpodautoscalers.autoscaling", "HorizontalPodAutoscaler"),
    ("scaledobjects.keda.sh", SCALED_OBJECT),
];

/// Reads one object through one context, until a deadline.
pub(super) struct Reader<'a> {
    config: &'a KubectlConfig,
    pub(super) place: Place,
    workload: &'a WorkloadId,
    pub(super) until: Deadline,
}

impl<'a> Reader<'a> {
    /// Of a typed target: nothing is read yet.
    pub(super) fn of(
        config: &'a KubectlConfig,
        workload: &'a WorkloadId,
        runtime: Option<&RuntimeId>,
        until: Deadline,
    ) -> Result<Self, Refusal> {
        if !is_present(KUBECTL) {
            return Err(Refusal::of_run(KUBECTL, &RunError::Missing(KUBECTL)));
        }
        let place = Place::of(config, workload, runtime)?;
        Ok(Self { config, place, workload, until })
    }

    pub(super) fn client(&self) -> Client<'_> {
        Client { context: &self.config.context, namespace: &self.place.namespace }
    }

    /// What kubectl printed, if it ended well.
    fn output(&self, tail: &[&str]) -> Result<Ended, Refusal> {
        let ended =
            self.client().run(tail, self.until).map_err(|e| Refusal::of_run(KUBECTL, &e))?;
        if ended.status.success() {
            return Ok(ended);
        }
        let code = if is_server_word(&ended.words, &["NotFound"]) {
            "no_such_object"
        } else {
            "read_failed"
        };
        let detail = format!("kubectl {} ended with {}: {}", tail[0], ended.status, ended.words);
        Err(Refusal { code, detail, retryable: code == "read_failed" })
    }

    fn document<T: DeserializeOwned>(&self, tail: &[&str]) -> Result<T, Refusal> {
        let ended = self.output(tail)?;
        read_document_of_any_length(&ended.stdout).map_err(|error| {
            let detail = format!("what kubectl {} printed cannot be read: {error}", tail[0]);
            Refusal::retryable("read_failed", detail)
        })
    }

    /// The object as it is now.
    pub(super) fn object(&self) -> Result<Object, Refusal> {
        let argument = self.place.argument();
        self.document(&["get", &argument, "-o", "json", "--show-managed-fields"])
    }

    /// Whether the context leads to the cluster of the target; which one it leads to where none
    /// was named. A cluster is known by the uid of its namespace kube-system. Only where that may
    /// not be read it is known by its name in the settings, and then the id says so.
    pub(super) fn check_cluster(&self, asked: Option<&ClusterId>) -> Result<ClusterId, Refusal> {
        let by_name = asked.is_some_and(|asked| asked.as_str().starts_with(&format!("{BY_NAME}:")));
        let found = if by_name { None } else { self.cluster_uid()? };
        let found = match (found, asked) {
            (Some(found), _) => found,
            (None, Some(asked)) if !by_name => {
                let detail = format!(
                    "namespace kube-system may not be read, so nobody can say whether context {} \
                     leads to cluster {asked}",
                    self.config.context
                );
                return Err(Refusal::retryable("cluster_unproved", detail));
            }
            (None, _) => self.cluster_name()?,
        };
        if let Some(asked) = asked.filter(|asked| **asked != found) {
            let context = &self.config.context;
            let detail = format!("context {context} leads to cluster {found}, not to {asked}");
            return Err(Refusal::terminal("other_cluster", detail));
        }
        Ok(found)
    }

    /// None where it may not be read.
    fn cluster_uid(&self) -> Result<Option<ClusterId>, Refusal> {
        let tail = ["get", "namespace/kube-system", "-o", "jsonpath={.metadata.uid}"];
        let ended =
            self.client().run(&tail, self.until).map_err(|e| Refusal::of_run(KUBECTL, &e))?;
        if !ended.status.success() {
            if is_server_word(&ended.words, &["Forbidden", "NotFound"]) {
                return Ok(None);
            }
            let detail = format!("reading namespace kube-system: {}", ended.words);
            return Err(Refusal::retryable("read_failed", detail));
        }
        let uid = String::from_utf8_lossy(&ended.stdout).into_owned();
        uid.parse().map(Some).map_err(|_| {
            let detail = format!("the uid of namespace kube-system is {uid:?}");
            Refusal::retryable("read_failed", detail)
        })
    }

    fn cluster_name(&self) -> Result<ClusterId, Refusal> {
        let path = "jsonpath={.contexts[0].context.cluster}";
        let ended = self.output(&["config", "view", "--minify", "-o", path])?;
        let name = String::from_utf8_lossy(&ended.stdout).into_owned();
        if name.is_empty() {
            let detail = format!("context {} names no cluster", self.config.context);
            return Err(Refusal::terminal("other_cluster", detail));
        }
        Ok(ClusterId::derived(BY_NAME, &name))
    }

    /// Whether what was read is the object that was asked for, whatever its version.
    pub(super) fn check_object(
        &self,
        object: &Object,
        uid: Option<&TargetUid>,
    ) -> Result<(), Refusal> {
        let (place, found) = (&self.place, &object.metadata);
        let kind = place.kind.as_str();
        let parts = [
            ("kind", kind, object.kind.as_deref().unwrap_or(kind)),
            ("name", &place.name, &found.name),
            ("namespace", &place.namespace, found.namespace.as_deref().unwrap_or("")),
        ];
        for (part, asked, found) in parts {
            if asked != found {
                let detail =
                    format!("{place} was asked for, and the {part} of what came is {found}");
                return Err(Refusal::terminal("other_object", detail));
            }
        }
        if let Some(asked) = uid.filter(|asked| **asked != found.uid) {
            let detail =
                format!("{place} was recreated: its uid is {}, the target's is {asked}", found.uid);
            return Err(Refusal::terminal("other_target", detail));
        }
        Ok(())
    }

    /// The count that an object declares; unknown is not 1.
    pub(super) fn declared(&self, object: &Object) -> Result<Replicas, Refusal> {
        object.spec.replicas.ok_or_else(|| {
            let detail = format!("{} declares no count of replicas", self.place);
            Refusal::retryable("count_unknown", detail)
        })
    }

    /// The object once its controller has seen it as it is: before that nobody knows how many are
    /// ready.
    fn seen_object(&self) -> Result<Object, Refusal> {
        let patience = Deadline::after(CONTROLLER_WAIT);
        loop {
            let object = self.object()?;
            if object.is_seen() {
                return Ok(object);
            }
            if patience.is_past() || self.until.is_past() {
                let generation = object.metadata.generation.unwrap_or(0);
                let detail = format!(
                    "its controller has not seen generation {generation} of {} yet, so nobody \
                     knows how many are ready",
                    self.place
                );
                return Err(Refusal::retryable("status_behind", detail));
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// The whole reading.
    pub(super) fn inspection(&self, cluster: Option<&ClusterId>) -> Result<Inspection, Refusal> {
        let read_at = now();
        let object = self.seen_object()?;
        let cluster_id = self.check_cluster(cluster)?;
        self.check_object(&object, None)?;
        let replicas = self.declared(&object)?;
        let runtime_id = self.place.namespace.parse().map_err(|_| {
            let detail = format!("namespace {} is no identifier", self.place.namespace);
            Refusal::terminal("unsafe_target", detail)
        })?;
        let Found { owners, take_away, unread } = self.owners()?;
        Ok(Inspection {
            replicas,
            ready_replicas: object.counted(object.status.ready_replicas),
            generation: object.metadata.generation,
            managers: object.managers(),
            owners,
            owners_unread: unread,
            take_away,
            read_at,
            target: TargetBinding {
                cluster_id,
                runtime_id,
                workload_id: self.workload.clone(),
                target_uid: object.metadata.uid,
                target_resource_version: object.metadata.resource_version,
            },
        })
    }

    /// Who drives the count, and of whom it may not be read whether they do.
    fn owners(&self) -> Result<Found, Refusal> {
        let mut all = Found::default();
        for (resource, kind) in AUTOSCALERS {
            let tail = ["get", resource, "-o", "json"];
            let ended =
                self.client().run(&tail, self.until).map_err(|e| Refusal::of_run(KUBECTL, &e))?;
            if !ended.status.success() {
                if has_no_such_kind(&ended.words) {
                    continue;
                }
                if is_server_word(&ended.words, &["Forbidden"]) {
                    all.unread.push(kind.to_owned());
                    continue;
                }
                let detail = format!("kubectl get {resource}: {}", ended.words);
                return Err(Refusal::retryable("read_failed", detail));
            }
            let place = (self.place.kind, self.place.name.as_str());
            let found = Found::of(&ended.stdout, kind, place, &self.client()).map_err(|e| {
                let detail = format!("the list of {resource} cannot be read: {e}");
                Refusal::retryable("read_failed", detail)
            })?;
            all.owners.extend(found.owners);
            all.take_away.extend(found.take_away);
            all.unread.extend(found.unread);
        }
        for list in [&mut all.owners, &mut all.unread] {
            list.truncate(NAMES_MAX);
        }
        all.take_away.truncate(NAMES_MAX);
        Ok(all)
    }

    /// A list of a kind in the namespace.
    pub(super) fn list<T: DeserializeOwned>(&self, resource: &str) -> Result<Vec<T>, Refusal> {
        let list: List<T> = self.document(&["get", resource, "-o", "json"])?;
        Ok(list.items)
    }
}

/// What an object says that kubectl printed: its uid, its count, and who else has set that.
pub fn object_in(printed: &[u8]) -> Result<(String, Option<u64>, Vec<String>), DocumentError> {
    let object: Object = read_document_of_any_length(printed)?;
    let count = object.spec.replicas.map(Replicas::get);
    Ok((object.metadata.uid.to_string(), count, object.managers()))
}

/// Whether the API has no such kind at all: then nobody of that kind drives anything.
fn has_no_such_kind(words: &str) -> bool {
    words.contains("the server doesn't have a resource type")
        || words.contains("the server could not find the requested resource")
}
