//! The placement in the ledger: its chain, its rows, and an older ledger that learns of them.

use std::fs;
use std::path::Path;

use super::support::*;
use crate::domain::placement::event::PlacementEvent;
use crate::domain::placement::state::PlacementState;
use crate::ledger::reach::Reach;
use crate::ledger::{Depth, Finding, Ledger, LedgerError, Location, OpenOptions, Stream};

/// A location, a cell of it, a profile and a pool, as they were once recorded.
const RECORDED: [&str; 4] = ["location_put", "cell_put", "profile_registered", "pool_put"];

fn recorded(kind: &str) -> PlacementEvent {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("fixtures/placement/events").join(format!("{kind}.json"));
    serde_json::from_str(&fs::read_to_string(path).expect("a fixture")).expect("an event")
}

/// Writes all of them in one run, or each in one of its own; answers what they come to.
pub(super) fn place(ledger: &mut Ledger, at_once: usize) -> PlacementState {
    let events: Vec<PlacementEvent> = RECORDED.map(recorded).into();
    let mut state = PlacementState::default();
    for (run, events) in events.chunks(at_once).enumerate() {
        let command = id(&format!("command-placed-{run}"));
        let mut txn = ledger.write(command, Reach::placement()).expect("writes");
        let before = txn.placement_state(&[], None).expect("read");
        assert_eq!(before, state);
        state = txn.append_placement(before, events).expect("appended");
        let _committed = txn.commit().expect("committed");
    }
    state
}

#[test]
fn what_is_written_is_read_back_and_verified() {
    for at_once in [1, RECORDED.len()] {
        let world = World::new();
        let mut ledger = world.open();
        let state = place(&mut ledger, at_once);
        let read = ledger.read().expect("reads");
        assert_eq!(read.placement(&[], None).expect("read"), state);
        assert_eq!(read.whole_placement().expect("read"), state);
        let head = read.stream_head(&Stream::Placement).expect("read").expect("a head");
        assert_eq!(head.sequence, 4);
        let found = read.verify(&[head], Depth::Thorough).expect("verified");
        assert!(found.is_sound(), "{found:?}");
        let lists = (state.locations.len(), state.cells.len(), state.profiles.len());
        assert_eq!((lists, state.pools.len()), ((1, 1, 1), 1));
    }
}

#[test]
fn every_change_of_the_placement_is_found_and_named() {
    for (sql, code, text) in [
        (
            "UPDATE placement SET body = replace(body, '8589934592', '9') WHERE kind = 'cell'",
            "projection_differs",
            "cell \"a1\" of the placement is not what its events say: body",
        ),
        (
            "UPDATE placement SET version = 9 WHERE kind = 'pool'",
            "projection_differs",
            "pool \"p\" of the placement is not what its events say: version",
        ),
        (
            "UPDATE placement SET live = 0 WHERE kind = 'profile'",
            "projection_differs",
            "of the placement is not what its events say: live",
        ),
        ("DELETE FROM placement WHERE kind = 'cell'", "projection_missing", "cell \"a1\""),
        (
            "INSERT INTO placement VALUES ('cell', 'x', 1, 1, NULL, '{}')",
            "projection_extra",
            "cell \"x\" of the placement",
        ),
        (
            "UPDATE event SET body = replace(body, '8589934592', '9') WHERE stream = 'placement'",
            "hash_mismatch",
            "placement",
        ),
        (
            "UPDATE event SET body = '{}' WHERE stream = 'placement' AND sequence = 2",
            "illegal_event",
            "event 2 makes no sense",
        ),
    ] {
        let world = World::new();
        place(&mut world.open(), 2);
        assert!(world.verify().is_sound());
        world.tamper(sql);
        let found = world.verify();
        let texts: Vec<String> = found.findings.iter().map(Finding::to_string).collect();
        assert!(found.findings.iter().any(|it| it.code() == code), "{sql}: {texts:#?}");
        assert!(texts.iter().any(|it| it.contains(text)), "{sql}: {texts:#?}");
    }
}

#[test]
fn a_row_that_contradicts_itself_is_no_placement() {
    let world = World::new();
    place(&mut world.open(), 4);
    world.tamper("UPDATE placement SET name = 'other' WHERE kind = 'cell'");
    let mut ledger = world.open();
    let refused = ledger.read().expect("reads").placement(&[], None).expect_err("nonsense");
    assert!(matches!(refused, LedgerError::Nonsense { .. }), "{refused}");
    assert!(refused.to_string().contains("cell \"other\" of the placement"), "{refused}");
}

#[test]
fn a_ledger_of_schema_1_takes_a_placement_once_it_is_brought_up() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/ledgers/v1.db");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("v1.db");
    fs::copy(fixture, &path).expect("copied");
    assert!(matches!(open(&path), Err(LedgerError::Older { found: 1, .. })));
    let location = Location::File(path.clone());
    let migrated = Ledger::migrate(&location, OpenOptions::default()).expect("migrated");
    assert_eq!((migrated.from, migrated.to), (1, 2));
    let mut ledger = open(&path).expect("opened");
    place(&mut ledger, 3);
    let found = ledger.read().expect("reads").verify(&[], Depth::Thorough).expect("verified");
    assert!(found.is_sound(), "{found:?}");
}
