//! The facts and the way on of the refusals that have more to tell than a line.

use serde_json::json;

use super::rejection::at;
use super::rejection_times::in_time;
use super::{HeldBy, Problem, ProblemContext};
use crate::domain::count::counted;
use crate::domain::id::{IntentRevision, Replicas, ServiceName, TargetUid};
use crate::domain::scale::attempt::UnknownWhy;
use crate::domain::scale::execution::Phase;
use crate::domain::scale::lease::HeldLease;
use crate::domain::scale::policy::{PolicyAction, PolicyAnswer};
use crate::domain::scale::rejection::{Difference, Rejection, TargetPart};
use crate::domain::scale::state::CurrentIntent;

/// The reason of a suggested `intent abandon`: the line must work as it is pasted.
const GIVEN_UP: &str = "not wanted any more";
/// The reason of a suggested `settle` of an object that is gone.
const RECREATED: &str = "another object is there";

pub(super) fn out_of_bounds(
    p: Problem,
    c: &ProblemContext,
    service: &ServiceName,
    desired: Replicas,
    min: Replicas,
    max: Replicas,
) -> Problem {
    let flag = if desired > max { "--max" } else { "--min" };
    p.values(json!({"min": min, "max": max}), desired.get())
        .hint(format!("wish {min} to {max}, or register another bound first"))
        .run(c.command(&["service", "put", service.as_str(), flag, &desired.to_string()]))
}

pub(super) fn target_taken(p: Problem, c: &ProblemContext, holder: &ServiceName) -> Problem {
    p.hint("scale it by that service, or name another target; what it has is shown by")
        .run(c.command(&["service", "show", holder.as_str()]))
}

pub(super) fn other_object(
    p: Problem,
    c: &ProblemContext,
    (service, revision): (&ServiceName, IntentRevision),
    (expected, actual): (&TargetUid, &TargetUid),
) -> Problem {
    let (name, service) = (at(service, revision), service.as_str());
    p.values(expected.as_str(), actual.as_str())
        .hint("nothing of what was called is there any more: say so, then bind what is there")
        .run(c.command(&["settle", &name, "--not-applied", "--reason", RECREATED]))
        .run(c.command(&["service", "bind", service, "--accept-uid", actual.as_str()]))
}

/// No intent has such a name.
pub(super) fn stale_settings(p: Problem, c: &ProblemContext, service: &ServiceName) -> Problem {
    let show = c.command(&["service", "show", service.as_str()]);
    let verb = c.verb.first().map_or("", String::as_str);
    if !["actuate", "approval", "lease", "replay", "scale"].contains(&verb) {
        return p.hint("look at the settings as they are now, then decide again").run(show);
    }
    let newest = format!("{service}@latest");
    p.hint(
        "the wish was made for settings that are no more. If it has not started take it back with \
         the first, if it has failed end it with the second; then wish anew",
    )
    .run(c.command(&["intent", "withdraw", &newest]))
    .run(c.command(&["intent", "abandon", &newest, "--reason", GIVEN_UP]))
    .run(show)
}

pub(super) fn stale_revision(
    p: Problem,
    c: &ProblemContext,
    service: &ServiceName,
    (expected, actual): (u64, u64),
    current: Option<&CurrentIntent>,
) -> Problem {
    let p = p.values(expected, actual);
    let p = match current {
        Some(current) => p.fact(
            "newest",
            format!(
                "{}, accepted {} ago: {} by {}, \"{}\"",
                at(service, current.intent_revision),
                c.now.since(current.accepted_at),
                counted(current.desired_replicas.get(), "replica"),
                current.actor,
                current.reason,
            ),
        ),
        None => p.fact("newest", "no intent was accepted yet"),
    };
    if actual == 0 {
        return p
            .hint("the first intent is put with --expect-revision 0; look at the service with")
            .run(c.command(&["status", service.as_str()]));
    }
    let show = c.command(&["intent", "show", &format!("{service}@{actual}")]);
    let has_said = c.line.iter().any(|word| word.starts_with("--expect-revision"));
    if !has_said && c.verb.first().is_some_and(|verb| verb == "scale") {
        // The line took the newest itself, and somebody was faster.
        return p.hint("somebody wished something meanwhile: look, then decide again").run(show);
    }
    p.hint(format!("put again with --expect-revision {actual} after a look at it with")).run(show)
}

pub(super) fn key_conflict(
    p: Problem,
    c: &ProblemContext,
    intent: &str,
    differences: &[Difference],
) -> Problem {
    let pick = |value: fn(&Difference) -> &String| {
        let pair = |d: &Difference| (d.field.clone(), value(d).clone().into());
        differences.iter().map(pair).collect::<serde_json::Map<_, _>>()
    };
    let p = p.values(pick(|d| &d.stored), pick(|d| &d.submitted));
    let tell = |p: Problem, difference: &Difference| {
        let Difference { field, stored, submitted } = difference;
        p.fact(field, format!("{stored} stored, {submitted} submitted"))
    };
    differences
        .iter()
        .fold(p, tell)
        .hint(
            "a new wish needs a new key, and what varies between runs goes into --ref, not \
             --reason; the stored one is shown by",
        )
        .run(c.command(&["intent", "show", intent]))
}

