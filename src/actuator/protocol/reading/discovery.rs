//! The bounds of a discovery: in the place that was asked for, each target once and in order.

use super::{AnswerError, Exit, are_names, read, wrong_target};
use crate::actuator::protocol::{DiscoverRequest, Discovery, Found};
use crate::domain::id::{ClusterId, RuntimeId, WorkloadId};

/// The most targets that one answer may list.
pub const FOUND_MAX: usize = 1000;

/// Reads the answer to `discover`: every target must be in the place that was asked for.
pub fn read_discovery(
    bytes: &[u8],
    asked: &DiscoverRequest,
    exit: Exit,
) -> Result<Discovery, AnswerError> {
    let discovery: Discovery = read(bytes, exit)?;
    if discovery.found.len() > FOUND_MAX {
        return Err(AnswerError::Bounds { problem: "found is at most 1000 targets" });
    }
    if !are_names(&discovery.unread) {
        return Err(AnswerError::Bounds { problem: "unread are at most 64 short names" });
    }
    for one in &discovery.found {
        check_found(one, asked)?;
    }
    if !discovery.found.is_sorted_by(|one, next| place(one) < place(next)) {
        let problem = "found is sorted by cluster, runtime and workload, each once";
        return Err(AnswerError::Bounds { problem });
    }
    Ok(discovery)
}

fn place(one: &Found) -> (&ClusterId, &RuntimeId, &WorkloadId) {
    (&one.target.cluster_id, &one.target.runtime_id, &one.target.workload_id)
}

fn check_found(one: &Found, asked: &DiscoverRequest) -> Result<(), AnswerError> {
    let target = &one.target;
    if asked.cluster_id.as_ref().is_some_and(|cluster| *cluster != target.cluster_id)
        || asked.runtime_id.as_ref().is_some_and(|runtime| *runtime != target.runtime_id)
    {
        return Err(wrong_target(target));
    }
    if ![&one.owners, &one.managers, &one.owners_unread].into_iter().all(|list| are_names(list)) {
        return Err(AnswerError::Bounds {
            problem: "owners, managers and owners_unread are at most 64 short names each",
        });
    }
    if one.mode.is_some_and(|mode| mode.record_mode().is_some()) {
        return Err(AnswerError::Bounds { problem: "mode is external_hpa or external_keda" });
    }
    Ok(())
}
