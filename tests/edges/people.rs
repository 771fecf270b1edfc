//! The lines of somebody who has never typed one: each refusal leads on, and what it suggests
//! works.

use serde_json::{Value, json};

use crate::support::{Ran, World, fake_actuator};

/// The lines that an error suggests.
pub(super) fn next(ran: &Ran) -> Vec<Vec<String>> {
    serde_json::from_value(ran.at("/error/next")).unwrap()
}

/// Runs the suggested line at a place, as it stands.
pub(super) fn pasted(world: &World, ran: &Ran, at: usize) -> Ran {
    let line = &next(ran)[at];
    assert_eq!(line[0], "scalectl");
    world.run_args(&line[1..].iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn no_suggested_line_has_a_hole() {
    let texts = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/texts");
    let mut seen = 0;
    for entry in std::fs::read_dir(texts).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for line in text.lines().filter(|line| line.trim_start().starts_with("scalectl ")) {
            seen += 1;
            assert!(!line.contains('…'), "a script would run it: {line}");
        }
    }
    assert!(seen > 30, "only {seen} lines were found");
}

#[test]
fn a_typo_leads_to_the_help_of_its_verb() {
    let world = World::with_fake();
    for (typed, helped) in [
        ("scale web=1 --raeson x", "scalectl scale --help"),
        ("intent put web --replicas x --reason x", "scalectl intent put --help"),
        ("intent shwo k1", "scalectl intent --help"),
        ("status --limit", "scalectl status --help"),
        ("sclae web=1", "scalectl help"),
        ("--nonsense", "scalectl help"),
        ("get services", "scalectl -o json service list"),
        ("service ls", "scalectl -o json service list"),
        ("watch", "scalectl -o json status"),
        ("scale web=1 --lock-timeout 25d", "scalectl scale --help"),
    ] {
        let ran = world.json(typed).exits(2);
        assert_eq!(next(&ran).last().unwrap().join(" "), helped, "{ran:#?}");
        pasted(&world, &ran, 0).exits(0);
    }
}

#[test]
fn a_count_in_another_form_is_suggested_in_the_right_one() {
    let world = World::with_fake();
    for typed in [
        "scale web 2 --reason x",
        "scale web --replicas 3 --reason x",
        "plan web 3",
        "intent put web=4 --reason x --key k",
    ] {
        let ran = world.json(typed).exits(2);
        pasted(&world, &ran, 0).exits(0);
    }
    assert_eq!(world.json("intent show k").exits(0).at("/execution/desired_replicas"), 4);
    let ran = world.run("scale web --reason x").exits(2);
    ran.says("such as web=3");
}

#[test]
fn a_name_that_is_nearly_one_is_named() {
    let world = World::with_fake();
    world.run("scale wbe=1 --reason x").exits(24).says("did you mean  web");
    world.run("status wbe").exits(24).says("did you mean  web");
    world.run("policy template lokal").exits(24).says("did you mean  local");
    let ran = world.run("scale db=1 --reason x").exits(24);
    assert!(!ran.stderr.contains("did you mean"), "{ran:#?}");
    // Also where a key could be meant.
    for line in ["explain wbe", "intent show wbe", "approval show wbe"] {
        world.run(line).exits(24).says("did you mean  web");
    }
    let ran = world.json("approval show nope").exits(24);
    assert_eq!(next(&ran)[0][1..].join(" "), "approval list --all", "{ran:#?}");
    pasted(&world, &ran, 0).exits(0);
    // A service where a key is asked for.
    world.run("intent put web --replicas 4 --reason x --key k").exits(0);
    for line in ["attempt show web", "intent show web", "lease show web"] {
        let ran = world.json(line).exits(24);
        assert_eq!(next(&ran)[0].last().unwrap(), "web@latest", "{ran:#?}");
    }
    let ran = world.json("intent show web").exits(24);
    pasted(&world, &ran, 0).exits(0);
    world.run("status --ledger prod").exits(21).says("prod is no name in").says("[ledgers] prod =");
}

#[test]
fn a_kind_of_event_that_is_none_is_refused() {
    let world = World::with_fake();
    let ran = world.run("log --event intent_acepted").exits(2);
    ran.says("did you mean  intent_accepted").says("policy_set");
    // Every kind that there is a record of is known.
    let kinds = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/events")).unwrap();
    let kinds = kinds.map(|entry| entry.unwrap().path());
    let mut kinds: Vec<String> =
        kinds.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    let events = world.json("log --limit 1000").exits(0).at("/events");
    let own = events.as_array().unwrap().iter().map(|event| event["event"].as_str().unwrap());
    kinds.extend(own.map(str::to_owned));
    for kind in kinds {
        world.run(&format!("log --event {kind}")).exits(0);
    }
}

#[test]
fn who_may_not_act_leaves_no_wish_behind() {
    let world = World::with_fake();
    let before = world.events();
    let line = "web=3 --controller robot";
    let planned = world.json(&format!("plan {line}")).exits(11);
    let ran = world.json(&format!("scale {line} --reason x")).exits(11);
    for ran in [planned, ran] {
        assert_eq!(
            (ran.at("/error/code"), ran.at("/recorded")),
            ("not_writer".into(), "no".into())
        );
    }
    assert_eq!(world.events(), before);
    world.run("plan web=3 --controller ops").exits(0);
}

#[test]
fn a_wish_that_waits_behind_a_refusal_is_told_and_taken_back() {
    let world = World::with_fake();
    // Its fence is over before a call could be: that is seen where the attempt starts.
    let ran = world.json("scale web=3 --reason x --key k1 --valid-for 2s").exits(11);
    assert_eq!(ran.at("/error/code"), "fence_too_short");
    assert_eq!(ran.at("/recorded"), "yes");
    let waits = ran.at("/error/facts/waits");
    assert!(waits.as_str().unwrap().starts_with("web@1 is recorded and waits"), "{ran:#?}");
    let last = next(&ran).len() - 1;
    pasted(&world, &ran, last).exits(0);
    assert_eq!(world.json("intent show k1").exits(0).at("/execution/state"), "withdrawn");
    // What was never recorded does not wait.
    let ran = world.json("scale web=99 --reason x").exits(2);
    assert!(!ran.stdout.contains("\"waits\""), "{ran:#?}");
}

#[test]
fn a_wish_for_former_settings_has_a_way_out() {
    let world = World::with_fake();
    world.script(&["ok", "fail retryable busy"]);
    world.run("intent put web --replicas 3 --reason x --key k1").exits(0);
    let ran = world.json("service put web --max 9").exits(0);
    assert_eq!(ran.at("/warnings/0/code"), "wish_stranded");
    let said = ran.at("/warnings/0/message");
    assert!(said.as_str().unwrap().ends_with("scalectl intent withdraw web@1"), "{said}");
    let ran = world.json("actuate k1").exits(10);
    assert_eq!(ran.at("/error/code"), "stale_unit_revision");
    pasted(&world, &ran, 0).exits(0);
    world.run("scale web=3 --reason x").exits(0);
    // The same of one that has failed.
    world.run("intent put web --replicas 4 --reason x --key k2").exits(0);
    world.run("actuate k2").exits(18);
    let ran = world.json("service put web --max 8").exits(0);
    assert_eq!(ran.at("/warnings/0/code"), "wish_stranded", "{ran:#?}");
    let ran = world.json("actuate k2").exits(10);
    assert_eq!(ran.at("/error/code"), "stale_unit_revision");
    pasted(&world, &ran, 1).exits(0);
    world.run("scale web=4 --reason x").exits(0);
}

#[test]
fn a_policy_that_locks_its_maker_out_must_be_meant() {
    let world = World::with_fake();
    let text = "@id(\"x\") permit(principal, action == Action::\"scale_up\", resource);\n";
    world.write("narrow.cedar", text);
    let before = world.json("policy show").exits(0).at("/policy/digest");
    let ran = world.json("policy put narrow.cedar --reason x").exits(2);
    assert_eq!(ran.at("/error/code"), "policy_lockout");
    assert!(ran.stderr.contains("permit set_policy on the ledger to you"), "{ran:#?}");
    assert_eq!(world.json("policy show").exits(0).at("/policy/digest"), before);
    let ran = world.json("policy put narrow.cedar --reason x --allow-lockout").exits(0);
    assert_eq!(ran.at("/warnings/0/code"), "policy_lockout");
    world.run("policy put all.cedar --reason x").exits(12);
}

/// What other tools call get is a question about one, about some, or about all.
#[test]
fn a_hint_for_another_tools_word_says_what_its_line_tells() {
    let world = World::with_fake();
    for (line, hint) in [
        ("get web", "how it stands is told by"),
        ("get", "how all services stand is told by"),
        ("ls services", "those of this ledger are listed by"),
    ] {
        assert_eq!(world.json(line).exits(2).at("/error/hint"), hint, "{line}");
    }
}

/// Whoever holds a service is told so; whoever does not asks.
#[test]
fn a_hold_of_ones_own_is_ended_by_oneself() {
    let mut world = World::with_fake();
    world.run("hold set web --until 2h --reason mine").exits(0);
    let hint = |world: &World| world.json("scale web=3 --reason r").exits(12).at("/error/hint");
    assert!(hint(&world).as_str().unwrap().starts_with("it is your own"));
    world.set("SCALECTL_ACTOR", "somebody-else");
    assert!(hint(&world).as_str().unwrap().starts_with("ask them"));
}

/// A rule that rests on the user of the system says the same to whoever pastes the line.
#[test]
fn what_a_denial_suggests_asks_for_the_same_person() {
    let mut world = World::with_fake();
    let rules = "@id(\"a\") permit(principal, action, resource) when { context has os_user && \
                 context.os_user != \"eve\" };\n";
    world.write("rules.cedar", rules);
    world.run("policy put rules.cedar --reason r").exits(0);
    let me = world.json("scale web=3 --dry-run --reason r").exits(0);
    assert_eq!(me.at("/ok"), true);
    world.be("eve:1009");
    let ran = world.json("scale web=3 --reason r").exits(12);
    world.be("adam:1010");
    let answer = pasted(&world, &ran, 0);
    assert_eq!(answer.code, Some(12), "{answer:#?}");
}

#[test]
fn a_reduction_without_evidence_has_two_ways_on() {
    let world = World::with_fake();
    world.run("scale web=2 --reason x").exits(0);
    world.run("service put web --drain required").exits(0);
    let ran = world.json("scale web=1 --reason x").exits(25);
    assert_eq!(ran.at("/error/code"), "evidence_missing");
    pasted(&world, &ran, 1).exits(0);
    world.run("service put web --drain required").exits(0);
    pasted(&world, &ran, 0).exits(0);
}

#[test]
fn a_test_of_the_policy_says_what_it_asked() {
    let world = World::with_fake();
    world.run("service bind web").exits(0);
    let ran = world.run("policy test web=0").exits(0).says("warning: nothing would change");
    assert_eq!(
        ran.stdout.lines().next(),
        Some("web 0 → 0 (current as last read; another: --current N)")
    );
    let ran = world.json("policy test web=0 --current 2").exits(0);
    assert_eq!(ran.at("/asked"), json!({"current": 2, "desired": 0}));
    assert_eq!(ran.at("/warnings"), json!([]));
}

#[test]
fn a_command_that_is_no_actuator_is_said_to_be_none() {
    let world = World::with_fake();
    let before = world.events();
    for command in ["/bin/true", "/bin/false", "/bin/echo no"] {
        let ran = world.json(&format!("actuator put other -- {command}")).exits(2);
        assert_eq!(ran.at("/error/code"), "not_an_actuator");
        assert!(ran.stderr.contains("docs/actuator-protocol.md"), "{ran:#?}");
    }
    assert_eq!(world.events(), before);
}

#[test]
fn another_command_of_an_actuator_in_use_is_told_with_the_line_back() {
    let world = World::with_fake();
    let fake = fake_actuator();
    let put = |last: &[&str]| {
        let mut line = vec!["-o", "json", "actuator", "put", "fake", "--", "/bin/sh"];
        line.push(fake.to_str().unwrap());
        line.extend(last);
        world.run_args(&line).exits(0)
    };
    assert_eq!(put(&[]).at("/warnings"), json!([]), "it is the same one");
    let ran = put(&["another"]);
    assert_eq!(ran.at("/warnings/0/code"), "command_replaced");
    let said = ran.at("/warnings/0/message");
    let said = said.as_str().unwrap();
    assert!(said.contains("serves web by another command"), "{said}");
    assert!(said.ends_with(&format!("scalectl actuator put fake -- /bin/sh {}", fake.display())));
    let shown = world.json("actuator show fake").exits(0);
    let words = shown.at("/command");
    assert_eq!(words.as_array().unwrap().last().unwrap(), &Value::from("another"));
}

#[test]
fn what_an_actuator_is_given_is_shown() {
    let world = World::with_fake();
    let ran = world.run("actuator show fake").exits(0);
    assert!(ran.stdout.contains("  command    /bin/sh "), "{ran:#?}");
    assert!(ran.stdout.contains("  unset here none"), "{ran:#?}");
    let mut command = world.command(&["-o", "json", "actuator", "show", "fake"]);
    let output = command.env_remove("FAKE_ACTUATOR_DIR").output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["unset_here"], json!(["FAKE_ACTUATOR_DIR"]));
}

