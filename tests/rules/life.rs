//! Every arrow of the life of an intent (design, section 3).

use super::script::run;

#[test]
fn a_wish_is_carried_out_and_verified_by_readings() {
    run(
        "",
        "put a 5 : done accepted
         observe a : wrong_state
         start a : done started
         observe a : in_progress
         ok a : done succeeded
         observe a unread : reading_missing
         observe a : done verified(converged)
         start a : replayed
         observe a : replayed verified(converged)",
    );
}

#[test]
fn where_nobody_can_read_the_actuators_word_is_enough() {
    run(
        "readings=1 blind",
        "put a 5\n start a\n ok a\n observe a unread : done verified(converged)",
    );
}

#[test]
fn readings_count_in_a_row_and_a_different_one_starts_again() {
    run(
        "readings=3",
        "put a 5\n start a\n ok a : done succeeded
         observe a : done observed
         target 4
         observe a : done succeeded!
         target 5
         observe a : done observed
         observe a stale : stale_reading
         observe a : done observed
         observe a : done verified(converged)",
    );
}

#[test]
fn not_yet_ready_counts_resets_and_marks_nothing() {
    run(
        "readings=2 ready=3",
        "put a 5\n start a\n ok a
         ready 4
         observe a : done succeeded
         ready 5
         observe a : done verified(converged)",
    );
    run(
        "readings=2 ready=3 converge_on=declared",
        "put a 5\n start a\n ok a\n ready 4\n observe a : done verified(converged)",
    );
}

#[test]
fn another_object_under_the_same_name_never_confirms() {
    run("", "put a 5\n start a\n ok a\n recreate uid-2\n observe a : done succeeded!");
}

#[test]
fn a_retryable_failure_waits_and_starts_again_under_the_same_key() {
    run(
        "backoff=5s",
        "put a 5\n start a
         fail a : done failed
         observe a : replayed failed
         start a : retry_later
         wait 5s
         start a : done started
         ok a : done succeeded
         observe a : done verified(converged)",
    );
}

#[test]
fn a_failure_ends_when_nothing_can_try_it_again() {
    run("tries=1", "put a 5\n start a\n fail a : done verified(failed):exhausted");
    run("", "put a 5\n start a\n fatal a : done verified(failed):terminal");
    run("", "put a 5\n start a\n ok a 4 : done verified(failed):mismatch!");
    run(
        "",
        "put a 5\n start a\n fail a\n abandon a : done verified(failed):abandoned
         abandon a : unchanged",
    );
    run(
        "",
        "put a 5 valid=2m\n start a\n fail a : done failed\n wait 2m
         start a : fence_expired
         observe a : done verified(failed):fenceover",
    );
    run("", "put a 5 valid=2m\n start a\n wait 2m\n fail a : done verified(failed):fenceover");
    run(
        "",
        "put a 5 valid=2m\n start a\n fail a : done failed\n wait 2m
         put b 6 : done accepted\n is a verified(failed):fenceover",
    );
    run("", "put a 5\n start a\n nostart a : done failed\n wait 5s\n start a : done started");
}

#[test]
fn only_acceptance_supersedes_and_only_what_has_not_started() {
    run(
        "",
        "put a 5\n put b 6 : done accepted\n is a superseded
         start a : replayed
         start b : done started",
    );
    run(
        "",
        "put a 5\n start a\n ok a\n bind : ?\n put b 6 : done accepted
         is a superseded(unconfirmed)",
    );
    run(
        "readings=3",
        "put a 5\n start a\n ok a\n target 4\n observe a : done succeeded!
         put b 6 : done accepted\n is a superseded(drifted)!",
    );
    run(
        "readings=3",
        "put a 5\n start a\n ok a\n observe a : done observed\n put b 6\n
         is a superseded(unconfirmed)",
    );
}

#[test]
fn starting_is_exclusive_and_wishing_is_not() {
    run(
        "",
        "put a 5\n start a
         put b 6 : in_flight
         put b 6 queue : done accepted
         start b : waits_behind
         put c 7 queue : done accepted\n is b superseded
         ok a\n observe a : done verified(converged)
         start c : done started",
    );
}

#[test]
fn what_was_put_behind_a_call_answers_to_what_that_call_left() {
    for settings in ["match=version", "match=generation", "match=replicas"] {
        run(
            settings,
            "put a 5\n start a\n put b 6 queue\n ok a\n observe a
             start b : done started\n ok b\n observe b : done verified(converged)",
        );
        run(
            settings,
            "put a 5\n start a\n put b 6 queue\n ok a\n observe a
             target 9\n start b : target_changed",
        );
    }
}

/// What a lost call of ours has left is no change by somebody else: neither its own next attempt nor
/// what waits behind it is held to a version from before. The uid still is, and so is a later
/// reading.
#[test]
fn nobody_is_held_to_what_our_own_lost_call_has_moved() {
    for settings in ["match=version", "match=generation", "match=replicas"] {
        let lost = "put a 5\n start a\n put b 6 queue\n lose a applied\n wait 60s
            settle a applied\n wait 5s";
        run(settings, &format!("{lost}\n start b : done started"));
        run(settings, &format!("{lost}\n recreate other\n start b : target_changed"));
        run(settings, &format!("{lost}\n bind\n target 9\n start b : target_changed"));
        let fenced = "put a 5\n start a\n lose a\n fence a\n churn\n settle a never\n wait 5s";
        run(settings, &format!("{fenced}\n start a : done started"));
        run(settings, &format!("{fenced}\n bind\n target 9\n start a : target_changed"));
    }
}

