//! The process dies at every named point in every scenario, proven to have died *there*; then the
//! documented way leads to where it would have come without the crash.
//!
//! A scenario is a few lines. The world is copied right before a line, the line dies at the N-th
//! passing of a point, and what comes next follows the table of exit codes. Odd cases begin it with
//! `replay --all`, even ones with the same line again. The product is cut in two ways: a line that
//! an earlier scenario has crashed in the same state is not marked with `*` and not crashed again,
//! and where only the actuator differs, only what follows the spawn of a call is let die.

mod converge;
mod local;

mod scenarios;

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use scalectl::crash::CrashPoint;

use super::support::World;
use converge::{End, Person, end_of};
use scenarios::{Scenario, all};

/// More cases at once than processors, because most of a case is waiting for the disk.
const THREADS: usize = 4;

/// One death: in this line, at the N-th passing of this point.
#[derive(Debug, Clone, Copy)]
struct Death {
    line: usize,
    point: CrashPoint,
    nth: usize,
}

/// A scenario that was run once without a crash, with the world as it was before each line.
struct Rehearsed {
    scenario: Scenario,
    before: Vec<World>,
    end: End,
    deaths: Vec<Death>,
}

/// The points that were passed, in order.
fn passed(world: &World) -> Vec<CrashPoint> {
    let text = std::fs::read_to_string(world.path("trace")).unwrap_or_default();
    let named = |word: &str| CrashPoint::ALL.into_iter().find(|point| point.as_str() == word);
    // Those of a ledger's life have tests of their own: `tests/life/deaths.rs`.
    let of_life = |word: &str| CrashPoint::OF_LIFE.iter().any(|point| point.as_str() == word);
    let words = text.lines().filter(|word| !of_life(word));
    words.map(|word| named(word).unwrap_or_else(|| panic!("no point {word}"))).collect()
}

/// Whether a death in a line that makes one call comes after the call's spawn.
fn follows_spawn(death: Death) -> bool {
    match death.point {
        CrashPoint::BeforeCommit => death.nth > 1,
        CrashPoint::AfterSpawn
        | CrashPoint::GuardAfterSpawn
        | CrashPoint::GuardBeforeEnded
        | CrashPoint::AfterAnswer => true,
        CrashPoint::Relocator(_)
        | CrashPoint::BeforeName
        | CrashPoint::AfterName
        | CrashPoint::AfterCommit
        | CrashPoint::AfterCallFile
        | CrashPoint::GuardBeforeSession
        | CrashPoint::GuardAfterSession => false,
    }
}

fn rehearse(scenario: Scenario) -> Rehearsed {
    let mut world = scenario.world();
    let (mut before, mut deaths) = (Vec::new(), Vec::new());
    for (index, line) in scenario.lines.iter().enumerate() {
        before.push(world.copy());
        let trace = world.path("trace").to_str().expect("UTF-8").to_owned();
        world.set("SCALECTL_TEST_CRASH_TRACE", trace);
        world.run(&line.typed(&world)).exits(line.exit);
        world.unset("SCALECTL_TEST_CRASH_TRACE");
        let passed = passed(&world);
        let _ = std::fs::remove_file(world.path("trace"));
        if !line.dies {
            continue;
        }
        for point in CrashPoint::ALL {
            let times = passed.iter().filter(|at| **at == point).count();
            let all = (1..=times).map(|nth| Death { line: index, point, nth });
            deaths.extend(all.filter(|death| !scenario.only_calls || follows_spawn(*death)));
        }
    }
    let end = end_of(&world, &scenario);
    Rehearsed { scenario, before, end, deaths }
}

