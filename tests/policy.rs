//! `policy`: who may do what, asked at the put and again at the call, and every answer recorded.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use serde_json::Value;

use crate::support::{Ran, World};

const EVERYTHING: &str = "@id(\"all\")\npermit(principal, action, resource);\n";

/// The fake as `fake`, the service `web`, and no policy.
fn without_policy() -> World {
    let world = World::new();
    world.run("init").exits(0);
    world.write("fake/capabilities", "inspect\nlookup\nfence\n");
    let fake = crate::support::fake_actuator();
    let put = ["actuator", "put", "fake", "--", "/bin/sh", fake.to_str().unwrap()];
    world.run_args(&put).exits(0);
    world
        .run("service put web --actuator fake --writer ops --max 50 --quiet 0s --drain none")
        .exits(0);
    world
}

fn put(world: &World, text: &str) -> Ran {
    world.write("rules.cedar", text);
    world.json("policy put rules.cedar --allow-lockout --reason test")
}

fn with(text: &str) -> World {
    let world = without_policy();
    put(&world, text).exits(0);
    world
}

fn refusals(world: &World) -> Vec<Value> {
    let ran = world.json("log --event refused --limit 1000").exits(0);
    ran.at("/events").as_array().unwrap().clone()
}

#[test]
fn without_a_policy_what_touches_a_target_is_denied() {
    let world = without_policy();
    let before = world.events();
    let line = "intent put web --replicas 3 --key k1 --reason x";
    let ran = world.json(line).exits(12);
    assert_eq!(ran.at("/error/code"), "denied");
    assert_eq!((ran.at("/recorded"), ran.at("/applied")), ("no".into(), "no".into()));
    assert!(ran.stderr.contains("policy template"), "the way on is said: {ran:#?}");
    assert_eq!(world.events(), before + 1, "one refusal");
    let kept = &refusals(&world)[0]["body"];
    assert_eq!((&kept["code"], &kept["service"]), (&"denied".into(), &"web".into()));
    assert_eq!(kept["answer"]["allowed"], false);
    assert_eq!(kept["answer"]["policy_digest"], Value::Null);

    // The same again within a minute is the same refusal.
    world.run(line).exits(12);
    world.run("scale web=3 --reason x").exits(12);
    assert_eq!(refusals(&world).len(), 1);
    world.run("intent show k1").exits(24);
    assert!(world.fake_log("calls").is_empty());
    world.run("verify").exits(0);
}

#[test]
fn without_a_policy_the_ledger_itself_is_open() {
    let world = without_policy();
    world.run("service put web --max 60").exits(0);
    world.run("actuator check fake --workload scalectl-check").exits(0);
    let registered = world.json("log --event service_registered").exits(0);
    let events = registered.at("/events");
    for event in events.as_array().unwrap() {
        let decision = &event["body"]["decision"];
        assert_eq!(decision["allowed"], true, "{event:#}");
        assert_eq!(decision["policy_digest"], Value::Null, "open, and recorded as such: {event:#}");
    }
    put(&world, EVERYTHING).exits(0);
    world.run("intent put web --replicas 3 --reason x").exits(0);
}

#[test]
fn the_starter_policy_permits_ten_replicas_on_local_and_nothing_else() {
    let world = World::with_local();
    world.run("service put web --max 50").exits(0);
    world.run("intent put web --replicas 10 --key ten --reason x").exits(0);
    world.json("intent put web --replicas 11 --key eleven --reason x").exits(12);
    world.run("intent withdraw ten").exits(0);

    world.write("fake/capabilities", "inspect\n");
    let fake = crate::support::fake_actuator();
    let put = ["actuator", "put", "fake", "--", "/bin/sh", fake.to_str().unwrap()];
    world.run_args(&put).exits(0);
    world.run("service put api --actuator fake --max 5 --drain none").exits(0);
    let ran = world.json("intent put api --replicas 1 --reason x").exits(12);
    assert!(ran.stderr.contains("scale_up"), "{ran:#?}");
    world.json("scale api=1 --reason x").exits(12);
    assert!(world.fake_log("calls").is_empty());
    // What the person who made the ledger may also do (ruling 7).
    for (action, exit) in [("settle", 0), ("attest", 0), ("break_glass", 12), ("approve", 12)] {
        world.run(&format!("policy test web=3 --action {action}")).exits(exit);
    }
    // The starter policy rests on the operating system's user, not on a claim.
    world.run("--actor somebody-else intent put web --replicas 9 --key nine --reason x").exits(0);
    world.run("policy test web=3 --os-user nobody").exits(12);
}

