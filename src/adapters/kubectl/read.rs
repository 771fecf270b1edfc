//! Reading an object, and proving that it is where the target says: in that order (facts: 6.1(6),
//! 6.1(7)).

use std::thread;
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::KubectlConfig;
use super::autoscaler::{Autoscalers, Found};
use super::client::{Client, KUBECTL};
use super::object::{List, Object};
use super::place::Place;
use crate::actuator::host::Deadline;
use crate::actuator::protocol::Inspection;
use crate::adapters::child::{RunError, is_present};
use crate::adapters::now;
use crate::adapters::refusal::Refusal;
use crate::domain::canonical::{DocumentError, read_document_of_others};
use crate::domain::id::{ClusterId, Replicas, RuntimeId, TargetUid, WorkloadId};
use crate::domain::scale::intent::TargetBinding;
use crate::domain::time::DurationMs;

/// How long the controller of an object may take to see it as it is, before a count of the status
/// is not known.
const CONTROLLER_WAIT: DurationMs = DurationMs::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

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
        Client::of(self.config, Some(&self.place.namespace), self.until)
    }

    /// The object as it is now.
    pub(super) fn object(&self) -> Result<Object, Refusal> {
        let argument = self.place.argument();
        self.client().document(&["get", &argument, "-o", "json", "--show-managed-fields"])
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
        let cluster_id = self.client().check_cluster(cluster)?;
        self.check_object(&object, None)?;
        let replicas = self.declared(&object)?;
        let runtime_id = self.place.namespace.parse().map_err(|_| {
            let detail = format!("namespace {} is no identifier", self.place.namespace);
            Refusal::terminal("unsafe_target", detail)
        })?;
        let Found { owners, take_away, unread, mode: _ } = self.owners()?;
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
        Ok(Autoscalers::read(&self.client())?.found(&self.place, &self.config.context))
    }

    /// A list of a kind in the namespace.
    pub(super) fn list<T: DeserializeOwned>(&self, resource: &str) -> Result<Vec<T>, Refusal> {
        let list: List<T> = self.client().document(&["get", resource, "-o", "json"])?;
        Ok(list.items)
    }
}

/// What an object says that kubectl printed: its uid, its count, and who else has set that.
pub fn object_in(printed: &[u8]) -> Result<(String, Option<u64>, Vec<String>), DocumentError> {
    let object: Object = read_document_of_others(printed)?;
    let count = object.spec.replicas.map(Replicas::get);
    Ok((object.metadata.uid.to_string(), count, object.managers()))
}
