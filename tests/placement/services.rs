//! What a placement and the counts of its services have to do with each other, and what a person is
//! shown while a change is under way.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::program::Placed;
use crate::support::SERVICE;

/// An environment with the service `web` in it, which has three replicas.
fn with_web() -> Placed {
    let placed = Placed::new();
    placed.world.run(&format!("{SERVICE} --backoff 0s --environment shop")).exits(0);
    placed.world.run("scale web=3 --reason r --no-wait").exits(0);
    placed
}

/// A move that has come to its drain and no further: its operation.
fn drained(placed: &mut Placed) -> String {
    placed.change("--location us --key k1").exits(0);
    let id = placed.shop()["operation"].as_str().expect("an operation").to_owned();
    placed.world.set("SCALECTL_TEST_CRASH", "after_answer#2");
    let ran = placed.world.run(&format!("operation run {id}"));
    placed.world.unset("SCALECTL_TEST_CRASH");
    assert_eq!(ran.code, None, "{ran:#?}");
    assert_eq!(placed.route()["unavailable"], "relocating");
    id
}

fn wish(placed: &Placed, count: u64, key: &str) -> crate::support::Ran {
    placed.world.json(&format!(
        "intent put web --replicas {count} --expect-revision latest --key {key} --reason r"
    ))
}

