//! `actuator check`: the house's actuators pass; a broken one fails the row that it breaks.

use std::path::Path;

use serde_json::Value;

use crate::support::{Ran, SCALECTL, World, fake_actuator};

const FULL: &str = "inspect\nlookup\nfence\ndeduplicates_execution_key\nconditional_on_version\n";

fn fixture(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/actuators").join(file);
    path.to_str().unwrap().to_owned()
}

/// A ledger without a policy: registering and administering are open.
fn world() -> World {
    let mut world = World::new();
    world.run("init").exits(0);
    std::fs::create_dir_all(world.fake_dir()).unwrap();
    let counter = world.path("counter");
    std::fs::create_dir_all(&counter).unwrap();
    world.set("COUNTER_DIR", counter.to_str().unwrap());
    world
}

fn put(world: &World, command: &[&str]) {
    let mut words = vec!["actuator", "put", "it", "--timeout", "20s", "--"];
    words.extend(command);
    world.run_args(&words).exits(0);
}

fn says(ran: &Ran, row: &str) -> (String, String) {
    let document = ran.json();
    let rows = document["checks"].as_array().unwrap();
    let found = rows.iter().find(|check| check["check"] == row);
    let found = found.unwrap_or_else(|| panic!("no row {row}: {document:#}"));
    let text = |member: &str| found[member].as_str().unwrap().to_owned();
    (text("says"), text("seen"))
}

fn failed(ran: &Ran) -> Vec<String> {
    let document = ran.json();
    let rows = document["checks"].as_array().unwrap().iter();
    let failed = rows.filter(|check| check["says"] == "failed");
    failed.map(|check| check["check"].as_str().unwrap().to_owned()).collect()
}

/// Every row is passed or not declared, and the ones that are declared are passed.
fn passes(world: &World, line: &str, declared: &[&str]) {
    let before = world.events();
    let ran = world.json(line).exits(0);
    assert_eq!(failed(&ran), Vec::<String>::new());
    let document = ran.json();
    for check in document["checks"].as_array().unwrap() {
        assert_ne!(check["says"], "not_tried", "{document:#}");
    }
    for row in declared {
        assert_eq!(says(&ran, row).0, "passed", "{row}");
    }
    assert_eq!(ran.at("/applied"), "yes");
    assert_eq!(ran.at("/recorded"), "no");
    assert_eq!(world.events(), before, "a check writes nothing to the ledger");
}

const ALL_ROWS: [&str; 6] = [
    "deduplicates_execution_key",
    "lookup_applied",
    "rejects_stale_lease",
    "conditional_on_version",
    "lookup_never",
    "fence",
];

#[test]
fn local_passes_its_check_and_leaves_no_replica() {
    let world = world();
    let command = ["scalectl", "actuator", "run", "local", "--state-dir", "procs", "--command"];
    put(&world, &[&command[..], &["sleep 300"]].concat());
    passes(&world, "actuator check it", &ALL_ROWS);
    // The next check begins with what the first left, and its fences are above.
    passes(&world, "actuator check it", &ALL_ROWS);
    passes(&world, "actuator check it", &["discover"]);
}

/// The house's own actuator, but for what it says that it could scale.
#[test]
fn a_list_without_the_workload_or_out_of_order_fails_its_row() {
    let local = format!("{SCALECTL} actuator run local --state-dir procs --command 'sleep 300'");
    let list = |found: &str| {
        let read_at = "$(date -u +%Y-%m-%dT%H:%M:%SZ)";
        format!(
            "read -r r\ncase $r in\n*'\"op\":\"discover\"'*) printf \
             '{{\"protocol\":\"scalectl.actuator/1\",\"read_at\":\"%s\",{found}}}' \
             \"{read_at}\" ;;\n\
             *) cd \"$HOME\" && printf '%s\\n' \"$r\" | {local} ;;\nesac\n"
        )
    };
    for (found, seen) in [
        ("\"found\":[]", "is not listed"),
        ("\"found\":7", "discover: the actuator's answer cannot be read"),
    ] {
        let world = world();
        let script = world.write("list.sh", list(found));
        put(&world, &["/bin/sh", script.to_str().unwrap()]);
        let ran = world.json("actuator check it").exits(17);
        assert_eq!(failed(&ran), ["discover"], "{ran:#?}");
        assert!(says(&ran, "discover").1.contains(seen), "{ran:#?}");
    }
    // Where there is more than is listed, it need not be among what is.
    let world = world();
    let script = world.write("list.sh", list("\"found\":[],\"more\":true"));
    put(&world, &["/bin/sh", script.to_str().unwrap()]);
    world.run("actuator check it").exits(0);
}

