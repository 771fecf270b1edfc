//! Scale: the life of an intent, from `intent put` to `verified`.

pub mod attempt;
pub mod command;
pub mod event;
pub mod execution;
pub mod intent;
pub mod lease;
pub mod observation;
pub mod policy;
pub mod provenance;
pub mod rejection;
pub mod result;
pub mod service;
pub mod state;
