//! A ledger that moves to a server, and a backup that is put back there.

use crate::support::World;
use crate::support::postgres::Cluster;

/// A world with a ledger in a file.
fn in_file() -> World {
    let world = World::on_sqlite();
    world.init_fake();
    world.run(&format!("{} --backoff 0s", crate::support::SERVICE)).exits(0);
    world
}

#[test]
fn an_address_that_the_environment_completes_is_sealed_in_full() {
    let (one, two) = (Cluster::start(&[]), Cluster::start(&[]));
    let mut world = in_file();
    world.set("PGUSER", "postgres");
    let at = |world: &mut World, server: &Cluster| {
        world.set("PGHOST", server.folder().to_str().unwrap());
        world.set("PGPORT", server.port().to_string());
    };
    let line = "ledger copy --to postgres:///postgres --reason move";
    at(&mut world, &one);
    world.run(line).exits(0);
    assert_eq!(world.json(line).exits(0).at("/replayed"), true);
    at(&mut world, &two);
    let ran = world.json(line).exits(21);
    assert_eq!(ran.at("/error/code"), "ledger_sealed", "{ran:#?}");
    let told = format!("{}:{}/postgres?schema=scalectl", one.host(), one.port());
    assert!(ran.stderr.contains(&told), "{told}: {ran:#?}");
    let there = "SELECT to_regclass('scalectl.ledger') IS NULL";
    assert_eq!(two.psql("postgres", there), "t", "nothing is made there");
    // What was sealed leads to the ledger, whatever the environment says.
    world.run(&format!("--ledger postgres://{told} service put web --max 7")).exits(0);
    // And what is not there any more is not made again.
    at(&mut world, &one);
    one.psql("postgres", "ALTER SCHEMA scalectl RENAME TO elsewhere");
    let ran = world.json(line).exits(21);
    assert_eq!(ran.at("/error/code"), "ledger_gone", "{ran:#?}");
    assert_eq!(one.psql("postgres", there), "t");
}

#[test]
fn a_name_that_leads_elsewhere_by_now_is_another_place() {
    let (world, one, two) = (in_file(), World::on_postgres(), World::on_postgres());
    let config = |target: &World| {
        let text = format!("[ledgers]\nprod = \"{}\"\n", target.schema().address());
        world.write(".config/scalectl/config.toml", text);
    };
    config(&one);
    let line = "ledger copy --to prod --reason move";
    world.run(line).exits(0);
    assert_eq!(world.json(line).exits(0).at("/replayed"), true);
    config(&two);
    world.run(line).exits(21).says("ledger_sealed").says(one.schema().name());
    two.run("status").exits(21).says("ledger_missing");
    one.run("service put web --max 7").exits(0);
}

/// Who opens a copy is known by the place in which it opens, and not by the one that it has left.
#[test]
fn the_opening_of_a_copy_tells_whom_the_new_place_knows() {
    let (world, there) = (in_file(), World::on_postgres());
    world.run(&format!("ledger copy --to {} --reason move", there.schema().address())).exits(0);
    let role = |world: &World, line: &str| {
        let log = world.json(line).exits(0);
        let newest = log.at("/events").as_array().and_then(|it| it.last().cloned());
        newest.expect("an event")["by"]["db_role"].clone()
    };
    assert_eq!(role(&there, "log --event ledger_opened"), "scalectl");
    there.run("ledger copy --to back.db --reason move").exits(0);
    assert_eq!(role(&there, "log --event ledger_sealed"), "scalectl");
    let opened = role(&there, "--ledger back.db log --event ledger_opened");
    assert_eq!(opened, serde_json::Value::Null);
}

#[test]
fn a_ledger_is_not_moved_onto_itself() {
    let world = super::with_fake();
    let line = format!("ledger copy --to {} --reason move", world.schema().address());
    let ran = world.json(&line).exits(10);
    assert_eq!(ran.at("/error/code"), "ledger_other", "{ran:#?}");
    world.run("service put web --max 7").exits(0);
}

#[test]
fn a_copy_that_was_begun_says_which_line_goes_on() {
    let mut world = in_file();
    let target = World::on_postgres();
    let address = target.schema().address();
    let line = format!("ledger copy --to {address} --reason move");
    world.set("SCALECTL_TEST_CRASH", "before_commit#2");
    assert_eq!(world.run(&line).code, None, "it dies");
    world.unset("SCALECTL_TEST_CRASH");
    let ran = target.json("status").exits(21);
    assert_eq!(ran.at("/error/code"), "ledger_unfinished", "{ran:#?}");
    world.run(&line).exits(0);
    target.run("verify").exits(0);
}

/// `docs/recipes/backup.md`, under *Restore to PostgreSQL*, as it is written there.
#[test]
fn a_backup_is_restored_to_a_server_as_the_recipe_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recipes/backup.md");
    let page = std::fs::read_to_string(path).expect("a page");
    let section = page.split("## Restore to PostgreSQL").nth(1).expect("the section");
    let sql = section.split("```sql\n").nth(1).and_then(|rest| rest.split("```").next());
    let server = Cluster::start(&[]);
    server.psql("postgres", "CREATE ROLE scalectl_writer; CREATE ROLE scalectl_reader");
    let mut world = World::on_postgres();
    let address = server.address("postgres", "postgres");
    world.set("SCALECTL_LEDGER", &address);
    world.init_fake();
    world.run(&format!("{} --backoff 0s", crate::support::SERVICE)).exits(0);
    world.run("backup --to b.db").exits(0);
    world.run("scale web=2 --reason lost --key k1").exits(0);
    // The dead end says where the way is.
    let ran = world.run("restore --from b.db --replace --reason lost").exits(2);
    assert!(ran.stderr.contains("ledger copy --from FILE --to"), "{ran:#?}");
    world.run("--ledger back.db restore --from b.db --reason lost").exits(0);
    let copy = format!("ledger copy --from back.db --to {address} --reason lost");
    world.run(&copy).exits(10).says("ledger_other").says("Restore to PostgreSQL");
    server.psql("postgres", sql.expect("the SQL"));
    world.run(&copy).exits(0);
    world.run("verify").exits(0);
    world.run("intent show k1").exits(24);
    world.run("scale web=3 --reason on --key k2").exits(0);
    world.run("--ledger back.db service put web --max 7").exits(21).says("ledger_sealed");
}
