//! Every replicated service of the swarm.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::DockerConfig;
use super::engine::{DOCKER, Engine};
use super::read::{RUNTIME, body, check_cluster, check_runtime, unreadable};
use super::service::{FENCE_LABEL, Mode, Service};
use crate::actuator::host::Deadline;
use crate::actuator::protocol::{DiscoverRequest, Discovery, Found};
use crate::adapters::child::{RunError, is_present};
use crate::adapters::discovery::{Gathered, other_ledger};
use crate::adapters::mark::Mark;
use crate::adapters::refusal::Refusal;
use crate::adapters::{is_word, shown_name};
use crate::domain::id::{ClusterId, Replicas};
use crate::domain::scale::intent::TargetBinding;

/// Asks an engine for its services, with how many of their tasks run.
const SERVICES: &str = "/services?status=true";

/// What beside a service stands in that list; an old engine does not say it.
#[derive(Debug, Deserialize)]
struct Counted {
    #[serde(rename = "ServiceStatus")]
    status: Option<Status>,
}

#[derive(Debug, Deserialize)]
struct Status {
    #[serde(rename = "RunningTasks")]
    running: Option<Replicas>,
}

/// Lists what could be scaled.
pub(super) fn discover(
    config: &DockerConfig,
    request: &DiscoverRequest,
    until: Deadline,
) -> Result<Discovery, Refusal> {
    if !is_present(DOCKER) {
        return Err(Refusal::of_run(DOCKER, &RunError::Missing(DOCKER)));
    }
    check_runtime(request.runtime_id.as_ref())?;
    let mut gathered = Gathered::new();
    let mut engine = Engine::of(&config.context, until);
    let cluster = check_cluster(&mut engine, &config.context, request.cluster_id.as_ref())?;
    let body = body(&mut engine, SERVICES)?;
    let items: Vec<Box<RawValue>> =
        serde_json::from_slice(&body).map_err(|error| unreadable(SERVICES, &error))?;
    for item in items {
        match found(request, &cluster, item.get()) {
            Ok(Some(found)) => gathered.found(found),
            Ok(None) => {}
            Err(name) => gathered.unread(name),
        }
    }
    Ok(gathered.told())
}

/// None where the service has no count to set; the error is the name of one that cannot be
/// understood.
fn found(
    request: &DiscoverRequest,
    cluster: &ClusterId,
    text: &str,
) -> Result<Option<Found>, String> {
    let Ok(service) = Service::read(text.as_bytes()) else {
        return Err(shown_name("a service that cannot be understood"));
    };
    let name = service.name().ok().flatten().unwrap_or_default();
    let odd = || shown_name(&format!("service {name}"));
    let replicas = match service.mode().map_err(|_| odd())? {
        Mode::Replicated(count) => Some(count),
        Mode::Uncounted => None,
        Mode::Other(_) => return Ok(None),
    };
    let is_id = service.id.as_str().bytes().all(|b| b.is_ascii_alphanumeric());
    let workload_id = Some(&name).filter(|name| is_id && is_word(name, b"._-"));
    let workload_id = workload_id.and_then(|name| name.parse().ok()).ok_or_else(odd)?;
    let managers = service.managers().map_err(|_| odd())?;
    let mark = service.label(FENCE_LABEL).map_err(|_| odd())?;
    let mark = mark.and_then(|text| text.parse::<Mark>().ok());
    let counted: Counted = serde_json::from_str(text).map_err(|_| odd())?;
    Ok(Some(Found {
        replicas,
        ready_replicas: counted.status.and_then(|status| status.running),
        owners: other_ledger(request, mark.as_ref().map(Mark::ledger)).into_iter().collect(),
        managers,
        owners_unread: Vec::new(),
        mode: None,
        target: TargetBinding {
            cluster_id: cluster.clone(),
            runtime_id: RUNTIME.parse().expect("BUG: the runtime is an identifier"),
            workload_id,
            target_resource_version: service.version(),
            target_uid: service.id,
        },
    }))
}

/// Services by name, each with its count.
type Named = Vec<(String, Option<u64>)>;

/// The replicated services in a list of an engine; how many could not be understood.
pub fn services_in(body: &[u8]) -> serde_json::Result<(Named, usize)> {
    let items: Vec<Box<RawValue>> = serde_json::from_slice(body)?;
    let cluster = "c".parse().expect("BUG: a letter is an identifier");
    let (mut services, mut odd) = (Vec::new(), 0);
    for item in items {
        match found(&DiscoverRequest::default(), &cluster, item.get()) {
            Ok(Some(one)) => {
                let count = one.replicas.map(Replicas::get);
                services.push((one.target.workload_id.to_string(), count));
            }
            Ok(None) => {}
            Err(_) => odd += 1,
        }
    }
    Ok((services, odd))
}
