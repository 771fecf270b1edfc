//! What the bars of docs/performance.md are measured against, with the SQLite of this program.
//!
//! One binary that `benches/cli.py` starts: a bare loop with the statements of a put, one process
//! that does just that, a journal that is written anew for every operation, a reader that hashes
//! every row, and the maker of large ledgers. Every word prints whole numbers and nothing else.

#![expect(clippy::disallowed_methods, reason = "a peer opens its own files and reads the time")]
#![expect(clippy::print_stdout, reason = "the numbers are its answer")]

mod grow;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, params};
use sha2::{Digest as _, Sha256};

type Done<T> = Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "peer once DB NUMBER | loop DB FIRST COUNT PER_COMMIT | journal FILE SIZE COUNT
     | read DB | grow LEDGER EVENTS SERVICES";

fn main() -> Done<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["once", db, number] => {
            let connection = open(Path::new(db))?;
            put(&connection, number.parse()?, 1)?;
            // As our commands do: the system gives back what is left.
            std::process::exit(0);
        }
        ["loop", db, first, count, per_commit] => {
            let (first, per_commit) = (first.parse::<i64>()?, per_commit.parse::<i64>()?);
            let (connection, count) = (open(Path::new(db))?, count.parse::<i64>()?);
            let begin = Instant::now();
            for number in (first..first + count).step_by(usize::try_from(per_commit)?) {
                put(&connection, number, per_commit.min(first + count - number))?;
            }
            println!("{}", begin.elapsed().as_nanos() / u128::try_from(count)?);
        }
        ["journal", file, size, count] => {
            println!("{}", journal(Path::new(file), size.parse()?, count.parse()?)?.as_nanos());
        }
        ["read", db] => {
            let begin = Instant::now();
            let connection = open(Path::new(db))?;
            let events = hash_events(&connection)?;
            let chains = begin.elapsed();
            hash_projections(&connection)?;
            println!("{events} {} {}", chains.as_nanos(), begin.elapsed().as_nanos());
        }
        ["grow", ledger, events, services] => {
            println!("{}", grow::grow(Path::new(ledger), events.parse()?, services.parse()?)?);
        }
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

/// A connection with the settings of a ledger's.
fn open(path: &Path) -> Done<Connection> {
    let connection = Connection::open(path)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 1048576;")?;
    Ok(connection)
}

/// As long as the JSON of a put: the event, the head of the service, the execution.
const LENGTHS: [usize; 3] = [2200, 2100, 3000];

/// The statements of `count` puts in one transaction, and nothing else: no rule, no policy, no
/// hash, no JSON. `bench` stands for the service, and is made by the first.
fn put(connection: &Connection, first: i64, count: i64) -> Done<()> {
    let texts = LENGTHS.map(|length| "x".repeat(length));
    let hash = [0_u8; 32];
    // What keeps the log short; one process after the other would let it grow for ever.
    let frames =
        connection.wal_checkpoint_v2(Some("main"), CheckpointMode::NOOP).map_or(0, |state| state.0);
    if frames > 128 {
        let _ = connection.wal_checkpoint_v2(Some("main"), CheckpointMode::PASSIVE);
    }
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    for number in first..first + count {
        let (key, command) = (format!("peer-{number}"), format!("cmd-peer-{number}"));
        read(connection, "SELECT version, head FROM service WHERE name = ?1", "bench")?;
        read(
            connection,
            "SELECT position, document FROM execution
             WHERE service = ?1 AND unfinished = 1 AND live = 1
             ORDER BY intent_revision DESC, position DESC",
            "bench",
        )?;
        read(
            connection,
            "SELECT position, document FROM execution WHERE execution_key = ?1",
            &key,
        )?;
        read(connection, "SELECT version, body FROM document WHERE kind = ?1", "actuator")?;
        read(
            connection,
            "SELECT sequence, hash FROM event WHERE stream = ?1
             ORDER BY sequence DESC LIMIT 1",
            "service:bench",
        )?;
        let position: i64 = connection
            .prepare_cached(
                "INSERT INTO event (stream, sequence, command_id, at, kind, execution_key, body,
                 hash) VALUES ('service:bench', ?1, ?2, 1, 'k', ?3, ?4, ?5) RETURNING position",
            )?
            .query_row(params![number, command, key, texts[0], hash], |row| row.get(0))?;
        connection
            .prepare_cached(
                "INSERT INTO service (name, version, head) VALUES ('bench', ?1, ?2)
                 ON CONFLICT (name) DO UPDATE SET version = excluded.version, head = excluded.head",
            )?
            .execute(params![number, texts[1]])?;
        connection
            .prepare_cached(
                "INSERT INTO execution (position, execution_key, service, intent_id,
                 intent_revision, dry_run, live, unfinished, state, version, document)
                 VALUES (?1, ?2, 'bench', ?2, ?3, 0, 1, 0, 'withdrawn', ?3, ?4)",
            )?
            .execute(params![position, key, number, texts[2]])?;
    }
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(())
}

