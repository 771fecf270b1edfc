//! A refusal changes nothing: every row of every table is as it was, on either engine, and so is
//! the target. Only the stream of refusals may have grown, and only where the exit says so.

mod tables;

use std::collections::BTreeSet;

use super::crash::{in_parallel, told};
use super::support::{Ran, World};
use tables::tables;

const BEGIN: &str = "2026-01-05T10:00:00Z";
const SERVICE: &str = "service put web --actuator fake --writer ops --max 10 --quiet 0s \
                       --drain none --target-match replicas --backoff 1h";

/// Exits that leave a row in the stream of refusals.
const KEPT: &[i32] = &[12, 14, 15, 22];

/// A refusal: its code, its exit, the lines before it, and the line that is refused.
struct Row {
    code: &'static str,
    exit: i32,
    before: &'static [&'static str],
    line: &'static str,
}

const fn row(
    code: &'static str,
    exit: i32,
    before: &'static [&'static str],
    line: &'static str,
) -> Row {
    Row { code, exit, before, line }
}

const PUT: &str = "intent put web --replicas 3 --key k1 --reason r";
const PUT_2: &str = "intent put web --replicas 4 --key k2 --reason r";

const GRANT: &str = "approval grant web@1 --reason r";
// What was read last is of that instant: a reading that is new is recorded beside a refusal.
const AND_EXPIRED: &[&str] =
    &["proposed", "at 2026-01-07T10:00:00Z", "service bind web", "person bob:1002"];
const AND_MOVED: &[&str] = &["proposed", "counts 7", "service bind web", "person bob:1002"];
const REVIEW: &str = "break-glass review bg-1 --reason r";
const GLASS: &str = "break-glass authorize web=3 --incident INC-1 --reason r";
const SIGNED: &[&str] = &[
    "proposed",
    "keys ann",
    "ledger signers put signers --required --reason r",
    "keys bob",
    "person bob:1002",
];

