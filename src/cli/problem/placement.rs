//! The refusals of the placement as problems: one arm for each, so that none is forgotten.

use serde_json::json;

use super::{HeldBy, Problem, ProblemContext};
use crate::cli::exit::Exit;
use crate::domain::id::{EnvironmentName, OperationId, ProfileName};
use crate::domain::placement::operation::OperationLease;
use crate::domain::placement::rejection::{Limit, PlacementRejection};
use crate::domain::scale::rejection::{Difference, Rejection};
use crate::domain::time::Timestamp;
use crate::ops::RelocatorFault;

/// Where a person says why.
const SAY_WHY: &str = "TEXT";

impl Problem {
    /// A refusal of the placement with its facts and the way on.
    pub fn from_placement(rejection: &PlacementRejection, context: &ProblemContext) -> Self {
        let problem = Self {
            retryable: rejection.is_retryable(),
            ..Self::new(rejection.code(), Exit::from(rejection.class()), rejection.to_string())
        };
        let problem = problem.applied(context);
        match rejection {
            PlacementRejection::StaleSetting { .. }
            | PlacementRejection::StaleRevision { .. }
            | PlacementRejection::StalePolicy { .. }
            | PlacementRejection::KeyConflict { .. }
            | PlacementRejection::ProfileConflict { .. }
            | PlacementRejection::OlderUsage { .. }
            | PlacementRejection::OlderEpoch { .. } => moved(problem, rejection, context),
            PlacementRejection::CapacityUnavailable { .. }
            | PlacementRejection::CostExceeded { .. }
            | PlacementRejection::UnsafeShrink { .. }
            | PlacementRejection::UsageMissing { .. }
            | PlacementRejection::UsageStale { .. }
            | PlacementRejection::ProfileNotOffered { .. } => room(problem, rejection, context),
            PlacementRejection::WrongCourse { operation_id, .. }
            | PlacementRejection::LeaseLost { operation_id, .. } => {
                of_operation(problem.hint("how far it is, is told by"), context, operation_id)
            }
            PlacementRejection::OnlyForward { operation_id, .. } => problem
                .hint(
                    "go on with it, where it is stuck by the second one first; a move back is \
                     another change, of what is there then",
                )
                .run(context.command(&["operation", "run", operation_id.as_str()]))
                .run(context.command(&retry(operation_id))),
            PlacementRejection::OperationHeld { operation_id, lease } => {
                held(problem, context, operation_id, lease)
            }
            PlacementRejection::Stuck { operation_id, .. } => problem
                .hint("see what has happened, mend it, then let it be tried again")
                .run(context.command(&["operation", "show", operation_id.as_str()]))
                .run(context.command(&retry(operation_id))),
            PlacementRejection::OperationInFlight { operation_id, step, .. } => {
                let problem = match step {
                    Some(step) => problem.fact("next", step.as_str()),
                    None => problem,
                };
                let hint = "one change at a time: wait for it, or carry it out, then try again";
                problem
                    .hint(hint)
                    .run(context.command(&["operation", "wait", operation_id.as_str()]))
                    .run(context.command(&["operation", "run", operation_id.as_str()]))
            }
            PlacementRejection::ServiceInFlight { services, .. } => {
                let first = services.first().map_or("", |service| service.as_str());
                problem.hint("wait for it, then run this same line again").run(context.command(&[
                    "observe",
                    &format!("{first}@latest"),
                    "--wait",
                ]))
            }
            _ => other(problem, rejection, context),
        }
    }
}

impl Problem {
    /// 24: no command is bound for a relocator on this host; 20: it could not be asked, and nothing
    /// was changed through it.
    pub(in crate::cli) fn of_relocator(c: &ProblemContext, fault: &RelocatorFault) -> Self {
        match fault {
            RelocatorFault::Unbound { relocator } => {
                let name = relocator.as_str();
                Self::new("relocator_not_bound", Exit::NotFound, fault.to_string())
                    .applied(c)
                    .hint("run this where it is bound, or bind what reaches the same cells")
                    .run(c.command(&["relocator", "show", name]))
                    .run(c.command(&["relocator", "bind", name, "--", "COMMAND"]))
            }
            RelocatorFault::Failed { relocator, op, problem, stderr } => {
                let message = format!("relocator {relocator} could not {op}: {problem}");
                let it = Self::new("unavailable", Exit::Unavailable, message).applied(c);
                let said = stderr.lines().rev().find(|line| !line.trim().is_empty());
                let it = match said {
                    Some(said) => it.fact("stderr", said.to_owned()),
                    None => it,
                };
                it.hint("find out why, then run this same line again")
                    .run(c.command(&["relocator", "show", relocator.as_str()]))
                    .again(c)
            }
        }
    }
}

