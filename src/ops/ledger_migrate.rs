//! `ledger migrate`: an older ledger, brought up to this program on purpose.

use super::error::OpError;
use crate::domain::time::DurationMs;
use crate::ledger::life::Migrated;
use crate::ledger::{Ledger, Location, OpenOptions};

/// Applies what is missing, in one transaction. Whoever may change the tables may do it: a policy
/// cannot be asked by a program that does not know them.
pub fn ledger_migrate(location: &Location, lock_timeout: DurationMs) -> Result<Migrated, OpError> {
    Ok(Ledger::migrate(location, OpenOptions { lock_timeout, ..OpenOptions::default() })?)
}