#[test]
fn exec_passes_its_check_with_and_without_a_command_that_reads() {
    let world = world();
    let count = world.write("count", "0");
    let apply = format!("echo {{desired_replicas}} > {}", count.display());
    let run = ["scalectl", "actuator", "run", "exec", "--shell", "--apply", &apply];
    put(&world, &run);
    passes(&world, "actuator check it", &["apply_up", "left_as_found"]);

    std::fs::write(&count, "3").unwrap();
    let inspect = format!("cat {}", count.display());
    put(&world, &[&run[..], &["--inspect", &inspect]].concat());
    passes(&world, "actuator check it", &["inspect", "apply_up", "left_as_found"]);
    assert_eq!(std::fs::read_to_string(&count).unwrap(), "3\n", "left as it was found");
}

#[test]
fn the_teaching_example_in_sh_passes_its_check() {
    let world = world();
    put(&world, &["/bin/sh", &fixture("counter.sh")]);
    let declared = ["deduplicates_execution_key", "lookup_never", "conditional_on_version"];
    passes(&world, "actuator check it --workload counter", &declared);
}

#[test]
fn the_teaching_example_in_python_passes_its_check() {
    let world = world();
    put(&world, &["python3", &fixture("counter.py")]);
    passes(&world, "actuator check it --workload counter", &ALL_ROWS);
}

#[test]
fn the_fake_passes_its_check() {
    let world = world();
    world.write("fake/capabilities", FULL);
    put(&world, &["/bin/sh", fake_actuator().to_str().unwrap()]);
    passes(&world, "actuator check it", &["deduplicates_execution_key", "fence"]);
}

#[test]
fn a_broken_answer_fails_the_row_of_apply() {
    for (word, text, also) in [
        ("garble", "unknown garbled_result", vec!["one_object"]),
        ("two", "unknown garbled_result", vec!["one_object"]),
        ("silent", "unknown no_result", vec!["one_object"]),
        ("flood", "unknown garbled_result", vec!["one_object"]),
        ("exit1-ok", "unknown exit_contradicts", vec!["exit_codes"]),
        ("die", "unknown died_by_signal", vec!["one_object", "exit_codes"]),
        ("wrong-key", "unknown wrong_key", vec![]),
        ("unknown", "unknown said_unknown", vec![]),
        ("count 4", "1 was wished, and it says 4", vec![]),
        ("fail terminal quota", "failed quota", vec![]),
    ] {
        let world = world();
        world.write("fake/capabilities", FULL);
        world.script(&[word]);
        put(&world, &["/bin/sh", fake_actuator().to_str().unwrap()]);
        let ran = world.json("actuator check it").exits(17);
        assert!(says(&ran, "apply_up").1.starts_with(text), "{word}: {ran:#?}");
        let expected = [vec!["apply_up"], also].concat();
        assert_eq!(failed(&ran), expected, "{word}");
        assert_eq!(says(&ran, "fence").0, "not_tried", "{word}");
        assert_eq!(says(&ran, "left_as_found").0, "passed", "{word}");
        assert_eq!(
            std::fs::read_to_string(world.path("fake/count")).unwrap_or_default().trim(),
            if word.starts_with("fail") { "" } else { "0" },
            "{word}"
        );
    }
}

#[test]
fn an_actuator_that_hangs_is_not_asked_to_the_end() {
    let world = world();
    world.write("fake/capabilities", FULL);
    world.script(&["hang"]);
    let fake = fake_actuator();
    let put = ["actuator", "put", "it", "--timeout", "1s", "--", "/bin/sh"];
    world.run_args(&[&put[..], &[fake.to_str().unwrap()]].concat()).exits(0);
    let ran = world.json("actuator check it").exits(17);
    assert_eq!(failed(&ran), ["apply_up", "in_time"]);
    assert_eq!(ran.at("/applied"), "unknown");
    assert_eq!(says(&ran, "lookup_never").1, "not tried: apply was not done in time");
    assert_eq!(says(&ran, "left_as_found").0, "passed", "and yet it is left as it was");
    let fakes = world.fake_log("calls");
    assert_eq!(fakes.len(), 2, "one that hung, one to leave it as it was: {fakes:?}");
}

