//! Changes of many environments at once, for the last room of one cell, and of two.

use serde_json::{Value, json};

use super::{Contender, alone, race, with_code};
use crate::support::World;

/// Environments `e0` and on in cell `a`, each with `small`, which takes one processor.
fn world(environments: usize, lines: &[&str]) -> World {
    let world = World::new();
    world.init_fake();
    let policy = world.write("all.cedar", "permit (principal, action, resource);");
    let policy = policy.to_str().expect("UTF-8");
    world.run_args(&["policy", "put", policy, "--reason", "r"]).exits(0);
    let root = world.path("root");
    for cell in ["a", "b", "c"] {
        world.write(&format!("root/cells/{cell}/limit.json"), r#"{"storage_bytes": 1073741824}"#);
    }
    let put = ["relocator", "put", "mover", "--", "scalectl", "relocator", "run", "local"];
    world.run_args(&[&put[..], &["--root", root.to_str().expect("UTF-8")]].concat()).exits(0);
    for location in ["la", "lb", "lc"] {
        world.run(&format!("capacity location put {location}")).exits(0);
    }
    for line in lines {
        world.run(line).exits(0);
    }
    for number in 0..environments {
        let name = format!("e{number}");
        copy(&world, &name);
        let line = format!(
            "placement adopt {name} --policy std --cell a --generation 1-first --profile small
             --relocator mover --reason there"
        );
        world.run(&line).exits(0);
    }
    world
}

/// The copy of an environment, and its route.
fn copy(world: &World, name: &str) {
    let copy = format!("root/cells/a/{name}/1-first");
    world.write(&format!("{copy}/application/server"), "#!/bin/sh\n");
    world.write(&format!("{copy}/artifacts/release.tar"), "artifact");
    world.write(&format!("{copy}/credentials.json"), r#"{"references": []}"#);
    world.write(&format!("{copy}/subjects.json"), r#"{"subjects": []}"#);
    let database = rusqlite::Connection::open(world.path(&format!("{copy}/database.sqlite")));
    let database = database.expect("opened");
    database.execute_batch("CREATE TABLE entry (number INTEGER PRIMARY KEY)").expect("a schema");
    let route = json!({"cell": "a", "epoch": 1, "generation": "1-first"});
    world.write(&format!("root/routes/{name}.json"), route.to_string());
}

fn cell(name: char, cpu: usize) -> String {
    format!(
        "capacity cell put {name} --location l{name} --allocatable
         cpu={cpu},memory=1TiB,storage=1TiB"
    )
}

const PROFILES: [&str; 3] = [
    "capacity profile put small --floor cpu=1,memory=1MiB,storage=1MiB
     --maximum cpu=2,memory=2GiB,storage=4GiB",
    "capacity profile put large --floor cpu=2,memory=1MiB,storage=1MiB
     --maximum cpu=4,memory=4GiB,storage=8GiB",
    "capacity policy put std --offer small=1 --offer large=2 --cell a --cell b --cell c --budget 4",
];

fn shown(world: &World, number: usize) -> Value {
    world.json(&format!("placement show e{number}")).exits(0).at("/environment")
}

/// How many processors are reserved of a cell for all environments together, in thousandths.
fn reserved(all: &[Value], cell: &str) -> u64 {
    let lists = all.iter().map(|shop| shop["reserved"].as_array().expect("a list"));
    let here = lists.flatten().filter(|reservation| reservation["cell"] == cell);
    here.map(|it| it["amounts"]["cpu_millicores"].as_u64().expect("an amount")).sum()
}

/// Who was refused has what it had: its revision, its one reservation, and no operation.
fn nothing_is_left_of(all: &[Value], ended: &[Contender]) {
    for (shop, one) in all.iter().zip(ended).filter(|(_, one)| one.code() == Some(15)) {
        assert_eq!(one.at("/error/code"), "capacity_unavailable", "{:#?}", one.ran);
        assert_eq!((&shop["revision"], &shop["operation"]), (&json!(1), &json!(null)));
        let reserved = shop["reserved"].as_array().expect("a list");
        let cells: Vec<&Value> = reserved.iter().map(|it| &it["cell"]).collect();
        assert_eq!(cells, [&json!("a")], "{shop}");
        assert_eq!(reserved[0]["amounts"]["cpu_millicores"], 1000);
    }
}

#[test]
fn exactly_as_many_grow_in_a_cell_as_there_is_room_for() {
    let _alone = alone();
    let (all, fit) = (64, 10);
    let cells = [cell('a', all + fit), cell('b', 1), cell('c', 1)];
    let lines: Vec<&str> = cells.iter().map(String::as_str).chain(PROFILES).collect();
    let world = world(all, &lines);
    let change = |number| {
        format!(
            "placement change e{number} --expect-revision 1 --policy-revision 1 --profile large
             --key k{number}"
        )
    };
    let lines: Vec<String> = (0..all).map(change).collect();
    let ended = race(&world, &lines);
    let counted = (with_code(&ended, 0).len(), with_code(&ended, 15).len());
    assert_eq!(counted, (fit, all - fit), "{:#?}", ended[0].ran);
    let shown: Vec<Value> = (0..all).map(|number| shown(&world, number)).collect();
    assert_eq!(reserved(&shown, "a"), 1000 * u64::try_from(all + fit).expect("few"));
    nothing_is_left_of(&shown, &ended);
}

#[test]
fn two_cells_are_reserved_together_or_not_at_all() {
    let _alone = alone();
    // The target has room for six, and where the recovery copies go there is room for four.
    let (all, fit) = (16, 4);
    let cells = [cell('a', 64), cell('b', 6), cell('c', fit)];
    let lines: Vec<&str> = cells.iter().map(String::as_str).chain(PROFILES).collect();
    let world = world(all, &lines);
    let change = |number| {
        format!(
            "placement change e{number} --expect-revision 1 --policy-revision 1 --cell b
             --standby lc --key k{number}"
        )
    };
    let lines: Vec<String> = (0..all).map(change).collect();
    let ended = race(&world, &lines);
    let counted = (with_code(&ended, 0).len(), with_code(&ended, 15).len());
    assert_eq!(counted, (fit, all - fit), "{:#?}", ended[0].ran);
    let shown: Vec<Value> = (0..all).map(|number| shown(&world, number)).collect();
    for (cell, expected) in [("a", all), ("b", fit), ("c", fit)] {
        assert_eq!(reserved(&shown, cell), 1000 * u64::try_from(expected).expect("few"), "{cell}");
    }
    nothing_is_left_of(&shown, &ended);
    let operations = world.json("operation list").exits(0).at("/operations");
    assert_eq!(operations.as_array().expect("a list").len(), fit);
}
