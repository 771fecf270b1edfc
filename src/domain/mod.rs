//! The pure core: nouns shared by every area, and one folder per area.
//!
//! Owns the meaning of every word in `docs/glossary.md` and every rule of a transition. Never reads
//! a clock, a disk, an environment variable or a child process: `now` is always an argument. Nothing
//! here survives or breaks in a crash, because nothing here is written; recovery is the same fold of
//! [`scale::event::Event`] that live commands use.

pub mod canonical;
pub mod count;
pub mod digest;
pub mod gateway;
pub mod id;
pub mod measure;
pub mod near;
pub mod placement;
pub mod registry;
pub mod scale;
pub mod selector;
pub mod time;
