//! Section 5 of the rule book: the reconciler; and 4.6, who suppresses what.

use super::{Fleet, row_of};

#[test]
fn rule_5_1_a_closed_gate_does_nothing() {
    let mut fleet = Fleet::plain();
    fleet.wish(5, "k1");
    for (health, exit) in [
        (r#"{"autoscaling_ready":true,"convergence_ready":false,"reason":"split"}"#, 0),
        (r#"{"autoscaling_ready":true,"convergence_ready":"true"}"#, 25),
        ("not JSON", 25),
    ] {
        fleet.world.write("health.json", health);
        let ran = fleet.world.json("reconcile --health health.json").exits(exit);
        assert_eq!(ran.at("/actions"), 0, "{health}");
        assert_eq!(ran.at("/converged").as_array().map(Vec::len), Some(0), "{health}");
        assert!(ran.at("/reason").as_str().expect("a reason").contains("health gate"));
    }
    assert_eq!(fleet.state("k1"), "accepted");
    fleet.world.write("health.json", r#"{"autoscaling_ready":false,"convergence_ready":true}"#);
    assert_eq!(fleet.pass("--health health.json"), "actuate succeeded");
}

#[test]
fn rule_5_1_what_is_over_the_budget_is_deferred() {
    let mut fleet = Fleet::plain();
    for name in ["api", "zoo"] {
        std::fs::write(fleet.world.fake_dir().join("uid"), format!("uid-{name}\n"))
            .expect("a file");
        let line = format!("service put {name} --actuator fake --writer ops --max 10 --drain none");
        fleet.world.run(&format!("{line} --target-match replicas")).exits(0);
        fleet
            .world
            .run(&format!("intent put {name} --replicas 3 --key {name} --reason r"))
            .exits(0);
    }
    fleet.wish(3, "web");
    fleet.on_inspect(super::OWN_OBJECTS);
    let ran = fleet.world.json("reconcile --max-actions 2").exits(0);
    assert_eq!(ran.at("/actions"), 2);
    assert_eq!(row_of(&ran, "api"), "actuate succeeded");
    assert_eq!(row_of(&ran, "zoo"), "deferred: actuate: per-pass action budget exhausted");
    // Readings are no actions: what was carried out is confirmed beside what is.
    fleet.later(1);
    let ran = fleet.world.json("reconcile --max-actions 1").exits(0);
    assert_eq!(row_of(&ran, "api"), "observe verified");
    assert_eq!(row_of(&ran, "zoo"), "actuate succeeded");
    fleet.world.run("reconcile nobody").exits(24);
}

#[test]
fn rule_5_2_an_accepted_wish_is_carried_out_and_verified_by_two_passes() {
    let mut fleet = Fleet::plain();
    assert_eq!(fleet.pass(""), "nothing: nothing is under way");
    fleet.wish(5, "k1");
    assert_eq!(fleet.pass(""), "actuate succeeded");
    assert_eq!(fleet.world.fake_log("effects").len(), 1);
    assert_eq!(fleet.pass(""), "observe verified");
    assert_eq!(fleet.state("k1"), "verified converged");
    assert_eq!(fleet.pass(""), "nothing: nothing is under way");
    assert_eq!(fleet.world.fake_log("calls").len(), 1);
    // As many passes as readings are asked for, and one that differs starts anew.
    fleet.world.run("service put web --readings 4").exits(0);
    fleet.wish(6, "k2");
    assert_eq!(fleet.pass(""), "actuate succeeded");
    assert_eq!(fleet.pass(""), "observe observed");
    fleet.counts(2);
    fleet.later(1);
    let ran = fleet.world.json("reconcile").exits(23);
    assert_eq!(row_of(&ran, "web"), "observe succeeded");
    fleet.counts(6);
    for _ in 0..3 {
        assert_eq!(fleet.pass(""), "observe observed");
    }
    assert_eq!(fleet.pass(""), "observe verified");
}

#[test]
fn rule_5_2_what_nobody_observes_is_not_touched() {
    let mut fleet = Fleet::plain();
    fleet.wish(5, "k1");
    fleet.on_inspect("exit 3\n");
    let ran = fleet.world.json("reconcile").exits(25);
    assert_eq!(ran.at("/applied"), "no");
    assert!(fleet.world.fake_log("calls").is_empty());
    fleet.on_inspect("");
    assert_eq!(fleet.pass(""), "actuate succeeded");
    // The same of a count that is declared.
    let fleet = Fleet::plain();
    fleet.world.run("service put web --replicas 5").exits(0);
    fleet.on_inspect("exit 3\n");
    let ran = fleet.world.json("reconcile").exits(25);
    assert!(row_of(&ran, "web").starts_with("nothing: unobserved: asking actuator fake"));
    assert_eq!(fleet.intents(), 0);
}

#[test]
fn rule_5_2_what_somebody_else_owns_is_not_touched() {
    for mode in ["hpa", "keda"] {
        let mut fleet = Fleet::plain();
        fleet.world.run("service put web --replicas 5").exits(0);
        fleet.world.run(&format!("service mode web {mode} --reason r --owner them")).exits(0);
        assert_eq!(fleet.pass(""), "nothing: them owns the count");
        assert_eq!(fleet.intents(), 0);
    }
    let mut fleet = Fleet::plain();
    fleet.world.run("service retire web --reason r").exits(0);
    assert_eq!(fleet.pass(""), "nothing: it is retired");
}

#[test]
fn rule_5_2_what_is_not_accepted_is_left_as_it_is() {
    let mut fleet = Fleet::plain();
    fleet.policy(
        "@id(\"all\")\npermit(principal, action, resource);\n@id(\"no\")\n\
         @unless(\"approved\")\nforbid(principal, action == Action::\"scale_up\", resource);\n",
    );
    fleet.world.run("intent put web --replicas 5 --key k1 --reason r").exits(13);
    assert!(fleet.pass("").starts_with("nothing: web@1 waits for a colleague until"));
    assert_eq!(fleet.state("k1"), "proposed");
    // Simulated, failed for good, withdrawn: nothing.
    let mut fleet = Fleet::plain();
    fleet.wish(5, "k1");
    fleet.world.run("actuate k1 --simulate").exits(0);
    assert_eq!(fleet.pass(""), "nothing: nothing is under way");
    fleet.world.script(&["fail terminal no"]);
    fleet.wish(5, "k2");
    let ran = fleet.world.json("reconcile").exits(17);
    assert_eq!(row_of(&ran, "web"), "actuate verified");
    assert_eq!(fleet.pass(""), "nothing: nothing is under way");
    assert_eq!(fleet.world.fake_log("effects").len(), 0);
}

#[test]
fn rule_5_2_what_was_lost_is_found_out_about_and_never_called_in_that_pass() {
    // It was applied, and a reading says so.
    let mut fleet = Fleet::plain();
    fleet.world.script(&["garble"]);
    fleet.wish(5, "k1");
    let ran = fleet.world.json("reconcile").exits(16);
    assert_eq!(row_of(&ran, "web"), "actuate recovery_pending");
    assert_eq!(ran.at("/applied"), "unknown");
    assert_eq!(fleet.pass(""), "recover succeeded");
    assert_eq!(fleet.pass(""), "observe verified");
    assert_eq!(fleet.world.fake_log("calls").len(), 1);

    // It was not, and an actuator that takes a key twice could be called at once: only the next
    // pass does.
    let mut fleet = Fleet::plain();
    std::fs::write(
        fleet.world.fake_dir().join("capabilities"),
        "inspect\ndeduplicates_execution_key\n",
    )
    .expect("a file");
    let fake = crate::support::fake_actuator();
    let words = ["actuator", "put", "fake", "--timeout", "5s", "--", "/bin/sh"];
    let words = [&words[..], &[fake.to_str().expect("UTF-8")]].concat();
    fleet.world.run_args(&words).exits(0);
    fleet.world.run("service put web --on-unknown retry_same_key").exits(0);
    fleet.world.script(&["unknown", "ok"]);
    fleet.on_inspect("[ ! -e blind ] || exit 3\n");
    fleet.wish(5, "k1");
    fleet.world.json("reconcile").exits(16);
    std::fs::write(fleet.world.fake_dir().join("blind"), "").expect("a file");
    fleet.later(1);
    let ran = fleet.world.json("reconcile").exits(26);
    assert_eq!(row_of(&ran, "web"), "recover recovery_pending");
    assert_eq!(ran.at("/error/code"), "attention");
    assert_eq!(fleet.world.fake_log("calls").len(), 1, "it was called blindly");
    std::fs::remove_file(fleet.world.fake_dir().join("blind")).expect("it was there");
    assert_eq!(fleet.pass(""), "recover succeeded");

    // What nobody but a person may settle waits for one.
    let fleet = Fleet::plain();
    fleet.world.run("service put web --on-unknown halt").exits(0);
    fleet.world.script(&["unknown"]);
    fleet.wish(5, "k1");
    fleet.world.json("reconcile").exits(26);
    let ran = fleet.world.json("reconcile").exits(26);
    assert_eq!(row_of(&ran, "web"), "recover recovery_pending");
}

#[test]
fn rule_5_2_a_retryable_failure_is_tried_again_when_it_is_due() {
    let mut fleet = Fleet::plain();
    fleet.world.run("service put web --backoff 1m").exits(0);
    fleet.world.script(&["fail retryable busy", "ok"]);
    fleet.wish(5, "k1");
    let ran = fleet.world.json("reconcile").exits(18);
    assert_eq!(row_of(&ran, "web"), "actuate failed");
    assert!(fleet.pass("").starts_with("nothing: web@1 may be tried again at"));
    fleet.later(60);
    assert_eq!(fleet.pass(""), "retry succeeded");
}

/// 4.6: native without an intent, or with one that is over: no action, even where counts differ.
#[test]
fn rule_4_6_what_was_verified_is_not_kept_without_a_declaration() {
    let mut fleet = Fleet::scaled();
    fleet.counts(1);
    assert_eq!(fleet.pass(""), "nothing: nothing is under way");
    fleet.world.run("service bind web").exits(0);
    fleet.wish(5, "k1");
    fleet.settle();
    fleet.counts(1);
    assert_eq!(fleet.pass(""), "nothing: nothing is under way");
    assert_eq!(fleet.world.fake_log("calls").len(), 1);
}

#[test]
fn rule_5_3_3_what_is_stale_by_now_is_not_carried_out() {
    let mut fleet = Fleet::plain();
    fleet.wish(5, "k1");
    // Somebody takes it back after the pass has looked and before it starts.
    fleet.meanwhile("intent withdraw k1");
    let said = fleet.pass("");
    assert!(fleet.world.fake_log("calls").is_empty(), "{said}");
    assert_eq!(fleet.state("k1"), "withdrawn");
    assert_eq!(fleet.pass(""), "nothing: nothing is under way");
}

/// The proposal of a tick is granted, and the other tick carries it out: nothing else does.
#[test]
fn rule_5_5_what_a_colleague_has_granted_is_carried_out_by_the_next_pass() {
    let mut fleet = Fleet::scaled();
    fleet.policy(
        "@id(\"all\")\npermit(principal, action, resource);\n@id(\"no\")\n\
         @unless(\"approved\")\nforbid(principal, action == Action::\"scale_up\", resource);\n",
    );
    assert_eq!(fleet.tick("", 55.0), "intent_proposed 3 → 6");
    assert!(fleet.pass("").starts_with("nothing: web@1 waits for a colleague until"));
    fleet.world.run("approval grant web@1 --reason r").exits(12);
    fleet.world.be("bob:4242");
    fleet.world.run("approval grant web@1 --reason r").exits(0);
    fleet.world.be_oneself();
    assert_eq!(fleet.state("web@1"), "accepted");
    assert!(fleet.world.fake_log("calls").is_empty(), "the grant called");
    assert_eq!(fleet.pass(""), "actuate succeeded");
    assert_eq!(fleet.pass(""), "observe verified");
    // An approval is for one wish: the next one asks again.
    assert_eq!(fleet.tick("", 95.0), "intent_proposed 6 → 10");
}

#[test]
fn rule_5_4_many_passes_at_once_make_one_call() {
    let fleet = Fleet::plain();
    fleet.wish(5, "k1");
    fleet.world.script(&["late 0.3"]);
    let children: Vec<_> =
        (0..6).map(|_| fleet.world.start("-o json reconcile --lock-timeout 30s")).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(fleet.world.fake_log("calls").len(), 1);
    fleet.world.run("verify").exits(0);

    let fleet = Fleet::plain();
    fleet.world.run("service put web --replicas 5").exits(0);
    let children: Vec<_> =
        (0..6).map(|_| fleet.world.start("-o json reconcile --lock-timeout 30s")).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(fleet.intents(), 1);
    assert_eq!(fleet.world.fake_log("calls").len(), 1);
}

#[test]
fn one_bad_service_never_stops_the_rest() {
    let mut fleet = Fleet::plain();
    fleet.wish(5, "k1");
    std::fs::write(fleet.world.fake_dir().join("uid"), "uid-api\n").expect("a file");
    fleet.world.run("service put api --actuator fake --writer ops --max 10 --drain none").exits(0);
    fleet.world.run("intent put api --replicas 3 --key a1 --reason r").exits(0);
    // Its object is another one by now.
    std::fs::remove_file(fleet.world.fake_dir().join("uid")).expect("it was there");
    fleet.later(1);
    let ran = fleet.world.json("reconcile");
    assert_eq!(row_of(&ran, "web"), "actuate succeeded");
    assert_eq!(ran.code, Some(23), "a target was changed: {ran:#?}");
    assert_eq!(ran.at("/error/code"), "target_changed");
    fleet.later(1);
    let ran = fleet.world.json("reconcile").exits(10);
    assert_eq!(row_of(&ran, "web"), "observe verified");
}
