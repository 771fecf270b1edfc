//! The bundled `docker` actuator, driven through the real Docker CLI against the real engine of the
//! machine, as a swarm of one node on the loopback.
//!
//! Faults are made by a relay between the CLI and the engine. What is there is told by the CLI's
//! own `docker service inspect`, never by the adapter.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod discover;
mod evidence;
mod fence;
mod journeys;
mod lookup;
mod order;
mod outcomes;
mod relay;
mod swarm;
mod world;
