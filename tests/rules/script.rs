//! A script: one command a line, then what it comes to.
//!
//! ```text
//! put a 5 queue tries=1 : done accepted
//! ```
//!
//! After the colon: how it is said (`done` where nothing stands there) or the code of the refusal,
//! and then the state of the key, where that matters. `?` accepts any answer.

use scalectl::domain::scale::attempt::UnknownWhy;
use scalectl::domain::scale::command::{
    CallEnd, CallPlan, Command, Premise, PutForm, PutIntent, Settlement, StartAttempt,
};
use scalectl::domain::scale::decide::{Decision, Reply};
use scalectl::domain::scale::execution::{Execution, Phase};
use scalectl::domain::scale::intent::{IntentRecord, RetryPolicy};
use scalectl::domain::scale::lease::Holder;
use scalectl::domain::scale::observation::Evidence;
use scalectl::domain::scale::rejection::Rejection;
use scalectl::domain::scale::result::{ActuationResult, Detail};
use scalectl::domain::time::DurationMs;

use super::support::{World, count, id};

/// Runs a script in a new world with these settings.
pub(crate) fn run(settings: &str, script: &str) -> World {
    let mut world = World::new(settings);
    world.run(script);
    world
}

struct Words<'a> {
    key: &'a str,
    rest: Vec<&'a str>,
}

impl<'a> Words<'a> {
    fn has(&self, word: &str) -> bool {
        self.rest.contains(&word)
    }

