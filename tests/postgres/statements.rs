//! What a transaction does after one of its statements was none, or its answer made no sense. Run
//! in this process, because no command goes on so far.

use std::collections::BTreeMap;

use scalectl::domain::id::CommandId;
use scalectl::domain::registry::RegistryBody;
use scalectl::domain::scale::event::Stamped;
use scalectl::domain::scale::provenance::Provenance;
use scalectl::ledger::{
    EventFilter, Ledger, LedgerError, Location, OpenOptions, Reach, ServerAddress, Surroundings,
};

use super::with_fake;
use crate::support::World;

fn open(world: &World) -> Ledger {
    let around =
        Surroundings { environment: &BTreeMap::new(), os_user: "ops", application: "scalectl" };
    let address = ServerAddress::parse(&world.schema().address(), &around).unwrap();
    Ledger::open(&Location::Server(address), OpenOptions::default()).unwrap()
}

/// All long answers come by a cursor of one name: one that was left in its middle is closed.
#[test]
fn a_long_answer_that_made_no_sense_is_closed_before_the_next() {
    let world = with_fake();
    let heads = world.sql("SELECT count(*) FROM event");
    world.sql("UPDATE service SET head = '[]'");
    let mut ledger = open(&world);
    let read = ledger.read().unwrap();
    for _ in 0..2 {
        let nonsense = read.service_heads().unwrap_err();
        assert!(matches!(nonsense, LedgerError::Nonsense { .. }), "{nonsense:?}");
        let events = read.events(&EventFilter::default()).unwrap();
        assert_eq!(events.len().to_string(), heads);
        // One that was read only in part, too.
        let few = EventFilter { limit: Some(1), ..EventFilter::default() };
        assert_eq!(read.events(&few).unwrap().len(), 1);
        assert_eq!(read.actuators().unwrap().len(), 1);
    }
}

/// To a COMMIT of a transaction that has failed a server answers well, and rolls back.
#[test]
fn a_commit_after_a_failed_statement_is_told_as_nothing() {
    let world = with_fake();
    let by = world.json("log --limit 1").exits(0).at("/events/0/by");
    let by: Provenance = serde_json::from_value(by).unwrap();
    let count = world.sql("SELECT count(*) FROM event");
    let mut ledger = open(&world);
    let command_id: CommandId = "cmd-00000000000000000000000000000001".parse().unwrap();
    let mut txn = ledger.write(command_id, Reach::registry()).unwrap();
    let at = txn.now().unwrap();
    let body = RegistryBody::LedgerOpened { from: "elsewhere".to_owned(), incarnation: 2 };
    txn.append_registry(&Stamped { at, by, body }).unwrap();
    // Whoever owns a table may be without the right to read it.
    world.sql("REVOKE SELECT ON service FROM scalectl");
    let failed = txn.service_names().unwrap_err();
    assert!(matches!(failed, LedgerError::NotPermitted { .. }), "{failed:?}");
    let told = txn.commit().unwrap_err();
    assert!(told.to_string().ends_with("an earlier statement of it failed"), "{told}");
    assert!(!ledger.is_poisoned(), "it is known that nothing was recorded");
    world.sql("GRANT SELECT ON service TO scalectl");
    assert_eq!(world.sql("SELECT count(*) FROM event"), count);
    // The connection is in order again.
    assert_eq!(ledger.read().unwrap().service_names().unwrap().len(), 1);
    world.run("verify").exits(0);
}
