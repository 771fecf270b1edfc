//! Placement: which cell an environment lives in, and how it is moved.
//!
//! Owns the nouns and rules of seed 002. Never reads a clock, a disk or a process. What holds after
//! a crash is what the ledger and the receipts of the relocator say.

pub mod protocol;
