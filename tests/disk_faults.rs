//! The disk fails, fills up, or loses what it had not yet acknowledged; what was said holds.
//!
//! A shim before the system's calls (`shim.c`) stands in for the disk.

mod disk;
mod places;
mod power;
mod scenario;
mod shim;
mod sweep;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::crash::{in_parallel, told};
use super::support::World;
use disk::Keep;
use power::{Cut, Film};
use shim::{Op, Shim};
use sweep::{Fault, Rehearsed, kinds, rehearse};

/// Every so many faults are tried, and so many of those that meet a draft of a ledger.
const STRIDE: usize = 101;
const DRAFT_STRIDE: usize = 97;
/// The power fails after every so many operations.
const CUT_STRIDE: usize = 23;
/// Every so many of the worlds after a cut are gone on with.
const GO_ON_STRIDE: usize = 6;

/// Whether every operation meets every fault, which takes many minutes.
fn is_full() -> bool {
    std::env::var("SCALECTL_DISK_FAULTS").is_ok_and(|which| which == "all")
}

/// Every fault of every line, or enough of them to meet every kind in every line.
fn faults(rehearsed: &[Rehearsed]) -> Vec<Fault> {
    let all = rehearsed.iter().enumerate().flat_map(|(line, rehearsed)| {
        let of = move |op: &Op| {
            let op = op.clone();
            kinds(op.class).iter().map(move |kind| Fault { line, kind, op: op.clone() })
        };
        rehearsed.ops.iter().flat_map(of)
    });
    if is_full() {
        return all.collect();
    }
    let mut met = BTreeSet::new();
    let mut count = 0;
    let is_sampled = |fault: &Fault| {
        count += 1;
        let (class, file) = (fault.op.class, fault.op.file());
        // What `init` does under a hidden name is long and of one kind.
        let is_draft = file.starts_with("draft");
        let file = if is_draft { "draft".to_owned() } else { file };
        met.insert((class, fault.kind, file))
            || is_commit(&rehearsed[fault.line], fault)
            || count % if is_draft { DRAFT_STRIDE } else { STRIDE } == 0
    };
    all.filter(is_sampled).collect()
}

/// Whether it is the sync that makes the last transaction of a line durable.
fn is_commit(line: &Rehearsed, fault: &Fault) -> bool {
    let is_sync = |op: &&Op| op.class == 's' && op.file() == "ledger.db-wal";
    fault.kind == "io" && line.ops.iter().rfind(is_sync) == Some(&fault.op)
}

/// Nothing that the whole sweep meets may be left out of the sample.
fn check_sample(rehearsed: &[Rehearsed], sample: &[Fault]) {
    for (index, line) in rehearsed.iter().enumerate() {
        let is_met = |fault: &Fault| fault.line == index && is_commit(line, fault);
        assert!(sample.iter().any(is_met), "no commit of {} fails", line.text);
    }
    for class in "rwstoeumln".chars() {
        for kind in kinds(class) {
            let is_met = |fault: &Fault| fault.op.class == class && fault.kind == *kind;
            assert!(sample.iter().any(is_met), "no {class} meets {kind}");
        }
    }
    assert!(sample.iter().any(|fault| fault.op.file() == "call file"), "no call file fails");
}

#[test]
fn whatever_fails_the_answer_is_true_and_the_same_line_mends_it() {
    crate::support::postgres::sqlite_only!("it is about the file of the ledger");
    let shim = Shim::build();
    if !is_full() {
        let rehearsed = rehearse(&shim);
        let faults = faults(&rehearsed);
        check_sample(&rehearsed, &faults);
        return sweep(&shim, &rehearsed, faults);
    }
    for line in 0..scenario::LINES.len() {
        // Each from a rehearsal of its own, or the lease would be over before its lines are met.
        let rehearsed = rehearse(&shim);
        let mut faults = faults(&rehearsed);
        faults.retain(|fault| fault.line == line);
        sweep(&shim, &rehearsed, faults);
    }
}

fn sweep(shim: &Shim, rehearsed: &[Rehearsed], faults: Vec<Fault>) {
    let count = faults.len();
    let reached = AtomicUsize::new(0);
    let failed: Vec<String> = in_parallel(faults, |fault| {
        let line = rehearsed[fault.line].text;
        let (class, number) = (fault.op.class, fault.op.number);
        let what = format!("{line}: {} at {number} {class} {}", fault.kind, fault.op.file());
        told(&what, || {
            let is_reached = sweep::case(shim, rehearsed, &fault);
            reached.fetch_add(usize::from(is_reached), Ordering::SeqCst);
        })
    })
    .into_iter()
    .flatten()
    .collect();
    let (bad, reached) = (failed.len(), reached.into_inner());
    assert!(failed.is_empty(), "{bad} of {count} cases failed:\n{}", failed.join("\n"));
    // A call is waited for by looking, and not always equally often.
    assert!(reached * 100 >= count * 98, "only {reached} of {count} operations were there");
}

/// The proof that the sweep can fail: a disk that takes a write and forgets it.
#[test]
fn a_write_that_was_only_said_to_be_made_is_missed() {
    crate::support::postgres::sqlite_only!("it is about the file of the ledger");
    let shim = Shim::build();
    let rehearsed = rehearse(&shim);
    let put = rehearsed.iter().position(|line| line.text.starts_with("intent put"));
    let line = put.expect("a put");
    let is_log = |op: &&Op| op.class == 'w' && op.file() == "ledger.db-wal";
    let op = rehearsed[line].ops.iter().rfind(is_log).expect("a commit").clone();
    let fault = Fault { line, kind: "swallow", op };
    let lost = || assert!(sweep::case(&shim, &rehearsed, &fault));
    let why = told("lost", lost).expect("it is missed");
    assert!(why.contains("it said yes"), "{why}");
}

