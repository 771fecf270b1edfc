//! `backup`: a verified copy of one instant.

use std::path::Path;

use super::error::OpError;
use super::session::Session;
use crate::domain::time::DurationMs;
use crate::ledger::OpenOptions;
use crate::ledger::life::{self, Backup, BackupOrder};

/// Makes a backup. The ledger is only read: whoever may read it may keep a copy. The folder
/// must be there.
pub fn backup(
    session: &mut Session,
    to: &Path,
    force: bool,
    lock_timeout: DurationMs,
) -> Result<Backup, OpError> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(OpError::Usage {
            code: "no_folder",
            message: format!("there is no folder {} for the backup", folder.display()),
            hint: Some(
                "mount it or make it first: a backup makes no folder, so that none is missed where \
                 a disk is not there"
                    .to_owned(),
            ),
        });
    }
    let command_id = Session::command_id()?;
    let open = OpenOptions { lock_timeout, ..OpenOptions::default() };
    let order = BackupOrder { to, force, command_id, open };
    Ok(life::backup(&mut session.ledger, &order)?)
}
