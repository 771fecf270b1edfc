//! Evidence for a reduction: from the tasks, or from a command.
//!
//! Says true only for what was measured. A swarm takes a task out of service, signals it and kills
//! it after its grace; whether its work is done it does not know, so it never says *drained*.

use super::EvidenceSource;
use super::read::Reader;
use super::service::Update;
use crate::actuator::protocol::{EvidenceRequest, Reply};
use crate::adapters::refusal::Refusal;
use crate::adapters::{now, provider};
use crate::domain::scale::observation::Evidence;

/// Gathers the evidence of the configured source.
pub(super) fn evidence(
    reader: &mut Reader<'_>,
    source: &EvidenceSource,
    request: &EvidenceRequest,
) -> Result<Reply, Refusal> {
    let read_at = now();
    let service = reader.service()?;
    reader.check_cluster(Some(&request.target.cluster_id))?;
    reader.check_service(&service, Some(&request.target.target_uid))?;
    let current = reader.declared(&service)?;
    let found = match source {
        EvidenceSource::Provider(words) => provider::evidence(words, request, reader.until)?,
        EvidenceSource::Tasks => Evidence {
            drained: false,
            stabilized: service.update() == Update::Over && reader.running(&service)? == current,
            resource_version: service.version(),
            observed_replicas: current,
            remaining_replicas: request.desired,
            quorum_safe: None,
            read_at,
        },
    };
    Ok(Reply::Evidence(Box::new(found)))
}
