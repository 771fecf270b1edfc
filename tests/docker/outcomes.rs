//! What became of a write: never *not applied* unless that is proved.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::relay::Fault;
use super::world::{Swarm, apply, count, found, index, inspect, label, spec, update};
use crate::support::calls::{answer, in_short};

const WRITE: &str = "POST /services/";

/// The answer to a raise from 6 to 9 while its write meets a fault, and the count after it.
fn met(fault: impl FnOnce(&str) -> Fault) -> Option<(String, u64)> {
    let mut swarm = Swarm::new()?;
    let web = swarm.idle(6);
    swarm.relay.fault(WRITE, fault(&web));
    let answer = swarm.call(&apply(&web, 9));
    assert!(swarm.relay.met_all_faults(), "the write was made: {answer}");
    Some((in_short(&answer), count(&web)))
}

#[track_caller]
fn comes_to(fault: impl FnOnce(&str) -> Fault, expected: &str, counted: u64) {
    if let Some(found) = met(fault) {
        assert_eq!(found, (expected.to_owned(), counted));
    }
}

#[test]
fn a_count_is_set_with_the_version_that_was_read_and_all_else_stays() {
    let Some(mut swarm) = Swarm::new() else { return };
    let odd = [
        "--constraint",
        "node.labels.scalectl==nowhere",
        "--replicas",
        "6",
        "--env",
        "A=ä \"b\"",
        "--restart-max-attempts",
        "18446744073709551615",
        "--restart-delay",
        "3000h",
        "--label",
        "team=shop",
        "--container-label",
        "x=y",
        "--limit-memory",
        "64m",
        "--update-parallelism",
        "2",
        "--update-max-failure-ratio",
        "0.30000001",
        "--placement-pref",
        "spread=node.labels.zone",
        "--stop-grace-period",
        "7s",
        "--publish",
        "mode=host,target=80",
        "--hostname",
        "{{.Task.Name}}",
    ];
    let web = swarm.service(&odd);
    let before = spec(&web);
    let answer = swarm.call(&apply(&web, 9));
    assert_eq!(in_short(&answer), "succeeded 9");
    assert_eq!(answer["resource_version_after"], json!(index(&web).to_string()));
    assert_eq!(label(&web, "scalectl.fence"), "L1/1.7.1");
    assert_eq!(label(&web, "scalectl.applied"), "L1/1.7.1 9 k1");
    let mut expected = before;
    expected["Mode"]["Replicated"]["Replicas"] = json!(9);
    expected["Labels"] = json!({
        "team": "shop", "scalectl.fence": "L1/1.7.1", "scalectl.applied": "L1/1.7.1 9 k1",
    });
    assert_eq!(spec(&web), expected);
    // What is so already is not written again.
    assert_eq!((swarm.scale(&web, 9), swarm.relay.writes()), ("succeeded 9".to_owned(), 1));
    assert_eq!(found(&web)["UpdateStatus"], Value::Null);
}

/// An engine of another time may say more than this one knows.
#[test]
fn members_that_nobody_knows_here_are_written_back_byte_by_byte() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    let request = apply(&web, 9);
    let odd = "{\"b\": [9007199254740993, 1.10, 18446744073709551616],\"a\":\"\\u00e4\"}";
    let mut service = found(&web);
    service["Spec"]["Later"] = json!("ODD");
    let text = service.to_string().replace("\"ODD\"", odd);
    swarm.relay.fault("GET /services/", Fault::says(200, &text));
    swarm.relay.fault(WRITE, Fault::says(400, "{\"message\":\"no\"}"));
    assert_eq!(in_short(&swarm.call(&request)), "failed server_refused for good");
    let bodies = swarm.relay.bodies();
    assert!(bodies[0].contains(&format!("\"Later\":{odd}")), "{bodies:#?}");
}

#[test]
fn whoever_writes_between_the_reading_and_the_write_wins() {
    for (words, counted) in
        [(["--label-add", "x=y"], 6), (["--replicas", "4"], 4), (["--replicas", "9"], 9)]
    {
        let deed = |web: &str| {
            let web = web.to_owned();
            Fault::After(Arc::new(move || update(&web, &words)))
        };
        comes_to(deed, "failed precondition_moved", counted);
    }
}

#[test]
fn a_lost_answer_is_told_from_a_lost_request_by_the_label() {
    comes_to(|_| Fault::DropAfter, "succeeded 9", 9);
    comes_to(|_| Fault::DropBefore, "unknown outcome_unknown", 6);
    // A manager that sends it twice hears that the version has moved: by itself.
    comes_to(|_| Fault::Twice, "succeeded 9", 9);
    // Somebody else has written since: over ours, or with our labels gone.
    comes_to(
        |web| {
            let web = web.to_owned();
            Fault::Then(Arc::new(move || update(&web, &["--replicas", "5"])))
        },
        "succeeded 5",
        5,
    );
    comes_to(
        |web| {
            let web = web.to_owned();
            let gone = ["--label-rm", "scalectl.applied", "--label-rm", "scalectl.fence"];
            Fault::Then(Arc::new(move || update(&web, &gone)))
        },
        "succeeded 9",
        9,
    );
}

