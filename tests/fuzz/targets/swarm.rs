//! What an engine of Docker says: the bytes of an answer, a service, facts about it, a label.

use scalectl::adapters::docker::{
    Answer, Decoder, HttpError, applied_in, rewritten, running_in, services_in, swarm_in,
};
use serde_json::{Value, json};

fn decoded(parts: &[&[u8]]) -> Result<Answer, HttpError> {
    let mut decoder = Decoder::default();
    for part in parts {
        decoder.feed(part)?;
    }
    decoder.whole()?.map_or_else(|| decoder.ended(), Ok)
}

/// An answer is the same however it was cut on its way, no longer than what came, and the same
/// again when it is said with its length.
pub fn docker_answer(data: &[u8]) -> bool {
    let whole = decoded(&[data]);
    for at in [1, data.len() / 2, data.len().saturating_sub(3)] {
        let (first, rest) = data.split_at(at.min(data.len()));
        let bytes: Vec<&[u8]> = first.chunks(1).take(64).collect();
        let left = &first[first.len().min(64)..];
        let parts = [&bytes[..], &[left, rest]].concat();
        // Two faults may be told in another order.
        let again = decoded(&parts);
        assert!(whole == again || whole.is_err() && again.is_err(), "{whole:?}, then {again:?}");
    }
    let Ok(answer) = whole else { return false };
    assert!((200..600).contains(&answer.status), "{answer:?}");
    assert!(answer.body.len() < data.len(), "{answer:?}");
    if answer.status != 204 && answer.status != 304 {
        let head = format!(
            "HTTP/1.1 {} x\r\nContent-Length: {}\r\n\r\n",
            answer.status,
            answer.body.len()
        );
        let again = decoded(&[head.as_bytes(), &answer.body]).expect("it was one");
        assert_eq!((again.status, again.body), (answer.status, answer.body));
    }
    true
}

/// What is written back is what was read, but for the count and one label.
pub fn docker_service(data: &[u8]) -> bool {
    let Ok((count, written)) = rewritten(data, 9) else { return false };
    // A number that no float holds is passed on, and the reader beside it gives up.
    let Ok(said) = serde_json::from_slice::<Value>(data) else { return true };
    let mut expected = said["Spec"].clone();
    assert!(expected.is_object(), "{said}");
    assert_eq!(expected["Mode"]["Replicated"]["Replicas"].as_u64(), count, "{said}");
    for (place, member, value) in [
        ("/Mode/Replicated", "Replicas", json!(9)),
        ("/Labels", "scalectl.fence", json!("L/1.2.3")),
    ] {
        set(&mut expected, place, member, value);
    }
    let written: Value = serde_json::from_str(&written).expect("it is JSON");
    assert_eq!(written, expected);
    true
}

/// Sets a member below a pointer; null is no object yet.
fn set(document: &mut Value, place: &str, member: &str, value: Value) {
    let mut at = document;
    for name in place.split('/').skip(1) {
        if at[name].is_null() {
            at[name] = json!({});
        }
        at = &mut at[name];
    }
    at[member] = value;
}

/// The id of a swarm, and how many tasks run, are those of the JSON.
pub fn docker_facts(data: &[u8]) -> bool {
    let said = serde_json::from_slice::<Value>(data);
    let mut is_taken = false;
    if let (Ok(id), Ok(said)) = (swarm_in(data), &said) {
        let found = said["Swarm"]["Cluster"]["ID"].as_str().filter(|id| !id.is_empty());
        // A list in the place of an object is read by position.
        let is_plain = said.is_object() && !said["Swarm"].is_array();
        if is_plain && !said["Swarm"]["Cluster"].is_array() {
            assert_eq!(id.as_deref(), found, "{said}");
        }
        is_taken = true;
    }
    if let (Ok(count), Ok(said)) = (running_in(data), &said) {
        let tasks = said.as_array().expect("tasks are a list");
        if tasks.iter().all(|task| task.is_object() && task["Status"].is_object()) {
            let runs = |task: &&Value| {
                task["DesiredState"] == "running" && task["Status"]["State"] == "running"
            };
            assert_eq!(count, tasks.iter().filter(runs).count(), "{said}");
        }
        is_taken = true;
    }
    if let (Ok((services, odd)), Ok(said)) = (services_in(data), &said) {
        let items = said.as_array().expect("services are a list");
        assert!(services.len() + odd <= items.len(), "{said}: {services:?}");
        for (name, count) in &services {
            let is_it = |it: &&Value| {
                it["Spec"]["Name"].as_str().map(str::trim) == Some(name)
                    && it["Spec"]["Mode"]["Replicated"]["Replicas"].as_u64() == *count
            };
            let is_plain = items.iter().all(|it| it.is_object() && it["Spec"].is_object());
            assert!(!is_plain || items.iter().any(|it| is_it(&it)), "{name} {count:?}: {said}");
        }
        is_taken = true;
    }
    is_taken
}

/// A label that is read says the same again, and its count is that of the text.
pub fn docker_applied(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let Some((ledger, key, count)) = applied_in(text) else { return false };
    let words: Vec<&str> = text.split(' ').collect();
    assert_eq!(words.len(), 3, "{text:?}");
    assert_eq!((words[1], words[2]), (count.to_string().as_str(), key.as_str()), "{text:?}");
    let (owner, numbers) = words[0].rsplit_once('/').expect("a ledger and three numbers");
    assert_eq!((owner, numbers.split('.').count()), (ledger.as_str(), 3), "{text:?}");
    true
}
