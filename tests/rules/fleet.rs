//! Modes, holds, overrides, adoption, approvals, broken glass and ticks, as rows.

use scalectl::domain::scale::tick::{Skip, TickOutcome};

use super::script::run;
use super::support::World;

/// design, section 4, *Approvals*.
#[test]
fn what_policy_leaves_to_a_colleague_waits_for_one() {
    run(
        "deny=ann:scale_down",
        "put a 2 within=24h : done proposed\n put a 2 within=24h : replayed proposed
         start a : approval_required\n grant a : same_person
         person bob\n grant a : done accepted\n grant a : replayed accepted
         deny-it a : wrong_state
         person ann\n start a\n ok a\n observe a : done verified(converged)",
    );
    // Whoever asks may not ask: that is a no.
    run("deny=ann:scale_down deny=ann:propose", "put a 2 within=24h : denied");
    // Nobody said that it may wait.
    run("deny=ann:scale_down", "put a 2 : denied");
    // A simulation asks nobody.
    run("deny=ann:scale_down", "put a 2 dry within=24h : denied");
    run("deny=scale_down deny=approve", "put a 2 within=1h\n person bob\n grant a : denied");
    // A count that nobody knows cannot be agreed to.
    run("deny=scale_up uncounted", "put a 5 within=1h : count_unknown");
}

#[test]
fn a_no_is_final_and_silence_expires() {
    let denied = "put a 2 within=24h\n person bob\n deny-it a : done rejected";
    run(
        "deny=ann:scale_down",
        &format!(
            "{denied}\n deny-it a : replayed rejected\n grant a : wrong_state\n start a : replayed"
        ),
    );
    run(
        "deny=ann:scale_down",
        "put a 2 within=1h\n wait 1h\n person bob\n grant a : approval_expired
         deny-it a : approval_expired\n person ann\n start a : approval_expired
         put a 2 within=1h : approval_expired\n bind\n put b 2 within=1h : done proposed\n is a superseded",
    );
}

/// An approval holds for the count that it was asked about, and is not used up by a refusal.
#[test]
fn an_approval_holds_for_the_count_that_it_was_asked_about() {
    let asked = "put a 2 within=24h\n person bob\n";
    run("deny=scale_down", &format!("{asked} target 50\n bind\n grant a : approval_moved"));
    run(
        "deny=scale_down match=replicas",
        &format!(
            "{asked} grant a\n target 50\n start a : target_changed\n target 3
             start a : done started"
        ),
    );
    // Nobody has read it lately: the start reads it.
    run("deny=scale_down", &format!("{asked} wait 2m\n grant a : done accepted"));
    // The right of either can be taken away before the start.
    run("deny=scale_down", &format!("{asked} grant a\n set deny=bob:approve\n start a : denied"));
    run("deny=scale_down", &format!("{asked} grant a\n set deny=ann:propose\n start a : denied"));
    // What was asked of other settings is asked again.
    run(
        "deny=scale_down",
        &format!("{asked} set max=20\n register\n grant a : stale_unit_revision"),
    );
}

#[test]
fn a_proposal_ends_only_older_proposals_and_is_ended_by_an_acceptance() {
    run(
        "deny=scale_down",
        "put a 5\n put b 2 within=1h : done proposed\n is a accepted
         put c 1 within=1h : done proposed\n is b superseded\n is a accepted
         put d 6 : done accepted\n is c superseded\n is a superseded",
    );
    run(
        "deny=scale_down",
        "put a 2 within=1h\n actor bob\n put b 5 : others_intent
         put b 5 supersede : done accepted",
    );
    // The grant ends what waits before it.
    run(
        "deny=scale_down",
        "put a 5\n put b 2 within=1h\n person bob\n grant b : done accepted\n is a superseded",
    );
}

#[test]
fn a_fence_that_was_brought_is_held_to_the_mark_at_the_grant() {
    run(
        "deny=scale_down fences=external",
        "put a 2 fence=4.9 within=1h : done proposed\n person bob\n grant a : done accepted
         person ann\n start a : done started",
    );
}

/// design, section 7, *hold*.
#[test]
fn a_hold_refuses_all_but_a_broken_glass() {
    run(
        "",
        "hold 1h : done\n hold 1h : unchanged\n put a 5 : on_hold\n lift : done\n lift : unchanged
         put a 5 : done accepted\n hold 1h\n start a : on_hold\n wait 1h\n start a : fence_expired",
    );
    run("", "hold 1h\n retire : on_hold\n wait 1h\n put a 5 : done accepted\n retire : done");
    run(
        "",
        "hold 1h\n authorize bg-1 5\n put a 5 glass=bg-1 : done accepted\n start a : done started",
    );
    run("deny=override", "hold 1h : denied");
    run("deny=override", "lift : unchanged");
}

