//! One row of `status`: where a service stands, what is known of its target, and the way on.

use std::collections::BTreeMap;

use super::super::fault::Fault;
use super::super::{upon, view};
use crate::domain::id::ServiceName;
use crate::domain::scale::decide::waits_behind_any;
use crate::domain::scale::execution::Execution;
use crate::domain::scale::next::{Next, next_of};
use crate::domain::scale::passage::Seen;
use crate::domain::scale::provenance::WishSource;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::service::{Outdated, RegisteredMode};
use crate::domain::scale::state::ServiceHead;
use crate::ops::Session;

/// One row: a service and the intent that says where it stands.
pub(in crate::cli) struct Row {
    pub(in crate::cli) head: ServiceHead,
    pub(in crate::cli) execution: Option<Execution>,
    pub(in crate::cli) state: &'static str,
    pub(in crate::cli) outcome: Option<&'static str>,
    pub(in crate::cli) by: Option<String>,
    pub(in crate::cli) next: Option<String>,
    pub(in crate::cli) need: Option<String>,
    pub(in crate::cli) drift: bool,
    /// Whether what is known of the target is from before a restore.
    pub(in crate::cli) is_old: bool,
    pub(in crate::cli) seen: Option<Seen>,
}

pub(in crate::cli) fn rows(
    session: &mut Session,
    services: &[ServiceName],
) -> Result<Vec<Row>, Fault> {
    rows_with(session, services, &BTreeMap::new())
}

