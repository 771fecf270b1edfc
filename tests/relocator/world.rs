//! One relocator with two cells and an environment, and its answers in few words.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(super) const PROTOCOL: &str = "scalectl.relocator/1";
pub(super) const ENVIRONMENT: &str = "shop";
const ROOM: u64 = 64 * 1024 * 1024 * 1024;

/// The copies of a move from `a` to `b`.
pub(super) fn source() -> Value {
    json!({"cell": "a", "generation": "1-op1"})
}

pub(super) fn target() -> Value {
    json!({"cell": "b", "generation": "2-op2"})
}

pub(super) struct World {
    pub(super) dir: TempDir,
    /// What the next calls find in their environment.
    pub(super) variables: BTreeMap<String, String>,
}

impl World {
    /// An environment in cell `a`, epoch 1, routed there.
    pub(super) fn new() -> Self {
        let world =
            Self { dir: tempfile::tempdir().expect("a folder"), variables: BTreeMap::new() };
        for cell in ["a", "b", "c"] {
            world.limit(cell, ROOM);
        }
        world.write("credentials/db", "never copied");
        let copy = "cells/a/shop/1-op1";
        world.write(&format!("{copy}/application/bin/server"), "#!/bin/sh\n");
        world.write(&format!("{copy}/application/empty"), "");
        world.write(&format!("{copy}/artifacts/release-1.tar"), &"artifact ".repeat(4000));
        world.write(&format!("{copy}/workspace/src/main.c"), "int main(void) { return 7; }");
        world.write(&format!("{copy}/workspace/node_modules/x.js"), "left out");
        world.write(&format!("{copy}/workspace.json"), r#"{"state": "stopped"}"#);
        let credentials = json!({"references": [
            {"name": "database", "provider": "local", "reference": "db"},
            {"name": "mail", "provider": "vault", "reference": "kv/mail#token"}
        ]});
        world.write(&format!("{copy}/credentials.json"), &credentials.to_string());
        let subjects = json!({"subjects": [{"external": "google:17", "internal": "anna"}]});
        world.write(&format!("{copy}/subjects.json"), &subjects.to_string());
        let link = world.path(&format!("{copy}/application/current"));
        std::os::unix::fs::symlink("bin/server", link).expect("linked");
        let database = world.database(&source());
        database
            .execute_batch(
                "PRAGMA journal_mode = WAL;
                 CREATE TABLE entry (number INTEGER PRIMARY KEY, text TEXT NOT NULL);
                 CREATE TABLE \"odd \"\" name\" (x);
                 CREATE TABLE pair (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID;
                 CREATE INDEX entry_text ON entry (text);
                 CREATE VIEW long AS SELECT * FROM entry WHERE length(text) > 9;
                 CREATE TRIGGER rule BEFORE INSERT ON entry WHEN new.number < 0
                 BEGIN SELECT RAISE(ABORT, 'a rule of the application'); END;
                 INSERT INTO pair VALUES (1, 2);
                 INSERT INTO \"odd \"\" name\" VALUES ('kept');",
            )
            .expect("a schema");
        drop(database);
        let route = json!({"cell": "a", "epoch": 1, "generation": "1-op1"});
        world.write("routes/shop.json", &route.to_string());
        world
    }

    pub(super) fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    pub(super) fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().expect("below")).expect("made");
        fs::write(path, text).expect("written");
    }

    pub(super) fn limit(&self, cell: &str, bytes: u64) {
        self.write(
            &format!("cells/{cell}/limit.json"),
            &json!({"storage_bytes": bytes}).to_string(),
        );
    }

    pub(super) fn copy(&self, place: &Value) -> PathBuf {
        let word = |member: &str| place[member].as_str().expect("a word").to_owned();
        self.path("cells").join(word("cell")).join(ENVIRONMENT).join(word("generation"))
    }

    #[expect(clippy::disallowed_methods, reason = "the application of the test opens its database")]
    pub(super) fn database(&self, place: &Value) -> Connection {
        let open = Connection::open(self.copy(place).join("database.sqlite")).expect("opened");
        open.busy_timeout(std::time::Duration::from_secs(5)).expect("set");
        open
    }