fn read(connection: &Connection, text: &str, value: &str) -> Done<usize> {
    let mut statement = connection.prepare_cached(text)?;
    let mut rows = statement.query([value])?;
    let mut found = 0;
    while rows.next()?.is_some() {
        found += 1;
    }
    Ok(found)
}

/// The median time of `count` operations on a journal that holds `size` already: the state is in
/// memory, and every operation writes all of it to a new file, syncs that, and renames it.
fn journal(path: &Path, size: usize, count: usize) -> Done<Duration> {
    let receipt = |number: usize| {
        serde_json::json!({
            "operation_id": format!("operation-{number}"), "accepted": true,
            "requested_replicas": number % 9, "actual_replicas": number % 9,
            "revision": number, "message": "accepted", "unit": "web", "direction": "up",
        })
    };
    let mut receipts: Vec<serde_json::Value> = (0..size).map(receipt).collect();
    let mut times = Vec::new();
    for number in size..size + count {
        let begin = Instant::now();
        receipts.push(receipt(number));
        let mut whole = Vec::new();
        write!(whole, r#"{{"revision":{number},"targets":{{"web":{}}},"receipts":"#, number % 9)?;
        serde_json::to_writer(&mut whole, &receipts)?;
        whole.push(b'}');
        let draft = path.with_extension("tmp");
        let mut file = File::create(&draft)?;
        file.write_all(&whole)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        if let Some(directory) = path.parent() {
            File::open(directory)?.sync_all()?;
        }
        times.push(begin.elapsed());
    }
    times.sort();
    Ok(times[times.len() / 2])
}

/// Reads every event in the order of its chain and hashes what its link covers.
fn hash_events(connection: &Connection) -> Done<u64> {
    let mut statement = connection.prepare(
        "SELECT stream, sequence, command_id, body FROM event ORDER BY stream, sequence",
    )?;
    let mut rows = statement.query([])?;
    let (mut last, mut events) = ([0_u8; 32], 0);
    while let Some(row) = rows.next()? {
        let mut hasher = Sha256::new();
        hasher.update(last);
        for column in [0, 2, 3] {
            hasher.update(row.get_ref(column)?.as_str()?);
        }
        last = hasher.finalize().into();
        events += 1;
    }
    Ok(events)
}

/// Reads and hashes the rows that `verify` compares with the events.
fn hash_projections(connection: &Connection) -> Done<()> {
    for text in
        ["SELECT document FROM execution", "SELECT head FROM service", "SELECT body FROM document"]
    {
        let mut statement = connection.prepare(text)?;
        let mut rows = statement.query([])?;
        let mut hasher = Sha256::new();
        while let Some(row) = rows.next()? {
            hasher.update(row.get_ref(0)?.as_str()?);
        }
        std::hint::black_box(hasher.finalize());
    }
    Ok(())
}
