//! `placement`: adopt, plan, change, show, list, locations.

mod change;
mod show;

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};
use serde_json::json;

use super::app::App;
use super::args::whole_number;
use super::capacity::{no_such, recorded};
use super::intent::reason;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::table::{Cell, Column, Table, Tone};
use crate::domain::id::{
    CellName, EnvironmentName, PlacementPolicyName, ProfileName, RelocatorName,
};
use crate::domain::placement::command::AdoptEnvironment;
use crate::domain::placement::environment::RuntimeMode;
use crate::domain::placement::protocol::Generation;
use crate::ops::placement_adopt::placement_adopt;

pub(super) use show::{environment_lines, environment_view, phase_of};

pub(super) const NOUN: Noun = Noun {
    name: "placement",
    group: "Placement",
    about: "Which cell an environment lives in: adopt, plan, change, show, list, locations",
    augment: |command| Verb::augment_subcommands(command).subcommand_required(true),
    run,
    hidden: false,
};

const PLAN: &str = "Show what a change would do, and write nothing. It ends as the change would.";

const CHANGE: &str = "Change where an environment lives, how much it has, or its recovery copy.
What is left out stays as it is: a recovery copy goes with --standby none alone.";

#[derive(Subcommand)]
enum Verb {
    /// Know an environment that is there, as it is; nothing is moved
    Adopt(Box<AdoptArgs>),
    /// Show what a change would do, and write nothing
    #[command(long_about = PLAN)]
    Plan(Box<change::PlanArgs>),
    /// Change where an environment lives, how much it has, or its recovery copy
    #[command(long_about = CHANGE)]
    Change(Box<change::ChangeArgs>),
    /// Show one environment: what is wished, what is, and what is under way
    Show {
        /// The environment
        name: EnvironmentName,
    },
    /// List the environments
    List,
    /// List the locations and cells that an environment may have; what is asked at a change is the
    /// policy as it is then
    Locations {
        /// The environment
        name: EnvironmentName,
    },
}

