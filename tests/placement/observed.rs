//! A move as it is seen from outside, while its worker and its calls are killed: somebody who only
//! reads the route and the fences of all copies, and two who write, one by the route and one past
//! it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use scalectl::crash::{CrashPoint, RelocatorPoint};
use serde_json::Value;

use super::program::Placed;

/// What is seen and done from outside.
struct Outside {
    root: PathBuf,
    is_over: AtomicBool,
    looks: AtomicU64,
    /// What was wrong at an instant.
    wrong: Mutex<Vec<String>>,
    /// The rows that were acknowledged.
    rows: Mutex<BTreeSet<i64>>,
    refused: AtomicU64,
}

/// The copies that have a name and a database, the newest first.
fn copies(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for cell in ["a", "b"] {
        let copies = fs::read_dir(root.join("cells").join(cell).join("shop"));
        let names = copies.into_iter().flatten().flatten().map(|entry| entry.path());
        found.extend(names.filter(|copy| epoch_of(copy) > 0));
    }
    found.sort_by_key(|copy| std::cmp::Reverse(epoch_of(copy)));
    found.retain(|copy| copy.join("database.sqlite").exists());
    found
}

fn epoch_of(copy: &Path) -> u64 {
    let name = copy.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.split_once('-').and_then(|(epoch, _)| epoch.parse().ok()).unwrap_or(0)
}

/// Whether a copy takes writes, by the row that guards them; not known where it has just gone.
fn takes_writes(copy: &Path) -> Option<bool> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = Connection::open_with_flags(copy.join("database.sqlite"), flags).ok()?;
    let state = "SELECT state FROM scalectl_fence WHERE one = 1";
    match open.query_row(state, [], |row| row.get::<_, String>(0)) {
        Ok(state) => Some(state == "open"),
        Err(error) if error.to_string().contains("no such table") => Some(true),
        Err(_) => None,
    }
}

