//! The real program: registry, change, move, standby, kills, on either engine.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::placed::{database, shop_in};
use crate::support::{Ran, World};

/// A ledger with two cells that are folders, an environment in the first, and who may move it.
pub(super) struct Placed {
    pub(super) world: World,
    pub(super) root: PathBuf,
}

const POLICY: &str = "permit (principal, action, resource);";

impl Placed {
    pub(super) fn new() -> Self {
        let world = World::new();
        world.init_fake();
        let policy = world.write("all.cedar", POLICY);
        world
            .run_args(&["policy", "put", policy.to_str().expect("UTF-8"), "--reason", "r"])
            .exits(0);
        let root = world.path("root");
        shop_in(&root);
        let placed = Self { world, root };
        let root = placed.root.to_str().expect("UTF-8").to_owned();
        let put = ["relocator", "put", "mover", "--", "scalectl", "relocator", "run", "local"];
        placed.world.run_args(&[&put[..], &["--root", &root]].concat()).exits(0);
        for line in [
            "capacity location put eu",
            "capacity location put us",
            "capacity cell put a --location eu --allocatable cpu=4,memory=8GiB,storage=10GiB",
            "capacity cell put b --location us --allocatable cpu=4,memory=8GiB,storage=10GiB",
            "capacity profile put small --floor cpu=1,memory=1GiB,storage=1GiB
             --maximum cpu=2,memory=2GiB,storage=4GiB",
            "capacity profile put large --floor cpu=2,memory=2GiB,storage=2GiB
             --maximum cpu=4,memory=4GiB,storage=8GiB",
            "capacity policy put std --offer small=1 --offer large=2 --cell a --cell b --budget 4",
            "placement adopt shop --policy std --cell a --generation 1-first --profile small
             --relocator mover --reason there",
        ] {
            placed.world.run(line).exits(0);
        }
        placed
    }

    pub(super) fn write(&self, below: &str, text: &str) {
        let path = self.root.join(below);
        fs::create_dir_all(path.parent().expect("below")).expect("made");
        fs::write(path, text).expect("written");
    }

    pub(super) fn database(&self, cell: &str, generation: &str) -> rusqlite::Connection {
        database(&self.root, cell, generation)
    }

    pub(super) fn route(&self) -> Value {
        let text = fs::read_to_string(self.root.join("routes/shop.json")).expect("a route");
        serde_json::from_str(&text).expect("a whole document")
    }

    pub(super) fn shop(&self) -> Value {
        self.world.json("placement show shop").exits(0).at("/environment")
    }

    /// A change under the revisions that hold now.
    pub(super) fn change(&self, words: &str) -> Ran {
        let revision = &self.shop()["revision"];
        self.world.json(&format!(
            "placement change shop --expect-revision {revision} --policy-revision 1 {words}"
        ))
    }
}

#[test]
fn an_environment_moves_with_its_data_and_comes_back_with_what_was_written() {
    let placed = Placed::new();
    let moved = placed.change("--location us --key k1 --run").exits(0);
    assert_eq!(moved.at("/operation/course"), "succeeded");
    let shop = placed.shop();
    assert_eq!((&shop["effective_cell"], &shop["epoch"]), (&json!("b"), &json!(2)));
    assert_eq!(shop["reserved"].as_array().expect("a list").len(), 1);
    let route = placed.route();
    assert_eq!((&route["cell"], &route["epoch"]), (&json!("b"), &json!(2)));
    let generation = shop["generation"].as_str().expect("a generation").to_owned();
    placed.database("b", &generation).execute("INSERT INTO entry VALUES (4)", []).expect("open");
    // The same key with the same body is the same change, whatever holds by now.
    let line =
        "placement change shop --expect-revision 1 --policy-revision 1 --location us --key k1";
    let again = placed.world.json(line).exits(0);
    assert_eq!((again.at("/replayed"), again.at("/changed")), (true.into(), false.into()));
    placed.change("--location eu --key k2 --run --wait").exits(0);
    let shop = placed.shop();
    let generation = shop["generation"].as_str().expect("a generation").to_owned();
    let count: i64 = placed
        .database("a", &generation)
        .query_row("SELECT count(*) FROM entry", [], |row| row.get(0))
        .expect("a table");
    assert_eq!((count, &shop["epoch"]), (4, &json!(3)));
    placed.world.run("verify").exits(0);
}

#[test]
fn a_recovery_copy_is_ready_while_it_serves_and_verifies_without_a_ledger() {
    let placed = Placed::new();
    placed.change("--standby us --key k1 --run").exits(0);
    let shop = placed.shop();
    assert_eq!(shop["protection"], "snapshot_ready");
    assert_eq!(placed.route()["epoch"], 1, "nothing was drained");
    let generation = shop["recovery_point"]["generation"].as_str().expect("one").to_owned();
    let package = placed.root.join(format!("cells/b/shop/{generation}"));
    placed.world.run_args(&["recovery", "verify", package.to_str().expect("UTF-8")]).exits(0);
    // A change that leaves it out keeps it.
    placed.change("--runtime-mode always-on --key k2").exits(0);
    assert_eq!(placed.shop()["protection"], "snapshot_ready");
    placed.change("--standby none --key k3 --run").exits(0);
    assert_eq!(placed.shop()["protection"], "none");
    assert!(!package.exists());
}

