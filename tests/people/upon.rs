//! What stands upon a service beside its wishes is told where people look, with the line that ends
//! it: holds, overrides, declared counts, proposals, broken glass.

use super::{hold, two_persons};
use crate::support::{Ran, World};

/// A fact of the first service, with the words of its line.
fn fact(ran: &Ran, pointer: &str, name: &str) -> (String, String) {
    let facts = ran.at(pointer);
    let found = facts.as_array().unwrap().iter().find(|it| it["fact"] == name);
    let found = found.unwrap_or_else(|| panic!("no {name}: {facts:#}"));
    let next: Vec<String> = serde_json::from_value(found["next"].clone()).unwrap_or_default();
    (found["text"].as_str().unwrap().to_owned(), next.join(" "))
}

#[test]
fn what_is_laid_upon_a_service_is_told_with_the_line_that_ends_it() {
    let world = World::with_fake();
    world.run("override set web=4 --until 3h --reason sale").exits(0);
    world.run("hold set web --until 2h --reason upgrade").exits(0);
    let status = world.json("status").exits(0);
    assert_eq!(status.at("/services/0/kept"), "held, pinned 4");
    assert_eq!(status.at("/services/0/hold/reason"), "upgrade");
    assert_eq!(status.at("/services/0/override/replicas"), 4);
    let shown = world.run("status").exits(0).stdout;
    for line in [
        "scalectl hold lift web --reason TEXT",
        "scalectl override clear web --reason TEXT",
        ": upgrade",
        ": sale",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    for (line, pointer) in [
        ("status web", "/services/0/facts"),
        ("explain web", "/facts"),
        ("service show web", "/facts"),
    ] {
        let ran = world.json(line).exits(0);
        let (text, next) = fact(&ran, pointer, "held");
        assert!(text.starts_with("until ") && text.ends_with(": upgrade"), "{text}");
        assert_eq!(next, "scalectl hold lift web --reason TEXT");
        let (text, next) = fact(&ran, pointer, "pinned");
        assert!(text.starts_with("at 4 until ") && text.ends_with(": sale"), "{text}");
        assert_eq!(next, "scalectl override clear web --reason TEXT");
        let (text, _) = fact(&ran, pointer, "count kept");
        let held = "while it is held, nothing but a broken glass moves it";
        assert_eq!(text, format!("static, none declared: {held}"));
        // For people the same.
        let shown = world.run(line).exits(0).stdout;
        assert!(shown.contains("→ scalectl hold lift web --reason TEXT"), "{shown}");
    }
    let explained = world.json("explain web").exits(0);
    assert!(explained.stdout.contains("override set: a person has pinned"), "{explained:#?}");
    // The lines do what they say.
    world.run("hold lift web --reason TEXT").exits(0);
    let kept = |world: &World| fact(&world.json("explain web").exits(0), "/facts", "count kept").0;
    let pinned = "while it is pinned, reconcile brings it back to 4";
    assert_eq!(kept(&world), format!("static, none declared: {pinned}"));
    world.run("override clear web --reason TEXT").exits(0);
    assert_eq!(world.json("status").at("/services/0/kept"), serde_json::Value::Null);
    assert_eq!(kept(&world), "static, none declared: only a wish moves it");
}

/// Taken back after its use, it is still told as used: somebody has to look at what was done.
#[test]
fn a_used_glass_that_is_taken_back_is_still_a_used_one() {
    let world = two_persons(World::new());
    let glass = "--break-glass --incident I-1 --yes --current-replicas 5";
    world.run(&format!("scale web=7 {glass} --reason r --timeout 20s")).exits(0);
    let id = world.run("break-glass list -o name").exits(0).stdout.trim().to_owned();
    let line = format!("break-glass revoke {id} --reason r");
    for (line, said) in [
        (line.as_str(), "1 wish was carried out under it before"),
        (line.as_str(), "1 wish was carried out under it before"),
        ("status web", "it was taken back, after 1 use"),
        (&format!("break-glass show {id}"), "it was taken back, after 1 use"),
    ] {
        let ran = world.run(line).exits(0);
        assert!(ran.stdout.contains(said), "{ran:#?}");
    }
    let listed = world.run("break-glass list").exits(0).stdout;
    let row = listed.lines().find(|line| line.starts_with(&id)).unwrap();
    assert!(row.contains(" used "), "{listed}");
    // One that nobody has used is only taken back.
    world.run("break-glass authorize web=8 --incident I-2 --reason r").exits(0);
    let ids = world.run("break-glass list -o name").exits(0).stdout;
    let unused = ids.lines().find(|it| *it != id).unwrap();
    let ran = world.run(&format!("break-glass revoke {unused} --reason r")).exits(0);
    assert!(!ran.stdout.contains("carried out"), "{ran:#?}");
    let listed = world.run("break-glass list").exits(0).stdout;
    let row = listed.lines().find(|line| line.starts_with(unused)).unwrap();
    assert!(row.contains(" revoked "), "{listed}");
}

#[test]
fn a_declared_count_is_shown_wherever_a_service_is() {
    let world = World::with_fake();
    let ran = world.run("service put web --replicas 3").exits(0);
    let told = "static, 3 declared: reconcile brings it back to 3";
    assert!(ran.stdout.contains(told), "{ran:#?}");
    for (line, word) in [
        ("service list", "declared 3"),
        ("service show web", told),
        ("status", "declared 3"),
        ("status web", told),
    ] {
        let ran = world.run(line).exits(0);
        assert!(ran.stdout.contains(word), "{line}: {ran:#?}");
    }
    let ran = world.run("service put web --max 9").exits(0);
    assert!(!ran.stdout.contains("count kept"), "only a change of it is told: {ran:#?}");
    let ran = world.run("service put web --replicas none").exits(0);
    assert!(ran.stdout.contains("none declared: only a wish moves it"), "{ran:#?}");
}

#[test]
fn a_wish_that_ends_an_override_or_that_a_tick_moves_says_so() {
    let world = World::with_fake();
    let codes = |ran: &Ran| -> Vec<String> {
        let all = ran.at("/warnings");
        all.as_array().unwrap().iter().map(|it| it["code"].as_str().unwrap().to_owned()).collect()
    };
    world.run("scale web=2 --reason r").exits(0);
    world.run("override set web=4 --until 3h --reason sale").exits(0);
    let planned = world.json("plan web=3").exits(0);
    assert_eq!(codes(&planned), ["override_ended"]);
    // An override in place of another one ends none.
    let ran = world.json("override set web=5 --until 3h --reason more").exits(0);
    assert_eq!(codes(&ran), [""; 0]);
    let ran = world.json("scale web=3 --reason r").exits(0);
    assert_eq!(codes(&ran), ["override_ended"]);
    let text = ran.at("/warnings/0/message");
    let (told, line) = text.as_str().unwrap().split_once(" with: scalectl ").unwrap();
    assert!(told.starts_with("this ends the override of web, 5 until "), "{told}");
    assert!(line.starts_with("override set web=3 --until 20"), "{line}");
    // The line does what it says, and its end is the former one.
    world.run(line).exits(0);
    let until = world.json("status").at("/services/0/override/until");
    assert!(line.contains(until.as_str().unwrap()), "{line}: {until}");
    world.run("override clear web --reason r").exits(0);
    assert_eq!(codes(&world.json("scale web=4 --reason r").exits(0)), [""; 0]);

    world.run("service put web --replicas 4").exits(0);
    assert_eq!(codes(&world.json("plan web=4").exits(0)), [""; 0]);
    for line in
        ["plan web=6", "scale web=6 --reason r", "intent put web --replicas 5 --key k1 --reason r"]
    {
        assert_eq!(codes(&world.json(line).exits(0)), ["tick_moves_it"], "{line}");
    }
    let ran = world.run_with(
        "batch",
        b"{\"command\":[\"intent\",\"put\",\"web\",\"--replicas\",\"7\",\"--key\",\"k2\",\
          \"--reason\",\"r\"]}\n",
    );
    assert!(ran.stdout.contains("tick_moves_it"), "{ran:#?}");
    // Whoever pins it has said how long.
    world.run("intent withdraw k2").exits(0);
    let ran = world.json("override set web=7 --until 1h --reason r").exits(0);
    assert_eq!(codes(&ran), [""; 0]);
}

#[test]
fn broken_glass_that_is_over_needs_a_person_until_it_is_reviewed() {
    let mut world = two_persons(World::new());
    world.run("break-glass authorize web=2 --incident INC-1 --reason queue").exits(0);
    // It may still be used: nobody can review it yet.
    let status = world.run("status --check").exits(0);
    assert!(status.stdout.contains("scalectl break-glass show bg-"), "{status:#?}");
    let list = world.json("break-glass list").exits(0);
    let id = list.at("/authorizations/0/authorization/authorization_id");
    let id = id.as_str().unwrap();
    world.run(&format!("break-glass revoke {id} --reason enough")).exits(0);
    let status = world.json("status --check").exits(26);
    assert_eq!(status.at("/need_a_person/0"), format!("{id} (broken glass, not reviewed)"));
    assert_eq!(status.at("/services/0/unreviewed/0"), id);
    // Whoever broke it is not sent to review it.
    let told = |world: &World| {
        fact(&world.json("status web").exits(0), "/services/0/facts", "broken glass")
    };
    let (text, next) = told(&world);
    assert!(text.contains("and another person must review it"), "{text}");
    assert_eq!(next, format!("scalectl break-glass show {id}"));
    let ran = world.run(&format!("break-glass review {id} --reason seen")).exits(12);
    ran.says("must review it: another key, database role or OS user");
    world.be("ops2:1002");
    let (text, next) = told(&world);
    assert!(
        text.contains("for 2 by ci [INC-1], it was taken back, and nobody has reviewed it: queue"),
        "{text}"
    );
    assert_eq!(next, format!("scalectl break-glass review {id} --reason TEXT"));
    world.run(&format!("break-glass review {id} --reason seen")).exits(0);
    world.run("status --check").exits(0);
}

#[test]
fn a_proposal_is_explained_with_who_may_answer_it_and_until_when() {
    let world = two_persons(World::new());
    world.run("scale web=2 --key k1 --reason nightly").exits(13);
    let status = world.json("status").exits(0);
    assert_eq!(status.at("/services/1/next"), "scalectl approval show web@2");
    assert!(status.at("/services/1/proposed_until").is_string());
    let shown = world.run("explain web").exits(0).stdout;
    for line in [
        "asked because  no rule permits scale_down",
        "only while the count is 5",
        "another person, whom policy permits approve: \"ask\" (rules.cedar:",
        "scalectl approval show k1",
        "scalectl approval grant k1 --reason TEXT",
        "scalectl approval deny k1 --reason TEXT",
        "scalectl intent withdraw k1",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    // Where nobody could answer it, that is told.
    let nobody = super::TWO_PERSON.replace(", Action::\"approve\"", "");
    world.write("rules.cedar", nobody);
    let ran = world.json("policy put rules.cedar --reason r").exits(0);
    assert_eq!(ran.at("/warnings/0/code"), "nobody_approves");
    assert!(world.run("explain web").exits(0).stdout.contains("nobody: no rule permits approve"));
}

#[test]
fn what_is_to_be_typed_is_for_the_ledger_that_was_asked() {
    crate::support::postgres::sqlite_only!("a file is named here");
    let world = World::with_fake();
    world.run("intent put web --replicas 2 --key k1 --reason r").exits(0);
    world.run("hold set web --until 2h --reason r").exits(0);
    let ledger = world.json("status").at("/ledger/name").as_str().unwrap().to_owned();
    let status = world.run(&format!("--ledger {ledger} status")).exits(0).stdout;
    for line in ["actuate web@1", "hold lift web --reason TEXT"] {
        assert!(status.contains(&format!("scalectl --ledger {ledger} {line}")), "{status}");
    }
    let explained = world.run(&format!("--ledger {ledger} explain web")).exits(0).stdout;
    assert!(explained.contains(&format!("scalectl --ledger {ledger} actuate k1")), "{explained}");
}

#[test]
fn a_policy_is_linted_without_a_ledger() {
    let world = World::new();
    for name in world.run("policy template -o name").exits(0).stdout.lines() {
        let text = world.run(&format!("policy template {name}")).exits(0).stdout;
        world.write("t.cedar", text);
        world.run("policy lint t.cedar").exits(0);
    }
    let ask = "@id(\"ask\") permit (principal, action == Action::\"propose\", resource);";
    world.write("ask.cedar", ask);
    let ran = world.json("policy lint ask.cedar").exits(26);
    assert_eq!(ran.at("/warnings/0/code"), "nobody_approves");
    assert!(ran.stderr.contains("rule \"ask\" (ask.cedar:1)"), "{ran:#?}");
    world.write("ask.cedar", "permit (principal, action, resource) when { nonsense };");
    world.run("policy lint ask.cedar").exits(2);
    // What holds is told the same at put and at diff.
    let world = World::with_fake();
    hold(&world, &format!("@id(\"all\") permit (principal, action, resource);\n{ask}"));
    world.write(
        "ask.cedar",
        format!(
            "{ask}\n@id(\"a\") permit (principal, action == \
        Action::\"set_policy\", resource is Ledger);"
        ),
    );
    for line in ["policy diff ask.cedar", "policy put ask.cedar --reason r"] {
        assert!(world.json(line).stdout.contains("nobody_approves"), "{line}");
    }
}

/// The reason of an override stands beside it, whatever was wished since.
#[test]
fn why_a_count_is_pinned_is_told_wherever_that_it_is() {
    let world = World::with_fake();
    world.run("override set web=4 --until 3h --reason sale").exits(0);
    let listed = |world: &World| world.json("hold list").exits(0).at("/holds/0");
    assert_eq!(listed(&world)["reason"], "sale");
    // What only brings the count back is another wish, of another reason.
    world.write("fake/count", "2\n");
    let ran = world.json("reconcile").exits(0);
    assert_eq!(ran.at("/converged/0/reason"), "pinned to 4, 2 run");
    assert_eq!(listed(&world)["reason"], "sale");
    for line in ["hold list", "status", "status web", "explain web", "service show web"] {
        let ran = world.run(line).exits(0);
        assert!(ran.stdout.contains("sale"), "{line}: {ran:#?}");
    }
}

/// What waits for a colleague pins nothing meanwhile, so nobody is let believe it.
#[test]
fn an_override_says_that_it_waits_for_nobody() {
    let world = World::with_fake();
    let set = "override set web=4 --until 3h --reason sale --approve-within";
    let ran = world.json(&format!("{set} 1h")).exits(2);
    assert_eq!(ran.at("/error/code"), "contradiction");
    assert_eq!(ran.at("/recorded"), "no");
    world.run(&format!("{set} 0s")).exits(0);
    assert!(!world.run("override set --help").exits(0).stdout.contains("approve-within"));
}

/// Ending a service and registering it anew is no way around its owner.
#[test]
fn a_service_that_is_over_comes_back_with_its_owner() {
    let world = World::with_fake();
    world.run("service mode web external_hpa --owner hpa/web --reason r").exits(0);
    world.run("service retire web --reason over").exits(0);
    let native = world.json("service put web --mode native").exits(10);
    assert_eq!(native.at("/error/code"), "mode_mismatch");
    world.run("service put web --mode external_hpa").exits(0);
    world.run("service mode web native --reason mine").exits(0);
}

/// What pins a count is one wish with a key of its own, and the same line says what is in force.
#[test]
fn a_used_key_pins_nothing_and_an_override_that_is_over_says_so() {
    let world = World::with_fake();
    world.run("scale web=2 --key k --reason r").exits(0);
    let ran = world.json("override set web=2 --key k --until 1h --reason r").exits(10);
    assert_eq!(ran.at("/error/code"), "key_conflict");
    let line = "override set web=3 --key p --until 1h --reason r";
    let ran = world.json(line).exits(0);
    let until = ran.at("/pinned/until");
    // Another end under the same key is not the one in force.
    let ran = world.json(&line.replace("1h", "5h")).exits(0);
    assert_eq!(ran.at("/pinned/until"), until);
    world.run("override clear web --reason over").exits(0);
    let ran = world.json(line).exits(0);
    assert_eq!(ran.at("/warnings/0/code"), "not_pinned");
    assert_eq!(ran.at("/pinned"), serde_json::Value::Null);
}
