//! The scenarios: what the fake can do, what it is told to do, and the lines of a person.

use crate::support::World;

/// A line of a scenario.
pub(super) struct Line {
    pub(super) text: &'static str,
    /// The exit code without a crash.
    pub(super) exit: i32,
    /// Whether this line is let die.
    pub(super) dies: bool,
}

impl Line {
    /// The line as typed: the lease that is held now stands for `LEASE`.
    pub(super) fn typed(&self, world: &World) -> String {
        if !self.text.contains("LEASE") {
            return self.text.to_owned();
        }
        let shown = world.json("lease show k1").exits(0);
        let lease = shown.at("/lease/lease_instance_id");
        self.text.replace("LEASE", lease.as_str().expect("an id"))
    }
}

/// A few lines, and the fake that they meet.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// Whether only what follows the spawn is let die: what comes before it does not depend on what
    /// the actuator can do.
    pub(super) only_calls: bool,
    pub(super) capabilities: &'static [&'static str],
    pub(super) on_unknown: &'static str,
    script: &'static [&'static str],
    pub(super) lines: Vec<Line>,
}

const ALL_SEEING: &[&str] = &["inspect", "lookup", "fence"];

const PUT: &str = "intent put web --replicas 3 --expect-revision 0 --key k1 --reason r";
const PUT_2: &str = "intent put web --replicas 5 --expect-revision 1 --key k2 --reason r --queue";

impl Scenario {
    /// Each line of `lines` is `EXIT TEXT`, or `EXIT* TEXT` if it is let die.
    fn new(name: &'static str, script: &'static [&'static str], lines: &[&'static str]) -> Self {
        let lines = lines.iter().map(|line| {
            let (exit, text) = line.split_once(' ').expect("an exit and a text");
            let dies = exit.ends_with('*');
            let exit = exit.trim_end_matches('*').parse().expect("a number");
            let text = match text {
                "PUT" => PUT,
                "PUT_2" => PUT_2,
                text => text,
            };
            Line { text, exit, dies }
        });
        let lines = lines.collect();
        Self {
            name,
            only_calls: false,
            capabilities: ALL_SEEING,
            on_unknown: "observe_first",
            script,
            lines,
        }
    }

    /// Lets only what follows the spawn of a call die.
    fn only_calls(self) -> Self {
        Self { only_calls: true, ..self }
    }

    fn with(
        mut self,
        name: &'static str,
        capabilities: &'static [&'static str],
        on_unknown: &'static str,
    ) -> Self {
        (self.name, self.capabilities, self.on_unknown) = (name, capabilities, on_unknown);
        self
    }

    /// The world before the first line. The target is held to its version, the strictest match.
    pub(super) fn world(&self) -> World {
        let world = World::new();
        world.init_fake_that(self.capabilities);
        let named = if self.capabilities.contains(&"inspect") {
            ""
        } else {
            "--cluster fake --runtime sh --target-uid fake:web --target-version 1"
        };
        let line = "service put web --actuator fake --writer ops --max 10 --quiet 0s --backoff 0s \
                    --drain none --max-attempts 6 --readings";
        let readings = if named.is_empty() { 2 } else { 1 };
        let on_unknown = self.on_unknown;
        world.run(&format!("{line} {readings} --on-unknown {on_unknown} {named}")).exits(0);
        if !self.script.is_empty() {
            world.script(self.script);
        }
        world
    }
}

/// All of them.
pub(super) fn all() -> Vec<Scenario> {
    let mut all = vec![
        Scenario::new(
            "lease and success",
            &[],
            &[
                "0* PUT",
                "0* lease acquire k1 --controller ops",
                "0* lease renew k1 --lease LEASE --ttl 200s",
                "0* lease release k1 --lease LEASE",
                "0 lease acquire k1 --controller ops",
                "0* actuate k1",
                "0* observe k1",
            ],
        ),
        Scenario::new(
            "retryable failure",
            &["fail retryable busy"],
            &["0 PUT", "18* actuate k1", "0* actuate k1", "0 observe k1"],
        ),
        Scenario::new(
            "terminal failure",
            &["fail terminal broken"; 6],
            &["0 PUT", "17* actuate k1", "17 observe k1"],
        )
        .only_calls(),
        Scenario::new("mismatch", &["count 4"; 6], &["0 PUT", "23* actuate k1"]).only_calls(),
        Scenario::new(
            "abandon",
            &["fail retryable busy"; 6],
            &["0 PUT", "18 actuate k1", "0* intent abandon k1 --reason r"],
        ),
        Scenario::new(
            "whole scale",
            &[],
            &["0* scale web=3 --reason r", "0* scale web=1 --reason r"],
        ),
        Scenario::new("loss and replay", &["die"], &["0 PUT", "16* actuate k1", "0* replay k1"]),
        Scenario::new(
            "queue and overtake",
            &["fail retryable busy"],
            &["0 PUT", "18 actuate k1", "0* PUT_2", "0* actuate k2", "0 observe k2"],
        ),
        Scenario::new("withdraw", &[], &["0 PUT", "0* intent withdraw k1 --reason r"]),
        Scenario::new("simulate", &[], &["0 PUT", "0* actuate k1 --simulate"]),
        Scenario::new(
            "service put",
            &[],
            &[
                "0* service put api --actuator fake --writer ops --max 3 --expect-revision 0",
                "0* service put web --max 8 --expect-revision 1",
                "0* service bind web",
                "0* actuator put other -- scalectl actuator run local --state-dir procs --command true",
                "0* init --ledger second.db",
            ],
        ),
        Scenario::new(
            "settled as applied",
            &["unknown"],
            &["0 PUT", "16* actuate k1", "0* settle k1 --applied --reason r", "0 observe k1"],
        )
        .with("settled as applied", ALL_SEEING, "halt"),
        Scenario::new(
            "settled as not applied",
            &["wrong-key"],
            &[
                "0 PUT",
                "16 actuate k1",
                "0* settle k1 --not-applied --reason r",
                "0 actuate k1",
                "0 observe k1",
            ],
        )
        .with("settled as not applied", &[], "halt"),
    ];
    // What differs between these is what follows an unknown call.
    let fakes: [(_, &[&str], _); 7] = [
        ("blind", &[], "observe_first"),
        ("reads", &["inspect"], "observe_first"),
        ("reads and fences", &["inspect", "fence"], "observe_first"),
        ("looks up", &["lookup"], "observe_first"),
        ("deduplicates", &["deduplicates_execution_key"], "retry_same_key"),
        (
            "can do everything",
            &["deduplicates_execution_key", "conditional_on_version", "inspect", "lookup", "fence"],
            "retry_same_key",
        ),
        ("is conditional and waits for a person", &["conditional_on_version", "inspect"], "halt"),
    ];
    all.extend(fakes.map(|(name, capabilities, on_unknown)| {
        let script: &[&str] = &["fail retryable busy"];
        let lines = ["0 PUT", "18* actuate k1", "0* actuate k1", "0 observe k1"];
        let scenario = Scenario::new(name, script, &lines);
        scenario.only_calls().with(name, capabilities, on_unknown)
    }));
    all
}
