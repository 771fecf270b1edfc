//! What became of a call: unknown outcomes, settlements, late results (design, sections 3 and 13).

use super::script::run;

#[test]
fn an_unknown_outcome_waits_for_its_end_and_its_quiet() {
    run(
        "quiet=60s",
        "put a 5\n start a\n lose a : done recovery_pending(unknown)
         start a : outcome_unknown\n observe a : outcome_unknown
         settle a reading : quiet_time
         wait 59s\n settle a reading : quiet_time\n settle a no : quiet_time
         wait 1s\n settle a reading : done failed",
    );
    // Elsewhere: the wall deadline and 300 s, then the quiet.
    run(
        "quiet=60s",
        "put a 5 valid=3h\n start a\n lose a elsewhere
         wait 419s\n settle a reading : quiet_time
         wait 1s\n settle a reading : done failed",
    );
    run(
        "quiet=60s",
        "put a 5\n start a\n lose a elsewhere\n prove a\n prove a : unchanged
         wait 60s\n settle a reading : done failed",
    );
    // The end may also be proved by whoever comes late with the loss.
    let world = run(
        "quiet=60s",
        "put a 5\n start a\n lose a elsewhere\n lose a elsewhere rollback : unchanged
         lose a rollback : done\n lose a rollback : unchanged\n lose a : unchanged
         wait 60s\n settle a reading : done failed",
    );
    assert!(world.execution("a").rollback_required);
    run(
        "",
        "put a 5\n start a\n lose a\n fence a\n fence a : unchanged\n settle a reading : done failed",
    );
}

#[test]
fn a_reading_settles_only_if_it_began_after_the_quiet() {
    run(
        "quiet=60s",
        "put a 5\n start a\n lose a\n wait 60s
         settle a early_reading : stale_reading
         settle a reading stale : stale_reading
         settle a reading : done failed",
    );
}

/// The effect may have come between the reading and whatever was recorded after it. No clock says
/// so: all of this happens at one instant.
#[test]
fn a_reading_from_before_a_call_its_end_or_its_fence_settles_nothing() {
    run(
        "quiet=60s",
        "put a 5\n start a\n lose a applied\n target 3\n fence a
         settle a reading began=0 : stale_reading\n settle a reading began=2 : stale_reading
         settle a reading : done recovery_pending(unknown)",
    );
    run(
        "quiet=0ms",
        "put a 5\n start a\n lose a elsewhere\n prove a
         settle a reading began=0 : stale_reading\n settle a reading began=1 : stale_reading
         settle a reading began=2 : stale_reading\n settle a reading : done failed",
    );
}

#[test]
fn the_count_after_the_end_tells_what_happened() {
    run("", "put a 5\n start a\n lose a applied\n wait 60s\n settle a reading : done succeeded");
    run("", "put a 5\n start a\n lose a\n wait 60s\n settle a reading : done failed");
    run(
        "",
        "put a 5\n start a\n lose a applied 4\n wait 60s
         settle a reading : done recovery_pending(unknown)
         fence a\n settle a reading : done failed!",
    );
    run(
        "",
        "put a 5\n start a\n lose a applied\n recreate uid-2\n wait 60s
         settle a reading : done recovery_pending(unknown)",
    );
    run("", "put a 5\n start a\n lose a\n settle a never : done failed");
    run("", "put a 5\n start a\n lose a\n settle a applied : done succeeded");
}

#[test]
fn a_partly_applied_attempt_is_tried_again_and_its_success_clears_the_drift() {
    run(
        "readings=1",
        "put a 5\n start a\n lose a applied 4\n fence a\n settle a reading : done failed!
         wait 5s\n start a : done started!\n ok a : done succeeded
         observe a unread : done verified(converged)",
    );
    run(
        "tries=1",
        "put a 5\n start a\n lose a applied 4\n fence a
         settle a reading : done verified(failed):exhausted!",
    );
}

#[test]
fn the_last_attempt_stays_unknown_until_it_is_settled() {
    for (way, end) in [
        ("applied", "succeeded"),
        ("never", "verified(failed):exhausted"),
        ("reading", "verified(failed):exhausted"),
        ("no", "verified(failed):exhausted"),
    ] {
        run(
            "tries=1 on_unknown=retry_same_key dedupes",
            &format!(
                "put a 5 valid=3h\n start a\n lose a\n wait 10m
                 start a : outcome_unknown\n acquire a : outcome_unknown
                 settle a {way} : done {end}"
            ),
        );
    }
}

#[test]
fn the_same_key_is_called_again_only_where_that_is_declared() {
    run(
        "on_unknown=retry_same_key dedupes blind",
        "put a 5\n start a\n lose a\n start a : outcome_unknown\n wait 60s
         start a : done started\n ok a : done succeeded",
    );
    run(
        "on_unknown=retry_same_key",
        "put a 5\n start a\n lose a\n wait 60s\n start a : outcome_unknown",
    );
    run("dedupes", "put a 5\n start a\n lose a\n wait 60s\n start a : outcome_unknown");
    run(
        "on_unknown=halt dedupes",
        "put a 5\n start a\n lose a\n wait 60s\n start a : outcome_unknown
         settle a never : outcome_unknown\n settle a reading : outcome_unknown
         settle a no : done failed",
    );
}