#[derive(Args)]
struct AdoptArgs {
    /// The environment
    name: EnvironmentName,
    /// The placement policy that it is under
    #[arg(long, value_name = "POLICY")]
    policy: PlacementPolicyName,
    /// The cell that it serves in
    #[arg(long, value_name = "CELL")]
    cell: CellName,
    /// The copy that serves there, such as 1-first
    #[arg(long, value_name = "EPOCH-OPERATION")]
    generation: Generation,
    /// What it is promised there
    #[arg(long, value_name = "PROFILE")]
    profile: ProfileName,
    /// Who moves its copies; none where nobody does
    #[arg(long, value_name = "NAME")]
    relocator: Option<RelocatorName>,
    /// Whether it may sleep: on-demand or always-on
    #[arg(long, value_name = "MODE", default_value = "on-demand")]
    runtime_mode: RuntimeMode,
    /// The revision that it must have; 0 where it must not be known
    #[arg(long, value_name = "N", value_parser = whole_number, default_value = "0")]
    expect_revision: u64,
    /// Why [env: SCALECTL_REASON]
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

fn run(matches: &ArgMatches, app: &mut App, out: &mut Out) -> Outcome {
    match Verb::from_arg_matches(matches).map_err(super::parse_fault)? {
        Verb::Adopt(args) => adopt(*args, app),
        Verb::Plan(args) => change::plan(&args, app),
        Verb::Change(args) => change::change(&args, app, out),
        Verb::Show { name } => show::show(&name, app),
        Verb::List => list(app),
        Verb::Locations { name } => locations(&name, app),
    }
}

fn adopt(args: AdoptArgs, app: &mut App) -> Outcome {
    let reason = reason(args.reason.as_deref(), app)?;
    let name = args.name.clone();
    let ask = AdoptEnvironment {
        environment: args.name,
        expected_revision: args.expect_revision,
        policy: args.policy,
        relocator: args.relocator,
        cell: args.cell,
        generation: args.generation,
        profile: args.profile,
        runtime_mode: args.runtime_mode,
        reason,
        sighting: None,
    };
    let placed = placement_adopt(app.session()?, ask)?;
    let now = app.session()?.now();
    let environment = &placed.state.environments[&name];
    let mut answer = Answer::ok()
        .noun("environment", &environment_view(&placed.state, environment, now))
        .recorded(recorded(&placed))
        .name(name.as_str());
    answer.changed = placed.committed.is_some();
    Ok(environment_lines(&placed.state, environment, now).into_iter().fold(answer, Answer::line))
}

fn list(app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let now = app.session()?.now();
    let state = app.session()?.placement()?;
    let mut table = Table::new([
        Column::left("ENVIRONMENT"),
        Column::right("REVISION"),
        Column::left("CELL"),
        Column::left("LOCATION"),
        Column::right("EPOCH"),
        Column::left("PROFILE"),
        Column::left("MODE"),
        Column::left("PROTECTION"),
        Column::left("UNDER WAY").shrinks(),
    ]);
    let mut answer = Answer::ok();
    let mut views = Vec::new();
    for environment in state.environments.values() {
        let it = &environment.effective;
        let view = environment_view(&state, environment, now);
        let phase = view["phase"].as_str().unwrap_or("settled").to_owned();
        let is_stuck = phase.starts_with("stuck");
        let phase = Cell::new(phase);
        table.row([
            Cell::new(&environment.name),
            Cell::new(environment.revision),
            Cell::new(&it.cell),
            Cell::new(&it.location),
            Cell::new(it.epoch),
            Cell::new(&it.profile),
            Cell::new(it.runtime_mode),
            Cell::new(view["protection"].as_str().unwrap_or("none")),
            if is_stuck { phase.tone(Tone::Bad) } else { phase },
        ]);
        views.push(view);
        answer = answer.name(environment.name.as_str());
    }
    let answer = answer.noun("environments", &views);
    Ok(answer.table_or(table, "no environment is known: placement adopt makes one known"))
}

fn locations(name: &EnvironmentName, app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let now = app.session()?.now();
    let state = app.session()?.placement()?;
    let environment = state.environments.get(name).ok_or_else(|| no_such("environment", name))?;
    let policy = state
        .policies
        .get(&environment.policy)
        .ok_or_else(|| no_such("placement policy", &environment.policy))?;
    let mut table = Table::new([
        Column::left("LOCATION"),
        Column::left("CELL"),
        Column::left("HERE"),
        Column::left("STATE"),
        Column::left("FREE"),
        Column::left("ABOUT").wraps(),
    ]);
    let mut rows = Vec::new();
    for cell in state.cells.values().filter(|cell| policy.lets_into(cell)) {
        let roles = environment.reservations.iter().filter(|it| it.cell == cell.name);
        let roles: Vec<&str> = roles.map(|it| it.role.as_str()).collect();
        let free = state.reserved(&cell.name, None).left_of(cell.allocatable);
        let word = match (&cell.cordon, cell.is_fresh(now)) {
            (Some(_), _) => "cordoned",
            (None, false) => "stale",
            (None, true) => "open",
        };
        let about = state.locations.get(&cell.location).map(|it| it.about.as_str().to_owned());
        table.row([
            Cell::new(&cell.location),
            Cell::new(&cell.name),
            Cell::new(roles.join(", ")),
            Cell::new(word),
            Cell::new(free),
            Cell::new(about.unwrap_or_default()),
        ]);
        rows.push(json!({
            "location": cell.location,
            "cell": cell.name,
            "roles": roles,
            "state": word,
            "free": free,
        }));
    }
    let answer = Answer::ok()
        .noun("locations", &rows)
        .noun("policy_revision", &policy.revision)
        .name(name.as_str());
    let line = format!("by placement policy {} at revision {}", policy.name, policy.revision);
    Ok(answer.table(table).line(line))
}