/// `can WORDS`, `does WORDS`, `counts N`, `uid ID` and `at INSTANT` are about the fake and the
/// clock; `& LINE` is under way while the last line is refused. A `+` stands for `service put web`.
const ROWS: &[Row] = &[
    row("out_of_bounds", 2, &[], "intent put web --replicas 11 --key k1 --reason r"),
    row("fence_missing", 2, &["+ --fences external"], PUT),
    row(
        "fence_too_far",
        2,
        &[],
        "intent put web --replicas 3 --key k1 --reason r --fence 1.4294967297",
    ),
    row("contradiction", 2, &[], "service put web --min 9 --max 4"),
    row(
        "stale_revision",
        10,
        &[],
        "intent put web --replicas 3 --key k1 --reason r --expect-revision 5",
    ),
    row("stale_unit_revision", 10, &[], "service put web --max 9 --expect-revision 7"),
    row("key_conflict", 10, &[PUT], "intent put web --replicas 4 --key k1 --reason r"),
    row(
        "simulated_key",
        10,
        &["intent put web --replicas 3 --key k1 --reason r --dry-run"],
        "lease acquire k1",
    ),
    row("live_key", 10, &[PUT, "actuate k1"], "actuate k1 --simulate"),
    row("target_changed", 10, &[PUT, "counts 9"], "actuate k1"),
    row("premise_moved", 10, &[], "scale web=3 --key k1 --reason r --current-replicas 4"),
    row("others_intent", 10, &[PUT], "intent put web --replicas 4 --key k2 --reason r --actor bob"),
    row("wrong_state", 10, &[PUT], "intent abandon k1 --reason r"),
    row(
        "target_taken",
        10,
        &[],
        "service put api --actuator fake --workload web --max 9 --writer ops",
    ),
    row(
        "workload_taken",
        12,
        &["hold set web --until 1h --reason r", "uid another"],
        "service put api --actuator fake --workload web --max 9 --writer ops",
    ),
    row("ledger_exists", 10, &[], "init"),
    row("in_flight", 11, &[PUT, "does fail retryable busy", "actuate k1"], PUT_2),
    row("in_progress", 11, &[PUT, "does gate", "& actuate k1"], "actuate k1"),
    row(
        "held",
        11,
        &[PUT, "lease acquire k1", "+ --writer other"],
        "lease acquire k1 --controller other",
    ),
    row("not_writer", 11, &[PUT], "lease acquire k1 --controller other"),
    row(
        "fence_lost",
        11,
        &["intent put web --replicas 3 --key k1 --reason r --fence 4.1"],
        "intent put web --replicas 4 --key k2 --reason r --fence 3.9",
    ),
    row(
        "fence_expired",
        11,
        &[
            "intent put web --replicas 3 --key k1 --reason r --valid-for 1m",
            "at 2026-01-05T10:02:00Z",
        ],
        "actuate k1",
    ),
    row(
        "fence_too_short",
        11,
        &["intent put web --replicas 3 --key k1 --reason r --valid-for 2s"],
        "actuate k1",
    ),
    row("lease_lost", 11, &[PUT], "lease renew k1 --lease lease:none"),
    row("denied", 12, &["policy put no.cedar --reason r"], PUT),
    row("cooldown", 14, &["+ --cooldown 5m", PUT, "actuate k1"], PUT_2),
    row("outcome_unknown", 16, &["can nothing", "does die", PUT, "actuate k1"], "lease acquire k1"),
    row("retry_later", 18, &[PUT, "does fail retryable busy", "actuate k1"], "actuate k1"),
    row(
        "quiet_time",
        16,
        &["can nothing", "+ --quiet 60s --readings 1", "does die", PUT, "actuate k1"],
        "settle k1 --not-applied --reason r",
    ),
    row(
        "waits_behind",
        19,
        &[
            "can nothing",
            "does die",
            PUT,
            "actuate k1",
            "intent put web --replicas 4 --key k2 --reason r --queue",
        ],
        "actuate k2",
    ),
    row(
        "external_owner",
        22,
        &["service put hpa --mode external_hpa --writer ops --max 9 --cluster c --runtime r \
           --workload w --target-uid u --target-version 1"],
        "intent put hpa --replicas 3 --key k1 --reason r",
    ),
    row(
        "reading_differs",
        23,
        &["can inspect", "+ --on-unknown halt", "does die", PUT, "actuate k1", "counts 9"],
        "settle k1 --applied --reason r",
    ),
    row("service_not_found", 24, &[], "intent put nope --replicas 3 --key k1 --reason r"),
    row("key_not_found", 24, &[], "actuate nope"),
    row("actuator_not_found", 24, &[], "service put api --actuator nope --writer ops"),
    row("evidence_missing", 25, &["+ --drain required", "counts 9", "service bind web"], PUT),
    row("count_unknown", 25, &[PUT, "unreadable"], "actuate k1"),
    row(
        "cooldown_unknown",
        25,
        &["can nothing", "+ --cooldown 5m --readings 1", "does die", PUT, "actuate k1"],
        "intent put web --replicas 4 --key k2 --reason r --dry-run",
    ),
    row(
        "clock_skew",
        25,
        &["at 2026-01-05T11:00:00Z", PUT, "at 2026-01-05T10:00:00Z"],
        "intent withdraw k1",
    ),
    row("on_hold", 12, &["hold set web --until 1h --reason r"], PUT),
    row(
        "pinned",
        12,
        &["override set web=3 --until 1h --key k1 --reason r"],
        "service retire web --reason r",
    ),
    row("service_retired", 24, &["service retire web --reason r"], PUT),
    row(
        "still_owned",
        22,
        &["service mode web external_hpa --reason r", "owners [\"HorizontalPodAutoscaler a/b\"]"],
        "service mode web native --reason r",
    ),
    row(
        "owners_unknown",
        25,
        &["service mode web external_hpa --reason r", "owners [],\"owners_unread\":[\"X\"]"],
        "service mode web native --reason r",
    ),
    row("same_person", 12, &["proposed"], GRANT),
    row("approval_expired", 10, AND_EXPIRED, GRANT),
    row("approval_moved", 10, AND_MOVED, GRANT),
    row("authorization_not_found", 24, &[], "break-glass revoke bg-none --reason r"),
    row("not_authorized", 12, &[], "scale web=3 --key k1 --reason r --break-glass bg-none"),
    row("authorization_open", 10, &[GLASS], REVIEW),
    row("same_reviewer", 12, &[GLASS, "at 2026-01-05T12:00:00Z"], REVIEW),
    row("reviewed", 10, &[GLASS, "at 2026-01-05T12:00:00Z", "reviewed"], REVIEW),
    row("signature_refused", 12, SIGNED, "approval grant web@1 --reason r --sign-with bob"),
    row("signature_missing", 12, SIGNED, GRANT),
];

/// The refusals of the rules that no row has: what comes between two readings of one command, and
/// what is not there yet. `tests/rules/rejections.rs` has a row for each of them.
const NOT_HERE: [&str; 5] = [
    "approval_required",
    "intent_id_conflict",
    "mode_mismatch",
    "reading_missing",
    "target_recreated",
];

fn write_count(world: &World, count: &str) {
    world.write("fake/count", format!("{count}\n"));
}

/// The authorization that was given before, reviewed or not.
fn glass_of(world: &World) -> String {
    let all = world.run("break-glass list --all").stdout;
    let found = all.split_whitespace().find(|word| word.starts_with("bg-"));
    found.unwrap_or("bg-1").to_owned()
}

/// One line of what goes before; answers what is under way from then on.
fn prepare(world: &mut World, line: &str) -> Option<std::process::Child> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "can" => {
            let can = if rest == "nothing" { String::new() } else { format!("{rest}\n") };
            world.write("fake/capabilities", can);
            world.run("actuator check fake");
            register_fake(world);
        }
        "does" => world.script(&[rest]),
        "counts" => write_count(world, rest),
        "uid" => drop(world.write("fake/uid", format!("{rest}\n"))),
        "owners" => drop(world.write("fake/owners", format!("{rest}\n"))),
        "person" => world.be(rest),
        "proposed" => {
            world.run("policy put two.cedar --reason r").exits(0);
            world.run(PUT).exits(13);
        }
        "reviewed" => {
            world.be("bob:1002");
            let id = glass_of(world);
            world.run(&format!("break-glass review {id} --reason r")).exits(0);
            world.be_oneself();
        }
        "keys" => world.make_key(rest, if rest == "bob" { "others" } else { "signers" }),
        "at" => drop(world.still(rest)),
        "unreadable" => drop(world.write("fake/on-inspect", "exit 3\n")),
        "&" => {
            let child = world.start(rest);
            world.until("the call begins", || !world.fake_log("calls").is_empty());
            return Some(child);
        }
        _ => {
            let line = line.replace('+', "service put web");
            let ran = world.run(&line);
            assert!(ran.code.is_some_and(|code| [0, 16, 18].contains(&code)), "{ran:#?}");
        }
    }
    None
}

