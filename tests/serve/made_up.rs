//! Requests that nobody would write, made up from the server's own list of routes: none is answered
//! with 5xx, none with nothing, none makes it hang, and what is answered is JSON.

use scalectl::cli::serve::http::ROUTES;

use super::client::Server;
use crate::fuzz::mutate::Random;
use crate::gateway::{observed, operation, world};

const REQUESTS: u64 = 1500;

const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW", "get"];

const SERVICES: [&str; 10] =
    ["api", "%61pi", "a%2Fb", "%FF", "%00", "%", "", "a%20b", "%F0%9F%90%99", "..%2F..%2Fetc"];

const HEADERS: [&str; 14] = [
    "Content-Type: application/json",
    "Content-Type: application/json; charset=\"utf-8\"",
    "Content-Type: text/plain",
    "Content-Type: application/x+json",
    "Content-Type: \u{ff}",
    "Accept: nothing/at-all",
    "Authorization: Bearer x",
    "Authorization: Bearer ",
    "Expect: 100-continue",
    "X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "Upgrade: websocket",
    "Cookie: a=b",
    "If-None-Match: *",
    "Range: bytes=0-1",
];

fn one_of<'t>(numbers: &mut Random, of: &[&'t str]) -> &'t str {
    of[numbers.below(of.len())]
}

/// A body: an operation, one that is spoiled, or no such thing.
fn body(numbers: &mut Random) -> Vec<u8> {
    let mut operation = operation("a", 0, 0, 2);
    let odd = [
        "null",
        "-1",
        "4294967296",
        "1e400",
        "true",
        "[]",
        "{}",
        "\"\"",
        "\"\\u0000\"",
        "0.5",
        "\"\\ud800\"",
        "9999999999999999999999",
    ];
    let members = [
        "schema_version",
        "operation_id",
        "service",
        "expected_revision",
        "direction",
        "current_replicas",
        "desired_replicas",
        "reason",
        "unknown",
    ];
    match numbers.below(8) {
        0 => Vec::new(),
        1 => one_of(numbers, &odd).as_bytes().to_vec(),
        2 => vec![b'['; numbers.below(70_000)],
        3 => (0..numbers.below(300)).map(|_| numbers.below(256).to_le_bytes()[0]).collect(),
        4 => {
            let name = one_of(numbers, &members);
            operation.as_object_mut().unwrap().remove(name);
            operation.to_string().into_bytes()
        }
        5 => {
            let (name, value) = (one_of(numbers, &members), one_of(numbers, &odd));
            let text = operation.to_string();
            format!("{{\"{name}\":{value},{}", &text[1..]).into_bytes()
        }
        6 => {
            let mut bytes = operation.to_string().into_bytes();
            let at = numbers.below(bytes.len());
            bytes[at] = numbers.below(256).to_le_bytes()[0];
            bytes
        }
        _ => {
            operation["expected_revision"] = "7".into();
            let padding = *numbers.pick(&[0, 1, 64_000, 65_536, 66_000]);
            format!("{operation}{}", " ".repeat(padding)).into_bytes()
        }
    }
}

fn request(numbers: &mut Random) -> (String, Vec<u8>) {
    let route = ROUTES[numbers.below(ROUTES.len())];
    let mut path = route.path.replace("{service}", one_of(numbers, &SERVICES));
    path.push_str(one_of(numbers, &["", "", "", "/", "?a=b", "#", "//", "?%"]));
    let method = one_of(numbers, &METHODS);
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: t\r\nConnection: close\r\n");
    if numbers.below(3) > 0 {
        head.push_str("Content-Type: application/json\r\n");
    }
    for _ in 0..numbers.below(3) {
        head.push_str(one_of(numbers, &HEADERS));
        head.push_str("\r\n");
    }
    let body = body(numbers);
    head.extend(["Content-Length: ", &body.len().to_string(), "\r\n\r\n"]);
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(&body);
    (method.to_owned(), bytes)
}

#[test]
fn whatever_is_asked_is_answered_and_nothing_is_accepted_by_mistake() {
    let world = world();
    let mut server = Server::start(&world, &[]);
    // What is made up from it is stale or a replay, so nothing else can be accepted.
    server.post("api", operation("a", 0, 0, 2)).is(200);
    let seed = std::env::var("SCALECTL_SEED").ok().and_then(|it| it.parse().ok()).unwrap_or(1);
    let mut numbers = Random::new(seed, "http");
    let mut seen = std::collections::BTreeSet::new();
    for number in 0..REQUESTS {
        let (method, bytes) = request(&mut numbers);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(400)]).into_owned();
        let told = |what: &str| format!("seed {seed}, request {number}: {what}: {shown}");
        let mut client = server.client();
        // It may be refused before all of it is written.
        let _ = client.write(&bytes);
        let reply = match client.read(method == "HEAD") {
            Ok(reply) if reply.status == 100 => client.read(method == "HEAD"),
            reply => reply,
        };
        let reply = reply.unwrap_or_else(|error| panic!("{}", told(&error.to_string())));
        assert!(reply.status < 500, "{}: {reply:?}", told("it is the server's fault"));
        seen.insert(reply.status);
        let kind = reply.header("content-type");
        // What is no HTTP is answered by its status alone.
        let is_bare = reply.body.is_empty() && (method == "HEAD" || reply.status == 400);
        if !is_bare && kind != Some("text/plain; version=0.0.4; charset=utf-8") {
            assert_eq!(kind, Some("application/json"), "{}: {reply:?}", told("no JSON"));
            assert!(reply.json().is_object(), "{}", told("no document"));
        }
    }
    for status in [200, 400, 404, 405, 409, 413, 415, 422] {
        assert!(seen.contains(&status), "no request came to {status}: {seen:?}");
    }
    // It is there as before, and so is what it has.
    assert_eq!(server.get("/healthz").is(200)["status"], "ok");
    assert_eq!(server.stop().code, Some(0));
    assert_eq!(observed(&world, "api"), (2, "1".to_owned()));
    let names = world.json("service list").exits(0).at("/services");
    assert_eq!(names.as_array().map(Vec::len), Some(1), "{names}");
    world.run("verify").exits(0);
}

/// Whoever sends half a request and waits keeps nobody else.
#[test]
fn half_a_request_keeps_nobody_waiting() {
    let world = world();
    let mut server = Server::start(&world, &[]);
    let halves = [
        "",
        "GET",
        "GET /v1/scale/api HTTP/1.1\r\nHost",
        "POST /v1/scale/api HTTP/1.1\r\n\
        Host: t\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    ];
    let waiting: Vec<_> = halves
        .iter()
        .cycle()
        .take(200)
        .map(|half| {
            let mut client = server.client();
            client.write(half.as_bytes()).unwrap();
            client
        })
        .collect();
    server.post("api", operation("a", 0, 0, 2)).is(200);
    assert_eq!(server.stop().code, Some(0), "nor is its end");
    drop(waiting);
    assert_eq!(observed(&world, "api"), (2, "1".to_owned()));
}
