//! The contract's own checks, in its order: the first that fails is the answer.
//!
//! The numbers are those of the rule book (facts/gateway-contract.md, 2.1). Checks 0 to 2 are made
//! by whoever reads the request.

use super::wire::{
    Code, Direction, Receipt, SCHEMA_VERSION, ScaleAnswer, ScaleConflict, ScaleObservation,
    ScaleOperation,
};
use crate::domain::id::Replicas;

/// What a service holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holds {
    /// The desired count.
    pub replicas: Replicas,
    /// The gateway revision.
    pub revision: u64,
}

/// What an operation id names already.
#[derive(Debug, Clone, Copy)]
pub enum Used<'a> {
    /// Nothing.
    No,
    /// This operation.
    By(&'a Receipt),
    /// An intent that no operation has made, or one of another service.
    Otherwise,
}

/// How much the services of the pool may have together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// All of them.
    pub max: u32,
    /// The desired counts of all others.
    pub others: u64,
}

/// What the contract says of an operation that it does not refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged {
    /// It was accepted before: the stored answer.
    Replay(ScaleAnswer),
    /// It may be accepted, and is answered so.
    Accept(ScaleAnswer),
}

/// The longest operation id or name that a message shows, in characters.
const SHOWN_CHARS_MAX: usize = 80;

/// Judges an operation by what its service holds. `room` is none where nothing bounds the pool.
pub fn judge(
    operation: &ScaleOperation,
    used: Used<'_>,
    holds: Holds,
    room: Option<Room>,
) -> Result<Judged, ScaleConflict> {
    let refused = |code, message| Err(holds.refuses(code, message));
    let ScaleOperation { current_replicas: current, desired_replicas: desired, .. } = *operation;

    // 3 and 4. A used id is never judged anew, and never compared in part.
    match used {
        Used::No => {}
        Used::By(receipt) if receipt.request == *operation => {
            return Ok(Judged::Replay(receipt.response.clone()));
        }
        Used::By(_) | Used::Otherwise => {
            let id = shown(&operation.operation_id);
            let message = format!("operation {id} was accepted with another request");
            return refused(Code::OperationConflict, message);
        }
    }
    // 5
    if operation.schema_version != SCHEMA_VERSION {
        let message =
            format!("schema {} is not known: {SCHEMA_VERSION} is", operation.schema_version);
        return refused(Code::UnsupportedSchema, message);
    }
    // 6
    if operation.operation_id.trim().is_empty() || operation.service.trim().is_empty() {
        let message = "an operation has an operation_id and a service".to_owned();
        return refused(Code::InvalidRequest, message);
    }
    // 7
    let at = holds.revision.to_string();
    let expected = operation.expected_revision.as_ref();
    if expected != Some(&at) || Replicas::from(current) != holds.replicas {
        let from = expected.map_or_else(|| "none".into(), |text| shown(text));
        let held = holds.replicas;
        let message = format!("it holds {held} at {at}, and this is from {current} at {from}");
        return refused(Code::StaleRevision, message);
    }
    // 8
    let goes = match operation.direction {
        Direction::Up => desired > current,
        Direction::Down => desired < current,
    };
    if !goes {
        let direction = operation.direction;
        let message = format!("{current} to {desired} does not go {direction:?}");
        return refused(Code::InvalidDirection, message);
    }
    // 9
    if let Some(message) = room.and_then(|room| room.lacks(desired)) {
        return refused(Code::CapacityExceeded, message);
    }
    // 10
    Ok(Judged::Accept(accepted(operation, holds.revision.saturating_add(1).to_string())))
}

/// What an operation is answered when it is accepted.
fn accepted(operation: &ScaleOperation, revision: String) -> ScaleAnswer {
    let (service, desired) = (shown(&operation.service), operation.desired_replicas);
    ScaleAnswer {
        accepted: true,
        actual_replicas: desired,
        revision: Some(revision),
        message: format!("accepted: service {service} is to have {desired}"),
    }
}

impl Receipt {
    /// Whether its answer is still the one of the acceptance.
    pub fn is_as_accepted(&self) -> bool {
        let revision = self.response.revision.clone();
        revision.is_some_and(|revision| self.response == accepted(&self.request, revision))
    }

    /// The same operation, answered by whoever has seen how many are ready.
    #[must_use]
    pub fn converged(&self, ready: u32) -> Self {
        let (request, desired) = (self.request.clone(), self.request.desired_replicas);
        let service = shown(&request.service);
        let message = format!("converged: {ready} of {desired} of service {service} are ready");
        let response = ScaleAnswer {
            accepted: true,
            actual_replicas: ready,
            revision: self.response.revision.clone(),
            message,
        };
        Self { request, response }
    }
}

/// Whether an answer may take the place of what an operation was answered (facts, 2.6), and whether
/// it is another one.
pub fn finalized(
    stored: Option<&Receipt>,
    asked: &Receipt,
    holds: Holds,
) -> Result<bool, ScaleConflict> {
    let id = shown(&asked.request.operation_id);
    let refused = |message| Err(holds.refuses(Code::AuthorityStateError, message));
    let Some(stored) = stored else {
        return refused(format!("operation {id} was never accepted"));
    };
    if stored.request != asked.request {
        return refused(format!("operation {id} was accepted with another request"));
    }
    if stored.response.revision != asked.response.revision {
        return refused(format!(
            "operation {id} has made revision {}, and the new answer names {}",
            stored.response.revision.as_deref().unwrap_or("none"),
            asked.response.revision.as_deref().map_or_else(|| "none".into(), shown)
        ));
    }
    Ok(stored.response != asked.response)
}

impl Room {
    /// What is said where a count does not fit. A pool that is overdrawn already has no room left.
    fn lacks(self, desired: u32) -> Option<String> {
        let Self { max, others } = self;
        let left = u64::from(max).saturating_sub(others);
        (u64::from(desired) > left).then(|| {
            format!(
                "{desired} are wished, and {left} are left of the pool's {max}: \
                 its other services have {others}"
            )
        })
    }
}

impl Holds {
    /// A refusal. A count that the contract cannot say is told as the most that it can.
    pub fn refuses(&self, code: Code, message: String) -> ScaleConflict {
        ScaleConflict {
            code,
            message,
            observation: ScaleObservation {
                replicas: u32::try_from(self.replicas.get()).unwrap_or(u32::MAX),
                revision: Some(self.revision.to_string()),
                ready_replicas: 0,
                endpoints: Vec::new(),
            },
        }
    }
}

fn shown(text: &str) -> String {
    let cut: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("{cut:?}{more}")
}
