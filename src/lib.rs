//! scalectl: the durable authority for replica counts.
//!
//! ```text
//! main ─► cli ─► ops ─┬─► ledger ───┐
//!                     ├─► policy ───┤
//!                     ├─► actuator ─┼─► domain
//!         adapters ───┴─────────────┘        (adapters: bundled actuators, the child side)
//! ```
//!
//! Arrows go down only; `tests/tidy.rs` holds them.

pub mod actuator;
pub mod adapters;
pub mod cli;
pub mod crash;
pub mod domain;
pub mod files;
pub mod ledger;
pub mod ops;
pub mod policy;