/// Lets a line die and asserts that it died there.
fn die(world: &mut World, line: &str, death: Death) {
    let order = format!("{}#{}", death.point.as_str(), death.nth);
    for (name, value) in [("", order.as_str()), ("_MARK", "mark"), ("_TRACE", "trace")] {
        world.set(&format!("SCALECTL_TEST_CRASH{name}"), value);
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let output = world.command(&words).output().expect("it starts");
    for name in ["", "_MARK", "_TRACE"] {
        world.unset(&format!("SCALECTL_TEST_CRASH{name}"));
    }
    let mark = std::fs::read_to_string(world.path("mark")).unwrap_or_default();
    assert_eq!(mark, death.point.as_str(), "it did not die there: {output:?}");
    // The death of a guard is news to its parent, which lives to tell it.
    let in_guard = death.point.as_str().starts_with("guard_");
    assert_eq!(output.status.signal(), (!in_guard).then_some(9), "{output:?}");
}

fn case(rehearsed: &Rehearsed, number: usize) {
    let Rehearsed { scenario, before, end, deaths } = rehearsed;
    let death = deaths[number];
    let mut world = before[death.line].copy();
    let text = scenario.lines[death.line].typed(&world);
    die(&mut world, &text, death);
    world.run("verify").exits(0);

    let person = Person { world: &world, scenario };
    if number % 2 == 1 {
        person.replay();
    }
    person.follow(&text, scenario.lines[death.line].exit);
    for line in &scenario.lines[death.line + 1..] {
        person.follow(&line.typed(&world), line.exit);
    }
    person.replay();
    let heads = world.run("verify").exits(0).stdout;
    assert_eq!(end_of(&world, scenario), *end);
    person.check_effects();
    person.check_calls();

    world.run("replay --all");
    assert_eq!(world.run("verify").exits(0).stdout, heads, "the second recovery changed something");
}

#[test]
fn every_point_of_every_scenario_converges() {
    let rehearsed: Vec<Rehearsed> = in_parallel(all(), rehearse);
    let reached: BTreeSet<&str> = rehearsed
        .iter()
        .flat_map(|rehearsed| rehearsed.deaths.iter().map(|death| death.point.as_str()))
        .collect();
    for point in CrashPoint::ALL {
        assert!(reached.contains(point.as_str()), "no scenario reaches {}", point.as_str());
    }
    let cases: Vec<(&Rehearsed, usize)> = rehearsed
        .iter()
        .flat_map(|rehearsed| (0..rehearsed.deaths.len()).map(move |number| (rehearsed, number)))
        .collect();
    assert!(cases.len() > 150, "only {} cases", cases.len());
    let failed: Vec<String> = in_parallel(cases, |(rehearsed, number)| {
        let (name, death) = (rehearsed.scenario.name, rehearsed.deaths[number]);
        let line = rehearsed.scenario.lines[death.line].text;
        let what = format!("{name}: {line}: {} #{}", death.point.as_str(), death.nth);
        told(&what, || case(rehearsed, number))
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(failed.is_empty(), "{} cases failed:\n{}", failed.len(), failed.join("\n"));
}

/// A crash between a call's file and the commit of the call leaves a file that no ledger knows of.
/// It is kept while it may prove something, and not for ever.
#[test]
fn a_file_that_no_ledger_knows_of_goes_with_time() {
    let mut world = World::with_fake();
    world.run("intent put web --replicas 3 --expect-revision 0 --key k1 --reason r").exits(0);
    die(&mut world, "actuate k1", Death { line: 0, point: CrashPoint::AfterCallFile, nth: 1 });
    let dir = world.path(".local/state/scalectl/calls");
    let files = || std::fs::read_dir(&dir).expect("it is there").flatten().collect::<Vec<_>>();
    world.run("replay --all").exits(0);
    assert_eq!(files().len(), 1);
    let file = std::fs::File::options().append(true).open(files()[0].path()).expect("ours");
    let days = std::time::Duration::from_hours(48);
    file.set_modified(std::time::SystemTime::now() - days).expect("ours");
    world.run("replay --all --dry-run").exits(0);
    assert_eq!(files().len(), 1);
    world.run("replay --all").exits(0);
    assert!(files().is_empty());
}

/// Runs a case. Answers which it was, and why, if it failed.
pub(crate) fn told(what: &str, run: impl FnOnce()) -> Option<String> {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).err()?;
    let why = panic.downcast_ref::<String>().cloned();
    let why = why.or_else(|| panic.downcast_ref::<&str>().map(|why| (*why).to_owned()));
    Some(format!("{what}: {}", why.unwrap_or_default()))
}

/// Does something with each, a few at a time, and keeps the order. The first panic ends it.
pub(crate) fn in_parallel<T: Send, R: Send>(items: Vec<T>, each: impl Fn(T) -> R + Sync) -> Vec<R> {
    let count = items.len();
    let items: Vec<Mutex<Option<T>>> =
        items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::SeqCst);
                let Some(item) = items.get(index) else { return };
                let item = item.lock().expect("unpoisoned").take().expect("taken once");
                let result = each(item);
                done.lock().expect("unpoisoned").push((index, result));
            }
        };
        let threads: Vec<_> = (0..THREADS.min(count)).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            if let Err(panic) = thread.join() {
                next.store(count, Ordering::SeqCst);
                std::panic::resume_unwind(panic);
            }
        }
    });
    let mut done = done.into_inner().expect("unpoisoned");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
