//! The commands of a script, with every fact that a real caller would have gathered.

use scalectl::domain::id::{AttemptNumber, ControllerId, IntentRevision, LeaseInstanceId};
use scalectl::domain::scale::attempt::UnknownWhy;
use scalectl::domain::scale::authority::{Authority, Hold, Override, Retirement};
use scalectl::domain::scale::command::{
    CallEnd, CallPlan, Command, Premise, PutForm, PutIntent, RegisterService, Settlement,
    StartAttempt,
};
use scalectl::domain::scale::execution::Execution;
use scalectl::domain::scale::intent::{IntentRecord, RetryAsked};
use scalectl::domain::scale::lease::Holder;
use scalectl::domain::scale::observation::{Evidence, Reading};
use scalectl::domain::scale::others::{Namesake, Others};
use scalectl::domain::scale::provenance::WishSource;
use scalectl::domain::scale::result::{ActuationResult, Detail};
use scalectl::domain::scale::service::{Binding, Registration};
use scalectl::domain::time::DurationMs;

use super::fleet_commands::found_owners;
use super::script::Words;
use super::support::{World, count, id};

impl World {
    pub(super) fn serial(&self, words: &Words<'_>) -> u64 {
        if words.has("stale") {
            return u64::MAX;
        }
        words.number("began").unwrap_or(self.state.head.reading_serial)
    }

    /// What was bound when a reading began; with `overlapped`, something else was.
    pub(super) fn bound_before(&self, words: &Words<'_>) -> Option<Binding> {
        self.state.head.binding.clone().filter(|_| !words.has("overlapped"))
    }

    /// What is read now, or, with `early=N`, what was begun to be read N seconds ago.
    pub(super) fn reading_of(&self, words: &Words<'_>) -> Reading {
        let early = DurationMs::from_secs(words.number("early").unwrap_or(0));
        Reading { began_at: self.now.minus(early), ..self.reading() }
    }

    pub(super) fn registration_of(&self, words: &Words<'_>) -> Command {
        Command::RegisterService(Box::new(RegisterService {
            registration: self.wanted.clone(),
            binding: (!words.has("unread")).then(|| self.binding()),
            expected: words.number("expected"),
            accept_uid: words.value("accept").map(id),
            others: self.others(words),
            owners: found_owners(words),
            authorization: words.value("glass").map(id),
        }))
    }

    /// Who else has the target: the object (`holder=api`), or its name (`namesake=held`, `pinned`,
    /// `owned`, `free`; with `over`, retired).
    pub(super) fn others(&self, words: &Words<'_>) -> Others {
        let namesake = words.value("namesake").map(|laid| {
            let until = self.now.plus(DurationMs::from_secs(60));
            let (reason, actor, set_at) = ("x".to_owned(), "bob".to_owned(), self.now);
            let mode = if laid == "owned" { "external_hpa" } else { "native" };
            let hold = Hold { until, reason: reason.clone(), actor: actor.clone(), set_at };
            let pinned = Override {
                execution_key: id("k"),
                replicas: count(1),
                until,
                actor: actor.clone(),
            };
            let retired = Retirement { at: self.now, reason, actor };
            Namesake {
                registration: Registration {
                    service: id("api"),
                    mode: id(mode),
                    ..self.wanted.clone()
                },
                authority: Authority {
                    hold: (laid == "held").then_some(hold),
                    pinned: (laid == "pinned").then_some(pinned),
                    retired: words.has("over").then_some(retired),
                    ..Authority::default()
                },
            }
        });
        Others { holder: words.value("holder").map(id), namesakes: namesake.into_iter().collect() }
    }

    pub(super) fn put(&mut self, verb: &str, words: &Words<'_>) -> PutIntent {
        let replicas = count(words.first_number().expect("a count"));
        let tries = words.number("tries");
        let retry = RetryAsked {
            max_attempts: tries.map(|it| serde_json::from_value(it.into()).expect("attempts")),
            backoff: words.number("backoff").map(DurationMs::from_secs),
        };
        let fence = words.value("fence").and_then(|fence| fence.split_once('.'));
        let number = |text: &str| serde_json::from_str(text).expect("a number");
        let form = PutForm::Flags {
            replicas,
            reason: id(words.value("reason").unwrap_or("test")),
            retry,
            key: id(words.key),
            fence: fence.map(|(epoch, token)| {
                (number(epoch), serde_json::from_str(token).expect("a token"))
            }),
            valid_for: words.value("valid").unwrap_or("1h").parse().expect("a duration"),
        };
        let revision = words.number("rev");
        let mut put = PutIntent {
            dry_run: words.has("dry"),
            premise: revision.map_or(Premise::Latest, Premise::Revision),
            expect_count: words.number("count").map(count),
            queue: words.has("queue"),
            supersede: words.has("supersede"),
            override_cooldown: words.has("override"),
            attest_not_drained: words.has("attest"),
            key_elsewhere: words.value("elsewhere").map(|service| (id(service), one())),
            id_owner: words.value("id_owner").map(id),
            source: words.value("source").map_or(WishSource::Cli, id),
            approve_within: words.value("within").map(|it| it.parse().expect("a duration")),
            authorization: words.value("glass").map(id),
            pin_until: words.number("pin").map(|after| self.now.plus(DurationMs::from_secs(after))),
            rolls_back: words.value("undo").map(id),
            ..PutIntent::new(id(words.value("service").unwrap_or("web")), form)
        };
        if verb == "record" {
            put.form = PutForm::Record(Box::new(self.record(words)));
        }
        put
    }

