//! Commands that are killed at any moment, one after the other, on one ledger.
//!
//! A round starts a command, sleeps for a part of its usual time, and kills the command, its guard
//! or its actuator with SIGKILL. After each round the ledger must be sound, continue what was there
//! before (`verify --since`), and still say whatever was acknowledged. When the last round is over,
//! recovery must leave nothing open, and the actuator's own log must have at most one effect a key.
//!
//! The orders follow from a seed, which is printed; where a kill falls is up to the machine, so it
//! is counted, and a run that did not kill in different phases has proved nothing.
//! `SCALECTL_KILL_SEED` and `SCALECTL_KILLS` ask for other and for more rounds.

mod book;
mod ending;
mod orders;
mod phase;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Signal, pidfd_send_signal};
use serde_json::Value;

use crate::support::{SERVICE, World};
use book::Book;
use orders::{Dice, Order, Victim, order};
use phase::{CallSeen, Phase};

/// The usual number of rounds.
const ROUNDS: u64 = 90;
/// In how many different phases a run must have killed: fewer would be one and the same test.
const PHASES_MIN: usize = 4;
/// No command of these worlds takes longer, unless it hangs.
const HANGS: Duration = Duration::from_secs(30);
/// How long after the beginning of a call, at most, its guard or its actuator is killed.
const INTO_CALL: Duration = Duration::from_millis(60);
/// Exits that no death of a process explains.
const NEVER: &[i32] = &[1, 2, 12, 14, 15, 20, 21, 22, 24, 26];

struct Run {
    world: World,
    dice: Dice,
    book: Book,
    /// How long each verb takes when nobody kills it, as far as this run has seen.
    usual: BTreeMap<&'static str, Duration>,
    phases: BTreeMap<Phase, u32>,
    keys: u32,
    newest_put: String,
    told: String,
}

/// What one round saw.
struct Round {
    verb: &'static str,
    line: String,
    pid: u32,
    output: Output,
    /// What was killed before it had ended, and what was seen of the call then.
    killed: Option<(Victim, Option<CallSeen>)>,
    took: Duration,
}

impl Run {
    fn new(seed: u64) -> Self {
        let world = world();
        let mut run = Self {
            world,
            dice: Dice(seed),
            book: Book::default(),
            usual: BTreeMap::new(),
            phases: BTreeMap::new(),
            keys: 0,
            newest_put: String::new(),
            told: String::new(),
        };
        // One of each, unharmed: there is a newest wish from here on, and a usual time.
        for verb in [
            "put", "lease", "actuate", "observe", "replay", "scale", "settle", "put", "withdraw",
            "service", "policy",
        ] {
            let line = run.line(verb);
            run.next_call_does("ok");
            let round = run.start(verb, line, None);
            assert_eq!(round.output.status.code(), Some(0), "{:?}", round.output);
            run.look(&round);
        }
        run
    }

    /// Another count than the target has, so that there is something to do.
    fn count(&mut self) -> u64 {
        1 + self.dice.below(10)
    }

    fn line(&mut self, verb: &str) -> String {
        match verb {
            "put" => {
                self.keys += 1;
                let (key, count) = (self.keys, self.count());
                let put = "intent put web --queue --expect-revision latest --reason r";
                self.newest_put = format!("{put} --replicas {count} --key k{key}");
                self.newest_put.clone()
            }
            "again" => self.newest_put.clone(),
            "scale" => {
                self.keys += 1;
                let (key, count) = (self.keys, self.count());
                format!("scale web={count} --queue --reason r --key k{key} --timeout 3s")
            }
            "replay" => "replay --all".to_owned(),
            "lease" => "lease acquire web@latest".to_owned(),
            "settle" => self.honest_settlement(),
            "withdraw" => "intent withdraw web@latest".to_owned(),
            // Another value each time, so that there is something to write.
            "service" => format!("service put web --max {}", 11 + self.dice.below(80)),
            "policy" => {
                let number = self.dice.below(1_000_000);
                let text = format!(
                    "@id(\"all\")\npermit(principal, action, resource);\n\
                     @id(\"n{number}\")\npermit(principal, action, resource);\n"
                );
                self.world.write("next.cedar", text);
                "policy put next.cedar --reason r".to_owned()
            }
            verb => format!("{verb} web@latest"),
        }
    }

    /// What a person says who has looked at the target's own log.
    fn honest_settlement(&self) -> String {
        let key = self.world.json("intent show web@latest").exits(0).at("/intent/execution_key");
        let key = format!("{} ", key.as_str().expect("a key"));
        let happened = self.world.fake_log("effects").iter().any(|line| line.starts_with(&key));
        let word = if happened { "--applied" } else { "--not-applied" };
        format!("settle {key} {word} --reason looked")
    }

