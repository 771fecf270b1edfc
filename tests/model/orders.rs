//! Orders: the commands of the model in a form that can be hashed, and how they become commands.

use scalectl::domain::id::{AttemptNumber, FenceToken, LeaseEpoch, LeaseInstanceId};
use scalectl::domain::scale::command::{
    CallPlan, Command, Premise, PutForm, PutIntent, RegisterService, Settlement, StartAttempt,
};
use scalectl::domain::scale::intent::RetryAsked;
use scalectl::domain::scale::lease::Holder;
use scalectl::domain::scale::observation::Reading;
use scalectl::domain::scale::others::Others;
use scalectl::domain::scale::owners::Owners;
use scalectl::domain::scale::result::Detail;
use scalectl::domain::scale::state::ServiceState;
use scalectl::domain::time::{DurationMs, Timestamp};

use super::answers::{end, succeeded};
use super::deeds::{self, Deed, glass_id, glass_of};
use super::guarded::{Proof, Sign};
use super::people::Person;
use super::setup::Setup;
use crate::rules::support::{START, count, id};

/// How many seconds a tick has.
pub(super) const TICK: u64 = 150;

/// What somebody who looked at the target saw, and when they began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Look {
    pub(super) replicas: u8,
    pub(super) version: u8,
    pub(super) serial: u64,
    pub(super) began: i8,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Answer {
    Success,
    /// A success with another count.
    Other(u8),
    /// A failure with this count.
    Stopped(u8),
    Refused,
    RefusedForGood,
    /// None, or none that can be read.
    Nothing,
    NotStarted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Word {
    /// Of an attempt, and the count.
    LookupApplied(u8, u8),
    LookupNever(u8),
    Read(Look),
    Applied(Look),
    NotApplied,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Order {
    Put {
        wish: u8,
    },
    /// The same key with another count.
    Rewish {
        wish: u8,
    },
    /// A wish whose premise is an old revision.
    Outdated {
        wish: u8,
    },
    Withdraw {
        key: u8,
    },
    Abandon {
        key: u8,
    },
    Simulate {
        key: u8,
    },
    Acquire {
        key: u8,
        host: u8,
        real: i8,
    },
    Renew {
        key: u8,
    },
    Release {
        key: u8,
    },
    Start {
        key: u8,
        host: u8,
        real: i8,
        look: Look,
        proof: Proof,
    },
    End {
        key: u8,
        attempt: u8,
        lease: LeaseInstanceId,
        answer: Answer,
        ended: Option<i8>,
        version: u8,
    },
    Prove {
        key: u8,
        attempt: u8,
        ended: i8,
    },
    Fenced {
        key: u8,
        attempt: u8,
        /// What was there right before.
        look: Option<Look>,
    },
    Settle {
        key: u8,
        word: Word,
    },
    Observe {
        key: u8,
        look: Option<Look>,
    },
    /// What one person does about consent.
    Person(Deed),
    /// Another controller is the writer from now on.
    Handover {
        to: u8,
    },
}

impl Order {
    /// The key that it names.
    pub(super) const fn key(&self) -> u8 {
        match self {
            Self::Put { wish } | Self::Rewish { wish } | Self::Outdated { wish } => *wish,
            Self::Withdraw { key }
            | Self::Abandon { key }
            | Self::Simulate { key }
            | Self::Acquire { key, .. }
            | Self::Renew { key }
            | Self::Release { key }
            | Self::Start { key, .. }
            | Self::End { key, .. }
            | Self::Prove { key, .. }
            | Self::Fenced { key, .. }
            | Self::Settle { key, .. }
            | Self::Observe { key, .. } => *key,
            Self::Person(deed) => deed.key(),
            Self::Handover { .. } => 0,
        }
    }

    /// How it is signed.
    pub(super) const fn sign(&self) -> Sign {
        match self {
            Self::Person(deed) => deed.sign(),
            _ => Sign::Nothing,
        }
    }

    /// Whether it records a reading.
    pub(super) const fn is_look(&self) -> bool {
        matches!(
            self,
            Self::Observe { look: Some(_), .. }
                | Self::Settle { word: Word::Read(_) | Word::Applied(_), .. }
                | Self::Person(
                    Deed::Bind(_) | Deed::Recreate(_) | Deed::Say { word: Word::Applied(_), .. }
                )
        )
    }

    /// Who gives it.
    pub(super) fn actor(&self, setup: &Setup) -> &'static str {
        let other = match self {
            Self::Put { wish } | Self::Rewish { wish } | Self::Outdated { wish } => {
                setup.wishes[usize::from(*wish)].words.contains("bob")
            }
            _ => false,
        };
        if other { "bob" } else { "ann" }
    }

    /// Who gives it, where several persons live.
    pub(super) fn person(&self, setup: &Setup) -> Person {
        match self {
            Self::Person(deed) => deed.by(),
            // The second host is Bob's.
            Self::Start { host: 1, .. } => Person::Bob,
            _ if self.actor(setup) == "bob" => Person::Bob,
            _ => Person::Ann,
        }
    }
}

/// The wall clock at a tick.
pub(super) fn at(tick: i8) -> Timestamp {
    let start: Timestamp = START.parse().expect("the test's own instant");
    let distance = DurationMs::from_secs(u64::from(tick.unsigned_abs()) * TICK);
    if tick < 0 { start.minus(distance) } else { start.plus(distance) }
}

pub(super) fn reading(look: Look) -> Reading {
    Reading {
        began_at: at(look.began),
        read_at: at(look.began),
        target_uid: id("uid-1"),
        target_resource_version: id(&format!("v{}", look.version)),
        generation: None,
        replicas: count(look.replicas.into()),
        ready_replicas: None,
    }
}

fn attempt(number: u8) -> AttemptNumber {
    AttemptNumber::new(number.into()).expect("the test's own attempt")
}

fn holder(host: u8) -> Holder {
    Holder { host: format!("host-{host}"), host_key: id(&format!("host-key-{host}")), pid: 7 }
}

fn lease(key: u8, host: u8, real: i8) -> LeaseInstanceId {
    id(&format!("lease-{}-{host}-{real}", Setup::key(key)))
}

/// The command that an order is in this state.
pub(super) fn command(setup: &Setup, state: &ServiceState, order: &Order, wall: i8) -> Command {
    let key = Setup::key(order.key());
    match order {
        Order::Put { wish } | Order::Rewish { wish } | Order::Outdated { wish } => {
            put(setup, *wish, order)
        }
        Order::Withdraw { .. } => {
            Command::Withdraw { key: id(&key), reason: None, supersede: true }
        }
        Order::Abandon { .. } => {
            Command::Abandon { key: id(&key), reason: Detail::cut("given up"), supersede: true }
        }
        Order::Simulate { .. } => Command::Simulate { key: id(&key), controller: id("writer") },
        Order::Acquire { host, real, .. } => Command::AcquireLease {
            key: id(&key),
            controller: id(setup.controller(*host)),
            lease_instance_id: lease(order.key(), *host, *real),
            holder: holder(*host),
            ttl: DurationMs::from_secs(2 * TICK),
        },
        Order::Renew { .. } | Order::Release { .. } => {
            let held = state.executions[&id(&key)].lease.as_ref();
            let lease_instance_id =
                held.map_or_else(|| id("lease-0"), |held| held.lease.lease_instance_id.clone());
            if matches!(order, Order::Release { .. }) {
                return Command::ReleaseLease { key: id(&key), lease_instance_id };
            }
            let ttl = DurationMs::from_secs(2 * TICK);
            Command::RenewLease { key: id(&key), lease_instance_id, ttl }
        }
        Order::Start { host, real, look, proof, .. } => {
            let minted = lease(order.key(), *host, *real);
            Command::Start(Box::new(StartAttempt {
                key: id(&key),
                controller: id(setup.controller(*host)),
                lease: None,
                ttl: DurationMs::from_secs(2 * TICK),
                found: (!setup.has("blind")).then(|| Ok(reading(*look))),
                began_after_serial: look.serial,
                evidence: proof.evidence(*look, desired(setup, order.key())),
                attest_not_drained: *proof == Proof::Word,
                override_cooldown: false,
                call: CallPlan {
                    call_id: id(&format!("call-{}", minted.as_str())),
                    lease_instance_id: minted,
                    holder: holder(*host),
                    deadline_boot_ms: 1,
                    timeout: DurationMs::from_secs(u64::from(setup.timeout.unsigned_abs()) * TICK),
                },
            }))
        }
        Order::End { attempt: number, lease, answer, ended, version, .. } => Command::EndCall {
            key: id(&key),
            attempt: attempt(*number),
            lease_instance_id: lease.clone(),
            end: end(state, &key, *answer, *version),
            ended_at: ended.map(at),
        },
        Order::Prove { attempt: number, ended, .. } => {
            Command::ProveEnd { key: id(&key), attempt: attempt(*number), ended_at: at(*ended) }
        }
        Order::Fenced { attempt: number, look, .. } => {
            let (attempt, before) = (attempt(*number), look.map(reading));
            Command::RecordFence { key: id(&key), attempt, before }
        }
        Order::Settle { word, .. } => {
            let settlement = Box::new(settlement(state, &key, *word));
            Command::Settle { key: id(&key), settlement, authorization: None }
        }
        Order::Observe { look, .. } => observe(state, &key, *look),
        Order::Handover { to } => handover(state, setup.controller(*to)),
        Order::Person(deed) => deeds::command(setup, state, *deed, at(wall)),
    }
}

fn desired(setup: &Setup, wish: u8) -> u8 {
    setup.wishes[usize::from(wish)].replicas
}

/// Nobody binds a target in between: every look is of what is bound.
fn observe(state: &ServiceState, key: &str, look: Option<Look>) -> Command {
    let reading = look.map(|look| (reading(look), look.serial));
    Command::Observe { key: id(key), reading, bound_before: state.head.binding.clone() }
}

fn handover(state: &ServiceState, writer: &str) -> Command {
    let mut registration = state.head.registration.clone().expect("a registered service");
    registration.writer = id(writer);
    Command::RegisterService(Box::new(RegisterService {
        registration,
        binding: None,
        expected: None,
        accept_uid: None,
        others: Others::default(),
        owners: Owners::default(),
        authorization: None,
    }))
}

/// A fence of the writer's own: `low` is behind `high`.
fn fence(words: &str) -> Option<(LeaseEpoch, FenceToken)> {
    let (epoch, token) = match words.split_whitespace().find(|w| matches!(*w, "high" | "low"))? {
        "high" => (4, 1),
        _ => (3, 9),
    };
    let number = "a number of the test's own";
    Some((LeaseEpoch::new(epoch).expect(number), FenceToken::new(token).expect(number)))
}

fn ticks(number: u64) -> DurationMs {
    DurationMs::from_secs(number * TICK)
}

fn put(setup: &Setup, wish: u8, order: &Order) -> Command {
    let wished = setup.wishes[usize::from(wish)];
    let more = u64::from(matches!(order, Order::Rewish { .. }));
    let is_outdated = matches!(order, Order::Outdated { .. });
    let form = PutForm::Flags {
        replicas: count(u64::from(wished.replicas) + more),
        reason: id("model"),
        retry: RetryAsked::default(),
        key: id(&Setup::key(wish)),
        fence: fence(wished.words),
        valid_for: ticks(setup.valid),
    };
    Command::Put(Box::new(PutIntent {
        dry_run: wished.words.contains("dry"),
        premise: if is_outdated { Premise::Revision(99) } else { Premise::Latest },
        queue: wished.words.contains("queue"),
        supersede: wished.words.contains("supersede"),
        approve_within: wished.words.contains("asks").then(|| ticks(setup.consent.within)),
        authorization: glass_of(wished.words).map(|glass| id(&glass_id(glass))),
        ..PutIntent::new(id("web"), form)
    }))
}

pub(super) fn settlement(state: &ServiceState, key: &str, word: Word) -> Settlement {
    match word {
        Word::LookupApplied(number, replicas) => {
            let result = succeeded(state, key, replicas.into());
            Settlement::LookupApplied(attempt(number), result)
        }
        Word::LookupNever(number) => Settlement::LookupNever(attempt(number)),
        Word::Read(look) => Settlement::Reading {
            reading: reading(look),
            began_after_serial: look.serial,
            bound_before: state.head.binding.clone(),
        },
        Word::Applied(look) => {
            Settlement::AttestedApplied { reason: id("looked"), reading: Some(reading(look)) }
        }
        Word::NotApplied => Settlement::AttestedNotApplied { reason: id("looked"), attempt: None },
    }
}
