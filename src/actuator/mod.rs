//! To be written.

pub mod protocol;
