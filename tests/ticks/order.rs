//! Sections 4.3 to 4.5 of the rule book: the steps of one look, in their order.

use serde_json::json;

use super::{Fleet, says};

#[test]
fn rule_4_3_1_what_nobody_observes_is_skipped_and_ends_the_streak() {
    let mut fleet = Fleet::scaled();
    assert_eq!(fleet.tick("", 10.0), "skipped: stabilizing down (1/3)");
    fleet.on_inspect("exit 3\n");
    fleet.later(1);
    let ran = fleet.tick_of("", &[fleet.sample("web", 10.0)]).exits(25);
    assert!(
        says(&ran.at("/evaluations/0")).starts_with("skipped: unobserved (asking actuator fake")
    );
    fleet.on_inspect("");
    assert_eq!(fleet.tick("", 10.0), "skipped: stabilizing down (1/3)");
    // Another object under the same name is not what was registered.
    std::fs::write(fleet.world.fake_dir().join("uid"), "uid-2\n").expect("a file");
    let ran = fleet.tick_of("", &[]).exits(25);
    assert!(says(&ran.at("/evaluations/0")).contains("unobserved"), "{ran:#?}");
}

#[test]
fn rule_4_3_2_what_is_down_is_skipped() {
    let mut fleet = Fleet::scaled();
    assert_eq!(fleet.tick("", 10.0), "skipped: stabilizing down (1/3)");
    // Three are declared, and none is ready.
    fleet.on_inspect(
        "inspection() { value=\"\\\"target\\\":{\\\"cluster_id\\\":\\\"fake\\\",\\\"runtime_id\\\":\
         \\\"sh\\\",\\\"workload_id\\\":\\\"web\\\",\\\"target_uid\\\":\\\"fake:web\\\",\
         \\\"target_resource_version\\\":\\\"1\\\"},\\\"replicas\\\":3,\\\"ready_replicas\\\":0,\
         \\\"read_at\\\":\\\"$(cat now)\\\",\\\"owners\\\":[]\"; }\n",
    );
    assert_eq!(fleet.tick("", 10.0), "skipped: down");
    fleet.on_inspect("");
    assert_eq!(fleet.tick("", 10.0), "skipped: stabilizing down (1/3)");
}

#[test]
fn rule_4_3_3_a_sample_must_match_and_be_fresh_and_new() {
    let mut fleet = Fleet::scaled();
    fleet.world.run("service put web --signal-unit jobs --signal-scope eu").exits(0);
    fleet.later(600);
    let good = {
        let mut good = fleet.sample("web", 55.0);
        good["signal"]["unit"] = json!("jobs");
        good["signal"]["scope"] = json!("eu");
        good
    };
    let changed = |pointer: &str, to: serde_json::Value| {
        let mut sample = good.clone();
        *sample.pointer_mut(pointer).expect("a member") = to;
        sample
    };
    for (sample, what) in [
        (changed("/signal/name", json!("other")), "mismatched"),
        (changed("/signal/unit", json!("lines")), "mismatched"),
        (changed("/signal/scope", json!("us")), "mismatched"),
        (changed("/signal/aggregation", json!("per_replica")), "mismatched"),
        (changed("/observed_at", json!(fleet.instant(-121))), "stale"),
        (changed("/observed_at", json!(fleet.instant(31))), "future"),
        (changed("/service", json!("api")), "missing (the source has none)"),
    ] {
        let ran = fleet.tick_of("--dry-run", std::slice::from_ref(&sample)).exits(0);
        assert_eq!(
            says(&ran.at("/evaluations/0")),
            format!("skipped: no data: {what}"),
            "{sample}"
        );
    }
    for ahead in [-120, 30] {
        let ran =
            fleet.tick_of("--dry-run", &[changed("/observed_at", json!(fleet.instant(ahead)))]);
        assert_eq!(says(&ran.at("/evaluations/0")), "intent_accepted 3 → 6", "{ahead}");
    }
    // It is used up whatever comes after it, and then only a newer one will do.
    fleet.world.run("hold set web --until 1h --reason r").exits(0);
    let ran = fleet.tick_of("", std::slice::from_ref(&good)).exits(0);
    assert_eq!(says(&ran.at("/evaluations/0")), "skipped: held by a person");
    for sample in [good.clone(), changed("/observed_at", json!(fleet.instant(-1)))] {
        let ran = fleet.tick_of("", &[sample]).exits(0);
        assert_eq!(says(&ran.at("/evaluations/0")), "skipped: no data: consumed");
    }
}

#[test]
fn rule_4_3_5_what_somebody_else_owns_is_only_reported() {
    for mode in ["hpa", "keda"] {
        let mut fleet = Fleet::scaled();
        fleet.world.run(&format!("service mode web {mode} --reason r")).exits(0);
        fleet.later(1);
        let ran = fleet.tick_of("", &[fleet.sample("web", 55.0)]).exits(0);
        assert_eq!(says(&ran.at("/evaluations/0")), "reported 3 → 6", "{mode}");
        assert_eq!(ran.at("/evaluations/0/value"), 55.0, "{mode}");
        assert_eq!(ran.at("/actions"), 0, "{mode}");
        assert_eq!(fleet.intents(), 0, "{mode}");
        let log = fleet.world.json("log --limit 100").exits(0).stdout;
        assert!(log.contains("autoscale_evaluated"), "{mode}: it is recorded");
    }
}

