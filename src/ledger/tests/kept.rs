//! What a process that writes often keeps is what anybody else would read.

use super::support::*;
use crate::domain::id::{ExecutionKey, ServiceName};
use crate::domain::scale::event::Event;
use crate::domain::scale::state::ServiceState;
use crate::ledger::{Ledger, LedgerError, Reach};

fn often(world: &World) -> Ledger {
    let mut ledger = world.open();
    ledger.writes_often().expect("told");
    ledger
}

/// Reads a service for a decision, and gives it up again.
fn state(ledger: &mut Ledger, keys: &[ExecutionKey]) -> ServiceState {
    let web: ServiceName = id("web");
    let mut txn = ledger.write(id("command-7"), Reach::service(&web)).expect("writes");
    txn.service_state(&web, keys).expect("a state")
}

/// A process that keeps nothing reads the same, and so does this one.
fn as_read(world: &World, ledger: &mut Ledger, keys: &[ExecutionKey]) -> ServiceState {
    let read = state(&mut world.open(), keys);
    assert_eq!(state(ledger, keys), read);
    read
}

fn life() -> [Event; 5] {
    [
        registered("web"),
        accepted("web", "k-1", 1, false),
        withdrawn("k-1"),
        accepted("web", "k-2", 2, false),
        bound(40),
    ]
}

#[test]
fn what_is_kept_is_what_is_read() {
    let world = World::new();
    let mut ledger = often(&world);
    for event in life() {
        append(&mut ledger, "web", &[event]).expect("appended");
        // Only the first look has what is kept: it is given up with the transaction.
        let keys: [&[ExecutionKey]; 3] = [&[], &[id("k-1")], &[id("k-1"), id("k-9")]];
        as_read(&world, &mut ledger, keys[0]);
        append(&mut ledger, "web", &[bound(41)]).expect("appended");
        as_read(&world, &mut ledger, keys[1]);
        append(&mut ledger, "web", &[bound(42)]).expect("appended");
        as_read(&world, &mut ledger, keys[2]);
    }
    assert!(world.verify().is_sound());
}

#[test]
fn whoever_else_has_written_is_seen() {
    let world = World::new();
    let mut ledger = often(&world);
    append(&mut ledger, "web", &life()[..2]).expect("appended");
    world.append("web", &[withdrawn("k-1")]);
    let seen = as_read(&world, &mut ledger, &[id("k-1")]);
    assert_eq!(seen.executions[&id::<ExecutionKey>("k-1")].phase.as_str(), "withdrawn");
    append(&mut ledger, "web", &[accepted("web", "k-2", 2, false)]).expect("on what is there");
    let kinds: Vec<String> = world.events().into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds[3..], ["intent_withdrawn", "intent_accepted"]);
    assert!(world.verify().is_sound(), "the chain goes on from the other one's event");
}

#[test]
fn what_was_undone_or_given_up_is_not_kept() {
    let world = World::new();
    let mut ledger = often(&world);
    append(&mut ledger, "web", &life()[..2]).expect("appended");
    let web: ServiceName = id("web");
    let mut txn = ledger.write(id("command-4"), Reach::service(&web)).expect("writes");
    let state = txn.service_state(&web, &[id("k-1")]).expect("a state");
    txn.append(&web, state, &[withdrawn("k-1")]).expect("appended");
    drop(txn);
    as_read(&world, &mut ledger, &[id("k-1")]);

    append(&mut ledger, "web", &[bound(41)]).expect("appended");
    let mut txn = ledger.write(id("command-5"), Reach::service(&web)).expect("writes");
    let undone: Result<(), LedgerError> = txn.part(id("command-6"), |txn| {
        let state = txn.service_state(&web, &[id("k-1")])?;
        txn.append(&web, state, &[withdrawn("k-1")])?;
        Err(stale())
    });
    assert!(undone.is_err());
    let state = txn.service_state(&web, &[]).expect("a state");
    txn.append(&web, state, &[bound(42)]).expect("appended");
    let _committed = txn.commit().expect("committed");
    let read = as_read(&world, &mut ledger, &[id("k-1")]);
    assert_eq!(read.executions[&id::<ExecutionKey>("k-1")].phase.as_str(), "accepted");
    assert!(world.verify().is_sound());
}

#[test]
fn a_run_that_fails_after_it_has_written_fails_the_whole() {
    let world = World::new();
    world.append("web", &[registered("web")]);
    let (before, web): (_, ServiceName) = (world.events(), id("web"));
    let mut ledger = often(&world);
    let mut txn = ledger.write(id("command-4"), Reach::service(&web)).expect("writes");
    let refused: Result<(), LedgerError> = txn.run(id("command-5"), |_| Err(stale()));
    assert!(refused.is_err() && !txn.has_failed(), "nothing was written yet");
    let failed: Result<(), LedgerError> = txn.run(id("command-6"), |txn| {
        let state = txn.service_state(&web, &[])?;
        txn.append(&web, state, &[bound(41)])?;
        Err(stale())
    });
    assert!(failed.is_err() && txn.has_failed());
    assert_eq!(txn.commit().expect_err("not whole").code(), "ledger_incomplete");
    assert_eq!(world.events(), before);
}

fn stale() -> LedgerError {
    LedgerError::Stale { path: "a test".into(), service: id("web"), what: "a test".to_owned() }
}
