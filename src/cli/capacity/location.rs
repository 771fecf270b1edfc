//! `capacity location`: put, show, list.

use clap::{Args, Subcommand};

use super::super::app::App;
use super::super::args::whole_number;
use super::super::intent::detail;
use super::super::noun::Outcome;
use super::super::output::Answer;
use super::super::table::{Cell, Column, Table};
use crate::domain::id::LocationName;
use crate::domain::placement::registry::PlaceLocation;
use crate::ops::capacity_put::location_put;

#[derive(Subcommand)]
pub(super) enum Verb {
    /// Make a location, or change what is named
    Put(PutArgs),
    /// Show one location and its cells
    Show {
        /// The location
        name: LocationName,
    },
    /// List the locations
    List,
}

#[derive(Args)]
pub(super) struct PutArgs {
    /// The location
    name: LocationName,
    /// What people should know about it
    #[arg(long, value_name = "TEXT")]
    about: Option<String>,
    /// The revision that it must have; 0 where it must not be there
    #[arg(long, value_name = "N", value_parser = whole_number)]
    expect_revision: Option<u64>,
}

pub(super) fn run(verb: Verb, app: &mut App) -> Outcome {
    match verb {
        Verb::Put(args) => {
            let about = args.about.map(detail).transpose()?;
            let session = app.session()?;
            let placed = location_put(session, &args.name, about.as_ref(), args.expect_revision)?;
            let location = &placed.state.locations[&args.name];
            Ok(super::put(&placed, "location", location, line(location)).name(args.name.as_str()))
        }
        Verb::Show { name } => show(&name, app),
        Verb::List => list(app),
    }
}

fn line(location: &PlaceLocation) -> String {
    let about = location.about.as_str();
    let about = if about.is_empty() { String::new() } else { format!("  {about}") };
    format!("location {}  revision {}{about}", location.name, location.revision)
}

fn show(name: &LocationName, app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let state = app.session()?.placement()?;
    let location = state.locations.get(name).ok_or_else(|| super::no_such("location", name))?;
    let cells: Vec<_> = state.cells.values().filter(|cell| cell.location == *name).collect();
    let answer = Answer::ok().noun("location", location).noun("cells", &cells).name(name.as_str());
    let answer = answer.line(line(location));
    Ok(cells.iter().fold(answer, |answer, cell| {
        answer.line(format!("  cell       {}  {}", cell.name, cell.allocatable))
    }))
}

fn list(app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let state = app.session()?.placement()?;
    let mut table = Table::new([
        Column::left("LOCATION"),
        Column::right("CELLS"),
        Column::left("ABOUT").wraps(),
    ]);
    let mut answer = Answer::ok();
    for location in state.locations.values() {
        let cells = state.cells.values().filter(|cell| cell.location == location.name).count();
        table.row([
            Cell::new(&location.name),
            Cell::new(cells),
            Cell::new(location.about.as_str()),
        ]);
        answer = answer.name(location.name.as_str());
    }
    let all: Vec<&PlaceLocation> = state.locations.values().collect();
    let answer = answer.noun("locations", &all);
    Ok(answer.table_or(table, "no location is registered"))
}
