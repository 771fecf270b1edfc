//! Edges: what surrounds a process, files that are none, ledgers that change their place, and the
//! first lines of somebody who has never typed one.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod files;
mod ledgers;
mod people;
mod process;
mod stumbles;