pub(super) fn target_changed(
    p: Problem,
    c: &ProblemContext,
    service: &ServiceName,
    part: TargetPart,
    expected: &str,
    actual: &str,
) -> Problem {
    let p = p.values(expected, actual);
    let service = service.as_str();
    match part {
        TargetPart::Uid => p.hint("it is another object. If that one is meant").run(c.command(&[
            "service",
            "bind",
            service,
            "--accept-uid",
            actual,
        ])),
        TargetPart::Version | TargetPart::Generation | TargetPart::Replicas => p
            .hint("somebody else changed it: look at what is there, then wish anew")
            .run(c.command(&["service", "bind", service]))
            .run(c.command(&["explain", service])),
        TargetPart::Cluster | TargetPart::Runtime | TargetPart::Workload => p
            .hint("the record is about another target; the registered one is shown by")
            .run(c.command(&["service", "show", service])),
    }
}

pub(super) fn wrong_state(p: Problem, c: &ProblemContext, intent: &str, phase: &Phase) -> Problem {
    let (p, hint, words) = match phase {
        Phase::Proposed { until } => (
            p.fact("left", until.since(c.now).to_string()),
            "a colleague must answer it first; what is asked is told by",
            vec!["explain", intent],
        ),
        Phase::Accepted => {
            return p
                .hint("it has not started; carry it out, or take it back with")
                .run(c.command(&["actuate", intent]))
                .run(c.command(&["intent", "withdraw", intent]));
        }
        Phase::Started { call } => (
            p.fact(
                "started",
                format!("{} ago, attempt {}", c.now.since(call.started_at), call.attempt),
            ),
            "its call is under way; wait for it with",
            vec!["observe", intent, "--wait"],
        ),
        Phase::RecoveryPending { pending } => (
            p.fact(
                "unknown",
                format!("attempt {}: {}", pending.call.attempt, why_text(pending.why)),
            ),
            "nobody knows what its call did; find out with",
            vec!["replay", intent, "--wait"],
        ),
        Phase::Failed { retry_at } => {
            return in_time(p, c, "due", *retry_at)
                .hint("it failed, and an attempt is left; let it be tried, or end it with")
                .run(c.command(&["replay", intent]))
                .run(c.command(&["intent", "abandon", intent, "--reason", GIVEN_UP]));
        }
        Phase::Succeeded | Phase::Observed => (
            p,
            "it is done, and waits for readings; wait for them with",
            vec!["observe", intent, "--wait"],
        ),
        Phase::Superseded { by, .. } => (
            p.fact("by", format!("intent revision {by}")),
            "a newer wish ended it, and a new wish needs a new key; look back with",
            vec!["explain", intent],
        ),
        Phase::Verified { .. } | Phase::Rejected | Phase::Withdrawn => (
            p,
            "it is finished, and a new wish needs a new key; look back with",
            vec!["explain", intent],
        ),
    };
    p.hint(hint).run(c.command(&words))
}

pub(super) fn in_flight(
    p: Problem,
    c: &ProblemContext,
    intent: &str,
    state: &str,
    held: Option<&HeldLease>,
) -> Problem {
    let p = match held.filter(|_| state == "started") {
        Some(held) => Problem { held_by: Some(HeldBy::from(held)), ..waits_for(p, c, held) },
        None => p,
    };
    match state {
        "recovery_pending" => p
            .hint("find out what became of it, then run this same line again")
            .run(c.command(&["replay", intent, "--wait"])),
        "failed" => p
            .hint("let it be tried again, or end it, or wait behind it with --queue")
            .run(c.command(&["replay", intent]))
            .run(c.command(&["intent", "abandon", intent, "--reason", GIVEN_UP])),
        _ => p
            .hint("wait for it, then run this same line again; or wait behind it with --queue")
            .run(c.command(&["observe", intent, "--wait"])),
    }
}

/// A lease that is alive. `may_end` says whether a wish could end what it is held for.
pub(super) fn held_by_a_lease(
    p: Problem,
    c: &ProblemContext,
    intent: &str,
    held: &HeldLease,
    may_end: bool,
) -> Problem {
    let p = Problem { held_by: Some(HeldBy::from(held)), ..waits_for(p, c, held) };
    let words: Vec<&str> = c.verb.iter().map(String::as_str).collect();
    let is_a_wish = matches!(words.as_slice(), ["scale" | "plan", ..] | ["intent", "put", ..]);
    let p = if may_end && is_a_wish {
        p.hint(
            "run this same line again later; where it only waits, --supersede ends it knowingly; \
             look at it with",
        )
        .run(c.command(&["intent", "show", intent]))
    } else {
        p.hint("wait for it with the first, or run this same line again later")
            .run(c.command(&["observe", intent, "--wait"]))
    };
    p.again(c)
}

