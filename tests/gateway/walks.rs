//! The walks of `fixtures/gateway/walks.txt`, through the commands and over HTTP.

use serde_json::{Value, json};

use crate::serve::client::Server;
use crate::support::{Ran, World};

const WALKS: &str = include_str!("../../fixtures/gateway/walks.txt");

/// How the authority is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    Commands,
    Http,
}

/// What was answered: the status of HTTP, and the body where it is one of the contract.
struct Answered {
    status: u64,
    body: Value,
    /// What was run; none over HTTP.
    ran: Option<Ran>,
}

fn answered(ran: Ran) -> Answered {
    let document = ran.json();
    if let Some(status) = document.pointer("/gateway/status").and_then(Value::as_u64) {
        return Answered { status, body: document["gateway"]["body"].clone(), ran: Some(ran) };
    }
    let status = match document["error"]["code"].as_str() {
        Some("document_syntax") => 400,
        Some("document_too_long") => 413,
        Some("document_shape") => 422,
        other => panic!("{other:?}: {ran:#?}"),
    };
    Answered { status, body: Value::Null, ran: Some(ran) }
}

/// The exit that a status and its word come with.
fn exit_of(status: u64, body: &Value) -> i32 {
    match (status, body["code"].as_str()) {
        (200, _) => 0,
        (400 | 413 | 422, _) => 2,
        (409, Some("external_owner")) => 22,
        (409, _) => 10,
        (507, _) => 15,
        other => panic!("no exit for {other:?}"),
    }
}

struct Walk {
    name: String,
    world: World,
    door: Door,
    pool: Option<String>,
    server: Option<Server>,
    last: Option<Answered>,
}

impl Walk {
    fn new(name: &str, door: Door) -> Self {
        let (name, world) = (name.to_owned(), super::world());
        Self { name, world, door, pool: None, server: None, last: None }
    }

    fn server(&mut self) -> &mut Server {
        let pool = self.pool.as_ref().map(|pool| ["--pool", pool]);
        self.server
            .get_or_insert_with(|| Server::start(&self.world, pool.as_slice().as_flattened()))
    }

    fn post(&mut self, text: &str) {
        self.last = Some(match self.door {
            Door::Commands => {
                let mut words = vec!["-o", "json", "gateway", "apply", "--file", "-"];
                if let Some(pool) = &self.pool {
                    words.extend(["--pool", pool]);
                }
                answered(self.world.run_args_with(&words, text.as_bytes()))
            }
            Door::Http => {
                // Only who can read the operation knows whose it is.
                let whole: Option<Value> = serde_json::Deserializer::from_str(text)
                    .into_iter()
                    .next()
                    .and_then(Result::ok);
                let named = whole.as_ref().and_then(|it| it.get("service").or_else(|| it.get(2)));
                let service = named.and_then(Value::as_str).unwrap_or("api").to_owned();
                let reply = self.server().post(&service, text);
                Answered { status: reply.status.into(), body: reply.json(), ran: None }
            }
        });
    }

    fn get(&mut self, service: &str) {
        self.last = Some(match self.door {
            Door::Commands => {
                let words = ["-o", "json", "gateway", "observe", service];
                answered(self.world.run_args(&words))
            }
            Door::Http => {
                let reply = self.server().observe(service);
                Answered { status: reply.status.into(), body: reply.json(), ran: None }
            }
        });
    }

    fn step(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "post" => self.post(&whole(rest)),
            "padded" => {
                let (bytes, members) = rest.split_once(' ').expect(line);
                let bytes: usize = bytes.parse().expect(line);
                let text = whole(members);
                let padding = " ".repeat(bytes - text.len());
                self.post(&(text + &padding));
            }
            "raw" => self.post(rest),
            "get" => self.get(rest),
            "exactly" => self.hold(rest, true),
            _ if line.starts_with("pool=") => {
                self.pool = Some(line["pool=".len()..].to_owned());
                // The next one has it.
                self.server = None;
            }
            _ => self.hold(line, false),
        }
    }

    fn hold(&mut self, line: &str, exactly: bool) {
        let Answered { status, body, ran } = self.last.take().expect("something was asked");
        let (expected, members) = line.split_once(' ').unwrap_or((line, ""));
        let name = &self.name;
        assert_eq!(status.to_string(), expected, "{name}: {line}: {ran:#?}");
        if let Some(ran) = &ran {
            assert_eq!(ran.code, Some(exit_of(status, &body)), "{name}: {line}: {ran:#?}");
        }
        if members.is_empty() {
            return;
        }
        let members: Value = serde_json::from_str(members).expect(line);
        if exactly {
            assert_eq!(body, members, "{name}: {ran:#?}");
        }
        for (member, value) in members.as_object().expect(line) {
            assert_eq!(&body[member], value, "{name}: {member}: {ran:#?}");
        }
    }
}

/// An operation with these members, and the usual ones.
fn whole(members: &str) -> String {
    let mut whole = json!({"schema_version": 1, "service": "api", "reason": "load"});
    let members: Value = serde_json::from_str(members).expect("members");
    for (name, value) in members.as_object().expect("members") {
        whole[name] = value.clone();
    }
    whole.to_string()
}

fn every_walk_goes_as_it_is_written(door: Door) {
    let mut walk: Option<Walk> = None;
    let (mut walks, mut held) = (0, 0);
    let lines = WALKS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines.chain(["walk the end"]) {
        if let Some(name) = line.strip_prefix("walk ") {
            if let Some(walk) = walk.replace(Walk::new(name, door)) {
                walk.world.run("verify").exits(0);
                assert!(walk.last.is_none(), "{}: nobody looks at the last answer", walk.name);
            }
            walks += 1;
            continue;
        }
        held += usize::from(line.starts_with("exactly") || line.starts_with(char::is_numeric));
        walk.as_mut().expect("a walk").step(line);
    }
    assert!(walks >= 16 && held >= 60, "{walks} walks, {held} answers");
}

#[test]
fn every_walk_through_the_commands_goes_as_it_is_written() {
    every_walk_goes_as_it_is_written(Door::Commands);
}

#[test]
fn every_walk_over_http_goes_as_it_is_written() {
    every_walk_goes_as_it_is_written(Door::Http);
}

/// A walk that goes otherwise is seen, through the commands.
#[test]
#[should_panic(expected = "revision")]
fn a_wrong_answer_is_seen() {
    wrong(Door::Commands);
}

/// And over HTTP.
#[test]
#[should_panic(expected = "revision")]
fn a_wrong_answer_over_http_is_seen() {
    wrong(Door::Http);
}

fn wrong(door: Door) {
    let mut walk = Walk::new("wrong", door);
    walk.step("get api");
    walk.step(r#"200 {"replicas":0,"revision":"1"}"#);
}
