//! `intent put --file`: strict, bounded, and the record of the contract whole.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Ran, World};

/// A world in which a record with revision 1 and this key would be accepted.
fn record(world: &World) -> Value {
    let before = world.json("intent put web --replicas 3 --key k1 --reason first").exits(0);
    let mut record = before.at("/intent");
    world.run("intent withdraw k1").exits(0);
    let revision = record["intent_revision"].as_u64().unwrap();
    record["intent_revision"] = json!(revision + 1);
    record["intent_id"] = json!("hand-made");
    record["execution_key"] = json!("k2");
    record["fence"]["fence_token"] = json!(9);
    record
}

fn refused(world: &World, bytes: &[u8], code: &str, text: &str) -> Ran {
    let before = world.events();
    let ran = world.run_with("-o json intent put web --file -", bytes).exits(2);
    assert_eq!(ran.at("/error/code"), code, "{ran:#?}");
    assert_eq!((ran.at("/recorded"), ran.at("/applied")), (json!("no"), json!("no")));
    assert!(ran.stderr.contains(text), "stderr lacks {text:?}: {ran:#?}");
    assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
    assert_eq!(world.events(), before, "nothing is written: {ran:#?}");
    ran
}

#[test]
fn a_document_of_another_shape_is_refused_by_member() {
    let world = World::with_fake();
    let good = record(&world);
    for (pointer, value, text) in [
        ("/desired_replicas", json!(3.0), "desired_replicas: invalid type: floating point"),
        ("/desired_replicas", json!(3.5), "desired_replicas"),
        ("/desired_replicas", json!("3"), "desired_replicas: invalid type: string"),
        ("/desired_replicas", json!(true), "desired_replicas: invalid type: boolean"),
        ("/desired_replicas", json!(-1), "desired_replicas"),
        ("/desired_replicas", json!(null), "desired_replicas"),
        ("/intent_revision", json!(0), "intent revision 0 is outside 1..="),
        ("/expected_unit_revision", json!(0), "unit revision 0 is outside"),
        ("/fence/lease_epoch", json!(0), "lease epoch 0 is outside"),
        ("/fence/fence_token", json!(1.0), "fence.fence_token"),
        ("/fence/expires_at", json!("2030-01-01T12:00:00"), "fence.expires_at"),
        ("/fence/expires_at", json!("2030-01-01"), "is not an RFC 3339 instant"),
        ("/fence/expires_at", json!(1_893_456_000), "fence.expires_at"),
        ("/created_at", json!("2026-01-01T12:00:00.1234567Z"), "at most six fraction digits"),
        ("/created_at", json!("2026-13-01T12:00:00Z"), "created_at"),
        ("/schema_version", json!("2"), "schema_version"),
        ("/schema_version", json!(1), "schema_version"),
        ("/controller_mode", json!("external_hpa"), "controller_mode"),
        ("/controller_mode", json!("Native"), "controller_mode"),
        ("/execution_key", json!(""), "execution_key"),
        ("/execution_key", json!("a b"), "is not an identifier"),
        ("/execution_key", json!("k".repeat(257)), "is not an identifier"),
        ("/execution_key", json!("ключ"), "is not an identifier"),
        ("/execution_key", json!(" k2\n x"), "is not an identifier"),
        ("/target/target_uid", json!(""), "target.target_uid"),
        ("/target/workload_id", json!("../../etc"), "is not an identifier"),
        ("/reason", json!(""), "a reason has 1 to 512 characters"),
        ("/reason", json!("x".repeat(513)), "this one has 513"),
        ("/retry_policy/max_attempts", json!(0), "max attempts 0 is outside 1..=8"),
        ("/retry_policy/max_attempts", json!(9), "max attempts 9 is outside 1..=8"),
        ("/retry_policy/backoff_s", json!(-0.001), "backoff_s"),
        ("/retry_policy/backoff_s", json!(3600.001), "backoff_s"),
        ("/retry_policy/backoff_s", json!(0.0005), "backoff_s"),
        ("/retry_policy/backoff_s", json!("5"), "backoff_s"),
        ("/min_replicas", json!(4), "min_replicas 4 <= desired_replicas 3"),
        ("/max_replicas", json!(2), "desired_replicas 3 <= max_replicas 2"),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).expect(pointer) = value;
        refused(&world, bad.to_string().as_bytes(), "document_shape", text);
    }
    for (pointer, member, text) in [
        ("", "state", "unknown field `state`"),
        ("", "Reason", "unknown field `Reason`"),
        ("/fence", "epoch", "unknown field `epoch`"),
        ("/target", "namespace", "unknown field `namespace`"),
        ("/retry_policy", "jitter", "unknown field `jitter`"),
    ] {
        let mut bad = good.clone();
        bad.pointer_mut(pointer).unwrap()[member] = json!("x");
        refused(&world, bad.to_string().as_bytes(), "document_shape", text);
    }
    for member in good.as_object().unwrap().keys() {
        if ["schema_version", "retry_policy"].contains(&member.as_str()) {
            continue;
        }
        let mut bad = good.clone();
        bad.as_object_mut().unwrap().remove(member);
        let text = format!("missing field `{member}`");
        refused(&world, bad.to_string().as_bytes(), "document_shape", &text);
    }
    for (bytes, text) in
        [("[]", "invalid"), ("null", "invalid"), ("3", "invalid"), ("{}", "missing")]
    {
        refused(&world, bytes.as_bytes(), "document_shape", text);
    }
    // The one that all were made from is good.
    let line = "-o json intent put web --file -";
    world.run_with(line, good.to_string().as_bytes()).exits(0);
}

