//! Ledgers that were damaged by a byte, a page or a cut: a named error, a finding, or the sound
//! answer; never a panic, and never another answer beside a clean `verify`.
//!
//! A log (`-wal`) is the one exception that SQLite makes: from a damaged frame on it is as if it
//! had never been written. What is left is an earlier state of the same ledger, which only heads
//! that were kept elsewhere tell from the newest (`verify --since`); that they do is held here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use scalectl::domain::scale::event::{Event, EventBody};
use scalectl::domain::time::DurationMs;
use scalectl::ledger::{
    Depth, EventFilter, ExecutionFilter, Head, Ledger, LedgerError, Location, OpenOptions, Reach,
    ReadTxn, StoredEvent,
};
use serde_json::Value;
use tempfile::TempDir;

use super::damage::{Files, damages};
use crate::support::World;

const THREADS: usize = 2;
/// What a reading says: the answer as text, or the word of its error.
type Said = Result<String, &'static str>;

fn said<T: std::fmt::Debug>(read: Result<T, LedgerError>) -> Said {
    read.map(|value| format!("{value:?}")).map_err(|error| named(&error))
}

/// The word of an error. Each has one, and a text that says what was being done to what.
fn named(error: &LedgerError) -> &'static str {
    let (code, text) = (error.code(), error.to_string());
    assert!(code.starts_with("ledger_") && text.len() > code.len(), "{code}: {text}");
    code
}

/// What `status`, `intent show`, `explain` and the rest read.
fn reads(txn: &ReadTxn<'_>) -> BTreeMap<&'static str, Said> {
    let heads = txn.service_heads();
    let names: Vec<_> = heads.iter().flatten().map(|(name, _)| name.clone()).collect();
    let states: Result<Vec<_>, _> = names.iter().map(|name| txn.service_state(name, &[])).collect();
    let all = ExecutionFilter::default();
    let unfinished = ExecutionFilter { unfinished: true, ..all.clone() };
    let of_services: Result<Vec<_>, _> = names
        .iter()
        .map(|name| txn.executions(&ExecutionFilter { service: Some(name.clone()), ..all.clone() }))
        .collect();
    let executions = txn.executions(&all);
    let keys: Vec<_> = executions.iter().flatten().map(|it| it.key().clone()).collect();
    let shown: Result<Vec<_>, _> = keys.iter().map(|key| txn.find_execution(key)).collect();
    [
        ("services", said(heads)),
        ("states", said(states)),
        ("executions", said(executions)),
        ("unfinished", said(txn.executions(&unfinished))),
        ("of services", said(of_services)),
        ("shown", said(shown)),
        ("actuators", said(txn.actuators())),
        ("policy", said(txn.policy())),
        ("policies", said(txn.policy_history())),
        ("chains", said(txn.stream_heads())),
    ]
    .into()
}

/// A ledger before it was damaged.
struct Sound {
    files: Files,
    reads: BTreeMap<&'static str, Said>,
    events: Vec<StoredEvent>,
    heads: Vec<Head>,
}

fn open(folder: &Path) -> Result<Ledger, LedgerError> {
    let options = OpenOptions { lock_timeout: DurationMs::from_secs(30), ..OpenOptions::default() };
    Ledger::open(&Location::File(folder.join("ledger.db")), options)
}

impl Sound {
    fn of(files: Files) -> Self {
        let home = tempfile::tempdir().expect("a directory");
        files.put(home.path());
        let mut ledger = open(home.path()).expect("it is sound");
        let txn = ledger.read().expect("it reads");
        let found = txn.verify(&[], Depth::Quick).expect("verified");
        assert!(found.is_sound(), "{:?}", found.findings);
        let reads = reads(&txn);
        assert!(reads.values().all(Result::is_ok), "{reads:?}");
        let events = txn.events(&EventFilter::default()).expect("events");
        Self { files, reads, events, heads: found.heads }
    }
}

/// What came of one damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Came {
    /// It was not opened, with a word.
    Refused,
    /// `verify` has a finding.
    Found,
    /// Everything is as in the sound one.
    Harmless,
    /// An earlier state, which kept heads tell.
    Cut,
}

