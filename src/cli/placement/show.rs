//! An environment as people and machines read it.

use serde_json::{Value, json};

use super::super::app::App;
use super::super::capacity::no_such;
use super::super::noun::Outcome;
use super::super::output::Answer;
use super::super::table::{Cell, Column, Table};
use crate::domain::id::EnvironmentName;
use crate::domain::placement::environment::Environment;
use crate::domain::placement::operation::{Course, Operation, Trouble};
use crate::domain::placement::state::PlacementState;
use crate::domain::time::Timestamp;

/// Where an unfinished change is, as one word and its step.
pub(crate) fn phase_of(operation: &Operation) -> String {
    let step = operation.next_step().map_or("end", |step| step.as_str());
    match operation.course {
        Course::Forward => step.to_owned(),
        Course::Back => format!("back: {step}"),
        Course::Stuck => format!("stuck: {step}"),
        Course::Succeeded | Course::Failed => operation.course.as_str().to_owned(),
    }
}

fn protection(environment: &Environment, operation: Option<&Operation>) -> &'static str {
    match (&environment.standby, operation) {
        (Some(_), _) => "snapshot_ready",
        (None, Some(operation)) if operation.snapshot.is_some() => "preparing",
        (None, _) => "none",
    }
}

/// An environment for machines (facts/placement.md, section 4).
pub(crate) fn environment_view(
    state: &PlacementState,
    environment: &Environment,
    now: Timestamp,
) -> Value {
    let operation = state.under_way(environment);
    let it = &environment.effective;
    let policy = state.policies.get(&environment.policy);
    let standby = environment.standby.as_ref();
    json!({
        "environment": environment.name,
        "revision": environment.revision,
        "policy": environment.policy,
        "policy_revision": policy.map(|policy| policy.revision),
        "relocator": environment.relocator,
        "desired": environment.desired,
        "effective_cell": it.cell,
        "effective_location": it.location,
        "effective_profile": it.profile,
        "runtime_mode": it.runtime_mode,
        "generation": it.generation,
        "epoch": it.epoch,
        "since": it.since,
        "phase": operation.map(phase_of),
        "reason": operation.and_then(|it| it.trouble.as_ref()).map(Trouble::text),
        "operation": operation.map(|it| &it.operation_id),
        "unavailable": operation.is_some_and(Operation::keeps_away),
        "reserved": environment.reservations,
        "protection": protection(environment, operation),
        "recovery_point": standby.map(|standby| json!({
            "captured_at": standby.captured_at,
            "age_ms": now.since(standby.captured_at),
            "cell": standby.copy.cell,
            "location": standby.location,
            "generation": standby.copy.generation,
            "bytes": standby.bytes,
            "manifest_sha256": standby.manifest_sha256,
        })),
        "kept_workspaces": environment.kept_workspaces,
    })
}

/// An environment for people, but for its table of reservations.
pub(crate) fn environment_lines(
    state: &PlacementState,
    environment: &Environment,
    now: Timestamp,
) -> Vec<String> {
    let it = &environment.effective;
    let wish = &environment.desired;
    let cell = wish.cell.as_ref().map_or_else(String::new, |cell| format!(" (cell {cell})"));
    let policy = state.policies.get(&environment.policy);
    let policy = policy.map_or_else(|| "?".to_owned(), |policy| policy.revision.to_string());
    let mut lines = vec![
        format!(
            "{}  revision {}  policy {} at revision {policy}",
            environment.name, environment.revision, environment.policy
        ),
        format!(
            "  wished     {} in {}{cell}, standby {}, {}",
            wish.profile, wish.location, wish.standby, wish.runtime_mode
        ),
        format!(
            "  is         {} in {} (cell {}), epoch {}, {}, since {}",
            it.profile, it.location, it.cell, it.epoch, it.runtime_mode, it.since
        ),
        format!("  copy       {}", it.generation),
    ];
    let operation = state.under_way(environment);
    if let Some(operation) = operation {
        let away = if operation.keeps_away() { ", not serving" } else { "" };
        lines.push(format!(
            "  under way  {}: {}{away}",
            operation.operation_id,
            phase_of(operation)
        ));
        if let Some(trouble) = &operation.trouble {
            lines.push(format!("  reason     {}: {}", trouble.code(), trouble.text()));
        }
    }
    lines.push(match &environment.standby {
        Some(standby) => format!(
            "  recovery   snapshot of {} ({} ago), cell {}, {}; not replicated on",
            standby.captured_at,
            now.since(standby.captured_at),
            standby.copy.cell,
            standby.copy.generation
        ),
        None => format!("  recovery   {}", protection(environment, operation)),
    });
    lines.push(match &environment.relocator {
        Some(relocator) => format!("  relocator  {relocator}"),
        None => "  relocator  none: it can be moved by nobody".to_owned(),
    });
    for kept in &environment.kept_workspaces {
        lines.push(format!(
            "  workspace  kept of {kept}: goes by --retire-workspace {}",
            kept.generation
        ));
    }
    lines
}

pub(super) fn reservations(list: &[crate::domain::placement::environment::Reservation]) -> Table {
    let mut table = Table::new([
        Column::left("RESERVED"),
        Column::left("CELL"),
        Column::left("PROFILE"),
        Column::left("AMOUNTS"),
    ]);
    for it in list {
        table.row([
            Cell::new(it.role.as_str()),
            Cell::new(&it.cell),
            Cell::new(&it.profile),
            Cell::new(it.amounts),
        ]);
    }
    table
}

pub(super) fn show(name: &EnvironmentName, app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let now = app.session()?.now();
    let state = app.session()?.placement()?;
    let environment = state.environments.get(name).ok_or_else(|| no_such("environment", name))?;
    let answer = Answer::ok()
        .noun("environment", &environment_view(&state, environment, now))
        .name(name.as_str());
    let lines = environment_lines(&state, environment, now);
    Ok(lines
        .into_iter()
        .fold(answer, Answer::line)
        .line(String::new())
        .table(reservations(&environment.reservations)))
}
