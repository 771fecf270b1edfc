//! The tables of a server's ledger, made and brought up to date, and what a doctor asks of it.

use std::ops::ControlFlow;

use super::{PostgresEngine, ServerAddress};
use crate::crash::{self, CrashPoint};
use crate::domain::time::DurationMs;
use crate::ledger::error::LedgerError;
use crate::ledger::sql::{CommitError, Engine as _, Lock, Statement};

/// The migrations, in order. Never edited, only added to.
const MIGRATIONS: [&str; 1] = [include_str!("migrations/0001.sql")];

/// The migration that only a test knows.
const TESTING: &str = "CREATE TABLE testing_only (name TEXT PRIMARY KEY);
    UPDATE ledger_schema SET version = 2 WHERE singleton = 1;";

/// The migrations that this program knows, in order.
pub(super) fn migrations() -> impl Iterator<Item = &'static str> {
    MIGRATIONS.into_iter().chain(crash::knows_another_schema().then_some(TESTING))
}

/// The version of the tables that this program reads and writes.
pub(in crate::ledger) fn schema_version() -> i64 {
    i64::try_from(migrations().count()).expect("BUG: more migrations than numbers")
}

/// What a doctor asks of a server: it is read whatever the server is like.
const EXAMINE: Statement = Statement::few(
    "look at",
    "SELECT current_setting('server_version'), current_setting('fsync'),
            current_setting('full_page_writes'), current_setting('synchronous_commit'),
            current_setting('server_encoding'),
            CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE 'primary' END,
            CASE WHEN to_regclass('event') IS NULL THEN 'no table'
                 WHEN NOT has_table_privilege('event', 'SELECT') THEN 'may not read'
                 WHEN NOT has_table_privilege('event', 'INSERT') THEN 'may only read'
                 ELSE 'may append' END,
            CASE WHEN current_setting('is_superuser') = 'on' THEN 'superuser'
                 WHEN to_regclass('event') IS NOT NULL
                      AND has_table_privilege('event', 'UPDATE') THEN 'may change events'
                 ELSE 'least' END",
);

/// One setting of a server, and what it should be: words with `|` between, empty for any.
pub(in crate::ledger) struct Setting {
    pub(in crate::ledger) name: &'static str,
    pub(in crate::ledger) found: String,
    pub(in crate::ledger) wanted: &'static str,
    pub(in crate::ledger) is_vital: bool,
}

/// In the order of [`EXAMINE`].
const SETTINGS_WANTED: [(&str, &str, bool); 8] = [
    ("server_version", "", false),
    ("fsync", "on", true),
    ("full_page_writes", "on", true),
    ("synchronous_commit", "on|remote_apply", false),
    ("encoding", "UTF8", true),
    ("role_of_server", "primary", true),
    ("rights", "may append", false),
    ("least_rights", "least", false),
];

impl PostgresEngine {
    /// Brings an older ledger up to what this program knows, in one transaction; answers what it
    /// was.
    pub(in crate::ledger) fn bring_up(
        address: &ServerAddress,
        lock_timeout: DurationMs,
        locks: &[Lock],
    ) -> Result<i64, LedgerError> {
        let engine = Self::connect(address, lock_timeout)?;
        engine.begin_write(locks)?;
        if !engine.check_server()? {
            return Err(engine.server.missing());
        }
        let (found, known) = (engine.read_schema()?, schema_version());
        let applied = usize::try_from(found).ok().filter(|_| (1..=known).contains(&found));
        let Some(applied) = applied else {
            return Err(LedgerError::Newer { path: engine.server.path(), found, known });
        };
        for migration in migrations().skip(applied) {
            engine.server.run("migrate", migration)?;
        }
        crash::hit(CrashPoint::BeforeCommit);
        // Where the answer was lost, the same line again finds out.
        engine.commit().map_err(CommitError::into_problem)?;
        crash::hit(CrashPoint::AfterCommit);
        Ok(found)
    }

    /// Looks at a server, whatever it is like.
    pub(in crate::ledger) fn examine(
        address: &ServerAddress,
        lock_timeout: DurationMs,
    ) -> Result<Vec<Setting>, LedgerError> {
        let engine = Self::connect(address, lock_timeout)?;
        engine.begin_read()?;
        let mut settings = Vec::new();
        engine.each(EXAMINE, &[], &mut |row| {
            for (at, (name, wanted, is_vital)) in SETTINGS_WANTED.into_iter().enumerate() {
                settings.push(Setting { name, found: row.text(at)?.to_owned(), wanted, is_vital });
            }
            Ok(ControlFlow::Break(()))
        })?;
        engine.rollback();
        Ok(settings)
    }
}
