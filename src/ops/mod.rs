//! Operations: one durable transition per file, named as the subcommand.
//!
//! Owns the order of things: what is read from the world before a transaction, what is decided in
//! it, what may follow once it is durable. Never prints, never parses arguments, holds no SQL and
//! no rule. The shared steps ([`session`], [`report`], and the crate's own `administer`, `ask`,
//! `call`, `carry`, `gateway`, `health`, `lock_wait`, `look`, `lost`, `moving`, `outwait`, `read`,
//! `recover`, `seal`, `signals`, `signing`, `ssh_keygen`, `tally`, `transition`, `wait`) are used
//! by the verbs; a verb does not call another, but for `scale` and `reconcile`, which are the ways
//! through several.
//!
//! After a crash anywhere here, `replay` goes on: what had been started is in the ledger, and the
//! call's file on its host proves the end of the call.

mod administer;
mod ask;
mod call;
pub mod carry;
pub mod clock;
pub mod error;
pub mod foretell;
pub mod gate;
mod gateway;
pub mod health;
mod ids;
mod lock_wait;
mod look;
mod lost;
mod moving;
mod outwait;
pub mod placing;
mod policy_cache;
mod read;
pub mod recover;
mod relocating;
pub mod report;
pub mod resume;
mod seal;
pub mod session;
mod sight;
pub mod signals;
mod signing;
mod ssh_keygen;
mod stderr;
mod tally;
mod told;
mod transition;
pub(crate) mod wait;

pub mod actuate;
pub mod actuator_check;
pub mod actuator_put;
pub mod adopt;
pub mod approval;
pub mod autoscale;
pub mod backup;
pub mod batch;
pub mod break_glass;
pub mod breaking;
pub mod capacity_put;
pub mod clock_accept;
pub mod cooldown;
pub mod doctor;
pub mod gateway_apply;
pub mod gateway_converge;
pub mod gateway_finalize;
pub mod gateway_group;
pub mod gateway_import;
pub mod gateway_observe;
pub mod init;
pub mod intent_abandon;
pub mod intent_put;
pub mod intent_withdraw;
pub mod lay;
pub mod lease_acquire;
pub mod lease_release;
pub mod lease_renew;
pub mod ledger_copy;
pub mod ledger_migrate;
pub mod ledger_signers;
pub mod live;
pub mod notify;
pub mod observe;
pub mod operation_leave;
pub mod operation_run;
pub mod operation_wait;
pub mod placement_adopt;
pub mod placement_change;
pub mod plan;
pub mod policy_diff;
pub mod policy_lint;
pub mod policy_put;
pub mod policy_test;
pub mod quickstart;
pub mod reconcile;
pub mod relocator_put;
pub mod replay;
pub mod restore;
pub mod scale;
pub mod service_bind;
pub mod service_discover;
pub mod service_mode;
pub mod service_put;
pub mod settle;
pub mod timeline;
pub mod undo;
pub mod verify_signatures;

pub use error::{OpError, RelocatorFault};
pub use gateway::asked::Seen;
pub use gateway::pool::Pool;
pub use ids::mint;
pub use lock_wait::{holder_of, while_opening};
pub use session::{Notice, Place, Session};
pub use tally::Turn;
