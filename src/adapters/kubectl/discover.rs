//! Every Deployment and StatefulSet of a namespace, or of all of them, that could be scaled.
//!
//! What may not be read and what cannot be understood is named, and hides nothing else. Nothing is
//! waited for: where a controller is behind, nobody knows how many are ready.

use serde_json::Value;

use super::KubectlConfig;
use super::autoscaler::{self, Autoscalers};
use super::client::{Client, KUBECTL, Listed};
use super::object::{FENCE_ANNOTATION, List, Object};
use super::place::{Kind, Place, is_name, namespace_of};
use crate::actuator::host::Deadline;
use crate::actuator::protocol::{DiscoverRequest, Discovery, Found};
use crate::adapters::child::{RunError, is_present};
use crate::adapters::discovery::{Gathered, other_ledger};
use crate::adapters::mark::Mark;
use crate::adapters::refusal::Refusal;
use crate::adapters::shown_name;
use crate::domain::canonical::{DocumentError, from_value, read_document_of_others};
use crate::domain::id::ClusterId;
use crate::domain::scale::intent::TargetBinding;

/// Lists what could be scaled.
pub(super) fn discover(
    config: &KubectlConfig,
    request: &DiscoverRequest,
    until: Deadline,
) -> Result<Discovery, Refusal> {
    if !is_present(KUBECTL) {
        return Err(Refusal::of_run(KUBECTL, &RunError::Missing(KUBECTL)));
    }
    let namespace = namespace_of(config, request.runtime_id.as_ref())?;
    let client = Client::of(config, namespace.as_deref(), until);
    let mut gathered = Gathered::new();
    let mut listed = Vec::new();
    for kind in Kind::ALL {
        match client.list(kind.resource(), &["--show-managed-fields"])? {
            Listed::Printed(printed) => listed.push((kind, printed)),
            Listed::Forbidden => gathered.unread(kind.as_str().to_owned()),
            Listed::Absent => {}
        }
    }
    if listed.is_empty() {
        return Err(nothing_may_be_listed(config, namespace.as_deref()));
    }
    let cluster = client.check_cluster(request.cluster_id.as_ref())?;
    let autoscalers = Autoscalers::read(&client)?;
    for (kind, printed) in listed {
        let (objects, odd) = objects_in(&printed, kind).map_err(|error| {
            let detail = format!("the list of {} cannot be read: {error}", kind.resource());
            Refusal::retryable("read_failed", detail)
        })?;
        for name in odd {
            gathered.unread(name);
        }
        for (place, object) in objects {
            let by = autoscalers.found(&place, config.context());
            match found(request, &cluster, &place, object, by) {
                Some(found) => gathered.found(found),
                None => gathered.unread(shown_name(&place.to_string())),
            }
        }
    }
    Ok(gathered.told())
}

fn nothing_may_be_listed(config: &KubectlConfig, namespace: Option<&str>) -> Refusal {
    let context = config.context();
    let detail = match namespace {
        Some(namespace) => format!("context {context} may not list what is in {namespace}"),
        None => format!(
            "context {context} may not list what is in all namespaces: name one with --runtime, or \
             bind the actuator with --namespace"
        ),
    };
    Refusal::retryable("list_forbidden", detail)
}

/// The objects of a list, and the names of those that cannot be understood.
type Objects<T> = (Vec<T>, Vec<String>);

/// The objects of a list of one kind that kubectl printed.
fn objects_in(printed: &[u8], kind: Kind) -> Result<Objects<(Place, Object)>, DocumentError> {
    let list: List<Value> = read_document_of_others(printed)?;
    let (mut objects, mut odd) = (Vec::new(), Vec::new());
    for item in list.items {
        let said = |at: &str| {
            item.pointer(at).and_then(Value::as_str).map(str::to_owned).unwrap_or_default()
        };
        let (namespace, name) = (said("/metadata/namespace"), said("/metadata/name"));
        let is_named = is_name(&namespace) && is_name(&name);
        let place = Place { namespace, kind, name };
        match from_value::<Object>(item) {
            Ok(object) if is_named => objects.push((place, object)),
            Ok(_) | Err(_) => odd.push(shown_name(&place.to_string())),
        }
    }
    Ok((objects, odd))
}

/// None where a name is none that a target can have.
fn found(
    request: &DiscoverRequest,
    cluster: &ClusterId,
    place: &Place,
    object: Object,
    by: autoscaler::Found,
) -> Option<Found> {
    let mark = object.metadata.annotations.get(FENCE_ANNOTATION);
    let mark = mark.and_then(|text| text.parse::<Mark>().ok());
    let other = other_ledger(request, mark.as_ref().map(Mark::ledger));
    let autoscaler::Found { mut owners, take_away: _, unread, mode } = by;
    owners.splice(0..0, other);
    owners.truncate(crate::actuator::protocol::LIST_ITEMS_MAX);
    Some(Found {
        replicas: object.spec.replicas,
        ready_replicas: object.counted(object.status.ready_replicas),
        owners,
        managers: object.managers(),
        owners_unread: unread,
        mode,
        target: TargetBinding {
            cluster_id: cluster.clone(),
            runtime_id: place.namespace.parse().ok()?,
            workload_id: place.argument().parse().ok()?,
            target_uid: object.metadata.uid,
            target_resource_version: object.metadata.resource_version,
        },
    })
}

/// The objects of a list of Deployments that kubectl printed: `NAMESPACE/NAME`, uid and count; and
/// the names of those that cannot be understood.
pub fn list_in(printed: &[u8]) -> Result<Objects<(String, String, Option<u64>)>, DocumentError> {
    let (objects, odd) = objects_in(printed, Kind::Deployment)?;
    let told = |(place, object): (Place, Object)| {
        let count = object.spec.replicas.map(crate::domain::id::Replicas::get);
        (format!("{}/{}", place.namespace, place.name), object.metadata.uid.to_string(), count)
    };
    Ok((objects.into_iter().map(told).collect(), odd))
}
