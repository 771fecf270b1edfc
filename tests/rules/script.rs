//! A script: one command a line, then what it comes to.
//!
//! ```text
//! put a 5 queue tries=1 : done accepted
//! ```
//!
//! After the colon: how it is said (`done` where nothing stands there) or the code of the refusal,
//! and then the state of the key, where that matters. `?` accepts any answer.

use scalectl::domain::scale::command::{Command, PlacedIn};
use scalectl::domain::scale::decide::{Decision, Reply};
use scalectl::domain::scale::execution::Phase;
use scalectl::domain::scale::rejection::Rejection;
use scalectl::domain::scale::result::Detail;
use scalectl::domain::scale::state::FenceMark;

use super::commands::{controller, holder, ttl};
use super::support::{World, id};

/// Runs a script in a new world with these settings.
pub(crate) fn run(settings: &str, script: &str) -> World {
    let mut world = World::new(settings);
    world.run(script);
    world
}

pub(super) struct Words<'a> {
    pub(super) key: &'a str,
    pub(super) rest: Vec<&'a str>,
}

impl<'a> Words<'a> {
    pub(super) fn has(&self, word: &str) -> bool {
        self.rest.contains(&word)
    }

    pub(super) fn value(&self, name: &str) -> Option<&'a str> {
        self.rest.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.value(name).map(|text| text.parse().expect("a number"))
    }

    pub(super) fn first_number(&self) -> Option<u64> {
        self.rest.iter().find_map(|word| word.parse().ok())
    }
}