#[test]
fn rule_4_3_6_an_override_is_authoritative() {
    let mut fleet = Fleet::scaled();
    fleet.world.run("override set web=4 --until 1h --reason r").exits(0);
    fleet.settle();
    let said = "skipped: operator replica override is authoritative";
    assert_eq!(fleet.tick("", 95.0), said);
    fleet.world.run("override clear web --reason r").exits(0);
    assert_eq!(fleet.tick("", 95.0), "intent_accepted 4 → 10");
}

#[test]
fn rule_4_3_7_near_the_target_nothing_is_done() {
    let mut fleet = Fleet::scaled();
    assert_eq!(fleet.tick("", 10.0), "skipped: stabilizing down (1/3)");
    assert_eq!(fleet.tick("", 31.5), "skipped: within the deadband");
    assert_eq!(fleet.tick("", 10.0), "skipped: stabilizing down (1/3)");
    assert_eq!(fleet.tick("", 31.6), "intent_accepted 3 → 4");
}

#[test]
fn rule_4_3_8_one_wish_at_a_time() {
    let waits = "awaiting execution or observation";
    let mut fleet = Fleet::scaled();
    assert_eq!(fleet.tick("", 55.0), "intent_accepted 3 → 6");
    assert_eq!(fleet.tick("", 95.0), format!("skipped: accepted: {waits}"));
    assert_eq!(fleet.pass(""), "actuate succeeded");
    assert_eq!(fleet.tick("", 95.0), format!("skipped: succeeded: {waits}"));
    assert_eq!(fleet.pass(""), "observe verified");
    assert_eq!(fleet.tick("", 95.0), "intent_accepted 6 → 10");

    let mut fleet = Fleet::scaled();
    fleet.world.script(&["garble"]);
    fleet.world.run("service put web --on-unknown halt").exits(0);
    assert_eq!(fleet.tick("", 55.0), "intent_accepted 3 → 6");
    fleet.world.json("reconcile").exits(26);
    assert_eq!(fleet.tick("", 95.0), format!("skipped: recovery_pending: {waits}"));

    // What was simulated is not wished again; another count is.
    let mut fleet = Fleet::scaled();
    assert_eq!(fleet.tick("", 55.0), "intent_accepted 3 → 6");
    fleet.world.run("actuate web@1 --simulate").exits(0);
    assert_eq!(fleet.tick("", 55.0), "skipped: the same wish was simulated");
    assert_eq!(fleet.tick("", 65.0), "intent_accepted 3 → 7");

    // What has failed for good is over.
    let mut fleet = Fleet::scaled();
    fleet.world.script(&["fail terminal no"]);
    assert_eq!(fleet.tick("", 55.0), "intent_accepted 3 → 6");
    fleet.world.json("reconcile").exits(17);
    assert_eq!(fleet.tick("", 55.0), "intent_accepted 3 → 6");

    // What nobody can start any more is over, too; a person's is not the autoscaler's to end.
    let mut fleet = Fleet::scaled();
    assert_eq!(fleet.tick("--valid-for 10s", 55.0), "intent_accepted 3 → 6");
    fleet.later(20);
    assert_eq!(fleet.tick("", 55.0), "intent_accepted 3 → 6");
    assert_eq!(fleet.state("web@1"), "superseded");
    let mut fleet = Fleet::scaled();
    fleet.wish(5, "k1");
    fleet.later(7200);
    assert!(fleet.tick("", 55.0).contains("this would end it"), "{}", fleet.tick("", 55.0));
}

#[test]
fn rule_4_3_9_only_more_replicas_are_capped_by_their_cost() {
    let mut fleet = Fleet::scaled();
    assert_eq!(fleet.tick("--budget 0.15", 55.0), "skipped: the budget allows no more");
    assert_eq!(fleet.tick("--budget 0.25", 55.0), "intent_accepted 3 → 5");
    let mut fleet = Fleet::scaled();
    fleet.world.run("service put web --scale-down-samples 1").exits(0);
    assert_eq!(fleet.tick("--budget 0 --replica-cost 1", 15.0), "intent_accepted 3 → 2");
    for bad in ["--budget x", "--budget -1", "--budget NaN", "--budget 1 --replica-cost 0"] {
        assert_eq!(fleet.tick_of(bad, &[]).code, Some(2), "{bad}");
    }
}

#[test]
fn rule_4_3_10_at_target_ends_the_streak() {
    let mut fleet = Fleet::scaled();
    fleet.world.run("service put web --min 3").exits(0);
    assert_eq!(fleet.tick("", 10.0), "skipped: at target");
}

