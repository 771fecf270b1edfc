//! One binary for all integration tests.

mod example_actuators;
mod local_adapter;
