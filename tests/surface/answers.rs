//! The one document: its fixed members are always there, also on errors and on wrong lines.

use scalectl::cli::output::FIXED_MEMBERS;
use serde_json::Value;

use super::lines::refusal_of;
use crate::support::schema::Schema;
use crate::support::{Ran, World};

/// A line with `-o json` somewhere on it: where, varies with `turn`.
fn asked_in_json(world: &World, line: &str, turn: usize) -> Ran {
    match turn % 4 {
        0 => world.run(&format!("{line} -o json")),
        1 => world.run(&format!("-o json {line}")),
        2 => world.run(&format!("{line} --output=json")),
        _ => world.run(&format!("-ojson {line}")),
    }
}

/// The one document of a run, held against the schema and against the run itself.
#[track_caller]
fn document(ran: &Ran, schema: &Schema) -> Value {
    let documents: Vec<Value> = serde_json::Deserializer::from_str(&ran.stdout)
        .into_iter()
        .collect::<Result<_, _>>()
        .unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
    let [document] = &documents[..] else {
        panic!("{} documents: {ran:#?}", documents.len());
    };
    let members = ran.stdout.lines().filter_map(|line| line.strip_prefix("  \""));
    let members: Vec<&str> = members.filter_map(|line| line.split('"').next()).collect();
    assert_eq!(members.get(..FIXED_MEMBERS.len()), Some(&FIXED_MEMBERS[..]), "{ran:#?}");
    assert_eq!(document["exit"].as_i64(), ran.code.map(i64::from), "{ran:#?}");
    assert_eq!(document["error"].is_null(), !ran.stderr.contains("error["), "{ran:#?}");
    let problems = schema.problems(document);
    assert!(problems.is_empty(), "{}: {problems:#?}", ran.line);
    document.clone()
}

/// Every command that an answer suggests can be typed.
#[track_caller]
fn suggestions_hold(document: &Value, line: &str) {
    let next = document.pointer("/error/next").and_then(Value::as_array);
    for argv in next.into_iter().flatten() {
        let words: Vec<String> = serde_json::from_value(argv.clone()).expect("words");
        assert_eq!(refusal_of(&words), None, "suggested by {line}: {words:?}");
    }
    let ways = document.pointer("/ways_out").and_then(Value::as_array);
    for way in ways.into_iter().flatten() {
        let line = way[0].as_str().expect("a line");
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        assert_eq!(refusal_of(&words), None, "{line}");
    }
}

/// Lines in the order in which they are typed, with the exit of each.
const LIFE: [(&str, i32); 58] = [
    ("intent put web --replicas 3 --key k1 --reason up --expect-revision 0", 0),
    ("intent put web --replicas 3 --key k1 --reason up", 0),
    ("intent put web --replicas 4 --key k1 --reason up", 10),
    ("intent put web --replicas 4 --key k9 --reason up --expect-revision 7", 10),
    ("intent put web --replicas 99 --key k9 --reason up", 2),
    ("intent put web --replicas 4 --key k9", 2),
    ("intent put nobody --replicas 4 --key k9 --reason up", 24),
    ("observe k1", 10),
    ("lease acquire k1 --controller somebody", 11),
    ("lease acquire k1", 0),
    ("lease show k1", 0),
    ("lease renew k1 --lease lease:other", 11),
    ("actuate k1", 0),
    ("actuate k1", 0),
    ("attempt show k1", 0),
    ("observe k1", 0),
    ("observe k1", 0),
    ("intent withdraw k1", 10),
    ("intent show k1", 0),
    ("intent show web@1", 0),
    ("intent show web@9", 24),
    ("intent list web", 0),
    ("explain k1", 0),
    ("explain web", 0),
    ("explain web=4", 0),
    ("plan web=4", 0),
    ("plan web=50", 2),
    ("scale web=4 --reason more --dry-run", 0),
    ("scale web=4 --reason more", 0),
    ("scale web=4 --reason more", 0),
    ("scale web=3 --key k1 --reason up", 23),
    ("intent put web --replicas 2 --key dry --reason up --dry-run", 0),
    ("actuate dry", 0),
    ("scale web=2 --key dry --reason up", 10),
    // From here on the fake does what its script says, from its third call on.
    ("scale web=5 --key k3 --reason up --max-attempts 1", 17),
    ("explain k3", 0),
    ("intent put web --replicas 5 --key k4 --reason up", 0),
    ("actuate k4", 18),
    ("explain k4", 0),
    ("intent abandon k4 --reason enough", 0),
    ("scale web=5 --key k5 --reason up", 23),
    ("scale web=6 --key k6 --reason up", 16),
    ("status", 0),
    ("status --check", 26),
    ("explain k6", 0),
    ("intent put web --replicas 7 --key k7 --reason up", 11),
    ("settle k6 --applied --reason seen", 0),
    ("replay --all --dry-run", 0),
    ("replay k6", 0),
    ("replay --all", 0),
    ("cooldown web", 0),
    ("service list", 0),
    ("service show web", 0),
    ("actuator list", 0),
    ("policy show", 0),
    ("policy test web=3", 0),
    ("log web --limit 5", 0),
    ("verify", 0),
];

