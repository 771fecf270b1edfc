//! The gates, one by one (design, section 4).

use scalectl::domain::scale::rejection::{MissingFact, Rejection};

use super::script::run;

#[test]
fn the_registration_is_a_premise_of_every_wish() {
    run(
        "",
        "set max=20\n register expected=7 : stale_unit_revision\n register expected=1
         register expected=9 : unchanged
         record a 5 unit=1 : stale_unit_revision\n record a 5 unit=2 : done accepted
         set max=21\n register\n start a : stale_unit_revision\n simulate a : stale_unit_revision",
    );
    run("", "record a 5 workload=api : target_changed\n record a 5 uid=uid-9 : target_changed");
    run("", "record a 5 version=v9 : target_changed");
    run("match=replicas", "record a 5 version=v9 : done accepted");
    run("", "set min=5 max=4\n register : contradiction");
    run("", "set no_actuator\n register : contradiction");
    run("deny=register unregistered", "register : denied");
}

#[test]
fn who_acts_and_on_what_does_not_change_under_a_call() {
    for setting in ["writer=other", "workload=api"] {
        run("", &format!("put a 5\n start a\n set {setting}\n register : in_flight"));
        run("", &format!("put a 5\n set {setting}\n register : done"));
    }
    run("", "put a 5\n start a\n set max=20\n register : done");
    run("", "put a 5\n start a\n recreate uid-2\n bind accept=uid-2 : in_flight");
    run("", "put a 5\n start a\n recreate uid-2\n set max=20\n register : target_changed");
}

#[test]
fn a_recreated_target_is_accepted_by_name_and_ends_what_was_put_for_the_old_one() {
    run(
        "",
        "put a 5\n recreate uid-2\n bind : target_changed\n bind accept=uid-9 : target_changed
         start a : target_changed
         bind accept=uid-2 : done\n bind accept=uid-2 : unchanged\n start a : stale_unit_revision
         put b 5 : done accepted\n start b : done started",
    );
}

/// Whoever looked at one attempt has not looked at the next.
#[test]
fn a_word_about_another_attempt_settles_nothing() {
    run(
        "",
        "put a 5\n start a\n lose a\n wait 2m\n settle a no attempt=2 : wrong_state
         is a recovery_pending(unknown)\n settle a no attempt=1 : done",
    );
}

/// What was bound by a later look is not taken back by one that began before it.
#[test]
fn a_reading_that_a_newer_binding_has_overtaken_is_taken_again() {
    run(
        "readings=3",
        "put a 5\n start a\n ok a\n wait 10s\n churn\n bind : done
         observe a overlapped early=1 : stale_reading
         observe a overlapped : done\n is a observed",
    );
    // What was not overtaken is as good as ever, also where a clock was ahead.
    run("", "put a 5\n start a\n ok a\n wait 10s\n churn\n bind : done\n observe a early=1 : done");
    run(
        "",
        "put a 5\n start a\n lose a\n wait 2m\n churn\n bind : done\n wait 1s
         settle a reading overlapped early=5 : stale_reading\n settle a reading overlapped : done",
    );
}

#[test]
fn of_two_bindings_that_overlapped_the_one_that_began_later_holds() {
    run(
        "",
        "wait 10s\n target 4\n bind : done
         target 3\n bind overlapped early=1 : unchanged
         put a 5 count=4 : done accepted",
    );
    run("", "wait 10s\n target 4\n bind : done\n target 3\n bind overlapped : done");
    // A clock that was ahead holds nobody up who began after that was recorded.
    run("", "wait 10s\n target 4\n bind : done\n target 3\n bind early=1 : done");
    // Another object is looked at again.
    run("", "wait 10s\n bind : done\n recreate u2\n bind overlapped early=1 : stale_reading");
    run(
        "",
        "wait 10s\n bind\n recreate u2\n bind overlapped early=1 accept=u2 : stale_reading
         bind accept=u2 : done",
    );
}

#[test]
fn the_owner_of_the_count_decides() {
    run("mode=external_hpa no_actuator", "put a 5 : external_owner");
    run("mode=external_keda no_actuator", "put a 5 dry : external_owner");
    run("", "record a 5 mode=delegated : mode_mismatch");
    run("mode=delegated", "record a 5 mode=delegated : done accepted\n start a : done started");
    run("", "put a 5\n hand-over external_hpa\n start a : replayed withdrawn");
    run("", "record a 5 writer=other : not_writer\n put b 5\n simulate b as=other : not_writer");
}

#[test]
fn the_count_is_within_its_bounds() {
    run("min=2 max=4", "put a 1 : out_of_bounds\n put a 5 : out_of_bounds\n put a 2\n put b 4");
    run("min=2 max=4", "record a 5 : out_of_bounds");
}

