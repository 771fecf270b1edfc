//! A person after a crash: does what the table of exit codes says, and nothing else.

use std::time::Duration;

use serde_json::Value;

use super::scenarios::Scenario;
use crate::support::{Ran, World};

/// How often a line is said again. Most of it waits for a guard that is just ending its call.
const TRIES_MAX: u32 = 200;

/// Where everything stands: what a crash must not change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct End {
    intents: Vec<String>,
    services: Vec<String>,
    count: String,
}

fn word(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).map_or_else(|| "-".to_owned(), ToString::to_string)
}

fn rows(document: &Value, list: &str, members: &[&str]) -> Vec<String> {
    let rows = document[list].as_array().unwrap_or_else(|| panic!("no {list} in {document:#}"));
    let line = |row| members.iter().map(|member| word(row, member)).collect::<Vec<_>>().join(" ");
    rows.iter().map(line).collect()
}

/// Where the world of a scenario stands. Services are only asked for where it changes one.
pub(super) fn end_of(world: &World, scenario: &Scenario) -> End {
    let intents = world.json("intent list").exits(0).json();
    let members = ["/intent_revision", "/desired_replicas", "/state", "/outcome", "/drift"];
    let changes_services = scenario.lines.iter().any(|line| line.text.starts_with("service"));
    let settings = ["/service", "/unit_revision", "/max_replicas", "/latest_intent_revision"];
    let count = std::fs::read_to_string(world.fake_dir().join("count"));
    End {
        intents: rows(&intents, "executions", &members),
        services: if changes_services {
            let services = world.json("service list").exits(0).json();
            rows(&services, "services", &settings)
        } else {
            Vec::new()
        },
        count: count.unwrap_or_default(),
    }
}

/// A person with a shell.
pub(super) struct Person<'a> {
    pub(super) world: &'a World,
    pub(super) scenario: &'a Scenario,
}

impl Person<'_> {
    /// Says `replay --all` until nothing is under a call, and settles what only a person can.
    pub(super) fn replay(&self) {
        Self::until(|| {
            let ran = self.world.run("replay --all --wait --timeout 5s");
            match ran.code {
                // Nothing more is to be done by replay.
                Some(0 | 17 | 18 | 19 | 23) => Ok(()),
                Some(11) => Err(ran),
                Some(16) => {
                    self.settle();
                    Err(ran)
                }
                _ => panic!("{ran:#?}"),
            }
        });
    }

    /// Says a line until it answers as it would have without the crash.
    pub(super) fn follow(&self, text: &str, exit: i32) {
        Self::until(|| {
            let ran = self.world.run(text);
            match ran.code {
                // What once was to be tried again may have been, and gone well.
                Some(0) if exit == 18 || exit == 16 => Ok(()),
                Some(code) if code == exit && code != 16 => Ok(()),
                // It had gone through: the crash came after its commit.
                Some(11) if ran.stderr.starts_with("error[lease_lost]") => Ok(()),
                // The crash came after the loss was recorded, and the recovery has found out more
                // than the person knew.
                Some(10) if ran.stderr.contains("it is known to have been applied") => Ok(()),
                Some(11 | 18 | 19) => Err(ran),
                Some(16) => {
                    self.replay();
                    Err(ran)
                }
                _ => panic!("expected {exit}: {ran:#?}"),
            }
        });
    }

    fn until(mut step: impl FnMut() -> Result<(), Ran>) {
        let mut last = None;
        for _ in 0..TRIES_MAX {
            match step() {
                Ok(()) => return,
                Err(ran) => last = Some(ran),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not come to an end: {last:#?}");
    }

    /// Looks at the target, and says what became of each unknown call.
    fn settle(&self) {
        let document = self.world.json("intent list --unfinished").exits(0).json();
        let rows = document["executions"].as_array().expect("a list");
        for row in rows.iter().filter(|row| row["state"] == "recovery_pending") {
            let key = row["execution_key"].as_str().expect("a key");
            let is_applied = self.effects().iter().any(|line| line.starts_with(&format!("{key} ")));
            // Without a reading nobody can attest a success; the same call again is harmless then.
            let can_read = self.scenario.capabilities.contains(&"inspect");
            let word = if is_applied && can_read { "--applied" } else { "--not-applied" };
            let ran = self.world.run(&format!("settle {key} {word} --reason looked"));
            assert!(matches!(ran.code, Some(0 | 11 | 18)), "{ran:#?}");
        }
    }

    fn effects(&self) -> Vec<String> {
        self.world.fake_log("effects")
    }

    /// At most one effect per attempt, and a second one of a key only where a person who cannot
    /// read has let it be called again.
    pub(super) fn check_effects(&self) {
        let effects = self.effects();
        let mut attempts: Vec<String> = effects
            .iter()
            .map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "))
            .collect();
        attempts.sort();
        let total = attempts.len();
        attempts.dedup();
        assert_eq!(attempts.len(), total, "an attempt had two effects: {effects:?}");
        let can_tell = self
            .scenario
            .capabilities
            .iter()
            .any(|able| matches!(*able, "inspect" | "lookup" | "deduplicates_execution_key"));
        if can_tell {
            let mut keys: Vec<&str> =
                attempts.iter().filter_map(|line| line.split(' ').next()).collect();
            keys.dedup();
            assert_eq!(keys.len(), total, "a key had two effects: {effects:?}");
        }
    }

    /// No call is left behind: at most the file of one that was never started.
    pub(super) fn check_calls(&self) {
        let dir = self.world.path(".local/state/scalectl/calls");
        let files: Vec<_> = std::fs::read_dir(dir).into_iter().flatten().flatten().collect();
        assert!(files.len() <= 1, "{files:?}");
    }
}