#[test]
fn a_denial_names_the_rule_its_file_and_its_line() {
    let world = with(
        "@id(\"all\")\npermit(principal, action, resource);\n\n// Not on this ledger.\n\
         @id(\"not-to-nothing\")\nforbid(principal, action == Action::\"scale_to_zero\", resource);\n",
    );
    world.run("scale web=2 --reason x").exits(0);
    let ran = world.json("scale web=0 --reason x").exits(12);
    assert!(ran.stderr.contains("not-to-nothing"), "{ran:#?}");
    assert!(ran.stderr.contains("rules.cedar:5"), "{ran:#?}");
    let refused = refusals(&world);
    let rules = &refused[0]["body"]["answer"]["rules"];
    assert_eq!(rules[0]["id"], "not-to-nothing");
    assert_eq!((&rules[0]["file"], &rules[0]["line"]), (&"rules.cedar".into(), &5.into()));
    assert_eq!(world.fake_log("effects").len(), 1, "only the first had an effect");
}

/// A `forbid` is for good, whatever else is permitted, unless it says itself that a colleague may
/// agree.
#[test]
fn a_forbid_leaves_the_last_word_to_a_colleague_only_if_it_says_so() {
    let rules = |unless: &str| {
        format!(
            "@id(\"all\")\npermit(principal, action, resource);\n\
             @id(\"shrink-needs-two\")\n{unless}\
             forbid(principal, action == Action::\"scale_down\", resource);\n"
        )
    };
    let world = with(&rules(""));
    world.run("scale web=3 --reason x").exits(0);
    world.run("scale web=2 --reason x").exits(12);
    let mut world = with(&rules("@unless(\"approved\")\n"));
    world.run("scale web=3 --reason x").exits(0);
    let ran = world.run("scale web=2 --key k --reason x").exits(13);
    assert!(ran.stderr.contains("shrink-needs-two refuses scale_down"), "{ran:#?}");
    world.be("bob:1002");
    world.run("approval grant web@2 --reason ok").exits(0);
    world.run("scale web=2 --key k --reason x").exits(0);
    // Only a forbid has a last word to leave, and there is one word for it.
    for bad in [
        "@id(\"a\")\n@unless(\"approved\")\npermit(principal, action, resource);\n",
        "@id(\"a\")\n@unless(\"asked\")\nforbid(principal, action, resource);\n",
    ] {
        std::fs::write(world.path("bad.cedar"), bad).expect("ours");
        let ran = world.run("policy put bad.cedar --reason x").exits(2);
        assert!(ran.stderr.contains("@unless"), "{ran:#?}");
    }
}

#[test]
fn a_forbid_that_cannot_be_evaluated_denies() {
    // The rule passes strict validation, and overflows at run time.
    let world = with(
        "@id(\"all\")\npermit(principal, action, resource);\n\
         @id(\"odd\")\nforbid(principal, action == Action::\"scale_up\", resource is Service)\n\
         when { context.desired * 9223372036854775807 == 2 };\n",
    );
    let ran = world.json("intent put web --replicas 3 --reason x").exits(12);
    assert!(ran.stderr.contains("odd") && ran.stderr.contains("overflow"), "{ran:#?}");
    let kept = refusals(&world);
    assert_eq!(kept[0]["body"]["answer"]["errors"].as_array().unwrap().len(), 1);
    let tested = world.json("policy test web=3").exits(12);
    assert!(tested.stdout.contains("\"fails\""), "{tested:#?}");
}