#[test]
fn every_answer_has_the_fixed_members_and_fits_its_schema() {
    let world = World::with_fake();
    world.script(&["ok", "ok", "fail terminal boom", "fail retryable later", "count 7", "garble"]);
    let schema = Schema::named("answer");
    for (turn, (line, exit)) in LIFE.into_iter().enumerate() {
        let ran = asked_in_json(&world, line, turn).exits(exit);
        let document = document(&ran, &schema);
        suggestions_hold(&document, line);
    }
}

#[test]
fn a_wrong_line_is_answered_in_json_too() {
    let world = World::with_fake();
    let schema = Schema::named("answer");
    for (turn, line) in [
        "scael web=3",
        "intent",
        "intent pt web",
        "scale",
        "scale web",
        "scale web=-1",
        "scale web=1.0 --reason x",
        "scale web=99999999999999999999 --reason x",
        "scale web=3 --nope",
        "scale web=3 --reason x --lock-timeout 5",
        "lease acquire k --ttl 60",
        "lease acquire",
        "settle k1 --reason x",
        "intent put web --replicas three --reason x",
        "intent put web --replicas 3 --reason x --fence 1",
        "policy test web=3 --action fly",
        "log --since yesterday",
        "help nobody",
    ]
    .into_iter()
    .enumerate()
    {
        // `help` is a word of its own; the format stands behind it.
        let turn = if line.starts_with("help") { 0 } else { turn };
        let ran = asked_in_json(&world, line, turn).exits(2);
        let document = document(&ran, &schema);
        assert_eq!(document["recorded"], "no", "{line}");
        suggestions_hold(&document, line);
    }
}

#[test]
fn a_failure_before_any_ledger_is_answered_in_json_too() {
    let mut world = World::new();
    let schema = Schema::named("answer");
    for (turn, line) in ["status", "scale web=3 --reason x", "log", "verify"].iter().enumerate() {
        let ran = asked_in_json(&world, line, turn).exits(21);
        let document = document(&ran, &schema);
        assert_eq!(document["ledger"], Value::Null);
        suggestions_hold(&document, line);
    }
    for (address, exit) in [
        ("mysql://ops:secret@db/prod", 2),
        ("postgres://ops:secret@db/prod?sslmode=none", 2),
        ("postgres://ops:secret@127.0.0.1:1/prod", 20),
    ] {
        world.set("SCALECTL_LEDGER", address);
        let ran = world.run("status -o json").exits(exit);
        document(&ran, &schema);
        assert!(!format!("{ran:?}").contains("secret"));
    }
}

#[test]
fn ndjson_is_one_document_on_one_line() {
    let world = World::with_fake();
    for line in ["status", "service show web", "plan web=50", "nobody"] {
        let ran = world.run(&format!("{line} -o ndjson"));
        assert_eq!(ran.stdout.lines().count(), 1, "{ran:#?}");
        assert_eq!(ran.at("/format_version"), 1);
    }
    let log = world.run("log -o ndjson").exits(0);
    let rows = log.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let kinds: Vec<Value> = rows.map(|row| row["event"].clone()).collect();
    assert_eq!(kinds.first(), Some(&Value::from("ledger_created")));
    assert!(kinds.len() >= 4, "{kinds:?}");
}

#[test]
fn names_alone_are_printed_one_a_line_and_nothing_on_failure() {
    let world = World::with_fake();
    world.run("intent put web --replicas 3 --key k1 --reason up").exits(0);
    for (line, exit, names) in [
        ("service list", 0, "web\n"),
        ("actuator list", 0, "fake\n"),
        ("intent list", 0, "k1\n"),
        ("intent show web@latest", 0, "k1\n"),
        ("status", 0, "web\n"),
        ("plan web=4", 0, "web\n"),
        ("schema", 0, "intent\nresult\nrequest\nanswer\nregistration\nsignals\ncedar\n"),
        ("service show nobody", 24, ""),
        ("nobody", 2, ""),
    ] {
        let ran = world.run(&format!("{line} -o name")).exits(exit);
        assert_eq!(ran.stdout, names, "{line}");
    }
}

#[test]
fn an_unknown_word_suggests_a_known_one() {
    let world = World::new();
    world.run("stauts").exits(2).says("'stauts'").says("did you mean  status");
    world.run("intent shwo k1").exits(2).says("'shwo'").says("'show'");
    world.run("scale web=3 --reson x").exits(2).says("'--reson'").says("'--reason'");
}
