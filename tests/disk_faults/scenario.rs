//! The scenario: the lines of a person, from the first ledger to what a person settles.

use crate::support::{Ran, World, fake_actuator};

/// The exit code without a fault, and the line.
pub(super) const LINES: [(i32, &str); 21] = [
    (0, "init --starter-policy local"),
    (0, "policy put all.cedar --reason r"),
    (0, "actuator put fake --timeout 5s -- /bin/sh FAKE"),
    (0, "SERVICE --expect-revision 0"),
    (0, "intent put web --replicas 3 --expect-revision 0 --key k1 --reason r"),
    (0, "lease acquire k1 --controller ops --ttl 800s"),
    (0, "lease renew k1 --lease LEASE --ttl 900s"),
    (0, "lease release k1 --lease LEASE"),
    (0, "actuate k1"),
    (0, "observe k1 --wait --timeout 20s"),
    (0, "scale web=5 --key k2 --reason r --wait --timeout 20s"),
    (0, "intent put web --replicas 2 --expect-revision 2 --key k3 --reason r"),
    (18, "actuate k3"),
    (0, "replay k3"),
    (0, "intent put web --replicas 4 --expect-revision 3 --key k4 --reason r"),
    (16, "actuate k4"),
    (0, "settle k4 --applied --reason looked"),
    (0, "observe k4"),
    (0, "intent put web --replicas 6 --expect-revision 4 --key k5 --reason r"),
    (0, "intent withdraw k5"),
    (0, "actuator put fake --timeout 6s -- /bin/sh FAKE"),
];

const SERVICE: &str = "service put web --actuator fake --writer ops --max 10 --quiet 0s \
                       --backoff 0s --drain none --target-match replicas";

/// What the actuator does at its calls.
const SCRIPT: [&str; 5] = ["ok", "ok", "fail retryable busy", "ok", "die"];

/// The world before the first line.
pub(super) fn world() -> World {
    let world = World::new();
    world.write("fake/capabilities", "inspect\nlookup\nfence\n");
    world.script(&SCRIPT);
    world.write("all.cedar", "@id(\"all\")\npermit(principal, action, resource);\n");
    world
}

/// The words of a line, in JSON. The lease that is held now stands for `LEASE`; an id that nobody
/// holds if there is none.
pub(super) fn typed(world: &World, text: &str) -> Vec<String> {
    let fake = fake_actuator();
    let mut text = text.replace("FAKE", fake.to_str().expect("UTF-8")).replace("SERVICE", SERVICE);
    if text.contains("LEASE") {
        let shown = world.json("lease show k1");
        let held = shown.json().pointer("/lease/lease_instance_id").cloned();
        let held = held.and_then(|held| held.as_str().map(str::to_owned));
        text = text.replace("LEASE", &held.unwrap_or_else(|| "lease:none".to_owned()));
    }
    format!("-o json {text}").split_whitespace().map(str::to_owned).collect()
}

/// Runs words without the shim.
pub(super) fn run(world: &World, words: &[String]) -> Ran {
    world.run_args(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// An event of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) command: String,
    pub(super) kind: String,
    pub(super) stream: String,
    pub(super) hash: String,
    /// The call, where it is about one.
    pub(super) call: Option<String>,
}

/// Every event; none where there is no ledger yet.
pub(super) fn events(world: &World) -> Vec<Told> {
    if !world.ledger().exists() {
        return Vec::new();
    }
    let ran = world.json("log --limit 100000").exits(0);
    let document = ran.json();
    let rows = document["events"].as_array().expect("a list");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    rows.iter()
        .map(|row| Told {
            command: text(&row["command_id"]),
            kind: text(&row["event"]),
            stream: text(&row["stream"]),
            hash: text(&row["hash"]),
            call: row.pointer("/body/call/call_id").map(&text),
        })
        .collect()
}

/// Where the intents and the target stand. A success is one whether or not it is confirmed yet.
pub(super) fn standing(world: &World) -> Vec<String> {
    let listed = world.json("intent list").exits(0).json();
    let rows = listed["executions"].as_array().expect("a list");
    let members = ["intent_revision", "desired_replicas", "state", "outcome", "drift"];
    let line = |row: &serde_json::Value| {
        let words = members.map(|member| row[member].to_string()).join(" ");
        words
            .replace("\"succeeded\" null", "well")
            .replace("\"observed\" null", "well")
            .replace("\"verified\" \"converged\"", "well")
    };
    let count = std::fs::read_to_string(world.fake_dir().join("count")).unwrap_or_default();
    rows.iter().map(line).chain([count]).collect()
}

/// Where all may stand when a line has come to its end: as it is now, and, where the line has left
/// something open, as it is after recovery.
pub(super) fn ends(world: &World, exit: i32) -> Vec<Vec<String>> {
    let mut ends = vec![standing(world)];
    if exit != 0 {
        let recovered = world.copy();
        recovered.run("replay --all --wait --timeout 5s").exits(0);
        ends.push(standing(&recovered));
        assert_ne!(ends[0], ends[1], "nothing was left open");
    }
    ends
}

/// At most one effect of each key: the actuator can always be asked.
#[track_caller]
pub(super) fn check_effects(world: &World) {
    let effects = world.fake_log("effects");
    let mut keys: Vec<&str> = effects.iter().filter_map(|line| line.split(' ').next()).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), effects.len(), "a key had two effects: {effects:?}");
}

/// Follows the table of exit codes until the line answers as it would have: repeats it, and says
/// `replay` where something is unknown.
#[track_caller]
pub(super) fn converge(world: &World, text: &str, exit: i32) {
    let mut last = None;
    for _ in 0..200 {
        let ran = run(world, &typed(world, text));
        let code = ran.code.expect("an exit");
        let error = ran.json()["error"]["code"].as_str().unwrap_or_default().to_owned();
        match (code, error.as_str()) {
            // What once was to be tried again may have gone well since.
            (0, _) if exit == 16 || exit == 18 => return,
            (code, _) if code == exit => return,
            // It had gone through.
            (10, "ledger_exists") | (11, "lease_lost") => return,
            (10, _) if text.starts_with("settle") => return,
            (16, _) => {
                world.run("replay --all --wait --timeout 5s");
            }
            (11 | 18 | 19 | 20, _) => std::thread::sleep(std::time::Duration::from_millis(10)),
            _ => panic!("expected {exit}: {ran:#?}"),
        }
        last = Some(ran);
    }
    panic!("it does not come to an end: {last:#?}");
}
