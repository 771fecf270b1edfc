//! Placement: which cell an environment lives in, and how it is moved.
//!
//! Owns the nouns and rules of seed 002. [`decide::decide`] goes from a state and a command to
//! events; [`state::PlacementState::apply`] goes from events to a state; recovery is the same fold.
//! Never reads a clock, a disk or a process. What holds after a crash is what the ledger and the
//! receipts of the relocator say.

mod back;
pub mod capacity;
pub mod command;
pub mod decide;
pub mod environment;
pub mod event;
mod fold;
pub mod invariant;
pub mod operation;
mod orders;
pub mod protocol;
pub mod registry;
pub mod rejection;
pub mod request;
pub mod state;
