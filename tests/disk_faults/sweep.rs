//! Every operation of every line, made to fail: what was said must be so, and it must converge.

use super::scenario::{self, LINES, Told};
use super::shim::{OnDisk, Op, Shim};
use crate::support::World;

/// A line that was run once on a sound disk, with the world as it was before it.
pub(super) struct Rehearsed {
    pub(super) exit: i32,
    pub(super) text: &'static str,
    pub(super) before: World,
    /// The events that there were before.
    events: Vec<Told>,
    effects: usize,
    /// What each transaction of it wrote.
    pub(super) transactions: Vec<Vec<String>>,
    pub(super) ops: Vec<Op>,
    /// Where all stands after it, and after the recovery of what it has left open.
    pub(super) ends: Vec<Vec<String>>,
}

/// A fault: what the disk does, at which operation of a line.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) kind: &'static str,
    pub(super) op: Op,
}

/// The events that are no refusals, by the transaction that wrote them.
fn transactions(events: &[Told]) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for event in events.iter().filter(|event| event.stream != "refusals") {
        match found.last_mut().filter(|(command, _)| *command == event.command) {
            Some((_, kinds)) => kinds.push(event.kind.clone()),
            None => found.push((event.command.clone(), vec![event.kind.clone()])),
        }
    }
    found
}

pub(super) fn rehearse(shim: &Shim) -> Vec<Rehearsed> {
    let world = scenario::world();
    let mut all = Vec::new();
    let mut events = Vec::new();
    for (exit, text) in LINES {
        let before = world.copy();
        let effects = world.fake_log("effects").len();
        let words = scenario::typed(&world, text);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let OnDisk { ran, ops, .. } = shim.run(&world, &words, "count", 0);
        ran.exits(exit);
        let now = scenario::events(&world);
        let written = transactions(&now[events.len()..]);
        assert!(!written.is_empty() && !ops.is_empty(), "the shim sees nothing of {text}");
        let ends = scenario::ends(&world, exit);
        let transactions = written.into_iter().map(|(_, kinds)| kinds).collect();
        let events = std::mem::replace(&mut events, now);
        all.push(Rehearsed { exit, text, before, events, effects, transactions, ops, ends });
    }
    all
}

/// The kinds of faults that fit an operation.
pub(super) fn kinds(class: char) -> &'static [&'static str] {
    match class {
        'w' => &["nospc", "io", "torn", "short", "full", "dead"],
        'o' | 'm' | 'l' | 'n' => &["nospc", "io", "full", "dead"],
        't' => &["nospc", "io", "dead"],
        'r' => &["io"],
        _ => &["io", "dead"],
    }
}

/// Whether the answer is one of the table, with an error that has a code.
fn check_answer(on: &OnDisk) {
    let ran = &on.ran;
    let code = ran.code.unwrap_or_else(|| panic!("it died: {on:#?}"));
    assert!(matches!(code, 0..=2 | 10..=26), "no exit code of the table: {ran:#?}");
    assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
    assert_eq!(ran.at("/exit"), code, "{ran:#?}");
    assert_eq!(ran.at("/ok"), code == 0, "{ran:#?}");
    assert_ne!(code, 1, "a fault of a disk is no bug of ours: {ran:#?}");
    match ran.json().pointer("/error/code") {
        Some(named) => {
            let named = named.as_str().expect("a word");
            assert!(ran.stderr.contains(&format!("error[{named}]")), "{ran:#?}");
        }
        // Where the key stands is no error, and has its code.
        None => assert!(matches!(code, 0 | 16..=19 | 23), "{ran:#?}"),
    }
}

