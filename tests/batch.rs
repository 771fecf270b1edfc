//! `batch`: each line as if it were alone, in order, and its answer only once it is durable.

mod failures;
mod streams;

use serde_json::{Value, json};

use crate::support::schema::Schema;
use crate::support::{Ran, SERVICE, World};

/// A put of `web`, as it is typed.
fn put(key: &str, replicas: usize) -> String {
    let count = replicas.to_string();
    let words = ["intent", "put", "web", "--replicas", &count, "--key", key, "--reason", "r"];
    json!({ "id": key, "command": words }).to_string()
}

/// So many puts of `web`, a line each.
fn puts(prefix: &str, count: usize) -> String {
    (1..=count).map(|n| put(&format!("{prefix}{n}"), n % 10) + "\n").collect()
}

/// A line of words without spaces.
fn typed(line: &str) -> String {
    json!({ "command": line.split(' ').collect::<Vec<_>>() }).to_string()
}

/// The answers on stdout.
#[track_caller]
fn answers(ran: &Ran) -> Vec<Value> {
    let read = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    ran.stdout.lines().map(read).collect()
}

/// The keys that were ever put, in the order of their revisions; each must be there once.
fn accepted(world: &World) -> Vec<String> {
    let events = world.json("log web --event intent_accepted --limit 10000").exits(0).at("/events");
    let events = events.as_array().expect("events").clone();
    let number = |event: &Value| event.pointer("/body/intent/wish/intent_revision").cloned();
    let revisions: Vec<Value> = events.iter().filter_map(number).collect();
    assert_eq!(revisions, (1..=events.len()).map(Value::from).collect::<Vec<_>>());
    let key = |event: &Value| event["execution_key"].as_str().expect("a key").to_owned();
    events.iter().map(key).collect()
}

#[test]
fn every_line_is_answered_in_order_as_its_single_command_would() {
    let world = World::with_fake();
    let long = format!("{{\"id\":\"{}\"}}", "x".repeat(1 << 20));
    let rows: Vec<(Vec<u8>, i64, &str)> = vec![
        (put("k1", 3).into(), 0, ""),
        (b"nonsense".into(), 2, "document_syntax"),
        (b"".into(), 2, "document_empty"),
        (b"{\"id\":\"\xff\"}".into(), 2, "document_not_utf8"),
        (long.into(), 2, "document_too_long"),
        (b"{\"id\":1,\"id\":2}".into(), 2, "document_syntax"),
        (b"{}".into(), 2, "document_shape"),
        (b"{\"id\":[]}".into(), 2, "document_shape"),
        (b"{\"command\":[],\"nope\":1}".into(), 2, "document_shape"),
        (b"{\"command\":[]}".into(), 2, "not_in_batch"),
        (put("k1", 3).into(), 0, ""),
        (put("k1", 4).into(), 10, "key_conflict"),
        (put("k2", 4).into(), 0, ""),
        (put("k3", 11).into(), 2, "out_of_bounds"),
        (typed("intent put web --replicas 3 --reason r").into(), 2, "not_repeatable"),
        (typed("intent put web --file x.json").into(), 2, "not_in_batch"),
        (typed("intent put web --nope").into(), 2, "usage"),
        (typed("intent put web --replicas 1 --key k9 --reason r --ledger x").into(), 2, "usage"),
        (typed("intent put web --replicas 1 --key k9").into(), 2, "reason_missing"),
        (typed("intent withdraw web@latest").into(), 2, "not_repeatable"),
        (typed("intent withdraw web@9").into(), 24, "key_not_found"),
        (typed("intent withdraw k1").into(), 10, "wrong_state"),
        (typed("intent abandon k2 --reason r").into(), 10, "wrong_state"),
        (typed("intent show k1").into(), 2, "not_in_batch"),
        (typed("scale web=3").into(), 2, "not_in_batch"),
        (typed("lease acquire web@2 --controller me").into(), 11, "not_writer"),
        (typed("lease acquire web@2 --ttl 30s").into(), 0, ""),
        (typed("lease renew k2 --lease lease:mine").into(), 11, "lease_lost"),
        (typed("lease release k2 --lease lease:mine").into(), 11, "lease_lost"),
        (typed("intent withdraw web@2").into(), 0, ""),
        // With a carriage return, and without a line feed at the end.
        ([typed("intent withdraw k2").into_bytes(), b"\r".into()].concat(), 0, ""),
        (typed("intent withdraw k1").into(), 10, "wrong_state"),
    ];
    let input = rows.iter().map(|row| row.0.clone()).collect::<Vec<_>>().join(&b'\n');
    let ran = world.run_with("batch", &input).exits(2);
    let schema = Schema::named("answer");
    let answers = answers(&ran);
    for (at, ((line, exit, code), answer)) in rows.iter().zip(&answers).enumerate() {
        let line = String::from_utf8_lossy(&line[..line.len().min(200)]);
        assert_eq!(schema.problems(answer), [""; 0], "{line}");
        assert_eq!(answer["line"], at + 1, "{line}");
        assert_eq!(answer["exit"], *exit, "{line}: {answer:#}");
        assert_eq!(answer["error"]["code"].as_str().unwrap_or_default(), *code, "{line}");
        assert_eq!((&answer["applied"], answer["ledger"].is_null()), (&"no".into(), false));
        assert_eq!(answer["command_id"].is_string(), answer["recorded"] == "yes", "{line}");
        if let Some(id) = answer["command_id"].as_str() {
            let log = world.json(&format!("log --command {id}")).exits(0).at("/events");
            assert_ne!(log, json!([]), "{line}: {answer:#}");
        }
    }
    assert_eq!(answers.len(), rows.len());
    assert_eq!(answers[0]["id"], "k1");
    assert_eq!((&answers[10]["replayed"], &answers[10]["recorded"]), (&true.into(), &"no".into()));
    assert_eq!(answers[10]["execution"]["state"], "accepted", "as it was for this line");
    assert_eq!(answers[26]["lease"]["controller_id"], "ops");
    assert_eq!(answers[24]["error"]["next"], json!([["scalectl", "scale", "web=3"]]));
    assert!(ran.stderr.starts_with("batch: 32 lines: 6 × 0 ok, "), "{}", ran.stderr);
    // A put ends what it supersedes, in the same group.
    assert_eq!(world.json("intent show k1").at("/execution/state"), "superseded");
    assert_eq!(world.json("intent show k2").at("/execution/state"), "withdrawn");
    world.run("verify").exits(0);
    // The single command knows what the batch has done.
    let single = world.json("intent put web --replicas 3 --key k1 --reason r").exits(0);
    assert_eq!(single.at("/replayed"), true);
}