#[test]
fn a_queued_intent_overtakes_a_retryable_failure() {
    run(
        "",
        "put a 5\n start a\n put b 6 queue\n fail a : done failed
         wait 5s\n start a : waits_behind
         start b : done started\n is a verified(failed):overtaken",
    );
}

#[test]
fn an_unconfirmed_success_ends_when_the_queued_intent_starts() {
    run(
        "",
        "put a 5\n start a\n put b 6 queue\n ok a : done succeeded
         start b : done started\n is a superseded(unconfirmed)
         ok b\n observe b : done verified(converged)
         observe a : replayed superseded(unconfirmed)",
    );
    run(
        "readings=3",
        "put a 5\n start a\n put b 6 queue\n ok a\n observe a : done observed
         target 4\n observe a : done succeeded!\n target 5\n bind : ?
         start b : done started\n is a superseded(drifted)!",
    );
}

#[test]
fn a_withdrawn_queued_intent_leaves_the_older_one_its_retries() {
    run(
        "",
        "put a 5\n start a\n put b 6 queue\n fail a : done failed\n wait 5s
         withdraw b : done withdrawn
         start a : done started\n ok a\n observe a : done verified(converged)",
    );
    run(
        "",
        "put a 5\n start a\n put b 6 queue\n fail a : done failed\n wait 5s
         simulate b : done verified(simulated)
         start a : done started",
    );
    // Another epoch is another leader's: the older fence is lost, whoever else gave up.
    run(
        "",
        "put a 5\n start a\n put b 6 queue fence=2.1\n fail a : done failed\n wait 5s
         withdraw b\n start a : fence_lost\n abandon a",
    );
}

#[test]
fn a_wish_is_withdrawn_before_it_starts_and_not_after() {
    run("", "put a 5\n withdraw a : done withdrawn\n withdraw a : unchanged\n start a : replayed");
    run("", "put a 5\n start a\n withdraw a : wrong_state\n abandon a : wrong_state");
    run("", "put a 5\n start a\n fail a\n withdraw a : wrong_state");
    run("", "put a 5\n abandon a : wrong_state");
    run("", "put a 5\n start a\n lose a\n withdraw a : wrong_state\n abandon a : wrong_state");
    run("", "put a 5\n start a\n ok a\n withdraw a : wrong_state\n abandon a : wrong_state");
}

#[test]
fn a_declared_simulation_takes_no_part_in_the_life_of_its_service() {
    let world = run(
        "",
        "put a 5\n put s 9 dry : done accepted\n is a accepted
         start s : simulated_key
         acquire s : simulated_key
         simulate s : done verified(simulated)
         simulate s : replayed
         start s : simulated_key
         put s 9 dry : replayed
         put s 9 : simulated_key
         start a : done started
         put t 9 dry : done accepted
         simulate t : done verified(simulated)
         simulate a : live_key
         ok a\n observe a : done verified(converged)
         put b 6 rev=1 : done accepted",
    );
    assert!(world.execution("s").intent.wish.intent_id.as_str().starts_with("scale-intent-dry:"));
}

#[test]
fn a_live_wish_that_was_simulated_keeps_its_number_and_ends() {
    run(
        "",
        "put a 5\n simulate a : done verified(simulated)\n start a : simulated_key
         put a 5 : simulated_key\n put b 6 rev=0 : stale_revision\n put b 6 rev=1 : done accepted",
    );
}

#[test]
fn an_unknown_call_and_what_waits_behind_it_do_not_wait_for_each_other() {
    run(
        "on_unknown=retry_same_key dedupes blind",
        "put a 5\n start a\n put b 6 queue\n lose a\n wait 60s
         start b : waits_behind\n start a : done started\n ok a
         start b : done started",
    );
}

/// Whoever was put behind a call was accepted before that call succeeded, and ended nothing then.
#[test]
fn a_queued_intent_that_starts_ends_the_success_before_it() {
    run(
        "readings=2",
        "put a 5\n start a\n put b 6 queue\n ok a\n is a succeeded
         start b\n is a superseded(unconfirmed)\n ok b\n observe b : done verified(converged)
         observe a : replayed superseded(unconfirmed)",
    );
    run(
        "readings=2",
        "put a 5\n start a\n put b 6 queue\n ok a\n observe a : done verified(converged)
         start b\n is a verified(converged)",
    );
}

/// Nobody can carry on a failure whose fence ran out, so it keeps nothing from its end.
#[test]
fn a_service_ends_with_a_failure_whose_fence_ran_out() {
    run(
        "",
        "put a 5\n start a\n fail a\n retire : in_flight\n wait 2h\n retire : done
         is a verified(failed):fenceover\n put b 5 : service_retired",
    );
}
