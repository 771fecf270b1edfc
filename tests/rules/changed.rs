//! What an attempt has left of its target: by the count that a failure names, by the version that a
//! reading finds.

use super::script::run;
use scalectl::domain::scale::left::Left;

#[test]
fn a_failure_at_another_count_has_changed_the_target() {
    for (words, end) in [
        // The wished count, another one, and the one before.
        ("fail a read=5", "failed!"),
        ("fail a read=4", "failed!"),
        ("fail a read=3", "failed"),
        ("fail a", "failed"),
        ("fail a code=partly_applied", "failed!"),
        ("fatal a read=4", "verified(failed):terminal!"),
        ("fatal a read=5", "verified(failed):terminal!"),
        ("fatal a read=3", "verified(failed):terminal"),
        ("fatal a code=partly_applied", "verified(failed):terminal!"),
        // Who says that nothing was done has read what somebody else has done.
        ("fail a read=4 code=precondition_moved", "failed"),
        ("fatal a read=4 code=stale_fence", "verified(failed):terminal"),
        ("fatal a read=4 code=fence_reused", "verified(failed):terminal"),
    ] {
        run("", &format!("put a 5\n start a\n {words} : done {end}"));
    }
    run("tries=1", "put a 5\n start a\n fail a read=4 : done verified(failed):exhausted!");
}

#[test]
fn a_count_before_that_nobody_knew_may_have_been_any_other() {
    let script = "wait 61s\n put a 5\n start a\n fail a read=3 : done failed!";
    run("blind readings=1 uncounted", script);
}

#[test]
fn a_stored_failure_that_is_looked_up_is_judged_by_its_count_too() {
    let lost = "put a 5\n start a\n lose a\n settle a failed";
    run("", &format!("{lost} read=4 : done failed!"));
    run("", &format!("{lost} read=3 : done failed"));
}

#[test]
fn what_was_left_changed_stays_so_until_a_success() {
    let half = "put a 5\n start a\n fail a read=4 : done failed!\n wait 5s\n target 4\n bind
        start a : done started!";
    run("", &format!("{half}\n fail a read=4 : done failed!"));
    run("", &format!("{half}\n fatal a : done verified(failed):terminal!"));
    run("", &format!("{half}\n ok a : done succeeded"));
    run(
        "",
        &format!(
            "{half}\n nostart a : done failed!\n abandon a : done verified(failed):abandoned!"
        ),
    );
}

/// The count of a lost call has come back: somebody has changed it since, and may want it so.
#[test]
fn a_count_that_has_come_back_is_not_the_count_before() {
    let back = "put a 5\n start a\n lose a applied\n target 3\n wait 60s\n settle a reading";
    for settings in ["match=version", "match=generation"] {
        run(settings, &format!("{back} : done recovery_pending(unknown)"));
    }
    // Who locks the count alone has said that the count alone tells.
    run("match=replicas", &format!("{back} : done failed"));
    // A version that moves with the status is no change where the generation is what counts.
    let churned = "put a 5\n start a\n lose a\n touch\n wait 60s\n settle a reading";
    run("match=generation", &format!("{churned} : done failed"));
    run("match=version", &format!("{churned} : done recovery_pending(unknown)"));
}

/// A fence moves the version itself, so what was there before it is what tells.
#[test]
fn behind_a_fence_the_target_before_it_tells() {
    let lost = "put a 5\n start a\n lose a";
    run("", &format!("{lost}\n fence a\n churn\n settle a reading : done failed"));
    // Whether it was made and taken back nobody knows, and calling again may make it twice.
    for words in ["applied\n target 3\n fence a", "\n fence a unread"] {
        let script = format!("{lost} {words}\n settle a reading");
        run("", &format!("{script} : done recovery_pending(unknown)"));
        run("dedupes", &format!("{script} : done failed!"));
    }
    run(
        "match=replicas",
        &format!("{lost} applied\n target 3\n fence a\n settle a reading : done failed"),
    );
}

