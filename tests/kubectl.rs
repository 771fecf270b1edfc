//! The bundled `kubectl` actuator, driven through the real kubectl against a small API server.
//!
//! What was written is told by the server's own log, never by the adapter. A test that stands for a
//! rule of the rule book names it: `6.1(4)`.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod discover;
mod discovery;
mod evidence;
mod fence;
mod hand_over;
mod http;
mod journeys;
mod order;
mod outcomes;
mod owners;
mod pipelines;
mod reading;
mod seen;
mod server;
mod world;