fn retry(operation_id: &OperationId) -> [&str; 5] {
    ["operation", "retry", operation_id.as_str(), "--reason", SAY_WHY]
}

fn of_operation(p: Problem, c: &ProblemContext, id: &OperationId) -> Problem {
    p.run(c.command(&["operation", "show", id.as_str()]))
}

fn show(p: Problem, c: &ProblemContext, environment: &EnvironmentName) -> Problem {
    p.run(c.command(&["placement", "show", environment.as_str()]))
}

/// What was believed is not so.
fn moved(p: Problem, rejection: &PlacementRejection, c: &ProblemContext) -> Problem {
    match rejection {
        PlacementRejection::StaleSetting { noun, name, expected, actual } => {
            let noun = noun.rsplit(' ').next().unwrap_or(noun);
            p.values(*expected, *actual)
                .hint("look at it as it is now, then decide again")
                .run(c.command(&["capacity", noun, "show", name]))
        }
        PlacementRejection::StaleRevision { environment, expected, actual } => {
            let p = p.values(*expected, *actual).hint(
                "look at it as it is now, then decide again, with a new key and --expect-revision",
            );
            show(p, c, environment)
        }
        PlacementRejection::StalePolicy { policy, expected, actual, .. } => p
            .values(*expected, *actual)
            .hint("look at what the policy is now, then decide again with --policy-revision")
            .run(c.command(&["capacity", "policy", "show", policy.as_str()])),
        PlacementRejection::KeyConflict { operation_id, differences, .. } => {
            let p = differing(p, differences);
            let p = p.hint("a new wish needs a new key; the stored one is shown by");
            of_operation(p, c, operation_id)
        }
        PlacementRejection::ProfileConflict { profile, stored, submitted, .. } => p
            .values(stored.as_str(), submitted.as_str())
            .hint("register it under another name; what is there is shown by")
            .run(c.command(&["capacity", "profile", "show", profile.as_str()])),
        PlacementRejection::OlderUsage { environment, recorded, given } => p
            .values(recorded.to_string(), given.to_string())
            .hint("what is recorded is shown by")
            .run(c.command(&["capacity", "usage", "show", environment.as_str()])),
        PlacementRejection::OlderEpoch { environment, given, actual } => {
            show(p.values(*actual, *given).hint("the newest owner is shown by"), c, environment)
        }
        _ => p,
    }
}

fn differing(p: Problem, differences: &[Difference]) -> Problem {
    let pick = |value: fn(&Difference) -> &String| {
        let pair = |d: &Difference| (d.field.clone(), value(d).clone().into());
        differences.iter().map(pair).collect::<serde_json::Map<_, _>>()
    };
    let p = p.values(pick(|d| &d.stored), pick(|d| &d.submitted));
    differences.iter().fold(p, |p, difference| {
        let Difference { field, stored, submitted } = difference;
        p.fact(field, format!("{stored} stored, {submitted} submitted"))
    })
}

/// There is no room, or nobody knows that there is.
fn room(p: Problem, rejection: &PlacementRejection, c: &ProblemContext) -> Problem {
    match rejection {
        PlacementRejection::CapacityUnavailable { role, needed, limits, .. } => limits
            .iter()
            .fold(p, |p, Limit { cell, unfit }| p.fact(cell.to_string(), unfit.to_string()))
            .fact("asked", needed.to_string())
            .values(json!({"role": role, "needed": needed}), json!({"cells": limits}))
            .hint("nothing is reserved and nothing is rented: what would fit where is told by")
            .run(c.command(&["capacity", "fit"])),
        PlacementRejection::CostExceeded { policy, cost, budget, .. } => p
            .values(*budget, u64::try_from(*cost).unwrap_or(u64::MAX))
            .hint("wish less: no request raises the budget of its policy, which is shown by")
            .run(c.command(&["capacity", "policy", "show", policy.as_str()])),
        PlacementRejection::UnsafeShrink { used, maximum, measured_at, axis, .. } => p
            .fact("axis", axis.as_str())
            .fact("measured", ago(c, *measured_at))
            .values(*maximum, u64::try_from(*used).unwrap_or(u64::MAX))
            .hint("wish a larger profile, or let it take less and measure it again"),
        PlacementRejection::UsageMissing { environment, .. }
        | PlacementRejection::UsageStale { environment, .. } => p
            .hint("measure it, record that, then run this same line again")
            .run(c.command(&[
                "capacity",
                "usage",
                "put",
                environment.as_str(),
                "--used",
                "cpu=500m,memory=512MiB,storage=10GiB",
            ]))
            .again(c),
        PlacementRejection::ProfileNotOffered { policy, offered, .. } => {
            let offered: Vec<&str> = offered.iter().map(ProfileName::as_str).collect();
            p.fact("offered", offered.join(", "))
                .hint("ask for one of these; the policy is shown by")
                .run(c.command(&["capacity", "policy", "show", policy.as_str()]))
        }
        _ => p,
    }
}

