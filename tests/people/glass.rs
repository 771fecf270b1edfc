//! Broken glass: asked for at a terminal, said in the line elsewhere, durable before the call, used
//! once, and reviewed by somebody else.

use super::{TWO_PERSON, hold, two_persons};
use crate::support::terminal::Terminal;
use crate::support::{Ran, World};

const BREAK: &str = "scale web=2 --break-glass --incident INC-4711 --reason queue";
const YES: &str = "--yes --current-replicas 5";

fn kinds(world: &World) -> Vec<String> {
    let log = world.json("log web --no-refused --limit 1000").exits(0);
    let events = log.at("/events");
    events.as_array().unwrap().iter().map(|it| it["event"].as_str().unwrap().to_owned()).collect()
}

/// What the kernel does to the leader of a session whose terminal is gone.
fn hang_up(child: &std::process::Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
}

/// The name of the only authorization that waits for a review.
fn open_one(world: &World) -> String {
    let list = world.json("break-glass list").exits(0);
    let all = list.at("/authorizations");
    assert_eq!(all.as_array().unwrap().len(), 1, "{all:#}");
    all[0]["authorization"]["authorization_id"].as_str().unwrap().to_owned()
}

#[test]
fn without_a_terminal_the_line_says_it_or_nothing_is_written() {
    let world = two_persons(World::new());
    let before = world.events();
    let ran = world.json(BREAK).exits(2);
    assert_eq!(ran.at("/error/code"), "confirmation_needed");
    assert_eq!((ran.at("/recorded"), ran.at("/applied")), ("no".into(), "no".into()));
    assert!(ran.stderr.contains("--yes --current-replicas 5"), "{ran:#?}");
    // Also where the target was not read for long, and has moved.
    std::fs::write(world.fake_dir().join("count"), "7\n").unwrap();
    std::fs::write(world.fake_dir().join("version"), "9\n").unwrap();
    world.json(BREAK).exits(2);
    world.run(&format!("{BREAK} --yes")).exits(2);
    assert_eq!(world.events(), before, "nothing is written");
    // Who believes something else is told what runs.
    let moved = world.json(&format!("{BREAK} {YES}")).exits(10);
    assert_eq!(moved.at("/error/code"), "premise_moved");
    assert_eq!((moved.at("/error/expected"), moved.at("/error/actual")), (5.into(), 7.into()));
    world.run("break-glass list --check").exits(0);
    assert_eq!(world.fake_log("effects").len(), 1);
}

/// A signal while the target is read ends the line; it is no target that could not be read.
#[test]
fn whoever_is_asked_to_end_gives_no_authorization() {
    let world = two_persons(World::new());
    let before = world.events();
    std::fs::write(world.fake_dir().join("on-inspect"), "touch asked\nsleep 20\n").unwrap();
    let mut child = world.start("break-glass authorize web=3 --incident INC-1 --reason r");
    world.until("the target is read", || world.fake_dir().join("asked").exists());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(world.events(), before);
    world.run("break-glass list --check").exits(0);
}

#[test]
fn what_broke_the_glass_is_durable_before_it_is_used_and_once() {
    let world = two_persons(World::new());
    let before = kinds(&world).len();
    world.run(&format!("{BREAK} {YES} --key night")).exits(0);
    let seen = kinds(&world)[before..].join(" ");
    let order = "authorization_granted intent_accepted authorization_used";
    let mut from = 0;
    for word in order.split(' ').chain(["attempt_started", "result_recorded"]) {
        let at = seen[from..].find(word).unwrap_or_else(|| panic!("no {word} then: {seen}"));
        from += at;
    }
    // The use is in the very transaction of the start.
    let log = world.json("log web --limit 1000").exits(0);
    let events = log.at("/events");
    let command = |kind: &str| {
        let found = events.as_array().unwrap().iter().rfind(|event| event["event"] == kind);
        found.unwrap()["command_id"].clone()
    };
    assert_eq!(command("authorization_used"), command("attempt_started"));
    let id = open_one(&world);
    // It was for one count, and is used up.
    let again = format!("scale web=2 --break-glass {id} --key other --reason again");
    std::fs::write(world.fake_dir().join("count"), "5\n").unwrap();
    std::fs::write(world.fake_dir().join("version"), "77\n").unwrap();
    assert_eq!(world.json(&again).exits(12).at("/error/code"), "not_authorized");
    let other = format!("scale web=1 --break-glass {id} --key third --reason again");
    assert_eq!(world.json(&other).exits(12).at("/error/code"), "not_authorized");
    assert_eq!(world.fake_log("effects").len(), 2);
    world.run("verify").exits(0);
}

