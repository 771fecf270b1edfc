//! A refusal changes nothing: every row of every table is as it was, on either engine, and so is
//! the target. Only the stream of refusals may have grown, and only where the exit says so.

mod rows;
mod tables;

use std::collections::BTreeSet;

use super::crash::{in_parallel, told};
use super::gateway::{apply, operation};
use super::support::{Ran, World};
use rows::{PUT, ROWS, Row};
use tables::tables;

const BEGIN: &str = "2026-01-05T10:00:00Z";
const SERVICE: &str = "service put web --actuator fake --writer ops --max 10 --quiet 0s \
                       --drain none --target-match replicas --backoff 1h";

/// Exits that leave a row in the stream of refusals.
const KEPT: &[i32] = &[12, 14, 15, 22];

/// The refusals of the rules that no row has: what comes between two readings of one command, and
/// what is not there yet. `tests/rules/rejections.rs` has a row for each of them.
const NOT_HERE: [&str; 5] = [
    "approval_required",
    "intent_id_conflict",
    "mode_mismatch",
    "reading_missing",
    "target_recreated",
];

fn write_count(world: &World, count: &str) {
    world.write("fake/count", format!("{count}\n"));
}

/// The authorization that was given before, reviewed or not.
fn glass_of(world: &World) -> String {
    let all = world.run("break-glass list --all").stdout;
    let found = all.split_whitespace().find(|word| word.starts_with("bg-"));
    found.unwrap_or("bg-1").to_owned()
}

/// One line of what goes before; answers what is under way from then on.
fn prepare(world: &mut World, line: &str) -> Option<std::process::Child> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "can" => {
            let can = if rest == "nothing" { String::new() } else { format!("{rest}\n") };
            world.write("fake/capabilities", can);
            world.run("actuator check fake");
            register_fake(world);
        }
        "does" => world.script(&[rest]),
        "counts" => write_count(world, rest),
        "uid" => drop(world.write("fake/uid", format!("{rest}\n"))),
        "owners" => drop(world.write("fake/owners", format!("{rest}\n"))),
        "person" => world.be(rest),
        "proposed" => {
            world.run("policy put two.cedar --reason r").exits(0);
            world.run(PUT).exits(13);
        }
        "reviewed" => {
            world.be("bob:1002");
            let id = glass_of(world);
            world.run(&format!("break-glass review {id} --reason r")).exits(0);
            world.be_oneself();
        }
        "placed" => world.place(),
        "wished" => drop(apply(world, &operation("a", 0, 0, 2)).exits(0)),
        "keys" => world.make_key(rest, if rest == "bob" { "others" } else { "signers" }),
        "at" => drop(world.still(rest)),
        "unreadable" => drop(world.write("fake/on-inspect", "exit 3\n")),
        "&" => {
            let child = world.start(rest);
            world.until("the call begins", || !world.fake_log("calls").is_empty());
            return Some(child);
        }
        _ => {
            let line = line.replace('+', "service put web");
            let ran = world.run(&line);
            assert!(ran.code.is_some_and(|code| [0, 16, 18].contains(&code)), "{ran:#?}");
        }
    }
    None
}

fn register_fake(world: &World) {
    let fake = super::support::fake_actuator();
    let fake = fake.to_str().expect("UTF-8");
    let words = ["actuator", "put", "fake", "--timeout", "5s", "--", "/bin/sh", fake];
    world.run_args(&words).exits(0);
}

fn world() -> World {
    let mut world = World::new();
    world.still(BEGIN);
    world.init_fake();
    world.write(
        "no.cedar",
        "@id(\"all\")\npermit(principal, action, resource);\n\
         @id(\"none\")\nforbid(principal, action == Action::\"scale_up\", resource);\n",
    );
    world.write(
        "two.cedar",
        "@id(\"two\")\npermit(principal, action, resource)\n\
         unless { action == Action::\"scale_up\" };\n",
    );
    world.run(SERVICE).exits(0);
    world
}

fn code_of(ran: &Ran) -> String {
    let (_, rest) = ran.stderr.split_once("error[").unwrap_or_default();
    rest.split(']').next().unwrap_or_default().to_owned()
}

fn check(row: &Row) {
    let mut world = world();
    let before = row.before.iter();
    let under_way: Vec<_> = before.filter_map(|line| prepare(&mut world, line)).collect();
    let logs = |world: &World| (world.fake_log("calls"), world.fake_log("effects"));
    let (rows, called) = (tables(&world), logs(&world));
    let glass = glass_of(&world);
    let ran = world.run(&row.line.replace("bg-1", &glass));
    let (now, called_now) = (tables(&world), logs(&world));
    world.write("fake/go", "");
    for mut child in under_way {
        child.wait().expect("it ends");
    }
    assert_eq!((code_of(&ran).as_str(), ran.code), (row.code, Some(row.exit)), "{ran:#?}");
    assert_eq!(called, called_now, "the target was touched");
    for (name, rows) in &rows {
        if name == "refusals" {
            let more = now[name].len() - rows.len();
            assert_eq!(more, usize::from(KEPT.contains(&row.exit)), "{:#?}", now[name]);
            assert!(rows.iter().all(|row| now[name].contains(row)), "an old refusal changed");
        } else {
            assert_eq!(now[name], *rows, "{name} has changed");
        }
    }
    assert_eq!(now.len(), rows.len(), "another table");
}

#[test]
fn a_refusal_leaves_every_row_of_every_table_as_it_was() {
    let failed: Vec<String> = in_parallel(ROWS.iter().collect(), |row| {
        told(&format!("{}: {}", row.code, row.line), || check(row))
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(failed.is_empty(), "{} rows failed:\n{}", failed.len(), failed.join("\n"));
}

/// Whatever the rules can refuse has a row, or its name is among those that cannot have one.
#[test]
fn every_refusal_of_the_rules_has_a_row() {
    let here: BTreeSet<&str> = ROWS.iter().map(|row| row.code).chain(NOT_HERE).collect();
    let source = include_str!("../src/domain/scale/rejection.rs");
    let (_, codes) = source.split_once("pub const fn code(").expect("the codes");
    let known: BTreeSet<&str> = codes.split('"').skip(1).step_by(2).collect();
    assert!(known.len() > 35, "{known:?}");
    assert_eq!(known.difference(&here).collect::<Vec<_>>(), Vec::<&&str>::new());
    assert!(ROWS.iter().all(|row| !NOT_HERE.contains(&row.code)));
}

/// What is compared tells of a change in every table.
#[test]
fn a_change_of_any_table_is_seen() {
    let mut world = world();
    prepare(&mut world, PUT);
    let before = tables(&world);
    for (table, column) in [
        ("ledger", "incarnation"),
        ("service", "version"),
        ("execution", "version"),
        ("document", "version"),
    ] {
        let sql = format!("UPDATE {table} SET {column} = {column} + 1");
        if world.is_on_postgres() {
            world.sql(&sql);
        } else {
            let connection = rusqlite::Connection::open(world.ledger()).expect("a database");
            connection.execute(&sql, []).expect("changed");
        }
        let now = tables(&world);
        let changed: Vec<_> = before.keys().filter(|name| now[*name] != before[*name]).collect();
        assert!(changed.iter().any(|name| *name == table), "{table}: {changed:?}");
    }
    let events = before["event"].len();
    let mut other = self::world();
    prepare(&mut other, PUT);
    prepare(&mut other, "intent withdraw k1");
    assert_eq!(tables(&other)["event"].len(), events + 1);
}
