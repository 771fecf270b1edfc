//! Which worker may act: the newest token that was seen of an environment.
//!
//! Every effect happens under the environment's lock, right after the token was compared under the
//! same lock. So a call that sleeps and wakes up after a newer one can change nothing, and while it
//! sleeps with the lock in hand the newer one waits: whoever started it kills it at its deadline.

use std::fs::File;

use serde::{Deserialize, Serialize};

use super::fault::{Done, Fault};
use super::files::{lock, make_dirs, read_json, replace_json};
use super::place::{Root, folder_of};
use crate::actuator::host::Deadline;
use crate::domain::id::{EnvironmentName, FenceToken, OperationId};
use crate::domain::placement::protocol::{Call, Refusal};

/// The environment's lock, with this call's token as the newest.
#[must_use = "the lock is held as long as this lives"]
pub(super) struct Held {
    _lock: File,
}

#[derive(Serialize, Deserialize)]
struct Newest {
    environment: EnvironmentName,
    token: FenceToken,
    operation: OperationId,
}

fn newest(root: &Root, call: &Call) -> Done<Option<Newest>> {
    let name = folder_of(call.environment.as_str());
    read_json(&root.fences().join(format!("{name}.json")))
}

/// Why a call has stopped: where a newer one was there meanwhile, that is why, whatever it has met
/// of what that one did.
pub(super) fn or_overtaken(root: &Root, call: &Call, fault: Fault) -> Fault {
    match newest(root, call) {
        Ok(Some(Newest { token, .. })) if token > call.token => {
            let refusal = Refusal::StaleToken { given: call.token, current: token };
            Fault { applied: fault.applied, ..refusal.into() }
        }
        Ok(_) | Err(_) => fault,
    }
}

/// Takes the lock of the call's environment, and refuses the call if a newer one was there. A newer
/// token is remembered before anything else happens.
pub(super) fn hold(root: &Root, call: &Call, until: Deadline) -> Done<Held> {
    let dir = root.fences();
    make_dirs(&dir)?;
    let name = folder_of(call.environment.as_str());
    let lock = lock(&dir.join(format!("{name}.lock")), until, "the environment's lock")?;
    let file = format!("{name}.json");
    let newest = newest(root, call)?;
    match newest {
        Some(newest) if newest.token > call.token => {
            Err(Refusal::StaleToken { given: call.token, current: newest.token }.into())
        }
        Some(newest) if newest.token == call.token && newest.operation == call.operation => {
            Ok(Held { _lock: lock })
        }
        // One token is of one lease, and that is of one operation.
        Some(newest) if newest.token == call.token => Err(Refusal::OtherGeneration {
            expected: format!("token {} of operation {}", call.token, call.operation),
            found: format!("token {} of operation {}", newest.token, newest.operation),
        }
        .into()),
        Some(_) | None => {
            let newest = Newest {
                environment: call.environment.clone(),
                token: call.token,
                operation: call.operation.clone(),
            };
            replace_json(&dir, &file, &newest)?;
            Ok(Held { _lock: lock })
        }
    }
}
