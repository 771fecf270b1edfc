//! The tables of a server's ledger, made and brought up to date, and what a doctor asks of it.

use std::ops::ControlFlow;

use super::{PostgresEngine, ServerAddress};
use crate::crash::{self, CrashPoint};
use crate::ledger::OpenOptions;
use crate::ledger::error::LedgerError;
use crate::ledger::sql::{CommitError, Engine as _, Lock, Statement, Value};

/// The migrations, in order. Never edited, only added to.
const MIGRATIONS: [&str; 2] =
    [include_str!("migrations/0001.sql"), include_str!("migrations/0002.sql")];

/// The migration that only a test knows.
const TESTING: &str = "CREATE TABLE testing_only (name TEXT PRIMARY KEY);
    UPDATE ledger_schema SET version = 3 WHERE singleton = 1;";

/// The migrations that this program knows, in order.
fn migrations() -> impl Iterator<Item = &'static str> {
    MIGRATIONS.into_iter().chain(crash::knows_another_schema().then_some(TESTING))
}

/// The version of the tables that this program reads and writes.
pub(in crate::ledger) fn schema_version() -> i64 {
    i64::try_from(migrations().count()).expect("BUG: more migrations than numbers")
}

const READ_SCHEMA: Statement =
    Statement::few("open", "SELECT version FROM ledger_schema WHERE singleton = 1");

const FIND_SCHEMA: Statement =
    Statement::few("create", "SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = $1");

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
                 ELSE 'may append' || coalesce((
                     SELECT ', but lacks ' || string_agg(right_to || ' on ' || name, ', '
                                                         ORDER BY name, right_to)
                       FROM unnest(ARRAY['service', 'execution', 'document', 'placement']) AS name,
                            unnest(ARRAY['SELECT', 'INSERT', 'UPDATE']) AS right_to
                      WHERE NOT has_table_privilege(to_regclass(name), right_to)), '') END,
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

/// What keeps a role, or a server, from writing; nothing where it may.
const READ_HINDRANCE: Statement = Statement::few(
    "write to",
    "SELECT CASE WHEN pg_is_in_recovery() THEN 'the server is a standby, which takes no writes'
                 WHEN NOT has_table_privilege('event', 'INSERT')
                      OR NOT (SELECT bool_and(has_table_privilege(name, right_to))
                                FROM unnest(ARRAY['service', 'execution', 'document']) AS name,
                                     unnest(ARRAY['INSERT', 'UPDATE']) AS right_to)
                     THEN 'the role ' || quote_ident(current_user) || ' may not write to it'
                 ELSE '' END",
);

impl PostgresEngine {
    /// Refuses what would be refused at the first write, in an open transaction.
    pub(super) fn refuse_unwritable(&self) -> Result<(), LedgerError> {
        let mut refused = None;
        self.each(READ_HINDRANCE, &[], &mut |row| {
            refused = Some(row.text(0)?.to_owned()).filter(|problem| !problem.is_empty());
            Ok(ControlFlow::Break(()))
        })?;
        refused.map_or(Ok(()), |problem| {
            let (doing, path) = ("write to", self.server.path());
            Err(LedgerError::NotPermitted { doing, path, problem })
        })
    }

    /// Makes the schema, where it is not there, and the tables in it, in a transaction that is left
    /// open for the first event: all of it is there, or nothing.
    pub(in crate::ledger) fn create(
        address: &ServerAddress,
        options: OpenOptions,
        locks: &[Lock],
    ) -> Result<Self, LedgerError> {
        let engine = Self::connect(address, options)?;
        engine.begin_write(locks)?;
        if engine.check_server()? {
            return Err(LedgerError::Exists { path: engine.server.path() });
        }
        let mut is_there = 0;
        let name = Value::Text(address.schema());
        engine.each(FIND_SCHEMA, &[name], &mut |row| {
            is_there = row.int(0)?;
            Ok(ControlFlow::Break(()))
        })?;
        if is_there == 0 {
            engine.server.run("create", &address.create_schema())?;
        }
        for migration in migrations() {
            engine.server.run("make the tables of", migration)?;
        }
        Ok(engine)
    }

    fn read_schema(&self) -> Result<i64, LedgerError> {
        let mut found = 0;
        self.each(READ_SCHEMA, &[], &mut |row| {
            found = row.int(0)?;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    pub(super) fn check_schema(&self) -> Result<(), LedgerError> {
        let found = self.read_schema()?;
        let (path, known) = (self.server.path(), schema_version());
        match found.cmp(&known) {
            std::cmp::Ordering::Greater => Err(LedgerError::Newer { path, found, known }),
            std::cmp::Ordering::Less => Err(LedgerError::Older { path, found, known }),
            std::cmp::Ordering::Equal => Ok(()),
        }
    }

    /// Brings an older ledger up to what this program knows, in one transaction; answers what it
    /// was.
    pub(in crate::ledger) fn bring_up(
        address: &ServerAddress,
        options: OpenOptions,
        locks: &[Lock],
    ) -> Result<i64, LedgerError> {
        let engine = Self::connect(address, options)?;
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
        options: OpenOptions,
    ) -> Result<Vec<Setting>, LedgerError> {
        let engine = Self::connect(address, options)?;
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