    /// Runs a line that nobody kills.
    fn unharmed(&mut self, verb: &'static str) {
        let line = self.line(verb);
        let round = self.start(verb, line, None);
        let text = self.check_exit(&round);
        let events = self.book.new_events(&self.world);
        self.book.acknowledge(&round, &own(&events, &round), &text);
        let _ = writeln!(self.told, "  first {}: {:?}", round.line, round.output.status.code());
    }

    /// Makes sure that a command has something to do.
    fn prepare(&mut self, verb: &str) {
        self.next_call_does("ok");
        let states = self.open_states();
        let has = |wanted: &[&str]| states.iter().any(|state| wanted.contains(&state.as_str()));
        let is_stuck = has(&["started", "recovery_pending", "failed"]);
        if is_stuck && !matches!(verb, "replay" | "settle") && self.dice.below(2) == 0 {
            self.unharmed("replay");
        }
        match verb {
            "actuate" | "lease" | "withdraw" if !has(&["accepted"]) => self.unharmed("put"),
            "observe" if !has(&["succeeded", "observed"]) => {
                self.unharmed("put");
                self.unharmed("actuate");
            }
            "replay" | "settle" if !is_stuck => {
                self.unharmed("put");
                let why = self.dice.one_of(&["unknown", "fail retryable busy"]);
                self.next_call_does(why);
                self.unharmed("actuate");
            }
            _ => {}
        }
    }

    /// The states of what is under way.
    fn open_states(&self) -> Vec<String> {
        let open = self.world.json("intent list --unfinished").exits(0).at("/executions");
        let rows = open.as_array().expect("a list").iter();
        rows.map(|row| row["state"].as_str().expect("a state").to_owned()).collect()
    }

    fn next_call_does(&self, words: &str) {
        let next = self.world.fake_log("calls").len() + 1;
        self.world.write("fake/next", format!("{next} {words}\n"));
    }

