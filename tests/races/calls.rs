//! One lease, one call: who is granted it, and what everybody else is told.

use super::{
    CONTENDERS, Contender, USUAL, alone, events_after, kinds, only_writer, race, race_beside,
    with_code,
};
use crate::people::two_persons;
use crate::support::World;

const PUT: &str = "intent put web --replicas 3 --expect-revision 0 --key k1 --reason r";

fn many(line: &str) -> Vec<String> {
    vec![line.to_owned(); CONTENDERS]
}

/// A lease is a controller's, not a process's: the writer of a service may take it in one process
/// and use it in the next. So the processes of one controller share one grant, and are told which
/// of them holds it; that only one of them starts is the next test's claim. Another controller is
/// refused, even if it is the writer by now.
#[test]
fn one_lease_is_granted_and_everybody_is_told_whose_it_is() {
    let _alone = alone();
    let world = World::with_fake();
    world.run(PUT).exits(0);
    let before = world.events();
    let ended = race(&world, &many("lease acquire k1 --ttl 300s"));
    assert_eq!(with_code(&ended, 0).len(), CONTENDERS);
    let winner = only_writer(&ended);
    let lease = winner.at("/lease");
    assert_eq!(lease["holder"]["pid"], winner.pid);
    for one in &ended {
        assert_eq!(one.at("/lease"), lease, "another lease, or another holder");
        assert_eq!(one.at("/changed"), one.pid == winner.pid);
    }
    assert_eq!(kinds(&events_after(&world, before)), ["lease_acquired"]);

    let line = "lease acquire k1 --controller other";
    world.run(line).exits(11).says("error[not_writer]");
    world.run("service put web --writer other").exits(0);
    let before = world.events();
    let ended = race(&world, &many(line));
    assert_eq!(with_code(&ended, 11).len(), CONTENDERS);
    for one in &ended {
        assert_eq!(one.at("/error/code"), "held");
        assert_eq!(one.at("/error/held_by/controller"), "ops");
        is_told_of(one, &lease);
    }
    assert_eq!(events_after(&world, before), Vec::<serde_json::Value>::new());
}

/// The refused are told the host, the process and the end of a lease.
fn is_told_of(one: &Contender, lease: &serde_json::Value) {
    assert_eq!(one.at("/error/held_by/host"), lease["holder"]["host"]);
    assert_eq!(one.at("/error/held_by/pid"), lease["holder"]["pid"]);
    assert_eq!(one.at("/error/held_by/until"), lease["expires_at"]);
}

/// What a race of `actuate` must have come to: one effect, one start, one result; whoever did not
/// make the call was told that it is being made, or what it came to.
fn check_calls(world: &World, ended: &[Contender], before: usize) {
    assert_eq!(world.fake_log("calls").len(), 1, "{:?}", world.fake_log("calls"));
    assert_eq!(world.fake_log("effects").len(), 1, "{:?}", world.fake_log("effects"));
    let winner = only_writer(ended);
    assert_eq!(winner.code(), Some(0), "{:#?}", winner.ran);
    assert_eq!(winner.at("/applied"), "yes");
    let result = winner.at("/execution/result");
    let events = events_after(world, before);
    let mut refused = 0;
    for one in ended.iter().filter(|one| one.pid != winner.pid) {
        assert_eq!(one.at("/applied"), "no");
        if one.code() == Some(0) {
            assert_eq!(one.at("/replayed"), true, "{:#?}", one.ran);
            assert_eq!(one.at("/execution/result"), result);
            continue;
        }
        one_is_refused(one, winner.pid, &events[0]);
        refused += 1;
    }
    assert!(refused > 0, "nobody came while the call was being made");
    assert_eq!(kinds(&events), ["attempt_started", "result_recorded"]);
    assert!(events.iter().all(|event| event["by"]["pid"] == winner.pid));
    let dir = world.path(".local/state/scalectl/calls");
    let left = std::fs::read_dir(dir).expect("it was made").count();
    assert_eq!(left, 0, "files of calls are left");
}

fn one_is_refused(one: &Contender, winner: u32, started: &serde_json::Value) {
    assert_eq!(one.code(), Some(11), "{:#?}", one.ran);
    assert_eq!(one.at("/error/code"), "in_progress", "{:#?}", one.ran);
    is_told_of_call(one, winner, started);
}

/// Whoever is refused beside a call is told whose it is, and until when its lease permits it.
fn is_told_of_call(one: &Contender, winner: u32, started: &serde_json::Value) {
    assert_eq!(started["event"], "attempt_started");
    let held = &started["body"]["held"];
    assert_eq!(held["holder"]["pid"], winner);
    is_told_of(
        one,
        &serde_json::json!({
            "holder": held["holder"], "expires_at": held["lease"]["expires_at"],
        }),
    );
}

/// A wish beside a call is refused, and told what it waits for.
#[test]
fn a_put_beside_a_call_is_told_who_makes_it_and_until_when() {
    let _alone = alone();
    let world = World::with_fake();
    world.script(&["late 4"]);
    world.run(PUT).exits(0);
    let before = world.events();
    let put =
        |n| format!("intent put web --replicas 4 --expect-revision 1 --key other{n} --reason r");
    let lines: Vec<String> = (0..CONTENDERS / 4).map(put).collect();
    let is_called = || !world.fake_log("calls").is_empty();
    let (caller, ended) = race_beside(&world, "actuate k1", is_called, &lines);
    assert_eq!(caller.code(), Some(0), "{:#?}", caller.ran);
    let events = events_after(&world, before);
    let refused = with_code(&ended, 11);
    assert!(!refused.is_empty(), "nobody came while the call was being made");
    for one in refused {
        assert_eq!(one.at("/error/code"), "in_flight");
        is_told_of_call(one, caller.pid, &events[0]);
    }
    // Who came later is the one that wins, or is told so.
    let late = ended.iter().filter(|one| one.code() != Some(11));
    assert!(late.clone().all(|one| matches!(one.code(), Some(0 | 10))));
    assert!(late.filter(|one| one.code() == Some(0)).count() <= 1);
}

