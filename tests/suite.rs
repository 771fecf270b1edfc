//! The one binary of integration tests.

#![expect(clippy::disallowed_methods, reason = "tests start processes and read the world")]

mod example_actuators;
mod guard;
mod local_adapter;
mod model;
mod oracle;
mod rules;
mod support;
mod walk;