#[test]
fn a_person_settles_with_a_matching_reading_or_as_not_applied() {
    run(
        "",
        "put a 5\n start a\n lose a applied\n wait 60s
         settle a yes_unread : reading_missing
         settle a yes : done succeeded
         settle a yes : replayed
         observe a : done verified(converged)",
    );
    run("", "put a 5\n start a\n lose a\n wait 60s\n settle a yes : reading_differs");
    run(
        "deny=settle",
        "put a 5\n start a\n lose a\n wait 60s\n settle a no : denied\n permit\n settle a no : done failed
         settle a no : replayed failed",
    );
    run("", "put a 5\n settle a no : wrong_state\n start a\n settle a no : in_progress");
}

#[test]
fn a_success_that_a_person_settled_says_so() {
    let world = run(
        "readings=1",
        "put a 5\n start a\n lose a applied\n wait 60s\n settle a yes\n observe a unread",
    );
    let observation = world.execution("a").observation.as_ref().expect("it is verified");
    assert_eq!(format!("{:?}", observation.source), "Attested");
}

#[test]
fn a_late_result_is_kept_and_never_applied() {
    run(
        "",
        "put a 5\n start a\n lose a\n wait 60s\n settle a reading : done failed
         fail a detail=other : late failed
         ok a : late failed!",
    );
    run(
        "",
        "put a 5\n start a\n fail a\n fail a : replayed failed\n wait 5s\n start a
         fail a attempt=1 : replayed started
         ok a\n fail a attempt=1 : late succeeded
         lose a : unchanged succeeded\n nostart a : unchanged succeeded
         late a attempt=1 : late succeeded!",
    );
    run("", "put a 5\n late a : lease_lost\n start a\n late a attempt=2 : lease_lost");
    run("", "put a 5\n start a\n ok a 4 : done verified(failed):mismatch!\n late a 4 : replayed");
}

#[test]
fn a_result_that_arrives_before_a_settlement_is_applied() {
    run("", "put a 5\n start a\n lose a\n ok a : done succeeded");
    run("", "put a 5 valid=3h\n start a\n wait 1h\n ok a : done succeeded");
    run("", "put a 5\n start a\n lose a\n lose a : unchanged recovery_pending(unknown)");
}

#[test]
fn a_result_under_a_replaced_lease_is_evidence() {
    run(
        "on_unknown=retry_same_key dedupes quiet=0ms",
        "put a 5 valid=3h\n start a\n lose a\n wait 10m\n acquire a : done
         ok a : late recovery_pending(unknown)",
    );
}

#[test]
fn an_answer_that_cannot_be_one_is_unknown() {
    run("", "put a 5\n start a\n garble a : done recovery_pending(unknown)");
    run("", "put a 5\n start a\n ok a for=b : done recovery_pending(unknown)");
    run("", "put a 5\n start a\n lose a\n settle a simulated : outcome_unknown");
    run("", "put a 5\n start a\n lose a\n settle a applied for=b : outcome_unknown");
    run("", "put a 5\n start a\n lose a\n garble a : unchanged");
}

/// A call that never ran says nothing of the unknown one before it; what that one may have left is
/// not the base of the next.
#[test]
fn what_an_unknown_attempt_did_stays_unknown_when_the_next_one_never_ran() {
    let repeats = "on_unknown=retry_same_key dedupes quiet=0ms match=replicas tries=2";
    run(
        &format!("{repeats} blind"),
        "put a 5\n start a\n lose a applied\n start a\n nostart a : done recovery_pending(unknown)
         start a : outcome_unknown\n abandon a : wrong_state
         settle a applied : done succeeded",
    );
    run(
        repeats,
        "put a 5\n start a\n lose a applied 4\n settle a reading : done recovery_pending(unknown)
         start a\n lose a : done recovery_pending(unknown)
         settle a reading : done recovery_pending(unknown)",
    );
    run(
        repeats,
        "put a 5\n start a\n lose a\n start a\n lose a
         settle a reading : done verified(failed):exhausted",
    );
}

/// 17 says that nothing has changed.
#[test]
fn a_failure_that_has_changed_the_target_is_diverged_and_not_failed() {
    use scalectl::domain::scale::rejection::Class;
    use scalectl::domain::scale::standing::of_step;
    let partly = "put a 5\n start a\n lose a applied 4\n fence a\n settle a reading";
    let late = "put a 5\n start a\n lose a\n wait 60s\n settle a no\n late a";
    for (script, class) in [
        (partly, Class::Diverged),
        (late, Class::Diverged),
        ("put a 5\n start a\n ok a 4", Class::Diverged),
        ("put a 5\n start a\n fail a", Class::Failed),
    ] {
        let mut world = run("tries=1", "");
        script.lines().for_each(|line| drop(world.line(line.trim())));
        assert_eq!(of_step(world.execution("a")), Some(class), "{script}");
    }
}