/// The holder of a lease and the time that is left of it.
pub(super) fn waits_for(p: Problem, c: &ProblemContext, held: &HeldLease) -> Problem {
    let (lease, holder) = (&held.lease, &held.holder);
    p.fact("holder", format!("{} on {}, pid {}", lease.controller_id, holder.host, holder.pid))
        .fact("left", lease.expires_at.since(c.now).to_string())
}

pub(super) fn lease_lost(
    p: Problem,
    c: &ProblemContext,
    key: &str,
    held: Option<&HeldLease>,
) -> Problem {
    match held {
        Some(held) => Problem { held_by: Some(HeldBy::from(held)), ..waits_for(p, c, held) }
            .hint("somebody else has it now: stop, or wait for them with")
            .run(c.command(&["observe", key, "--wait"])),
        None => p
            .fact("holder", "nobody: it ran out, was released or had its result")
            .hint("what became of the key is told by the first; a new lease is given by the second")
            .run(c.command(&["explain", key]))
            .run(c.command(&["lease", "acquire", key])),
    }
}

pub(super) fn denied(
    p: Problem,
    c: &ProblemContext,
    actor: &str,
    answer: &PolicyAnswer,
) -> Problem {
    let Some(digest) = answer.policy_digest else {
        return p
            .fact("rule", "no policy is set, and without one nothing may touch a target")
            .hint(
                "set a policy: the first lists templates; save what `policy template NAME` prints \
                 as policy.cedar, make it yours, then set it with the second",
            )
            .run(c.command(&["policy", "template"]))
            .run(c.command(&["policy", "put", "policy.cedar", "--reason", "a first policy"]));
    };
    let rules: Vec<String> = answer
        .rules
        .iter()
        .map(|rule| format!("\"{}\" ({}:{}) {}s it", rule.id, rule.file, rule.line, rule.effect))
        .collect();
    let rule = if rules.is_empty() { "none permits it".to_owned() } else { rules.join("; ") };
    let p = p.fact("rule", rule);
    let p = if answer.errors.is_empty() {
        p
    } else {
        p.fact("error", format!("{} (a rule that fails denies)", answer.errors.join("; ")))
    };
    let p = p
        .fact("seen", format!("actor {actor} (claim), action {}", answer.action.as_str()))
        .fact("policy", digest.to_string());
    let is_change = matches!(
        answer.action,
        PolicyAction::ScaleUp | PolicyAction::ScaleDown | PolicyAction::ScaleToZero
    );
    let emergency =
        if is_change { " (in an emergency: scale with --break-glass --incident ID)" } else { "" };
    match &c.wish {
        Some(wish) => {
            let mut words = vec!["policy", "test", wish.as_str(), "--actor", actor];
            // Rules rest on the user of the system. Whoever pastes the line may be another one.
            let told = c.told.as_ref().filter(|(name, _)| name == actor);
            words.extend(told.into_iter().flat_map(|(_, user)| ["--os-user", user.as_str()]));
            // What the change itself asks is asked without being named.
            if !is_change {
                words.extend(["--action", answer.action.as_str()]);
            }
            p.hint(format!(
                "it needs somebody with that right, or another policy{emergency}; every rule is \
                 told by"
            ))
            .run(c.command(&words))
        }
        None => p
            .hint("it needs somebody with that right, or another policy; the rules are shown by")
            .run(c.command(&["policy", "show"])),
    }
}

pub(crate) const fn why_text(why: UnknownWhy) -> &'static str {
    match why {
        UnknownWhy::TimedOut => "the actuator gave no answer in its time",
        UnknownWhy::Killed => "the actuator died by a signal",
        UnknownWhy::Garbled => "the answer of the actuator was not a valid one",
        UnknownWhy::SaidUnknown => "the actuator itself does not know",
        UnknownWhy::Interrupted => "the command was ended while the call was made",
        UnknownWhy::Lost => "the command that made the call is gone",
        UnknownWhy::Unrecorded => "the ledger could not be written after the call",
    }
}

pub(super) fn waits_behind(p: Problem, c: &ProblemContext, behind: &str, state: &str) -> Problem {
    match state {
        "recovery_pending" | "failed" => p
            .hint("let that one come to an end, then run this same line again")
            .run(c.command(&["replay", behind, "--wait"]))
            .again(c),
        "accepted" => p
            .hint(
                "that one goes first, and ends this one: carry it out with the first, or take it \
                 back with the second and run this same line again",
            )
            .run(c.command(&["actuate", behind]))
            .run(c.command(&["intent", "withdraw", behind]))
            .again(c),
        _ => p
            .hint("wait for that one, then run this same line again")
            .run(c.command(&["observe", behind, "--wait"]))
            .again(c),
    }
}

pub(super) fn reading_differs(
    p: Problem,
    c: &ProblemContext,
    rejection: &Rejection,
    name: &str,
) -> Problem {
    let p = match rejection {
        Rejection::ReadingDiffers { desired, actual, .. } => p.values(desired.get(), actual.get()),
        _ => p,
    };
    p.hint("a person's word needs a reading that agrees; all that is known is told by")
        .run(c.command(&["explain", name]))
}
