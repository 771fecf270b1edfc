//! `capacity pool`: put, show, list.

use clap::{Args, Subcommand};

use super::super::app::App;
use super::super::args::whole_number;
use super::super::noun::Outcome;
use super::super::output::Answer;
use super::super::table::{Cell, Column, Table};
use super::bounded;
use crate::domain::id::{PoolName, Replicas};
use crate::domain::placement::registry::ReplicaPool;
use crate::ops::capacity_put::pool_put;

#[derive(Subcommand)]
pub(super) enum Verb {
    /// Make a pool, or change what is named
    Put(PutArgs),
    /// Show one pool
    Show {
        /// The pool
        name: PoolName,
    },
    /// List the pools
    List,
}

#[derive(Args)]
pub(super) struct PutArgs {
    /// The pool
    name: PoolName,
    /// The most replicas that its services may have together
    #[arg(long, value_name = "N", value_parser = whole_number)]
    max: u64,
    /// The revision that it must have; 0 where it must not be there
    #[arg(long, value_name = "N", value_parser = whole_number)]
    expect_revision: Option<u64>,
}

pub(super) fn run(verb: Verb, app: &mut App) -> Outcome {
    match verb {
        Verb::Put(args) => {
            let max = bounded(args.max, Replicas::new)?;
            let placed = pool_put(app.session()?, &args.name, max, args.expect_revision)?;
            let pool = &placed.state.pools[&args.name];
            Ok(super::put(&placed, "pool", pool, line(pool)).name(args.name.as_str()))
        }
        Verb::Show { name } => {
            app.session()?.tell_standing()?;
            let state = app.session()?.placement()?;
            let pool = state.pools.get(&name).ok_or_else(|| super::no_such("pool", &name))?;
            Ok(Answer::ok().noun("pool", pool).name(name.as_str()).line(line(pool)))
        }
        Verb::List => list(app),
    }
}

fn line(pool: &ReplicaPool) -> String {
    format!("pool {}  at most {}  revision {}", pool.name, pool.max_replicas, pool.revision)
}

fn list(app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let state = app.session()?.placement()?;
    let mut table =
        Table::new([Column::left("POOL"), Column::right("MAX"), Column::right("REVISION")]);
    let mut answer = Answer::ok();
    for pool in state.pools.values() {
        table.row([Cell::new(&pool.name), Cell::new(pool.max_replicas), Cell::new(pool.revision)]);
        answer = answer.name(pool.name.as_str());
    }
    let all: Vec<&ReplicaPool> = state.pools.values().collect();
    let answer = answer.noun("pools", &all);
    Ok(answer.table_or(table, "no pool is registered"))
}
