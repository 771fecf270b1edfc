//! What a source of samples may say, and what is taken for no data. Nothing is ever wished from it.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use super::{Fleet, document, sample, says};

#[test]
fn a_document_that_is_none_says_nothing_of_any_service() {
    let mut fleet = Fleet::scaled();
    assert_eq!(fleet.tick("", 10.0), "skipped: stabilizing down (1/3)");
    let good = document(&[fleet.sample("web", 55.0)]);
    let long = " ".repeat(1 << 20);
    let huge = format!("{long}{good}");
    for bad in [
        "",
        "[]",
        "{}",
        "\u{feff}{}",
        huge.as_str(),
        r#"{"format_version":2,"signals":[]}"#,
        r#"{"format_version":"1","signals":[]}"#,
        r#"{"format_version":1,"signals":{}}"#,
        r#"{"format_version":1,"signals":[],"more":1}"#,
        r#"{"format_version":1,"signals":[{}]}"#,
        r#"{"format_version":1,"signals":[1]}"#,
        r#"{"format_version":1,"signals":[{"service":"web","value":NaN}]}"#,
        r#"{"format_version":1,"signals":[{"service":"web","value":1e999}]}"#,
        &format!("{good}{good}"),
        &good.replace("\"web\"", "\"web\",\"service\":\"web\""),
    ] {
        let ran = fleet.world.run_with("-o json autoscale --signals -", bad.as_bytes()).exits(25);
        assert_eq!(ran.at("/error/code"), "signals_unreadable", "{bad:.80}");
        let said = says(&ran.at("/evaluations/0"));
        assert!(said.starts_with("skipped: no data: missing ("), "{bad:.80}: {said}");
    }
    let not_utf8 = fleet.world.run_with("autoscale --signals -", b"\xff\xfe{}");
    not_utf8.exits(25).says("not UTF-8");
    fleet.world.run("autoscale --signals nowhere.json").exits(25).says("nowhere.json");
    assert_eq!(fleet.intents(), 0);
    // It has ended the streak.
    assert_eq!(fleet.tick("", 10.0), "skipped: stabilizing down (1/3)");
    fleet.world.run("autoscale").exits(2);
    fleet.world.run("autoscale --signals - --provider -- true").exits(2);
    fleet.world.run("autoscale --signals - --health -").exits(2);
    fleet.world.run("autoscale --provider").exits(2);
}

#[test]
fn a_sample_of_another_shape_is_no_data_of_its_service_alone() {
    let mut fleet = Fleet::scaled();
    fleet.later(1);
    let good = fleet.sample("web", 55.0);
    let with = |pointer: &str, value: serde_json::Value| {
        let mut changed = good.clone();
        match pointer.rsplit_once('/').expect("a pointer") {
            ("", name) => changed[name] = value,
            (parent, name) => changed.pointer_mut(parent).expect("a member")[name] = value,
        }
        changed
    };
    for bad in [
        with("/value", serde_json::json!("55")),
        with("/value", serde_json::json!(true)),
        with("/value", serde_json::Value::Null),
        with("/observed_at", serde_json::json!(1_893_456_000)),
        with("/observed_at", serde_json::json!("now")),
        with("/signal/aggregation", serde_json::json!("sum")),
        with("/signal/name", serde_json::json!(" ")),
        with("/signal/extra", serde_json::json!(1)),
        with("/extra", serde_json::json!(1)),
    ] {
        // The other one is for somebody who is not there, and does no harm.
        let ran = fleet.tick_of("", &[bad.clone(), fleet.sample("other", 1.0)]).exits(25);
        let said = says(&ran.at("/evaluations/0"));
        assert!(said.starts_with("skipped: no data: missing (signals[0]."), "{bad}: {said}");
        let ran = fleet.tick_of("", &[sample("other", 1.0, "x"), with("/value", 31.into())]);
        assert_eq!(says(&ran.exits(0).at("/evaluations/0")).split(':').next(), Some("skipped"));
        fleet.later(1);
    }
    let twice = fleet.tick_of("", &[fleet.sample("web", 55.0), fleet.sample("web", 5.0)]).exits(25);
    assert!(says(&twice.at("/evaluations/0")).contains("two samples"), "{twice:#?}");
    assert_eq!(fleet.intents(), 0);
    // A sample of another signal beside its own is nobody's business.
    let mut other = fleet.sample("web", 5.0);
    other["signal"]["name"] = serde_json::json!("cpu");
    let ran = fleet.tick_of("", &[other, fleet.sample("web", 55.0)]).exits(0);
    assert_eq!(says(&ran.at("/evaluations/0")), "intent_accepted 3 → 6");
}