/// design, section 4, *Break-glass*: policy, approval, cooldown; and nothing else.
#[test]
fn a_broken_glass_passes_policy_and_cooldown_and_nothing_else() {
    let done = "put a 5\n start a\n ok a\n observe a\n";
    run(
        "cooldown=5m",
        &format!(
            "{done} set deny=scale_up\n authorize bg-1 9\n put b 9 : cooldown
             put b 9 glass=bg-1 : done accepted\n start b : done started\n ok b
             put c 9 glass=bg-1 queue : not_authorized"
        ),
    );
    let glass = "authorize bg-1 5\n";
    run("deny=scale_up", &format!("{glass} put a 6 glass=bg-1 : not_authorized"));
    run("", &format!("{glass} put a 5 glass=bg-9 : not_authorized"));
    run("", &format!("{glass} wait 1h\n put a 5 glass=bg-1 : not_authorized"));
    run("", &format!("{glass} revoke bg-1\n put a 5 glass=bg-1 : not_authorized"));
    run("", &format!("{glass} put a 5 glass=bg-1\n revoke bg-1\n start a : not_authorized"));
    run("", &format!("{glass} put a 5 glass=bg-1\n set deny=break_glass\n start a : denied"));
    run("", &format!("{glass} put z 5\n start z\n put a 5 glass=bg-1 : in_flight"));
    run("", &format!("{glass} put a 5 glass=bg-1 rev=7 : stale_revision"));
    run("", "authorize bg-1 11 : out_of_bounds");
    run("deny=break_glass", "authorize bg-1 5 : denied");
    run("mode=external_hpa no_actuator", "authorize bg-1 5 : external_owner");
    run("", "authorize bg-1 5 valid=25h : contradiction\n authorize bg-1 5 uses=0 : contradiction");
    // Another object under the same name is another target.
    run(
        "",
        &format!(
            "{glass} recreate uid-2\n bind accept=uid-2\n put a 5 glass=bg-1 : not_authorized"
        ),
    );
    // A retry of the same key is the same use.
    run(
        "",
        &format!(
            "{glass} put a 5 glass=bg-1\n start a\n fail a\n wait 10s\n start a : done started"
        ),
    );
    run("drain=required", "authorize bg-1 2 attest\n put a 2 glass=bg-1 attest : done accepted");
    run("drain=required deny=attest", "authorize bg-1 2\n put a 2 glass=bg-1 attest : denied");
}

#[test]
fn a_broken_glass_raises_a_bound_to_what_it_says() {
    run(
        "deny=register unregistered",
        "permit\n register\n set deny=register\n authorize bg-1 20 raise=20
         set max=21\n register glass=bg-1 : not_authorized\n set max=20
         register : denied\n register glass=bg-1 : done\n put a 20 glass=bg-1 : done accepted",
    );
    run(
        "",
        "authorize bg-1 20 raise=20\n set max=20 writer=other
         register glass=bg-1 : not_authorized",
    );
}

#[test]
fn a_broken_glass_is_reviewed_by_somebody_else_once_it_is_over() {
    run(
        "",
        "authorize bg-1 5\n person bob\n review bg-1 : authorization_open
         revoke bg-1 : done\n revoke bg-1 : unchanged\n person ann\n review bg-1 : same_reviewer
         person bob\n review bg-1 : done\n review bg-1 : not_authorized",
    );
    run("deny=approve", "authorize bg-1 5\n wait 1h\n person bob\n review bg-1 : denied");
    run("", "authorize bg-1 5\n authorize bg-1 5 : unchanged");
}

#[test]
fn a_persons_word_passes_policy_by_a_broken_glass() {
    let lost = "put a 5\n start a\n lose a\n wait 1m\n";
    run(
        "deny=settle",
        &format!(
            "{lost} settle a no : denied\n authorize bg-1 5
             settle a no glass=bg-1 : done failed\n wait 1h\n person bob\n review bg-1 : done"
        ),
    );
    run(
        "deny=settle",
        &format!("{lost} authorize bg-1 6\n settle a no glass=bg-1 : not_authorized"),
    );
}

