//! The two ticks, with the real commands: a row for each numbered rule of facts/fleet-authority.md,
//! sections 4 and 5, that names it; deaths and races; hostile sources; a real Prometheus.

mod autoscale;
mod brought_back;
mod deaths;
mod order;
mod over;
mod prometheus;
mod recipe;
mod reconcile;
mod sources;
mod told;

use serde_json::{Value, json};

use super::support::{Ran, SCALECTL, SERVICE, World};

/// A world whose clocks stand still until somebody moves them, with the service `web`.
pub(crate) struct Fleet {
    pub(crate) world: World,
    seconds: u64,
}

/// What scales `web`: 10 of its signal for each replica, any step, one sample up and three down.
const SCALED: &str = "--signal queue --signal-target 10 --scale-up-step 100 --scale-down-step 100 \
                      --cooldown 0s";

/// Each service has an object of its own; `web` the one that it was registered with.
const OWN_OBJECTS: &str = "if [ \"$workload\" = web ]; then rm -f uid
                           else echo uid-$workload >uid; fi\n";

impl Fleet {
    /// `web` is scaled by a signal, and has three replicas.
    fn scaled() -> Self {
        let fleet = Self::plain();
        fleet.world.run(&format!("service put web {SCALED}")).exits(0);
        fleet
    }

    /// `web` is static, and has three replicas.
    fn plain() -> Self {
        let mut fleet = Self { world: World::new(), seconds: 0 };
        fleet.later(0);
        fleet.world.init_fake();
        fleet.counts(3);
        fleet.world.run(&format!("{SERVICE} --backoff 0s")).exits(0);
        fleet
    }

    /// Moves every clock on.
    fn later(&mut self, seconds: u64) {
        self.seconds += seconds;
        let now = self.instant(0);
        self.world.still(&now);
    }

    /// An instant so many seconds from now.
    fn instant(&self, ahead: i64) -> String {
        let seconds = i64::try_from(self.seconds).expect("few") + 3600 + ahead;
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
        format!("2030-01-{:02}T{hours:02}:{minutes:02}:{:02}Z", days + 1, seconds % 60)
    }

    /// What runs.
    fn counts(&self, replicas: u64) {
        std::fs::create_dir_all(self.world.fake_dir()).expect("a folder");
        std::fs::write(self.world.fake_dir().join("count"), format!("{replicas}\n"))
            .expect("a file");
    }

    /// What every inspection does first.
    fn on_inspect(&self, words: &str) {
        std::fs::write(self.world.fake_dir().join("on-inspect"), words).expect("a file");
    }

    /// Another process runs this line in the middle of the next inspection.
    fn meanwhile(&self, line: &str) {
        let home = self.world.path("");
        let ledger = self.world.ledger_variable();
        let ledger = ledger.map_or_else(String::new, |(name, value)| format!("{name}='{value}'"));
        self.on_inspect(&format!(
            "[ -e done ] || {{ : >done; env -i HOME='{}' PATH=/usr/bin:/bin FAKE_ACTUATOR_DIR=$PWD \
             {ledger} SCALECTL_TEST_NOW=$(cat now) SCALECTL_TEST_CLOCK=still '{SCALECTL}' {line} \
             >/dev/null 2>&1; }}\n",
            home.display(),
        ));
    }

    fn sample(&self, service: &str, value: f64) -> Value {
        sample(service, value, &self.instant(0))
    }

    /// One tick with these samples.
    fn tick_of(&self, flags: &str, samples: &[Value]) -> Ran {
        let line = format!("-o json autoscale --signals - {flags}");
        self.world.run_with(&line, document(samples).as_bytes())
    }

    /// One tick a second later, with a sample of that value. What it says of `web`.
    fn tick(&mut self, flags: &str, value: f64) -> String {
        self.later(1);
        let ran = self.tick_of(flags, &[self.sample("web", value)]).exits(0);
        says(&ran.at("/evaluations/0"))
    }

    /// One pass. What it says of `web`.
    fn pass(&mut self, flags: &str) -> String {
        self.later(1);
        let ran = self.world.json(&format!("reconcile {flags}"));
        row_of(&ran, "web")
    }

    /// Passes until nothing is under way; how many there were.
    fn settle(&mut self) -> usize {
        for passes in 1..20 {
            self.later(1);
            let ran = self.world.json("reconcile");
            if ran.at("/converged").as_array().expect("rows").is_empty() {
                return passes - 1;
            }
        }
        panic!("it never ends: {:#?}", self.world.run("log"));
    }

    /// The state and outcome of an intent.
    fn state(&self, key: &str) -> String {
        let shown = self.world.json(&format!("intent show {key}")).exits(0);
        let (state, outcome) = (shown.at("/execution/state"), shown.at("/execution/outcome"));
        match outcome.as_str() {
            Some(outcome) => format!("{} {outcome}", text(&state)),
            None => text(&state),
        }
    }

    /// How many intents there are.
    fn intents(&self) -> usize {
        let listed = self.world.json("intent list").exits(0);
        listed.at("/executions").as_array().expect("rows").len()
    }

    /// Accepts a wish of a person under a key.
    fn wish(&self, replicas: u64, key: &str) {
        let line = format!("intent put web --replicas {replicas} --key {key} --reason r");
        self.world.run(&line).exits(0);
    }

    /// Another policy.
    fn policy(&self, text: &str) {
        let file = self.world.write("other.cedar", text);
        let words = ["policy", "put", file.to_str().expect("UTF-8"), "--reason", "r"];
        self.world.run_args(&words).exits(0);
    }
}

fn sample(service: &str, value: f64, observed_at: &str) -> Value {
    let signal = json!({"name": "queue", "aggregation": "fleet_total"});
    json!({"service": service, "signal": signal, "value": value, "observed_at": observed_at})
}

fn document(samples: &[Value]) -> String {
    json!({"format_version": 1, "signals": samples}).to_string()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// `skipped: at target`, `intent_accepted 3 → 6`.
fn says(row: &Value) -> String {
    match row["reason"].as_str() {
        Some(reason) => format!("{}: {reason}", text(&row["outcome"])),
        None => format!(
            "{} {} → {}",
            text(&row["outcome"]),
            text(&row["current"]),
            text(&row["desired"])
        ),
    }
}

/// `actuate succeeded`, `nothing: nothing is under way`: what a pass says of a service.
fn row_of(ran: &Ran, service: &str) -> String {
    let document = ran.json();
    let rows = ["converged", "deferred", "unchanged"]
        .iter()
        .flat_map(|part| document[part].as_array().cloned().unwrap_or_default());
    let row = rows.into_iter().find(|row| row["service"] == service);
    let row = row.unwrap_or_else(|| panic!("no {service}: {ran:#?}"));
    match (row["action"].as_str(), row["state"].as_str()) {
        (Some(action), Some(state)) => format!("{action} {state}"),
        (action, _) => format!("{}: {}", action.unwrap_or("?"), text(&row["reason"])),
    }
}
