//! Files of this host that other programs or processes wrote.

use std::fs;
use std::path::Path;

use scalectl::actuator::bindings;
use scalectl::actuator::calls::{CallEnd, CallProof, CallSight, look};
use scalectl::actuator::error::{BindingError, CallError};
use scalectl::actuator::protocol::PROTOCOL;
use scalectl::adapters::local::{self, LocalConfig};
use scalectl::domain::id::{ActuatorName, CallId, LedgerId};
use scalectl::domain::time::DurationMs;
use serde_json::Value;
use tempfile::TempDir;

fn directory() -> TempDir {
    tempfile::Builder::new().prefix("scalectl-fuzz-").tempdir().expect("a directory")
}

fn ledger() -> LedgerId {
    "ledger-1".parse().expect("an identifier")
}

fn name(text: &str) -> ActuatorName {
    text.parse().expect("an identifier")
}

/// A binding that is taken runs an absolute path or our own binary, and writing another one beside
/// it leaves it as it was.
pub fn actuators_toml(data: &[u8]) -> bool {
    let home = directory();
    let path = home.path().join("actuators.toml");
    fs::write(&path, data).expect("written");
    let found = match bindings::find(&path, &ledger(), &name("fake")) {
        Ok(found) => found,
        Err(BindingError::Malformed { line, why, .. }) => {
            let lines = data.split(|byte| *byte == b'\n').count();
            assert!((1..=lines).contains(&line) && !why.is_empty(), "line {line}: {why}");
            return false;
        }
        Err(BindingError::Unbound { .. }) => return false,
        // What is longer than 1 MiB is not read at all.
        Err(BindingError::Io { .. }) if data.len() > 1 << 20 => return false,
        Err(error) => panic!("{error}"),
    };
    if let bindings::Program::Foreign { path, .. } = &found.program {
        assert!(path.is_absolute(), "{found:?}");
    }
    bindings::put(&path, &ledger(), &name("other"), &found).expect("it can be written again");
    let find = |actuator| bindings::find(&path, &ledger(), &name(actuator));
    assert_eq!(find("fake").expect("it is still there"), found);
    assert_eq!(find("other").expect("it is there now"), found);
    assert!(bindings::remove(&path, &ledger(), &name("other")).expect("removed"));
    assert_eq!(find("fake").expect("it is still there"), found);
    true
}

/// What a call file may prove, told from its whole lines alone.
fn may_be(sight: &CallSight, whole: &[u8]) -> bool {
    let lines: Vec<&[u8]> = whole.split(|byte| *byte == b'\n').collect();
    let has = |word: &[u8]| lines.iter().any(|line| line.starts_with(word));
    match sight {
        CallSight::Unproved => has(b"session ") && !has(b"ended "),
        CallSight::Known(CallProof::Ended { how: CallEnd::NotStarted(_), .. }) => {
            has(b"ended spawn_failed ") || (!has(b"session ") && !has(b"ended "))
        }
        CallSight::Known(CallProof::Ended { .. }) => has(b"ended "),
        CallSight::Known(CallProof::Alive | CallProof::NoFile) => false,
    }
}

/// A call is seen to have ended only by a whole line that says so, or because it never began; a
/// torn last line proves nothing.
pub fn call_file(data: &[u8]) -> bool {
    let home = directory();
    let call: CallId = "call-1".parse().expect("an identifier");
    let sight_of = |bytes: &[u8]| {
        fs::write(home.path().join("call-1"), bytes).expect("written");
        look(home.path(), &call)
    };
    let sight = match sight_of(data) {
        Ok(sight) => sight,
        Err(CallError::Nonsense { line, .. }) => {
            assert!(line >= 1);
            return false;
        }
        Err(error) => panic!("{error}"),
    };
    let whole = &data[..data.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)];
    assert!(may_be(&sight, whole), "{sight:?} is not proved by {:?}", whole.escape_ascii());
    for torn in [&b""[..], b"e", b"session 77 1", b"ended exit 0 17672688"] {
        let torn = [whole, torn].concat();
        let again = sight_of(&torn).expect("a torn line is no nonsense");
        assert!(may_be(&again, whole), "{again:?} is proved by a torn line");
        assert_eq!(kind(&again), kind(&sight), "a torn line proves nothing");
    }
    true
}

fn kind(sight: &CallSight) -> String {
    match sight {
        CallSight::Known(CallProof::Ended { how, .. }) => format!("{how:?}"),
        sight => format!("{sight:?}"),
    }
}

/// The state of a workload of `local`: whatever stands there, its questions are answered by one
/// valid line, a mark is never lowered, and what cannot be used is said to be so.
pub fn local_state(data: &[u8]) -> bool {
    let home = directory();
    let workload = home.path().join("web");
    fs::create_dir(&workload).expect("made");
    fs::write(workload.join("state.json"), data).expect("written");
    let uid = serde_json::from_slice::<Value>(data).ok();
    let uid = uid.as_ref().and_then(|state| state["uid"].as_str()).map_or("local:1", str::trim);
    let target = format!(
        r#"{{"cluster_id":"local","runtime_id":"processes","workload_id":"web",
        "target_uid":"{uid}","target_resource_version":"1"}}"#
    );
    let ask = |op: &str, more: &str| {
        let line = format!(r#"{{"protocol":"{PROTOCOL}","op":"{op}","target":{target}{more}}}"#);
        answer(home.path(), &line)
    };
    let first = ask("inspect", "");
    let is_usable = first.get("error").is_none();
    let fence = r#","epoch":1,"token":7,"attempt":2"#;
    for (op, more) in [
        ("lookup", format!(r#","execution_key":"k-1"{fence}"#)),
        ("fence", fence.to_owned()),
        ("inspect", String::new()),
    ] {
        let said = ask(op, &more);
        if said.get("error").is_none() {
            assert!(is_usable, "{op} was answered on a state that cannot be read: {said}");
        }
    }
    is_usable
}

fn answer(state_dir: &Path, line: &str) -> Value {
    let config = LocalConfig {
        state_dir: state_dir.to_owned(),
        command: "sleep 1".to_owned(),
        grace: DurationMs::ZERO,
        settle: DurationMs::ZERO,
    };
    let mut stdout = Vec::new();
    let exit = local::serve(&config, &mut line.as_bytes(), &mut stdout);
    assert_eq!(exit, 0);
    let said: Value = serde_json::from_slice(&stdout).expect("one JSON document");
    assert_eq!(said["protocol"], PROTOCOL);
    said
}