#[test]
fn a_document_that_readers_disagree_about_is_refused() {
    let world = World::with_fake();
    let good = record(&world).to_string();
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "{from} is in {good}");
        good.replacen(from, to, 1).into_bytes()
    };
    let count = "\"desired_replicas\":3";
    let reason = "\"reason\":\"first\"";
    for (bytes, code, text) in [
        (
            with(count, "\"desired_replicas\":3,\"desired_replicas\":4"),
            "document_syntax",
            "duplicate",
        ),
        (
            with(count, "\"desired_replicas\":3,\"d\\u0065sired_replicas\":4"),
            "document_syntax",
            "duplicate",
        ),
        (
            with(reason, "\"reason\":\"a\",\"reason\":\"a\""),
            "document_syntax",
            "duplicate key \"reason\"",
        ),
        (with(count, "\"desired_replicas\":9007199254740992"), "document_syntax", "past 2^53 - 1"),
        (with(count, "\"desired_replicas\":-9007199254740992"), "document_syntax", "past 2^53 - 1"),
        (
            with(count, "\"desired_replicas\":18446744073709551616"),
            "document_syntax",
            "past 2^53 - 1",
        ),
        (with(count, "\"desired_replicas\":3e0"), "document_shape", "floating point"),
        (with(count, "\"desired_replicas\":1e999"), "document_syntax", "out of range"),
        (with(count, "\"desired_replicas\":03"), "document_syntax", "invalid number"),
        (with(count, "\"desired_replicas\":NaN"), "document_syntax", "expected"),
        (with(count, "\"desired_replicas\":+3"), "document_syntax", "expected"),
        (with(reason, "\"reason\":\"\\ud800\""), "document_syntax", "hex escape"),
        (with(reason, "\"reason\":\"\\udc00\\ud800\""), "document_syntax", "surrogate"),
        (with(reason, "\"reason\":\"\\u0000\""), "document_syntax", "U+0000"),
        (with(reason, "\"reason\":\"a\nb\""), "document_syntax", "control character"),
        (with(reason, "'reason':'a'"), "document_syntax", "key must be"),
        (with(reason, "\"reason\":\"a\",// why\n\"x\":1"), "document_syntax", "key must be"),
        (format!("{good}{good}").into_bytes(), "document_syntax", "trailing characters"),
        (format!("{good}\n{{}}").into_bytes(), "document_syntax", "trailing characters"),
        (format!("{good},").into_bytes(), "document_syntax", "trailing"),
        (good.as_bytes()[..good.len() - 1].to_vec(), "document_syntax", "EOF"),
        (format!("\u{feff}{good}").into_bytes(), "document_syntax", "expected"),
        (b"".to_vec(), "document_empty", "empty"),
        (b" \n\t".to_vec(), "document_empty", "empty"),
        ([good.as_bytes(), b"\xff"].concat(), "document_not_utf8", "not UTF-8"),
        (b"\xff\xfe{\0}\0".to_vec(), "document_not_utf8", "offset 0"),
        (vec![b'['; 200_000], "document_syntax", "recursion"),
        ("{\"a\":".repeat(100_000).into_bytes(), "document_syntax", "recursion"),
        (vec![b' '; (1 << 20) + 1], "document_too_long", "longer than 1048576 bytes"),
    ] {
        refused(&world, &bytes, code, text);
    }
    // White space up to the bound is nothing to refuse.
    let padded = format!("{good}{}", " ".repeat((1 << 20) - good.len()));
    world.run_with("-o json intent put web --file -", padded.as_bytes()).exits(0);
}

#[test]
fn a_document_without_end_is_refused_after_its_bound() {
    let world = World::with_fake();
    let before = world.events();
    let mut child = world
        .command(&["-o", "json", "intent", "put", "web", "--file", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let chunk = vec![b'{'; 4096];
        let mut written = 0_u64;
        while written < 100 << 20 && pipe.write_all(&chunk).is_ok() {
            written += chunk.len() as u64;
        }
        written
    });
    let output = child.wait_with_output().unwrap();
    let taken = writer.join().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("document_too_long"), "{output:?}");
    // What it did not read may still be in the pipe.
    assert!(taken <= (1 << 20) + (256 << 10), "{taken} bytes were taken of it");
    assert_eq!(world.events(), before);

    let big = world.path("big.json");
    std::fs::File::create(&big).unwrap().set_len(100 << 20).unwrap();
    let ran = world.json("intent put web --file big.json").exits(2);
    assert_eq!(ran.at("/error/code"), "document_too_long");
    for (file, code) in [("nothing.json", "document_unreadable"), (".", "document_unreadable")] {
        let ran = world.json(&format!("intent put web --file {file}")).exits(2);
        assert_eq!(ran.at("/error/code"), code, "{file}");
    }
    assert_eq!(world.events(), before);
}