#[test]
fn what_cannot_be_left_as_it_was_is_said() {
    let world = world();
    world.write("fake/capabilities", "inspect\n");
    world.write("fake/count", "3\n");
    // first, one, two, future, long, zero, last
    world.script(&["ok", "ok", "ok", "ok", "ok", "ok", "fail terminal stuck"]);
    put(&world, &["/bin/sh", fake_actuator().to_str().unwrap()]);
    let ran = world.json("actuator check it").exits(17);
    assert_eq!(failed(&ran), ["left_as_found"]);
}

/// A wrapper around the fake that breaks one promise. What it does after an answer is in a file of
/// its own, which is not bound with it and may change.
fn liar(world: &World, before: &str, filter: &str, after: &str) -> String {
    let fake = fake_actuator();
    let text = format!(
        "#!/bin/sh\nread -r request\n{before}\nprintf '%s\\n' \"$request\" | \
         /bin/sh '{}' | sed -E '{filter}'\n. '{}'\n",
        fake.display(),
        world.write("after.sh", format!("{after}\n")).display()
    );
    world.write("liar.sh", text).to_str().unwrap().to_owned()
}

const DECLARE: &str = r#"s/"capabilities":\{/"capabilities":{"WORD":true,/; s/,\}/}/"#;
const STUCK: &str = r#"s/("(target_resource_version|resource_version_after)"):"[0-9]+"/\1:"7"/g"#;
const DUMB: &str =
    r#"case $request in *'"op":"scalectl_check"'* | 'this is no JSON') exit 0 ;; esac"#;
const STRICT: &str = r#"case $request in *future_word*)
    echo '{"protocol":"scalectl.actuator/1","error":{"code":"bad_request"}}'; exit ;; esac"#;