    /// Whether the application may write a row there: the words of the fence if not.
    pub(super) fn insert(&self, place: &Value, number: i64) -> Result<(), String> {
        let done = self
            .database(place)
            .execute("INSERT INTO entry (number, text) VALUES (?1, 'row')", [number]);
        done.map(|_| ()).map_err(|error| error.to_string())
    }

    pub(super) fn numbers(&self, place: &Value) -> Vec<i64> {
        let database = self.database(place);
        let mut statement =
            database.prepare("SELECT number FROM entry ORDER BY number").expect("a table");
        let rows = statement.query_map([], |row| row.get(0)).expect("rows");
        rows.collect::<Result<_, _>>().expect("numbers")
    }

    pub(super) fn route(&self) -> Value {
        let text = fs::read_to_string(self.path("routes/shop.json")).expect("a route");
        serde_json::from_str(&text).expect("a whole document at any instant")
    }

    /// A request of operation `op2` after epoch 1.
    pub(super) fn request(op: &str, token: u64) -> Value {
        let mut request = json!({
            "protocol": PROTOCOL, "op": op, "call_id": "call-1", "deadline_ms": 600_000,
            "environment": ENVIRONMENT, "operation": "op2", "token": token, "epoch": 1,
        });
        if !["verify", "discard"].contains(&op) {
            request["source"] = source();
        }
        if ["transfer", "verify", "route", "retire", "discard", "snapshot"].contains(&op) {
            request["target"] = target();
        }
        request
    }

    #[expect(clippy::disallowed_methods, reason = "the tests are the parent")]
    pub(super) fn spawn(&self, request: &Value) -> Child {
        let mut child = Command::new(env!("CARGO_BIN_EXE_scalectl"))
            .args(["relocator", "run", "local", "--root"])
            .arg(self.dir.path())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .envs(&self.variables)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the relocator starts");
        let mut stdin = child.stdin.take().expect("piped");
        // What is too long is not read to its end.
        let _ = stdin.write_all(request.to_string().as_bytes());
        child
    }

    pub(super) fn call(&self, request: &Value) -> Value {
        let output = self.spawn(request).wait_with_output().expect("the relocator ends");
        answer(&output)
    }

    /// The receipt of a request that must succeed.
    pub(super) fn done(&self, request: &Value) -> Value {
        let answer = self.call(request);
        assert_eq!(answer["ok"], true, "{request}\n{answer}");
        assert_eq!(answer["receipt"]["op"], request["op"]);
        answer["receipt"].clone()
    }

    pub(super) fn op(&self, op: &str, token: u64) -> Value {
        self.done(&Self::request(op, token))
    }

    /// The code of a request that must be refused.
    pub(super) fn refused(&self, request: &Value) -> String {
        let answer = self.call(request);
        assert_eq!(answer["ok"], false, "{request}\n{answer}");
        answer["error"]["code"].as_str().expect("a code").to_owned()
    }

    pub(super) fn refused_op(&self, op: &str, token: u64) -> String {
        self.refused(&Self::request(op, token))
    }

    pub(super) fn scalectl(&self, words: &[&str]) -> Output {
        let mut line = Command::new(env!("CARGO_BIN_EXE_scalectl"));
        line.args(words).env_clear().env("HOME", self.dir.path()).envs(&self.variables);
        line.output().expect("it runs")
    }
}

pub(super) fn answer(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// Every file below a folder with its bytes, and every link with where it leads.
pub(super) fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(&at).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(folder).expect("below").display().to_string();
            if path.is_symlink() {
                let leads_to = fs::read_link(&path).expect("a link").display().to_string();
                found.insert(name, leads_to.into_bytes());
            } else if path.is_dir() {
                open.push(path);
            } else {
                found.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    found
}

/// The whole move, from the first call on: what came before is answered by its receipt.
pub(super) const MOVE: [&str; 7] =
    ["inventory", "drain", "fence", "transfer", "verify", "route", "retire"];
