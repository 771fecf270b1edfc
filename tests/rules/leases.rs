//! Leases and fences (design, section 3; rulings 8 and 10).

use scalectl::domain::scale::intent::Fence;

use super::script::run;

#[test]
fn a_lease_is_taken_returned_renewed_and_given_back() {
    let world = run(
        "",
        "put a 5
         acquire a ttl=999ms : contradiction\n acquire a ttl=901s : contradiction
         acquire a as=other : not_writer
         acquire a : done\n acquire a : unchanged
         renew a ttl=30s : unchanged\n renew a ttl=90s : done
         renew a lease=lease-77 : lease_lost\n release a lease=lease-77 : lease_lost
         release a : done\n release a : unchanged\n renew a : lease_lost
         acquire a ttl=1s\n wait 1s\n renew a : lease_lost\n acquire a : done",
    );
    assert!(world.execution("a").lease.is_some());
}

#[test]
fn a_lease_never_outlives_its_fence() {
    let world = run("", "put a 5 valid=10s\n acquire a ttl=60s\n renew a ttl=900s : unchanged");
    let (execution, end) = (world.execution("a"), world.now.plus("10s".parse().expect("10 s")));
    assert_eq!(execution.lease.as_ref().map(|held| held.lease.expires_at), Some(end));
    run("", "put a 5 valid=10s\n wait 10s\n acquire a : fence_expired\n start a : fence_expired");
    run("", "put a 5 valid=10s\n start a timeout=11s : fence_too_short\n start a timeout=10s");
}

#[test]
fn the_call_keeps_its_lease() {
    run(
        "",
        "put a 5\n acquire a\n start a : done started
         acquire a : unchanged\n renew a ttl=900s : done\n release a : in_progress
         start a : in_progress\n wait 20m\n start a : in_progress\n acquire a : wrong_state
         ok a : done succeeded\n acquire a : replayed\n renew a : lease_lost",
    );
    run(
        "",
        "put a 5\n start a lease=lease-77 : lease_lost\n acquire a\n start a lease=lease-77 : lease_lost",
    );
    run("", "put a 5\n start a as=other : not_writer");
}

#[test]
fn the_next_lease_follows_a_retryable_failure() {
    let world = run("", "put a 5\n start a\n fail a\n acquire a : done\n acquire a : unchanged");
    let held = world.execution("a").lease.as_ref().expect("a lease");
    assert_eq!(held.lease.attempt.get(), 2);
    run("", "put a 5\n start a\n fail a\n acquire a\n wait 5s\n start a : done started");
}

#[test]
fn a_lost_call_gives_no_lease_until_it_is_over() {
    run(
        "",
        "put a 5\n start a\n lose a\n acquire a : outcome_unknown\n wait 10m\n acquire a : outcome_unknown",
    );
    run(
        "",
        "put a 5\n start a\n lose a elsewhere\n release a : outcome_unknown\n prove a\n release a",
    );
}

#[test]
fn the_next_lease_after_an_unknown_call_waits_for_its_quiet() {
    run(
        "on_unknown=retry_same_key dedupes quiet=10m",
        "put a 5\n start a\n lose a\n wait 5m
         acquire a : outcome_unknown\n ok a : done succeeded",
    );
}

#[test]
fn what_is_over_answers_with_its_outcome() {
    run(
        "",
        "put a 5\n acquire a\n put b 6 : held\n put b 6 supersede\n is a superseded
         acquire a : replayed\n renew a : replayed\n release a : replayed",
    );
}

/// Who holds a lease for what waits is about to start it.
#[test]
fn a_wish_under_a_lease_is_not_ended_by_accident() {
    run("", "put a 5\n acquire a ttl=10s\n put b 6 : held\n wait 10s\n put b 6 : done accepted");
    run("", "put a 5\n acquire a\n release a\n put b 6 : done accepted");
    run("", "put a 5\n acquire a\n put b 6 dry : done accepted\n is a accepted");
}

#[test]
fn a_new_writer_waits_for_the_lease_of_the_old_one() {
    run(
        "",
        "put a 5\n acquire a\n set writer=other\n register expected=1
         acquire a as=other : held\n start a as=other : stale_unit_revision",
    );
}

#[test]
fn supplied_fences_only_rise() {
    run(
        "fences=external",
        "put a 5 : fence_missing
         put b 5 fence=4.9\n put c 6 fence=4.9 : done accepted
         put d 6 fence=4.8 : fence_lost\n put d 6 fence=3.10 : fence_lost
         record e 6 fence=4.9 lease_id=somebody : fence_lost
         put d 6 fence=5.1 : done accepted
         put e 6 fence=4294967302.1 : fence_too_far
         put e 6 fence=5.4294967298 : fence_too_far
         put e 6 fence=4294967301.1 : done accepted",
    );
    run("", "record a 5 expires=2026-01-01T12:00:00Z : fence_expired");
    let world = run("", "record a 5 fence=2.7\n put b 6 supersede");
    assert_eq!(world.execution("b").fence().map(Fence::rank), Some((2, 8)));
}
