//! The words of a verdict: what a person reads of one service, and the way on.

use crate::cli::app::App;
use crate::cli::exit::Exit;
use crate::cli::fault::Fault;
use crate::cli::output::Applied;
use crate::cli::problem::{Problem, ProblemContext};
use crate::cli::view;
use crate::domain::count::{counted, number};
use crate::domain::id::{IntentRevision, Replicas, ServiceName};
use crate::domain::scale::authority::Hold;
use crate::domain::scale::execution::Execution;
use crate::domain::scale::passage::Passage;
use crate::domain::time::Timestamp;
use crate::ops::gate::Gated;

/// `ok`, `not yet`, or `closed`.
pub(super) fn verdict(row: &Gated) -> &'static str {
    match (&row.passage, row.may_open()) {
        (Passage::Open, _) => "ok",
        (_, true) => "not yet",
        (_, false) => "closed",
    }
}

/// What was read, and how long ago; none where nothing was.
pub(super) fn read_text(row: &Gated, now: Timestamp) -> Option<String> {
    let seen = row.seen?;
    let age = now.since(seen.at);
    Some(match seen.ready {
        Some(ready) => format!("{}, {ready} ready ({age} ago)", seen.replicas),
        None => format!("{} ({age} ago)", seen.replicas),
    })
}

/// The wanted wish, and where it stands.
pub(super) fn wish_text(wish: &Execution) -> String {
    let state = view::outcome_word(wish).unwrap_or(wish.phase.as_str());
    format!("{}@{} {state}", wish.intent.service, wish.revision())
}

/// Why it is closed, after the name of the service.
pub(super) fn why(row: &Gated) -> String {
    let service = &row.service;
    match &row.passage {
        Passage::Open => "as wished".to_owned(),
        Passage::External { owner } => {
            format!("{} owns its count", owner.as_deref().unwrap_or("another controller"))
        }
        Passage::Unknown { revision } => {
            format!("nobody knows what became of {service}@{revision}")
        }
        Passage::NoWish => "nobody has wished a count of it".to_owned(),
        Passage::OtherWish { wanted } => match row.asked {
            Some(asked) => format!("{wanted} is wished, and {asked} is asked"),
            None => format!("{wanted} is wished"),
        },
        Passage::Proposed { revision, until } => {
            format!("{service}@{revision} waits for a colleague until {until}")
        }
        Passage::Waiting { revision, state } => format!("{service}@{revision} is {state}"),
        Passage::Retrying { revision, retry_at } => {
            format!("{service}@{revision} failed, and may be tried again at {retry_at}")
        }
        Passage::Unconfirmed { revision } => {
            format!("{service}@{revision} is applied, and not confirmed yet")
        }
        Passage::Failed { revision, changed: false } => format!("{service}@{revision} failed"),
        Passage::Failed { revision, changed: true } => {
            format!("{service}@{revision} failed, and the target is not as it was")
        }
        Passage::Unseen { why } => format!("its count is not known: {why}"),
        Passage::Differs { replicas, wanted } => {
            format!("the target has {replicas}, and {wanted} is wished")
        }
        Passage::NotReady { ready, wanted } => {
            let missing = wanted.get().saturating_sub(ready.get());
            format!("{} not ready", counted(missing, "replica"))
        }
        Passage::ReadyUnknown => "its target does not say how many are ready".to_owned(),
        Passage::Unreviewed { count } => {
            let count = u64::try_from(*count).unwrap_or(u64::MAX);
            number(count, "broken glass is not reviewed", "broken glasses are not reviewed")
        }
    }
}

/// What a hold means for a gate, which is about what holds now.
pub(super) fn held(service: &ServiceName, hold: &Hold) -> String {
    format!(
        "{service} is held by {} until {} ({}): it closes no gate; only a broken glass changes \
         what is wished until then",
        hold.actor, hold.until, hold.reason
    )
}

