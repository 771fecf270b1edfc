//! `actuator`: what is bound, what a call may see, and the conformance kit.

mod binding;
mod check;