fn kinds_of(placed: &Placed) -> Vec<String> {
    let all = placed.world.json("log web --limit 200").exits(0).at("/events");
    let all = all.as_array().expect("a list").iter();
    all.map(|event| event["event"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn while_it_moves_nothing_of_its_services_starts_and_a_move_writes_no_count() {
    let mut placed = with_web();
    let before = kinds_of(&placed);
    let id = drained(&mut placed);
    let ran = wish(&placed, 4, "w1");
    assert_eq!((ran.code, ran.at("/error/code")), (Some(11), "relocating".into()), "{ran:#?}");
    placed.world.run(&format!("operation run {id}")).exits(0);
    let wishes = |kinds: &[String]| kinds.iter().filter(|kind| *kind == "intent_accepted").count();
    assert_eq!(wishes(&kinds_of(&placed)), wishes(&before), "a move wishes no count");
    let ran = wish(&placed, 4, "w2");
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(placed.shop()["epoch"], 2, "a count moves nothing");
}

#[test]
fn a_move_waits_for_what_of_its_services_is_in_flight() {
    let placed = with_web();
    placed.world.script(&["ok", "hang"]);
    let mut call = placed.world.start("scale web=4 --reason r --no-wait");
    placed.world.until("the call begins", || placed.world.fake_log("calls").len() == 2);
    let ran = placed.change("--location us --key k1");
    call.kill().expect("ours");
    call.wait().expect("it ends");
    assert_eq!((ran.code, ran.at("/error/code")), (Some(11), "service_in_flight".into()));
    assert_eq!(
        (&placed.shop()["operation"], &placed.shop()["revision"]),
        (&json!(null), &json!(1))
    );
}

#[test]
fn a_wish_that_waits_is_not_carried_out_elsewhere_and_the_next_object_is_the_services() {
    let placed = with_web();
    assert_eq!(wish(&placed, 4, "w1").code, Some(0));
    placed.change("--location us --key k1").exits(0);
    let id = placed.shop()["operation"].as_str().expect("an operation").to_owned();
    placed.world.run(&format!("operation run {id}")).exits(0);
    let shown = placed.world.json("intent show w1").exits(0);
    assert_eq!(shown.at("/execution/state"), "withdrawn", "{shown:#?}");
    let kinds = kinds_of(&placed);
    assert_eq!(kinds[kinds.len() - 2..], ["intent_withdrawn", "target_bound"], "{kinds:?}");
    let told = placed.world.run("log web").exits(0).stdout;
    let why = format!("shop has moved to cell b ({id})");
    assert!(told.contains(&why) && told.contains("the next reading says what it is"), "{told}");
    let ran = placed.world.json("actuate w1");
    assert_eq!((ran.code, placed.world.fake_log("calls").len()), (Some(10), 1), "{ran:#?}");
    // There it is another object: the placement has said so, and nobody has to.
    placed.world.write("fake/uid", "in-b\n");
    placed.world.run("scale web=5 --reason r --no-wait").exits(0);
    let head = placed.world.json("service show web").exits(0);
    assert_eq!(head.at("/service/binding/target_uid"), "in-b", "{head:#?}");
    assert_eq!(head.at("/service/unit_revision"), 1, "no setting has changed");
    // From then on another one is refused as ever.
    placed.world.write("fake/uid", "made-anew\n");
    let ran = placed.world.json("scale web=6 --reason r --no-wait");
    assert_eq!((ran.code, ran.at("/error/code")), (Some(10), "target_changed".into()), "{ran:#?}");
    placed.world.run("verify").exits(0);
}

#[test]
fn a_move_that_leaves_no_cell_binds_nothing_anew() {
    let placed = with_web();
    assert_eq!(wish(&placed, 4, "w1").code, Some(0));
    let before = kinds_of(&placed);
    placed.change("--profile large --key k1").exits(0);
    placed.change("--standby us --key k2 --run").exits(0);
    assert_eq!(kinds_of(&placed), before);
    placed.world.run("actuate w1").exits(0);
}

/// What a plan says is what the change is: its refusal, its replay, its conflict.
#[test]
fn a_plan_ends_as_the_change_would() {
    let placed = with_web();
    let line = "--expect-revision 1 --policy-revision 1 --location us --key k1";
    let plan = |line: &str| placed.world.json(&format!("placement plan shop {line}"));
    let rule = |name: &str, action: &str| {
        let text = format!("permit (principal, action{action}, resource);\n");
        let file = placed.world.write(name, text);
        let words = ["policy", "put", file.to_str().expect("UTF-8"), "--reason", "r"];
        placed.world.run_args(&words).exits(0);
    };
    rule("others.cedar", " in [Action::\"register\", Action::\"set_policy\"]");
    let ran = plan(line);
    assert_eq!((ran.code, ran.at("/error/code")), (Some(12), "denied".into()), "{ran:#?}");
    rule("all.cedar", "");
    assert_eq!(plan(line).exits(0).at("/plan/to/cell"), "b");
    placed.world.run(&format!("placement change shop {line} --run")).exits(0);
    let ran = plan(line).exits(0);
    assert_eq!(
        (ran.at("/replayed"), ran.at("/operation/course")),
        (true.into(), "succeeded".into())
    );
    let ran = plan("--expect-revision 1 --policy-revision 1 --location eu --key k1");
    assert_eq!((ran.code, ran.at("/error/code")), (Some(10), "key_conflict".into()), "{ran:#?}");
    plan("--expect-revision 2 --policy-revision 1 --location eu").exits(0);
}

#[test]
fn what_is_always_on_takes_no_zero_and_what_sleeps_stops_no_database() {
    let placed = with_web();
    placed.change("--runtime-mode always-on --key k1").exits(0);
    let ran = wish(&placed, 0, "w1");
    assert_eq!((ran.code, ran.at("/error/code")), (Some(15), "always_on".into()), "{ran:#?}");
    placed.change("--runtime-mode on-demand --key k2").exits(0);
    let route = placed.route();
    placed.world.run("scale web=0 --reason r --no-wait").exits(0);
    assert_eq!(placed.route(), route, "it is led to as before");
    placed.database("a", "1-first").execute("INSERT INTO entry VALUES (9)", []).expect("it writes");
}

/// Every file of the cells with its size and its time of change.
fn files(folder: &Path) -> BTreeMap<PathBuf, (u64, std::time::SystemTime)> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(&at).expect("a folder").flatten() {
            let about = entry.metadata().expect("it is there");
            if about.is_dir() {
                open.push(entry.path());
            } else {
                found.insert(entry.path(), (about.len(), about.modified().expect("a time")));
            }
        }
    }
    found
}

#[test]
fn another_profile_touches_no_file() {
    let placed = Placed::new();
    let before = files(&placed.root);
    placed.change("--profile large --key k1").exits(0);
    assert_eq!(placed.shop()["effective_profile"], "large");
    assert_eq!(files(&placed.root), before);
}

#[test]
fn what_is_wished_is_shown_beside_what_is_until_it_is_over() {
    let mut placed = Placed::new();
    let id = drained(&mut placed);
    let shop = placed.shop();
    assert_eq!(shop["desired"]["location"], "us", "the wish");
    assert_eq!((&shop["effective_cell"], &shop["effective_location"]), (&json!("a"), &json!("eu")));
    assert_eq!((&shop["epoch"], &shop["operation"]), (&json!(1), &json!(id)));
    assert_eq!((&shop["phase"], &shop["unavailable"]), (&json!("drain"), &json!(true)));
    let reserved = shop["reserved"].as_array().expect("a list");
    let roles: Vec<(&Value, &Value)> =
        reserved.iter().map(|it| (&it["role"], &it["cell"])).collect();
    assert_eq!(roles, [(&json!("primary"), &json!("a")), (&json!("overlap"), &json!("b"))]);
    placed.world.run(&format!("operation run {id}")).exits(0);
    // A relocator that refuses says why, until it does not refuse any more.
    placed.write("cells/a/limit.json", r#"{"storage_bytes": 10}"#);
    placed.change("--standby eu --key k2 --run");
    let shop = placed.shop();
    assert_eq!(shop["phase"], "snapshot");
    assert!(shop["reason"].as_str().expect("a reason").contains("bytes"), "{shop}");
}

#[test]
fn giving_up_a_wait_ends_nothing() {
    let placed = Placed::new();
    placed.change("--location us --key k1").exits(0);
    let id = placed.shop()["operation"].as_str().expect("an operation").to_owned();
    placed.world.run(&format!("operation wait {id} --timeout 1s")).exits(19);
    assert_eq!(placed.shop()["operation"], json!(id), "it is there as before");
    placed.world.run(&format!("operation run {id}")).exits(0);
    placed.world.run(&format!("operation wait {id} --timeout 1s")).exits(0);
    assert_eq!(placed.shop()["effective_cell"], "b");
}

/// After a move, too: whoever looks holds no token, and is overtaken by none.
#[test]
fn a_running_workspace_is_told_as_one_whatever_has_moved_before() {
    let placed = Placed::new();
    placed.change("--location us --key k1 --run").exits(0);
    let generation = placed.shop()["generation"].as_str().expect("one").to_owned();
    let copy = format!("cells/b/shop/{generation}");
    placed.write(&format!("{copy}/workspace/notes.txt"), "half a thought");
    placed.write(&format!("{copy}/workspace.json"), r#"{"state": "running"}"#);
    let ran = placed.change("--location eu --key k2");
    assert_eq!(
        (ran.code, ran.at("/error/code")),
        (Some(11), "workspace_running".into()),
        "{ran:#?}"
    );
}

#[test]
fn what_is_not_there_does_not_become_known() {
    let placed = Placed::new();
    for wish in ["--location mars", "--standby mars"] {
        let ran = placed.change(&format!("{wish} --key k0"));
        assert_eq!((ran.code, ran.at("/error/code")), (Some(24), "placement_not_found".into()));
        ran.says("scalectl capacity location list");
    }
    let adopt = |what: &str| {
        placed.world.json(&format!(
            "placement adopt {what} --policy std --cell a --profile small --relocator mover
             --reason r"
        ))
    };
    let ran = adopt("shop --generation 1-other --expect-revision 1");
    assert_eq!(
        (ran.code, ran.at("/error/code")),
        (Some(25), "inventory_unknown".into()),
        "{ran:#?}"
    );
    std::fs::remove_file(placed.root.join("routes/shop.json")).expect("ours");
    let ran = placed.change("--location us --key k1");
    assert_eq!(
        (ran.code, ran.at("/error/code")),
        (Some(25), "missing_dependency".into()),
        "{ran:#?}"
    );
    let facts = ran.json().to_string();
    assert!(facts.contains("route of environment shop"), "{facts}");
}

/// Another ledger has moved it before, and is lost: a person says so, once.
#[test]
fn a_token_of_a_lost_ledger_is_gone_above_by_one_retry() {
    let mut placed = Placed::new();
    placed.write(
        &format!("fences/{}.json", "shop"),
        r#"{"environment": "shop", "token": 12884901890, "operation": "op-lost"}"#,
    );
    placed.change("--location us --key k1").exits(0);
    let id = placed.shop()["operation"].as_str().expect("an operation").to_owned();
    let run = format!("operation run {id}");
    let ran = placed.world.json(&run);
    assert_eq!((ran.code, ran.at("/error/code")), (Some(26), "stuck".into()), "{ran:#?}");
    // It is seen by whoever asks whether all is well.
    placed.world.run("status --check").exits(26);
    let told = placed.world.run("status").exits(0).stdout;
    assert!(told.contains("1 needs a person: environment shop (stuck: drain, "), "{told}");
    assert!(placed.world.run("doctor").exits(26).stdout.contains("stuck: shop"));
    let told = placed.world.run("metrics").exits(0).stdout;
    assert!(told.contains("scalectl_environment_stuck{environment=\"shop\"} 1"), "{told}");
    let told = placed.world.run(&format!("operation retry {id} --reason lost")).exits(0).stdout;
    assert!(told.contains(&format!("next       scalectl {run}")), "{told}");
    placed.world.set("SCALECTL_TEST_CRASH", "after_answer#2");
    placed.world.run(&run);
    placed.world.unset("SCALECTL_TEST_CRASH");
    placed.world.run(&run).exits(0);
    assert_eq!(placed.shop()["effective_cell"], "b");
    placed.world.run("status --check").exits(0);
    placed.world.run("verify").exits(0);
}

/// A cache goes by itself; what somebody has written goes by a word of its own.
#[test]
fn a_workspace_that_a_move_has_left_is_retired_by_name_and_nothing_else_is() {
    let placed = Placed::new();
    placed.write("cells/a/shop/1-first/workspace/notes.txt", "half a thought");
    placed.write("cells/a/shop/1-first/workspace.json", r#"{"state": "stopped"}"#);
    placed.change("--location us --key k1 --run").exits(0);
    let left = placed.root.join("cells/a/shop/1-first/workspace/notes.txt");
    assert!(left.is_file());
    assert_eq!(placed.shop()["kept_workspaces"][0]["generation"], "1-first");
    let ran = placed.change("--retire-workspace 1-other --key k2");
    assert_eq!(
        (ran.code, ran.at("/error/code")),
        (Some(24), "placement_not_found".into()),
        "{ran:#?}"
    );
    ran.says("scalectl placement list");
    let ran = placed.change("--retire-workspace 1-first --profile large --key k2");
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    // Somebody works in it.
    placed.write("cells/a/shop/1-first/workspace.json", r#"{"state": "running"}"#);
    let ran = placed.change("--retire-workspace 1-first --key k2 --run");
    assert_eq!((ran.code, ran.at("/error/code")), (Some(26), "stuck".into()), "{ran:#?}");
    let id = placed.shop()["operation"].as_str().expect("an operation").to_owned();
    assert!(left.is_file());
    placed.write("cells/a/shop/1-first/workspace.json", r#"{"state": "stopped"}"#);
    placed.world.run(&format!("operation retry {id} --reason stopped")).exits(0);
    let before = placed.shop();
    placed.world.run(&format!("operation run {id}")).exits(0);
    assert!(!placed.root.join("cells/a/shop/1-first").exists());
    let shop = placed.shop();
    assert_eq!(shop["kept_workspaces"], json!([]));
    for kept in ["effective_cell", "epoch", "reserved", "desired"] {
        assert_eq!(shop[kept], before[kept], "{kept}");
    }
    assert_eq!(placed.route()["cell"], "b", "it was served all the time");
    placed.world.run("verify").exits(0);
    // Given up before it began, all is as it was.
    placed.change("--location eu --key k3 --run").exits(0);
    let kept = placed.shop()["kept_workspaces"][0]["generation"].clone();
    let kept = kept.as_str().expect("the copy in b").to_owned();
    placed.change(&format!("--retire-workspace {kept} --key k4")).exits(0);
    let id = placed.shop()["operation"].as_str().expect("an operation").to_owned();
    placed.world.run(&format!("operation abandon {id} --reason later")).exits(0);
    assert_eq!(placed.shop()["kept_workspaces"].as_array().map(Vec::len), Some(1));
    placed.world.run("verify").exits(0);
}
