//! `timeline`: the course of a count, at a terminal, in JSON and as a page in a real browser.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod browser;
mod page;

use crate::support::{SERVICE, World};
use crate::surface::hold_committed;

/// What a hostile colleague gives as a reason.
pub(crate) const HOSTILE: &str = "</td><script>document.title='owned'</script><img src=x \
                                  onerror=\"document.title='owned'\">&amp;\u{202e}\u{1b}[2J\n'\"";

/// A day of `web`: a shrink, a refusal, a count that somebody else changed, an outcome that nobody
/// knew, and broken glass. It is told at 23:50.
pub(crate) fn day() -> World {
    let mut world = World::new();
    world.set("SCALECTL_TEST_HOST_NAME", "bastion-1");
    world.still("2026-11-23T20:00:00Z");
    // On a server the ledger is nobody's own.
    world.init_fake();
    world.be("sre:1001");
    let rules = "@id(\"anything\") permit(principal, action, resource);\n@id(\"no-zero-in-hours\") \
                 forbid(principal, action == Action::\"scale_to_zero\", resource);\n";
    world.write("rules.cedar", rules);
    world.run("policy put rules.cedar --reason test").exits(0);
    let service = SERVICE.replace("--max 10", "--max 20");
    world.run(&format!("{service} --backoff 0s")).exits(0);
    world.run("scale web=5 --reason launch --key launch --actor sre").exits(0);
    at(&mut world, "09:14:02.113", "sre:1001");
    world
        .run_args(&[
            "scale",
            "web=3",
            "--reason",
            "night shrink",
            "--key",
            "shrink",
            "--ref",
            "CHG-88",
            "--actor",
            "sre",
        ])
        .exits(0);
    at(&mut world, "11:40:10.004", "ops2:1002");
    world.run("scale web=0 --reason quiet --key zero --actor ops2").exits(12);
    at(&mut world, "13:00:00", "sre:1001");
    std::fs::write(world.fake_dir().join("count"), "7\n").unwrap();
    world.run("service bind web").exits(0);
    at(&mut world, "14:30:00", "sre:1001");
    std::fs::write(world.fake_dir().join("count"), "3\n").unwrap();
    world.run("service bind web").exits(0);
    at(&mut world, "16:00:00", "ci:1003");
    world.script(&["ok", "ok", "unknown"]);
    world.run("intent put web --replicas 9 --reason load --key load --actor ci").exits(0);
    world.run("actuate load --actor ci").exits(16);
    at(&mut world, "17:30:00", "sre:1001");
    world.run("replay load --wait --timeout 20s --actor sre").exits(0);
    at(&mut world, "23:40:41.220", "oncall:1004");
    world
        .run_args(&[
            "scale",
            "web=20",
            "--break-glass",
            "--incident",
            "INC-4711",
            "--yes",
            "--current-replicas",
            "9",
            "--key",
            "queue",
            "--actor",
            "oncall",
            "--reason",
            "queue is backing up",
        ])
        .exits(0);
    at(&mut world, "23:50:00", "sre:1001");
    world
}

fn at(world: &mut World, time: &str, who: &str) {
    world.still(&format!("2026-11-24T{time}Z"));
    world.be(who);
}

/// What differs from world to world in a list: names that are minted.
fn told(text: &str) -> String {
    let minted = regex::Regex::new("bg-[0-9a-f]{8}").unwrap();
    minted.replace_all(text, "bg-xxxxxxxx").into_owned()
}

#[test]
fn a_day_is_drawn_at_80_and_at_120_columns_and_in_ascii() {
    let world = day();
    let mut shown = String::new();
    for line in [
        "timeline web --on 2026-11-24 --width 80",
        "timeline web --on 2026-11-24 --width 120",
        "timeline web --on 2026-11-24 --width 80 --ascii",
        "timeline web --on 2026-11-24 --width 60 --ascii",
        "timeline web --on 2026-11-24",
        "timeline web --on 2026-11-25 --zone Asia/Tokyo",
        "timeline web --since 2026-11-24T23:30:00Z",
        "timeline web --since 2026-11-17 --until 2026-11-25",
    ] {
        let ran = world.run(line).exits(0);
        let width = line.split("--width ").nth(1).map(|rest| rest.split(' ').next().unwrap());
        if let Some(width) = width {
            let width: usize = width.parse().unwrap();
            let wide = ran.stdout.lines().find(|line| line.chars().count() > width);
            assert_eq!(wide, None, "wider than {width}");
        }
        if line.contains("--ascii") {
            assert!(ran.stdout.is_ascii(), "{ran:#?}");
        }
        shown.extend(["$ scalectl ", line, "\n", &told(&ran.stdout), "\n"]);
    }
    hold_committed("fixtures/texts/timeline.txt", &shown);
}

