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

    /// Whoever runs the later lines: `NAME:UID` of the system, and on a server a role of that name,
    /// which may do what the owner of the ledger may.
    pub(crate) fn be(&mut self, user: &str) {
        self.set("SCALECTL_TEST_USER", user);
        if self.is_on_postgres() {
            let role = user.split(':').next().unwrap();
            self.set("SCALECTL_LEDGER", self.address_of(role));
        }
    }

    /// Whoever runs the suite again.
    pub(crate) fn be_oneself(&mut self) {
        self.unset("SCALECTL_TEST_USER");
        if let Some(address) = self.schema.as_ref().map(OwnSchema::address) {
            self.set("SCALECTL_LEDGER", address);
        }
    }

    /// Makes an SSH key and adds it to a list of allowed signers, as `NAME@acme`.
    pub(crate) fn make_key(&self, name: &str, list: &str) {
        use std::io::Write as _;
        let mut keygen = std::process::Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"]).arg(self.path(name));
        let made = keygen.status().expect("ssh-keygen is missing: apt-get install openssh-client");
        assert!(made.success());
        let public = std::fs::read_to_string(self.path(&format!("{name}.pub"))).unwrap();
        let key: Vec<&str> = public.split_whitespace().take(2).collect();
        let list = std::fs::File::options().create(true).append(true).open(self.path(list));
        writeln!(list.unwrap(), "{name}@acme {}", key.join(" ")).unwrap();
    }

    /// The address of this world's ledger for a role of the server.
    pub(crate) fn address_of(&self, role: &str) -> String {
        let make = format!(
            "DO $$ BEGIN CREATE ROLE \"{role}\" LOGIN IN ROLE scalectl;
             EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
        );
        Cluster::shared().psql("suite", &make);
        let address = Cluster::shared().address(role, "suite");
        format!("{address}?schema={}", self.schema().name())
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
        let address = self.env.iter().find(|(name, _)| name == "SCALECTL_LEDGER");
        let address = address.map_or_else(|| schema.address(), |(_, value)| value.clone());
        let text = without_word(&without_roles(text), ", db role ");
        text.replace(&address, default.to_str().unwrap())
            .replace(&schema.address(), default.to_str().unwrap())
            .replace("person: database role", "person: OS user")
            .replace("by database role", "by OS user")
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

/// A text without a marker and the word behind it, wherever they are.
fn without_word(text: &str, marker: &str) -> String {
    let mut parts = text.split(marker);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_word = |char: char| char.is_ascii_alphanumeric() || char == '_';
        out.push_str(part.trim_start_matches(is_word));
    }
    out
}

/// A table of `log` without the roles in its column KNOWN AS, padded as it would be without them.
fn without_roles(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for head in 0..lines.len() {
        let (Some(from), Some(to)) = (lines[head].find("KNOWN AS"), lines[head].rfind("WHAT"))
        else {
            continue;
        };
        let is_row = |line: &&String| line.get(..from).is_some() && line.len() >= to;
        let count = lines[head + 1..].iter().take_while(is_row).count();
        let rows = head..=head + count;
        let cell = |line: &str| without_word(line[from..to].trim_end(), ", db ");
        let width = rows.clone().map(|at| cell(&lines[at]).len()).max().unwrap_or_default();
        for at in rows {
            let line = lines[at].clone();
            lines[at] = format!("{}{:width$}  {}", &line[..from], cell(&line), &line[to..]);
        }
    }
    let end = if text.ends_with('\n') { "\n" } else { "" };
    format!("{}{end}", lines.join("\n"))
}