fn granted(world: &World) -> usize {
    kinds(world).iter().filter(|kind| *kind == "authorization_granted").count()
}

/// The same line with a key goes on where it was left, and never breaks the glass a second time:
/// killed at each of its commits. None of them is between the authorization and the wish.
#[test]
fn the_same_line_with_a_key_breaks_no_second_glass() {
    let line = format!("{BREAK} {YES} --key night");
    let mut broken = 0;
    for commit in 1..=4 {
        let mut world = two_persons(World::new());
        world.set("SCALECTL_TEST_CRASH", format!("after_commit#{commit}"));
        let killed = world.run(&line);
        assert_eq!(killed.code, None, "{killed:#?}");
        world.unset("SCALECTL_TEST_CRASH");
        world.await_no_children();
        let has_wished = world.run("intent show night").code != Some(24);
        assert_eq!(granted(&world) == 1, has_wished, "{commit}: {:?}", kinds(&world));
        broken += usize::from(has_wished);
        world.run(&line);
        world.run("replay night --wait");
        world.run(&line).exits(0);
        assert_eq!(granted(&world), 1, "{commit}: {:?}", kinds(&world));
        let id = open_one(&world);
        world.run(&line).exits(0);
        assert_eq!((granted(&world), open_one(&world)), (1, id));
        assert_eq!(world.fake_log("effects").len(), 2, "{commit}");
    }
    assert!(broken > 0, "it was never killed after the wish");
}

#[test]
fn what_was_broken_is_listed_until_somebody_else_has_reviewed_it() {
    let mut world = two_persons(World::new());
    world.run(&format!("{BREAK} {YES}")).exits(0);
    let listed = world.json("break-glass list --check").exits(26);
    assert_eq!(listed.at("/error/code"), "unreviewed");
    let id = open_one(&world);
    let own = world.json(&format!("break-glass review {id} --reason fine")).exits(12);
    assert_eq!(own.at("/error/code"), "same_reviewer");
    world.be("lead:1002");
    world.run(&format!("break-glass review {id} --reason fine")).exits(0);
    world.run("break-glass list --check").exits(0);
    let told = world.json(&format!("break-glass show {id}")).exits(0);
    assert_eq!(told.at("/authorization/review/reason"), "fine");
    world.run("verify").exits(0);
}

#[test]
fn a_bound_is_raised_on_purpose_or_holds() {
    let world = two_persons(World::new());
    let line = "scale web=20 --break-glass --incident INC-1 --reason queue --yes \
                --current-replicas 5";
    let before = world.events();
    let refused = world.json(line).exits(2);
    assert_eq!(refused.at("/error/code"), "out_of_bounds");
    assert!(refused.stderr.contains("--raise-max"), "{refused:#?}");
    assert_eq!(world.events(), before);
    world.run(&format!("{line} --raise-max")).exits(0);
    assert_eq!(world.json("service show web").at("/service/max_replicas"), 20);
    let list = world.json("break-glass list").exits(0);
    assert_eq!(list.at("/authorizations/0/authorization/raises_max_to"), 20);
}

/// A person types the name of the service; anything else, and Ctrl-C, changes nothing.
#[test]
fn at_a_terminal_the_name_of_the_service_is_typed() {
    let world = two_persons(World::new());
    for (typed, code) in [("yes", 2), ("web2", 2), ("", 2), ("\u{3}", 130)] {
        let mut terminal = Terminal::start(&world, None, BREAK);
        let shown = terminal.await_text("Type web to go on: ");
        for part in ["BREAK GLASS", "5 → 2", "passes", "never passes", "unsigned"] {
            assert!(shown.contains(part), "no {part:?} in {shown}");
        }
        if typed == "\u{3}" {
            terminal.press(3);
        } else {
            terminal.type_line(typed);
        }
        assert_eq!(terminal.code(), Some(code), "{typed:?}");
    }
    world.run("break-glass list --check").exits(0);
    assert_eq!(world.fake_log("effects").len(), 1);
    let mut terminal = Terminal::start(&world, None, BREAK);
    terminal.await_text("Type web to go on: ");
    terminal.type_line("web");
    let shown = terminal.await_text("verified");
    assert!(shown.contains("is durable"), "{shown}");
    assert_eq!(terminal.code(), Some(0));
    assert_eq!(world.fake_log("effects").len(), 2);
}