/// design, section 7: a CAS'd hand-over with a fresh baseline.
#[test]
fn the_owner_of_a_count_changes_on_purpose_and_with_a_baseline() {
    run("", "set mode=external_hpa\n register : mode_mismatch");
    run(
        "",
        "put a 5\n hand-over external_hpa expected=7 : stale_unit_revision
         hand-over external_hpa : done\n is a withdrawn\n hand-over external_hpa : unchanged
         put b 5 : external_owner
         hand-over native unread : count_unknown\n hand-over native found=hpa/web : still_owned
         hand-over native kind=h found=x : still_owned\n hand-over native kind=h : owners_unknown
         hand-over native kind=hpa accept : done\n put b 5 : done accepted",
    );
    run("", "put a 5\n start a\n hand-over external_hpa : in_flight");
    run("", "set deny=register\n hand-over external_hpa : denied");
}

#[test]
fn a_quorum_has_no_autoscaler_and_a_scaled_service_no_declared_count() {
    run("quorum", "hand-over external_hpa : contradiction\n hand-over external_keda : done");
    run("scaled=10", "set declared=5\n register : contradiction");
    run("declared=5", "set declared=11\n register : contradiction");
    run("", "set scaled=10 max=100001\n register : contradiction");
    run("", "set scaled=0\n register : contradiction");
    run("", "set scaled=10 cooldown=25h\n register : contradiction");
    run("quorum drain=required evidence", "put a 2\n start a evidence : evidence_missing");
}

/// design, section 7: reality becomes the newest intent, by a reading, with no call.
#[test]
fn what_runs_can_be_taken_for_what_is_wished() {
    run(
        "cooldown=5m readings=5",
        "put z 5\n target 7\n adopt a : done verified(converged)\n is z superseded\n current 7
         adopt a : replayed verified(converged)\n start a : replayed
         put b 8 : done accepted",
    );
    run("", "put a 5\n adopt a : key_conflict\n start a\n adopt b : in_flight");
    run("", "target 11\n adopt a : out_of_bounds");
    run("", "recreate uid-2\n adopt a : target_changed");
    run("", "adopt a id_owner=z : intent_id_conflict");
    run("mode=external_hpa no_actuator", "adopt a : external_owner");
    run("deny=scale_up", "adopt a : denied");
    run("", "put a 5\n actor bob\n adopt b : others_intent\n adopt b supersede : done");
}

#[test]
fn a_service_that_is_over_is_registered_anew() {
    run(
        "",
        "put a 5\n retire : done\n retire : unchanged\n is a withdrawn\n put b 5 : service_retired
         hold 1h : service_retired\n register : done\n put b 5 : done accepted",
    );
    run(
        "",
        "put a 5\n start a\n retire : in_flight\n ok a\n retire : in_flight
         observe a\n retire : done",
    );
    run("deny=register unregistered", "permit\n register\n set deny=register\n retire : denied");
}

#[test]
fn an_override_is_a_wish_that_lasts() {
    run("deny=override", "put a 5 pin=3600 source=override : denied");
    run(
        "scaled=10",
        "put a 5 pin=3600 source=override : done accepted\n start a\n ok a\n observe a
         unpin : done\n unpin : unchanged",
    );
}

/// facts/fleet-authority.md, 5: what failed and asks for a rollback is undone only on purpose.
#[test]
fn a_failure_is_undone_by_the_inverse_wish_in_one_step() {
    run(
        "",
        "put a 5\n start a\n fail a\n put b 3 : in_flight\n put b 3 undo=a : done accepted
         is a verified(failed):abandoned\n start b : done started",
    );
    run("", "put a 5\n start a\n lose a\n put b 3 undo=a : outcome_unknown");
    run("", "put a 5\n put b 3 undo=a : wrong_state\n start a\n put b 3 undo=a : in_progress");
    run("", "put b 3 undo=z : key_not_found");
    run("", "put a 5\n start a\n fail a\n actor bob\n put b 3 undo=a : others_intent");
}

fn outcome(world: &mut World, line: &str) -> TickOutcome {
    let decision = world.decide_line(line).expect("a tick is an answer");
    let evaluation = decision.evaluation.expect("a tick says what it came to").outcome;
    world.line(line).expect("decided before");
    evaluation
}

pub(super) fn skip(world: &mut World, line: &str) -> String {
    match outcome(world, line) {
        TickOutcome::Skipped { because } => because.text(),
        other => other.as_str().to_owned(),
    }
}

