//! Scale: the life of an intent, from `intent put` to `verified`.

pub mod intent;
pub mod lease;
pub mod observation;
pub mod policy;
pub mod result;
pub mod service;
