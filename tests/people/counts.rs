//! What was changed lately: counted from the chains, in the transaction that decides.

use super::hold;
use crate::support::{SERVICE, World};

fn forbid(condition: &str) -> String {
    format!(
        "@id(\"all\")\npermit (principal, action, resource);\n\
         @id(\"limit\")\nforbid (\n  principal,\n  action in [Action::\"scale_up\", \
         Action::\"scale_down\", Action::\"propose\"],\n  resource is Service\n)\n\
         when {{ {condition} }};\n"
    )
}

const RATE: &str =
    "context has service_changes_last_hour && context.service_changes_last_hour >= 2";
const LEDGER: &str =
    "context has ledger_changes_last_hour && context.ledger_changes_last_hour >= 1";
const BLAST: &str =
    "context has services_changed_last_hour && context.services_changed_last_hour > 2";

/// `web`, `api` and `db` on a clock that stands still.
fn three_services(world: World) -> World {
    let mut world = world;
    world.still("2026-01-05T10:00:00Z");
    world.init_fake();
    for name in ["web", "api", "db"] {
        let line = SERVICE.replace("web", name);
        world.run(&format!("{line} --backoff 0s")).exits(0);
    }
    world
}

fn put(service: &str, key: &str, replicas: u32) -> String {
    format!("intent put {service} --replicas {replicas} --key {key} --supersede --reason r")
}

#[test]
fn a_rate_limit_counts_the_live_intents_of_the_hour() {
    let mut world = three_services(World::new());
    hold(&world, &forbid(RATE));
    world.run(&put("web", "k1", 1)).exits(0);
    // What never calls anybody does not count.
    world.run(&format!("{} --dry-run", put("web", "s1", 9))).exits(0);
    world.still("2026-01-05T10:30:00Z");
    world.run(&put("web", "k2", 2)).exits(0);
    let denied = world.json(&put("web", "k3", 3)).exits(12);
    assert!(denied.stderr.contains("limit"), "{denied:#?}");
    world.run("plan web=3").exits(12);
    world.run("policy test web=3").exits(12);
    // The same key again is the stored answer, and another service has a count of its own.
    world.run(&put("web", "k2", 2)).exits(0);
    world.run(&put("api", "a1", 1)).exits(0);
    // It is asked again when it starts, and does not stand in its own way.
    world.run("actuate k2").exits(0);
    world.run("observe k2").exits(0);
    world.still("2026-01-05T10:59:59.999999Z");
    world.run(&put("web", "k3", 3)).exits(12);
    world.still("2026-01-05T11:00:00Z");
    world.run(&put("web", "k3", 3)).exits(0);
    world.run(&put("web", "k4", 4)).exits(12);
    world.run("verify").exits(0);
}

#[test]
fn a_blast_radius_counts_services_the_asked_one_among_them() {
    let mut world = three_services(World::new());
    hold(&world, &forbid(BLAST));
    world.run(&put("web", "w1", 1)).exits(0);
    world.run(&put("web", "w2", 2)).exits(0);
    world.run(&put("api", "a1", 1)).exits(0);
    world.run(&put("db", "d1", 1)).exits(12);
    // Who is among them already may go on.
    world.run(&put("web", "w3", 3)).exits(0);
    world.still("2026-01-05T11:00:00Z");
    world.run(&put("db", "d1", 1)).exits(0);
}

/// A clock that was put back and right again does not hide what was changed in between.
#[test]
fn an_old_date_in_between_hides_nothing() {
    let mut world = three_services(World::new());
    world.run(&put("web", "w1", 1)).exits(0);
    world.still("2026-01-01T00:00:00Z");
    world.run(&SERVICE.replace("web", "late")).exits(0);
    world.run(&put("late", "l1", 1)).exits(0);
    world.still("2026-01-05T10:10:00Z");
    hold(&world, &forbid(LEDGER));
    world.run(&put("api", "a1", 1)).exits(12);
}

/// Two writers of two services at the limit: the lock that is taken for the count lets one after
/// the other, so the second one sees the first.
#[test]
fn two_writers_at_the_limit_do_not_both_pass() {
    let mut world = three_services(World::on_postgres());
    // The server's clock counts.
    world.unset("SCALECTL_TEST_NOW").unset("SCALECTL_TEST_CLOCK");
    hold(&world, &forbid(LEDGER));
    let held = world.schema().hold(&["service:web", "service:api"]);
    let one = world.start(&put("web", "w1", 1));
    world.until("one waits for its service", || world.schema().waiting_for("service:web") == 1);
    let two = world.start(&put("api", "a1", 1));
    world.until("the other waits for the count", || world.schema().waiting_for("changes") == 1);
    assert_eq!(world.schema().waiting_for("service:api"), 0);
    drop(held);
    let one = one.wait_with_output().unwrap();
    let two = two.wait_with_output().unwrap();
    assert_eq!((one.status.code(), two.status.code()), (Some(0), Some(12)), "{one:?} {two:?}");
}

/// A policy that comes while a write waits for its locks is the one that holds, with the lock that
/// it needs: the write begins again with it, and is not turned away.
#[test]
fn a_policy_that_comes_before_the_locks_is_counted_with_its_own() {
    let mut world = three_services(World::on_postgres());
    world.unset("SCALECTL_TEST_NOW").unset("SCALECTL_TEST_CLOCK");
    world.write("rules.cedar", forbid(LEDGER));
    for (round, line) in
        [put("web", "w1", 1), "batch --file lines.jsonl".to_owned()].iter().enumerate()
    {
        hold(&world, &forbid(RATE));
        let words = ["intent", "put", "api", "--replicas", "1", "--key", "a1", "--reason", "r"];
        world.write("lines.jsonl", serde_json::json!({ "command": words }).to_string());
        world.write("rules.cedar", forbid(LEDGER));
        let held = world.schema().hold(&["policy"]);
        let policy = world.start("--lock-timeout 30s policy put rules.cedar --reason test");
        world.until("the policy waits", || world.schema().waiting_for("policy") == 1);
        let change = world.start(
            &format!("-o json --lock-timeout 30s {line}")
                .replace("json --lock-timeout 30s batch", "ndjson --lock-timeout 30s batch"),
        );
        world.until("the change waits behind it", || world.schema().waiting_for("policy") == 2);
        let changes = world.schema().hold(&["changes"]);
        drop(held);
        let policy = policy.wait_with_output().unwrap();
        assert_eq!(policy.status.code(), Some(0), "{policy:?}");
        world.until("it waits for the count", || world.schema().waiting_for("changes") == 1);
        drop(changes);
        let change = change.wait_with_output().unwrap();
        // The first change of the hour passes, the second does not.
        let code = if round == 0 { 0 } else { 12 };
        assert_eq!(change.status.code(), Some(code), "{line}: {change:?}");
    }
    world.run("verify").exits(0);
}

/// A policy that counts nothing costs no lock.
#[test]
fn who_counts_nothing_waits_for_nobody() {
    let world = three_services(World::on_postgres());
    hold(&world, &forbid(RATE));
    let held = world.schema().hold(&["changes"]);
    world.run(&put("web", "w1", 1)).exits(0);
    drop(held);
    hold(&world, &forbid(BLAST));
    let held = world.schema().hold(&["changes"]);
    world.run(&format!("{} --lock-timeout 300ms", put("web", "w2", 2))).exits(20);
    drop(held);
}