/// facts/fleet-authority.md, 4.3, in its order.
#[test]
fn a_tick_walks_its_steps_in_order() {
    let rows = [
        // settings, before, tick, what it comes to
        ("", "", "tick k value=55", "not scaled by a signal"),
        ("scaled=10", "", "tick k value=55 unobserved", "unobserved"),
        ("scaled=10", "", "tick k value=55 down", "down"),
        ("scaled=10", "", "tick k", "no data: missing"),
        ("scaled=10", "", "tick k value=55 other-signal", "no data: mismatched"),
        ("scaled=10", "", "tick k value=55 age=121s", "no data: stale"),
        ("scaled=10", "", "tick k value=55 ahead=31s", "no data: future"),
        ("scaled=10", "tick j value=30 : evaluated", "tick k value=55", "no data: consumed"),
        ("scaled=10 mode=external_hpa no_actuator", "", "tick k value=55", "reported"),
        (
            "scaled=10",
            "put a 3 pin=3600 source=override\nstart a\nok a\nobserve a\nwait 1s",
            "tick k value=55",
            "operator replica override is authoritative",
        ),
        ("scaled=10", "", "tick k value=31", "within the deadband"),
        ("scaled=10", "put a 5", "tick k value=55", "accepted: awaiting execution or observation"),
        (
            "scaled=10",
            "put a 5\nstart a",
            "tick k value=55",
            "started: awaiting execution or observation",
        ),
        (
            "scaled=10",
            "put a 5\nstart a\nlose a",
            "tick k value=55",
            "recovery_pending: awaiting execution or observation",
        ),
        ("scaled=10", "put a 6\nsimulate a", "tick k value=55", "the same wish was simulated"),
        ("scaled=10", "put a 5\nsimulate a", "tick k value=55", "intent_accepted"),
        ("scaled=10 max=100", "", "tick k value=55 budget=0.15", "the budget allows no more"),
        ("scaled=10 min=3", "", "tick k value=25", "at target"),
        ("scaled=10", "", "tick k value=15", "stabilizing down (1/3)"),
        ("scaled=10", "hold 1h", "tick k value=55", "held by a person"),
        (
            "scaled=10 deny=scale_up deny=propose",
            "",
            "tick k value=55",
            "policy does not let ann scale_up web from 3 to 6",
        ),
        ("scaled=10 deny=scale_up", "", "tick k value=55", "intent_proposed"),
        ("scaled=10", "", "tick k value=55", "intent_accepted"),
    ];
    for (settings, before, line, comes_to) in rows {
        let mut world = run(settings, before);
        assert_eq!(skip(&mut world, line), comes_to, "{settings} | {before} | {line}");
    }
}

/// A sample is used up whatever comes after; a streak is durable, and ends where nothing is known.
#[test]
fn a_streak_is_durable_and_ends_where_nothing_is_known() {
    let mut world = run("scaled=10", "");
    for (line, comes_to) in [
        ("tick k value=15", "stabilizing down (1/3)"),
        ("tick k value=15", "no data: consumed"),
        ("tick k value=15 ahead=1s", "stabilizing down (1/3)"),
        ("tick k value=15 ahead=2s", "stabilizing down (2/3)"),
        ("tick k value=55 ahead=3s deny", "intent_accepted"),
    ] {
        assert_eq!(skip(&mut world, line), comes_to, "{line}");
    }
    let mut world = run("scaled=10", "");
    for (line, comes_to) in [
        ("tick k value=15", "stabilizing down (1/3)"),
        ("tick k value=15 ahead=1s", "stabilizing down (2/3)"),
        ("tick k value=15 ahead=2s", "intent_accepted"),
    ] {
        assert_eq!(skip(&mut world, line), comes_to, "{line}");
    }
    assert_eq!(world.state_of("k"), "accepted");
}

/// facts/fleet-authority.md, 4.4: cooldown both ways, and a tick never passes a gate.
#[test]
fn a_tick_waits_for_the_cooldown() {
    let mut world = run("scaled=10 cooldown=5m", "put a 5\nstart a\nok a\nobserve a\nwait 1m");
    match outcome(&mut world, "tick k value=90") {
        TickOutcome::Skipped { because: Skip::Refused { code, .. } } => {
            assert_eq!(code, "cooldown");
        }
        other => panic!("{other:?}"),
    }
    world.run("wait 4m");
    assert_eq!(skip(&mut world, "tick k value=90"), "intent_accepted");
}

/// design, ruling 9.
#[test]
fn what_nobody_looks_at_never_ends_what_a_person_asked_for() {
    run("deny=scale_down", "put a 2 within=1h\n put b 5 source=gateway supersede : others_intent");
    run("", "put a 5 source=gateway\n put b 6 source=gateway : done accepted");
}
