//! One adapter under test, its replicas, and its answers in few words.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;

/// One state directory and one command that nobody else runs.
pub(super) struct World {
    pub(super) dir: TempDir,
    marker: String,
    pub(super) command: String,
    pub(super) grace: &'static str,
}

impl World {
    /// A replica is a `sleep` for a number of seconds that is used once in the whole system.
    pub(super) fn new() -> Self {
        static WORLDS: AtomicU32 = AtomicU32::new(0);
        let number = WORLDS.fetch_add(1, Ordering::Relaxed);
        let marker = format!("30{number:03}.{:07}", std::process::id());
        let dir = tempfile::tempdir().expect("a directory");
        Self { dir, command: format!("sleep {marker}"), marker, grace: "5s" }
    }

    /// The same with replicas that ignore TERM.
    pub(super) fn stubborn(grace: &'static str) -> Self {
        let mut world = Self::new();
        world.command = format!("trap '' TERM; while :; do sleep 0.05; done; : {}", world.marker);
        world.grace = grace;
        world
    }

    pub(super) fn spawn(&self, request: &Value) -> Child {
        #[expect(clippy::disallowed_methods, reason = "the tests are the parent")]
        let mut child = Command::new(env!("CARGO_BIN_EXE_scalectl"))
            .args(["actuator", "run", "local", "--state-dir"])
            .arg(self.dir.path())
            .args(["--command", &self.command, "--grace", self.grace])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the adapter starts");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(request.to_string().as_bytes()).expect("a small request fits the pipe");
        child
    }

    pub(super) fn call(&self, request: &Value) -> Value {
        // Reading to the end of the pipes also proves that no replica holds them.
        let output = self.spawn(request).wait_with_output().expect("the adapter ends");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        serde_json::from_slice(&output.stdout).expect("one JSON object")
    }

    pub(super) fn inspect(&self) -> Value {
        let target = json!({"workload_id": "web"});
        self.call(&json!({"protocol": PROTOCOL, "op": "inspect", "target": target}))
    }

    /// What the adapter counts, which must be what there is.
    pub(super) fn count(&self) -> u64 {
        let found = self.inspect();
        assert_eq!(found["replicas"], found["ready_replicas"]);
        // A shell that has just forked looks like itself twice; only leaders are replicas.
        let leaders = self.replicas().into_iter().filter(|pid| session(*pid) == Some(*pid));
        assert_eq!(found["replicas"], leaders.count(), "the adapter miscounts");
        found["replicas"].as_u64().expect("a count")
    }

    pub(super) fn replicas(&self) -> Vec<i32> {
        let entries = fs::read_dir("/proc").expect("proc").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            line.contains(&self.marker) && !line.contains("actuator") && self.dir_is_not_in(&line)
        })
        .collect()
    }

    pub(super) fn dir_is_not_in(&self, line: &str) -> bool {
        !line.contains(&*self.dir.path().to_string_lossy())
    }

    /// A call for the target as it is now.
    pub(super) fn apply(&self, key: &str, desired: u64) -> Value {
        let target = self.inspect()["target"].clone();
        let version = target["target_resource_version"].clone();
        apply_request(key, desired, &target, &version)
    }

    pub(super) fn scale(&self, key: &str, desired: u64) -> Value {
        self.call(&self.apply(key, desired))
    }

    /// Waits until a condition holds, for at most ten seconds.
    pub(super) fn eventually(&self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        for _ in 0..1000 {
            if done(self) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("{what} did not come true");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for pid in self.replicas() {
            let _ = kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL);
        }
    }
}

pub(super) fn session(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.split(' ').nth(3)?.parse().ok()
}

pub(super) const PROTOCOL: &str = "scalectl.actuator/1";

pub(super) fn apply_request(key: &str, desired: u64, target: &Value, version: &Value) -> Value {
    let fence = json!({"lease_id": "writer:l1", "lease_epoch": 1, "fence_token": 5,
        "expires_at": "2030-01-01T00:00:00Z"});
    let lease = json!({"lease_instance_id": "lease:1", "controller_id": "c", "fence": fence,
        "attempt": 1, "acquired_at": "2026-01-01T00:00:00Z", "expires_at": "2026-01-01T00:01:00Z"});
    let request = json!({"schema_version": "1", "intent_id": "i", "intent_revision": 1,
        "expected_unit_revision": 1, "execution_key": key, "desired_replicas": desired,
        "controller_mode": "native", "replica_writer_id": "c", "target": target, "lease": lease,
        "dry_run": false});
    json!({"protocol": PROTOCOL, "op": "apply", "ledger": {"id": "l1", "incarnation": 2},
        "deadline_ms": 60_000, "request": request,
        "base": {"replicas": null, "generation": null, "resource_version": version},
        "evidence": null})
}

pub(super) fn with(mut request: Value, pointer: &str, value: Value) -> Value {
    *request.pointer_mut(pointer).expect(pointer) = value;
    request
}

pub(super) const ATTEMPT: &str = "/request/lease/attempt";
pub(super) const TOKEN: &str = "/request/lease/fence/fence_token";

/// An answer in a few words: `succeeded 3`, or `failed CODE again` and `failed CODE for good`.
pub(super) fn in_short(answer: &Value) -> String {
    let result = &answer["result"];
    match (&result["state"], result["retryable"].as_bool()) {
        (Value::String(state), _) if state == "succeeded" => {
            format!("succeeded {}", result["observed_replicas"])
        }
        (Value::String(state), Some(retryable)) if state == "failed" => {
            let code = result["error_code"].as_str().unwrap_or("?");
            format!("failed {code} {}", if retryable { "again" } else { "for good" })
        }
        _ => answer.to_string(),
    }
}

pub(super) fn kill_call(mut call: Child) {
    let group = Pid::from_raw(i32::try_from(call.id()).expect("a pid")).expect("a pid");
    let _ = kill_process_group(group, Signal::KILL);
    call.wait().expect("it is our child");
}
