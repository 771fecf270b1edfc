//! Files of this host that other programs or processes wrote.

use std::fs;
use std::path::Path;

use scalectl::actuator::bindings;
use scalectl::actuator::calls::{CallEnd, CallProof, CallSight, look};
use scalectl::actuator::error::{BindingError, CallError};
use scalectl::actuator::protocol::PROTOCOL;
use scalectl::adapters::local::{self, LocalConfig};
use scalectl::cli::config::Config;
use scalectl::domain::id::{ActuatorName, CallId, LedgerId};
use scalectl::domain::time::DurationMs;
use serde_json::Value;
use tempfile::TempDir;

/// A directory that goes with whoever holds it.
pub fn directory() -> TempDir {
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

/// `config.toml`: a name that is taken stands for one text, and the file has no other member.
pub fn config_toml(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let config = match Config::read(text) {
        Ok(config) => config,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    // Line by line: only the table of names and what is in it.
    let named = config.ledger("prod");
    let says = |line: &str| line.contains("prod") || line.contains('\\');
    assert!(named.is_none() || text.lines().any(says), "{named:?} out of nothing");
    let has = |word: &str| text.contains(word) || text.contains('\\');
    let is_empty = text.lines().all(|line| {
        let line = line.trim_matches([' ', '\t', '\r', '\u{feff}']);
        line.is_empty() || line.starts_with('#')
    });
    assert!(is_empty || has("ledgers"), "another member was taken: {text:?}");
    if let Some(place) = named.filter(|place| !place.contains(['\\', '\n', '"', '\''])) {
        assert!(has(place), "{place:?} is not in the text");
        // The same out of a file of one line.
        let text = format!("ledgers = {{ prod = {} }}", toml_text(place));
        let again = Config::read(&text).expect("it is read again");
        assert_eq!(again.ledger("prod"), Some(place), "{text}");
    }
    named.is_some()
}

/// A text as TOML has it: as JSON, but for DEL, which it wants escaped.
fn toml_text(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// A slot of `local`: it counts as one replica exactly where it names a process that lives, by all
/// of its members; here the only one that can be named is this process, as `PID`, `TICKS`, `BOOT`
/// and `SPACE` in the text.
pub fn local_slot(data: &[u8]) -> bool {
    let own = scalectl::actuator::host::pid();
    let ticks = scalectl::actuator::host::start_ticks().expect("proc");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("proc");
    let boot = boot.trim();
    let space = fs::read_link("/proc/self/ns/pid").expect("proc");
    let space = space.to_str().expect("UTF-8");
    let data = String::from_utf8_lossy(data)
        .replace("PID", &own.to_string())
        .replace("TICKS", &ticks.to_string())
        .replace("BOOT", boot)
        .replace("SPACE", space);
    let home = directory();
    let workload = home.path().join("web");
    fs::create_dir(&workload).expect("made");
    fs::write(workload.join("slot-0"), &data).expect("written");
    let target = r#"{"cluster_id":"local","runtime_id":"processes","workload_id":"web"}"#;
    let line = format!(r#"{{"protocol":"{PROTOCOL}","op":"inspect","target":{target}}}"#);
    let said = answer(home.path(), &line);
    let record = serde_json::from_str::<Value>(&data).unwrap_or_default();
    let identity = &record["identity"];
    let host = &identity["host"];
    if said.get("error").is_some() {
        // Another process namespace of this boot: nobody can tell from here.
        assert!(host["boot_id"] == boot && host["pid_namespace"] != space, "{said}");
        return false;
    }
    let count = said["replicas"].as_u64().expect("a count");
    let has_state = ["running", "stopping"].iter().any(|state| record["state"] == **state);
    let is_own = identity["pid"] == own
        && identity["start_ticks"] == ticks
        && host["boot_id"] == boot
        && host["pid_namespace"] == space;
    if count > 0 {
        assert!(count == 1 && has_state && is_own, "{count} replicas by {data}");
    }
    count > 0
}
