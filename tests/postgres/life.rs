//! The life of a ledger on a server: it comes there and goes again, and a doctor looks at it.

use super::with_fake;
use crate::life::deaths::die_everywhere;
use crate::life::doctor::state;
use crate::support::World;
use crate::support::postgres::{Cluster, OwnSchema};

/// Names an empty schema `goal` for the lines of a world.
fn with_goal(world: &World) -> OwnSchema {
    let goal = OwnSchema::new();
    let config = format!("[ledgers]\ngoal = \"{}\"\n", goal.address());
    world.write(".config/scalectl/config.toml", config);
    goal
}

/// A call dies with its answer; the backup shows it under way. It comes back to a server by way of
/// a file, as unknown, and is not made twice.
#[test]
fn a_backup_of_a_server_comes_back_to_a_server() {
    let mut world = with_fake();
    world.run("intent put web --replicas 3 --key k1 --reason r").exits(0);
    world.set("SCALECTL_TEST_CRASH", "after_answer#1");
    world.run("actuate k1");
    world.unset("SCALECTL_TEST_CRASH");
    world.await_no_children();
    let heads = world.json("backup --to b.db").exits(0).at("/heads");
    world.run("intent put web --replicas 9 --key lost --queue --reason r").exits(0);
    world.run("restore --from b.db --replace --reason r").exits(2).says("--ledger FILE");
    let ran = world.json("--ledger f.db restore --from b.db --reason r").exits(0);
    assert_eq!(ran.at("/restored/unknown/0"), "k1");
    let goal = with_goal(&world);
    world.run("ledger copy --from f.db --to goal --reason r").exits(0);
    world.set("SCALECTL_LEDGER", goal.address());
    assert_eq!(world.json("intent show k1").at("/execution/state"), "recovery_pending");
    world.run("replay k1").exits(0);
    assert_eq!(world.fake_log("effects").len(), 1, "no second call");
    world.run("intent show lost").exits(24);
    let kept = world.write("heads.json", serde_json::to_string(&heads).unwrap());
    world.run_args(&["verify", "--since", kept.to_str().unwrap()]).exits(0);
    let mark = world.json("service show web").at("/service/fence_mark/epoch");
    assert!(mark.as_u64() > Some(1_000_000), "above the lost fences: {mark}");
}

#[test]
fn a_move_to_a_server_that_dies_leaves_at_most_one_ledger_and_goes_on() {
    let ready = World::on_postgres();
    ready.run("--ledger f.db init").exits(0);
    ready.write("all.cedar", "@id(\"all\")\npermit(principal, action, resource);\n");
    ready.run("--ledger f.db policy put all.cedar --reason r").exits(0);
    let line = "ledger copy --from f.db --to goal --reason r";
    let put = "policy put all.cedar --reason again";
    let make = || {
        let world = ready.copy();
        with_goal(&world);
        world
    };
    let deaths = die_everywhere(&make, line, &|world| {
        // Before the copy is opened nothing writes there; after the seal nothing writes here.
        let goal = world.run(&format!("--ledger goal {put}"));
        let sealed = world.json("--ledger f.db verify").exits(0);
        let is_sealed = world.json("--ledger f.db log --event ledger_sealed").exits(0);
        let is_sealed = !is_sealed.at("/events").as_array().unwrap().is_empty();
        assert!(goal.code != Some(0) || is_sealed, "two ledgers: {goal:#?}");
        let done = world.json(line).exits(0);
        assert_eq!(done.at("/copied/incarnation"), 2);
        world.run(&format!("--ledger f.db {put}")).exits(21).says("ledger_sealed");
        // Of a move that was done the old place has a note of its own at the end of its registry.
        let mut kept = sealed.at("/heads").clone();
        kept.as_array_mut().unwrap().retain(|head| head["stream"] != "registry");
        let kept = serde_json::to_string(&kept).unwrap();
        let kept = world.write("heads.json", kept);
        let since = ["--ledger", "goal", "verify", "--since", kept.to_str().unwrap()];
        world.run_args(&since).exits(0);
        world.write("all.cedar", "@id(\"other\")\npermit(principal, action, resource);\n");
        world.run(&format!("--ledger goal {put}")).exits(0);
    });
    assert!(deaths >= 6, "{deaths}");
}

#[test]
fn a_doctor_looks_at_the_server_and_at_the_rights_of_its_role() {
    let server = Cluster::start(&[]);
    let mut world = World::on_postgres();
    world.set("SCALECTL_LEDGER", server.address("postgres", "postgres"));
    world.run("init").exits(0);
    let ran = world.json("doctor").exits(26);
    let checks =
        ["server_version", "fsync", "full_page_writes", "synchronous_commit", "encoding", "schema"];
    for check in checks.into_iter().chain(["role_of_server", "rights", "standing", "storage"]) {
        assert_eq!(state(&ran, check), "ok", "{check}: {ran:#?}");
    }
    assert_eq!(state(&ran, "least_rights"), "warn", "a superuser: {ran:#?}");
    server.psql(
        "postgres",
        "CREATE ROLE rita LOGIN; ALTER ROLE rita SET synchronous_commit = off;
         GRANT USAGE ON SCHEMA scalectl TO rita; GRANT SELECT ON ALL TABLES IN SCHEMA scalectl TO rita;
         ALTER SYSTEM SET full_page_writes = off; SELECT pg_reload_conf();",
    );
    world.set("SCALECTL_LEDGER", server.address("rita", "postgres"));
    world.until("the server has read it", || {
        server.psql("postgres", "SHOW full_page_writes") == "off"
    });
    let ran = world.json("doctor").exits(21);
    for (check, wanted) in [
        ("full_page_writes", "fail"),
        // Whatever the role has, every transaction of ours raises it.
        ("synchronous_commit", "ok"),
        ("rights", "warn"),
        ("least_rights", "ok"),
        ("fsync", "ok"),
    ] {
        assert_eq!(state(&ran, check), wanted, "{check}: {ran:#?}");
    }
}

/// Who may only read may plan, and is told that the line itself would be refused.
#[test]
fn a_plan_of_whoever_may_not_write_says_so() {
    let server = Cluster::start(&[]);
    let mut world = World::on_postgres();
    world.set("SCALECTL_LEDGER", server.address("postgres", "postgres"));
    world.init_fake();
    world.run(crate::support::SERVICE).exits(0);
    world.run("plan web=3 --reason r").exits(0);
    server.psql(
        "postgres",
        "CREATE ROLE rita LOGIN; GRANT USAGE ON SCHEMA scalectl TO rita;
         GRANT SELECT ON ALL TABLES IN SCHEMA scalectl TO rita;",
    );
    world.set("SCALECTL_LEDGER", server.address("rita", "postgres"));
    world.run("status").exits(0);
    for line in ["plan web=3 --reason r", "explain web=3 --reason r"] {
        let ran = world.json(line).exits(0);
        assert_eq!(ran.at("/warnings/0/code"), "may_not_write", "{line}: {ran:#?}");
    }
    let ran = world.json("scale web=3 --reason r").exits(21);
    assert_eq!(ran.at("/error/code"), "ledger_not_permitted", "{ran:#?}");
}
