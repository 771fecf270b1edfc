//! The gateway's scale contract: its documents, its checks, and what it counts of a service.
//!
//! Owns what is on the wire and the order of the contract's own checks. Our gates come after them
//! and are those of [`super::scale`]. Nothing here is stored but as a member of an event: a
//! [`Receipt`] beside the intent that it was given for.

mod head;
mod journal;
mod judge;
mod name;
mod refusal;
#[cfg(test)]
mod tests;
mod wire;

pub use head::{GatewayHead, Imported};
pub use journal::{CorruptJournal, IMPORTED_REVISION_MAX, JOURNAL_BYTES_MAX, Journal, Journaled};
pub use judge::{Holds, Judged, Room, Used, finalized, judge};
pub use name::{
    CLUSTER, RAW_NAME_LABEL, RUNTIME, WRITER, binding, key_of, reason_of, registration,
    service_name,
};
pub use refusal::code_of;
pub use wire::{
    Code, Direction, OPERATION_BYTES_MAX, Receipt, SCHEMA_VERSION, ScaleAnswer, ScaleConflict,
    ScaleEndpoint, ScaleObservation, ScaleOperation, Undecodable, read_lenient,
};
