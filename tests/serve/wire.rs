//! What is on the wire beside the contract's own walks; tokens, ports, signals.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::client::{Client, Server, post_of};
use super::operation_of;
use crate::gateway::{allow, apply, observed, operation, world};
use crate::support::World;
use crate::support::postgres::sqlite_only;

#[test]
fn the_segment_of_the_path_is_the_service_whatever_it_is_called() {
    let world = world();
    let mut server = Server::start(&world, &[]);
    server.post("a/b ü", operation_of("a/b ü", "a", 0, 0, 2)).is(200);
    assert_eq!(server.get("/v1/scale/a%2Fb%20%C3%BC").is(200)["replicas"], 2);
    assert_eq!(observed(&world, "a/b ü"), (2, "1".to_owned()));
    server.get("/v1/scale/%FF").refuses(400, "invalid_path");
    server.post("api", operation("b", 0, 0, 2)).is(200);
    assert_eq!(server.get("/v1/scale/%61pi").is(200)["replicas"], 2);
    let told = server.post("db", operation("c", 0, 0, 9)).refuses(422, "service_mismatch");
    assert_eq!(told["observation"]["revision"], "0", "of the one that was asked");
}

#[test]
fn what_is_no_request_of_the_contract_is_told_so_in_json() {
    let world = world();
    let mut server = Server::start(&world, &[]);
    for path in ["/", "/health", "/v1/scale", "/v1/scale/", "/v1/scale/api/", "/v1/scale/api/x"] {
        server.get(path).refuses(404, "no_such_route");
    }
    let text = operation("a", 0, 0, 2).to_string();
    let send = |request: String| server.client().send(request.as_bytes()).unwrap();
    let typed = |kind: &str| {
        send(format!(
            "POST /v1/scale/api HTTP/1.1\r\nHost: t\r\n{kind}Content-Length: {}\r\n\r\n{text}",
            text.len()
        ))
    };
    for kind in ["", "Content-Type: text/plain\r\n", "Content-Type: application/jsonp\r\n"] {
        typed(kind).refuses(415, "unsupported_media_type");
    }
    let reply = send("DELETE /v1/scale/api HTTP/1.1\r\nHost: t\r\n\r\n".to_owned());
    reply.refuses(405, "method_not_allowed");
    assert_eq!(reply.header("allow"), Some("GET, HEAD, POST"));
    let reply = send("POST /healthz HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n\r\n".to_owned());
    reply.refuses(405, "method_not_allowed");
    let reply = send("HEAD /v1/scale/api HTTP/1.1\r\nHost: t\r\n\r\n".to_owned());
    assert_eq!((reply.status, reply.body.as_str()), (200, ""));
    assert_eq!(reply.header("content-length"), Some("63"));
    // A body whose length nobody has said is bounded like any other.
    let mut chunked = "POST /v1/scale/api HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\
                       \r\nTransfer-Encoding: chunked\r\n\r\n"
        .to_owned();
    for _ in 0..9 {
        chunked.extend(["2000\r\n", &" ".repeat(0x2000), "\r\n"]);
    }
    send(chunked).refuses(413, "document_too_long");
    for kind in ["application/json; charset=utf-8", "application/scale+json"] {
        assert_eq!(typed(&format!("Content-Type: {kind}\r\n")).is(200)["revision"], "1");
    }
}

#[test]
fn only_who_shows_the_token_is_answered_where_there_is_one() {
    let world = world();
    let file = world.write("token", "0123456789abcdef0123\n");
    let file = file.to_str().unwrap();
    // Elsewhere than on the loopback only with one.
    let ran = world.run("serve --listen 0.0.0.0:0").exits(2).says("error[token_missing]");
    assert!(!ran.stderr.contains("listening"));
    for bad in ["short\n", "", "two words are no token, are they\n", "ümlaute-are-no-token\n"] {
        let bad = world.write("bad", bad);
        let line = ["serve", "--listen", "127.0.0.1:0", "--token-file", bad.to_str().unwrap()];
        world.run_args(&line).exits(2).says("error[token_unusable]");
    }
    world.run("serve --token-file nowhere").exits(2).says("error[token_unusable]");
    std::fs::set_permissions(file, PermissionsExt::from_mode(0o644)).unwrap();
    let warned = Server::start(&world, &["--token-file", file]).stop().stderr;
    assert!(warned.contains("warning: everybody on this host may read"), "{warned}");
    std::fs::set_permissions(file, PermissionsExt::from_mode(0o640)).unwrap();
    let server = Server::start_at(&world, "0.0.0.0:0", &["--token-file", file]);
    assert!(!server.said().contains("warning: everybody"), "{}", server.said());
    let at = server.at.replace("0.0.0.0", "127.0.0.1");
    let ask = |path: &str, more: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: t\r\n{more}\r\n");
        Client::to(&at).unwrap().send(request.as_bytes()).unwrap()
    };
    for more in ["", "Authorization: Bearer 0123456789abcdef0124\r\n", "Authorization: Basic x\r\n"]
    {
        for path in ["/v1/scale/api", "/metrics", "/elsewhere"] {
            let reply = ask(path, more);
            reply.refuses(401, "unauthorized");
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
        }
    }
    // Nothing is told there but that it lives.
    assert_eq!(ask("/healthz", "").is(200), json!({"status": "ok"}));
    let shown = "Authorization: Bearer 0123456789abcdef0123\r\n";
    assert_eq!(ask("/v1/scale/api", shown).is(200)["replicas"], 0);
    let reply =
        Client::to(&at).unwrap().send(&post_of("api", &operation("a", 0, 0, 2).to_string()));
    reply.unwrap().refuses(401, "unauthorized");
    let ended = server.stop();
    assert!(!format!("{ended:?}").contains("0123456789abcdef0123"), "{ended:?}");
    assert_eq!(observed(&world, "api").0, 0);
}