impl World {
    pub(crate) fn run(&mut self, script: &str) {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (command, expected) = line.rsplit_once(" : ").unwrap_or((line, "done"));
            let mut expected = expected.split_whitespace();
            let answer = self.line(command.trim());
            let said = said(&answer);
            let wanted = expected.next().unwrap_or("done");
            assert!(wanted == "?" || said == wanted, "{line}\n    came to {said}: {answer:?}");
            if let Some(state) = expected.next() {
                let key = command.split_whitespace().nth(1).expect("a key");
                assert_eq!(self.state_of(key), state, "{line}");
            }
        }
    }

    /// State and outcome, and a `!` where it has drifted: `verified(converged)`, `succeeded!`.
    pub(crate) fn state_of(&self, key: &str) -> String {
        let execution = self.execution(key);
        let word = execution.phase.as_str();
        let outcome = execution.outcome().map(|outcome| format!("({})", outcome.as_str()));
        let cause = match &execution.phase {
            Phase::Verified { cause: Some(cause) } => format!(":{cause:?}").to_lowercase(),
            _ => String::new(),
        };
        let drift = if execution.drift { "!" } else { "" };
        format!("{word}{}{cause}{drift}", outcome.unwrap_or_default())
    }

    pub(crate) fn line(&mut self, line: &str) -> Result<Reply, Rejection> {
        let mut words = line.split_whitespace();
        let verb = words.next().expect("a verb");
        let rest: Vec<&str> = words.collect();
        let words = Words { key: rest.first().copied().unwrap_or(""), rest };
        if self.scenery(verb, &words) {
            return Ok(Reply::Done);
        }
        let command = self.command(verb, &words);
        self.act(&command)
    }

    /// What a line would come to; nothing is applied.
    pub(crate) fn decide_line(&mut self, line: &str) -> Result<Decision, Rejection> {
        let mut words = line.split_whitespace();
        let verb = words.next().expect("a verb");
        let rest: Vec<&str> = words.collect();
        let words = Words { key: rest.first().copied().unwrap_or(""), rest };
        let command = self.command(verb, &words);
        self.decide(&self.state, &command)
    }

    /// What is no command: the clock, the target, the person at the terminal, the settings.
    fn scenery(&mut self, verb: &str, words: &Words<'_>) -> bool {
        match verb {
            "wait" => self.now = self.now.plus(words.key.parse().expect("a duration")),
            "back" => self.now = self.now.minus(words.key.parse().expect("a duration")),
            "target" => self.change_target(words.key.parse().expect("a count")),
            "ready" => self.target.ready = words.first_number(),
            "churn" => self.target.version += 1,
            "placed" => {
                self.placed = Some(PlacedIn {
                    environment: id("shop"),
                    cell: id("a"),
                    away: words.has("moving").then(|| id("op-1")),
                    keeps_one: words.has("always-on"),
                });
            }
            "touch" => self.target.touched += 1,
            "recreate" => words.key.clone_into(&mut self.target.uid),
            "actor" => words.key.clone_into(&mut self.actor),
            "person" => {
                words.key.clone_into(&mut self.actor);
                words.key.clone_into(&mut self.person);
            }
            "set" => words.rest.iter().for_each(|word| self.set(word)),
            "permit" => self.policy.0.clear(),
            "is" => assert_eq!(self.state_of(words.key), words.rest[1], "{}", words.key),
            "current" | "wanted" => {
                let head = &self.state.head;
                let found = if verb == "current" { &head.current } else { &head.wanted };
                let found = found.as_ref().map(|current| current.desired_replicas.to_string());
                assert_eq!(found.as_deref().unwrap_or("none"), words.key, "{verb}");
            }
            _ => return false,
        }
        true
    }

    fn command(&mut self, verb: &str, words: &Words<'_>) -> Command {
        if let Some(command) = self.fleet(verb, words) {
            return Command::Authority(Box::new(command));
        }
        let key = || id(words.key);
        match verb {
            "register" => self.registration_of(words),
            "bind" => Command::BindTarget {
                service: id("web"),
                reading: self.reading_of(words),
                began_after_serial: self.serial(words),
                bound_before: self.bound_before(words),
                accept_uid: words.value("accept").map(id),
                others: self.others(words),
            },
            "put" | "record" => Command::Put(Box::new(self.put(verb, words))),
            "start" => Command::Start(Box::new(self.start(words))),
            "withdraw" => {
                Command::Withdraw { key: key(), reason: None, supersede: words.has("supersede") }
            }
            "abandon" => Command::Abandon {
                key: key(),
                reason: Detail::cut("given up"),
                supersede: words.has("supersede"),
            },
            "simulate" => Command::Simulate { key: key(), controller: controller(words) },
            "acquire" => Command::AcquireLease {
                key: key(),
                controller: controller(words),
                lease_instance_id: id(&self.mint("lease")),
                holder: holder(),
                ttl: ttl(words),
            },
            "renew" => Command::RenewLease {
                key: key(),
                lease_instance_id: self.lease(words),
                ttl: ttl(words),
            },
            "release" => Command::ReleaseLease { key: key(), lease_instance_id: self.lease(words) },
            "ok" | "late" | "fail" | "fatal" | "nostart" | "lose" | "garble" => {
                self.end_call(verb, words)
            }
            "prove" => {
                let ended_at = self.now;
                Command::ProveEnd { key: key(), attempt: self.attempt(words), ended_at }
            }
            "fence" => {
                let before = (!words.has("unread")).then(|| self.reading());
                Command::RecordFence { key: key(), attempt: self.attempt(words), before }
            }
            "settle" => {
                let settlement = Box::new(self.settlement(words));
                let authorization = words.value("glass").map(id);
                Command::Settle { key: key(), settlement, authorization }
            }
            "observe" => {
                let look = || (self.reading_of(words), self.serial(words));
                let reading = (!words.has("unread")).then(look);
                Command::Observe { key: key(), reading, bound_before: self.bound_before(words) }
            }
            "accept-clock" => {
                Command::AcceptClock { service: id("web"), reason: Detail::cut("it was ahead") }
            }
            "restore" => restored(words),
            other => panic!("no such verb: {other}"),
        }
    }
}

/// One word for every answer.
pub(crate) fn said(answer: &Result<Reply, Rejection>) -> &'static str {
    match answer {
        Ok(Reply::Done) => "done",
        Ok(Reply::Replayed) => "replayed",
        Ok(Reply::Unchanged) => "unchanged",
        Ok(Reply::StaleReading) => "stale_reading",
        Ok(Reply::Late) => "late",
        Ok(Reply::Evaluated) => "evaluated",
        Err(rejection) => rejection.code(),
    }
}

fn restored(words: &Words<'_>) -> Command {
    let epoch = words.number("lost").unwrap_or(0);
    Command::Restore { incarnation: 2, lost: FenceMark { epoch, token: 0, lease_id: None } }
}