fn judge(sound: &Sound, folder: &Path, writes: bool) -> Result<Came, String> {
    let mut ledger = match open(folder) {
        Ok(ledger) => ledger,
        Err(error) => return Ok(named_refusal(&error)),
    };
    let came = {
        let txn = match ledger.read() {
            Ok(txn) => txn,
            Err(error) => return Ok(named_refusal(&error)),
        };
        let reads = reads(&txn);
        let events = txn.events(&EventFilter::default());
        let verify = |heads: &[Head]| txn.verify(heads, Depth::Quick);
        match verify(&[]) {
            Err(error) => named_refusal(&error),
            Ok(found) if !found.is_sound() => Came::Found,
            Ok(_) => judge_clean(sound, &reads, &events, || {
                verify(&sound.heads).is_ok_and(|found| !found.is_sound())
            })?,
        }
    };
    if writes {
        write(&mut ledger);
    }
    Ok(came)
}

fn named_refusal(error: &LedgerError) -> Came {
    named(error);
    Came::Refused
}

/// `verify` has said that everything is as it should be.
fn judge_clean(
    sound: &Sound,
    reads: &BTreeMap<&'static str, Said>,
    events: &Result<Vec<StoredEvent>, LedgerError>,
    is_told_by_heads: impl Fn() -> bool,
) -> Result<Came, String> {
    let is_cut = match events {
        Ok(events) if *events != sound.events => {
            if !sound.events.starts_with(events) {
                return Err("another history, and verify is clean".to_owned());
            }
            true
        }
        Ok(_) => false,
        Err(error) => return Err(format!("verify is clean, and the log is refused: {error}")),
    };
    if is_cut {
        return if is_told_by_heads() {
            Ok(Came::Cut)
        } else {
            Err("a history that was cut off, and kept heads do not tell".to_owned())
        };
    }
    for (what, said) in reads {
        if said.is_ok() && *said != sound.reads[what] {
            return Err(format!("{what}: {said:?}, and verify is clean"));
        }
    }
    Ok(Came::Harmless)
}

/// One more event for every service, or an error. Never a panic.
fn write(ledger: &mut Ledger) {
    let names = ledger.read().and_then(|read| read.service_names()).unwrap_or_default();
    let command_id = "command-fuzz".parse().expect("an identifier");
    let Ok(mut txn) = ledger.write(command_id, Reach::services(&names)) else { return };
    for name in names {
        let Ok(state) = txn.service_state(&name, &[]) else { continue };
        let Some(binding) = state.head.binding.clone() else { continue };
        let event = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(BOUND)).expect("a fixture");
        let mut event: Event = serde_json::from_slice(&event).expect("an event");
        event.body = EventBody::TargetBound { binding };
        if txn.append(&name, state, &[event]).is_err() {
            return;
        }
    }
    let _ = txn.commit();
}

const BOUND: &str = "fixtures/events/target_bound.json";

fn hold(what: &str, files: Files) -> BTreeMap<Came, usize> {
    let sound = Sound::of(files);
    let damages = damages(&sound.files);
    let (came, wrong) = (Mutex::new(BTreeMap::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (sound, damages, came, wrong) = (&sound, &damages, &came, &wrong);
            scope.spawn(move || {
                let home: TempDir = tempfile::tempdir().expect("a directory");
                for (index, damage) in damages.iter().enumerate().skip(thread).step_by(THREADS) {
                    damage.done_to(&sound.files).put(home.path());
                    let judged = std::panic::catch_unwind(|| {
                        judge(sound, home.path(), index % 16 == thread)
                    });
                    match judged {
                        Ok(Ok(how)) => *came.lock().expect("no panic").entry(how).or_default() += 1,
                        Ok(Err(problem)) => {
                            wrong
                                .lock()
                                .expect("no panic")
                                .push(format!("{damage:?}: {problem:.900}"));
                        }
                        Err(_) => {
                            wrong.lock().expect("no panic").push(format!("{damage:?}: a panic"));
                        }
                    }
                }
            });
        }
    });
    let (came, wrong) = (came.into_inner().expect("ended"), wrong.into_inner().expect("ended"));
    #[expect(clippy::print_stdout, reason = "a run says what it has done")]
    {
        println!("{what}: {} damages: {came:?}", damages.len());
    }
    assert!(wrong.is_empty(), "{what}: {} of {}\n{}", wrong.len(), damages.len(), wrong.join("\n"));
    came
}

