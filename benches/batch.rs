//! `batch` against single puts, and against a bare loop that runs the same statements on the same
//! rows with the same commits: `target/release/examples/batch target/release/scalectl`.
//!
//! The rows of the loop are those that the batch wrote, so that both write as many bytes; what is
//! left out of it is everything else: reading and answering JSON, rules, policy, digests, hashes.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark measures and says"
)]

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

const LINES: usize = 10_000;
const GROUP: usize = 256;
const SINGLES: usize = 200;
const ROUNDS: usize = 5;

/// An actuator that says its name, and is never called.
const DESCRIBED: &str =
    r#"read -r _; echo '{"protocol":"scalectl.actuator/1","name":"none","version":"1"}'"#;

/// The columns of every reading of executions.
const EXECUTION: &str = "SELECT position, execution_key, service, intent_id, intent_revision, \
     dry_run, live, unfinished, state, version, document FROM execution";

fn main() {
    let binary = std::env::args_os().nth(1).expect("usage: batch PATH_OF_SCALECTL");
    let binary = Path::new(&binary);
    let dir = tempfile::tempdir().expect("a directory");
    let home = dir.path();
    let run =
        |words: &[&str]| assert!(command(binary, home, words).status().expect("it runs").success());
    run(&["init"]);
    let policy = home.join("all.cedar");
    std::fs::write(&policy, "@id(\"all\") permit(principal, action, resource);").expect("written");
    run(&["policy", "put", policy.to_str().expect("UTF-8"), "--reason", "bench"]);
    run(&["actuator", "put", "none", "--", "/bin/sh", "-c", DESCRIBED]);
    let target = ["--cluster", "c", "--runtime", "r", "--target-uid", "u", "--target-version", "1"];
    let service = ["service", "put", "web", "--actuator", "none", "--max", "10", "--drain", "none"];
    run(&[&service[..], &target[..]].concat());
    let (ledger, lines) = (home.join(".local/state/scalectl/ledger.db"), home.join("lines"));
    std::fs::write(&lines, input()).expect("written");
    let empty = Copy::of(&ledger);

    let mut batches = Vec::new();
    let mut singles = Vec::new();
    let mut loops = Vec::new();
    for _ in 0..ROUNDS {
        empty.put_at(&ledger);
        let out = File::create(home.join("answers")).expect("a file");
        let mut batch = command(binary, home, &["batch", "--file", lines.to_str().expect("UTF-8")]);
        batches.push(timed(LINES, || {
            assert!(batch.stdout(out).status().expect("it runs").success());
        }));
        let rows = rows(&ledger);
        empty.put_at(&ledger);
        loops.push(timed(LINES, || bare_loop(&ledger, &rows)));
        empty.put_at(&ledger);
        singles.push(timed(SINGLES, || {
            for n in 0..SINGLES {
                let (key, count) = (format!("s{n}"), (n % 10).to_string());
                let wish = ["--replicas", &count, "--key", &key, "--reason", "bench"];
                run(&[&["intent", "put", "web"], &wish[..]].concat());
            }
        }));
    }
    let [batch, single, bare] = [batches, singles, loops].map(median);
    println!(
        "a line of a batch {batch:?}, a single put {single:?}, a turn of the bare loop {bare:?}"
    );
    println!("batch / bare loop, as speeds: {:.2} (at least 0.5)", bare.div_duration_f64(batch));
    println!("single put / line of a batch: {:.1} (at least 20)", single.div_duration_f64(batch));
}

