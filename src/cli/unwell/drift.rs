//! A count that drifted: whether anybody brings it back, and who else could.

use crate::cli::exit::Exit;
use crate::cli::problem::{Problem, ProblemContext};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::next::{Next, next_of};
use crate::ops::report::Report;

fn differs(execution: &Execution, name: &str) -> Problem {
    let desired = execution.desired();
    let read = execution.last_reading.as_ref().map(|reading| reading.replicas);
    match read {
        Some(read) => Problem::new(
            "diverged",
            Exit::Diverged,
            format!("{name} wants {desired}, and {read} were read"),
        )
        .values(desired.get(), read.get()),
        None => Problem::new(
            "diverged",
            Exit::Diverged,
            format!("{name} wants {desired}, and a late result contradicts it"),
        ),
    }
}

/// Whether anybody brings a count back that drifted before it was confirmed, and who else could.
pub(super) fn drifted(report: &Report, name: &str, c: &ProblemContext) -> Problem {
    let (execution, head) = (&report.execution, &report.head);
    let problem = differs(execution, name);
    let service = execution.intent.service.as_str();
    let explain = c.command(&["explain", execution.key().as_str()]);
    if !matches!(next_of(execution, head, c.now), Next::Drifted) {
        return problem.hint("see what is known, then decide").run(explain);
    }
    if let Some(hold) = head.authority.hold_at(c.now) {
        let held = format!(
            "{} holds {service} until {}: nothing but a broken glass brings it back before; what \
             is known is told by",
            hold.actor, hold.until
        );
        return problem.hint(held).run(explain);
    }
    let declared = head.registration.as_ref().and_then(|it| it.declared_replicas);
    if head.authority.pinned_at(c.now).is_some() || declared.is_some() {
        return problem
            .hint("its count is kept: the first brings it back; what is known is told by the last")
            .run(c.command(&["reconcile", service]))
            .run(explain);
    }
    let anew = format!("{service}={}", execution.desired());
    let problem = problem
        .hint(
            "nothing brings it back by itself: wish it anew, or take what is there for what is \
             wished; what is known is told by the last",
        )
        .run(c.command(&["scale", &anew, "--reason", "TEXT"]));
    let problem = if execution.last_reading.is_some() {
        problem.run(c.command(&["adopt", service, "--reason", "TEXT"]))
    } else {
        problem
    };
    problem.run(explain)
}
