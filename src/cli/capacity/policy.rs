//! `capacity policy`: put, show, list.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};

use super::super::app::App;
use super::super::args::whole_number;
use super::super::fault::Fault;
use super::super::noun::Outcome;
use super::super::output::Answer;
use super::super::problem::Problem;
use super::super::table::{Cell, Column, Table};
use super::bounded;
use crate::domain::id::{CellName, Cost, LocationName, PlacementPolicyName, ProfileName};
use crate::domain::placement::registry::PlacementPolicy;
use crate::domain::time::DurationMs;
use crate::ops::capacity_put::{PolicyChange, placement_policy_put};

#[derive(Subcommand)]
pub(super) enum Verb {
    /// Make a placement policy, or change what is named
    Put(PutArgs),
    /// Show one placement policy
    Show {
        /// The policy
        name: PlacementPolicyName,
    },
    /// List the placement policies
    List,
}

#[derive(Args)]
pub(super) struct PutArgs {
    /// The policy
    name: PlacementPolicyName,
    /// A profile that it offers, and what each copy of that costs; all that is offered is named
    #[arg(long = "offer", value_name = "PROFILE=COST")]
    offers: Vec<String>,
    /// A cell that it lets environments into; all of them are named
    #[arg(long = "cell", value_name = "CELL")]
    cells: Vec<CellName>,
    /// A location that its cells must be in; all of them are named, any for every one
    #[arg(long = "location", value_name = "LOCATION|any")]
    locations: Vec<String>,
    /// The most that an environment may cost with its recovery copy
    #[arg(long, value_name = "COST", value_parser = whole_number)]
    budget: Option<u64>,
    /// How old measured usage may be that lets a profile shrink [default: 5m]
    #[arg(long, value_name = "DURATION")]
    usage_fresh_for: Option<DurationMs>,
    /// The revision that it must have; 0 where it must not be there
    #[arg(long, value_name = "N", value_parser = whole_number)]
    expect_revision: Option<u64>,
}

pub(super) fn run(verb: Verb, app: &mut App) -> Outcome {
    match verb {
        Verb::Put(args) => put(&args, app),
        Verb::Show { name } => show(&name, app),
        Verb::List => list(app),
    }
}

fn offers(words: &[String]) -> Result<BTreeMap<ProfileName, Cost>, Fault> {
    let mut offers = BTreeMap::new();
    for word in words {
        let refuse = |why: String| {
            let problem = Problem::usage("invalid_offer", format!("--offer {word}: {why}"));
            Fault::from(problem.hint("write a profile and what a copy of it costs: small=10"))
        };
        let (name, cost) =
            word.split_once('=').ok_or_else(|| refuse("there is no cost".to_owned()))?;
        let name: ProfileName = name.parse().map_err(|error| refuse(format!("{error}")))?;
        let cost = whole_number(cost).map_err(&refuse)?;
        let cost = Cost::new(cost).map_err(|error| refuse(error.to_string()))?;
        if offers.insert(name, cost).is_some() {
            return Err(refuse("it is offered twice".to_owned()));
        }
    }
    Ok(offers)
}

fn put(args: &PutArgs, app: &mut App) -> Outcome {
    let locations: Vec<LocationName> = args
        .locations
        .iter()
        .filter(|word| *word != "any")
        .map(|word| word.parse())
        .collect::<Result<_, _>>()
        .map_err(|error: crate::domain::id::InvalidIdentifier| {
            Fault::usage("invalid_location", error.to_string())
        })?;
    let change = PolicyChange {
        offers: (!args.offers.is_empty()).then(|| offers(&args.offers)).transpose()?,
        cells: (!args.cells.is_empty()).then(|| args.cells.iter().cloned().collect()),
        locations: (!args.locations.is_empty()).then(|| locations.into_iter().collect()),
        budget: args.budget.map(|budget| bounded(budget, Cost::new)).transpose()?,
        usage_fresh_for: args.usage_fresh_for,
    };
    let placed = placement_policy_put(app.session()?, &args.name, &change, args.expect_revision)?;
    let policy = &placed.state.policies[&args.name];
    let line = format!("placement policy {}  revision {}", policy.name, policy.revision);
    Ok(super::put(&placed, "placement_policy", policy, line).name(args.name.as_str()))
}

fn show(name: &PlacementPolicyName, app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let state = app.session()?.placement()?;
    let policy =
        state.policies.get(name).ok_or_else(|| super::no_such("placement policy", name))?;
    Ok(Answer::ok()
        .noun("placement_policy", policy)
        .name(name.as_str())
        .line(format!("placement policy {name}  revision {}", policy.revision))
        .line(format!("  offers     {}", offered(policy)))
        .line(format!("  cells      {}", words(policy.cells.iter())))
        .line(format!("  locations  {}", locations(policy)))
        .line(format!("  budget     {}", policy.budget))
        .line(format!("  usage      at most {} old", policy.usage_fresh_for_ms)))
}

fn words<'w, T: ToString + 'w>(names: impl Iterator<Item = &'w T>) -> String {
    let names: Vec<String> = names.map(ToString::to_string).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn offered(policy: &PlacementPolicy) -> String {
    let offers = policy.offers.iter().map(|(name, cost)| format!("{name}={cost}"));
    let offers: Vec<String> = offers.collect();
    if offers.is_empty() { "none".to_owned() } else { offers.join(", ") }
}

fn locations(policy: &PlacementPolicy) -> String {
    if policy.locations.is_empty() { "any".to_owned() } else { words(policy.locations.iter()) }
}

fn list(app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let state = app.session()?.placement()?;
    let mut table = Table::new([
        Column::left("POLICY"),
        Column::right("REVISION"),
        Column::left("OFFERS"),
        Column::left("CELLS"),
        Column::right("BUDGET"),
    ]);
    let mut answer = Answer::ok();
    for policy in state.policies.values() {
        table.row([
            Cell::new(&policy.name),
            Cell::new(policy.revision),
            Cell::new(offered(policy)),
            Cell::new(words(policy.cells.iter())),
            Cell::new(policy.budget),
        ]);
        answer = answer.name(policy.name.as_str());
    }
    let all: Vec<&PlacementPolicy> = state.policies.values().collect();
    let answer = answer.noun("placement_policies", &all);
    Ok(answer.table_or(table, "no placement policy is registered"))
}
