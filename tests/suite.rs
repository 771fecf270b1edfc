//! The one binary of integration tests.

#![expect(clippy::disallowed_methods, reason = "tests start processes and read the world")]

mod actuator;
mod bad_input;
mod batch;
mod children;
mod crash;
mod discover;
mod disk_faults;
mod docker;
mod durability;
mod edges;
mod example_actuators;
mod fleet_rules;
mod fuzz;
mod gate;
mod gateway;
mod guard;
mod journeys;
mod kubectl;
mod life;
mod local_adapter;
mod metrics;
mod model;
mod oracle;
mod outcomes;
mod people;
mod placement;
mod policy;
mod postgres;
mod races;
mod recipes;
mod refused;
mod relocator;
mod replay;
mod rules;
mod scenarios;
mod serve;
mod standing;
mod support;
mod surface;
mod ticks;
mod tidy;
mod walk;
mod wishes;
