//! The error of a key that does not stand well: what became of it, with the way on.
//!
//! Owns the texts for states, as `problem/` owns those for refusals. Never decides an exit code.

mod drift;

use super::app::App;
use super::exit::Exit;
use super::fault::cut;
use super::problem::{Problem, ProblemContext, why_text};
use super::view::{beyond, newer_than};
use crate::domain::count::counted;
use crate::domain::id::ExecutionKey;
use crate::domain::scale::attempt::Pending;
use crate::domain::scale::consent::approval_id;
use crate::domain::scale::execution::{Execution, FailureCause, Phase};
use crate::domain::scale::next::{Next, is_for_a_person, next_of};
use crate::domain::scale::passage::newest_reading;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::service::OnUnknown;
use crate::domain::scale::standing::stranded;
use crate::domain::scale::state::ServiceHead;
use crate::domain::time::Timestamp;
use crate::ops::report::Report;
use drift::drifted;

/// The problem of a report that ends with `exit`; none where all is well, or well so far.
pub(super) fn problem(app: &App, report: &Report, exit: Exit) -> Option<Problem> {
    let execution = &report.execution;
    let c = app.problem_context();
    let key = execution.key().as_str();
    let name = name_of(execution);
    let what = format!("{name} ({})", change_of(execution));
    let problem = match (exit, &execution.phase) {
        (Exit::NotYet, Phase::Accepted) => not_started(report, &what, &c),
        (Exit::Ok | Exit::NotYet, _) => return None,
        (Exit::Diverged, Phase::Verified { cause: None } | Phase::Superseded { .. }) => {
            return Some(not_current(report, &name, &c));
        }
        (Exit::Diverged, Phase::Verified { cause: Some(FailureCause::Mismatch) }) => {
            mismatch(execution, &what, &c)
        }
        (Exit::Diverged, Phase::Verified { cause: Some(_) }) => partial(execution, &what, &c),
        (Exit::Diverged, _) => drifted(report, &name, &c),
        (Exit::Unknown, Phase::RecoveryPending { pending }) => {
            return Some(unknown(app, execution, pending, &what, &c));
        }
        (Exit::Failed, Phase::Verified { cause }) => {
            Problem::new("failed", exit, format!("{what} failed: {}", cause_text(*cause)))
                .hint("look at it, then make a new wish under a new key")
                .run(c.command(&["explain", key]))
        }
        (Exit::RetryLater, Phase::Failed { retry_at }) => {
            let budget = execution.intent.wish.retry_policy.max_attempts;
            let text = format!("{what} failed, and may be tried again at {retry_at}");
            let problem = Problem::new("retry_later", exit, text)
                .fact("attempt", format!("{} of {budget}, the next is free", execution.attempts))
                .retry_at(&c, Some(*retry_at));
            // Only what makes the next attempt is worth the same line again.
            let again = c.verb.first().is_some_and(|v| ["actuate", "scale"].contains(&v.as_str()));
            let problem = if again {
                problem.hint("run this same line again then, or let what is due be done by")
            } else {
                problem.hint("run the line that wished it again then, or let it be tried by")
            };
            let problem = problem.run(c.command(&["replay", key]));
            if again { problem.again(&c) } else { problem }
        }
        (Exit::Conflict, Phase::Superseded { by, .. }) => {
            let newer = format!("{}@{by}", execution.intent.service);
            Problem::new("superseded", exit, format!("{name} was superseded by {newer}"))
                .hint("a newer wish ended it; look at that one with")
                .run(c.command(&["explain", &newer]))
        }
        (Exit::Conflict, Phase::Withdrawn) => {
            Problem::new("withdrawn", exit, format!("{name} was withdrawn"))
                .hint("a new wish needs a new key; look back with")
                .run(c.command(&["explain", key]))
        }
        (Exit::ApprovalRequired, Phase::Proposed { until }) => {
            proposed(execution, &report.head, *until, &c)
        }
        (Exit::Denied, Phase::Rejected) => {
            Problem::new("rejected", exit, format!("{name} was not approved"))
                .hint(
                    "its key never runs; a wish under another key asks anew. Who refused it, and \
                     why, is told by",
                )
                .run(c.command(&["explain", key]))
        }
        (exit, phase) => Problem::new("not_done", exit, format!("{name} is {}", phase.as_str()))
            .hint("look at what is known with")
            .run(c.command(&["explain", key])),
    };
    Some(with_result(problem, execution))
}

