//! The fence: one annotation of the object, written on condition that the object is as it was read.
//!
//! The write moves the version of the object, so a conditional write that is still on its way is
//! refused by the API server. A call that begins later reads the annotation, and is refused here.

use std::fmt;
use std::str::FromStr;

use serde_json::json;

use super::client::RunError;
use super::object::{FENCE_ANNOTATION, Object};
use super::read::Reader;
use super::{Refusal, is_server_word};
use crate::actuator::protocol::{ApplyRequest, FenceReply, FenceRequest, Reply};
use crate::domain::id::LedgerId;

/// How often the write is tried: the status of an object moves its version, too.
const TRIES: u32 = 5;

/// Calls below this have no effect any more. Compared by all but the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    ledger: LedgerId,
    order: (u64, u64, u64),
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (epoch, token, attempt) = self.order;
        write!(f, "{}/{epoch}.{token}.{attempt}", self.ledger)
    }
}

impl FromStr for Mark {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (ledger, order) = text.rsplit_once('/').ok_or(())?;
        let mut numbers = order.split('.').map(|part| part.parse::<u64>().map_err(|_| ()));
        let mut next = || numbers.next().unwrap_or(Err(()));
        let order = (next()?, next()?, next()?);
        if numbers.next().is_some() {
            return Err(());
        }
        let mark = Self { ledger: ledger.parse().map_err(|_| ())?, order };
        // What was written otherwise was not written here.
        if mark.to_string() == text { Ok(mark) } else { Err(()) }
    }
}

/// What an annotation says: the ledger and the order of the newest fence; none for what is none.
pub fn mark_in(text: &str) -> Option<(String, (u64, u64, u64))> {
    let mark: Mark = text.parse().ok()?;
    Some((mark.ledger.to_string(), mark.order))
}

impl Mark {
    /// The mark of a call.
    pub(super) fn of_apply(apply: &ApplyRequest) -> Self {
        let fence = &apply.request.lease.fence;
        let attempt = apply.request.lease.attempt.get();
        let order = (fence.lease_epoch.get(), fence.fence_token.get(), attempt);
        Self { ledger: apply.ledger.id.clone(), order }
    }

    fn of_fence(request: &FenceRequest) -> Result<Self, Refusal> {
        let Some(ledger) = &request.ledger else {
            let detail = "a fence without the identity of its ledger".to_owned();
            return Err(Refusal::terminal("incomplete_request", detail));
        };
        let order = (request.epoch.get(), request.token.get(), request.attempt.get());
        Ok(Self { ledger: ledger.id.clone(), order })
    }

    /// Whether a call or a fence at this mark is behind what an object has seen.
    pub(super) fn check(&self, object: &Object) -> Result<Standing, Refusal> {
        let Some(text) = object.metadata.annotations.get(FENCE_ANNOTATION) else {
            return Ok(Standing::Ahead);
        };
        let Ok(seen) = text.parse::<Self>() else {
            let detail = format!("annotation {FENCE_ANNOTATION} is {text:?}, which is no fence");
            return Err(Refusal::terminal("fence_unreadable", detail));
        };
        if seen.ledger != self.ledger {
            let detail = format!(
                "the object takes orders from ledger {}; kubectl annotate … {FENCE_ANNOTATION}- \
                 frees it",
                seen.ledger
            );
            return Err(Refusal::terminal("other_ledger", detail));
        }
        match self.order.cmp(&seen.order) {
            std::cmp::Ordering::Less => {
                let detail = format!("{self} is behind the newest fence {seen}");
                Err(Refusal::terminal("stale_fence", detail))
            }
            std::cmp::Ordering::Equal => Ok(Standing::AtMark),
            std::cmp::Ordering::Greater => Ok(Standing::Ahead),
        }
    }
}

/// Where a mark stands to what an object has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The object has this very mark.
    AtMark,
    /// The object has a lower one, or none.
    Ahead,
}

/// Makes every call below the mark harmless, and reads the object after that.
pub(super) fn fence(reader: &Reader<'_>, request: &FenceRequest) -> Result<Reply, Refusal> {
    let mark = Mark::of_fence(request)?;
    for _ in 0..TRIES {
        let object = reader.object()?;
        reader.check_cluster(Some(&request.target.cluster_id))?;
        reader.check_object(&object, Some(&request.target.target_uid))?;
        if mark.check(&object)? == Standing::AtMark || annotate(reader, &object, &mark)? {
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
    let why = match reader.client().run(&tail, reader.until) {
        Ok(ended) if ended.status.success() => return Ok(true),
        Ok(ended) if is_server_word(&ended.words, &["Conflict"]) => return Ok(false),
        Ok(ended) => format!("kubectl ended with {}: {}", ended.status, ended.words),
        Err(error @ RunError::Missing) => return Err(Refusal::of_run(&error)),
        Err(error) => error.to_string(),
    };
    Err(Refusal::retryable("fence_failed", why))
}
