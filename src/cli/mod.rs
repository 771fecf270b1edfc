//! The outside: what a person types, and what a person or a script gets to see.
//!
//! Owns the one document of an answer, the texts of refusals, the tables and the exit codes. Never
//! decides anything about a service and never writes to a ledger. After a crash nothing of this
//! layer needs repair, because it keeps nothing.

pub mod escape;
pub mod exit;
pub mod output;
pub mod problem;
pub mod table;
