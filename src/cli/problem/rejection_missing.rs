//! The facts and the way on of the refusals of what is not there, or not known.

use super::{Problem, ProblemContext};
use crate::domain::id::ServiceName;
use crate::domain::scale::rejection::MissingFact;

pub(super) fn no_key(p: Problem, c: &ProblemContext, key: &str) -> Problem {
    let p = not_found(p, c, "key or SERVICE@REVISION")
        .about(key)
        .hint("fix the key or the ledger; the keys of this one are listed by");
    match key.split_once('@') {
        Some((service, _)) => p.run(c.command(&["intent", "list", service])),
        None => p.run(c.command(&["intent", "list"])),
    }
}

/// Settings that have changed. A wish that was made for the former ones can never start: it must be
/// ended before its count can be wished anew.
pub(super) fn not_found(p: Problem, c: &ProblemContext, noun: &str) -> Problem {
    let p = p.fact("looked for", noun);
    match &c.ledger {
        Some(ledger) => p.fact("ledger", super::without_password(ledger)),
        None => p,
    }
}

pub(super) fn fact_unknown(
    p: Problem,
    c: &ProblemContext,
    service: &ServiceName,
    fact: &MissingFact,
) -> Problem {
    let service = service.as_str();
    match fact {
        MissingFact::Evidence => p
            .hint(
                "nobody says that what is taken away is drained. Vouch for it this once with the \
                 first, or let this service never ask for it with the second",
            )
            .attested(c)
            .run(c.command(&["service", "put", service, "--drain", "none"])),
        MissingFact::EvidenceSays { part, expected, actual } => p
            .fact(*part, format!("{actual}, and {expected} is asked"))
            .values(expected.as_str(), actual.as_str())
            .hint("run this same line again once it is so; what is asked is told by")
            .run(c.command(&["explain", service]))
            .again(c),
        MissingFact::Quorum { may_come } => {
            let p = if *may_come {
                p.hint(
                    "no person's word replaces evidence: run this same line again once it is \
                     given; or name an actuator that gives it, or ask for no quorum, with",
                )
                .again(c)
            } else {
                p.hint(
                    "no person's word replaces evidence: name an actuator that gives it with the \
                     first, or ask for no quorum with the second",
                )
            };
            p.run(c.command(&["service", "put", service, "--actuator", "NAME"]))
                .run(c.command(&["service", "put", service, "--quorum", "none"]))
        }
        MissingFact::Count { .. } | MissingFact::Reading => p
            .hint("run this same line again once the target can be read; try it with")
            .run(c.command(&["service", "bind", service]))
            .again(c),
        MissingFact::Overtaken { .. } => {
            p.hint("others read it at the same time: run this same line again").again(c)
        }
        MissingFact::Cooldown { by } => p
            .hint("find out what became of it, then run this same line again")
            .run(c.command(&["replay", &format!("{service}@{by}"), "--wait"]))
            .again(c),
        MissingFact::Owners { unread } => {
            let p = named(p, "unread", unread);
            let p = p
                .hint(
                    "let the actuator read them and run this same line again; or make sure that \
                     none of them drives the count, and say so, which is recorded",
                )
                .again(c);
            let flag = ["--owners-unread", "accept"].map(str::to_owned);
            let is_hand_over = c.verb == ["service", "mode"] && !c.line.is_empty();
            let line = if is_hand_over {
                c.line.clone()
            } else {
                c.command(&["service", "mode", service, "native", "--reason", "TEXT"])
            };
            p.run(line.into_iter().chain(flag).collect())
        }
    }
}

/// Facts of one label: each has a number of its own where there are several, because in a document
/// one label has one value.
pub(super) fn named(p: Problem, label: &str, names: &[String]) -> Problem {
    match names {
        [name] => p.fact(label, name.clone()),
        names => names
            .iter()
            .enumerate()
            .fold(p, |p, (at, name)| p.fact(format!("{label} {}", at + 1), name.clone())),
    }
}

pub(super) fn no_service(p: Problem, c: &ProblemContext, service: &ServiceName) -> Problem {
    not_found(p, c, "service")
        .about(service.as_str())
        .hint("fix the name or the ledger; the services of this one are listed by")
        .run(c.command(&["service", "list"]))
}

pub(super) fn no_actuator(p: Problem, c: &ProblemContext, name: &str) -> Problem {
    not_found(p, c, "actuator")
        .hint(
            "fix the name or the ledger: those of this one are listed by the first; a new one is \
             registered with the second",
        )
        .run(c.command(&["actuator", "list"]))
        .run(c.command(&["actuator", "put", name, "--", "COMMAND"]))
}

pub(super) fn not_actuated(p: Problem, c: &ProblemContext, service: &ServiceName) -> Problem {
    p.about(service.as_str())
        .hint("whoever carries it out reads the count that is wished, as you can, with")
        .run(c.command(&["gateway", "observe", service.as_str()]))
}
