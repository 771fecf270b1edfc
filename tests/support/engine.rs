//! Where the ledger of a world is: the engine of the run, its locks, its rows.

use super::World;
use super::postgres::{self, Cluster, OwnSchema};

/// A lock that keeps every writer of a ledger out, until it is dropped.
pub(crate) enum Held {
    File { _lock: rusqlite::Connection },
    Server { _locks: postgres::HeldLocks },
}

impl World {
    /// The same, whatever the engine of this run is.
    pub(crate) fn on_sqlite() -> Self {
        let dir = tempfile::Builder::new().prefix("scalectl-test-").tempdir().unwrap();
        Self { dir, env: Vec::new(), schema: None }
    }

    /// An empty world whose ledger will be a schema of the shared server.
    pub(crate) fn on_postgres() -> Self {
        Self::on_schema(OwnSchema::new())
    }

    fn on_schema(schema: OwnSchema) -> Self {
        let mut world = Self::on_sqlite();
        world.set("SCALECTL_LEDGER", schema.address());
        world.schema = Some(schema);
        world
    }

    /// Takes a copy of another world's schema, where it has one.
    pub(super) fn take_ledger_of(&mut self, other: &Self) {
        if let Some(schema) = &other.schema {
            let schema = schema.copy();
            self.set("SCALECTL_LEDGER", schema.address());
            self.schema = Some(schema);
        }
    }

    /// Whether its ledger is on PostgreSQL.
    pub(crate) fn is_on_postgres(&self) -> bool {
        self.schema.is_some()
    }

    /// A text that names this world's ledger, as if it were the default one: transcripts are the
    /// same on every engine but for where the ledger is.
    pub(crate) fn as_on_sqlite(&self, text: &str) -> String {
        let Some(schema) = &self.schema else { return text.to_owned() };
        let default = self.ledger();
        text.replace(&schema.address(), default.to_str().unwrap())
            .replace("chosen by SCALECTL_LEDGER", postgres::CHOSEN_BY_DEFAULT)
            .replace("(postgres, ", "(sqlite, ")
            .replace("its schema has no tables of ours", "its directory is not there either")
    }

    /// The variable that names the ledger, for what is not started by [`World::command`].
    pub(crate) fn ledger_variable(&self) -> Option<(&'static str, String)> {
        Some(("SCALECTL_LEDGER", self.schema.as_ref()?.address()))
    }

    /// The schema of the ledger, on PostgreSQL.
    #[track_caller]
    pub(crate) fn schema(&self) -> &OwnSchema {
        self.schema.as_ref().expect("a ledger on PostgreSQL")
    }

    /// Keeps every writer of the ledger out; until it is dropped.
    pub(crate) fn lock(&self) -> Held {
        if let Some(schema) = &self.schema {
            return Held::Server { _locks: schema.hold(&["registry", "policy", "refusals"]) };
        }
        let connection = rusqlite::Connection::open(self.ledger()).expect("a database");
        connection.busy_timeout(std::time::Duration::from_secs(5)).expect("a setting");
        // The last one to close would copy the log away.
        let setting = rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        connection.set_db_config(setting, true).expect("a setting");
        connection.execute_batch("BEGIN IMMEDIATE").expect("the lock");
        Held::File { _lock: connection }
    }

    /// Runs SQL in the schema of this world's ledger, as the superuser of the server.
    #[track_caller]
    pub(crate) fn sql(&self, sql: &str) -> String {
        let name = self.schema().name();
        Cluster::shared().psql("suite", &format!("SET search_path = {name};\n{sql}"))
    }
}