#[test]
fn garbage_and_cut_answers_to_a_write_are_unknown() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    for said in [
        "",
        "garbage",
        "HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{\"Warn",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"War\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 500 x\r\nContent-Length: 7\r\n\r\ntrouble",
        "HTTP/1.1 503 x\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 302 x\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
        // The words of a lost race, where nobody else has written.
        "HTTP/1.1 500 x\r\nContent-Length: 22\r\n\r\nupdate out of sequence",
    ] {
        swarm.relay.fault(WRITE, Fault::Say(said.into()));
        let found = in_short(&swarm.call(&apply(&web, 9)));
        assert_eq!(found, "unknown outcome_unknown", "{said:?}");
    }
    for (status, expected) in [
        (400, "failed server_refused for good"),
        (403, "failed server_refused for good"),
        (401, "failed server_refused"),
    ] {
        swarm.relay.fault(WRITE, Fault::says(status, "{\"message\":\"no\"}"));
        assert_eq!(in_short(&swarm.call(&apply(&web, 9))), expected, "{status}");
    }
    assert_eq!(count(&web), 6);
}

#[test]
fn a_lost_answer_after_which_nobody_can_read_is_unknown() {
    for (fault, counted) in [(Fault::DropAfter, 9), (Fault::DropBefore, 6)] {
        let Some(mut swarm) = Swarm::new() else { return };
        let web = swarm.idle(6);
        let request = apply(&web, 9);
        // Those of the checks, then the one after the write.
        let text = found(&web).to_string();
        swarm.relay.fault("GET /services/", Fault::says(200, &text));
        swarm.relay.fault("GET /services/", Fault::DropBefore);
        swarm.relay.fault(WRITE, fault);
        assert_eq!(in_short(&swarm.call(&request)), "unknown read_failed");
        assert_eq!(count(&web), counted);
    }
    // The engine's word stands, whoever cannot read it now.
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    let request = apply(&web, 9);
    swarm.relay.fault("GET /services/", Fault::says(200, &found(&web).to_string()));
    swarm.relay.fault("GET /services/", Fault::DropBefore);
    assert_eq!(in_short(&swarm.call(&request)), "succeeded 9");
}

#[test]
fn rule_6_4_a_timeout_after_the_write_is_unknown_and_asks_for_a_person() {
    for (fault, counted) in [(Fault::HangBefore, 6), (Fault::HangAfter, 9)] {
        let Some(mut swarm) = Swarm::new() else { return };
        let web = swarm.idle(6);
        let mut request = apply(&web, 9);
        request["deadline_ms"] = json!(4000);
        swarm.relay.fault(WRITE, fault);
        assert_eq!(in_short(&swarm.call(&request)), "unknown timeout rollback");
        // No write makes up for it.
        assert_eq!((count(&web), swarm.relay.writes()), (counted, 1));
    }
    // Before the write it is a plain failure.
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    let mut request = apply(&web, 9);
    request["deadline_ms"] = json!(2000);
    swarm.relay.fault("GET /info", Fault::HangBefore);
    assert_eq!(in_short(&swarm.call(&request)), "failed timeout");
    assert_eq!(swarm.relay.writes(), 0);
}

/// A docker of somebody else: whatever it prints, the call ends and says no more than it knows.
#[test]
fn a_docker_that_floods_is_silent_or_dies_ends_in_bounded_time() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    let request = inspect(&web);
    let path = swarm.world.write("bin/docker", "");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let search = format!("{}:/usr/bin:/bin", swarm.world.path("bin").to_str().unwrap());
    for (script, expected) in [
        ("head -c 100000000 /dev/zero", "error read_failed"),
        ("printf 'HTTP/1.1 200 OK\\r\\n\\r\\n'; head -c 50000000 /dev/zero", "error read_failed"),
        ("printf 'HTTP/1.1 200 OK\\r\\n\\r\\n{}'", "error read_failed"),
        ("printf 'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n[]'", "error read_failed"),
        ("sleep 5 & echo '{}'", "error read_failed"),
        ("exit 0", "error read_failed"),
        ("kill -9 $$", "error read_failed"),
        ("head -c 300000 /dev/zero | tr '\\0' 'x' >&2; exit 1", "error read_failed"),
        ("exec </dev/null; sleep 5 >/dev/null 2>&1 &", "error read_failed"),
    ] {
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        let found = answer(swarm.command(&[]).env("PATH", &search), &request);
        assert_eq!(in_short(&found), expected, "{script}");
        // The words are cut to what is kept.
        assert!(found["error"]["detail"].as_str().unwrap().chars().count() <= 512, "{script}");
    }
}