/// The lock is waited for without being asked to, too.
#[test]
fn the_usual_lock_timeout_is_enough_for_a_few() {
    let _alone = alone();
    let world = World::with_fake();
    world.run(PUT).exits(0);
    let before = world.events();
    let line = format!("{USUAL} lease acquire k1 --ttl 300s");
    let ended = race(&world, &vec![line; 6]);
    assert_eq!(with_code(&ended, 0).len(), 6);
    only_writer(&ended);
    assert_eq!(kinds(&events_after(&world, before)), ["lease_acquired"]);
}

#[test]
fn one_key_is_called_once_whoever_else_tries() {
    let _alone = alone();
    let world = World::with_fake();
    world.script(&["late 0.2"]);
    world.run(PUT).exits(0);
    let before = world.events();
    let ended = race(&world, &many("actuate k1"));
    check_calls(&world, &ended, before);
    let said = world.json("observe k1").exits(0);
    assert_eq!(said.at("/execution/outcome"), "converged");
    assert_eq!(world.fake_log("calls").len(), 1);
}

/// Whoever waits for its turn at the target has not failed: within its time it looks again.
#[test]
fn one_line_of_many_scales_once_and_all_of_them_are_told_so() {
    let _alone = alone();
    let world = World::with_fake();
    world.script(&["late 0.2"]);
    let line = "scale web=3 --key k1 --reason r --expect-revision 0 --timeout 120s";
    let ended = race(&world, &many(line));
    let codes: Vec<_> = ended.iter().map(Contender::code).collect();
    assert_eq!(with_code(&ended, 0).len(), CONTENDERS, "{codes:?}");
    assert_eq!(world.fake_log("calls").len(), 1);
}

/// The success of its own twin is no premise that has moved.
#[test]
fn one_line_that_breaks_the_glass_twice_at_once_breaks_it_once() {
    let _alone = alone();
    for _ in 0..6 {
        let world = two_persons(World::new());
        let line = "scale web=2 --key night --reason r --break-glass --incident INC-1 --yes \
                    --current-replicas 5 --timeout 60s";
        let ended = race(&world, &vec![line.to_owned(); 4]);
        let told: Vec<_> = ended.iter().map(|one| (one.code(), one.at("/error"))).collect();
        assert_eq!(with_code(&ended, 0).len(), 4, "{told:?}");
        let broken = world.json("break-glass list --all").at("/authorizations");
        assert_eq!(broken.as_array().map(Vec::len), Some(1));
        assert_eq!(world.fake_log("calls").len(), 2);
    }
}

/// All of them hold the lease, as far as its id says so: half of them even name it.
#[test]
fn one_lease_that_all_share_permits_one_call() {
    let _alone = alone();
    let world = World::with_fake();
    world.script(&["late 0.2"]);
    world.run(PUT).exits(0);
    let lease = world.json("lease acquire k1").exits(0).at("/lease/lease_instance_id");
    let lease = lease.as_str().expect("an id");
    let before = world.events();
    let mut lines = many("actuate k1");
    for line in lines.iter_mut().step_by(2) {
        line.push_str(" --lease ");
        line.push_str(lease);
    }
    let ended = race(&world, &lines);
    check_calls(&world, &ended, before);
}

/// Between the end of a call and the record of its result, the call looks lost to everybody but the
/// command that made it.
#[test]
fn a_call_that_ends_amid_replays_is_recorded_by_its_own_command() {
    let _alone = alone();
    let world = World::with_fake();
    world.run("service put web --readings 1").exits(0);
    world.script(&["late 3"]);
    world.run(PUT).exits(0);
    let before = world.events();
    let is_called = || !world.fake_log("calls").is_empty();
    // Half of them wait, and so look on while the call ends; the others come before that.
    let mut lines = many("replay k1");
    for line in lines.iter_mut().step_by(2) {
        line.push_str(" --wait --timeout 20s");
    }
    let (caller, ended) = race_beside(&world, "actuate k1", is_called, &lines);
    assert_eq!(caller.code(), Some(0), "{:#?}", caller.ran);
    assert_eq!(caller.at("/applied"), "yes");
    // A success that no reading has confirmed yet is 19.
    let codes: Vec<i32> = ended.iter().filter_map(Contender::code).collect();
    assert!(codes.iter().all(|code| [0, 11, 19].contains(code)), "{codes:?}");
    assert!(codes.contains(&11) && codes.contains(&0), "none came before the end, or after");
    let events = events_after(&world, before);
    for one in with_code(&ended, 11) {
        one_is_refused(one, caller.pid, &events[0]);
    }
    let is_of_call = |kind: &&str| !["observation_recorded", "reading_recorded"].contains(kind);
    let of_call: Vec<&str> = kinds(&events).into_iter().filter(is_of_call).collect();
    assert_eq!(of_call, ["attempt_started", "result_recorded"]);
    assert!(events[..2].iter().all(|event| event["by"]["pid"] == caller.pid));
    assert_eq!(world.fake_log("effects").len(), 1);
}