#[test]
fn the_steps_are_told_to_machines() {
    let world = day();
    let ran = world.json("timeline web --on 2026-11-24").exits(0);
    assert_eq!(ran.at("/recorded"), "no");
    let of = |member: &str| ran.at(&format!("/timeline/{member}")).as_array().unwrap().clone();
    let wished: Vec<u64> =
        of("wished").iter().map(|level| level["replicas"].as_u64().unwrap()).collect();
    assert_eq!(wished, [5, 3, 9, 20]);
    let differs = of("differs");
    assert_eq!(differs.len(), 1, "{differs:#?}");
    assert_eq!(differs[0]["from"], "2026-11-24T13:00:00Z");
    assert_eq!(differs[0]["until"], "2026-11-24T14:30:00Z");
    assert_eq!(differs[0]["replicas"], 7);
    let unknown = of("unknown");
    assert_eq!(unknown.len(), 1, "{unknown:#?}");
    assert_eq!(unknown[0]["from"], "2026-11-24T16:00:00Z");
    assert_eq!(unknown[0]["until"], "2026-11-24T17:30:00Z");
    let intents = of("intents");
    let numbers: Vec<u64> =
        intents.iter().map(|story| story["intent_revision"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [2, 3, 4], "what was over before the day is not told");
    assert_eq!(intents[0]["decision"]["rules"][0]["id"], "anything");
    assert!(intents[2]["authorization_id"].is_string());
    let refusals = of("refusals");
    assert_eq!((refusals.len(), &refusals[0]["code"]), (1, &"denied".into()));
    let glass = of("broken_glass");
    assert_eq!((glass.len(), &glass[0]["incident"]), (1, &"INC-4711".into()));
    assert_eq!(glass[0]["review"], serde_json::Value::Null);
    // The heads are those that verify prints.
    let heads = world.json("verify").exits(0).at("/heads");
    for head in of("heads") {
        assert!(heads.as_array().unwrap().contains(&head), "{head} is not in {heads:#}");
    }
    assert_eq!(
        world.run("timeline web --on 2026-11-24 -o name").exits(0).stdout,
        "web@2\nweb@3\nweb@4\n"
    );
}

#[test]
fn a_proposal_is_no_wish_until_it_is_accepted_and_a_withdrawn_one_is_none_again() {
    let mut world = World::new();
    world.still("2026-11-24T10:00:00Z");
    world.init_fake();
    world.run(&format!("{SERVICE} --backoff 0s")).exits(0);
    world.run("scale web=4 --key k1 --reason r --timeout 20s").exits(0);
    world.still("2026-11-24T11:00:00Z");
    world.run("intent put web --replicas 6 --reason r --key k2").exits(0);
    world.still("2026-11-24T12:00:00Z");
    world.run("intent withdraw k2").exits(0);
    world.still("2026-11-24T13:00:00Z");
    world.run("intent put web --replicas 8 --reason r --key k3 --dry-run").exits(0);
    world.still("2026-11-24T13:30:00Z");
    let ran = world.json("timeline web --on 2026-11-24").exits(0);
    let wished: Vec<_> = ran.at("/timeline/wished").as_array().unwrap().clone();
    let wished: Vec<(u64, String)> = wished
        .iter()
        .map(|it| (it["replicas"].as_u64().unwrap(), it["at"].as_str().unwrap().to_owned()))
        .collect();
    let expected = [(4, "10"), (6, "11"), (4, "12")];
    let expected: Vec<(u64, String)> =
        expected.map(|(count, hour)| (count, format!("2026-11-24T{hour}:00:00Z"))).into();
    assert_eq!(wished, expected);
    let later = world.json("timeline web --since 2026-11-24T12:30:00Z").exits(0);
    assert_eq!(later.at("/timeline/wished").as_array().unwrap().len(), 1, "{later:#?}");
    assert_eq!(later.at("/timeline/intents/0/dry_run"), true);
}

#[test]
fn what_cannot_be_drawn_says_so() {
    let world = World::with_fake();
    for (line, code, exit) in [
        ("timeline nowhere", "service_not_found", 24),
        ("timeline web --width 39", "usage", 2),
        ("timeline web --width 401", "usage", 2),
        ("timeline web --on 2026-13-01", "invalid_time", 2),
        ("timeline web --on today --since 3h", "usage", 2),
        ("timeline web --since now", "invalid_time", 2),
        ("timeline web --since 1h --until 2h", "invalid_time", 2),
        ("timeline web --zone Mars", "invalid_zone", 2),
        ("timeline web --html nowhere/t.html", "page_not_written", 2),
        ("timeline web --html -", "two_documents", 2),
    ] {
        let ran = world.json(line).exits(exit);
        assert_eq!(ran.at("/error/code"), code, "{line}: {ran:#?}");
    }
    let empty = world.run("timeline web --on 2001-01-01").exits(0).stdout;
    assert!(empty.contains("nothing happened"), "{empty}");
}
