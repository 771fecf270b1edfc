//! A transfer and its verification against `cp -a` and the digests of both trees, in one run:
//! `target/release/examples/relocator target/release/scalectl [MEGABYTES]`.
//!
//! Both sides copy the same environment to the same disk, are synced, and read both trees with cold
//! caches where the system lets this process drop them. The order changes with each round. The
//! digests are those of `sha256sum`, and, where it is there, of `openssl`, which asks the
//! processor.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark measures and says"
)]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

const MEGABYTES: usize = 1024;
const ROUNDS: usize = 3;
const DIGESTS: [&str; 2] = ["sha256sum", "openssl dgst -sha256"];
/// One tenth of the bytes is small files, one tenth the database.
const SMALL_BYTES: usize = 16 * 1024;

fn main() {
    let mut words = std::env::args_os().skip(1);
    let binary = words.next().expect("usage: relocator PATH_OF_SCALECTL [MEGABYTES]");
    let megabytes = words.next().map_or(MEGABYTES, |word| {
        word.to_str().and_then(|word| word.parse().ok()).expect("a number of megabytes")
    });
    let (mut ours, mut copied) = ([Vec::new(), Vec::new()], Vec::new());
    let mut digested: Vec<Vec<Duration>> = vec![Vec::new(); DIGESTS.len()];
    for round in 0..ROUNDS {
        let dir = tempfile::Builder::new().tempdir_in("target").expect("a folder on the disk");
        let root = dir.path();
        lay_out(root, megabytes);
        let source = root.join("cells/a/shop/1-op1");
        let order = if round % 2 == 0 { [true, false] } else { [false, true] };
        for is_ours in order {
            drop_caches();
            if is_ours {
                for (times, op) in ours.iter_mut().zip(["transfer", "verify"]) {
                    let began = Instant::now();
                    call(Path::new(&binary), root, op);
                    times.push(began.elapsed());
                }
            } else {
                let target = root.join("plain");
                copied.push(copy(&source, &target));
                for (times, digest) in digested.iter_mut().zip(DIGESTS) {
                    times.extend(read_both(&source, &target, digest));
                }
            }
        }
    }
    println!("{megabytes} MB, best of {ROUNDS}:");
    let ours = ours.map(|times| best(&times));
    println!("  transfer {:.2} s, verify {:.2} s", ours[0].as_secs_f64(), ours[1].as_secs_f64());
    println!("  cp -a, sync {:.2} s", best(&copied).as_secs_f64());
    for (times, digest) in digested.iter().zip(DIGESTS).filter(|(times, _)| !times.is_empty()) {
        let ours = (ours[0] + ours[1]).as_secs_f64();
        let digested = best(times);
        let ratio = ours / (best(&copied) + digested).as_secs_f64();
        println!("  2 x {digest} {:.2} s: ratio {ratio:.2}", digested.as_secs_f64());
    }
}

fn best(times: &[Duration]) -> Duration {
    *times.iter().min().expect("a round")
}

/// An environment that is drained of nothing and fenced.
fn lay_out(root: &Path, megabytes: usize) {
    let copy = root.join("cells/a/shop/1-op1");
    for folder in ["application", "artifacts", "workspace"] {
        fs::create_dir_all(copy.join(folder)).expect("made");
    }
    for cell in ["a", "b"] {
        let folder = root.join("cells").join(cell);
        fs::create_dir_all(&folder).expect("made");
        fs::write(folder.join("limit.json"), r#"{"storage_bytes": 1000000000000}"#).expect("made");
    }
    fs::write(copy.join("credentials.json"), r#"{"references": []}"#).expect("made");
    fs::write(copy.join("subjects.json"), r#"{"subjects": []}"#).expect("made");
    fs::write(copy.join("workspace.json"), r#"{"state": "stopped"}"#).expect("made");
    let piece: Vec<u8> =
        (0..1 << 20).map(|at: u32| at.wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect();
    for number in 0..megabytes * 8 / 10 / 64 {
        let mut file = File::create(copy.join("artifacts").join(number.to_string())).expect("made");
        for part in 0..64_usize {
            file.write_all(&number.to_le_bytes()).expect("written");
            file.write_all(&part.to_le_bytes()).expect("written");
            file.write_all(&piece[16..]).expect("written");
        }
    }
    for number in 0..(megabytes << 20) / 10 / SMALL_BYTES {
        let folder = copy.join("workspace").join((number % 100).to_string());
        fs::create_dir_all(&folder).expect("made");
        fs::write(folder.join(number.to_string()), &piece[number..number + SMALL_BYTES])
            .expect("made");
    }
    let database = Connection::open(copy.join("database.sqlite")).expect("opened");
    database
        .execute_batch(
            "PRAGMA journal_mode = WAL; CREATE TABLE entry (number INTEGER PRIMARY KEY, text);",
        )
        .expect("made");
    database.execute_batch("BEGIN").expect("begun");
    for number in 0..(megabytes << 20) / 10 / 1000 {
        let text = &piece[number % 1000..number % 1000 + 1000];
        database.execute("INSERT INTO entry (text) VALUES (?1)", [text]).expect("written");
    }
    database.execute_batch("COMMIT").expect("written");
    drop(database);
    let binary = std::env::args_os().nth(1).expect("given");
    call(Path::new(&binary), root, "fence");
}

fn call(binary: &Path, root: &Path, op: &str) {
    let place = |cell: &str, generation: &str| json!({"cell": cell, "generation": generation});
    let request = json!({
        "protocol": "scalectl.relocator/1", "op": op, "call_id": "c", "deadline_ms": 600_000,
        "environment": "shop", "operation": "op2", "token": 1, "epoch": 1,
        "source": place("a", "1-op1"), "target": place("b", "2-op2"),
    });
    let mut child = Command::new(binary)
        .args(["relocator", "run", "local", "--root"])
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("piped").write_all(request.to_string().as_bytes()).expect("read");
    let output = child.wait_with_output().expect("it ends");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("an answer");
    assert_eq!(answer["ok"], true, "{answer}");
}

/// What a careful person does by hand: copy and sync, then read both trees without the caches.
fn copy(source: &Path, target: &Path) -> Duration {
    let began = Instant::now();
    run(Command::new("cp").arg("-a").arg(source).arg(target));
    run(Command::new("sync").arg("-f").arg(target));
    began.elapsed()
}

/// None where there is no such program.
fn read_both(source: &Path, target: &Path, digest: &str) -> Option<Duration> {
    let program = digest.split(' ').next().unwrap_or(digest);
    let asked = Command::new("sh").args(["-c", "command -v \"$0\" > /dev/null", program]).status();
    if !asked.expect("it runs").success() {
        return None;
    }
    drop_caches();
    let began = Instant::now();
    for tree in [source, target] {
        let line = format!("find . -type f -print0 | xargs -0 {digest} > /dev/null");
        run(Command::new("sh").args(["-c", &line]).current_dir(tree));
    }
    Some(began.elapsed())
}

fn run(line: &mut Command) {
    assert!(line.status().expect("it runs").success(), "{line:?}");
}

/// Where that is not allowed, both sides have warm caches.
fn drop_caches() {
    run(&mut Command::new("sync"));
    let _ = fs::write("/proc/sys/vm/drop_caches", "1");
}
