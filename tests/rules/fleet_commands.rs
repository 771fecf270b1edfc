//! The words of scripts about a service as a whole, about consent and about ticks.

use scalectl::domain::scale::command::{
    Adopt, AuthorityCommand, Authorize, HandOver, Observed, Tick,
};
use scalectl::domain::scale::owners::Owners;
use scalectl::domain::scale::result::Detail;
use scalectl::domain::scale::scaling::{Aggregation, CostCap, Sample, ScalingSpec, Signal};
use scalectl::domain::scale::signed::Signing;
use scalectl::domain::time::DurationMs;

use super::script::Words;
use super::support::{World, count, id};

/// `10` is a target of 10 for the whole service; steps of 100, one sample up, three down.
pub(super) fn spec(target: &str) -> ScalingSpec {
    ScalingSpec {
        signal: signal(),
        target: target.parse().expect("a number"),
        scale_up_step: count(100),
        scale_down_step: count(100),
        deadband: "0.05".parse().expect("a number"),
        scale_up_samples: 1,
        scale_down_samples: 3,
    }
}

fn signal() -> Signal {
    Signal { name: id("queue"), aggregation: Aggregation::FleetTotal, unit: None, scope: None }
}

impl World {
    pub(super) fn fleet(&mut self, verb: &str, words: &Words<'_>) -> Option<AuthorityCommand> {
        let reason = Detail::cut(words.value("reason").unwrap_or("test"));
        let service = || id("web");
        let after = |name: &str| words.value(name).map(|it| it.parse().expect("a duration"));
        Some(match verb {
            "hand-over" => AuthorityCommand::HandOver(HandOver {
                service: service(),
                mode: id(words.key),
                expected: words.number("expected"),
                actuator: None,
                owner: words.value("owner").map(str::to_owned),
                reading: (!words.has("unread")).then(|| (self.reading(), self.serial(words))),
                owners: found_owners(words),
                accepts_unread: words.has("accept"),
                reason,
            }),
            "retire" => AuthorityCommand::Retire { service: service(), reason },
            "hold" => {
                let until = Some(self.now.plus(words.key.parse().expect("a duration")));
                AuthorityCommand::Hold { service: service(), until, reason }
            }
            "lift" => AuthorityCommand::Hold { service: service(), until: None, reason },
            "unpin" => AuthorityCommand::ClearOverride { service: service(), reason },
            "adopt" => AuthorityCommand::Adopt(Adopt {
                service: service(),
                key: id(words.key),
                reading: self.reading(),
                began_after_serial: self.serial(words),
                reason: id("as it is"),
                supersede: words.has("supersede"),
                key_elsewhere: None,
                id_owner: words.value("id_owner").map(id),
            }),
            "grant" | "deny-it" => {
                let (key, grants, signing) = (id(words.key), verb == "grant", signing(words));
                AuthorityCommand::Answer { key, grants, reason, signing }
            }
            "authorize" => AuthorityCommand::Authorize(Authorize {
                service: service(),
                authorization_id: id(words.key),
                desired_replicas: count(words.first_number().expect("a count")),
                current: Some(count(self.target.replicas)),
                incident: id("INC-1"),
                reason,
                valid_for: after("valid").unwrap_or(DurationMs::from_secs(3600)),
                max_uses: words.number("uses").map_or(1, |it| u8::try_from(it).expect("few")),
                attests_not_drained: words.has("attest"),
                raises_max_to: words.number("raise").map(count),
                signing: signing(words),
            }),
            "revoke" => AuthorityCommand::RevokeAuthorization {
                service: service(),
                authorization_id: id(words.key),
                reason,
            },
            "review" => AuthorityCommand::ReviewAuthorization {
                service: service(),
                authorization_id: id(words.key),
                reason,
                signing: signing(words),
            },
            "tick" => self.tick(words),
            _ => return None,
        })
    }

    /// `tick KEY value=55 age=5s`: a sample of that value and age, and what runs.
    fn tick(&mut self, words: &Words<'_>) -> AuthorityCommand {
        let age: DurationMs = words.value("age").unwrap_or("0ms").parse().expect("a duration");
        let ahead: DurationMs = words.value("ahead").unwrap_or("0ms").parse().expect("a duration");
        let mut signal = signal();
        if words.has("other-signal") {
            signal.name = id("other");
        }
        let sample = words.value("value").map(|value| Sample {
            service: id("web"),
            signal,
            value: value.parse().expect("a number"),
            observed_at: self.now.minus(age).plus(ahead),
        });
        let observed = Observed {
            replicas: count(self.target.replicas),
            is_down: words.has("down"),
            began_after_serial: self.serial(words),
        };
        AuthorityCommand::Tick(Tick {
            service: id("web"),
            observed: (!words.has("unobserved")).then_some(observed),
            sample,
            cost_cap: words.value("budget").map(|budget| CostCap {
                budget_per_hour: budget.parse().expect("a number"),
                replica_cost: "0.05".parse().expect("a number"),
            }),
            key: id(words.key),
            valid_for: DurationMs::from_secs(3600),
            approve_within: DurationMs::from_secs(3600),
            id_owner: None,
        })
    }
}

/// `found=hpa` drives the count; whether one of `kind=h` does, nobody can read.
pub(super) fn found_owners(words: &Words<'_>) -> Owners {
    Owners {
        drive: words.value("found").map(str::to_owned).into_iter().collect(),
        unread: words.value("kind").map(str::to_owned).into_iter().collect(),
        ..Owners::default()
    }
}

/// What is known of a signature: `signed=missing` where the ledger asks for one, `signed=other`
/// where something else was signed.
fn signing(words: &Words<'_>) -> Signing {
    let list = scalectl::domain::digest::Digest::of(b"a list");
    match words.value("signed") {
        Some("missing") => Signing { signed: None, list: Some(list), is_required: true },
        Some("other") => Signing {
            signed: Some(("something else".to_owned(), list)),
            list: Some(list),
            is_required: true,
        },
        Some(other) => panic!("signed={other}"),
        None => Signing::default(),
    }
}
