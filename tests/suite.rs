//! The one binary of integration tests.

mod example_actuators;
mod guard;
mod local_adapter;
mod rules;
mod support;
mod walk;