fn ago(c: &ProblemContext, at: Timestamp) -> String {
    format!("{} ago", c.now.since(at))
}

fn held(
    p: Problem,
    c: &ProblemContext,
    operation_id: &OperationId,
    lease: &OperationLease,
) -> Problem {
    let held_by = HeldBy {
        controller: None,
        host: Some(lease.holder.host.clone()),
        pid: Some(lease.holder.pid),
        until: Some(lease.expires_at),
    };
    let p = Problem { held_by: Some(held_by), ..p };
    p.retry_at(c, Some(lease.expires_at))
        .fact("left", lease.expires_at.since(c.now).to_string())
        .hint("wait for it, or run this same line again then")
        .run(c.command(&["operation", "wait", operation_id.as_str()]))
        .again(c)
}

fn other(p: Problem, rejection: &PlacementRejection, c: &ProblemContext) -> Problem {
    match rejection {
        PlacementRejection::NotFound { noun, name } => missing(p, c, noun, name),
        PlacementRejection::NoRelocator { environment, .. } => show(
            p.hint("adopt it again with --relocator NAME; what is known of it is shown by"),
            c,
            environment,
        ),
        PlacementRejection::MissingDependency { missing, .. } => missing
            .iter()
            .enumerate()
            .fold(p, |p, (at, missing)| p.fact(format!("missing {}", at + 1), missing.clone()))
            .hint("put in place what is missing, then run this same line again")
            .again(c),
        PlacementRejection::UnprovableFencing { environment, why } => show(
            p.fact("why", why.clone()).hint("it stays where it is until it can be fenced"),
            c,
            environment,
        ),
        PlacementRejection::InventoryUnknown { why, .. } => {
            p.fact("why", why.clone()).hint("find out why, then run this same line again").again(c)
        }
        PlacementRejection::WorkspaceRunning { .. } => {
            p.hint("stop it, then run this same line again").again(c)
        }
        PlacementRejection::Denied { answer, .. } => {
            let rules = answer.rules.iter();
            let rules: Vec<String> =
                rules.map(|rule| format!("{} ({}:{})", rule.id, rule.file, rule.line)).collect();
            let p = p.fact("action", answer.action.as_str());
            let p = if rules.is_empty() { p } else { p.fact("rules", rules.join(", ")) };
            p.hint("somebody must permit it; what holds is shown by")
                .run(c.command(&["policy", "show"]))
        }
        _ => p.hint("the help of this command says what can be said").run(c.command(&["help"])),
    }
}

fn missing(p: Problem, c: &ProblemContext, noun: &str, name: &str) -> Problem {
    let p = p.about(name).hint("fix the name or the ledger; what there is, is listed by");
    match noun {
        "environment" | "workspace of copy" => p.run(c.command(&["placement", "list"])),
        "operation" => p.run(c.command(&["operation", "list", "--all"])),
        "relocator" => p.run(c.command(&["relocator", "list"])),
        "placement policy" => p.run(c.command(&["capacity", "policy", "list"])),
        noun => p.run(c.command(&["capacity", noun, "list"])),
    }
}

/// The environment of a service is in the way.
pub(super) fn placed(p: Problem, c: &ProblemContext, rejection: &Rejection) -> Problem {
    match rejection {
        Rejection::Relocating { operation_id, .. } => p
            .fact("operation", operation_id.as_str())
            .hint("wait until it is over, then run this same line again")
            .run(c.command(&["operation", "wait", operation_id.as_str()]))
            .again(c),
        Rejection::AlwaysOn { environment, .. } => p
            .hint("wish at least 1, or let it sleep with placement change --runtime-mode on-demand")
            .run(c.command(&["placement", "show", environment.as_str()])),
        _ => p,
    }
}
