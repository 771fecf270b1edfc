//! A schema of the shared server for each world, and the locks of its chains.

use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Cluster;

/// Locks that a client holds. It is gone, and the locks with it, when this is dropped.
pub(crate) struct HeldLocks {
    holder: Child,
    orders: Option<std::process::ChildStdin>,
}

impl Drop for HeldLocks {
    fn drop(&mut self) {
        self.orders = None;
        let _ = self.holder.wait();
    }
}

/// The ledger of one world: a schema of the shared database.
pub(crate) struct OwnSchema {
    name: String,
}

impl OwnSchema {
    /// A name that nobody has; `init` makes the schema.
    pub(crate) fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        Self { name: format!("world_{number:06}") }
    }

    /// The address of the ledger.
    pub(crate) fn address(&self) -> String {
        let address = Cluster::shared().address("scalectl", "suite");
        format!("{address}?schema={}", self.name)
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The number of the lock of a chain, as the server computes it.
    fn lock(&self, stream: &str) -> String {
        let text = format!("scalectl {} {stream}", self.name);
        format!("('x' || substr(encode(sha256('{text}'), 'hex'), 1, 16))::bit(64)::bigint")
    }

    /// Holds the locks of some chains, alone, until it is dropped.
    pub(crate) fn hold(&self, streams: &[&str]) -> HeldLocks {
        self.hold_shared(&[], streams)
    }

    /// Holds some locks together with others who do, and some alone.
    pub(crate) fn hold_shared(&self, shared: &[&str], streams: &[&str]) -> HeldLocks {
        let mut script = String::new();
        for stream in shared {
            let lock = self.lock(stream);
            script.extend([format!("SELECT pg_advisory_xact_lock_shared({lock});\n")]);
        }
        for stream in streams {
            script.extend([format!("SELECT pg_advisory_xact_lock({});\n", self.lock(stream))]);
        }
        Self::held(&script)
    }

    /// Holds a whole table, also against who only reads, until it is dropped.
    pub(crate) fn hold_table(&self, table: &str) -> HeldLocks {
        Self::held(&format!("LOCK TABLE {}.{table};\n", self.name))
    }

    fn held(script: &str) -> HeldLocks {
        let mut holder = Cluster::shared().psql_command("scalectl", "suite").spawn().unwrap();
        let mut orders = holder.stdin.take().unwrap();
        orders.write_all(format!("BEGIN;\n{script}\\echo held\n").as_bytes()).unwrap();
        let mut said = std::io::BufReader::new(holder.stdout.take().unwrap());
        let mut line = String::new();
        while line != "held\n" {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "the locks are not held");
        }
        HeldLocks { holder, orders: Some(orders) }
    }

    /// How many wait for the lock of a chain.
    pub(crate) fn waiting_for(&self, stream: &str) -> usize {
        let sql = format!(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
             AND (classid::bigint << 32 | objid::bigint) = {}",
            self.lock(stream)
        );
        Cluster::shared().psql("suite", &sql).parse().unwrap()
    }

    /// Another schema with the same ledger.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self::new();
        let (from, to) = (&self.name, &copy.name);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ledger/postgres/migrations");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> = files.collect();
        files.sort();
        let texts: Vec<_> =
            files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
        let script = format!(
            "SELECT to_regnamespace('{from}') IS NOT NULL AS is_there \\gset
             \\if :is_there
             BEGIN;
             CREATE SCHEMA {to};
             SET LOCAL search_path = {to};
             {}
             DELETE FROM ledger_schema;
             SELECT format('INSERT INTO {to}.%1$I OVERRIDING SYSTEM VALUE
                            SELECT * FROM {from}.%1$I', relname)
             FROM pg_class WHERE relnamespace = '{from}'::regnamespace AND relkind = 'r' \\gexec
             SELECT setval(pg_get_serial_sequence('{to}.event', 'position'), max(position))
             FROM event HAVING max(position) IS NOT NULL;
             COMMIT;
             \\endif",
            texts.join("\n"),
        );
        let copied = Cluster::shared().try_psql("scalectl", "suite", &script);
        copied.unwrap_or_else(|problem| panic!("copying {from}: {problem}"));
        copy
    }
}
