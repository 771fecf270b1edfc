//! `actuator`: what is bound, what a call may see, and the conformance kit.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod binding;
mod capabilities;
mod check;
mod interrupted;