#[test]
fn the_target_at_the_call_is_the_target_of_the_wish() {
    for (settings, change, code) in [
        ("match=version", "churn", "target_changed"),
        ("match=generation", "churn", "target_changed"),
        ("match=replicas", "churn", "done"),
        ("match=replicas", "target 4", "target_changed"),
        ("match=replicas", "recreate uid-2", "target_changed"),
        ("match=version", "churn\n bind", "target_changed"),
    ] {
        run(settings, &format!("put a 5\n {change}\n start a : {code}"));
    }
    // A retry answers to what is known since: the first attempt may have moved it.
    run(
        "",
        "put a 5\n start a\n lose a applied 4\n fence a\n settle a reading\n wait 5s\n start a",
    );
    run(
        "",
        "put a 5\n start a\n lose a\n wait 60s\n settle a reading\n wait 5s\n target 4
         start a : target_changed",
    );
}

#[test]
fn a_count_that_can_be_read_must_be_read() {
    run(
        "",
        "put a 5\n start a unreadable=timeout : count_unknown\n start a unread : count_unknown",
    );
    run("blind", "put a 5\n start a : done started");
}

#[test]
fn a_count_that_was_read_before_something_happened_is_read_again() {
    // Another process has made an attempt meanwhile, or this one has slept.
    run(
        "",
        "put a 5\n start a stale : stale_reading accepted\n start a read_ago=61s : stale_reading
         start a read_ago=60s : done started",
    );
    run("blind", "put a 5\n start a stale : done started");
    // A reading from before the quiet was over may have missed the late effect of the lost call.
    run(
        "on_unknown=retry_same_key dedupes quiet=10s",
        "put a 5\n start a\n lose a\n wait 10s\n start a read_ago=1s : stale_reading
         start a : done started",
    );
}

#[test]
fn cooldown_counts_from_the_last_change_in_both_directions() {
    run(
        "cooldown=300s",
        "put a 5\n start a\n ok a\n observe a
         put b 6 : cooldown\n put b 4 : cooldown
         wait 299s\n bind\n put b 6 : cooldown
         wait 1s\n bind : ?\n put b 6 : done accepted\n start b : done started",
    );
    run("cooldown=300s", "put a 5\n start a\n fail a\n wait 5s\n start a : done started");
    run("cooldown=300s", "put a 5\n start a\n fatal a\n put b 6 : done accepted");
    run("cooldown=300s", "put a 5\n start a\n fatal a read=4\n put b 6 : cooldown");
    run("cooldown=300s", "put a 5\n start a\n ok a 4\n put b 6 : cooldown");
    run("cooldown=300s", "put a 5\n simulate a\n put b 6 : done accepted");
}

#[test]
fn a_change_that_came_late_cools_too() {
    run(
        "cooldown=300s",
        "put a 5\n start a\n lose a\n wait 60s\n settle a never\n ok a : late failed!
         abandon a\n put b 6 : cooldown",
    );
}

#[test]
fn a_partly_applied_change_cools_others_but_not_its_own_retry() {
    run(
        "cooldown=300s",
        "put a 5\n start a\n lose a applied 4\n fence a\n settle a reading : done failed!
         put b 6 queue : cooldown\n wait 5s\n start a : done started!",
    );
}

#[test]
fn an_unknown_change_makes_the_cooldown_unknown_and_a_queued_wish_waits_for_it() {
    run(
        "cooldown=300s",
        "put a 5\n start a\n put s 6 dry : cooldown_unknown
         put b 6 queue : done accepted\n lose a\n put c 7 queue : done accepted
         wait 60s\n settle a reading\n abandon a\n start c : done started",
    );
    run(
        "cooldown=300s",
        "put a 5\n start a\n put b 6 queue\n ok a\n observe a\n start b : cooldown",
    );
}

#[test]
fn cooldown_yields_to_the_permission_to_pass_it() {
    run(
        "cooldown=300s",
        "put a 5\n start a\n ok a\n observe a\n put b 6 override\n start b override",
    );
    run(
        "cooldown=300s deny=override_cooldown",
        "put a 5\n start a\n ok a\n observe a\n put b 6 override : cooldown",
    );
}

#[test]
fn a_reduction_needs_evidence() {
    run("drain=required", "put a 2 : evidence_missing\n put b 3 : done accepted");
    run("drain=required drains_itself", "put a 2\n start a : done started");
    run("drain=required", "put a 5\n start a : done started");
    run("drain=none", "put a 2\n start a : done started");
    // An unknown count is taken for a reduction.
    run("drain=required", "wait 60s\n put a 5 : evidence_missing");
    run("drain=required evidence", "put a 2\n start a : evidence_missing\n start a evidence");
}