/// The problem of a service that is not open.
pub(super) fn problem_of(app: &App, row: &mut Gated, now: Timestamp) -> Problem {
    let c = ProblemContext { now, ..app.problem_context() };
    let message = format!("{}: {}", row.service, why(row));
    // What could not be read has its own exit, and its own way on.
    if let Some(failure) = row.failure.take() {
        let own = app.problem(Fault::from(failure));
        let problem = Problem { message, ..own };
        return problem.fact("or", "--recorded judges by what was read before");
    }
    let exit = row.passage.class().map_or(Exit::Attention, Exit::from);
    let message = match row.head.authority.hold_at(now).filter(|_| !row.may_open()) {
        Some(hold) => format!("{message} (held by {} until {})", hold.actor, hold.until),
        None => message,
    };
    with_way(Problem::new(row.passage.as_str(), exit, message), row, &c)
}

fn with_way(p: Problem, row: &Gated, c: &ProblemContext) -> Problem {
    let service = row.service.as_str();
    let at = |revision: IntentRevision| format!("{service}@{revision}");
    match &row.passage {
        Passage::Open => p,
        Passage::External { .. } => p
            .hint("scalectl only looks at it: ask its owner, or leave it out; who that is says")
            .run(c.command(&["service", "show", service])),
        Passage::Unknown { revision } => Problem { applied: Applied::Unknown, ..p }
            .hint("find out what became of it, without a second call")
            .run(c.command(&["replay", &at(*revision), "--wait"])),
        Passage::NoWish => unwished(p, row, c),
        Passage::OtherWish { wanted } => {
            let asked = row.asked.map_or(0, Replicas::get);
            p.values(asked, wanted.get())
                .hint("who wished that, and why, is told by")
                .run(c.command(&["explain", service]))
        }
        Passage::Proposed { revision, .. } => p
            .hint("a colleague looks at it and answers it, then run this same line again")
            .run(c.command(&["approval", "show", &at(*revision)]))
            .again(c),
        Passage::Waiting { revision, .. } | Passage::Retrying { revision, .. } => p
            .hint("run this same line again, or add --wait; where it stands is told by")
            .run(c.command(&["explain", &at(*revision)]))
            .again(c),
        Passage::Unconfirmed { revision } => p
            .hint("confirm it, then run this same line again; or add --wait where another does")
            .run(c.command(&["observe", &at(*revision), "--wait"]))
            .again(c),
        Passage::Failed { revision, changed } => {
            let applied = if *changed { Applied::Partial } else { Applied::No };
            Problem { applied, ..p }
                .hint("look at it, then make a new wish under a new key")
                .run(c.command(&["explain", &at(*revision)]))
        }
        Passage::Unseen { .. } => p
            .hint("read it with the first, or let an older reading do with --recorded --max-age")
            .run(c.command(&["service", "bind", service]))
            .again(c),
        Passage::Differs { replicas, wanted } => differs(p, row, c, (*replicas, *wanted)),
        Passage::NotReady { ready, wanted } => p
            .values(wanted.get(), ready.get())
            .hint("run this same line again, or add --wait")
            .again(c),
        Passage::ReadyUnknown => p
            .hint("its actuator tells no count of ready replicas: leave --ready out for it; see")
            .run(c.command(&["service", "show", service])),
        Passage::Unreviewed { .. } => {
            let p = p.hint("another person reviews each, then run this same line again");
            let review = |id: &str| c.command(&["break-glass", "review", id, "--reason", "TEXT"]);
            let ids = row.head.authorizations.keys();
            ids.fold(p, |p, id| p.run(review(id.as_str()))).again(c)
        }
    }
}

/// A gate records nothing of what it reads, so what is recorded may say that all is well.
fn differs(p: Problem, row: &Gated, c: &ProblemContext, counts: (Replicas, Replicas)) -> Problem {
    let (replicas, wanted) = counts;
    let service = row.service.as_str();
    let p = p
        .values(wanted.get(), replicas.get())
        .hint("another has changed it, or a call came late: look at it, and record what is there")
        .run(c.command(&["status", service, "--live"]));
    match &row.wish {
        Some(wish) => p.run(c.command(&["observe", &format!("{service}@{}", wish.revision())])),
        None => p.run(c.command(&["explain", service])),
    }
}

fn unwished(p: Problem, row: &Gated, c: &ProblemContext) -> Problem {
    let service = row.service.as_str();
    let Some(asked) = row.asked else {
        return p
            .hint("wish a count of it; what runs is told by")
            .run(c.command(&["status", service]));
    };
    p.hint("wish it").run(c.command(&["scale", &format!("{service}={asked}"), "--reason", "TEXT"]))
}
