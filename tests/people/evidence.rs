//! Persons differ by evidence: by a role that the server knows, by a user of the system; never by
//! a claim.

use super::two_persons;
use crate::support::World;
use crate::support::postgres::Cluster;

const SHRINK: &str = "scale web=2 --key k1 --reason nightly";

#[test]
fn two_roles_of_the_server_answer_each_other_and_one_does_not() {
    let mut world = two_persons(World::on_postgres());
    let (ci, ops) = (world.address_of("ci_runner"), world.address_of("ops2"));
    world.set("SCALECTL_LEDGER", &ci);
    let asked = world.json(SHRINK).exits(13);
    assert_eq!(asked.at("/execution/put_by/db_role"), "ci_runner", "{asked:#?}");
    // The claim, and even the user of the system, are no evidence where the server knows both.
    world.set("SCALECTL_TEST_USER", "boss:7");
    let same = world.json("--actor boss approval grant web@latest --reason fine").exits(12);
    assert_eq!(same.at("/error/code"), "same_person", "{same:#?}");
    assert!(same.stderr.contains("database role"), "{same:#?}");
    world.set("SCALECTL_TEST_USER", "ci:1001");
    world.set("SCALECTL_LEDGER", &ops);
    world.run("--actor ci approval grant web@latest --reason fine").exits(0);
    world.set("SCALECTL_LEDGER", &ci);
    world.run(SHRINK).exits(0);
    assert_eq!(world.fake_log("effects").len(), 2);
    world.run("log").exits(0);
    let log = world.run("log web").exits(0);
    assert!(log.stdout.contains(", db ci_runner"), "{log:#?}");
    assert!(log.stdout.contains(", db ops2"), "{log:#?}");
    world.run("verify").exits(0);
}

/// What a role has taken on later is not what the server has let in.
#[test]
fn a_role_that_was_set_later_is_no_evidence() {
    let mut world = two_persons(World::on_postgres());
    let ci = world.address_of("ci_runner");
    Cluster::shared().psql("suite", "ALTER ROLE ci_runner SET role = 'scalectl'");
    world.set("SCALECTL_LEDGER", &ci);
    let asked = world.json(SHRINK).exits(13);
    Cluster::shared().psql("suite", "ALTER ROLE ci_runner RESET role");
    assert_eq!(asked.at("/execution/put_by/db_role"), "ci_runner", "{asked:#?}");
}

/// The very first event says it, too.
#[test]
fn whoever_makes_a_ledger_on_a_server_is_known_by_the_role() {
    let world = World::on_postgres();
    world.run("init").exits(0);
    let log = world.json("log --event ledger_created").exits(0);
    assert_eq!(log.at("/events/0/by/db_role"), "scalectl");
}

#[test]
fn users_of_the_system_answer_each_other_and_a_claim_is_nothing() {
    crate::support::postgres::sqlite_only!("on a server the role is the stronger evidence");
    let mut world = two_persons(World::new());
    world.run(SHRINK).exits(13);
    let same = world.json("--actor boss approval grant web@latest --reason fine").exits(12);
    assert_eq!(same.at("/error/code"), "same_person", "{same:#?}");
    // Another name of the same number is the same person.
    world.be("boss:1001");
    world.run("approval grant web@latest --reason fine").exits(12);
    world.be("boss:1002");
    world.run("--actor ci approval grant web@latest --reason fine").exits(0);
    world.be("ci:1001");
    world.run(SHRINK).exits(0);
}