/// A quorum that is required is vouched for by evidence that says so, and by nothing else.
#[test]
fn a_quorum_is_vouched_for_by_evidence_alone() {
    for settings in ["drain=required", "drain=none", "drain=required drains_itself"] {
        let blind = format!("quorum {settings}");
        run(&blind, "put a 2 : evidence_missing\n put a 2 attest : evidence_missing");
        let seen = format!("quorum {settings} evidence");
        for (words, code) in [
            ("", "evidence_missing"),
            ("attest", "evidence_missing"),
            ("evidence", "evidence_missing"),
            ("evidence attest", "evidence_missing"),
            ("evidence evidence_no_quorum", "evidence_missing"),
            ("evidence evidence_quorum", "done"),
        ] {
            run(&seen, &format!("put a 2\n start a {words} : {code}"));
        }
        run(&blind, "put a 5\n start a : done started");
    }
}

/// Who cannot be asked, who has said nothing this time, and who has said no: each has a way.
#[test]
fn a_quorum_that_nobody_vouches_for_is_a_fact_of_its_own() {
    for (settings, script, may_come) in [
        ("quorum", "put a 2", Some(false)),
        ("quorum", "put a 2 attest", Some(false)),
        ("quorum evidence", "put a 2\nstart a", Some(true)),
        ("quorum evidence", "put a 2\nstart a attest", Some(true)),
        ("quorum evidence", "put a 2\nstart a evidence", Some(false)),
        ("quorum evidence", "put a 2\nstart a evidence evidence_no_quorum", None),
        ("drain=required", "put a 2", None),
    ] {
        let (setup, last) = script.rsplit_once('\n').unwrap_or(("", script));
        let told = match run(settings, setup).line(last).expect_err(last) {
            Rejection::FactUnknown { fact: MissingFact::Quorum { may_come }, .. } => Some(may_come),
            Rejection::FactUnknown { .. } => None,
            other => panic!("{other}"),
        };
        assert_eq!(told, may_come, "{settings} | {script}");
    }
}

#[test]
fn evidence_says_all_of_it_or_nothing() {
    for (words, code) in [
        ("evidence", "done"),
        ("evidence evidence_busy", "evidence_missing"),
        ("evidence evidence_unstable", "evidence_missing"),
        ("evidence_version=v9", "evidence_missing"),
        ("evidence_count=9", "evidence_missing"),
        ("evidence_left=1", "evidence_missing"),
        ("evidence evidence_no_quorum", "evidence_missing"),
        ("evidence_age=60s", "done"),
        ("evidence_age=61s", "evidence_missing"),
        // A person vouches for what is drained and stabilized, for nothing else.
        ("evidence evidence_busy attest", "done"),
        ("evidence evidence_unstable attest", "done"),
        ("evidence_version=v9 attest", "evidence_missing"),
        ("evidence_count=9 attest", "evidence_missing"),
        ("evidence_left=1 attest", "evidence_missing"),
        ("evidence evidence_no_quorum attest", "evidence_missing"),
        ("evidence_age=61s attest", "evidence_missing"),
        ("attest", "done"),
    ] {
        run("drain=required evidence", &format!("put a 2\n start a {words} : {code}"));
    }
    run("drain=required evidence blind", "put a 2\n start a attest : evidence_missing");
    run(
        "drain=required evidence blind",
        "put a 2\n start a evidence_version=v9 : evidence_missing",
    );
    run("drain=required evidence blind", "put a 2\n start a evidence : done");
}

#[test]
fn whoever_vouches_needs_the_permission_to() {
    run("drain=required", "put a 2 attest : done accepted\n start a attest : done started");
    run("drain=required deny=attest", "put a 2 attest : denied");
    run(
        "drain=required evidence deny=bob:attest",
        "put a 2\n actor bob\n start a attest : denied\n actor ann\n start a attest : done",
    );
}

#[test]
fn policy_is_asked_at_put_and_again_at_the_call() {
    run("deny=scale_up", "put a 5 : denied\n put a 2 : done accepted");
    run("deny=scale_down", "put a 2 : denied\n put a 5\n put b 3 : done accepted");
    run("deny=scale_to_zero", "put a 0 : denied\n put a 1 : done accepted");
    // An unknown count asks for both directions.
    run("deny=scale_up", "wait 60s\n put a 2 : denied");
    run("deny=scale_down", "wait 60s\n put a 5 : denied");
    run(
        "",
        "put a 5\n set deny=scale_up\n start a : denied\n simulate a : denied\n permit\n start a",
    );
    // The proposer is asked about, whoever carries it out.
    run("deny=bob:scale_up", "put a 5\n actor bob\n start a : done started");
}

#[test]
fn a_fence_that_is_born_dead_is_refused() {
    run("", "put a 5 valid=0ms : fence_expired");
}