#[test]
fn a_wish_may_be_a_document() {
    let world = World::with_fake();
    let flags = json!({"id": 7, "intent_put": {
        "service": "web", "replicas": 3, "key": "k1", "reason": "two words",
        "expect_revision": 0, "max_attempts": 2, "backoff_ms": 1500, "valid_for_ms": 60_000,
    }});
    let ran = world.run_with("batch", flags.to_string().as_bytes()).exits(0);
    let answer = answers(&ran).remove(0);
    assert_eq!((&answer["id"], &answer["recorded"]), (&7.into(), &"yes".into()));
    assert_eq!(answer["intent"]["retry_policy"], json!({"max_attempts": 2, "backoff_s": 1.5}));
    // The same, as it is typed.
    let words = ["intent", "put", "web", "--replicas", "3", "--key", "k1", "--reason", "two words"];
    let policy = ["--max-attempts", "2", "--backoff", "1500ms", "--expect-revision", "0"];
    let all = [&words[..], &policy[..]].concat();
    let same = json!({ "command": all });
    // The same, as the record that came out, with and without the service.
    let record = world.json("intent show k1").at("/intent");
    let whole = json!({"intent_put": {"record": record}});
    let named = json!({"intent_put": {"record": record, "service": "web"}});
    let input = format!("{same}\n{whole}\n{named}\n");
    for answer in answers(&world.run_with("batch", input.as_bytes()).exits(0)) {
        assert_eq!((&answer["replayed"], &answer["recorded"]), (&true.into(), &"no".into()));
    }
    for (put, code) in [
        (json!({"record": record, "replicas": 3}), "contradiction"),
        (json!({"service": "web", "key": "k", "reason": "r"}), "usage"),
        (json!({"service": "web", "replicas": 3, "reason": "r"}), "not_repeatable"),
        (json!({"service": "web", "replicas": -3, "key": "k", "reason": "r"}), "document_shape"),
        (json!({"service": "web", "replicas": 3, "key": "k", "reason": ""}), "invalid_reason"),
        (json!({"service": "web", "replicas": 3, "key": "k", "nope": 1}), "document_shape"),
        (json!({"service": "web", "replicas": 3, "expect_revision": []}), "document_shape"),
    ] {
        let line = json!({"id": "x", "intent_put": put}).to_string();
        let answer = answers(&world.run_with("batch", line.as_bytes()).exits(2)).remove(0);
        assert_eq!(answer["error"]["code"], code, "{line}");
        assert_eq!(answer["id"], "x", "{line}");
    }
    let both = json!({"command": ["intent", "put"], "intent_put": {}}).to_string();
    world.run_with("batch", both.as_bytes()).exits(2);
    assert_eq!(accepted(&world), ["k1"]);
}