#[test]
fn rule_4_3_11_a_streak_is_kept_in_the_ledger() {
    let mut fleet = Fleet::scaled();
    // Each tick is a process of its own: nothing is kept but what is recorded.
    assert_eq!(fleet.tick("", 10.0), "skipped: stabilizing down (1/3)");
    assert_eq!(fleet.tick("", 10.0), "skipped: stabilizing down (2/3)");
    let backup = fleet.world.copy();
    assert_eq!(fleet.tick("", 10.0), "intent_accepted 3 → 1");
    // A rehearsal walks the same way and keeps nothing.
    let mut copy = Fleet { world: backup, seconds: fleet.seconds - 1 };
    assert_eq!(copy.tick("--dry-run", 10.0), "intent_accepted 3 → 1");
    assert_eq!(copy.intents(), 0);
    assert_eq!(copy.tick("", 10.0), "intent_accepted 3 → 1");
    let mut fleet = Fleet::scaled();
    fleet.world.run("service put web --scale-up-samples 2").exits(0);
    assert_eq!(fleet.tick("", 55.0), "skipped: stabilizing up (1/2)");
    assert_eq!(fleet.tick("", 10.0), "skipped: stabilizing down (1/3)");
    assert_eq!(fleet.tick("", 55.0), "skipped: stabilizing up (1/2)");
}

#[test]
fn rules_4_3_12_and_4_4_both_directions_wait_for_the_cooldown() {
    let mut fleet = Fleet::scaled();
    fleet.world.run("service put web --cooldown 5m --scale-down-samples 1").exits(0);
    assert_eq!(fleet.tick("", 55.0), "intent_accepted 3 → 6");
    assert_eq!(fleet.pass(""), "actuate succeeded");
    assert_eq!(fleet.pass(""), "observe verified");
    for value in [95.0, 20.0] {
        let said = fleet.tick("", value);
        assert!(said.starts_with("skipped: web was changed"), "{said}");
        assert!(said.contains("cools for 5m"), "{said}");
    }
    fleet.later(300);
    assert_eq!(fleet.tick("", 20.0), "intent_accepted 6 → 2");
    // What has changed nothing cools nothing.
    let mut fleet = Fleet::scaled();
    fleet.world.run("service put web --cooldown 5m").exits(0);
    fleet.world.script(&["fail terminal no"]);
    assert_eq!(fleet.tick("", 55.0), "intent_accepted 3 → 6");
    fleet.world.json("reconcile").exits(17);
    assert_eq!(fleet.tick("", 55.0), "intent_accepted 3 → 6");
}

const ALL: &str = "@id(\"all\")\npermit(principal, action, resource);\n";

#[test]
fn rules_4_3_13_and_4_3_15_policy_decides_and_a_colleague_where_it_leaves_it_to_one() {
    let deny = |actions: &str| {
        let source = "context has source && context.source == \"autoscaler\"";
        let rule = format!("forbid(principal, action in [{actions}], resource)");
        format!("{ALL}@id(\"no\")\n@unless(\"approved\")\n{rule} when {{ {source} }};\n")
    };
    let mut fleet = Fleet::scaled();
    fleet.policy(&deny("Action::\"scale_up\", Action::\"propose\""));
    let said = fleet.tick("", 55.0);
    assert!(said.starts_with("skipped: policy does not let"), "{said}");
    assert_eq!(fleet.intents(), 0);

    let mut fleet = Fleet::scaled();
    fleet.policy(&deny("Action::\"scale_up\""));
    fleet.later(1);
    let ran = fleet.tick_of("", &[fleet.sample("web", 55.0)]).exits(0);
    assert_eq!(says(&ran.at("/evaluations/0")), "intent_proposed 3 → 6");
    assert_eq!(ran.at("/intents_proposed"), 1);
    let waits = "skipped: proposed: awaiting execution or observation";
    assert_eq!(fleet.tick("", 55.0), waits);
    // Nobody has answered: it is asked anew.
    fleet.later(86_400);
    assert_eq!(fleet.tick("", 55.0), "intent_proposed 3 → 6");
    // And not at all where nobody may be asked.
    let mut fleet = Fleet::scaled();
    fleet.policy(&deny("Action::\"scale_up\""));
    let said = fleet.tick("--approve-within 0s", 55.0);
    assert!(said.starts_with("skipped: policy does not let"), "{said}");
}

#[test]
fn rules_4_3_14_and_4_5_a_wish_is_a_put_on_the_newest_revision() {
    let mut fleet = Fleet::scaled();
    fleet.wish(3, "k1");
    fleet.settle();
    assert_eq!(fleet.tick("", 55.0), "intent_accepted 3 → 6");
    let shown = fleet.world.json("intent show web@2").exits(0);
    assert_eq!(shown.at("/intent/intent_revision"), 2);
    assert_eq!(shown.at("/intent/desired_replicas"), 6);
    assert_eq!(shown.at("/intent/controller_mode"), "native");
    assert_eq!(shown.at("/execution/current_replicas"), 3);
    assert_eq!(shown.at("/intent/reason"), "queue 55, target 10: 3 → 6");
    let log = fleet.world.json("log --limit 100").exits(0).stdout;
    assert!(log.contains("\"source\": \"autoscaler\""), "{log}");
}