impl Outside {
    fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            is_over: AtomicBool::new(false),
            looks: AtomicU64::new(0),
            wrong: Mutex::default(),
            rows: Mutex::default(),
            refused: AtomicU64::new(0),
        }
    }

    /// One look. The newest copy is looked at first, the route after it: what was open in a newer
    /// one before must be closed in an older one by now, and the route led away from that.
    fn look(&self) {
        let copies = copies(&self.root);
        let open: Vec<&PathBuf> =
            copies.iter().filter(|copy| takes_writes(copy) == Some(true)).collect();
        let mut wrong = Vec::new();
        if open.len() > 1 {
            wrong.push(format!("two take writes: {open:?}"));
        }
        let text = fs::read_to_string(self.root.join("routes/shop.json")).expect("a route");
        let route: Value = serde_json::from_str(&text).expect("a whole document at any instant");
        if let Some(generation) = route["generation"].as_str() {
            let cell = route["cell"].as_str().expect("a cell");
            let copy = self.root.join("cells").join(cell).join("shop").join(generation);
            if epoch_of(&copy) > 1 && !copy.join("verified.json").exists() && copy.exists() {
                wrong.push(format!("a route to what was not read back: {route}"));
            }
            if open.first().is_some_and(|newest| epoch_of(newest) > epoch_of(&copy)) {
                wrong.push(format!("a route to {} beside {open:?}", copy.display()));
            }
        }
        self.looks.fetch_add(1, Ordering::Relaxed);
        self.wrong.lock().expect("no panic").extend(wrong);
    }

    /// A row for a copy; it is acknowledged, or the copy does not take it.
    fn write(&self, copy: &Path, number: i64) {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let Ok(open) = Connection::open_with_flags(copy.join("database.sqlite"), flags) else {
            return;
        };
        if open.execute("INSERT INTO entry VALUES (?1)", [number]).is_ok() {
            self.rows.lock().expect("no panic").insert(number);
        } else {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Requests as they are accepted: under the shared lock, by the route.
    fn write_by_route(&self) {
        let lock = self.root.join("sessions/shop/accepted.lock");
        fs::create_dir_all(lock.parent().expect("below")).expect("made");
        let lock = fs::OpenOptions::new().create(true).append(true).open(lock).expect("a lock");
        for number in (1_000_000..).take_while(|_| !self.is_over.load(Ordering::Relaxed)) {
            rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockShared).expect("shared");
            let text = fs::read_to_string(self.root.join("routes/shop.json")).expect("a route");
            let route: Value = serde_json::from_str(&text).expect("a document");
            if let (Some(cell), Some(name)) = (route["cell"].as_str(), route["generation"].as_str())
            {
                self.write(&self.root.join("cells").join(cell).join("shop").join(name), number);
            }
            rustix::fs::flock(&lock, rustix::fs::FlockOperation::Unlock).expect("given back");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Somebody who asks no route: whatever copy is there is written to.
    fn write_past_it(&self) {
        let mut number = 2_000_000;
        while !self.is_over.load(Ordering::Relaxed) {
            for copy in copies(&self.root) {
                number += 1;
                // What is fenced is left alone for the most part: a writer that is refused still
                // takes the lock that the copying waits for.
                if takes_writes(&copy) == Some(true) {
                    self.write(&copy, number);
                }
            }
            thread::sleep(Duration::from_millis(15));
        }
    }

    fn beside(&self, work: impl FnOnce()) {
        thread::scope(|scope| {
            scope.spawn(|| self.write_by_route());
            scope.spawn(|| self.write_past_it());
            scope.spawn(|| {
                while !self.is_over.load(Ordering::Relaxed) {
                    self.look();
                    thread::sleep(Duration::from_millis(1));
                }
            });
            let over = Over(&self.is_over);
            work();
            drop(over);
        });
        let wrong = self.wrong.lock().expect("no panic");
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    /// Every row that was acknowledged is in the copy that serves at the end.
    fn rows_are_in(&self, copy: &Path) -> usize {
        let open = Connection::open(copy.join("database.sqlite")).expect("it is there");
        let mut statement = open.prepare("SELECT number FROM entry").expect("a table");
        let rows = statement.query_map([], |row| row.get::<_, i64>(0)).expect("rows");
        let found: BTreeSet<i64> = rows.collect::<Result<_, _>>().expect("numbers");
        let rows = self.rows.lock().expect("no panic");
        let lost: Vec<&i64> = rows.difference(&found).collect();
        assert!(lost.is_empty(), "acknowledged, and not there: {lost:?}");
        rows.len()
    }
}

/// Tells the others that it is over, also where the test has failed.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The next move, to the cell that it is not in: its operation.
fn next_move(placed: &Placed, number: usize) -> String {
    let to = if placed.shop()["effective_cell"] == "a" { "us" } else { "eu" };
    placed.change(&format!("--location {to} --key k{number}")).exits(0);
    placed.shop()["operation"].as_str().expect("an operation").to_owned()
}

fn served(placed: &Placed) -> PathBuf {
    let shop = placed.shop();
    let word = |name: &str| shop[name].as_str().expect("a word").to_owned();
    placed.root.join("cells").join(word("effective_cell")).join("shop").join(word("generation"))
}

/// Moves on, killed at a boundary; whether there was that.
fn dies_at(placed: &mut Placed, number: usize, point: CrashPoint, nth: usize) -> bool {
    let id = next_move(placed, number);
    let mark = placed.world.path("mark");
    let _ = fs::remove_file(&mark);
    placed.world.set("SCALECTL_TEST_CRASH", format!("{}#{nth}", point.as_str()));
    placed.world.set("SCALECTL_TEST_CRASH_MARK", mark.to_str().expect("UTF-8"));
    let ran = placed.world.run(&format!("operation run {id}"));
    placed.world.unset("SCALECTL_TEST_CRASH");
    placed.world.unset("SCALECTL_TEST_CRASH_MARK");
    assert!(matches!(ran.code, None | Some(0)), "{} {nth}: {ran:#?}", point.as_str());
    assert!(ran.code == Some(0) || mark.exists(), "it died elsewhere: {ran:#?}");
    placed.world.run(&format!("operation run {id}")).exits(0);
    mark.exists()
}

/// What every call of a move passes, and the worker itself between them.
fn walked(points: &[CrashPoint], least: usize) {
    let mut placed = Placed::new();
    let outside = Outside::new(&placed.root);
    let mut deaths = 0;
    outside.beside(|| {
        let mut number = 0;
        for point in points {
            for nth in 1.. {
                number += 1;
                if !dies_at(&mut placed, number, *point, nth) {
                    break;
                }
                deaths += 1;
            }
        }
    });
    assert!(deaths >= least, "only {deaths} died");
    assert!(outside.looks.load(Ordering::Relaxed) > 200);
    assert!(outside.rows_are_in(&served(&placed)) > 100);
    assert!(outside.refused.load(Ordering::Relaxed) > 0, "no write has met a fence");
    placed.world.run("verify").exits(0);
}

#[test]
fn killed_beside_every_call_one_copy_takes_writes_and_no_row_is_lost() {
    walked(&[CrashPoint::AfterSpawn, CrashPoint::AfterAnswer], 14);
}

#[test]
fn killed_at_every_commit_one_copy_takes_writes_and_no_row_is_lost() {
    walked(&[CrashPoint::BeforeCommit, CrashPoint::AfterCommit], 32);
}

#[test]
fn killed_inside_every_call_one_copy_takes_writes_and_no_row_is_lost() {
    let placed = Placed::new();
    let outside = Outside::new(&placed.root);
    let armed = placed.world.path("armed");
    let mark = placed.world.path("mark");
    let words = format!(
        "if [ -e '{armed}' ] && [ ! -e '{mark}' ]; then \
         export SCALECTL_TEST_CRASH=$(cat '{armed}') SCALECTL_TEST_CRASH_MARK='{mark}'; fi; \
         exec '{}' relocator run local --root '{}'",
        crate::support::SCALECTL,
        placed.root.display(),
        armed = armed.display(),
        mark = mark.display(),
    );
    placed.world.run_args(&["relocator", "bind", "mover", "--", "/bin/sh", "-c", &words]).exits(0);
    outside.beside(|| {
        for (number, point) in RelocatorPoint::ALL.into_iter().enumerate() {
            let id = next_move(&placed, number);
            let _ = fs::remove_file(&mark);
            fs::write(&armed, format!("{}#1", point.as_str())).expect("armed");
            placed.world.run(&format!("operation run {id}")).exits(0);
            let died_at = fs::read_to_string(&mark).unwrap_or_default();
            assert!(died_at.contains(point.as_str()), "{} was not reached", point.as_str());
        }
    });
    assert!(outside.rows_are_in(&served(&placed)) > 50);
    placed.world.run("verify").exits(0);
}