/// Whether what the answer says of the ledger is so. The world is asked on a sound disk.
pub(super) fn check_recorded(
    world: &World,
    rehearsed: &[Rehearsed],
    line: &Rehearsed,
    on: &OnDisk,
) {
    let ran = &on.ran;
    let events = scenario::events(world);
    let before = events.get(..line.events.len());
    assert_eq!(before, Some(&line.events[..]), "what was there before is not: {on:#?}");
    let new = transactions(&events[line.events.len()..]);
    for (_, kinds) in &new {
        assert!(is_whole(rehearsed, kinds), "half a transaction: {kinds:?} {on:#?}");
    }
    let said = ran.at("/recorded");
    match said.as_str().expect("a word") {
        "no" => assert!(new.is_empty(), "it said no: {new:?} {on:#?}"),
        "yes" => assert!(!new.is_empty(), "it said yes: {on:#?}"),
        "unknown" if ran.at("/error/code") == "commit_unknown" => {
            let command = ran.at("/error/facts/command");
            let command = command.as_str().expect("an id");
            let told = world.json(&format!("log --command {command}")).exits(0);
            let told = told.at("/events").as_array().expect("a list").len();
            let its = new.iter().find(|(id, _)| id == command).map(|(_, kinds)| kinds);
            assert_eq!(told, its.map_or(0, Vec::len), "{on:#?}");
        }
        "unknown" => {
            let code = ran.at("/error/code");
            assert!(code == "unrecorded" || code == "ledger_name_unknown", "{on:#?}");
        }
        other => panic!("recorded {other}: {on:#?}"),
    }
    if ran.code == Some(0) && line.exit == 0 && ran.at("/replayed") == false {
        let last = new.last().map(|(_, kinds)| kinds);
        assert_eq!(last, line.transactions.last(), "it said all is well: {on:#?}");
    }
}

/// Whether a transaction is one that some line, or recovery, writes whole.
pub(super) fn is_whole(rehearsed: &[Rehearsed], kinds: &[String]) -> bool {
    rehearsed.iter().any(|line| line.transactions.iter().any(|its| its == kinds))
}

/// Whether what the answer says of the target is so.
fn check_applied(world: &World, line: &Rehearsed, on: &OnDisk) {
    let effects = world.fake_log("effects").len() - line.effects;
    let applied = on.ran.at("/applied");
    match applied.as_str().expect("a word") {
        "no" => assert_eq!(effects, 0, "it said no: {on:#?}"),
        "yes" => assert!(effects > 0 || on.ran.at("/replayed") == true, "it said yes: {on:#?}"),
        "unknown" => {}
        other => panic!("applied {other}: {on:#?}"),
    }
    if matches!(on.ran.code, Some(2 | 10..=15 | 17 | 20..=22 | 24 | 25)) && applied == "no" {
        assert_eq!(effects, 0, "the table says untouched: {on:#?}");
    }
}

/// Runs a line on a disk with a fault and checks all that it says. Answers whether it was hit.
pub(super) fn case(shim: &Shim, rehearsed: &[Rehearsed], fault: &Fault) -> bool {
    let line = &rehearsed[fault.line];
    let world = line.before.copy();
    let words = scenario::typed(&world, line.text);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let on = shim.run(&world, &words, fault.kind, fault.op.number);
    let is_reached = on.ops.len() >= fault.op.number;
    assert_eq!(is_reached, !on.marks.is_empty(), "it was not hit where it was to be: {on:#?}");

    check_answer(&on);
    if fault.kind == "short" {
        assert_eq!(on.ran.code, Some(line.exit), "a short write is no error: {on:#?}");
    }
    check_recorded(&world, rehearsed, line, &on);
    check_applied(&world, line, &on);
    if world.ledger().exists() {
        let verified = world.run("verify");
        assert_eq!(verified.code, Some(0), "{verified:#?} {on:#?}");
    }

    if fault.op.number % 2 == 1 && world.ledger().exists() {
        world.run("replay --all --wait --timeout 5s");
    }
    scenario::converge(&world, line.text, line.exit);
    let standing = scenario::standing(&world);
    assert!(line.ends.contains(&standing), "another end: {standing:?} {:?} {on:#?}", line.ends);
    scenario::check_effects(&world);
    world.run("verify").exits(0);
    world.await_no_children();
    is_reached
}