    /// The record that a client of the contract makes; `same` hands back the stored one.
    pub(super) fn record(&self, words: &Words<'_>) -> IntentRecord {
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

    pub(super) fn start(&mut self, words: &Words<'_>) -> StartAttempt {
        let (lease, call) = (self.mint("lease"), self.mint("call"));
        let timeout: DurationMs = words.value("timeout").unwrap_or("60s").parse().expect("timeout");
        let age = words.value("read_ago").unwrap_or("0ms").parse().expect("an age");
        let reading = Reading { began_at: self.now.minus(age), ..self.reading() };
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
            quorum_safe: words
                .has("evidence_no_quorum")
                .then_some(false)
                .or(words.has("evidence_quorum").then_some(true)),
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
            began_after_serial: self.serial(words),
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

    pub(super) fn attempt(&self, words: &Words<'_>) -> AttemptNumber {
        let newest = || self.execution(words.key).attempts.max(1);
        serde_json::from_value(words.number("attempt").unwrap_or_else(newest).into())
            .expect("an attempt")
    }

    pub(super) fn lease(&self, words: &Words<'_>) -> LeaseInstanceId {
        let held = || {
            let held = self.execution(words.key).lease.as_ref();
            held.map_or_else(|| id("lease-0"), |held| held.lease.lease_instance_id.clone())
        };
        words.value("lease").map_or_else(held, id)
    }

    /// `ok` changes the target before it says so, `late` had done so before; `lose` and `fail` do with
    /// the word `applied`.
    pub(super) fn end_call(&mut self, verb: &str, words: &Words<'_>) -> Command {
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

    pub(super) fn result(&self, verb: &str, words: &Words<'_>, said: u64) -> ActuationResult {
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
            _ => {
                serde_json::json!({"state":"failed","scaled":false,"error_code": words.value("code").unwrap_or("refused"),
                "retryable": verb != "fatal", "observed_replicas": words.number("read")})
            }
        };
        for (name, value) in members.as_object().expect("an object") {
            document[name] = value.clone();
        }
        serde_json::from_value(document).expect("the test's own result")
    }

    pub(super) fn settlement(&self, words: &Words<'_>) -> Settlement {
        let reason = id("looked");
        let reading = self.reading();
        // What is looked up is the newest attempt, unless the row says another one.
        let asked = self.attempt(words);
        match words.rest.get(1).copied().expect("a way to settle") {
            "applied" => {
                let said = self.execution(words.key).desired().get();
                Settlement::LookupApplied(asked, self.result("ok", words, said))
            }
            "failed" => Settlement::LookupApplied(asked, self.result("fail", words, 0)),
            "simulated" => Settlement::LookupApplied(asked, self.result("garble", words, 0)),
            "never" => Settlement::LookupNever(asked),
            "reading" => Settlement::Reading {
                reading: self.reading_of(words),
                began_after_serial: self.serial(words),
                bound_before: self.bound_before(words),
            },
            "early_reading" => Settlement::Reading {
                reading: Reading { began_at: self.now.minus(DurationMs::from_secs(1)), ..reading },
                began_after_serial: self.serial(words),
                bound_before: self.bound_before(words),
            },
            "yes" => Settlement::AttestedApplied { reason, reading: Some(reading) },
            "yes_unread" => Settlement::AttestedApplied { reason, reading: None },
            "no" => {
                let meant = words.number("attempt").map(|_| asked);
                Settlement::AttestedNotApplied { reason, attempt: meant }
            }
            other => panic!("no such settlement: {other}"),
        }
    }
}

fn one() -> IntentRevision {
    serde_json::from_value(1.into()).expect("a revision")
}

pub(super) fn controller(words: &Words<'_>) -> ControllerId {
    id(words.value("as").unwrap_or("writer"))
}

pub(super) fn ttl(words: &Words<'_>) -> DurationMs {
    words.value("ttl").unwrap_or("60s").parse().expect("a duration")
}

pub(super) fn holder() -> Holder {
    Holder { host: "host".to_owned(), host_key: id("host-key"), pid: 7 }
}
