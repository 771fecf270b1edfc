//! The ways of a user: a table in `docs/testing.md` names the test of each, and two of them that
//! have no better place.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

pub(crate) mod seen;

use std::collections::{BTreeMap, BTreeSet};

use scalectl::cli::whole_command;

use crate::fleet_rules;
use crate::support::{World, processes};

/// How many journeys there are: J1, J2 and so on.
const JOURNEYS: usize = 11;

/// The rows of the table: the journey, what it is, its tests or the verb that is not there.
fn rows(page: &str) -> Vec<[String; 3]> {
    let section = page.split("\n## Journeys\n").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| J"));
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()
    };
    rows.map(|line| cells(line).try_into().unwrap_or_else(|_| panic!("three cells: {line}")))
        .collect()
}

/// What is wrong with the table.
fn wrong(page: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    let root = whole_command();
    for [journey, what, shown] in rows(page) {
        *told.entry(journey.clone()).or_default() += 1;
        if what.len() < 10 {
            wrong.push(format!("{journey} says nothing"));
        }
        let names: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            wrong.push(format!("{journey} names no test"));
        }
        // What cannot be walked yet is said by the verb that it needs, until there is that verb.
        if let Some(verb) =
            shown.strip_prefix("not there yet: `").and_then(|it| it.split('`').next())
        {
            if root.find_subcommand(verb).is_some() {
                wrong.push(format!("{journey}: there is {verb} by now"));
            }
            continue;
        }
        let missing = names.iter().filter(|name| !tests.contains(**name));
        wrong.extend(missing.map(|name| format!("{journey} names {name}, which is no test")));
    }
    for number in 1..=JOURNEYS {
        let journey = format!("J{number}");
        let count = told.remove(&journey).unwrap_or_default();
        if count != 1 {
            wrong.push(format!("{journey} has {count} rows"));
        }
    }
    wrong.extend(told.keys().map(|journey| format!("nobody knows {journey}")));
    wrong
}

fn page() -> String {
    std::fs::read_to_string(crate::recipes::page::root().join("docs/testing.md")).unwrap()
}

#[test]
fn every_journey_is_walked_by_a_test_that_is_there() {
    assert_eq!(wrong(&page(), &fleet_rules::tests()), Vec::<String>::new());
}

#[test]
fn a_hole_in_the_table_is_seen() {
    let (page, tests) = (page(), fleet_rules::tests());
    let without = |journey: &str| {
        let begin = format!("| {journey} ");
        page.lines().filter(|line| !line.starts_with(&begin)).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(wrong(&without("J7"), &tests), ["J7 has 0 rows"]);
    let after = |row: &str| {
        let rows = format!("\n## Journeys\n\n{row}\n");
        wrong(&page.replace("\n## Journeys\n", &rows), &tests)
    };
    for (row, what) in [
        ("| J5 | a second row of the same | `tidy::x` |", "J5 has 2 rows"),
        ("| J12 | one that nobody has told | `tidy::x` |", "nobody knows J12"),
        ("| J12 | one that nobody has told | by hand |", "J12 names no test"),
        ("| J12 | one that nobody has told | not there yet: `scale` |", "there is scale by now"),
        ("| J12 | one that nobody has told | `tidy::x` |", "tidy::x, which is no test"),
    ] {
        let found = after(row);
        assert!(found.iter().any(|it| it.contains(what)), "{row}: {found:?}");
    }
}

/// J1: with another ledger in the profile, quickstart uses its own, shows the crash, ends well, and
/// takes away all that it has made.
#[test]
fn j1_the_first_five_minutes_touch_nothing_else_and_leave_nothing() {
    let mut world = World::on_sqlite();
    world.set("SCALECTL_LEDGER", "postgres://nobody@127.0.0.1:9/prod");
    let folder = world.path("scalectl-quickstart");
    let ran = world.run("quickstart").exits(0);
    for part in
        ["+ scalectl init", "+ scalectl scale web=3", "killed with -9", "replay", "verified"]
    {
        assert!(ran.stdout.contains(part), "no {part:?}: {ran:#?}");
    }
    assert!(ran.stdout.contains("quickstart --remove"), "{ran:#?}");
    let own = folder.to_str().unwrap().to_owned();
    let ledger = format!("{own}/ledger.db");
    let ledgered = world.run(&format!("--ledger {ledger} status web")).exits(0).stdout;
    assert!(ledgered.contains("converged"), "{ledgered}");
    let is_below = |words: &[&str]| words.iter().any(|word| word.contains(own.as_str()));
    let again = world.json("quickstart").exits(2);
    assert_eq!(again.at("/error/code"), "quickstart_exists");
    assert_eq!(again.at("/error/next/1/4"), "--remove", "{again:#?}");
    world.run("quickstart --remove").exits(0);
    assert!(!folder.exists());
    assert_eq!(processes(is_below), Vec::<i32>::new());
    assert!(!world.ledger().exists(), "the usual ledger was not made");
}

/// J10: who scaled what, why, and as whom they were known, in a span of time.
#[test]
fn j10_the_log_says_who_scaled_what_and_why() {
    let mut world = World::with_fake();
    world.still("2027-01-05T09:14:00Z");
    world.set("SCALECTL_ACTOR", "sre");
    world.be("sre:1001");
    world.run("intent put web --replicas 3 --reason night-shrink --ref CHG-88").exits(0);
    world.still("2027-01-05T11:40:00Z");
    world.set("SCALECTL_ACTOR", "ops2");
    world.be("ops2:1002");
    world.run("intent put web --replicas 4 --reason sale --supersede").exits(0);
    let day = "log web --since 2027-01-05T00:00:00Z --until 2027-01-06T00:00:00Z";
    let lines = |more: &str| {
        let ran = world.run(&format!("{day} --event intent_accepted{more}")).exits(0);
        ran.stdout.lines().skip(3).map(str::to_owned).collect::<Vec<_>>()
    };
    let both = lines("");
    assert_eq!(both.len(), 2, "{both:#?}");
    for part in ["2027-01-05T09:14:00Z", "sre", "sre@", "→ 3", "night-shrink"] {
        assert!(both[0].contains(part), "no {part:?}: {both:#?}");
    }
    assert_eq!(lines(" --by ops2"), both[1..]);
    assert_eq!(lines(" --actor ops2"), both[1..]);
    let of_ticket = lines(" --ref CHG-88");
    assert!(of_ticket.len() == 1 && of_ticket[0].contains("night-shrink"), "{of_ticket:#?}");
    let early = world.run("log web --until 2027-01-01T00:00:00Z --event intent_accepted").exits(0);
    assert!(!early.stdout.contains("night-shrink"), "{early:#?}");
    let told = world.json(&format!("{day} --event intent_accepted")).exits(0);
    assert!(told.stdout.contains("CHG-88"), "{told:#?}");
}
