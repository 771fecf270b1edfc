//! Every reason to refuse is reached.

use std::collections::BTreeSet;

use super::script::run;

/// What no rule says: these names are looked up in the ledger.
const LATER: [&str; 4] =
    ["actuator_not_found", "authorization_not_found", "no_actuator", "reviewed"];

/// One script per code, each ending in the refusal.
const REACHED: [(&str, &str, &str); 57] = [
    ("out_of_bounds", "", "put a 11"),
    ("fence_missing", "fences=external", "put a 5"),
    ("fence_too_far", "", "put a 5 fence=1.4294967297"),
    ("contradiction", "", "set min=5 max=4\nregister"),
    ("stale_revision", "", "put a 5 rev=1"),
    ("stale_unit_revision", "", "record a 5 unit=2"),
    ("key_conflict", "", "put a 5\nput a 6"),
    ("simulated_key", "", "put a 5 dry\nstart a"),
    ("live_key", "", "put a 5\nstart a\nsimulate a"),
    ("intent_id_conflict", "", "put a 5 id_owner=b"),
    ("mode_mismatch", "", "record a 5 mode=delegated"),
    ("target_changed", "", "put a 5\nchurn\nstart a"),
    ("target_taken", "", "recreate other\nbind accept=other holder=api"),
    ("workload_taken", "", "recreate other\nbind accept=other namesake=held"),
    ("premise_moved", "", "put a 5 count=4"),
    ("others_intent", "", "put a 5\nactor bob\nput b 6"),
    ("wrong_state", "", "put a 5\nobserve a"),
    ("in_flight", "", "put a 5\nstart a\nput b 6"),
    ("in_progress", "", "put a 5\nstart a\nstart a"),
    ("held", "", "put a 5\nacquire a\nset writer=other\nregister\nacquire a as=other"),
    ("not_writer", "", "put a 5\nstart a as=other"),
    ("fence_lost", "", "put a 5 fence=4.1\nput b 6 fence=3.9"),
    ("fence_expired", "", "put a 5 valid=1m\nwait 1m\nstart a"),
    ("fence_too_short", "", "put a 5 valid=1m\nwait 1s\nstart a"),
    ("lease_lost", "", "put a 5\nrenew a"),
    ("denied", "deny=scale_up", "put a 5"),
    ("on_hold", "", "hold 1h\nput a 5"),
    ("relocating", "", "placed moving\nput a 5"),
    ("always_on", "", "placed always-on\nput a 0"),
    ("pinned", "", "put a 5 pin=3600 source=override\nstart a\nok a\nobserve a\nretire"),
    ("same_person", "deny=scale_down", "put a 2 within=1h\ngrant a"),
    ("same_reviewer", "", "authorize bg-1 5\nrevoke bg-1\nreview bg-1"),
    ("signature_missing", "", "authorize bg-1 5 signed=missing"),
    ("signature_refused", "deny=scale_down", "put a 2 within=1h\nperson bob\ngrant a signed=other"),
    ("not_authorized", "", "put a 5 glass=bg-1"),
    ("authorization_open", "", "authorize bg-1 5\nperson bob\nreview bg-1"),
    ("approval_expired", "deny=scale_down", "put a 2 within=1h\nwait 1h\nperson bob\ngrant a"),
    ("approval_moved", "deny=scale_down", "put a 2 within=1h\ntarget 9\nbind\nperson bob\ngrant a"),
    ("approval_required", "deny=scale_down", "put a 2 within=1h\nstart a"),
    ("still_owned", "mode=external_hpa", "hand-over native found=hpa"),
    ("owners_unknown", "mode=external_hpa", "hand-over native kind=hpa"),
    ("service_retired", "", "retire\nput a 5"),
    ("cooldown", "cooldown=5m", "put a 5\nstart a\nok a\nobserve a\nput b 6"),
    ("outcome_unknown", "", "put a 5\nstart a\nlose a\nobserve a"),
    ("retry_later", "", "put a 5\nstart a\nfail a\nstart a"),
    ("quiet_time", "", "put a 5\nstart a\nlose a\nsettle a reading"),
    ("waits_behind", "", "put a 5\nstart a\nput b 6 queue\nstart b"),
    ("external_owner", "mode=external_hpa no_actuator", "put a 5"),
    ("reading_differs", "", "put a 5\nstart a\nlose a\nwait 1m\nsettle a yes"),
    ("target_recreated", "", "put a 5\nstart a\nlose a\nrecreate other\nwait 1m\nsettle a yes"),
    ("service_not_found", "unregistered", "put a 5"),
    ("key_not_found", "", "start a"),
    ("evidence_missing", "drain=required", "put a 2"),
    ("count_unknown", "", "put a 5\nstart a unreadable=timeout"),
    ("cooldown_unknown", "cooldown=5m", "put a 5\nstart a\nput s 6 dry"),
    ("reading_missing", "", "put a 5\nstart a\nok a\nobserve a unread"),
    ("clock_skew", "", "wait 1h\nput a 5\nback 6m\nput b 6"),
];

/// Every code that the source of the rejections names.
fn codes() -> BTreeSet<&'static str> {
    let source = include_str!("../../src/domain/scale/rejection.rs");
    let (_, code) = source.split_once("pub const fn code(").expect("the codes");
    code.split('"').skip(1).step_by(2).collect()
}

#[test]
fn every_rejection_is_reached_and_changes_nothing() {
    let mut reached: BTreeSet<&str> = LATER.into();
    for (code, settings, script) in REACHED {
        let (setup, last) = script.rsplit_once('\n').unwrap_or(("", script));
        let mut world = run(settings, setup);
        let before = (world.state.clone(), world.log.len());
        let rejection = world.line(last).expect_err(last);
        assert_eq!(rejection.code(), code, "{script}: {rejection}");
        assert_eq!((world.state.clone(), world.log.len()), before, "{script} changed something");
        reached.insert(code);
    }
    assert_eq!(reached, codes());
}