/// After an attempt that nobody has settled, the base of the intent is what tells, not that of the
/// attempt after it.
#[test]
fn an_attempt_after_an_unknown_one_is_held_to_the_first_base() {
    let again = "put a 5\n start a\n lose a applied 4\n wait 60s\n start a : done started";
    let settings = "on_unknown=retry_same_key dedupes";
    run(settings, &format!("{again}\n fail a read=4 : done failed!"));
    run(
        settings,
        &format!("{again}\n lose a\n wait 60s\n settle a reading : done recovery_pending(unknown)"),
    );
}

#[test]
fn a_target_has_one_service() {
    run(
        "unregistered",
        "register holder=api : target_taken\n register : done\n put a 5\n start a\n ok a\n observe a
         recreate other\n bind accept=other holder=api : target_taken\n bind accept=other : done
         set max=9\n register holder=api : target_taken",
    );
}

#[test]
fn what_was_called_is_named_where_another_object_is_read() {
    run(
        "",
        "put a 5\n start a\n lose a applied\n recreate uid-2\n wait 60s
         settle a yes : target_recreated\n settle a no : done failed",
    );
}

/// More ready than declared is what a reduction looks like while it goes on.
#[test]
fn more_ready_than_declared_is_not_yet() {
    run(
        "readings=2 ready=3",
        "put a 2\n start a\n ok a\n ready 3\n observe a : done succeeded
         ready 2\n observe a : done verified(converged)",
    );
}

/// A later attempt under an approval goes on from the count that was agreed to, and from no other
/// one that somebody has made meanwhile.
#[test]
fn a_later_attempt_starts_from_no_count_that_nobody_agreed_to() {
    run(
        "deny=scale_down",
        "put a 2 within=24h\n person bob\n grant a\n start a\n fail a\n wait 1m\n target 50\n bind
         start a : approval_moved\n target 3\n bind\n start a : done started",
    );
}

/// What is under way under a broken glass is not over, and nobody reviews it yet.
#[test]
fn a_broken_glass_is_reviewed_once_what_is_under_way_has_ended() {
    run(
        "",
        "authorize bg-1 5\n put a 5 glass=bg-1\n start a\n person bob\n review bg-1 : in_flight
         person ann\n fail a\n person bob\n review bg-1 : in_flight\n person ann\n wait 1m
         start a : done started\n lose a\n person bob\n review bg-1 : in_flight",
    );
}

/// What is under way is told by nobody, whatever an attempt before it has left.
#[test]
fn what_a_key_has_left_is_told_by_its_newest_result() {
    let half = "put a 5\n start a\n fail a read=4";
    let again = "wait 5s\n target 4\n bind\n start a";
    for (script, left) in [
        ("put a 5".to_owned(), Left::Nothing),
        ("put a 5\n start a".to_owned(), Left::Unknown),
        ("put a 5\n start a\n lose a".to_owned(), Left::Unknown),
        ("put a 5\n start a\n fail a".to_owned(), Left::Nothing),
        (half.to_owned(), Left::Changed),
        (format!("{half}\n abandon a"), Left::Changed),
        (format!("{half}\n {again}"), Left::Unknown),
        (format!("{half}\n {again}\n fail a"), Left::Changed),
        (format!("{half}\n {again}\n ok a"), Left::Unconfirmed),
        (format!("{half}\n {again}\n ok a\n observe a"), Left::Nothing),
        ("put a 5\n start a\n lose a\n wait 60s\n settle a no\n late a".to_owned(), Left::Changed),
        // A success that somebody has undone since was one.
        ("put a 5\n start a\n ok a\n target 7\n observe a".to_owned(), Left::Unconfirmed),
    ] {
        let mut world = run("", "");
        script.lines().for_each(|line| drop(world.line(line.trim())));
        assert_eq!(world.execution("a").left(), left, "{script}");
    }
}
