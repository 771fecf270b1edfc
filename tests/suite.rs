//! The integration tests: one binary.

mod rules;
