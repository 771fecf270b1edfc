//! The walks of `fixtures/gateway/walks.txt`, through the commands.

use serde_json::{Value, json};

use crate::support::{Ran, World};

const WALKS: &str = include_str!("../../fixtures/gateway/walks.txt");

/// What was answered: the status of HTTP, and the body where it is one of the contract.
struct Answered {
    status: u64,
    body: Value,
    ran: Ran,
}

fn answered(ran: Ran) -> Answered {
    let document = ran.json();
    if let Some(status) = document.pointer("/gateway/status").and_then(Value::as_u64) {
        return Answered { status, body: document["gateway"]["body"].clone(), ran };
    }
    let status = match document["error"]["code"].as_str() {
        Some("document_syntax") => 400,
        Some("document_too_long") => 413,
        Some("document_shape") => 422,
        other => panic!("{other:?}: {ran:#?}"),
    };
    Answered { status, body: Value::Null, ran }
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
    pool: Option<String>,
    last: Option<Answered>,
}

impl Walk {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), world: super::world(), pool: None, last: None }
    }

    fn post(&mut self, text: &str) {
        let mut words = vec!["-o", "json", "gateway", "apply", "--file", "-"];
        if let Some(pool) = &self.pool {
            words.extend(["--pool", pool]);
        }
        self.last = Some(answered(self.world.run_args_with(&words, text.as_bytes())));
    }

    fn step(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "post" => {
                let mut whole = json!({"schema_version": 1, "service": "api", "reason": "load"});
                let members: Value = serde_json::from_str(rest).expect(line);
                for (name, value) in members.as_object().expect(line) {
                    whole[name] = value.clone();
                }
                self.post(&whole.to_string());
            }
            "raw" => self.post(rest),
            "get" => {
                let words = ["-o", "json", "gateway", "observe", rest];
                self.last = Some(answered(self.world.run_args(&words)));
            }
            "exactly" => self.hold(rest, true),
            _ if line.starts_with("pool=") => self.pool = Some(line["pool=".len()..].to_owned()),
            _ => self.hold(line, false),
        }
    }

    fn hold(&mut self, line: &str, exactly: bool) {
        let Answered { status, body, ran } = self.last.take().expect("something was asked");
        let (expected, members) = line.split_once(' ').unwrap_or((line, ""));
        let name = &self.name;
        assert_eq!(status.to_string(), expected, "{name}: {line}: {ran:#?}");
        assert_eq!(ran.code, Some(exit_of(status, &body)), "{name}: {line}: {ran:#?}");
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

#[test]
fn every_walk_goes_as_it_is_written() {
    let mut walk: Option<Walk> = None;
    let (mut walks, mut held) = (0, 0);
    for line in WALKS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix("walk ") {
            if let Some(walk) = walk.replace(Walk::new(name)) {
                walk.world.run("verify").exits(0);
                assert!(walk.last.is_none(), "{}: nobody looks at the last answer", walk.name);
            }
            walks += 1;
            continue;
        }
        held += usize::from(line.starts_with("exactly") || line.starts_with(char::is_numeric));
        walk.as_mut().expect("a walk").step(line);
    }
    assert!(walks >= 15 && held >= 60, "{walks} walks, {held} answers");
}

/// A walk that goes otherwise is seen.
#[test]
#[should_panic(expected = "revision")]
fn a_wrong_answer_is_seen() {
    let mut walk = Walk::new("wrong");
    walk.step("get api");
    walk.step(r#"200 {"replicas":0,"revision":"1"}"#);
}
