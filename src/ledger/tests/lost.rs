//! What is said of a COMMIT whose answer was lost: what is there, and never more than was seen.

use super::support::*;
use crate::domain::id::{CommandId, ServiceName};
use crate::ledger::reach::Reach;
use crate::ledger::sql::{CommitError, Engine, Lock, Row, RowFlow, Statement, Value};
use crate::ledger::{Committed, ErrorClass, Ledger, LedgerError, WriteTxn};

/// An engine that loses the answer of every COMMIT, which has worked or has not.
struct LostCommit {
    engine: Box<dyn Engine>,
    is_kept: bool,
}

impl Engine for LostCommit {
    fn begin_read(&self) -> Result<(), LedgerError> {
        self.engine.begin_read()
    }
    fn begin_write(&self, locks: &[Lock]) -> Result<(), LedgerError> {
        self.engine.begin_write(locks)
    }
    fn commit(&self) -> Result<(), CommitError> {
        if self.is_kept {
            self.engine.commit()?;
        } else {
            self.engine.rollback();
        }
        let (doing, path, problem) = ("commit to", "ledger.db".into(), "gone".to_owned());
        Err(CommitError::Lost(LedgerError::Unreachable { doing, path, problem }))
    }
    fn rollback(&self) {
        self.engine.rollback();
    }
    fn exec(&self, statement: Statement, values: &[Value<'_>]) -> Result<u64, LedgerError> {
        self.engine.exec(statement, values)
    }
    fn each(
        &self,
        statement: Statement,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> RowFlow,
    ) -> Result<(), LedgerError> {
        self.engine.each(statement, values, row)
    }
    fn storage_problems(&self, thorough: bool, limit: usize) -> Result<Vec<String>, LedgerError> {
        self.engine.storage_problems(thorough, limit)
    }
}

/// Does something in one write whose COMMIT is lost.
fn lose(
    is_kept: bool,
    work: impl FnOnce(&mut WriteTxn<'_>),
) -> (World, Result<Committed, LedgerError>, bool) {
    let world = World::new();
    let Ledger { engine, identity, .. } = world.open();
    let engine = Box::new(LostCommit { engine, is_kept });
    let mut ledger = Ledger::of(engine, identity);
    let (web, api) = (id("web"), id("api"));
    let mut txn = ledger.write(id("command-1"), Reach::services([&web, &api])).expect("begun");
    work(&mut txn);
    let done = txn.commit();
    let is_poisoned = ledger.is_poisoned();
    (world, done, is_poisoned)
}

fn put(txn: &mut WriteTxn<'_>, service: &str) {
    let name: ServiceName = id(service);
    let state = txn.service_state(&name, &[]).expect("a state");
    txn.append(&name, state, &[registered(service)]).expect("appended");
}

/// A part that has written, and fails.
fn failed_part(txn: &mut WriteTxn<'_>, service: &str) {
    let failed: Result<(), LedgerError> = txn.part(id::<CommandId>("command-2"), |txn| {
        put(txn, service);
        Err(LedgerError::EngineTooOld { found: "a refusal".to_owned() })
    });
    assert_eq!(failed.expect_err("it fails").code(), "ledger_engine_too_old");
}

type Work = fn(&mut WriteTxn<'_>);

#[test]
fn a_lost_commit_is_looked_for_whatever_part_of_it_was_undone() {
    let alone: Work = |txn| put(txn, "web");
    let undone_after: Work = |txn| {
        put(txn, "web");
        failed_part(txn, "api");
    };
    let undone_before: Work = |txn| {
        failed_part(txn, "api");
        put(txn, "web");
    };
    let undone_of_the_same: Work = |txn| {
        failed_part(txn, "web");
        put(txn, "web");
        let failed: Result<(), LedgerError> = txn.part(id::<CommandId>("command-2"), |txn| {
            let state = txn.service_state(&id("web"), &[])?;
            let state = txn.append(&id("web"), state, &[bound(30)])?;
            txn.append(&id("web"), state, &[bound(31)])?;
            Err(LedgerError::EngineTooOld { found: "a refusal".to_owned() })
        });
        assert!(failed.is_err());
    };
    for (what, work) in [
        ("alone", alone),
        ("undone after", undone_after),
        ("undone before", undone_before),
        ("undone of the same chain", undone_of_the_same),
    ] {
        let (world, done, _) = lose(true, work);
        assert!(done.is_ok(), "{what}: it is there: {done:?}");
        assert_eq!(world.events().len(), 2, "{what}");
        assert!(world.verify().is_sound(), "{what}: {:?}", world.verify());
        let (world, done, is_poisoned) = lose(false, work);
        let error = done.expect_err(what);
        assert_eq!((error.code(), error.class()), ("not_committed", ErrorClass::Unavailable));
        assert!(!is_poisoned, "{what}: it is known");
        assert_eq!(world.events().len(), 1, "{what}");
    }
}

#[test]
fn a_lost_commit_without_an_event_is_unknown() {
    for is_kept in [true, false] {
        for work in [(|_| ()) as Work, |txn| failed_part(txn, "api")] {
            let (_world, done, is_poisoned) = lose(is_kept, work);
            let error = done.expect_err("nothing was seen of it");
            assert_eq!((error.code(), error.class()), ("commit_unknown", ErrorClass::Unknown));
            assert!(is_poisoned);
        }
    }
}

#[test]
fn a_write_to_a_file_that_lost_its_name_is_unknown() {
    let world = World::new();
    let mut ledger = world.open();
    std::fs::rename(&world.path, world.path.with_extension("moved")).expect("renamed");
    let error = append(&mut ledger, "web", &[registered("web")]).expect_err("moved");
    assert_eq!((error.code(), error.class()), ("ledger_moved", ErrorClass::Unknown));
    assert!(ledger.is_poisoned());
}