#[test]
fn a_policy_is_replaced_only_where_the_expected_one_holds() {
    let world = without_policy();
    let first = put(&world, EVERYTHING).exits(0).at("/policy/digest");
    let first = first.as_str().unwrap();
    let before = world.events();
    let other = format!("{EVERYTHING}@id(\"more\")\npermit(principal, action, resource);\n");
    world.write("rules.cedar", other);
    let put = |expected: &str| {
        let words = ["policy", "put", "rules.cedar", "--reason", "x", "-o", "json"];
        world.run_args(&[&words[..], &["--expect-digest", expected]].concat())
    };
    for expected in ["", "0000", &first.replace(&first[..4], "ffff")] {
        let ran = put(expected).exits(10);
        assert_eq!(ran.at("/error/code"), "stale_policy");
        assert_eq!(ran.at("/error/actual"), first);
    }
    assert_eq!(world.events(), before);
    assert_eq!(world.json("policy show").exits(0).at("/policy/digest"), first);
    let second = put(&first[..12]).exits(0);
    assert_eq!(second.at("/changed"), true);
    assert_ne!(second.at("/policy/digest"), first);
    // Now the first is the past, and the same text again changes nothing.
    put(first).exits(10);
    let words = ["policy", "put", "rules.cedar", "--reason", "x", "-o", "json"];
    assert_eq!(world.run_args(&words).exits(0).at("/changed"), false);
    assert_eq!(world.events(), before + 1);
}

#[test]
fn a_policy_that_is_not_valid_changes_nothing() {
    let world = with(EVERYTHING);
    let digest = world.json("policy show").exits(0).at("/policy/digest");
    let before = world.events();
    for text in ["", "permit(", "permit(principal == ?principal, action, resource);", "\u{0}"] {
        let ran = put(&world, text).exits(2);
        assert_eq!(ran.at("/error/code"), "policy_invalid", "{text:?}");
        assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
    }
    world.write("latin1.cedar", b"// \xe9\n");
    world.json("policy put latin1.cedar --reason x").exits(2);
    world.json("policy put nothing.cedar --reason x").exits(2);
    world.json("policy put rules.cedar").exits(2).says("reason_missing");
    assert_eq!(world.events(), before);
    assert_eq!(world.json("policy show").exits(0).at("/policy/digest"), digest);
}

#[test]
fn a_test_shows_every_rule_and_writes_nothing() {
    let world = with(
        "@id(\"small\")\npermit(principal, action, resource is Service)\n\
         when { context has desired && context.desired <= 3 };\n\
         @id(\"ledger\")\npermit(principal, action, resource is Ledger);\n\
         @id(\"not-five\")\nforbid(principal, action == Action::\"scale_up\", resource is Service)\n\
         when { context.desired == 5 };\n",
    );
    let before = world.events();
    let ids = |ran: &Ran| {
        let rules = ran.at("/rules");
        let rows = rules.as_array().unwrap().iter();
        rows.map(|row| {
            let text = |pointer| row.pointer(pointer).unwrap().as_str().unwrap().to_owned();
            format!("{} {} {}", text("/action"), text("/rule/id"), text("/applies"))
        })
        .collect::<Vec<_>>()
    };
    let allowed = world.json("policy test web=2 --current 1").exits(0);
    assert_eq!(ids(&allowed), ["scale_up small yes", "scale_up ledger no", "scale_up not-five no"]);
    let denied = world.json("policy test web=5 --current 1").exits(12);
    assert_eq!(ids(&denied), ["scale_up small no", "scale_up ledger no", "scale_up not-five yes"]);
    assert!(denied.stderr.contains("not-five (rules.cedar:6)"), "{denied:#?}");
    let none = world.json("policy test web=4 --current 1").exits(12);
    assert!(none.stderr.contains("none permits it"), "{none:#?}");
    // To nothing from an unknown count asks for all three.
    let zero = world.json("policy test web=0 --current 2").exits(0);
    assert_eq!(ids(&zero).len(), 6, "scale_down and scale_to_zero: {zero:#?}");
    assert_eq!(world.events(), before);
}