#[test]
fn a_broken_promise_fails_its_row() {
    let declare = |word: &str| DECLARE.replace("WORD", word);
    let stuck = format!("{}; {STUCK}", declare("conditional_on_version"));
    let dedupes = declare("deduplicates_execution_key");
    let stale = declare("rejects_stale_lease");
    let conditional = declare("conditional_on_version");
    let evidence = declare("evidence");
    let drift = r#"s/"read_at":"[0-9]+/"read_at":"1999/"#;
    let forget = r#"rm -f "$FAKE_ACTUATOR_DIR"/refused "$FAKE_ACTUATOR_DIR"/fence"#;
    for (capabilities, before, filter, after, rows) in [
        ("inspect", "", dedupes.as_str(), "", vec!["deduplicates_execution_key"]),
        ("inspect", "", &stale, "", vec!["rejects_stale_lease"]),
        ("inspect", "", &conditional, "", vec!["conditional_on_version"]),
        ("inspect", "", &stuck, "", vec!["conditional_on_version", "version_moves"]),
        ("inspect", "", &evidence, "", vec!["evidence"]),
        ("inspect\nlookup", "", "", forget, vec!["lookup_never"]),
        ("inspect\nfence", "", "", forget, vec!["fence"]),
        ("inspect", DUMB, "", "", vec!["unreadable_request", "one_object"]),
        ("inspect", STRICT, "", "", vec!["describe", "inspect", "unknown_members"]),
        ("inspect", "", "s/x{100,}/x/g", "", vec!["longest_values"]),
        ("inspect", "", drift, "", vec!["inspect"]),
        ("inspect", "", r#"s/"target_uid":"[^"]*",//"#, "", vec!["inspect"]),
        ("inspect", "", "", "exit 3", vec![]),
    ] {
        let world = world();
        world.write("fake/capabilities", format!("{capabilities}\n"));
        put(&world, &["/bin/sh", &liar(&world, before, filter, "")]);
        // It is well when it is registered, and breaks afterwards.
        liar(&world, before, filter, after);
        let ran = world.json("actuator check it").exits(17);
        if rows.is_empty() {
            assert!(failed(&ran).contains(&"exit_codes".to_owned()), "{ran:#?}");
        } else {
            assert_eq!(failed(&ran), rows, "{filter} {before}: {ran:#?}");
        }
    }
}

#[test]
fn an_actuator_that_declares_other_things_than_registered_is_told_so() {
    let world = world();
    world.write("fake/capabilities", "inspect\n");
    put(&world, &["/bin/sh", fake_actuator().to_str().unwrap()]);
    world.write("fake/capabilities", "inspect\nlookup\n");
    let ran = world.json("actuator check it").exits(17);
    assert_eq!(failed(&ran), ["describe"]);
}

#[test]
fn a_target_of_a_service_is_never_checked() {
    let world = World::with_fake();
    let before = world.events();
    let count = || world.fake_log("calls").len();
    for (line, code) in [
        ("actuator check fake", "actuator_in_use"),
        ("actuator check fake --workload web", "workload_in_use"),
    ] {
        let ran = world.json(line).exits(2);
        assert_eq!(ran.at("/error/code"), code);
        assert_eq!(ran.at("/applied"), "no");
    }
    assert_eq!((count(), world.events()), (0, before));
    // Another actuator that reaches the same object is found out by the uid.
    let same = liar(&world, "", r#"s/"target_uid":"fake:[^"]*"/"target_uid":"fake:web"/"#, "");
    world.run_args(&["actuator", "put", "same", "--", "/bin/sh", &same]).exits(0);
    let ran = world.json("actuator check same --workload other").exits(2);
    assert_eq!((ran.at("/error/code").as_str(), count()), (Some("workload_in_use"), 0));
    // Named, it is meant.
    world.run("actuator check fake --workload scalectl-check").exits(0);
}

#[test]
fn an_actuator_with_one_target_for_all_names_must_be_meant() {
    let world = world();
    put(&world, &["/bin/sh", &fixture("counter.sh")]);
    let ran = world.json("actuator check it").exits(2);
    assert_eq!(ran.at("/error/code"), "target_shared");
}

#[test]
fn a_target_of_another_ledger_refuses_the_check() {
    let world = World::with_local();
    world.run("scale web=1 --reason here").exits(0);
    let other = world.path("other.db");
    let other = other.to_str().unwrap();
    world.run_args(&["--ledger", other, "init"]).exits(0);
    let run = ["scalectl", "actuator", "run", "local", "--state-dir", "procs", "--command"];
    let put = ["--ledger", other, "actuator", "put", "procs", "--"];
    world.run_args(&[&put[..], &run[..], &["sleep 300"]].concat()).exits(0);
    let check =
        ["--ledger", other, "actuator", "check", "procs", "--workload", "web", "-o", "json"];
    let ran = world.run_args(&check).exits(17);
    assert!(says(&ran, "apply_up").1.starts_with("failed other_ledger"), "{ran:#?}");
    assert_eq!(ran.at("/applied"), "no");
    let shown: Value = world.json("service bind web").exits(0).at("/service/binding/replicas");
    assert_eq!(shown, 1, "the replica is still there");
}

#[test]
fn a_check_needs_a_name_a_binding_and_the_policys_word() {
    let world = World::with_fake();
    world.run("actuator check nobody").exits(24);
    let policy = world.write(
        "p.cedar",
        "@id(\"all\")\npermit(principal, action, resource);\n\
         @id(\"no-checks\")\nforbid(principal, action == Action::\"administer\", resource);\n",
    );
    world.run_args(&["policy", "put", policy.to_str().unwrap(), "--reason", "x"]).exits(0);
    let ran = world.json("actuator check fake --workload scalectl-check").exits(12);
    assert_eq!(ran.at("/error/code"), "denied");
    assert!(ran.stderr.contains("no-checks"), "{ran:#?}");
    assert!(world.fake_log("calls").is_empty());
}

#[test]
fn a_check_says_beforehand_what_it_will_do() {
    let world = world();
    world.write("fake/capabilities", "inspect\n");
    put(&world, &["/bin/sh", fake_actuator().to_str().unwrap()]);
    world.run("actuator check it").exits(0).says(
        "checking it: workload scalectl-check is scaled to 1, 2 and 0 and left at 0, under the \
         ledger identity scalectl-check",
    );
}
