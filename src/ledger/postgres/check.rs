//! What is held against a server before anything is read or written there: that it keeps what it
//! says to keep, and that it is the same as before.

use std::ops::ControlFlow;

use super::PostgresEngine;
use crate::ledger::error::LedgerError;
use crate::ledger::sql::{Engine as _, Statement, Value};

/// The first server with everything that is used here, and the oldest that is still maintained.
const SERVER_VERSION_MIN: i64 = 140_000;

const CHECK_SERVER: Statement = Statement::few(
    "open",
    "SELECT CAST(current_setting('server_version_num') AS BIGINT), current_setting('fsync'),
            current_setting('full_page_writes'), CAST(pg_is_in_recovery() AS TEXT),
            current_setting('server_encoding'), coalesce(CAST(to_regclass('ledger') AS TEXT), ''),
            coalesce(CAST(to_regclass('ledger_schema') AS TEXT), ''), CAST(current_user AS TEXT),
            CAST(coalesce((SELECT has_schema_privilege(oid, 'USAGE')
                           FROM pg_catalog.pg_namespace WHERE nspname = $1), true) AS TEXT)",
);

impl PostgresEngine {
    /// Refuses a server that could lose what it has acknowledged; answers whether there are tables.
    pub(super) fn check_server(&self) -> Result<bool, LedgerError> {
        let mut checked = Ok(false);
        let schema_name = self.server.schema();
        self.each(CHECK_SERVER, &[Value::Text(schema_name)], &mut |row| {
            let refused = |problem: String| {
                Err(LedgerError::UnsafeServer { path: self.server.path(), problem })
            };
            let version = row.int(0)?;
            let (ledger, schema) = (row.text(5)?, row.text(6)?);
            checked = if version < SERVER_VERSION_MIN {
                refused(format!("its version is {version}, {SERVER_VERSION_MIN} is needed"))
            } else if row.text(1)? != "on" || row.text(2)? != "on" {
                refused("fsync or full_page_writes is off".to_owned())
            } else if row.text(4)? != "UTF8" {
                refused(format!("its encoding is {}, not UTF8", row.text(4)?))
            } else if row.text(3)? == "true" {
                Err(self.server.unreachable("open", "it is a standby, which takes no writes"))
            } else if row.text(8)? == "false" {
                // To whoever may not look into a schema, nothing is there.
                Err(self.server.not_permitted(row.text(7)?))
            } else if !ledger.is_empty() && schema.is_empty() {
                let problem = "its schema has a table \"ledger\" of somebody else".to_owned();
                Err(LedgerError::Foreign { path: self.server.path(), problem })
            } else {
                Ok(!ledger.is_empty())
            };
            Ok(ControlFlow::Break(()))
        })?;
        checked
    }

    /// The name of a server may lead elsewhere after a fail-over.
    pub(super) fn check_same_ledger(&self) -> Result<(), LedgerError> {
        let known = self.identity.borrow();
        // Whoever makes one knows of none, and there may be no tables to ask.
        if known.is_none() || *known == self.read_identity()? {
            return Ok(());
        }
        let problem = "another ledger answers there now".to_owned();
        Err(LedgerError::Foreign { path: self.server.path(), problem })
    }

    fn read_identity(&self) -> Result<Option<(String, i64)>, LedgerError> {
        let mut found = None;
        self.each(crate::ledger::statements::READ_IDENTITY, &[], &mut |row| {
            found = Some((row.text(0)?.to_owned(), row.int(1)?));
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// What was decided for one role is not written by another.
    pub(super) fn check_same_role(&self, found: String) -> Result<(), LedgerError> {
        let mut known = self.role.borrow_mut();
        match known.as_ref() {
            Some(known) if *known != found => {
                let problem = format!("it takes us for {found} now, and for {known} before");
                Err(LedgerError::Foreign { path: self.server.path(), problem })
            }
            Some(_) => Ok(()),
            None => {
                *known = Some(found);
                Ok(())
            }
        }
    }
}
