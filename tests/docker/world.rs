//! Services of a swarm, a context that leads to it through a relay, and calls of the adapter.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use super::relay::Relay;
use super::swarm::{Held, image, printed, removed};
use crate::support::World;
use crate::support::calls::{answer, in_short, with};

/// No node has this label, so no task ever starts: quick, and all that a declared count needs.
const NOWHERE: &str = "node.labels.scalectl==nowhere";

/// A world with a swarm that context `prod` leads to through a relay.
pub(super) struct Swarm {
    pub(super) world: World,
    pub(super) relay: Relay,
    services: Vec<String>,
    // The last: the swarm goes after its services.
    _held: Held,
}

impl Drop for Swarm {
    fn drop(&mut self) {
        for name in &self.services {
            removed(name);
        }
    }
}

impl Swarm {
    /// None where there is no engine, which was said.
    pub(super) fn new() -> Option<Self> {
        let held = Held::take()?;
        let mut world = World::new();
        let relay = Relay::start(&world.path("relay.sock"));
        let settings = world.path("docker").to_str().unwrap().to_owned();
        world.set("DOCKER_CONFIG", settings);
        let swarm = Self { world, relay, services: Vec::new(), _held: held };
        swarm.settings(&["context", "create", "prod", "--docker", &swarm.relay.host()]);
        Some(swarm)
    }

    /// Changes the settings of the docker of this world.
    pub(super) fn settings(&self, words: &[&str]) {
        let config = self.world.path("docker");
        let output = Command::new("docker").args(words).env("DOCKER_CONFIG", config).output();
        assert!(output.as_ref().unwrap().status.success(), "{output:?}");
    }

    /// A service of a name that nobody else uses.
    pub(super) fn service(&mut self, words: &[&str]) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::SeqCst);
        let name = format!("scalectl-test-{}-{number}", std::process::id());
        self.services.push(name.clone());
        named(&name, words);
        name
    }

    /// A service that declares so many tasks, of which none ever starts.
    pub(super) fn idle(&mut self, replicas: u64) -> String {
        self.service(&["--constraint", NOWHERE, "--replicas", &replicas.to_string()])
    }

    /// A service of so many tasks that run.
    pub(super) fn running(&mut self, replicas: usize) -> String {
        let name = self.service(&["--replicas", &replicas.to_string()]);
        self.await_running(&name, replicas);
        name
    }

    /// Waits until so many tasks run and no other one does.
    pub(super) fn await_running(&self, name: &str, replicas: usize) {
        self.world.until("its tasks run", || {
            let filter = ["--filter", "desired-state=running"];
            let states = ["service", "ps", name, "--format", "{{.CurrentState}}"];
            let states = printed(&[&states[..], &filter].concat());
            let running = states.lines().filter(|state| state.starts_with("Running")).count();
            running == replicas && states.lines().count() == replicas
        });
    }

    /// The answer of one call of the adapter that acts through context `prod`.
    pub(super) fn call(&self, request: &Value) -> Value {
        self.call_with(&[], request)
    }

    pub(super) fn call_with(&self, flags: &[&str], request: &Value) -> Value {
        answer(&mut self.command(flags), request)
    }

    pub(super) fn command(&self, flags: &[&str]) -> Command {
        let words = ["actuator", "run", "docker", "--context", "prod"];
        self.world.command(&[&words[..], flags].concat())
    }

    /// What such an apply comes to, in short.
    pub(super) fn scale(&self, name: &str, desired: u64) -> String {
        in_short(&self.call(&apply(name, desired)))
    }
}

/// A service of this name; who calls it takes care that it goes.
pub(super) fn named(name: &str, words: &[&str]) {
    let create = ["service", "create", "--detach", "--no-resolve-image", "--name", name];
    printed(&[&create[..], words, &[&image()]].concat());
}

/// What the engine says of a service, by its own CLI.
pub(super) fn found(name: &str) -> Value {
    let list: Value = serde_json::from_str(&printed(&["service", "inspect", name])).unwrap();
    list[0].clone()
}

pub(super) fn spec(name: &str) -> Value {
    found(name)["Spec"].clone()
}

pub(super) fn index(name: &str) -> u64 {
    found(name)["Version"]["Index"].as_u64().unwrap()
}

/// The declared count.
pub(super) fn count(name: &str) -> u64 {
    spec(name)["Mode"]["Replicated"]["Replicas"].as_u64().unwrap()
}

pub(super) fn label(name: &str, label: &str) -> Value {
    spec(name)["Labels"].get(label).cloned().unwrap_or_default()
}

/// A write of somebody else, who waits for no task.
pub(super) fn update(name: &str, words: &[&str]) {
    printed(&[&["service", "update", "--detach", "--no-resolve-image"], words, &[name]].concat());
}

fn target(name: &str) -> Value {
    let found = found(name);
    json!({
        "cluster_id": printed(&["info", "--format", "{{.Swarm.Cluster.ID}}"]),
        "runtime_id": "docker-swarm", "workload_id": name, "target_uid": found["ID"],
        "target_resource_version": found["Version"]["Index"].to_string(),
    })
}

pub(super) fn inspect(name: &str) -> Value {
    json!({
        "protocol": "scalectl.actuator/1", "op": "inspect", "target": {"workload_id": name},
    })
}

pub(super) fn fence(name: &str, ledger: &str, (epoch, token, attempt): (u64, u64, u64)) -> Value {
    json!({
        "protocol": "scalectl.actuator/1", "op": "fence", "target": target(name),
        "ledger": {"id": ledger, "incarnation": 1},
        "epoch": epoch, "token": token, "attempt": attempt,
    })
}

/// A question for key `k1` of ledger `L1`.
pub(super) fn lookup(name: &str) -> Value {
    let mut request = fence(name, "L1", (1, 7, 1));
    request["op"] = json!("lookup");
    request["execution_key"] = json!("k1");
    request
}

pub(super) fn evidence(name: &str, desired: u64) -> Value {
    json!({
        "protocol": "scalectl.actuator/1", "op": "evidence", "target": target(name),
        "current": count(name), "desired": desired,
    })
}

/// An apply of key `k1` of ledger `L1` with fence 1.7 and attempt 1, to the service as it is now.
pub(super) fn apply(name: &str, desired: u64) -> Value {
    let target = target(name);
    let base = json!({
        "replicas": spec(name)["Mode"]["Replicated"]["Replicas"], "generation": null,
        "resource_version": target["target_resource_version"],
    });
    json!({
        "protocol": "scalectl.actuator/1", "op": "apply",
        "ledger": {"id": "L1", "incarnation": 1}, "deadline_ms": 30000,
        "request": {
            "schema_version": "1", "intent_id": "scale-intent:0b5c", "intent_revision": 12,
            "expected_unit_revision": 3, "execution_key": "k1", "desired_replicas": desired,
            "controller_mode": "native", "replica_writer_id": "ops", "target": target,
            "lease": {
                "lease_instance_id": "lease:1", "controller_id": "ops", "attempt": 1,
                "fence": {
                    "lease_id": "ledger:L1", "lease_epoch": 1, "fence_token": 7,
                    "expires_at": "2036-01-01T13:00:00Z",
                },
                "acquired_at": "2026-01-01T12:00:00Z", "expires_at": "2036-01-01T12:01:30Z",
            },
            "dry_run": false,
        },
        "base": base,
        "evidence": null,
    })
}

/// The same by a later attempt.
pub(super) fn attempt(request: Value, attempt: u64) -> Value {
    with(request, "/request/lease/attempt", json!(attempt))
}