#[test]
fn a_port_that_somebody_has_is_told_with_the_line_to_try_again() {
    let world = world();
    let server = Server::start(&world, &[]);
    let line = format!("serve --listen {}", server.at);
    let ran = world.json(&line).exits(20).says("error[address_in_use]");
    assert_eq!(ran.at("/error/retryable"), true);
    assert_eq!(ran.at("/recorded"), "no");
    let next = ran.at("/error/next/0");
    let other = next.as_array().and_then(|line| line.last()).and_then(|word| word.as_str());
    assert_ne!(other, Some(server.at.as_str()), "the same line fails again");
    assert!(other.is_some_and(|other| other.starts_with("127.0.0.1:")), "{next}");
    world.run("serve --listen 203.0.113.1:0 --token-file nowhere").exits(2);
    world.run("serve --listen somewhere").exits(2);
}

#[test]
fn whoever_serves_without_a_policy_is_told_that_all_will_be_refused() {
    let world = World::new();
    world.run("serve --listen 127.0.0.1:0").exits(21).says("error[ledger_missing]");
    world.run("init").exits(0);
    let mut server = Server::start(&world, &[]);
    assert!(server.said().contains("no policy is set"), "{}", server.said());
    let told = server.post("api", operation("a", 0, 0, 2)).refuses(403, "policy_denied");
    assert_eq!(told["observation"]["revision"], "0");
    // What is permitted meanwhile holds for the running server, and so does what is not any more.
    allow(&world, "permit(principal, action, resource);");
    server.post("api", operation("a", 0, 0, 2)).is(200);
    allow(&world, "permit(principal, action == Action::\"set_policy\", resource);");
    server.post("api", operation("b", 1, 2, 3)).refuses(403, "policy_denied");
    assert!(!Server::start(&world, &[]).said().contains("no policy"));
}

#[test]
fn a_server_that_is_asked_to_end_ends_well_and_lets_nobody_in() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let world = world();
        let mut server = Server::start(&world, &[]);
        server.post("api", operation("a", 0, 0, 2)).is(200);
        // A connection that says nothing does not keep it.
        let silent = server.client();
        let at = server.at.clone();
        let begun = Instant::now();
        server.signal(signal);
        let ended = server.ended();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains("accepted 1 operation\n"), "{ended:?}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        assert!(Client::to(&at).is_err());
        drop(silent);
        world.run("verify").exits(0);
    }
    let world = world();
    let words = ["-o", "json"];
    let mut server = Server::start(&world, &words);
    server.post("api", operation("a", 0, 0, 2)).is(200);
    let document: serde_json::Value = serde_json::from_str(&server.stop().stdout).unwrap();
    assert_eq!(document["served"]["accepted"], 1);
    assert_eq!((&document["recorded"], &document["applied"]), (&json!("yes"), &json!("no")));
}

#[test]
fn what_it_has_done_is_counted() {
    let world = world();
    let mut server = Server::start(&world, &[]);
    server.post("api", operation("a", 0, 0, 2)).is(200);
    server.post("api", operation("a", 0, 0, 2)).is(200);
    server.post("api", operation("b", 0, 0, 2)).is(409);
    let reply = server.get("/metrics");
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    for line in [
        "scalectl_operations_total{outcome=\"accepted\"} 1",
        "scalectl_operations_total{outcome=\"replayed\"} 1",
        "scalectl_operations_total{outcome=\"refused\"} 1",
        "scalectl_requests_total{status=\"4xx\"} 1",
    ] {
        assert!(reply.body.lines().any(|found| found == line), "{line}: {}", reply.body);
    }
}

/// Whoever speaks to the commands and whoever speaks to the server speak of one authority.
#[test]
fn the_commands_and_the_server_are_one_authority() {
    let world = world();
    let mut server = Server::start(&world, &[]);
    let first = operation("a", 0, 0, 2);
    let told = apply(&world, &first).exits(0).stdout;
    assert_eq!(format!("{}\n", server.post("api", &first).body), told);
    server.post("api", operation("b", 1, 2, 3)).is(200);
    apply(&world, &operation("c", 1, 2, 3)).exits(10).says("stale_revision");
    world.run("service retire api --reason over").exits(0);
    server.post("api", operation("d", 2, 3, 4)).refuses(404, "unknown_service");
    assert_eq!(server.stop().code, Some(0));
    world.run("verify").exits(0);
}

/// What would be refused at every operation is refused at once.
#[test]
fn what_takes_no_writes_is_not_served() {
    sqlite_only!("it is about files");
    let world = world();
    world.run("backup --to copy.db").exits(0);
    world.run("serve --ledger copy.db").exits(21).says("error[ledger_is_backup]");
    world.run("ledger copy --to moved.db --reason r").exits(0);
    world.run("serve").exits(21).says("error[ledger_sealed]");
    let mut server = Server::start(&world, &["--ledger", "moved.db"]);
    server.post("api", operation("a", 0, 0, 2)).is(200);
}

/// Whoever hangs up has still asked, however early: as soon as all of it was sent.
#[test]
fn whoever_hangs_up_at_once_has_still_asked() {
    const CLIENTS: usize = 120;
    let world = world();
    let mut server = Server::start(&world, &[]);
    for number in 0..CLIENTS {
        let name = format!("s{number}");
        let mut gone = Client::to(&server.at).unwrap();
        gone.write(&post_of(&name, &operation_of(&name, &name, 0, 0, 2).to_string())).unwrap();
    }
    for number in 0..CLIENTS {
        let name = format!("s{number}");
        world.until("it is accepted", || server.observe(&name).is(200)["revision"] == "1");
    }
}
