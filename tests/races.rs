//! Many processes at once on one ledger, and processes that are killed at any moment.
//!
//! Contenders wait for one instant: each reads a pipe that all share, and goes on when it is
//! closed. Before, the test takes the ledger's write lock, and gives it back only once every
//! contender is at the ledger. So all of them are under way before any of them has written, and
//! from there on the ledger's lock and the scheduler decide.

mod calls;
mod gateway;
mod kills;
mod placement;
mod puts;

use std::io::PipeWriter;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::support::{Ran, SCALECTL, World};

/// How many contend.
const CONTENDERS: usize = 64;

/// The first word of a line that says nothing of a lock timeout.
const USUAL: &str = "usual";

/// One contender is ready, waits for the end of the pipe, and becomes the command: its pid stays.
const WAIT: &str = "echo >>\"$1\"; shift; read -r _; exec \"$@\" </dev/null";

/// A contender that has ended.
struct Contender {
    pid: u32,
    ran: Ran,
}

impl Contender {
    fn code(&self) -> Option<i32> {
        self.ran.code
    }

    fn at(&self, pointer: &str) -> Value {
        self.ran.at(pointer)
    }
}

/// Those that exited so.
fn with_code(all: &[Contender], code: i32) -> Vec<&Contender> {
    all.iter().filter(|one| one.code() == Some(code)).collect()
}

/// The one that exited so and wrote, where only one may have.
#[track_caller]
fn only_writer(all: &[Contender]) -> &Contender {
    let writers: Vec<&Contender> = all.iter().filter(|one| one.at("/recorded") == "yes").collect();
    assert_eq!(writers.len(), 1, "{:#?}", writers.iter().map(|one| &one.ran).collect::<Vec<_>>());
    writers[0]
}

/// The contenders of one race. None of them outlives it.
struct Grid {
    gate: Option<PipeWriter>,
    children: Vec<(Child, String)>,
}

impl Grid {
    /// Starts the contenders, and waits until each of them waits.
    fn new(world: &World, lines: &[String]) -> Self {
        let ready = world.path("ready");
        let _ = std::fs::remove_file(&ready);
        let (reader, gate) = std::io::pipe().expect("a pipe");
        let mut grid = Self { gate: Some(gate), children: Vec::new() };
        for line in lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            let mut command = waiting(world, &ready, &words);
            command.stdin(reader.try_clone().expect("a descriptor"));
            grid.children.push((command.spawn().expect("it starts"), line.clone()));
        }
        world.until("all contenders wait", || {
            std::fs::read(&ready).unwrap_or_default().len() == lines.len()
        });
        grid
    }

    fn open(&mut self) {
        self.gate = None;
    }

    /// How many have the ledger open; on PostgreSQL, how many wait for the lock of the test.
    fn arrived(&self, world: &World) -> usize {
        if world.is_on_postgres() {
            return world.schema().waiting_for("registry");
        }
        let ledger = world.ledger();
        let has_it = |child: &Child| {
            let open = std::fs::read_dir(format!("/proc/{}/fd", child.id()));
            open.into_iter()
                .flatten()
                .flatten()
                .any(|fd| std::fs::read_link(fd.path()).is_ok_and(|target| target == ledger))
        };
        self.children.iter().filter(|(child, _)| has_it(child)).count()
    }

    fn has_ended(&mut self) -> bool {
        self.children.iter_mut().any(|(child, _)| !matches!(child.try_wait(), Ok(None)))
    }

    fn finish(mut self) -> Vec<Contender> {
        let children = std::mem::take(&mut self.children);
        let ends = children.into_iter().map(|(child, line)| {
            let pid = child.id();
            let output = child.wait_with_output().expect("it ends");
            let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
            let (stdout, stderr) = (text(output.stdout), text(output.stderr));
            Contender { pid, ran: Ran { line, code: output.status.code(), stdout, stderr } }
        });
        ends.collect()
    }
}

impl Drop for Grid {
    fn drop(&mut self) {
        for (child, _) in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The command of a contender, in the environment of the world.
fn waiting(world: &World, ready: &Path, words: &[&str]) -> Command {
    let (timeout, words): (&[&str], _) = match words {
        [USUAL, words @ ..] => (&[], words),
        // Longer than usual, because the test holds the lock until the last contender has come.
        words => (&["--lock-timeout", "15s"], words),
    };
    let meant = world.command(words);
    let mut command = Command::new("/bin/sh");
    command.args(["-c", WAIT, "sh"]).arg(ready).arg(SCALECTL);
    command.args(["-o", "json"]).args(timeout).args(words);
    command
        .env_clear()
        .envs(meant.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(meant.get_current_dir().expect("a world has a HOME"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Races take each other's processors, and a lock that is waited for has its time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs lines at once, in JSON, and answers how each came out. Nobody may have met a busy ledger,
/// and the ledger is sound afterwards.
fn race(world: &World, lines: &[String]) -> Vec<Contender> {
    let mut grid = Grid::new(world, lines);
    let lock = world.lock();
    grid.open();
    let mut arrived = 0;
    world.until("all contenders are at the ledger", || {
        arrived = grid.arrived(world);
        arrived == lines.len() || grid.has_ended()
    });
    drop(lock);
    let ended = end(world, grid);
    // While the lock was held nobody can have come to an end.
    assert_eq!(arrived, lines.len(), "they were not under way at once");
    ended
}

/// Runs lines at once beside a command, as soon as that one has come to a place. Answers how that
/// one came out, too.
fn race_beside(
    world: &World,
    line: &str,
    has_come: impl FnMut() -> bool,
    lines: &[String],
) -> (Contender, Vec<Contender>) {
    let mut grid = Grid::new(world, lines);
    let mut first = Grid::new(world, &[line.to_owned()]);
    first.open();
    world.until("the first has come to its place", has_come);
    grid.open();
    let ended = end(world, grid);
    let first = end(world, first).pop().expect("one");
    (first, ended)
}

fn end(world: &World, grid: Grid) -> Vec<Contender> {
    let ended = grid.finish();
    for one in &ended {
        assert_ne!(one.code(), Some(20), "it met a busy ledger: {:#?}", one.ran);
        assert!(one.code().is_some(), "it was killed: {:#?}", one.ran);
    }
    world.run("verify").exits(0);
    ended
}

/// The events of a world after so many, refusals included.
fn events_after(world: &World, position: usize) -> Vec<Value> {
    let log = world.json(&format!("log --after {position} --limit 100000")).exits(0);
    log.at("/events").as_array().expect("a list").clone()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().expect("a kind")).collect()
}