#[test]
fn a_quickstart_that_is_not_there_is_said_to_be_none() {
    let world = World::new();
    let ran = world.run("quickstart --remove").exits(2);
    ran.says("error[quickstart_not_there]").says("nothing is left to remove");
}

#[test]
fn a_stored_answer_is_said_to_be_one() {
    let world = World::with_fake();
    world.script(&["ok", "fail terminal broken"]);
    world.run("scale web=2 --reason x --key k1").exits(0);
    let calls = world.fake_log("effects").len();
    let ran = world.run("actuate k1").exits(0);
    assert!(ran.stdout.contains("replayed   the stored answer, nothing was called"), "{ran:#?}");
    assert_eq!(world.fake_log("effects").len(), calls);
    // A failure is not read as a success by whoever stops after the first word.
    let ran = world.run("scale web=3 --reason x --key k2");
    assert!(ran.stdout.contains("failed for good (verified)"), "{ran:#?}");
}

/// No word replaces the evidence of a quorum, so the ways are another actuator or no quorum.
#[test]
fn a_quorum_that_nobody_can_vouch_for_is_told_when_it_is_asked_for() {
    let world = World::with_fake();
    world.run("scale web=5 --key k1 --reason x").exits(0);
    let warned = world.json("service put web --quorum required").exits(0);
    assert_eq!(warned.at("/warnings/0/code"), "quorum_unvouched");
    assert!(warned.stderr.contains("warning: web is never reduced"), "{warned:#?}");
    let ran = world.json("scale web=2 --key k2 --reason x --attest not-drained").exits(25);
    assert_eq!(ran.at("/error/code"), "evidence_missing");
    let text = ran.at("/error/message");
    assert!(text.as_str().unwrap().contains("nothing says that its quorum survives"), "{text}");
    let lines = next(&ran);
    assert_eq!(lines[0][1..], ["service", "put", "web", "--actuator", "NAME"]);
    let without = pasted(&world, &ran, 1).exits(0);
    assert!(!without.stderr.contains("warning"), "{without:#?}");
    world.run("scale web=2 --key k2 --reason x --attest not-drained").exits(0);

    // An actuator that could say so is not warned of; what it says is asked for each time.
    world.write("fake/capabilities", "inspect\nevidence\n");
    let fake = fake_actuator();
    let words = ["actuator", "put", "fake", "--timeout", "5s", "--", "/bin/sh"];
    world.run_args(&[&words[..], &[fake.to_str().unwrap()]].concat()).exits(0);
    let asked = world.json("service put web --quorum required").exits(0);
    assert_eq!(asked.at("/warnings"), json!([]));
}
