//! `capacity usage`: put, show, list.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::super::app::App;
use super::super::noun::Outcome;
use super::super::output::Answer;
use super::super::table::{Cell, Column, Table, Tone};
use crate::domain::id::EnvironmentName;
use crate::domain::placement::capacity::Amounts;
use crate::domain::placement::protocol::WorkspaceState;
use crate::domain::placement::registry::{Usage, is_fresh};
use crate::domain::placement::state::PlacementState;
use crate::domain::time::Timestamp;
use crate::ops::capacity_put::usage_put;

#[derive(Subcommand)]
pub(super) enum Verb {
    /// Record what an environment was measured to take
    Put(PutArgs),
    /// Show what one environment takes
    Show {
        /// The environment
        name: EnvironmentName,
    },
    /// List what every environment takes
    List,
}

#[derive(Clone, Copy, ValueEnum)]
enum Workspace {
    None,
    Stopped,
    Running,
}

#[derive(Args)]
pub(super) struct PutArgs {
    /// The environment
    name: EnvironmentName,
    /// What its application and its data take, such as cpu=400m,memory=300MiB,storage=2GiB
    #[arg(long, value_name = "AMOUNTS")]
    used: Amounts,
    /// Its workspace
    #[arg(long, value_name = "STATE", default_value = "none")]
    workspace: Workspace,
    /// What a running workspace takes beside that; left out, nobody knows
    #[arg(long, value_name = "AMOUNTS")]
    workspace_used: Option<Amounts>,
    /// When it was measured [default: now]
    #[arg(long, value_name = "T")]
    measured_at: Option<String>,
}

pub(super) fn run(verb: Verb, app: &mut App) -> Outcome {
    match verb {
        Verb::Put(args) => put(&args, app),
        Verb::Show { name } => show(&name, app),
        Verb::List => list(app),
    }
}

fn put(args: &PutArgs, app: &mut App) -> Outcome {
    let now = app.session()?.now().truncated_to_millis();
    let measured_at = super::instant("--measured-at", args.measured_at.as_deref())?;
    let usage = Usage {
        environment: args.name.clone(),
        used: args.used,
        workspace: match args.workspace {
            Workspace::None => WorkspaceState::None,
            Workspace::Stopped => WorkspaceState::Stopped,
            Workspace::Running => WorkspaceState::Running,
        },
        workspace_used: args.workspace_used,
        measured_at: measured_at.unwrap_or(now),
    };
    let placed = usage_put(app.session()?, usage)?;
    let usage = &placed.state.usages[&args.name];
    let line = format!("{}  takes {}  measured {}", args.name, usage.used, usage.measured_at);
    Ok(super::put(&placed, "usage", usage, line).name(args.name.as_str()))
}

/// Whether its policy takes it for the size of a smaller profile.
fn counts(state: &PlacementState, usage: &Usage, now: Timestamp) -> bool {
    let environment = state.environments.get(&usage.environment);
    let policy = environment.and_then(|it| state.policies.get(&it.policy));
    policy.is_some_and(|it| is_fresh(usage.measured_at, it.usage_fresh_for_ms, now))
}

fn view(state: &PlacementState, usage: &Usage, now: Timestamp) -> Value {
    let mut view = serde_json::to_value(usage).expect("BUG: a domain type that is not JSON");
    view["fresh"] = json!(counts(state, usage, now));
    view
}

fn show(name: &EnvironmentName, app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let now = app.session()?.now();
    let state = app.session()?.placement()?;
    let usage = state.usages.get(name).ok_or_else(|| super::no_such("usage", name))?;
    let fresh = if counts(&state, usage, now) { "fresh" } else { "too old for a smaller profile" };
    let answer = Answer::ok()
        .noun("usage", &view(&state, usage, now))
        .name(name.as_str())
        .line(format!("{name}  takes {}", usage.used))
        .line(format!(
            "  measured   {}, {} ago: {fresh}",
            usage.measured_at,
            now.since(usage.measured_at)
        ));
    Ok(match (usage.workspace, usage.workspace_used) {
        (WorkspaceState::Running, Some(used)) => {
            answer.line(format!("  workspace  running, takes {used}"))
        }
        (WorkspaceState::Running, None) => {
            answer.line("  workspace  running, and nobody knows what it takes")
        }
        (WorkspaceState::Stopped, _) => answer.line("  workspace  stopped"),
        (WorkspaceState::None, _) => answer,
    })
}

fn list(app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let now = app.session()?.now();
    let state = app.session()?.placement()?;
    let mut table = Table::new([
        Column::left("ENVIRONMENT"),
        Column::left("TAKES"),
        Column::left("MEASURED"),
        Column::left("FRESH"),
    ]);
    let mut answer = Answer::ok();
    let mut views = Vec::new();
    for usage in state.usages.values() {
        table.row([
            Cell::new(&usage.environment),
            Cell::new(usage.used),
            Cell::new(usage.measured_at),
            if counts(&state, usage, now) {
                Cell::new("yes")
            } else {
                Cell::new("no").tone(Tone::Warn)
            },
        ]);
        views.push(view(&state, usage, now));
        answer = answer.name(usage.environment.as_str());
    }
    let answer = answer.noun("usages", &views);
    Ok(answer.table_or(table, "no usage is recorded"))
}