#[test]
fn a_full_cell_leaves_the_primary_serving_and_the_change_goes_on_once_there_is_room() {
    let placed = Placed::new();
    placed.write("cells/b/limit.json", r#"{"storage_bytes": 10}"#);
    let ran = placed.change("--standby us --key k1 --run");
    assert_eq!((ran.code, ran.at("/error/code")), (Some(18), "retry_later".into()), "{ran:#?}");
    assert_eq!(placed.route()["epoch"], 1);
    let id = ran.at("/operation/operation_id").as_str().expect("an id").to_owned();
    placed.write("cells/b/limit.json", r#"{"storage_bytes": 1073741824}"#);
    placed.world.run(&format!("operation run {id}")).exits(0);
    assert_eq!(placed.shop()["protection"], "snapshot_ready");
}

#[test]
fn a_move_into_a_full_cell_goes_back_and_serves_as_before() {
    let placed = Placed::new();
    placed.write("cells/b/limit.json", r#"{"storage_bytes": 10}"#);
    let ran = placed.change("--location us --key k1 --run");
    assert_eq!(
        (ran.code, ran.at("/error/code")),
        (Some(17), "capacity_exhausted".into()),
        "{ran:#?}"
    );
    assert_eq!(placed.route()["cell"], "a");
    placed.database("a", "1-first").execute("INSERT INTO entry VALUES (9)", []).expect("it writes");
    let shop = placed.shop();
    assert_eq!((&shop["effective_cell"], &shop["operation"]), (&json!("a"), &json!(null)));
}

#[test]
fn a_worker_that_was_killed_is_taken_over_at_every_point() {
    let mut deaths = 0;
    for point in ["before_commit", "after_commit", "after_spawn", "after_answer", "after_call_file"]
    {
        for nth in [1, 4, 7] {
            let mut placed = Placed::new();
            placed.change("--location us --key k1").exits(0);
            let id = placed.shop()["operation"].as_str().expect("an operation").to_owned();
            placed.world.set("SCALECTL_TEST_CRASH", format!("{point}#{nth}"));
            let ran = placed.world.run(&format!("operation run {id}"));
            placed.world.unset("SCALECTL_TEST_CRASH");
            deaths += usize::from(ran.code.is_none());
            assert!(ran.code.is_none() || ran.code == Some(0), "{point}#{nth} {ran:#?}");
            let ran = placed.world.json(&format!("operation run {id}"));
            assert_eq!(ran.code, Some(0), "{point}#{nth} {ran:#?}");
            assert_eq!(placed.route()["epoch"], 2, "{point}#{nth}");
            placed.world.run("verify").exits(0);
        }
    }
    assert!(deaths >= 12, "only {deaths} died");
}

#[test]
fn refusals_end_with_their_own_exits_and_leave_nothing() {
    let placed = Placed::new();
    let rows: [(&str, i32, &str); 8] = [
        ("--expect-revision 7 --policy-revision 1 --location us", 10, "stale_revision"),
        ("--expect-revision 1 --policy-revision 2 --location us", 10, "stale_policy"),
        ("--expect-revision 1 --policy-revision 1 --profile nope", 24, "placement_not_found"),
        ("--expect-revision 1 --policy-revision 1", 2, "nothing_wished"),
        ("--expect-revision 1 --policy-revision 1 --location eu --cell b", 2, "contradiction"),
        ("--expect-revision 1 --policy-revision 1 --location mars", 24, "placement_not_found"),
        ("--expect-revision 1 --policy-revision 1 --refresh-standby", 2, "contradiction"),
        ("--expect-revision 1 --policy-revision 1 --profile large --standby us", 0, ""),
    ];
    for (words, exit, code) in rows {
        let events = placed.world.json("verify").exits(0).at("/events");
        let ran = placed.world.json(&format!("placement plan shop {words}"));
        assert_eq!(ran.code, Some(exit), "{words}: {ran:#?}");
        if exit != 0 {
            assert_eq!(ran.at("/error/code"), code);
            let key = format!("k-{exit}-{code}");
            let ran = placed.world.json(&format!("placement change shop {words} --key {key}"));
            assert_eq!((ran.code, ran.at("/error/code")), (Some(exit), code.into()));
        }
        let is_kept = exit == 15;
        let after = placed.world.json("verify").exits(0).at("/events");
        assert_eq!(after == events, !is_kept, "{words}");
    }
    assert_eq!(placed.shop()["revision"], 1);
    assert_eq!(placed.shop()["operation"], json!(null));
}

#[test]
fn a_command_of_another_relocator_is_not_bound() {
    let placed = Placed::new();
    let other = concat!(
        r#"echo '{"protocol":"scalectl.relocator/1","ok":true,"receipt":{"op":"describe","#,
        r#""name":"other","version":"1","ops":["inventory"]}}'"#
    );
    let ran = placed.world.run_args(&["relocator", "bind", "mover", "--", "/bin/sh", "-c", other]);
    ran.exits(2).says("error[other_relocator]: the command is other, and mover is registered as");
    let ran = placed.world.run_args(&["relocator", "bind", "mover", "--", "/bin/true"]);
    ran.exits(20).says("relocator mover could not describe");
    let shown = placed.world.run("relocator show mover").exits(0).stdout;
    assert!(shown.contains("scalectl relocator run local"), "{shown}");
}
