//! `service discover`: what `local` could scale, and an actuator that cannot say.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use serde_json::{Value, json};

use crate::support::schema::Schema;
use crate::support::{Ran, World};

/// Every target that was found, and the rest of its line.
#[track_caller]
fn found(ran: &Ran) -> Vec<Value> {
    let document = ran.json();
    assert_eq!(Schema::named("answer").problems(&document), Vec::<String>::new(), "{document:#}");
    document["discovery"]["found"].as_array().unwrap().clone()
}

fn line(one: &Value) -> Vec<&str> {
    let words = one["next"].as_array().expect("a line");
    words.iter().skip(1).filter_map(Value::as_str).collect()
}

#[test]
fn local_lists_the_workloads_of_its_root_under_whatever_names() {
    let world = World::with_local();
    world.run("scale web=2 --reason up").exits(0);
    // A name that is none of a folder, and one that was never scaled.
    for (name, workload) in [("team", "team/api:v2"), ("idle", "idle")] {
        let put = format!("service put {name} --actuator procs --workload {workload} --max 3");
        world.run(&put).exits(0);
    }
    let before = world.events();
    let ran = world.json("service discover procs").exits(0);
    let all = found(&ran);
    let told: Vec<Value> = all
        .iter()
        .map(|one| json!([one["target"]["workload_id"], one["replicas"], one["service"]]))
        .collect();
    let expected =
        [json!(["idle", 0, "idle"]), json!(["team/api:v2", 0, "team"]), json!(["web", 2, "web"])];
    assert_eq!(told, expected);
    assert!(all.iter().all(|one| one["next"].is_null() && one["same_object"] == true));
    assert_eq!(world.events(), before, "nothing is written to the ledger");
    world.run("service discover procs --runtime elsewhere").exits(20).says("unknown_workload");
    // Another ledger of the same root: what takes orders from the first is not offered to it, and
    // each line that is told is taken.
    let other = ["--ledger", "other.db"];
    let run = |words: &[&str]| world.run_args(&[&other[..], words].concat());
    run(&["init"]).exits(0);
    let bound = world.json("actuator show procs").exits(0).at("/command");
    let bound: Vec<&str> = bound.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    run(&[&["actuator", "put", "local", "--"], &bound[..]].concat()).exits(0);
    let all = found(&run(&["service", "discover", "local", "-o", "json"]).exits(0));
    let owner = format!("scalectl ledger {}", ran.at("/ledger/id").as_str().unwrap());
    assert_eq!((&all[2]["owners"], &all[2]["next"]), (&json!([owner]), &Value::Null));
    for (at, name) in [(0, "idle"), (1, "api:v2")] {
        assert_eq!(all[at]["service"], Value::Null);
        assert_eq!(line(&all[at])[4], name, "{:?}", all[at]);
        run(&line(&all[at])[2..]).exits(0);
    }
}

#[test]
fn a_folder_that_does_not_say_its_name_and_a_busy_one_are_named() {
    let world = World::with_local();
    for (name, workload) in [("team", "team/api"), ("idle", "idle")] {
        let put = format!("service put {name} --actuator procs --workload {workload} --max 3");
        world.run(&put).exits(0);
    }
    let root = world.path("procs");
    let folder = |starts: &str| {
        let mut entries = std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
        let of = |path: &std::path::PathBuf| {
            path.file_name()
                .is_some_and(|name| name.to_str().is_some_and(|it| it.starts_with(starts)))
        };
        entries.find(of).expect("a folder")
    };
    let hashed = folder("sha256-");
    // A name that is not that of the folder is not believed.
    std::fs::write(hashed.join("name"), "idle").unwrap();
    let lock = std::fs::File::options().write(true).open(folder("idle").join("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let ran = world.json("service discover procs").exits(0);
    let unread = ran.at("/discovery/unread");
    let unread: Vec<&str> = unread.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(unread.len(), 2, "{unread:?}");
    assert!(unread.contains(&"idle (busy)"), "{unread:?}");
    assert!(unread.iter().any(|it| it.starts_with("sha256-") && it.contains("name")), "{unread:?}");
    // Whoever reads it by its name next says the name again.
    std::fs::remove_file(hashed.join("name")).unwrap();
    drop(lock);
    world.run("service bind team").exits(0);
    let ran = world.json("service discover procs").exits(0);
    let told: Vec<Value> =
        found(&ran).iter().map(|one| one["target"]["workload_id"].clone()).collect();
    assert_eq!(told, [json!("idle"), json!("team/api"), json!("web")]);
}

#[test]
fn who_cannot_list_is_not_asked_and_the_way_on_is_told() {
    let world = World::with_fake();
    let asked = world.fake_log("discover").len();
    let ran = world.json("service discover fake").exits(2);
    assert_eq!(ran.at("/error/code"), "cannot_discover");
    assert_eq!((ran.at("/recorded"), ran.at("/applied")), (json!("no"), json!("no")));
    assert_eq!(world.fake_log("discover").len(), asked);
    // The same command, which is registered with what it declares now.
    let next = ran.at("/error/next/0");
    let words: Vec<&str> = next.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(words[1..5], ["actuator", "put", "fake", "--"]);
    world.run_args(&words[1..]).exits(0);
    world.run("service discover nobody").exits(24);
}

/// A list that is not in order, or of elsewhere, is no list.
#[test]
fn an_answer_that_breaks_a_rule_is_not_believed() {
    let world = World::new();
    world.run("init").exits(0);
    for (number, found) in ["[{}]", "[]", "7"].into_iter().enumerate() {
        let script = format!(
            "read -r request; case $request in *describe*) echo '{{\"protocol\":\
             \"scalectl.actuator/1\",\"name\":\"lists\",\"version\":\"1\",\"capabilities\":\
             {{\"discover\":true}}}}' ;; *) echo '{{\"protocol\":\"scalectl.actuator/1\",\
             \"read_at\":\"2020-01-01T00:00:00Z\",\"found\":{found}}}' ;; esac"
        );
        let name = format!("lists-{number}");
        world.run_args(&["actuator", "put", &name, "--", "/bin/sh", "-c", &script]).exits(0);
        let ran = world.json(&format!("service discover {name}")).exits(20);
        // The empty one is of long ago.
        assert_eq!(ran.at("/recorded"), "no", "{ran:#?}");
    }
}
