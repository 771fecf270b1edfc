//! What is in the target's cell already is not sent again, and whatever is copied is whole.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::process::Command;

use serde_json::{Value, json};

use super::world::{World, contents, source, target};

const LARGE: usize = 3 * 1024 * 1024 + 17;
const SMALL: usize = 9000;

fn large(seed: usize) -> Vec<u8> {
    (0..LARGE).map(|at| u8::try_from((at * 7 + seed + at / 251) % 256).expect("a byte")).collect()
}

fn snapshot(name: &str, token: u64) -> Value {
    let mut request = World::request("snapshot", token);
    request["operation"] = json!(name);
    request["target"] = json!({"cell": "c", "generation": format!("1-{name}")});
    request
}

fn bytes(receipt: &Value) -> (u64, u64) {
    let number = |member: &str| receipt[member].as_u64().expect("a number");
    assert_eq!(number("sent_bytes") + number("reused_bytes"), number("bytes"), "{receipt}");
    (number("sent_bytes"), number("reused_bytes"))
}

/// All files of the two copies are the same; their databases are told apart by their fences.
fn hold_same(world: &World, one: &Value, other: &Value) {
    let mut found = [one, other].map(|place| contents(&world.copy(place)));
    for copy in &mut found {
        copy.retain(|name, _| {
            ["application/", "artifacts/", "workspace/"].iter().any(|top| name.starts_with(top))
                && !name.contains("node_modules")
        });
    }
    assert_eq!(found[0].keys().collect::<Vec<_>>(), found[1].keys().collect::<Vec<_>>());
    assert!(found[0] == found[1], "the same names have other bytes");
}

#[test]
fn equal_files_of_one_copy_are_sent_once() {
    let world = World::new();
    let artifacts = world.copy(&source()).join("artifacts");
    for name in ["one", "two", "three"] {
        fs::write(artifacts.join(name), large(1)).expect("written");
        fs::write(artifacts.join(format!("small-{name}")), &large(2)[..SMALL]).expect("written");
    }
    fs::hard_link(artifacts.join("one"), artifacts.join("linked")).expect("linked");
    world.op("fence", 5);
    let receipt = world.op("transfer", 5);
    let reused = 3 * LARGE + 2 * SMALL;
    assert_eq!(bytes(&receipt).1, u64::try_from(reused).expect("a number"), "{receipt}");
    assert_eq!(world.op("transfer", 5), receipt, "its receipt stays");
    hold_same(&world, &source(), &target());
    world.op("verify", 5);
}

#[test]
fn what_the_cell_has_of_the_environment_is_not_sent_again() {
    let world = World::new();
    let artifacts = world.copy(&source()).join("artifacts");
    for seed in 0..3 {
        fs::write(artifacts.join(format!("large-{seed}")), large(seed)).expect("written");
    }
    assert_eq!(bytes(&world.done(&snapshot("first", 5))).1, 0);
    let (sent, reused) = bytes(&world.done(&snapshot("second", 6)));
    let files = u64::try_from(3 * LARGE + "artifact ".len() * 4000).expect("a number");
    assert_eq!(reused, files, "all files but the smallest");
    let again = snapshot("third", 7);
    // One that begins like a known one and ends otherwise, and one whose known file has changed.
    let file = fs::File::options().write(true).open(artifacts.join("large-1")).expect("there");
    file.write_all_at(b"another end", u64::try_from(LARGE - 11).expect("a number")).expect("done");
    for package in ["first", "second"] {
        let known = world.copy(&json!({"cell": "c", "generation": format!("1-{package}")}));
        let known = known.join("artifacts/large-2");
        let file = fs::File::options().write(true).open(known).expect("there");
        file.write_all_at(b"rotten", u64::try_from(LARGE - 6).expect("a number")).expect("done");
    }
    let large = u64::try_from(LARGE).expect("a number");
    assert_eq!(bytes(&world.done(&again)), (sent + 2 * large, reused - 2 * large));
    hold_same(&world, &source(), &again["target"]);
}

/// A way back finds what the cell kept, and brings what was written since.
#[test]
fn a_way_back_sends_what_is_new_only() {
    let world = World::new();
    fs::write(world.copy(&source()).join("artifacts/large"), large(1)).expect("written");
    for op in ["drain", "fence", "transfer", "verify", "route"] {
        world.op(op, 5);
    }
    world.insert(&target(), 7).expect("written at the target");
    let (back, mut receipt) = (json!({"cell": "a", "generation": "3-op3"}), Value::Null);
    for op in ["drain", "fence", "transfer", "verify", "route"] {
        let mut request = World::request(op, 6);
        (request["operation"], request["epoch"]) = (json!("op3"), json!(2));
        if op != "verify" {
            request["source"] = target();
        }
        if request.get("target").is_some() {
            request["target"] = back.clone();
        }
        let done = world.done(&request);
        receipt = if op == "transfer" { done } else { receipt };
    }
    // The first copy was made by nobody who has digested it, so nothing of it is known.
    assert_eq!(bytes(&receipt).1, 0);
    assert_eq!(world.numbers(&back), [7]);
    hold_same(&world, &target(), &back);
}

#[test]
fn one_environment_gains_nothing_from_what_another_one_has() {
    let world = World::new();
    fs::write(world.copy(&source()).join("artifacts/large"), large(1)).expect("written");
    let folders = [world.path("cells/a/shop"), world.path("cells/a/other")];
    assert!(Command::new("cp").arg("-a").args(folders).status().expect("it runs").success());
    world.done(&snapshot("first", 5));
    let mut other = snapshot("first", 5);
    other["environment"] = json!("other");
    assert_eq!(bytes(&world.done(&other)).1, 0);
}

#[test]
fn holes_stay_holes_and_read_as_zeros() {
    use std::os::unix::fs::MetadataExt as _;
    let world = World::new();
    let path = world.copy(&source()).join("artifacts/sparse");
    let file = fs::File::create(&path).expect("made");
    file.set_len(64 << 20).expect("grown");
    file.write_all_at(b"in the middle", 33 << 20).expect("written");
    drop(file);
    world.op("fence", 5);
    world.op("transfer", 5);
    world.op("verify", 5);
    let copied = world.copy(&target()).join("artifacts/sparse");
    let room = |path: &std::path::Path| fs::metadata(path).expect("there").blocks() * 512;
    assert!(room(&copied) <= room(&path) + (1 << 20), "{} of {}", room(&copied), room(&path));
    hold_same(&world, &source(), &target());
}