#[test]
fn an_exported_record_is_a_replay() {
    let world = World::with_fake();
    world.run("intent put web --replicas 3 --key k1 --reason first").exits(0);
    let exported = world.json("intent show k1").exits(0).at("/intent");
    world.write("k1.json", exported.to_string());
    let before = world.events();
    let again = world.json("intent put web --file k1.json").exits(0);
    assert_eq!(again.at("/replayed"), true);
    assert_eq!(again.at("/intent"), exported);
    // The service is found by the target where none is named.
    let again = world.json("intent put --file k1.json").exits(0);
    assert_eq!(again.at("/replayed"), true);
    assert_eq!(world.events(), before);

    let mut other = exported;
    other["reason"] = json!("second");
    world.write("k1.json", other.to_string());
    let conflict = world.json("intent put web --file k1.json").exits(10);
    assert_eq!(conflict.at("/error/code"), "key_conflict");
    assert!(conflict.stderr.contains("reason"), "the field is named: {conflict:#?}");
    assert_eq!(world.events(), before);
}

#[test]
fn the_golden_record_has_the_golden_digest() {
    let mut world = World::new();
    world.clock("2026-01-01T12:00:00Z");
    world.init_fake();
    let put = "service put unit-1 --actuator fake --mode native --writer writer-1 --min 1 \
               --cluster cluster-1 --runtime runtime-1 --workload workload-1 \
               --target-uid target-uid-1 --target-version rv-1 --drain none --max";
    for max in [11, 10, 9, 8, 7, 6, 5] {
        world.run(&format!("{put} {max}")).exits(0);
    }
    let record = json!({
        "schema_version": "1", "intent_id": "scale-intent-1", "intent_revision": 1,
        "expected_unit_revision": 7, "desired_replicas": 3, "min_replicas": 1, "max_replicas": 5,
        "controller_mode": "native", "replica_writer_id": "writer-1",
        "execution_key": "scale-execution-1",
        "fence": {
            "lease_id": "intent-fence-1", "lease_epoch": 4, "fence_token": 9,
            "expires_at": "2026-01-01T12:10:00Z",
        },
        "target": {
            "cluster_id": "cluster-1", "runtime_id": "runtime-1", "workload_id": "workload-1",
            "target_uid": "target-uid-1", "target_resource_version": "rv-1",
        },
        "reason": "bounded reconciliation fixture",
        "retry_policy": {"max_attempts": 3, "backoff_s": 2.0},
        "created_at": "2026-01-01T12:00:00Z",
    });
    let line = "-o json intent put --file -";
    let ran = world.run_with(line, record.to_string().as_bytes()).exits(0);
    assert_eq!(
        ran.at("/execution/identity_digest"),
        "a5bb7f05f3f97d07b75fac757bd651c917ba39c4695e2df628df518fa91d5a33"
    );
    assert_eq!(ran.at("/execution/execution_id"), "execution:scale-execution-1");
    assert_eq!(ran.at("/intent"), record, "it comes out as it went in");
    let again = world.run_with(line, record.to_string().as_bytes()).exits(0);
    assert_eq!(again.at("/replayed"), true);
}

#[test]
fn control_characters_are_kept_and_escaped_for_people() {
    let world = World::with_fake();
    let mut record = record(&world);
    let reason = "one\ttwo\u{1b}[31mred\u{7}\u{202e}\u{85}three\nfour";
    record["reason"] = json!(reason);
    world.run_with("-o json intent put web --file -", record.to_string().as_bytes()).exits(0);
    let by_flag = "\u{1b}]0;title\u{7} launch";
    let line = ["intent", "put", "web", "--replicas", "4", "--key", "k3", "--reason", by_flag];
    world.run_args(&line).exits(0);
    for (key, text) in [("k2", reason), ("k3", by_flag)] {
        let shown = world.json(&format!("intent show {key}")).exits(0);
        assert_eq!(shown.at("/intent/reason"), text);
        for line in [format!("intent show {key}"), "log".into(), format!("explain {key}")] {
            for format in ["", "-o json "] {
                let ran = world.run(&format!("{format}{line}")).exits(0);
                let raw = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
                assert!(!ran.stdout.contains(raw), "{line}: {:?}", ran.stdout);
                assert!(!ran.stderr.contains(raw), "{line}: {:?}", ran.stderr);
            }
        }
    }
}