/// The same with the heads of services that were read just now.
pub(super) fn rows_with(
    session: &mut Session,
    services: &[ServiceName],
    fresh: &BTreeMap<ServiceName, ServiceHead>,
) -> Result<Vec<Row>, Fault> {
    let mut rows = Vec::new();
    for (head, own) in session.shown(services)? {
        let name = head.registration.as_ref().map(|registration| &registration.service);
        let head = name.and_then(|name| fresh.get(name)).cloned().unwrap_or(head);
        if own.is_empty() {
            rows.push(row_of(session, head, None));
        } else {
            for execution in &own {
                let behind = behind(&own, execution);
                let row = row_of(session, head.clone(), Some((execution.clone(), behind)));
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

/// What was read before a restore is the word of a history that nobody can ask any more.
fn is_from_before_a_restore(session: &Session, head: &ServiceHead) -> bool {
    session.identity().incarnation > 1
        && head.binding.as_ref().is_some_and(|binding| binding.outdated == Outdated::ALL)
}

/// What must come to an end before a wish can start: `web@2`.
fn behind(own: &[Execution], execution: &Execution) -> Option<String> {
    match waits_behind_any(own, execution)? {
        Rejection::WaitsBehind { service, behind, .. } => Some(format!("{service}@{behind}")),
        _ => None,
    }
}

fn row_of(
    session: &Session,
    head: ServiceHead,
    execution: Option<(Execution, Option<String>)>,
) -> Row {
    let is_external = head.registration.as_ref().is_some_and(|registration| {
        matches!(registration.mode, RegisteredMode::ExternalHpa | RegisteredMode::ExternalKeda)
    });
    let wanted = head.wanted.as_ref().map(|wanted| wanted.desired_replicas);
    let seen = Seen::of(&head);
    let read = seen.as_ref().map(|seen| seen.replicas);
    let service = head.registration.as_ref().map(|registration| registration.service.as_str());
    let is_old = is_from_before_a_restore(session, &head);
    let unread = service.filter(|_| is_old).map(|service| {
        let need = format!("{service} (not read since the restore)");
        (format!("scalectl service bind {service}"), need)
    });
    let Some((execution, behind)) = execution else {
        let state = if is_external { "external" } else { "-" };
        return Row {
            head,
            execution: None,
            state,
            outcome: None,
            by: None,
            next: unread.as_ref().map(|(next, _)| next.clone()),
            need: unread.map(|(_, need)| need),
            drift: false,
            is_old,
            seen,
        };
    };
    let name = format!("{}@{}", execution.intent.service, execution.revision());
    let Ways { outcome, next, mut need } = ways(session, &execution, &head, &name, behind);
    let drift = execution.drift && !is_old
        || (!is_old
            && execution.phase.is_finished()
            && wanted.is_some()
            && read.is_some()
            && wanted != read);
    let wants = if execution.phase.is_finished() { wanted } else { Some(execution.desired()) };
    if let (true, None, Some(read), Some(wants)) = (drift, &need, read, wants) {
        need = Some(format!("{} (reads {read}, wants {wants})", execution.intent.service));
    }
    let need = need.or_else(|| odd_need(&execution, &name));
    let (next, need) = match unread {
        Some(unread) if next.is_none() => (Some(unread.0), need.or(Some(unread.1))),
        Some(_) | None => (next, need),
    };
    let next = next.or_else(|| need.is_some().then(|| format!("scalectl explain {name}")));
    Row {
        state: execution.phase.as_str(),
        by: Some(by(&execution)),
        head,
        execution: Some(execution),
        outcome,
        next,
        need,
        drift,
        is_old,
        seen,
    }
}

/// Who wished it, and by which way where that was not a plain command.
fn by(execution: &Execution) -> String {
    let actor = &execution.put_by.actor;
    match execution.intent.source {
        WishSource::Cli => actor.to_string(),
        source => format!("{actor} ({})", source.as_str()),
    }
}

/// What a row says of the way on.
struct Ways {
    outcome: Option<&'static str>,
    next: Option<String>,
    need: Option<String>,
}

fn ways(
    session: &Session,
    execution: &Execution,
    head: &ServiceHead,
    name: &str,
    behind: Option<String>,
) -> Ways {
    let now = session.now();
    let outcome = view::outcome_word(execution);
    let plain = |line: String| Ways { outcome, next: Some(line), need: None };
    let needed =
        |line: String, why: &str| Ways { need: Some(format!("{name} ({why})")), ..plain(line) };
    let withdraw = format!("scalectl intent withdraw {name}");
    match next_of(execution, head, now) {
        Next::EndStranded(end) => {
            needed(upon::line_of_end(end, name), "made for settings that are no more")
        }
        Next::Unanswered => plain(withdraw),
        Next::Answer => needed(format!("scalectl approval show {name}"), "waits for a colleague"),
        Next::FenceOver => needed(withdraw, "its fence ran out: wish it anew"),
        Next::Start | Next::Retry { .. } if let Some(behind) = behind => {
            plain(format!("waits behind {behind}"))
        }
        Next::Start => plain(format!("scalectl actuate {name}")),
        Next::CallEnds => under_call(session, execution, name),
        Next::FindOut { quiet_from, is_quiet } => {
            let age = now.since(execution.updated_at);
            let from = if is_quiet {
                String::new()
            } else {
                format!(" --wait  # quiet from {quiet_from}")
            };
            needed(format!("scalectl replay {name}{from}"), &format!("unknown for {age}"))
        }
        Next::Settle => {
            let why = "unknown, and neither time nor its actuator can tell";
            needed(format!("scalectl explain {name}"), why)
        }
        Next::Overtaken { by } => {
            plain(format!("scalectl actuate {}@{by}", execution.intent.service))
        }
        Next::Retry { from } => {
            plain(format!("scalectl actuate {}  # from {from}", execution.key()))
        }
        Next::Confirm => plain(format!("scalectl observe {name} --wait")),
        Next::Drifted => plain(format!("scalectl explain {name}")),
        Next::Over => Ways { outcome, next: None, need: None },
    }
}

/// The way on of a wish under a call, by what can be seen of the call from here. What is derived is
/// not stored: the next write records it.
fn under_call(session: &Session, execution: &Execution, name: &str) -> Ways {
    let lost = |why: String| Ways {
        outcome: Some("unknown"),
        next: Some(format!("scalectl replay {name} --wait")),
        need: Some(format!("{name} ({why})")),
    };
    match execution.open_call() {
        Some(call) if session.call_seems_ended(execution, call) => {
            lost("its call has ended without a result".to_owned())
        }
        Some(call) if session.call_is_silent(execution, call) => {
            lost(format!("no sign of life of its call on {}", call.holder.host))
        }
        Some(_) | None => {
            let held = execution.lease.as_ref().map(|held| {
                let until = held.lease.expires_at.truncated_to_seconds();
                format!("on {} until {until}", held.holder.host)
            });
            Ways { outcome: view::outcome_word(execution), next: held, need: None }
        }
    }
}

/// What a person must look at although the state alone does not say so.
fn odd_need(execution: &Execution, name: &str) -> Option<String> {
    if execution.failed_and_changed() {
        return Some(format!("{name} (failed, and the target is not as it was)"));
    }
    execution.rollback_required.then(|| format!("{name} ({})", view::ROLLBACK))
}
