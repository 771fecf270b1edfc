//! The fence: one annotation of the object, written on condition that the object is as it was read.
//!
//! The write moves the version of the object, so a conditional write that is still on its way is
//! refused by the API server. A call that begins later reads the annotation, and is refused here.

use serde_json::json;

use super::client::KUBECTL;
use super::is_server_word;
use super::object::{FENCE_ANNOTATION, Object};
use super::read::Reader;
use crate::actuator::protocol::{FenceReply, FenceRequest, Reply};
use crate::adapters::child::RunError;
use crate::adapters::mark::{Kept, Mark, Standing};
use crate::adapters::refusal::Refusal;

/// How often the write is tried: the status of an object moves its version, too.
const TRIES: u32 = 5;

const KEPT: Kept = Kept {
    at: "annotation scalectl.io/fence",
    freed_by: "kubectl annotate … scalectl.io/fence-",
};

/// Where a mark stands to that of an object.
pub(super) fn check(mark: &Mark, object: &Object) -> Result<Standing, Refusal> {
    mark.check(object.metadata.annotations.get(FENCE_ANNOTATION).map(String::as_str), KEPT)
}

/// Makes every call below the mark harmless, and reads the object after that.
pub(super) fn fence(reader: &Reader<'_>, request: &FenceRequest) -> Result<Reply, Refusal> {
    let mark = Mark::of_fence(request)?;
    for _ in 0..TRIES {
        let object = reader.object()?;
        reader.client().check_cluster(Some(&request.target.cluster_id))?;
        reader.check_object(&object, Some(&request.target.target_uid))?;
        if check(&mark, &object)? == Standing::AtMark || annotate(reader, &object, &mark)? {
            // The fence stands, whether or not the object can be read as a whole now.
            let reading = reader.inspection(Some(&request.target.cluster_id)).ok();
            return Ok(Reply::Fence(Box::new(FenceReply { fenced: true, reading })));
        }
    }
    let detail = format!("the object moved under each of {TRIES} tries to fence it");
    Err(Refusal::retryable("fence_failed", detail))
}

/// Writes the mark; false where the object had moved.
fn annotate(reader: &Reader<'_>, object: &Object, mark: &Mark) -> Result<bool, Refusal> {
    let metadata = &object.metadata;
    let patch = json!({"metadata": {
        "uid": metadata.uid,
        "resourceVersion": metadata.resource_version,
        "annotations": {FENCE_ANNOTATION: mark.to_string()},
    }});
    let (argument, patch) = (reader.place.argument(), patch.to_string());
    let tail = ["patch", argument.as_str(), "--type=merge", "-p", patch.as_str()];
    let why = match reader.client().run(&tail) {
        Ok(ended) if ended.status.success() => return Ok(true),
        Ok(ended) if is_server_word(&ended.words, &["Conflict"]) => return Ok(false),
        Ok(ended) => format!("kubectl ended with {}: {}", ended.status, ended.words),
        Err(error @ RunError::Missing(_)) => return Err(Refusal::of_run(KUBECTL, &error)),
        Err(error) => error.to_string(),
    };
    Err(Refusal::retryable("fence_failed", why))
}
