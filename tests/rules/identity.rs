//! Keys, premises and re-delivery (design, section 3, *Identity*).

use scalectl::domain::scale::rejection::Rejection;

use super::script::run;
use super::support::World;

/// Every row: what was put first, what comes under the same key, and the fields that differ.
const REDELIVERIES: [(&str, &str, &[&str]); 18] = [
    ("put a 5", "put a 5", &[]),
    ("put a 5", "put a 6", &["replicas"]),
    ("put a 5", "put a 5 reason=other", &["reason"]),
    ("put a 5", "put a 6 reason=other", &["replicas", "reason"]),
    ("put a 5", "put a 5 tries=2", &["retry_policy"]),
    ("put a 5 tries=2", "put a 5 tries=2", &[]),
    ("put a 5 tries=2", "put a 5", &["retry_policy"]),
    ("put a 5 tries=2", "put a 5 tries=2 backoff=5", &[]),
    ("put a 5 tries=2 backoff=9", "put a 5 tries=2", &[]),
    ("put a 5 tries=2", "put a 5 backoff=9", &["retry_policy"]),
    ("put a 5", "put a 5 dry", &["dry_run"]),
    ("put a 5", "put a 5 fence=9.9 valid=3h rev=77 count=99", &[]),
    ("put a 5", "record a 5 same", &[]),
    ("record a 5", "record a 5 number=1", &[]),
    ("record a 5", "record a 5 number=1 fence=2.2 reason=other", &["fence", "reason"]),
    ("record a 5", "record a 6 number=1", &["desired_replicas"]),
    ("record a 5", "put a 5", &[]),
    ("record a 5", "put a 5 tries=3", &[]),
];

#[test]
fn a_key_never_changes_its_intent() {
    for (first, again, fields) in REDELIVERIES {
        for between in ["", "start a", "start a\n ok a\n observe a"] {
            let mut world = run("", &format!("{first}\n{between}"));
            let before = world.state.clone();
            let answer = world.line(again);
            assert_eq!(world.state, before, "{first}, then {again}");
            let differing: Vec<String> = match answer {
                Ok(_) => Vec::new(),
                Err(Rejection::KeyConflict { differences, .. }) => {
                    differences.into_iter().map(|difference| difference.field).collect()
                }
                Err(other) => panic!("{first}, then {again}: {other}"),
            };
            let differing: Vec<&str> = differing.iter().map(String::as_str).collect();
            assert_eq!(differing, fields, "{first}, then {again}");
        }
    }
}

#[test]
fn a_key_that_lives_elsewhere_is_a_conflict() {
    run("", "put a 5 elsewhere=api : key_conflict\n put b 5 id_owner=c : intent_id_conflict");
}

#[test]
fn a_simulation_is_outside_the_uniqueness_of_ids() {
    run("", "put b 5 dry id_owner=c : done accepted");
}

#[test]
fn every_premise_is_held() {
    run(
        "",
        "put a 5 rev=1 : stale_revision\n put a 5 rev=0 count=4 : premise_moved
         put a 5 rev=0 count=3 : done accepted
         put b 6 rev=0 : stale_revision\n put b 6 rev=1 : done accepted
         record c 7 number=2 fence=2.1 : stale_revision
         record c 7 number=4 fence=2.1 : stale_revision
         record c 7 number=3 fence=2.1 rev=1 : stale_revision
         record c 7 number=3 fence=2.1 : done accepted",
    );
    // A count that is not known cannot hold: it is read first.
    run("", "wait 60s\n put a 5 count=3 : count_unknown\n bind\n put a 5 count=3 : done accepted");
    // What was read before a result was recorded does not undo it.
    run("", "put a 5\n start a\n ok a\n bind stale : stale_reading\n put b 6 count=5 : done");
}

#[test]
fn another_persons_wish_is_taken_back_or_given_up_only_on_purpose() {
    run(
        "",
        "put a 5\n actor bob\n withdraw a : others_intent\n withdraw a supersede : done withdrawn
         withdraw a : unchanged",
    );
    run(
        "",
        "put a 5\n start a\n actor bob\n fail a\n abandon a : others_intent
         abandon a supersede : done verified(failed):abandoned\n abandon a : unchanged",
    );
    run("", "actor bob\n put a 5\n withdraw a : done withdrawn");
}

#[test]
fn another_persons_wish_is_ended_only_on_purpose() {
    run(
        "",
        "put a 5\n actor bob\n put b 6 : others_intent\n put s 6 dry : done accepted
         put b 6 supersede : done accepted\n is a superseded\n put c 7 : done accepted",
    );
    run("", "put a 5\n start a\n ok a\n bind : ?\n actor bob\n put b 6 : done accepted");
}

#[test]
fn what_does_not_exist_is_not_found() {
    run(
        "",
        "start x : key_not_found\n observe x : key_not_found\n simulate x : key_not_found
         acquire x : key_not_found\n withdraw x : key_not_found",
    );
    run("unregistered", "put a 5 : service_not_found\n bind : service_not_found");
}

#[test]
fn a_clock_that_went_back_is_clamped_or_refused() {
    let world = run("", "wait 10m\n put a 5\n back 300s\n put b 6 : done accepted");
    let put_at = world.execution("b").put_at;
    assert_eq!(put_at, world.now.plus("300s".parse().expect("300 s")));
    let mut world = World::new("");
    world.run("wait 10m\n put a 5\n back 301s\n put b 6 : clock_skew\n start a : clock_skew");
}

#[test]
fn what_has_happened_is_recorded_whatever_another_clock_said() {
    // A host whose clock is far ahead writes while the call is under way.
    let ahead = "put a 5 valid=3h\n start a\n wait 10m\n put b 6 queue\n back 10m
                 put c 7 queue : clock_skew";
    run("", &format!("{ahead}\n renew a : done\n ok a : done succeeded\n observe a : clock_skew"));
    run("", &format!("{ahead}\n nostart a : done failed"));
    run("", &format!("{ahead}\n lose a elsewhere : done\n prove a : done\n fence a : done"));
}
