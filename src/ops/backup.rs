//! `backup`: a verified copy of one instant.

use std::path::Path;

use super::error::OpError;
use super::session::Session;
use crate::domain::time::DurationMs;
use crate::ledger::OpenOptions;
use crate::ledger::life::{self, Backup, BackupOrder};

/// Makes a backup. The ledger is only read: whoever may read it may keep a copy.
pub fn backup(
    session: &mut Session,
    to: &Path,
    force: bool,
    lock_timeout: DurationMs,
) -> Result<Backup, OpError> {
    let command_id = Session::command_id()?;
    let open = OpenOptions { lock_timeout };
    let order = BackupOrder { to, force, command_id, open };
    Ok(life::backup(&mut session.ledger, &order)?)
}