fn whole() -> Files {
    Files::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/ledgers/v2.db"))
}

/// A ledger in the middle of its life, most of it still in its log.
fn rich() -> (World, Files) {
    let world = World::with_fake();
    world.script(&["ok", "fail retryable busy", "ok", "unknown"]);
    for line in [
        "intent put web --replicas 3 --expect-revision 0 --key k1 --reason first",
        "actuate k1",
        "observe k1",
        "intent put web --replicas 11 --key k9 --reason too-many",
        "intent put web --replicas 4 --expect-revision 1 --key k2 --reason second",
        "actuate k2",
        "actuate k2",
        "observe k2",
        "intent put web --replicas 5 --expect-revision 2 --key k3 --reason third",
        "actuate k3",
        "intent put web --replicas 6 --expect-revision 3 --key k4 --reason fourth --queue",
    ] {
        world.run(line);
    }
    assert_eq!(world.json("intent show k3").at("/execution/state"), "recovery_pending");
    let files = Files::of(&world.ledger());
    assert!(!files.log.is_empty(), "it has a log");
    (world, files)
}

#[test]
fn damage_to_a_whole_ledger_is_found_or_harmless() {
    crate::support::postgres::sqlite_only!("it is about the file of the ledger");
    let came = hold("v2.db", whole());
    let count = |how| came.get(&how).copied().unwrap_or(0);
    assert!(count(Came::Refused) > 30 && count(Came::Found) > 70, "no teeth: {came:?}");
    assert!(count(Came::Harmless) > 50, "free space is harmless: {came:?}");
    assert_eq!(count(Came::Cut), 0, "without a log nothing is cut off unseen");
}

#[test]
fn damage_to_a_ledger_with_its_log_is_found_or_cuts_it_off() {
    crate::support::postgres::sqlite_only!("it is about the file of the ledger");
    let came = hold("a ledger with its log", rich().1);
    let count = |how| came.get(&how).copied().unwrap_or(0);
    assert!(count(Came::Cut) > 20, "no teeth: {came:?}");
}

/// What a reading of the binary says, without what differs between runs.
fn told(world: &World, line: &str) -> (Option<i32>, Value) {
    let ran = world.json(line);
    let is_known = ran.code.is_some_and(|code| (0..=26).contains(&code) && code != 1);
    assert!(is_known && !ran.stderr.contains("panicked"), "{ran:#?}");
    let mut said = ran.json();
    if let Some(members) = said.as_object_mut() {
        members.remove("warnings");
    }
    (ran.code, said)
}

const READINGS: [&str; 4] = ["status", "intent show k2", "explain web", "log --limit 1000"];
const WRITES: [&str; 3] = [
    "intent put web --replicas 7 --key k7 --reason x --queue",
    "scale web=2 --reason x --timeout 2s",
    "replay --all",
];

#[test]
fn a_damaged_ledger_ends_each_command_with_a_word_or_the_sound_answer() {
    crate::support::postgres::sqlite_only!("it is about the file of the ledger");
    let (mut world, _) = rich();
    world.still("2030-01-01T12:00:00Z");
    let database = rusqlite::Connection::open(world.ledger()).expect("a database");
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("all in one file");
    drop(database);
    let sound = Files::of(&world.ledger());
    let answers = READINGS.map(|line| told(&world, line));
    assert!(answers.iter().all(|(code, _)| *code == Some(0)), "{answers:?}");
    let (mut clean, mut worded) = (0, 0);
    for damage in damages(&sound).iter().step_by(37) {
        damage.done_to(&sound).put(world.ledger().parent().expect("a folder"));
        let (verified, _) = told(&world, "verify");
        assert!(verified == Some(0) || verified == Some(21), "{damage:?}: {verified:?}");
        for (line, answer) in READINGS.iter().zip(&answers) {
            let found = told(&world, line);
            if verified == Some(0) && found.0 == Some(0) {
                assert_eq!(found, *answer, "{damage:?}: {line}");
            }
            worded += usize::from(found.0 == Some(21));
        }
        clean += usize::from(verified == Some(0));
        for line in WRITES {
            told(&world, line);
        }
    }
    assert!(clean > 0 && worded > 0, "{clean} clean, {worded} words: no teeth");
}