#[test]
fn a_provider_is_bounded_and_its_failure_is_no_data() {
    let mut fleet = Fleet::scaled();
    fleet.later(1);
    fleet.world.write("good.json", document(&[fleet.sample("web", 55.0)]));
    for (script, why) in [
        ("cat good.json; exit 3", "it ended with exit 3"),
        ("echo no luck >&2; exit 1", "no luck"),
        ("kill -9 $$", "it ended by signal 9"),
        ("sleep 60", "no answer within 500ms"),
        ("cat good.json; sleep 60 & exec sleep 60", "no answer within 500ms"),
        ("head -c 3000000 /dev/zero", "over 1 MiB"),
        ("cat good.json good.json", "not a JSON document"),
        ("printf '\\377'", "not UTF-8"),
        ("true", "the document is empty"),
    ] {
        fleet.world.write("ask.sh", script);
        let line = "-o json autoscale --timeout 500ms --provider -- /bin/sh ask.sh";
        let ran = fleet.world.run(line).exits(25);
        let said = says(&ran.at("/evaluations/0"));
        assert!(said.contains(why), "{script}: {said}");
    }
    let ran = fleet.world.json("autoscale --provider -- ./nowhere").exits(25);
    assert!(says(&ran.at("/evaluations/0")).contains("nowhere"), "{ran:#?}");
    fleet.world.await_no_children();
    assert_eq!(fleet.intents(), 0);
    // It sees neither the ledger nor the password of a server, but what else the line has.
    fleet.world.set("PGPASSWORD", "secret").set("QUEUE_HOST", "q1");
    fleet.world.write("ask.sh", "env >seen; cat good.json");
    let ran = fleet.world.json("autoscale --provider -- /bin/sh ask.sh").exits(0);
    assert_eq!(says(&ran.at("/evaluations/0")), "intent_accepted 3 → 6");
    let seen = std::fs::read_to_string(fleet.world.path("seen")).expect("it ran");
    assert!(seen.contains("QUEUE_HOST=q1"), "{seen}");
    assert!(!seen.contains("SCALECTL_") && !seen.contains("PGPASSWORD"), "{seen}");
}

/// A server that gives each connection the same bytes, after a pause.
fn server(answer: Vec<u8>, pause: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0_u8; 4096];
            let _ = stream.read(&mut request);
            std::thread::sleep(pause);
            let _ = stream.write_all(&answer);
        }
    });
    format!("http://{address}")
}

fn http(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    [head.into_bytes(), body.as_bytes().to_vec()].concat()
}

#[test]
fn a_hostile_prometheus_says_nothing() {
    let fleet = Fleet::scaled();
    let vector = |result: &str| {
        let data = format!(r#"{{"resultType":"vector","result":{result}}}"#);
        http("200 OK", &format!(r#"{{"status":"success","data":{data}}}"#))
    };
    let endless =
        [http("200 OK", "")[..15].to_vec(), b"\r\nA: ".to_vec(), vec![b'x'; 200_000]].concat();
    let flood = {
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".as_bytes().to_vec();
        [head, vec![b' '; 3 << 20]].concat()
    };
    let quick = Duration::ZERO;
    for (answer, pause, why) in [
        (Vec::new(), quick, "Prometheus: "),
        (b"SSH-2.0-x\r\n".to_vec(), quick, "Prometheus: "),
        (endless, quick, "Prometheus: "),
        (flood, quick, "Prometheus: "),
        (http("500 Oops", "<html>"), quick, "HTTP status 500"),
        (http("302 Found\r\nLocation: http://127.0.0.1:1/", ""), quick, "HTTP status 302"),
        (http("200 OK", ""), Duration::from_secs(20), "Prometheus: "),
        (http("200 OK", "<html>"), quick, "its answer: not a JSON document"),
        (
            http("422 No", r#"{"status":"error","errorType":"execution","error":"too much"}"#),
            quick,
            "it refuses the query: too much",
        ),
        (vector("[]"), quick, "the query finds no series"),
        (vector(r#"[{"metric":{},"value":[1,"NaN"]}]"#), quick, "which is not finite"),
        (
            vector(r#"[{"metric":{},"value":[1,"1"]},{"metric":{},"value":[1,"2"]}]"#),
            quick,
            "2 series",
        ),
        // The same number is given for the time of its scrape: the year 1970.
        (vector(r#"[{"metric":{},"value":[1893459601,"55"]}]"#), quick, "no data: stale"),
        (vector(r#"[{"metric":{},"value":[1e300,"1e300"]}]"#), quick, "Syntax"),
    ] {
        let shown = String::from_utf8_lossy(&answer).chars().take(90).collect::<String>();
        let url = server(answer, pause);
        let line = format!("-o json autoscale --prometheus {url} --query web=up --timeout 700ms");
        let ran = fleet.world.run(&line);
        let said = says(&ran.at("/evaluations/0"));
        let why = if why == "Syntax" { "not a JSON document" } else { why };
        assert!(said.contains(why), "{shown}: {said}");
        let is_said = why.contains("finds no series") || why.contains("stale");
        assert_eq!(ran.code, Some(if is_said { 0 } else { 25 }), "{shown}: {ran:#?}");
    }
    assert_eq!(fleet.intents(), 0);
    for bad in ["https://x", "ftp://x", "http://u:p@x", "x", "http://"] {
        fleet.world.run(&format!("autoscale --prometheus {bad} --query web=up")).exits(2);
    }
    for bad in ["web", "web=", "a b=up", "=up"] {
        let words = ["autoscale", "--prometheus", "http://127.0.0.1:1", "--query", bad];
        fleet.world.run_args(&words).exits(2);
    }
    // Nobody listens there, and nobody has said what to ask.
    fleet.world.run("autoscale --prometheus http://127.0.0.1:1 --query web=up").exits(25);
    let ran = fleet.world.json("autoscale --prometheus http://127.0.0.1:1").exits(25);
    assert!(says(&ran.at("/evaluations/0")).contains("no query"), "{ran:#?}");
}

/// A signal ends the wait for a source at once.
#[test]
fn a_signal_ends_the_wait_for_a_source() {
    let fleet = Fleet::scaled();
    let url = server(Vec::new(), Duration::from_mins(1));
    let line = format!("autoscale --prometheus {url} --query web=up --timeout 5m");
    let mut child = fleet.world.start(&line);
    std::thread::sleep(Duration::from_millis(500));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it lives");
    let mut ended = None;
    fleet.world.until("it ends", || {
        ended = child.try_wait().expect("a child");
        ended.is_some()
    });
    assert_eq!(ended.and_then(|status| status.code()), Some(143));
}