fn register_fake(world: &World) {
    let fake = super::support::fake_actuator();
    let fake = fake.to_str().expect("UTF-8");
    let words = ["actuator", "put", "fake", "--timeout", "5s", "--", "/bin/sh", fake];
    world.run_args(&words).exits(0);
}

fn world() -> World {
    let mut world = World::new();
    world.still(BEGIN);
    world.init_fake();
    world.write(
        "no.cedar",
        "@id(\"all\")\npermit(principal, action, resource);\n\
         @id(\"none\")\nforbid(principal, action == Action::\"scale_up\", resource);\n",
    );
    world.write(
        "two.cedar",
        "@id(\"two\")\npermit(principal, action, resource)\n\
         unless { action == Action::\"scale_up\" };\n",
    );
    world.run(SERVICE).exits(0);
    world
}

fn code_of(ran: &Ran) -> String {
    let (_, rest) = ran.stderr.split_once("error[").unwrap_or_default();
    rest.split(']').next().unwrap_or_default().to_owned()
}

fn check(row: &Row) {
    let mut world = world();
    let before = row.before.iter();
    let under_way: Vec<_> = before.filter_map(|line| prepare(&mut world, line)).collect();
    let logs = |world: &World| (world.fake_log("calls"), world.fake_log("effects"));
    let (rows, called) = (tables(&world), logs(&world));
    let glass = glass_of(&world);
    let ran = world.run(&row.line.replace("bg-1", &glass));
    let (now, called_now) = (tables(&world), logs(&world));
    world.write("fake/go", "");
    for mut child in under_way {
        child.wait().expect("it ends");
    }
    assert_eq!((code_of(&ran).as_str(), ran.code), (row.code, Some(row.exit)), "{ran:#?}");
    assert_eq!(called, called_now, "the target was touched");
    for (name, rows) in &rows {
        if name == "refusals" {
            let more = now[name].len() - rows.len();
            assert_eq!(more, usize::from(KEPT.contains(&row.exit)), "{:#?}", now[name]);
            assert!(rows.iter().all(|row| now[name].contains(row)), "an old refusal changed");
        } else {
            assert_eq!(now[name], *rows, "{name} has changed");
        }
    }
    assert_eq!(now.len(), rows.len(), "another table");
}

#[test]
fn a_refusal_leaves_every_row_of_every_table_as_it_was() {
    let failed: Vec<String> = in_parallel(ROWS.iter().collect(), |row| {
        told(&format!("{}: {}", row.code, row.line), || check(row))
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(failed.is_empty(), "{} rows failed:\n{}", failed.len(), failed.join("\n"));
}

/// Whatever the rules can refuse has a row, or its name is among those that cannot have one.
#[test]
fn every_refusal_of_the_rules_has_a_row() {
    let here: BTreeSet<&str> = ROWS.iter().map(|row| row.code).chain(NOT_HERE).collect();
    let source = include_str!("../src/domain/scale/rejection.rs");
    let (_, codes) = source.split_once("pub const fn code(").expect("the codes");
    let known: BTreeSet<&str> = codes.split('"').skip(1).step_by(2).collect();
    assert!(known.len() > 35, "{known:?}");
    assert_eq!(known.difference(&here).collect::<Vec<_>>(), Vec::<&&str>::new());
    assert!(ROWS.iter().all(|row| !NOT_HERE.contains(&row.code)));
}

/// What is compared tells of a change in every table.
#[test]
fn a_change_of_any_table_is_seen() {
    let mut world = world();
    prepare(&mut world, PUT);
    let before = tables(&world);
    for (table, column) in [
        ("ledger", "incarnation"),
        ("service", "version"),
        ("execution", "version"),
        ("document", "version"),
    ] {
        let sql = format!("UPDATE {table} SET {column} = {column} + 1");
        if world.is_on_postgres() {
            world.sql(&sql);
        } else {
            let connection = rusqlite::Connection::open(world.ledger()).expect("a database");
            connection.execute(&sql, []).expect("changed");
        }
        let now = tables(&world);
        let changed: Vec<_> = before.keys().filter(|name| now[*name] != before[*name]).collect();
        assert!(changed.iter().any(|name| *name == table), "{table}: {changed:?}");
    }
    let events = before["event"].len();
    let mut other = self::world();
    prepare(&mut other, PUT);
    prepare(&mut other, "intent withdraw k1");
    assert_eq!(tables(&other)["event"].len(), events + 1);
}