/// A wish that waits for its turn: whoever asks what became of it must not read that something was
/// done.
fn not_started(report: &Report, what: &str, c: &ProblemContext) -> Problem {
    let key = report.execution.key().as_str();
    let what = format!("{what} is recorded and has not started");
    let problem = Problem::new("not_started", Exit::NotYet, what);
    let withdraw = c.command(&["intent", "withdraw", key]);
    match next_of(&report.execution, &report.head, c.now) {
        Next::EndStranded(_) => problem
            .hint("it was made for settings that are no more: take it back, then wish anew")
            .run(withdraw),
        Next::FenceOver => problem
            .hint("its fence ran out, so nothing starts it: take it back, then wish anew")
            .run(withdraw),
        Next::Start
        | Next::Answer
        | Next::Unanswered
        | Next::CallEnds
        | Next::FindOut { .. }
        | Next::Settle
        | Next::Overtaken { .. }
        | Next::Retry { .. }
        | Next::Confirm
        | Next::Drifted
        | Next::Over => problem
            .hint("replay starts no wish: carry it out with the first, or take it back with")
            .run(c.command(&["actuate", key]))
            .run(withdraw),
    }
}

/// What waits for a colleague, and what a colleague types.
fn proposed(
    execution: &Execution,
    head: &ServiceHead,
    until: Timestamp,
    c: &ProblemContext,
) -> Problem {
    if until <= c.now {
        let (service, revision) = (execution.intent.service.clone(), execution.revision());
        let expired = Rejection::ApprovalExpired { service, revision, until };
        return Problem::from_rejection(&expired, c);
    }
    let what = format!("{} ({})", name_of(execution), change_of(execution));
    let id = approval_id(execution.key());
    let problem = Problem::new(
        "approval_required",
        Exit::ApprovalRequired,
        format!("{what} waits for approval {id}"),
    );
    let rules = execution.asked.as_ref().map(|asked| {
        let rules: Vec<&str> = asked.refused.rules.iter().map(|rule| rule.id.as_str()).collect();
        let action = asked.refused.action.as_str();
        match rules.as_slice() {
            [] => format!("none permits {action} to {}", execution.put_by.actor),
            rules => format!("{} refuses {action} to {}", rules.join(", "), execution.put_by.actor),
        }
    });
    let problem = match rules {
        Some(rules) => problem.fact("rule", rules),
        None => problem,
    };
    if stranded(execution, head).is_some() {
        return problem
            .hint(
                "nobody can agree to it any more: it was made for settings that are no more. Take \
                 it back, then wish anew under another key",
            )
            .run(c.command(&["intent", "withdraw", execution.key().as_str()]));
    }
    problem
        .fact("open", format!("until {until}"))
        .hint("a colleague looks at it and answers it, then run this same line again")
        .run(c.command(&["approval", "show", id.as_str()]))
        .run(c.command(&["approval", "grant", id.as_str(), "--reason", "TEXT"]))
        .again(c)
}

const fn cause_text(cause: Option<FailureCause>) -> &'static str {
    match cause {
        Some(FailureCause::Terminal) | None => "trying again does not help",
        Some(FailureCause::Mismatch) => "with another count",
        Some(FailureCause::Exhausted) => "no attempt is left",
        Some(FailureCause::Abandoned) => "it was abandoned",
        Some(FailureCause::Overtaken) => "a newer intent overtook it",
        Some(FailureCause::FenceOver) => "its fence ran out",
    }
}

fn name_of(execution: &Execution) -> String {
    format!("{}@{}", execution.intent.service, execution.revision())
}

fn change_of(execution: &Execution) -> String {
    let from = execution.intent.current.map_or_else(|| "?".to_owned(), |count| count.to_string());
    format!("{from} → {}", execution.desired())
}

/// What the actuator, or whoever settled it, has said.
fn with_result(problem: Problem, execution: &Execution) -> Problem {
    let Some(recorded) = &execution.result else {
        return problem;
    };
    let problem = match recorded.result.error_code() {
        Some(code) if problem.code != code.as_str() => problem.fact("code", code.to_string()),
        Some(_) | None => problem,
    };
    match recorded.result.detail.as_str() {
        "" => problem,
        detail => problem.fact("detail", detail.to_owned()),
    }
}

fn mismatch(execution: &Execution, what: &str, c: &ProblemContext) -> Problem {
    let count = execution.result.as_ref().and_then(|recorded| recorded.result.observed_replicas());
    let problem = Problem::new(
        "observed_replicas_mismatch",
        Exit::Diverged,
        format!("{what} was carried out with another count"),
    );
    let problem = match count {
        Some(count) => problem.values(execution.desired().get(), count.get()),
        None => problem,
    };
    problem
        .hint("look at what is there, then make a new wish under a new key")
        .run(c.command(&["explain", execution.key().as_str()]))
}

/// A failure that did not leave the target as it was.
fn partial(execution: &Execution, what: &str, c: &ProblemContext) -> Problem {
    let count = execution.result.as_ref().and_then(|recorded| recorded.result.observed_replicas());
    let text = match count {
        Some(count) => {
            format!("{what} failed for good, and left {}", counted(count.get(), "replica"))
        }
        None => format!("{what} failed for good, and the target is not as it was"),
    };
    let problem = Problem::new("failed_partly_applied", Exit::Diverged, text);
    let problem = match count {
        Some(count) => problem.values(execution.desired().get(), count.get()),
        None => problem,
    };
    problem
        .hint("look at what is there, then make a new wish under a new key")
        .run(c.command(&["explain", execution.key().as_str()]))
}

