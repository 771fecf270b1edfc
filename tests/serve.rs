//! `serve`: the contract over HTTP, what it withstands, and its end. The walks are those of
//! `tests/gateway/walks.rs`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

pub(crate) mod client;

mod carried;
mod deaths;
mod defects;
mod full;
mod load;
mod made_up;
mod wire;

use serde_json::Value;

use crate::gateway::operation;

/// An operation of a service.
fn operation_of(service: &str, id: &str, revision: u64, current: u32, desired: u32) -> Value {
    let mut operation = operation(id, revision, current, desired);
    operation["service"] = service.into();
    operation
}
