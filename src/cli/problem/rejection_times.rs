//! What refusals say about instants: how long it takes, until when, and whose clock is wrong.

use super::rejection::at;
use super::rejection_facts::why_text;
use super::{Problem, ProblemContext};
use crate::domain::id::{IntentRevision, ServiceName};
use crate::domain::scale::attempt::UnknownWhy;
use crate::domain::scale::state::LastEffect;
use crate::domain::time::Timestamp;

impl Problem {
    /// Says that the caller's own flag was heard, where policy did not let it pass.
    fn told_of_override(self, c: &ProblemContext) -> Self {
        const FLAG: &str = "--override-cooldown";
        if c.line.iter().any(|word| word == FLAG) {
            return self
                .fact("override", format!("{FLAG}: policy does not permit override_cooldown"));
        }
        self
    }
}

pub(super) fn cooldown(
    p: Problem,
    c: &ProblemContext,
    service: &ServiceName,
    last: &LastEffect,
    until: Timestamp,
) -> Problem {
    let from = last.from.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let what = format!("{}, {from} → {}", at(service, last.intent_revision), last.to);
    in_time(
        p.fact("by", format!("{}, {what}, ended {}", last.actor, last.ended_at)),
        c,
        "clear",
        until,
    )
    .told_of_override(c)
    .hint("run this same line again then; what it counts from is told by")
    .run(c.command(&["cooldown", service.as_str()]))
    .again(c)
}

/// The instant from which something holds, and how far away it is.
pub(super) fn in_time(p: Problem, c: &ProblemContext, label: &str, at: Timestamp) -> Problem {
    if at <= c.now {
        p.fact(label, format!("since {at}"))
    } else {
        p.fact(label, format!("at {at}, in {}", at.since(c.now)))
    }
}

pub(super) fn outcome_unknown(
    p: Problem,
    c: &ProblemContext,
    service: &ServiceName,
    revision: IntentRevision,
    why: UnknownWhy,
    until: Option<Timestamp>,
) -> Problem {
    let intent = at(service, revision);
    let p = p.fact("why", why_text(why));
    let p = match until {
        Some(until) => p.fact("late", late_text(c, until)),
        None => p,
    };
    p.fact("blocked", format!("{service} starts nothing else until this is settled"))
        .hint("never use a new key for it: it could be done twice. Find out what became of it with")
        .run(c.command(&["replay", &intent, "--wait"]))
}

fn late_text(c: &ProblemContext, until: Timestamp) -> String {
    if until <= c.now {
        return format!("no effect is waited for any more, since {until}");
    }
    format!("an effect may still arrive until {until}, for {}", until.since(c.now))
}

pub(super) fn clock_skew(
    p: Problem,
    c: &ProblemContext,
    service: &ServiceName,
    now: Timestamp,
    mark: Timestamp,
) -> Problem {
    let service = service.as_str();
    p.values(mark.to_string(), now.to_string())
        .fact("behind", mark.since(now).to_string())
        .hint(
            "set the clock if it is wrong (the server's, where the ledger is on one); if it is \
             right, look at who has written, and say so",
        )
        .run(c.command(&["log", service]))
        .run(c.command(&["clock", "accept", service, "--reason", "the clock is right"]))
}
