//! `capacity cell`: put, cordon, uncordon, show, list.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::super::app::App;
use super::super::args::whole_number;
use super::super::intent::reason;
use super::super::noun::Outcome;
use super::super::output::Answer;
use super::super::table::{Cell as Field, Column, Table, Tone};
use crate::domain::id::{CellName, LocationName};
use crate::domain::placement::capacity::{Amounts, Axis};
use crate::domain::placement::registry::Cell;
use crate::domain::placement::state::PlacementState;
use crate::domain::time::Timestamp;
use crate::ops::capacity_put::{CellChange, FreshFor, cell_cordon, cell_put};

#[derive(Subcommand)]
pub(super) enum Verb {
    /// Make or measure a cell, or change what is named
    Put(PutArgs),
    /// Let nobody else into a cell; who is there stays
    Cordon {
        /// The cell
        name: CellName,
        /// Why [env: SCALECTL_REASON]
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Let environments into a cell again
    Uncordon {
        /// The cell
        name: CellName,
    },
    /// Show one cell: what it has, what is reserved and for whom
    Show {
        /// The cell
        name: CellName,
    },
    /// List the cells with what is free
    List,
}

#[derive(Args)]
pub(super) struct PutArgs {
    /// The cell
    name: CellName,
    /// The location that it is in, for ever
    #[arg(long, value_name = "LOCATION")]
    location: Option<LocationName>,
    /// What environments may have of it together, such as cpu=2800m,memory=5GiB,storage=60GiB; what
    /// its host keeps for itself is not in it
    #[arg(long, value_name = "AMOUNTS")]
    allocatable: Option<Amounts>,
    /// When that was measured [default: now]
    #[arg(long, value_name = "T")]
    measured_at: Option<String>,
    /// How long it counts, or ever [default: ever]
    #[arg(long, value_name = "DURATION|ever")]
    fresh_for: Option<FreshFor>,
    /// The revision that it must have; 0 where it must not be there
    #[arg(long, value_name = "N", value_parser = whole_number)]
    expect_revision: Option<u64>,
}

pub(super) fn run(verb: Verb, app: &mut App) -> Outcome {
    match verb {
        Verb::Put(args) => put(&args, app),
        Verb::Cordon { name, reason: why } => {
            let why = reason(why.as_deref(), app)?;
            let placed = cell_cordon(app.session()?, &name, Some(why))?;
            let cell = &placed.state.cells[&name];
            let line = format!("cell {name}  takes nobody in");
            Ok(super::put(&placed, "cell", cell, line).name(name.as_str()))
        }
        Verb::Uncordon { name } => {
            let placed = cell_cordon(app.session()?, &name, None)?;
            let cell = &placed.state.cells[&name];
            let line = format!("cell {name}  takes environments in");
            Ok(super::put(&placed, "cell", cell, line).name(name.as_str()))
        }
        Verb::Show { name } => show(&name, app),
        Verb::List => list(app),
    }
}

fn put(args: &PutArgs, app: &mut App) -> Outcome {
    let change = CellChange {
        location: args.location.clone(),
        allocatable: args.allocatable,
        measured_at: super::instant("--measured-at", args.measured_at.as_deref())?,
        fresh_for: args.fresh_for,
    };
    let placed = cell_put(app.session()?, &args.name, &change, args.expect_revision)?;
    let cell = &placed.state.cells[&args.name];
    let line = format!(
        "cell {}  in {}  {}  revision {}",
        cell.name, cell.location, cell.allocatable, cell.revision
    );
    let answer = super::put(&placed, "cell", cell, line).name(args.name.as_str());
    let reserved = placed.state.reserved(&args.name, None);
    let over = reserved.whole().beyond(cell.allocatable);
    Ok(if over == Amounts::ZERO {
        answer
    } else {
        let text = format!(
            "more is reserved of {} than there is, by {over}: nobody is sent away, and nobody else \
             is let in",
            args.name
        );
        answer.warning("cell_is_over", text)
    })
}

/// A cell for machines, with what is reserved of it.
fn view(state: &PlacementState, cell: &Cell, now: Timestamp) -> Value {
    let reserved = state.reserved(&cell.name, None);
    let mut view = serde_json::to_value(cell).expect("BUG: a domain type that is not JSON");
    view["reserved"] = json!(reserved.whole());
    view["free"] = json!(reserved.left_of(cell.allocatable));
    view["fresh"] = json!(cell.is_fresh(now));
    view
}

fn show(name: &CellName, app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let now = app.session()?.now();
    let state = app.session()?.placement()?;
    let cell = state.cells.get(name).ok_or_else(|| super::no_such("cell", name))?;
    let reserved = state.reserved(name, None);
    let mut answer = Answer::ok()
        .noun("cell", &view(&state, cell, now))
        .name(name.as_str())
        .line(format!("cell {name}  in {}  revision {}", cell.location, cell.revision))
        .line(format!("  has        {}", cell.allocatable))
        .line(format!("  measured   {}{}", cell.measured_at, stale(cell, now)))
        .line(format!("  reserved   {}", reserved.whole()))
        .line(format!("  free       {}", reserved.left_of(cell.allocatable)));
    if let Some(cordon) = &cell.cordon {
        answer = answer.line(format!(
            "  cordoned   {} ago by {}: {}",
            now.since(cordon.at),
            cordon.actor,
            cordon.reason.as_str()
        ));
    }
    let mut rows = Vec::new();
    let mut table = Table::new([
        Column::left("ENVIRONMENT"),
        Column::left("ROLE"),
        Column::left("PROFILE"),
        Column::left("RESERVED"),
    ]);
    for environment in state.environments.values() {
        for it in environment.reservations.iter().filter(|it| it.cell == *name) {
            table.row([
                Field::new(&environment.name),
                Field::new(it.role.as_str()),
                Field::new(&it.profile),
                Field::new(it.amounts),
            ]);
            rows.push(json!({"environment": environment.name, "reservation": it}));
        }
    }
    let answer = answer.noun("reservations", &rows);
    Ok(if rows.is_empty() { answer } else { answer.line(String::new()).table(table) })
}

fn stale(cell: &Cell, now: Timestamp) -> &'static str {
    if cell.is_fresh(now) { "" } else { "  (too long ago: it takes nobody in)" }
}

fn list(app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let now = app.session()?.now();
    let state = app.session()?.placement()?;
    let mut table = Table::new([
        Column::left("CELL"),
        Column::left("LOCATION"),
        Column::right("CPU FREE"),
        Column::right("OF"),
        Column::right("MEMORY FREE"),
        Column::right("OF"),
        Column::right("STORAGE FREE"),
        Column::right("OF"),
        Column::left("STATE"),
    ]);
    let mut views = Vec::new();
    let mut answer = Answer::ok();
    for cell in state.cells.values() {
        let free = state.reserved(&cell.name, None).left_of(cell.allocatable);
        let mut row = vec![Field::new(&cell.name), Field::new(&cell.location)];
        for axis in Axis::ALL {
            let shown = |amounts: Amounts| Field::new(axis.shown(u128::from(amounts.of(axis))));
            row.extend([shown(free), shown(cell.allocatable)]);
        }
        row.push(match (&cell.cordon, cell.is_fresh(now)) {
            (Some(_), _) => Field::new("cordoned").tone(Tone::Warn),
            (None, false) => Field::new("stale").tone(Tone::Warn),
            (None, true) => Field::new("open"),
        });
        table.row(row);
        views.push(view(&state, cell, now));
        answer = answer.name(cell.name.as_str());
    }
    let answer = answer.noun("cells", &views);
    Ok(answer.table_or(table, "no cell is registered"))
}
