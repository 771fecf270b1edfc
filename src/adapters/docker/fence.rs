//! The fence: one label of the service, written on condition that the service is as it was read.
//!
//! The write moves the version, so a conditional write that is still on its way is refused by the
//! swarm. A call that begins later reads the label, and is refused here.

use super::is_out_of_sequence;
use super::read::{Reader, said, unreadable};
use super::service::{FENCE_LABEL, Service};
use crate::actuator::protocol::{FenceReply, FenceRequest, Reply};
use crate::adapters::mark::{Kept, Mark, Standing};
use crate::adapters::refusal::Refusal;

/// How often the write is tried: the end of an update moves the version, too.
const TRIES: u32 = 5;

const KEPT: Kept = Kept {
    at: "label scalectl.fence",
    freed_by: "docker service update --label-rm scalectl.fence …",
};

/// Where a mark stands to that of a service.
pub(super) fn check(mark: &Mark, service: &Service) -> Result<Standing, Refusal> {
    let seen = service.label(FENCE_LABEL).map_err(|error| unreadable("its labels", &error))?;
    mark.check(seen.as_deref(), KEPT)
}

/// Makes every call below the mark harmless, and reads the service after that.
pub(super) fn fence(reader: &mut Reader<'_>, request: &FenceRequest) -> Result<Reply, Refusal> {
    let mark = Mark::of_fence(request)?;
    let cluster = Some(&request.target.cluster_id);
    for _ in 0..TRIES {
        let service = reader.service()?;
        reader.check_cluster(cluster)?;
        reader.check_service(&service, Some(&request.target.target_uid))?;
        if check(&mark, &service)? == Standing::Ahead {
            reader.declared(&service)?;
            reader.check_update(&service)?;
            if !label(reader, &service, &mark)? {
                continue;
            }
        }
        // The fence stands, whether or not the service can be read as a whole now.
        let reading = reader.inspection(cluster).ok();
        return Ok(Reply::Fence(Box::new(FenceReply { fenced: true, reading })));
    }
    let detail = format!("the service moved under each of {TRIES} tries to fence it");
    Err(Refusal::retryable("fence_failed", detail))
}

/// Writes the mark; false where the service had moved.
fn label(reader: &mut Reader<'_>, service: &Service, mark: &Mark) -> Result<bool, Refusal> {
    let text = mark.to_string();
    let body = service
        .written(&[(FENCE_LABEL, text.as_str())], None)
        .map_err(|error| unreadable("the service", &error))?;
    let why = match reader.write(service, &body) {
        Ok(answer) if answer.status == 200 => return Ok(true),
        Ok(answer) if is_out_of_sequence(&answer) => return Ok(false),
        Ok(answer) => said(&answer),
        Err(error) => error.to_string(),
    };
    Err(Refusal::retryable("fence_failed", why))
}
