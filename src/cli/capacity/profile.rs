//! `capacity profile`: put, show, list.

use clap::{Args, Subcommand};

use super::super::app::App;
use super::super::noun::Outcome;
use super::super::output::Answer;
use super::super::table::{Cell, Column, Table};
use crate::domain::id::{IsolationName, ProfileName};
use crate::domain::placement::capacity::Amounts;
use crate::domain::placement::registry::{Overheads, Profile};
use crate::ops::capacity_put::profile_put;

#[derive(Subcommand)]
pub(super) enum Verb {
    /// Register a profile; it is never changed
    Put(PutArgs),
    /// Show one profile
    Show {
        /// The profile
        name: ProfileName,
    },
    /// List the profiles
    List,
}

#[derive(Args)]
pub(super) struct PutArgs {
    /// The profile
    name: ProfileName,
    /// What is promised and reserved, such as cpu=500m,memory=512MiB,storage=1GiB
    #[arg(long, value_name = "AMOUNTS")]
    floor: Amounts,
    /// The most that it may take, where there is room
    #[arg(long, value_name = "AMOUNTS")]
    maximum: Amounts,
    /// What is reserved beside the floor while one version replaces another [default: nothing]
    #[arg(long, value_name = "AMOUNTS")]
    rollout_overlap: Option<Amounts>,
    /// What is reserved beside the floor for what stands before its replicas [default: nothing]
    #[arg(long, value_name = "AMOUNTS")]
    queue_proxy: Option<Amounts>,
    /// How it is kept apart from others
    #[arg(long, value_name = "NAME", default_value = "shared")]
    isolation: IsolationName,
}

pub(super) fn run(verb: Verb, app: &mut App) -> Outcome {
    match verb {
        Verb::Put(args) => {
            let name = args.name.clone();
            let profile = Profile {
                name: args.name,
                floor: args.floor,
                maximum: args.maximum,
                overheads: Overheads {
                    rollout_overlap: args.rollout_overlap.unwrap_or(Amounts::ZERO),
                    queue_proxy: args.queue_proxy.unwrap_or(Amounts::ZERO),
                },
                isolation: args.isolation,
            };
            let placed = profile_put(app.session()?, profile)?;
            let profile = &placed.state.profiles[&name];
            let line = format!("profile {name}  reserves {}", profile.reserved());
            Ok(super::put(&placed, "profile", profile, line).name(name.as_str()))
        }
        Verb::Show { name } => show(&name, app),
        Verb::List => list(app),
    }
}

fn show(name: &ProfileName, app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let state = app.session()?.placement()?;
    let profile = state.profiles.get(name).ok_or_else(|| super::no_such("profile", name))?;
    Ok(Answer::ok()
        .noun("profile", profile)
        .noun("reserved", &profile.reserved())
        .name(name.as_str())
        .line(format!("profile {name}  isolation {}", profile.isolation))
        .line(format!("  floor      {}", profile.floor))
        .line(format!("  maximum    {}", profile.maximum))
        .line(format!("  rollout    {}", profile.overheads.rollout_overlap))
        .line(format!("  proxy      {}", profile.overheads.queue_proxy))
        .line(format!("  reserves   {}", profile.reserved())))
}

fn list(app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let state = app.session()?.placement()?;
    let mut table = Table::new([
        Column::left("PROFILE"),
        Column::left("RESERVES"),
        Column::left("MAXIMUM"),
        Column::left("ISOLATION"),
    ]);
    let mut answer = Answer::ok();
    for profile in state.profiles.values() {
        table.row([
            Cell::new(&profile.name),
            Cell::new(profile.reserved()),
            Cell::new(profile.maximum),
            Cell::new(&profile.isolation),
        ]);
        answer = answer.name(profile.name.as_str());
    }
    let all: Vec<&Profile> = state.profiles.values().collect();
    let answer = answer.noun("profiles", &all);
    Ok(answer.table_or(table, "no profile is registered"))
}