    fn value(&self, name: &str) -> Option<&'a str> {
        self.rest.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.value(name).map(|text| text.parse().expect("a number"))
    }

    fn first_number(&self) -> Option<u64> {
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
            "recreate" => words.key.clone_into(&mut self.target.uid),
            "actor" => words.key.clone_into(&mut self.actor),
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
        let key = || id(words.key);
        match verb {
            "register" => Command::RegisterService {
                registration: Box::new(self.wanted.clone()),
                binding: (!words.has("unread")).then(|| self.binding()),
                expected: words.number("expected"),
            },
            "bind" => Command::BindTarget {
                service: id("web"),
                reading: self.reading(),
                accept_uid: words.value("accept").map(id),
            },
            "put" | "record" => Command::Put(Box::new(self.put(verb, words))),
            "start" => Command::Start(Box::new(self.start(words))),
            "withdraw" => Command::Withdraw { key: key(), reason: None },
            "abandon" => Command::Abandon { key: key(), reason: Detail::cut("given up") },
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
            "fence" => Command::RecordFence { key: key(), attempt: self.attempt(words) },
            "settle" => {
                Command::Settle { key: key(), settlement: Box::new(self.settlement(words)) }
            }
            "observe" => {
                let reading = (!words.has("unread")).then(|| (self.reading(), self.serial(words)));
                Command::Observe { key: key(), reading }
            }
            other => panic!("no such verb: {other}"),
        }
    }

    fn serial(&self, words: &Words<'_>) -> u64 {
        if words.has("stale") { u64::MAX } else { self.state.head.reading_serial }
    }

    fn put(&mut self, verb: &str, words: &Words<'_>) -> PutIntent {
        let replicas = count(words.first_number().expect("a count"));
        let retry_policy = words.number("tries").map(|tries| RetryPolicy {
            max_attempts: serde_json::from_value(tries.into()).expect("attempts"),
            ..self.wanted.retry_policy
        });
        let fence = words.value("fence").and_then(|fence| fence.split_once('.'));
        let number = |text: &str| serde_json::from_str(text).expect("a number");
        let form = PutForm::Flags {
            replicas,
            reason: id(words.value("reason").unwrap_or("test")),
            retry_policy,
            key: id(words.key),
            fence: fence.map(|(epoch, token)| {
                (number(epoch), serde_json::from_str(token).expect("a token"))
            }),
            valid_for: words.value("valid").unwrap_or("1h").parse().expect("a duration"),
        };
        let revision = words.number("rev");
        let mut put = PutIntent {
            service: id(words.value("service").unwrap_or("web")),
            form,
            dry_run: words.has("dry"),
            premise: revision.map_or(Premise::Latest, Premise::Revision),
            expect_count: words.number("count").map(count),
            queue: words.has("queue"),
            supersede: words.has("supersede"),
            override_cooldown: words.has("override"),
            attest_not_drained: words.has("attest"),
            key_elsewhere: words.value("elsewhere").map(|service| (id(service), one())),
            id_owner: words.value("id_owner").map(id),
        };
        if verb == "record" {
            put.form = PutForm::Record(Box::new(self.record(words)));
        }
        put
    }

    /// The record that a client of the contract makes; `same` hands back the stored one.
    fn record(&self, words: &Words<'_>) -> IntentRecord {
        let stored = self.state.executions.get(&id(words.key));
        if let Some(record) = stored.filter(|_| words.has("same")).and_then(Execution::record) {
            return record;
        }
        let next = self.state.head.latest_revision + 1;
        let (epoch, token) =
            words.value("fence").and_then(|f| f.split_once('.')).unwrap_or(("2", "1"));
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let document = serde_json::json!({
            "schema_version": "1",
            "intent_id": format!("intent-{}", words.key),
            "intent_revision": words.number("number").unwrap_or(next),
            "expected_unit_revision": words.number("unit").unwrap_or(1),
            "desired_replicas": words.first_number(),
            "min_replicas": 0,
            "max_replicas": 100,
            "controller_mode": words.value("mode").unwrap_or("native"),
            "replica_writer_id": words.value("writer").unwrap_or("writer"),
            "execution_key": words.key,
            "fence": {
                "lease_id": words.value("lease_id").unwrap_or("client-lease"),
                "lease_epoch": number(epoch),
                "fence_token": number(token),
                "expires_at": words.value("expires").unwrap_or("2026-01-01T14:00:00Z"),
            },
            "target": {
                "cluster_id": "cluster",
                "runtime_id": "runtime",
                "workload_id": words.value("workload").unwrap_or("web"),
                "target_uid": words.value("uid").unwrap_or("uid-1"),
                "target_resource_version": words.value("version").unwrap_or("v1"),
            },
            "reason": words.value("reason").unwrap_or("test"),
            "retry_policy": {"max_attempts": words.number("tries").unwrap_or(3), "backoff_s": 5.0},
            "created_at": "2026-01-01T12:00:00Z",
        });
        serde_json::from_value(document).expect("the test's own record")
    }

    fn start(&mut self, words: &Words<'_>) -> StartAttempt {
        let (lease, call) = (self.mint("lease"), self.mint("call"));
        let timeout: DurationMs = words.value("timeout").unwrap_or("60s").parse().expect("timeout");
        let reading = self.reading();
        let inspects = self.actuator.capabilities.inspect && !words.has("unread");
        let found = match words.value("unreadable") {
            Some(why) => Some(Err(why.to_owned())),
            None => inspects.then_some(Ok(reading.clone())),
        };
        let evidence = words.rest.iter().any(|w| w.starts_with("evidence")).then(|| Evidence {
            drained: !words.has("evidence_busy"),
            stabilized: !words.has("evidence_unstable"),
            resource_version: words
                .value("evidence_version")
                .map_or(reading.target_resource_version, id),
            observed_replicas: words.number("evidence_count").map_or(reading.replicas, count),
            remaining_replicas: count(
                words
                    .number("evidence_left")
                    .unwrap_or_else(|| self.execution(words.key).desired().get()),
            ),
            quorum_safe: words.has("evidence_no_quorum").then_some(false),
            read_at: self
                .now
                .minus(words.value("evidence_age").unwrap_or("0ms").parse().expect("an age")),
        });
        StartAttempt {
            key: id(words.key),
            controller: controller(words),
            lease: words.value("lease").map(id),
            ttl: DurationMs::from_secs(60),
            found,
            evidence,
            attest_not_drained: words.has("attest"),
            override_cooldown: words.has("override"),
            call: CallPlan {
                call_id: id(&call),
                lease_instance_id: id(&lease),
                holder: holder(),
                deadline_boot_ms: 1,
                timeout,
            },
        }
    }

    fn attempt(&self, words: &Words<'_>) -> scalectl::domain::id::AttemptNumber {
        let newest = || self.execution(words.key).attempts.max(1);
        serde_json::from_value(words.number("attempt").unwrap_or_else(newest).into())
            .expect("an attempt")
    }

    fn lease(&self, words: &Words<'_>) -> scalectl::domain::id::LeaseInstanceId {
        let held = || {
            let held = self.execution(words.key).lease.as_ref();
            held.map_or_else(|| id("lease-0"), |held| held.lease.lease_instance_id.clone())
        };
        words.value("lease").map_or_else(held, id)
    }

    /// `ok` changes the target before it says so, `late` had done so before; `lose` and `fail` do with
    /// the word `applied`.
    fn end_call(&mut self, verb: &str, words: &Words<'_>) -> Command {
        let attempt = self.attempt(words);
        let call = (words.key.to_owned(), attempt.get());
        let lease = self.calls.get(&call).cloned().unwrap_or_else(|| id("lease-0"));
        let desired = self.execution(words.key).desired().get();
        let said = words.first_number().unwrap_or(desired);
        if verb == "ok" || words.has("applied") {
            self.change_target(said);
        }
        let result = self.result(verb, words, said);
        let end = match verb {
            "lose" => CallEnd::Unknown {
                why: UnknownWhy::Lost,
                detail: Detail::cut("lost"),
                rollback_required: words.has("rollback"),
            },
            "nostart" => CallEnd::NotStarted { detail: Detail::cut("no such file") },
            _ => CallEnd::Answered {
                result,
                rollback_required: false,
                resource_version_after: (verb == "ok")
                    .then(|| id(&format!("v{}", self.target.version))),
            },
        };
        let ended_at = (!words.has("elsewhere")).then_some(self.now);
        Command::EndCall {
            key: id(words.key),
            attempt,
            lease_instance_id: words.value("lease").map_or(lease, id),
            end,
            ended_at,
        }
    }

    fn result(&self, verb: &str, words: &Words<'_>, said: u64) -> ActuationResult {
        let mut document = serde_json::json!({
            "execution_key": words.value("for").unwrap_or(words.key),
            "target": self.execution(words.key).intent.wish.target,
            "detail": words.value("detail").unwrap_or(""),
        });
        let members = match verb {
            "ok" | "late" => {
                serde_json::json!({"state":"succeeded","scaled":true,"observed_replicas":said})
            }
            "garble" => serde_json::json!({"state":"simulated","scaled":false}),
            _ => serde_json::json!({"state":"failed","scaled":false,"error_code":"refused",
                "retryable": verb != "fatal", "observed_replicas": words.number("read")}),
        };
        for (name, value) in members.as_object().expect("an object") {
            document[name] = value.clone();
        }
        serde_json::from_value(document).expect("the test's own result")
    }

    fn settlement(&self, words: &Words<'_>) -> Settlement {
        let reason = id("looked");
        let reading = self.reading();
        match words.rest.get(1).copied().expect("a way to settle") {
            "applied" => {
                let said = self.execution(words.key).desired().get();
                Settlement::LookupApplied(self.result("ok", words, said))
            }
            "simulated" => Settlement::LookupApplied(self.result("garble", words, 0)),
            "never" => Settlement::LookupNever,
            "reading" => Settlement::Reading { reading, began_after_serial: self.serial(words) },
            "early_reading" => Settlement::Reading {
                reading: scalectl::domain::scale::observation::Reading {
                    began_at: self.now.minus(DurationMs::from_secs(1)),
                    ..reading
                },
                began_after_serial: self.serial(words),
            },
            "yes" => Settlement::AttestedApplied { reason, reading: Some(reading) },
            "yes_unread" => Settlement::AttestedApplied { reason, reading: None },
            "no" => Settlement::AttestedNotApplied { reason },
            other => panic!("no such settlement: {other}"),
        }
    }
}

fn one() -> scalectl::domain::id::IntentRevision {
    serde_json::from_value(1.into()).expect("a revision")
}

fn controller(words: &Words<'_>) -> scalectl::domain::id::ControllerId {
    id(words.value("as").unwrap_or("writer"))
}

fn ttl(words: &Words<'_>) -> DurationMs {
    words.value("ttl").unwrap_or("60s").parse().expect("a duration")
}

fn holder() -> Holder {
    Holder { host: "host".to_owned(), host_key: id("host-key"), pid: 7 }
}

/// One word for every answer.
pub(crate) fn said(answer: &Result<Reply, Rejection>) -> &'static str {
    match answer {
        Ok(Reply::Done) => "done",
        Ok(Reply::Replayed) => "replayed",
        Ok(Reply::Unchanged) => "unchanged",
        Ok(Reply::StaleReading) => "stale_reading",
        Ok(Reply::Late) => "late",
        Err(rejection) => rejection.code(),
    }
}
