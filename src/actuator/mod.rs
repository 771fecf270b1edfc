//! The parent side of every call: children, the guard around an actuator, the proof of its end.
//!
//! Owns how a child is started, fed, bounded, stopped and reaped ([`process`]), the call files and
//! what they prove ([`calls`]), the guard that outlives its parent ([`guarded`] starts it,
//! [`guard`] is it), who this host and this process are ([`host`]), and which command serves an
//! actuator here ([`bindings`]). Never reads or writes the ledger and never decides what an end
//! means. After a crash of the parent the guard ends the call by itself; after a crash of the
//! guard the next [`calls::prove_end`] does; after a crash of the machine no process of the call
//! is left.

pub mod bindings;
pub mod calls;
pub mod error;
pub mod guard;
pub mod guarded;
pub mod host;
pub mod locks;
pub mod notify;
pub mod process;
pub mod procfs;
pub mod protocol;
pub mod signals;

mod pipes;
mod supervise;

pub use process::protect_descriptors;