fn command(binary: &Path, home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command.args(words).env_clear().env("HOME", home);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn input() -> String {
    let mut text = String::new();
    for n in 0..LINES {
        let count = n % 10;
        let wish = format!(r#""service":"web","replicas":{count},"key":"k{n}","reason":"bench""#);
        writeln!(text, r#"{{"intent_put":{{{wish}}}}}"#).expect("memory");
    }
    text
}

/// The time of one of so many.
fn timed(count: usize, work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed() / u32::try_from(count).expect("a few")
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// A ledger that nobody has open, with its log.
struct Copy(Vec<(&'static str, Vec<u8>)>);

impl Copy {
    fn of(ledger: &Path) -> Self {
        let files =
            ["", "-wal"].map(|end| (end, std::fs::read(beside(ledger, end)).expect("read")));
        Self(files.into())
    }

    fn put_at(&self, ledger: &Path) {
        let _ = std::fs::remove_file(beside(ledger, "-shm"));
        for (end, bytes) in &self.0 {
            std::fs::write(beside(ledger, end), bytes).expect("written");
        }
    }
}

fn beside(ledger: &Path, end: &str) -> String {
    format!("{}{end}", ledger.to_str().expect("UTF-8"))
}

struct Event {
    sequence: i64,
    command_id: String,
    at: i64,
    kind: String,
    key: Option<String>,
    body: String,
    hash: Vec<u8>,
}

/// One put: its events, and its row.
struct Row {
    events: Vec<Event>,
    key: String,
    intent_id: String,
    revision: i64,
    document: String,
    head: String,
}

/// What a batch has written, a row for each line.
fn rows(ledger: &Path) -> Vec<Row> {
    let db = Connection::open(ledger).expect("opens");
    let head: String =
        db.query_row("SELECT head FROM service", [], |row| row.get(0)).expect("a head");
    let mut all = db
        .prepare(
            "SELECT sequence, command_id, at, kind, execution_key, body, hash FROM event \
                  WHERE stream = 'service:web' AND sequence > 1 ORDER BY sequence",
        )
        .expect("prepared");
    let read = all.query_map([], |row| {
        Ok(Event {
            sequence: row.get(0)?,
            command_id: row.get(1)?,
            at: row.get(2)?,
            kind: row.get(3)?,
            key: row.get(4)?,
            body: row.get(5)?,
            hash: row.get(6)?,
        })
    });
    let mut events = read.expect("events").map(|event| event.expect("an event")).peekable();
    let mut executions = db
        .prepare(
            "SELECT execution_key, intent_id, intent_revision, document FROM execution \
                  ORDER BY intent_revision",
        )
        .expect("prepared");
    let rows = executions.query_map([], |row| {
        let first = events.next().expect("an event");
        let mut own = vec![first];
        while let Some(next) = events.next_if(|event| event.command_id == own[0].command_id) {
            own.push(next);
        }
        Ok(Row {
            events: own,
            key: row.get(0)?,
            intent_id: row.get(1)?,
            revision: row.get(2)?,
            document: row.get(3)?,
            head: head.clone(),
        })
    });
    rows.expect("rows").map(|row| row.expect("a row")).collect()
}

/// The statements of a put that supersedes the one before, in the order of `ledger/`.
fn bare_loop(ledger: &Path, rows: &[Row]) {
    let db = Connection::open(ledger).expect("opens");
    db.execute_batch("PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 1048576;")
        .expect("set");
    let mut version = 1;
    let mut before: Option<(&Row, i64)> = None;
    for group in rows.chunks(GROUP) {
        run(&db, "BEGIN IMMEDIATE");
        let _: i64 = db
            .prepare_cached(
                "SELECT sequence, hash FROM event WHERE stream = ?1 \
                             ORDER BY sequence DESC LIMIT 1",
            )
            .and_then(|mut head| head.query_row(["service:web"], |row| row.get(0)))
            .expect("a head");
        for row in group {
            run(&db, "SAVEPOINT part");
            one_put(&db, row, &mut version, &mut before);
            run(&db, "RELEASE SAVEPOINT part");
        }
        run(&db, "COMMIT");
    }
}

fn run(db: &Connection, text: &str) {
    db.prepare_cached(text).and_then(|mut one| one.raw_execute()).expect("it runs");
}

/// Reads every column of every row, as whoever makes types of them must.
fn read(db: &Connection, text: &str, values: impl rusqlite::Params) -> usize {
    let mut one = db.prepare_cached(text).expect("prepared");
    let columns = one.column_count();
    let mut rows = one.query(values).expect("rows");
    let mut bytes = 0;
    while let Some(row) = rows.next().expect("a row") {
        for column in 0..columns {
            bytes +=
                row.get_ref(column).ok().and_then(|v| v.as_bytes().ok()).map_or(8, <[u8]>::len);
        }
    }
    bytes
}

fn one_put<'r>(
    db: &Connection,
    row: &'r Row,
    version: &mut i64,
    before: &mut Option<(&'r Row, i64)>,
) {
    read(db, "SELECT version, head FROM service WHERE name = ?1", ["web"]);
    let unfinished = format!(
        "{EXECUTION} WHERE service = ?1 AND unfinished = 1 AND live = 1 \
         ORDER BY intent_revision DESC, position DESC"
    );
    read(db, &unfinished, ["web"]);
    let by_key = format!("{EXECUTION} WHERE execution_key = ?1");
    // Whether the service has it, and whether another one does.
    read(db, &by_key, [&row.key]);
    read(db, &by_key, [&row.key]);
    let owner = "SELECT execution_key FROM execution WHERE intent_id = ?1 \
                 AND intent_revision = ?2 AND dry_run = 0";
    read(db, owner, params![row.intent_id, row.revision]);
    let document = "SELECT version, body FROM document WHERE kind = ?1 AND name = ?2";
    read(db, document, ["actuator", "none"]);
    let mut position: i64 = 0;
    for event in &row.events {
        position = db
            .prepare_cached(
                "INSERT INTO event (stream, sequence, command_id, at, kind, execution_key, body, \
                 hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING position",
            )
            .and_then(|mut insert| {
                let (sequence, id, at) = (event.sequence, &event.command_id, event.at);
                let rest = (&event.kind, &event.key, &event.body, &event.hash);
                let (kind, key, body, hash) = rest;
                insert.query_row(
                    params!["service:web", sequence, id, at, kind, key, body, hash],
                    |row| row.get(0),
                )
            })
            .expect("an event");
    }
    let sequence = row.events.last().map_or(0, |event| event.sequence);
    let text = "UPDATE service SET version = ?2, head = ?3 WHERE name = ?1 AND version = ?4";
    execute(db, text, params!["web", sequence, row.head, *version]);
    if let Some((old, old_version)) = before {
        let text = "UPDATE execution SET live = ?2, unfinished = ?3, state = ?4, version = ?5, \
                    document = ?6 WHERE execution_key = ?1 AND version = ?7 AND state = ?8";
        let first = row.events[0].sequence;
        let values =
            params![old.key, 1, 0, "superseded", first, old.document, *old_version, "accepted"];
        execute(db, text, values);
    }
    let text = "INSERT INTO execution (position, execution_key, service, intent_id, \
                intent_revision, dry_run, live, unfinished, state, version, document) \
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT DO NOTHING";
    let (key, id, revision) = (&row.key, &row.intent_id, row.revision);
    let document = &row.document;
    let values =
        params![position, key, "web", id, revision, 0, 1, 1, "accepted", sequence, document];
    execute(db, text, values);
    *version = sequence;
    *before = Some((row, sequence));
}

fn execute(db: &Connection, text: &str, values: impl rusqlite::Params) {
    let changed = db.prepare_cached(text).and_then(|mut one| one.execute(values));
    assert_eq!(changed, Ok(1), "{text}");
}