fn unknown(
    app: &App,
    execution: &Execution,
    pending: &Pending,
    what: &str,
    c: &ProblemContext,
) -> Problem {
    let key = execution.key().as_str();
    let until = pending.quiet_until(execution.intent.terms.quiet_ms);
    let text = format!("nobody knows what became of attempt {} of {what}", pending.call.attempt);
    let problem =
        Problem::new("outcome_unknown", Exit::Unknown, text).fact("why", why_text(pending.why));
    let problem = match detail_of(pending) {
        Some(detail) => problem.fact("detail", detail),
        None => problem,
    };
    let problem = if until > c.now && !pending.fenced {
        problem
            .fact("late", format!("an effect may still arrive until {until}"))
            .retry_at(c, Some(until))
    } else {
        problem
    };
    let blocked = format!("{} starts nothing else until this is settled", execution.intent.service);
    let problem = problem.fact("blocked", blocked);
    let is_halted = execution.intent.terms.on_unknown == OnUnknown::Halt;
    let problem = if is_halted || is_for_a_person(execution, c.now) {
        let hint = "never use a new key; what is known is told by the first; look at the target, \
                    then say what became of it";
        left_to_a_person(problem.hint(hint), execution, c)
    } else if until > c.now && !pending.fenced {
        let left = until.since(c.now);
        problem
            .hint(format!(
                "never use a new key; this finds out, without a blind second call (quiet in {left} \
                 at the latest)"
            ))
            .run(c.command(&["replay", key, "--wait"]))
    } else {
        problem
            .hint("never use a new key; this finds out, without a blind second call")
            .run(c.command(&["replay", key]))
    };
    let kept = app.opened().and_then(|it| it.kept_stderr(pending.call.call_id.as_str()));
    let Some(kept) = kept else { return problem };
    let first = kept.lines().find(|line| !line.trim().is_empty());
    let problem = match first {
        Some(line) => problem.fact("stderr", format!("{:?}", cut(line))),
        None => problem,
    };
    problem.run(c.command(&["attempt", "show", key, "--stderr"]))
}

/// What nobody but a person can tell any more: where it is explained, and how it is said.
pub(super) fn left_to_a_person(p: Problem, execution: &Execution, c: &ProblemContext) -> Problem {
    let lines = settle_lines(execution);
    let p = p.run(c.command(&["explain", execution.key().as_str()]));
    lines.iter().fold(p, |p, line| {
        let words: Vec<&str> = line.iter().map(String::as_str).collect();
        p.run(c.command(&words))
    })
}

/// The lines by which a person says that a call had its effect, or that it had none.
pub(super) fn settle_lines(execution: &Execution) -> [Vec<String>; 2] {
    let (key, attempt) = (execution.key().as_str(), execution.attempts.to_string());
    let line = |word: &[&str]| {
        let words = [&["settle", key], word, &["--reason", "TEXT"]].concat();
        words.into_iter().map(str::to_owned).collect()
    };
    [line(&["--applied"]), line(&["--not-applied", "--attempt", &attempt])]
}

/// What is known beside why nobody knows, which is said already.
pub(super) fn detail_of(pending: &Pending) -> Option<&str> {
    let (why, detail) = (pending.why.as_str(), pending.detail.as_str());
    Some(beyond(why, detail)).filter(|more| !more.is_empty())
}

/// A stale success is not a success (journeys, text 10).
fn not_current(report: &Report, name: &str, c: &ProblemContext) -> Problem {
    let execution = &report.execution;
    let service = &execution.intent.service;
    let newer = newer_than(report);
    let now = match (newer, newest_reading(&report.head)) {
        (Some(newer), _) => format!(
            "{service} is now at {service}@{} = {}",
            newer.intent_revision, newer.desired_replicas
        ),
        (None, Some(reading)) => {
            format!("{} was read at {}", reading.replicas, reading.read_at)
        }
        (None, None) => "is not known to be so now".to_owned(),
    };
    // The observation is what ended it; a later reading beside it does not move that instant.
    let done = execution.observation.as_ref().map_or(execution.updated_at, |o| o.observed_at);
    let desired = execution.desired();
    let problem = Problem::new(
        "replayed_not_current",
        Exit::Diverged,
        format!("{} was done at {done} ({name} = {desired}), but {now}", execution.key()),
    );
    let problem = match newer {
        Some(newer) => problem
            .fact("since", format!("{} by {}: {:?}", newer.accepted_at, newer.actor, newer.reason)),
        None => problem,
    };
    let problem = problem
        .hint("what holds now is told by the first; to scale again, a new key is needed")
        .run(c.command(&["explain", service.as_str()]));
    let wish = format!("{service}={desired}");
    let key = format!("{}-again", execution.key());
    match key.parse::<ExecutionKey>() {
        Ok(key) => {
            let words = ["scale", &wish, "--key", key.as_str(), "--reason", "TEXT"];
            problem.run(c.command(&words))
        }
        // A key that is as long as may be leaves no room.
        Err(_) => problem,
    }
}