/// What is passed is told by its rule and its time, before anybody types.
#[test]
fn at_a_terminal_it_is_told_what_stands_in_the_way() {
    let world = two_persons(World::new());
    let asked = |line: &str| {
        let mut terminal = Terminal::start(&world, None, line);
        let shown = terminal.await_text("Type web to go on: ");
        terminal.press(3);
        assert_eq!(terminal.code(), Some(130));
        let told = shown.lines().map(str::trim).filter_map(|line| line.strip_prefix("in the way"));
        told.map(|way| way.trim().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(asked(BREAK), ["no rule permits scale_down, so a colleague must agree"]);
    let up = BREAK.replace("web=2", "web=7");
    assert_eq!(asked(&up), ["nothing: the wish needs no broken glass"]);
    hold(
        &world,
        &format!(
            "{TWO_PERSON}\n@id(\"all\") permit (principal, action, resource);\n\
             @id(\"up-to-5\")\nforbid (principal, action == Action::\"scale_up\", resource);"
        ),
    );
    world.run("service put web --cooldown 1h").exits(0);
    let [cools, rule] = &asked(&up)[..] else { panic!("{:?}", asked(&up)) };
    assert!(cools.starts_with("it cools until 20") && cools.ends_with('Z'), "{cools}");
    assert!(rule.starts_with("rule \"up-to-5\" (rules.cedar:"), "{rule}");
    assert!(rule.ends_with(") forbids scale_up"), "{rule}");
    world.run("hold set web --until 1h --reason upgrade").exits(0);
    let ways = asked(&up);
    assert!(ways[1].contains(" holds it until ") && ways[1].ends_with(": upgrade"), "{ways:?}");
}

/// The line drops while the prompt waits: nothing was done.
#[test]
fn a_line_that_drops_at_the_prompt_leaves_nothing() {
    let world = two_persons(World::new());
    let Terminal { keyboard, screen, mut child } = {
        let terminal = Terminal::start(&world, None, BREAK);
        terminal.await_text("Type web to go on: ");
        terminal
    };
    drop(screen);
    hang_up(&child);
    drop(keyboard);
    assert_eq!(child.wait().unwrap().code(), Some(129));
    world.await_no_children();
    world.run("break-glass list --check").exits(0);
    assert_eq!(world.fake_log("effects").len(), 1);
}

/// The line drops while the call is made: what became of it is recorded or found out, it happens
/// once, and the review knows of it.
#[test]
fn a_line_that_drops_in_the_middle_is_finished_and_recorded() {
    let world = two_persons(World::new());
    world.script(&["ok", "late 1"]);
    let mut terminal = Terminal::start(&world, None, &format!("{BREAK} --key night"));
    terminal.await_text("Type web to go on: ");
    terminal.type_line("web");
    world.until("the call is made", || world.fake_log("calls").len() == 2);
    let Terminal { keyboard, screen, mut child } = terminal;
    drop(screen);
    hang_up(&child);
    drop(keyboard);
    assert_eq!(child.wait().unwrap().code(), Some(129));
    world.await_no_children();
    let replayed = world.run("replay night --wait");
    let shown = world.json("intent show night").exits(0);
    let outcome = shown.at("/execution/outcome");
    assert!(outcome == "converged" || replayed.code == Some(18), "{replayed:#?} {shown:#?}");
    world.run(&format!("{BREAK} {YES} --key night")).exits(0);
    assert_eq!(world.fake_log("effects").len(), 2, "{:?}", world.fake_log("calls"));
    assert_eq!(kinds(&world).iter().filter(|it| *it == "authorization_granted").count(), 1);
    world.run("break-glass list --check").exits(26);
    world.run("verify").exits(0);
}

/// The wedge of the worst hour: somebody else keeps changing the count, so the last success is
/// never confirmed. It holds nobody up.
#[test]
fn an_unconfirmed_success_is_no_wedge() {
    let world = two_persons(World::new());
    world.run("service put web --readings 3").exits(0);
    world.write("fake/on-inspect", "echo 9 >count; echo 1$$ >version\n");
    world.script(&["ok", "ok", "ok"]);
    let first = world.run("scale web=9 --key first --reason up --timeout 1s --supersede");
    assert!(first.code.is_some(), "{first:#?}");
    world.write("fake/on-inspect", "echo 7 >count; echo 2$$ >version\n");
    let line = "scale web=6 --break-glass --incident INC-1 --reason night --key night --yes \
                --current-replicas 7 --timeout 1s --supersede";
    let ran = world.json(line);
    assert!(world.fake_log("calls").iter().any(|call| call.starts_with("night ")), "{ran:#?}");
    world.run("verify").exits(0);
}

#[test]
fn an_unknown_outcome_is_settled_under_an_authorization() {
    let world = two_persons(World::new());
    let no_settle = super::TWO_PERSON.replace(", Action::\"settle\"", "");
    hold(&world, &no_settle);
    world.script(&["ok", "unknown"]);
    std::fs::write(world.fake_dir().join("lookup-unknown"), "").unwrap();
    world.run("service put web --on-unknown halt").exits(0);
    world.run("scale web=8 --key up --reason r --timeout 5s").exits(16);
    let denied = world.json("settle up --applied --reason seen").exits(12);
    assert_eq!(denied.at("/error/code"), "denied");
    let none = world.json("settle up --applied --break-glass bg-none --reason seen").exits(12);
    assert_eq!(none.at("/error/code"), "not_authorized");
    // One for another count does not settle it.
    let authorize = |count: u32| {
        let line = format!("break-glass authorize web={count} --incident INC-1 --reason night");
        let ran = world.json(&line).exits(0);
        ran.at("/authorization/authorization/authorization_id").as_str().unwrap().to_owned()
    };
    let other = authorize(3);
    let line = format!("settle up --applied --break-glass {other} --reason seen");
    assert_eq!(world.json(&line).exits(12).at("/error/code"), "not_authorized");
    let id = authorize(8);
    world.run(&format!("settle up --applied --break-glass {id} --reason seen")).exits(0);
    let log = world.json("log web --event authorization_used").exits(0);
    assert_eq!(log.at("/events/0/body/authorization_id"), id);
    assert_eq!(log.at("/events/0/execution_key"), "up");
    let settled = world.json("log web --event result_recorded").exits(0);
    let events = settled.at("/events");
    let last = events.as_array().unwrap().last().unwrap();
    assert_eq!(last["command_id"], log.at("/events/0/command_id"), "in one transaction");
    assert_eq!(world.fake_log("effects").len(), 2);
    world.run("verify").exits(0);
}

/// Under the key of a wish that waits without one, a broken glass would pass nothing.
#[test]
fn a_glass_is_broken_for_a_wish_of_its_own() {
    let pasted = |world: &World, ran: &Ran| {
        let lines: Vec<Vec<String>> = serde_json::from_value(ran.at("/error/next")).unwrap();
        world.run_args(&lines[0][1..].iter().map(String::as_str).collect::<Vec<_>>())
    };
    // What waits for a colleague, of one's own and of another's.
    for who in ["ci:1001", "dora:1004"] {
        let mut world = two_persons(World::new());
        world.run("scale web=2 --key k1 --reason queue").exits(13);
        world.be(who);
        let before = world.events();
        for line in [format!("{BREAK} {YES} --key k1"), format!("{BREAK} {YES} --key=k1 --dry-run")]
        {
            let ran = world.json(&line).exits(10);
            assert_eq!(ran.at("/error/code"), "key_conflict");
            assert!(
                ran.stderr.contains("web@2, which is proposed and breaks no glass"),
                "{ran:#?}"
            );
        }
        assert_eq!(world.events(), before, "nothing is written");
        let ran = world.json(&format!("{BREAK} {YES} --key k1")).exits(10);
        pasted(&world, &ran).exits(0);
        assert_eq!(world.json("intent show k1").at("/execution/state"), "superseded");
        assert_eq!(world.fake_log("effects").len(), 2);
    }
    // What was accepted, and is held.
    let mut world = two_persons(World::new());
    world.run("intent put web --replicas 7 --key k1 --reason r").exits(0);
    hold(&world, &format!("{TWO_PERSON}@id(\"all\") permit (principal, action, resource);"));
    world.run("hold set web --until 1h --reason x").exits(0);
    let line = "scale web=7 --key k1 --reason r";
    world.run(line).exits(12);
    let ran = world.json(&format!("{line} --break-glass --incident I-1 {YES}")).exits(10);
    assert!(ran.stderr.contains("which is accepted and breaks no glass"), "{ran:#?}");
    pasted(&world, &ran).exits(0);
    // The same line again, of a wish that was made under one, is a replay of that.
    let own = "scale web=8 --key k9 --reason r --break-glass --incident I-2 --yes";
    world.set("SCALECTL_TEST_CRASH", "after_call_file");
    world.run(&format!("{own} --current-replicas 7"));
    world.unset("SCALECTL_TEST_CRASH");
    assert_eq!(world.json("intent show k9").at("/execution/state"), "accepted");
    world.run(&format!("{own} --current-replicas 7")).exits(0);
}
