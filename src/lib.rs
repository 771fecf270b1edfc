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
pub mod domain;
pub mod policy;
