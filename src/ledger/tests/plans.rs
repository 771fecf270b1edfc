//! How SQLite finds what each statement asks for: a command must not slow down as a ledger grows.

use std::cell::Cell;

use super::support::*;
use crate::ledger::sql::Statement;
use crate::ledger::statements as sql;
use crate::ledger::{EventFilter, Order, Stream};

/// What a command of one service runs, and what looks at one page: all of it by an index.
const SEARCHING: [Statement; 33] = [
    sql::READ_IDENTITY,
    sql::INSERT_IDENTITY,
    sql::RAISE_INCARNATION,
    sql::READ_STANDING,
    sql::READ_STREAM_HEAD,
    sql::INSERT_EVENT,
    sql::READ_SERVICE,
    sql::INSERT_SERVICE,
    sql::UPDATE_SERVICE,
    sql::READ_EXECUTION,
    sql::READ_EXECUTION_PLACE,
    sql::READ_UNFINISHED,
    sql::READ_EXECUTIONS_OF_SERVICE,
    sql::READ_KEY_AT,
    sql::COUNT_ACCEPTED,
    sql::READ_INTENT_OWNER,
    sql::INSERT_EXECUTION,
    sql::UPDATE_EXECUTION,
    sql::READ_DOCUMENT,
    sql::PUT_DOCUMENT,
    sql::READ_EVENTS,
    sql::READ_EVENTS_NEWEST_FIRST,
    sql::READ_STREAM,
    sql::READ_STREAM_NEWEST_FIRST,
    sql::READ_NEXT_STREAM,
    sql::READ_EVENT_HASH,
    sql::VERIFY_STREAM,
    sql::READ_BOUNDS,
    sql::READ_STREAMS_AFTER,
    sql::READ_PLACED,
    sql::READ_PLACED_BY_KEY,
    sql::INSERT_PLACED,
    sql::UPDATE_PLACED,
];

/// What is asked for as a whole: lists of everything, and `verify`.
const WALKING: [Statement; 7] = [
    sql::READ_SERVICES,
    sql::READ_ALL_UNFINISHED,
    sql::READ_EXECUTIONS,
    sql::READ_DOCUMENTS,
    sql::COUNT_EXECUTIONS,
    sql::READ_PLACEMENT,
    sql::READ_WHOLE_PLACEMENT,
];

/// These name no table.
const ABOUT_PARTS: usize = 3;

fn plan(raw: &rusqlite::Connection, statement: Statement) -> Vec<String> {
    let mut explain =
        raw.prepare(&format!("EXPLAIN QUERY PLAN {}", statement.text)).expect("a statement");
    let rows = explain.raw_query().mapped(|row| row.get("detail"));
    rows.collect::<Result<_, _>>().expect("a plan")
}

#[test]
fn no_statement_of_a_command_walks_a_table_or_sorts() {
    let world = World::new();
    let raw = raw(&world.path);
    for statement in SEARCHING {
        let plan = plan(&raw, statement);
        // A SELECT of nothing but sub-SELECTs walks one row that is no table's.
        let is_bad = |step: &String| {
            step.contains("TEMP B-TREE") || step.contains("SCAN") && !step.contains("CONSTANT ROW")
        };
        assert!(!plan.iter().any(is_bad), "{}: {plan:?}", statement.text);
    }
    for statement in WALKING {
        let plan = plan(&raw, statement);
        assert!(plan.iter().any(|step| step.contains("SCAN")), "{}: {plan:?}", statement.text);
    }
    assert!(!plan(&raw, sql::READ_ALL_UNFINISHED)[0].ends_with("execution"), "its small index");
    raw.execute_batch("DROP INDEX execution_intent").expect("dropped");
    let without = plan(&raw, sql::READ_INTENT_OWNER);
    assert!(without[0].contains("SCAN"), "a missing index is seen: {without:?}");
}

#[test]
fn every_statement_is_on_one_of_the_lists() {
    let all = include_str!("../statements.rs").matches(": Statement =").count();
    assert_eq!(all, SEARCHING.len() + WALKING.len() + ABOUT_PARTS);
}

#[test]
fn a_page_of_a_long_chain_reads_no_more_than_the_page() {
    let world = World::new();
    world.append("web", &[registered("web")]);
    world.append("web", &(0..40).map(|n| bound(10 + n)).collect::<Vec<_>>());
    let mut ledger = world.open();
    let read = ledger.read().expect("reads");
    for streams in [Vec::new(), vec![Stream::Service(id("web"))]] {
        let filter = EventFilter {
            streams,
            limit: Some(5),
            order: Order::NewestFirst,
            ..EventFilter::default()
        };
        let page = |wanted: &dyn Fn(i64) -> bool| {
            let looked_at = Cell::new(0);
            let found = read.events_where(&filter, &|event| {
                looked_at.set(looked_at.get() + 1);
                wanted(event.position.cast_signed())
            });
            let positions: Vec<u64> =
                found.expect("events").iter().map(|event| event.position).collect();
            (looked_at.get(), positions)
        };
        assert_eq!(page(&|_| true), (5, vec![42, 41, 40, 39, 38]));
        assert_eq!(page(&|position| position % 2 == 0), (9, vec![42, 40, 38, 36, 34]));
    }
}
