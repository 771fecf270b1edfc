//! What a tick takes for over, for out of date, and for what a person has pinned.

use super::fleet::skip;
use super::script::run;

/// What was read before a call ended says nothing of now.
#[test]
fn what_a_tick_has_read_is_of_now_or_nothing() {
    run("scaled=10", "tick k value=55 stale : stale_reading\n tick k value=55 : evaluated");
}

/// What nobody can carry on any more does not hold the autoscaler up for ever.
#[test]
fn a_wish_that_nobody_can_start_any_more_is_over_for_a_tick() {
    let waits = "accepted: awaiting execution or observation";
    let others = "web@1 of ann waits, and this would end it";
    for (settings, before, comes_to) in [
        ("scaled=10", "put a 5 source=gateway", waits),
        ("scaled=10", "put a 5 source=gateway\nwait 1h\nbind", "intent_accepted"),
        // A person's is a person's to end.
        ("scaled=10", "put a 5\nwait 1h\nbind", others),
        (
            "scaled=10 deny=scale_down",
            "put a 2 within=1h source=gateway",
            "proposed: awaiting execution or observation",
        ),
        (
            "scaled=10 deny=scale_down",
            "put a 2 within=1h source=gateway\nwait 1h\nbind",
            "intent_accepted",
        ),
    ] {
        let mut world = run(settings, before);
        assert_eq!(skip(&mut world, "tick k value=55"), comes_to, "{settings} | {before}");
    }
}

/// A record says nothing outside its bounds, so a step is as long as it must be.
#[test]
fn a_service_outside_its_bounds_comes_back_in_one_step() {
    let mut world = run("scaled=10 min=8", "");
    assert_eq!(skip(&mut world, "tick k value=1"), "intent_accepted");
    world.run("is k accepted\n current 8");
}

/// What only brings an override's count back does not end it; any other wish does.
#[test]
fn an_override_outlasts_what_brings_its_count_back() {
    let pinned = "put a 5 pin=3600 source=override\nstart a\nok a\nobserve a\n";
    let said = "operator replica override is authoritative";
    for (wish, comes_to) in [
        ("put b 5 source=reconciler", said),
        ("put b 6 source=reconciler", "accepted: awaiting execution or observation"),
        ("put b 5", "accepted: awaiting execution or observation"),
    ] {
        let mut world = run("scaled=10", &format!("{pinned} {wish}\n wait 1s"));
        assert_eq!(skip(&mut world, "tick k value=90"), comes_to, "{wish}");
    }
}