/// The proofs that the checks of a case can fail: a past that is gone, half a transaction, another
/// end of what a line has left open.
#[test]
fn what_is_lost_or_half_or_ends_otherwise_is_noticed() {
    crate::support::postgres::sqlite_only!("it is about the file of the ledger");
    let shim = Shim::build();
    let rehearsed = rehearse(&shim);
    let of = |text: &str| {
        let index = rehearsed.iter().position(|line| line.text.starts_with(text));
        index.expect("a line of the scenario")
    };
    // The ledger of two lines before, in which the line then goes well.
    let line = of("intent withdraw");
    let world = rehearsed[line - 2].before.copy();
    let words = ["-o", "json", "intent", "list"];
    let on = shim.run(&world, &words, "count", 0);
    let why = told("lost", || sweep::check_recorded(&world, &rehearsed, &rehearsed[line], &on));
    assert!(why.expect("it is missed").contains("what was there before is not"));
    let whole: Vec<&Vec<String>> =
        rehearsed.iter().flat_map(|line| &line.transactions).filter(|its| its.len() > 1).collect();
    assert!(whole.len() > 2, "{whole:?}");
    let is_half_seen = |its: &&&Vec<String>| !sweep::is_whole(&rehearsed, &its[..its.len() - 1]);
    assert!(whole.iter().all(|its| sweep::is_whole(&rehearsed, its)));
    // A half that is another line's whole cannot be told from it.
    let seen = whole.iter().filter(is_half_seen).count();
    assert!(seen * 2 > whole.len(), "half of a transaction passes for a whole one: {whole:?}");
    for text in ["actuate k3", "actuate k4"] {
        let line = &rehearsed[of(text)];
        assert_ne!(line.exit, 0);
        let before = scenario::standing(&line.before.copy());
        assert!(!line.ends.contains(&before), "nothing at all would pass for {text}");
    }
}

/// Once a ledger has its name, an answer that denies it would send a person to another one.
#[test]
fn a_ledger_that_was_made_is_not_denied() {
    crate::support::postgres::sqlite_only!("it is about the file of the ledger");
    let shim = Shim::build();
    let words = ["-o", "json", "init"];
    let sound = shim.run(&scenario::world(), &words, "count", 0);
    sound.ran.exits(0);
    let link = sound.ops.iter().position(|op| op.class == 'l').expect("a link");
    for (class, file, exit, code, recorded) in [
        ('s', "scalectl", 16, "ledger_name_unknown", "unknown"),
        ('o', "ledger.db-wal", 21, "ledger_made_unopened", "yes"),
    ] {
        let mut after = sound.ops[link..].iter();
        let op = after.find(|op| op.class == class && op.file() == file).expect("it is there");
        let world = scenario::world();
        let on = shim.run(&world, &words, "io", op.number);
        assert_eq!(on.marks, [Op { path: op_path(&world, op), ..op.clone() }]);
        let ran = on.ran.exits(exit);
        assert_eq!((ran.at("/error/code"), ran.at("/recorded")), (code.into(), recorded.into()));
        world.json("init").exits(10);
        world.run("verify").exits(0);
    }
}

/// The path of an operation in another world.
fn op_path(world: &World, op: &Op) -> String {
    let (_, below) = op.path.split_once("/.local").expect("a path of ours");
    format!("{}/.local{below}", world.path("").display().to_string().trim_end_matches('/'))
}

fn cuts(film: &Film, stride: usize) -> Vec<Cut> {
    let keeps = |at: usize| {
        let seed = u64::try_from(at).expect("small");
        [Keep::Nothing, Keep::Everything, Keep::Names, Keep::Data, Keep::Some(seed)]
    };
    let at = (0..=film.records.len()).step_by(stride);
    at.flat_map(|at| keeps(at).map(|keep| Cut { at, keep })).collect()
}

#[test]
fn after_a_power_cut_all_that_was_acknowledged_is_there() {
    crate::support::postgres::sqlite_only!("it is about the file of the ledger");
    let shim = Shim::build();
    let film = power::film(&shim);
    let cuts = cuts(&film, if is_full() { 1 } else { CUT_STRIDE });
    let count = cuts.len();
    let failed: Vec<String> =
        in_parallel(cuts.into_iter().enumerate().collect(), |(number, cut)| {
            told(&format!("{cut:?}"), || {
                let world = film.check(cut, false).unwrap_or_else(|why| panic!("{why}"));
                if number % GO_ON_STRIDE == 0 {
                    film.go_on(&world, cut);
                }
            })
        })
        .into_iter()
        .flatten()
        .collect();
    assert!(failed.is_empty(), "{} of {count} cuts failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn a_disk_that_lies_is_caught() {
    crate::support::postgres::sqlite_only!("it is about the file of the ledger");
    let shim = Shim::build();
    let film = power::film(&shim);
    let cuts: Vec<Cut> = cuts(&film, 40).into_iter().filter(|c| c.keep == Keep::Nothing).collect();
    let count = cuts.len();
    let caught = cuts.into_iter().filter(|cut| film.check(*cut, true).is_err()).count();
    assert!(caught * 2 > count, "only {caught} of {count}");
}