    /// Starts a command, and kills somebody after a while, if somebody is to be killed.
    fn start(
        &mut self,
        verb: &'static str,
        line: String,
        order: Option<(Victim, Duration)>,
    ) -> Round {
        let mut words = vec!["-o", "json"];
        words.extend(line.split_whitespace());
        let mut command = self.world.command(&words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let began = Instant::now();
        let mut child = command.spawn().expect("it starts");
        let killed = order.and_then(|(victim, delay)| self.kill(&mut child, victim, delay));
        while child.try_wait().expect("it is ours").is_none() {
            if began.elapsed() > HANGS {
                child.kill().expect("it is ours");
                panic!("it hangs: {line}\n{}", self.told);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let took = began.elapsed();
        let pid = child.id();
        let output = child.wait_with_output().expect("it has ended");
        // It may have ended by itself in the moment in which it was killed.
        let killed = killed.filter(|(victim, _)| {
            let is_command = matches!(victim, Victim::Command | Victim::Both);
            !is_command || output.status.signal() == Some(9)
        });
        Round { verb, line, pid, output, killed, took }
    }

    /// Kills after a while who is to be killed, and answers whom, if it was still there. A guard
    /// is there for a short while only: the time of its death counts from the beginning of a call.
    fn kill(
        &self,
        child: &mut Child,
        victim: Victim,
        delay: Duration,
    ) -> Option<(Victim, Option<CallSeen>)> {
        let mut is_over = || child.try_wait().expect("it is ours").is_some();
        if victim != Victim::Command {
            let has_call = || CallSeen::newest(&self.world).is_some_and(|call| call.has_guard());
            while !has_call() && !is_over() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        std::thread::sleep(delay);
        if is_over() {
            return None;
        }
        let call = CallSeen::newest(&self.world);
        let aimed = match victim {
            Victim::Command => None,
            victim => Some(call.as_ref()?.aim(&self.world, victim)?),
        };
        if matches!(victim, Victim::Command | Victim::Both) {
            child.kill().expect("it is ours");
        }
        let is_dead = aimed.is_none_or(|it| pidfd_send_signal(it, Signal::KILL).is_ok());
        is_dead.then_some((victim, call))
    }

    fn round(&mut self) {
        let Order { verb, script, victim } = order(&mut self.dice);
        self.prepare(verb);
        let line = self.line(verb);
        self.next_call_does(script);
        let usual = self.usual[usual_of(verb)];
        let most = if victim == Victim::Command { usual } else { INTO_CALL };
        let most = u64::try_from(most.as_micros()).expect("not that long");
        // What makes no call writes once, near its end: half of its kills fall there.
        let is_late = !orders::CALLERS.contains(&verb) && self.dice.below(2) == 0;
        let least = if is_late { most / 2 } else { 0 };
        let delay = Duration::from_micros(least + self.dice.below((most - least).max(1)));
        let round = self.start(verb, line, Some((victim, delay)));
        let _ = write!(self.told, "{} ({script}), {victim:?} after {delay:?}: ", round.line);
        self.look(&round);
        let _ = writeln!(self.told, "{:?}", round.output.status);
    }

    /// Nobody dies but by us, and no command exits with what no death explains.
    fn check_exit(&self, round: &Round) -> String {
        let status = round.output.status;
        let text = format!("{}\n{} {:?}", self.told, round.line, round.output);
        let of_command = matches!(round.killed, Some((Victim::Command | Victim::Both, _)));
        if status.signal().is_some() {
            assert!(status.signal() == Some(9) && of_command, "it died by itself: {text}");
        }
        let never = status.code().is_some_and(|code| NEVER.contains(&code));
        assert!(!never, "an exit that no death explains: {text}");
        text
    }

    /// What must hold after every round.
    fn look(&mut self, round: &Round) {
        let text = self.check_exit(round);
        let events = self.book.new_events(&self.world);
        let own = own(&events, round);
        let phase = phase::of(&self.world, round, &own);
        let _ = write!(self.told, "{phase:?} ");
        *self.phases.entry(phase).or_default() += 1;
        // What a verb takes changes with the machine: kills must neither all miss nor all come
        // before anything has happened.
        let usual = self.usual.entry(usual_of(round.verb)).or_insert(round.took);
        match phase {
            Phase::Ended => *usual = (*usual).min(round.took),
            Phase::NothingWritten => *usual = (*usual * 6 / 5).min(Duration::from_secs(1)),
            _ => {}
        }
        self.book.acknowledge(round, &own, &text);
        self.book.check_ledger(&self.world, &text);
        self.book.check_calls(&self.world, &text);
    }
}

/// A world whose target cannot be killed in the middle of an effect.
fn world() -> World {
    let world = World::new();
    world.init_fake();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = root.join("tests/races/kills/target.sh");
    let target = target.to_str().expect("UTF-8");
    let words = ["actuator", "put", "fake", "--timeout", "5s", "--", "/bin/sh", target];
    world.run_args(&words).exits(0);
    world.run(&format!("{SERVICE} --backoff 0s")).exits(0);
    world
}

impl Drop for Run {
    /// A run that has failed may have left a call that nobody ends.
    fn drop(&mut self) {
        for pid in self.world.children() {
            if let Some(it) = phase::of_world(&self.world, pid.parse().unwrap_or_default()) {
                let _ = pidfd_send_signal(it, Signal::KILL);
            }
        }
    }
}

/// Redelivery takes as long as a put.
fn usual_of(verb: &'static str) -> &'static str {
    if verb == "again" { "put" } else { verb }
}

/// The events that the process of a round has written.
fn own<'e>(events: &'e [Value], round: &Round) -> Vec<&'e Value> {
    events.iter().filter(|event| event["by"]["pid"] == round.pid).collect()
}

/// What a test says is shown where it fails, and with `--nocapture`.
#[expect(clippy::print_stdout, reason = "the seed of a run, and where its kills fell")]
fn say(text: &str) {
    println!("{text}");
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn whatever_was_killed_nothing_acknowledged_is_lost_and_nothing_happens_twice() {
    let seed = number("SCALECTL_KILL_SEED").unwrap_or(1);
    let rounds = number("SCALECTL_KILLS").unwrap_or(ROUNDS);
    say(&format!("SCALECTL_KILL_SEED={seed} SCALECTL_KILLS={rounds}"));
    let mut run = Run::new(seed);
    for _ in 0..rounds {
        run.round();
    }
    say(&format!("{}{:#?}", run.told, run.phases));
    let phases = std::mem::take(&mut run.phases);
    let told = run.told.clone();
    run.finish();
    let fell: Vec<Phase> = phases.into_keys().filter(|phase| *phase != Phase::Ended).collect();
    if rounds >= ROUNDS {
        assert!(fell.len() >= PHASES_MIN, "all kills fell in {fell:?}\n{told}");
        assert!(fell.contains(&Phase::NothingWritten), "{fell:?}\n{told}");
        assert!(fell.iter().any(|phase| phase.is_in_a_call()), "{fell:?}\n{told}");
    }
}
