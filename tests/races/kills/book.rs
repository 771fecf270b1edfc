//! What was acknowledged, and what must therefore be there for ever.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Round;
use crate::support::World;

/// What is over for good once it was said.
#[derive(Debug)]
struct Acknowledged {
    line: String,
    key: String,
    intent: Value,
    /// The result with its attempt, once there was a successful one.
    result: Option<(Value, Value)>,
    /// The observation with its outcome, once it was verified.
    observation: Option<(Value, Value)>,
}

/// The book of a run.
#[derive(Default)]
pub(super) struct Book {
    position: u64,
    heads: Option<String>,
    acknowledged: Vec<Acknowledged>,
    /// Key and attempt of every recorded start.
    started: BTreeSet<String>,
    /// Leases that somebody was told to hold.
    leases: BTreeSet<String>,
    granted: BTreeSet<String>,
}

impl Book {
    /// The events since the last look, refusals left out.
    pub(super) fn new_events(&mut self, world: &World) -> Vec<Value> {
        let line = format!("log --after {} --no-refused --limit 10000", self.position);
        let events = world.json(&line).exits(0).at("/events");
        let events = events.as_array().expect("a list").clone();
        for event in &events {
            self.position = event["position"].as_u64().expect("a position");
            let key = event["execution_key"].as_str().unwrap_or_default();
            match event["event"].as_str() {
                Some("attempt_started") => {
                    let call = &event["body"]["call"];
                    self.started.insert(format!("{key} {}", call["attempt"]));
                    self.granted.insert(call["lease_instance_id"].to_string());
                }
                Some("lease_acquired") => {
                    let lease = &event["body"]["held"]["lease"]["lease_instance_id"];
                    self.granted.insert(lease.to_string());
                }
                _ => {}
            }
        }
        events
    }

    /// Notes what a command has answered, also if it was killed right after.
    pub(super) fn acknowledge(&mut self, round: &Round, own: &[&Value], text: &str) {
        let Ok(answer) = serde_json::from_slice::<Value>(&round.output.stdout) else {
            let is_dead = round.output.status.code().is_none();
            assert!(is_dead, "it ended without an answer: {text}");
            return;
        };
        match answer["recorded"].as_str() {
            Some("yes") => assert!(!own.is_empty(), "it says that it has recorded: {text}"),
            Some("no") => assert!(own.is_empty(), "it has recorded and denies it: {text}"),
            _ => panic!("nobody knows what it has recorded: {text}"),
        }
        if answer["ok"] != true || answer.get("intent").is_none() {
            return;
        }
        let execution = &answer["execution"];
        let state = execution["state"].as_str().unwrap_or_default();
        let has_succeeded = ["succeeded", "observed", "verified"].contains(&state)
            && execution["result"]["state"] == "succeeded";
        self.acknowledged.push(Acknowledged {
            line: round.line.clone(),
            key: answer["intent"]["execution_key"].as_str().expect("a key").to_owned(),
            intent: answer["intent"].clone(),
            result: has_succeeded
                .then(|| (execution["result"].clone(), execution["result_attempt"].clone())),
            observation: (state == "verified")
                .then(|| (execution["observation_id"].clone(), execution["outcome"].clone())),
        });
        if let Some(lease) = answer["lease"].as_object() {
            self.leases.insert(lease["lease_instance_id"].to_string());
        }
    }

    /// The ledger is sound, and goes on where it was at the last look.
    pub(super) fn check_ledger(&mut self, world: &World, text: &str) {
        let line = match &self.heads {
            Some(heads) => {
                world.write("heads.json", heads);
                "verify --since heads.json"
            }
            None => "verify",
        };
        let ran = world.json(line);
        assert_eq!(ran.code, Some(0), "{text}\n{ran:#?}");
        self.heads = Some(ran.stdout);
        let ran = world.json("status");
        assert_eq!(ran.code, Some(0), "{text}\n{ran:#?}");
    }

    /// Whoever was called was started in the ledger before.
    pub(super) fn check_calls(&self, world: &World, text: &str) {
        let calls = world.fake_log("calls");
        let mut seen = BTreeSet::new();
        for call in &calls {
            let call: Vec<&str> = call.split(' ').take(2).collect();
            let call = call.join(" ");
            assert!(self.started.contains(&call), "nobody has recorded the call {call}: {text}");
            assert!(seen.insert(call), "an attempt was called twice: {text}\n{calls:#?}");
        }
    }

    /// At most one effect per attempt and, because the target can always be asked, per key; and
    /// the ledger knows of exactly these.
    pub(super) fn check_effects(world: &World, text: &str) {
        let effects = world.fake_log("effects");
        assert!(effects.len() > 1, "nothing has happened: {text}");
        let mut attempts: BTreeMap<&str, &str> = BTreeMap::new();
        for line in &effects {
            let mut words = line.split(' ');
            let (key, attempt) = (words.next().expect("a key"), words.next().expect("a number"));
            let before = attempts.insert(key, attempt);
            assert_eq!(before, None, "{key} had two effects: {text}\n{effects:#?}");
        }
        let listed = world.json("intent list --limit 10000").exits(0).at("/executions");
        for execution in listed.as_array().expect("a list") {
            let key = execution["execution_key"].as_str().expect("a key");
            let happened = attempts.remove(key);
            let has_scaled = execution["scaled"] == true;
            assert_eq!(has_scaled, happened.is_some(), "{key} scaled? {text}\n{execution:#}");
            if let Some(attempt) = happened {
                assert_eq!(execution["result_attempt"].to_string(), attempt, "{key}: {text}");
            }
        }
        assert!(attempts.is_empty(), "the ledger does not know of {attempts:?}: {text}");
    }

    /// Everything that was acknowledged is there, as it was said.
    pub(super) fn check_acknowledged(&self, world: &World, text: &str) {
        assert!(self.acknowledged.len() > 6, "hardly anything was acknowledged: {text}");
        let mut shown: BTreeMap<&str, Value> = BTreeMap::new();
        for one in &self.acknowledged {
            let document = shown
                .entry(&one.key)
                .or_insert_with(|| world.json(&format!("intent show {}", one.key)).exits(0).json());
            let execution = &document["execution"];
            assert_eq!(document["intent"], one.intent, "{}: {text}", one.line);
            if let Some((result, attempt)) = &one.result {
                assert_eq!(execution["result"], *result, "{}: {text}", one.line);
                assert_eq!(execution["result_attempt"], *attempt, "{}: {text}", one.line);
            }
            if let Some((observation, outcome)) = &one.observation {
                assert_eq!(execution["observation_id"], *observation, "{}: {text}", one.line);
                assert_eq!(execution["outcome"], *outcome, "{}: {text}", one.line);
            }
        }
        let lost: Vec<&String> = self.leases.difference(&self.granted).collect();
        assert!(lost.is_empty(), "leases that nobody has granted: {lost:?}\n{text}");
    }
}