#[test]
fn a_policy_that_locks_its_maker_out_is_warned_of() {
    let world = with(EVERYTHING);
    let ran = put(
        &world,
        "@id(\"only-scaling\")\npermit(principal, action == Action::\"scale_up\", resource);\n",
    )
    .exits(0);
    assert_eq!(ran.at("/warnings/0/code"), "policy_lockout");
    // And so it is.
    let ran = put(&world, EVERYTHING).exits(12);
    assert_eq!(ran.at("/error/code"), "denied");
    world.json("service put web --max 9").exits(12);
    world.run("intent put web --replicas 3 --reason x --current-replicas 0").exits(0);
}

#[test]
fn a_policy_that_was_replaced_is_asked_again_at_the_call() {
    let world = with(EVERYTHING);
    world.run("intent put web --replicas 3 --key k1 --reason x").exits(0);
    let forbidding = format!(
        "{EVERYTHING}@id(\"frozen\")\nforbid(principal, action == Action::\"scale_up\", resource);\n"
    );
    put(&world, &forbidding).exits(0);
    let ran = world.json("actuate k1 --controller ops").exits(12);
    assert!(ran.stderr.contains("frozen"), "{ran:#?}");
    assert!(world.fake_log("calls").is_empty());
    assert_eq!(world.json("intent show k1").exits(0).at("/execution/state"), "accepted");
    assert_eq!(refusals(&world).len(), 1);
    // Replaying the put is a replay: the past is not judged anew.
    world.run("intent put web --replicas 3 --key k1 --reason x").exits(0);
    put(&world, EVERYTHING).exits(0);
    world.run("actuate k1 --controller ops").exits(0);
    let started = world.json("log --event attempt_started").exits(0);
    let decision = started.at("/events/0/body/decision");
    let digest = world.json("policy show").exits(0).at("/policy/digest");
    assert_eq!(decision["policy_digest"], digest, "the answer is recorded: {started:#?}");
}

#[test]
fn the_principal_at_the_call_is_the_proposer_and_the_writer_is_context() {
    let world = with(
        "@id(\"alice-wishes\")\n\
         permit(principal == Actor::\"alice\", action, resource is Service)\n\
         when { context has controller && context.controller == \"ops\" };\n\
         @id(\"ledger\")\npermit(principal, action, resource is Ledger);\n",
    );
    world.run("--actor bob intent put web --replicas 3 --key k0 --reason x").exits(12);
    world.run("--actor alice intent put web --replicas 3 --key k1 --reason x").exits(0);
    // Whoever carries it out, it is alice's wish.
    world.run("--actor robot actuate k1 --controller ops").exits(0);
    assert_eq!(world.fake_log("effects").len(), 1);
    world.run("--actor robot observe k1").exits(0);
    // Another controller than the writer is not asked about at all.
    world.run("--actor alice intent put web --replicas 4 --key k2 --reason x").exits(0);
    let ran = world.json("--actor robot actuate k2 --controller other").exits(11);
    assert_eq!(ran.at("/error/code"), "not_writer");
    assert_eq!(world.fake_log("effects").len(), 1);
}

#[test]
fn a_hostile_claim_is_only_text() {
    let world = with(
        "@id(\"alice\")\npermit(principal == Actor::\"alice\", action, resource is Service);\n",
    );
    for claim in
        ["alice\"", "alice\\", "Actor::\"alice\"", "alice\" || true || \"", "Alice", "alice "]
    {
        let words = ["--actor", claim, "intent", "put", "web", "--replicas", "3", "--reason", "x"];
        let ran = world.run_args(&words);
        assert!(matches!(ran.code, Some(12 | 2)), "{claim:?}: {ran:#?}");
    }
    world.run("--actor alice intent put web --replicas 3 --reason x").exits(0);
}