#[test]
fn a_refusal_among_others_is_kept_once_and_undoes_nothing() {
    let world = World::with_fake();
    world.run(&SERVICE.replace(" web ", " api ")).exits(0);
    let policy = "@id(\"web\") permit(principal, action, resource == Service::\"web\");";
    let policy = world.write("web.cedar", policy);
    let put_policy =
        ["policy", "put", policy.to_str().unwrap(), "--reason", "t", "--allow-lockout"];
    world.run_args(&put_policy).exits(0);
    let api = |n| put(&format!("a{n}"), 1).replace("\"web\"", "\"api\"");
    let input = [put("k1", 1), api(1), put("k2", 2), api(2), put("k3", 3), api(1)].join("\n");
    let ran = world.run_with("batch", input.as_bytes()).exits(12);
    let exits: Vec<i64> = answers(&ran).iter().filter_map(|a| a["exit"].as_i64()).collect();
    assert_eq!(exits, [0, 12, 0, 12, 0, 12]);
    assert_eq!(accepted(&world), ["k1", "k2", "k3"]);
    let refusals = world.json("log --event refused").exits(0).at("/events");
    let refusals = refusals.as_array().unwrap();
    assert_eq!(refusals.len(), 1, "{refusals:#?}");
    assert_eq!(refusals[0]["execution_key"], "a1");
    world.run("verify").exits(0);
    // Again within the minute: everything is a replay, and nothing is written.
    let events = world.events();
    world.run_with("batch", input.as_bytes()).exits(12);
    assert_eq!(world.events(), events);
}

#[test]
fn a_call_that_was_lost_is_recorded_as_the_single_command_does() {
    let mut world = World::with_fake();
    world.run("intent put web --replicas 3 --key k1 --reason r").exits(0);
    world.set("SCALECTL_TEST_CRASH", "after_answer");
    assert_eq!(world.run("actuate k1").code, None);
    world.unset("SCALECTL_TEST_CRASH");
    world.await_no_children();
    let alone = world.copy();
    let single = alone.json("lease acquire k1");
    let input = [typed("intent withdraw nobody"), typed("lease acquire web@1")].join("\n");
    let ran = world.run_with("batch", input.as_bytes()).exits(16);
    let answers = answers(&ran);
    assert_eq!((&answers[0]["exit"], &answers[1]["exit"]), (&24.into(), &16.into()));
    assert_eq!(single.code, Some(16));
    assert_eq!(answers[1]["error"]["code"], single.at("/error/code"));
    assert_eq!(world.json("intent show k1").at("/execution/state"), "recovery_pending");
}

#[test]
fn fail_fast_stops_behind_the_first_that_does_not_end_well() {
    for (bad, exit) in [("nonsense".to_owned(), 2), (put("k1", 9), 10)] {
        let world = World::with_fake();
        let input = [put("k1", 1), put("k2", 2), bad, put("k3", 3)].join("\n");
        let ran = world.run_with("batch --fail-fast", input.as_bytes()).exits(exit);
        assert_eq!(answers(&ran).len(), 3, "{ran:?}");
        assert_eq!(accepted(&world), ["k1", "k2"]);
        // Without it the rest is done.
        let ran = world.run_with("batch", input.as_bytes()).exits(exit);
        assert_eq!(answers(&ran).len(), 4, "{ran:?}");
        assert_eq!(accepted(&world), ["k1", "k2", "k3"]);
    }
}

#[test]
fn a_batch_is_ndjson_and_needs_a_ledger_and_a_file() {
    let world = World::new();
    world.run_with("batch", put("k1", 1).as_bytes()).exits(21).says("ledger_missing");
    world.run("batch --file nowhere").exits(2).says("document_unreadable");
    world.run("init").exits(0);
    world.run("batch -o json").exits(2).says("ndjson");
    world.run("batch --file .").exits(2).says("document_unreadable");
    let ran = world.run("batch -o ndjson").exits(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", "batch: 0 lines\n"));
    let file = world.write("lines", put("k1", 1));
    let ran = world.run_args(&["batch", "--file", file.to_str().unwrap()]).exits(24);
    assert_eq!(answers(&ran).len(), 1);
}
