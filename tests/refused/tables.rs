//! What a ledger holds, row by row, on either engine.

use std::collections::BTreeMap;

use crate::support::World;

/// Every row of every table, as text; the events of the stream of refusals are on their own.
pub(super) fn tables(world: &World) -> BTreeMap<String, Vec<String>> {
    let mut all = if world.is_on_postgres() { on_postgres(world) } else { on_sqlite(world) };
    assert!(["ledger", "event", "service", "execution", "document", "placement"].iter().all(
        |name| {
            all.get(*name)
                .is_some_and(|rows| !rows.is_empty() || ["execution", "placement"].contains(name))
        }
    ));
    let events = all.remove("event").expect("a table");
    let (refusals, events) = events.into_iter().partition(|row| row.contains("refusals"));
    all.insert("event".to_owned(), events);
    all.insert("refusals".to_owned(), refusals);
    all
}

fn on_sqlite(world: &World) -> BTreeMap<String, Vec<String>> {
    let connection = rusqlite::Connection::open(world.ledger()).expect("a database");
    let mut names = connection
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        .expect("SQL");
    let names: Vec<String> = names
        .query_map([], |row| row.get(0))
        .expect("rows")
        .map(|name| name.expect("a name"))
        .collect();
    let rows_of = |name: String| {
        let mut all = connection.prepare(&format!("SELECT * FROM {name}")).expect("SQL");
        let columns = all.column_count();
        let row = |row: &rusqlite::Row<'_>| -> rusqlite::Result<String> {
            let cells: Result<Vec<rusqlite::types::Value>, _> =
                (0..columns).map(|index| row.get(index)).collect();
            cells.map(|cells| format!("{cells:?}"))
        };
        let rows = all.query_map([], row).expect("rows").map(|row| row.expect("a row"));
        (name, rows.collect())
    };
    names.into_iter().map(rows_of).collect()
}

fn on_postgres(world: &World) -> BTreeMap<String, Vec<String>> {
    let schema = world.schema().name();
    let names = world.sql(&format!(
        "SELECT relname FROM pg_class WHERE relnamespace = '{schema}'::regnamespace
         AND relkind = 'r' ORDER BY relname"
    ));
    let rows_of = |name: &str| {
        let rows = world.sql(&format!("SELECT t::text FROM {name} AS t ORDER BY t::text"));
        (name.to_owned(), rows.lines().map(str::to_owned).collect())
    };
    names.lines().map(str::trim).filter(|name| *name != "SET").map(rows_of).collect()
}
