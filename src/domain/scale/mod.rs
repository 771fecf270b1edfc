//! Scale: the life of an intent, from `intent put` to `verified`.
//!
//! Owns the states, the rules between them and every reason to refuse. [`decide::decide`] goes from
//! a state and a command to events; [`state::ServiceState::apply`] goes from events to a state;
//! recovery is the same fold. Never does anything: it says what must be made durable.

pub mod attempt;
pub mod authority;
pub mod command;
pub mod consent;
pub mod cooldown;
pub mod decide;
mod desired_state;
pub mod effect;
pub mod event;
pub mod execution;
mod fold;
pub mod gates;
pub mod glass;
pub mod identity;
pub mod intent;
pub mod invariant;
pub mod lease;
pub mod left;
mod life;
pub mod next;
pub mod observation;
pub mod others;
pub mod owners;
pub mod passage;
pub mod policy;
pub mod provenance;
pub mod rejection;
pub mod result;
pub mod scaling;
pub mod service;
pub mod signed;
pub mod standing;
pub mod state;
pub mod tick;
pub mod timeline;
pub mod undo;
