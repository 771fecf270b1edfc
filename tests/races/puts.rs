//! Who wins a put, what the others are told, and that nobody waits for what is not theirs.

use std::collections::BTreeSet;

use super::{CONTENDERS, alone, events_after, kinds, only_writer, race, with_code};
use crate::support::World;

/// A world whose service takes as many replicas as there are contenders.
fn world() -> World {
    let world = World::with_fake();
    world.run("service put web --max 100").exits(0);
    world
}

#[test]
fn one_revision_has_one_winner_and_the_others_learn_who() {
    let _alone = alone();
    let world = world();
    let before = world.events();
    let lines: Vec<String> = (0..CONTENDERS)
        .map(|n| {
            format!(
                "intent put web --replicas 3 --expect-revision 0 --key k{n} --reason r --actor a{n}"
            )
        })
        .collect();
    let ended = race(&world, &lines);
    let winner = only_writer(&ended);
    assert_eq!(winner.code(), Some(0), "{:#?}", winner.ran);
    let (key, actor) = (winner.at("/intent/execution_key"), winner.at("/execution/put_by/actor"));
    let losers = with_code(&ended, 10);
    assert_eq!(losers.len(), CONTENDERS - 1);
    for loser in losers {
        assert_eq!(loser.at("/error/code"), "stale_revision");
        assert_eq!(loser.at("/error/expected"), 0);
        assert_eq!(loser.at("/error/actual"), 1);
        assert_eq!(loser.at("/current/intent/execution_key"), key);
        assert_eq!(loser.at("/current/intent/actor"), actor);
        let newest = loser.at("/error/facts/newest");
        let by = format!("by {},", actor.as_str().expect("a claim"));
        let is_told = newest.as_str().is_some_and(|newest| newest.contains(&by));
        assert!(is_told, "{newest} does not say {by}");
    }
    let events = events_after(&world, before);
    assert_eq!(kinds(&events), ["intent_accepted"]);
    assert_eq!(events[0]["execution_key"], key);
    assert_eq!(events[0]["by"]["pid"], winner.pid);
}

#[test]
fn one_key_is_recorded_once_and_every_redelivery_gets_the_same_answer() {
    let _alone = alone();
    let world = world();
    let before = world.events();
    let line = "intent put web --replicas 3 --expect-revision 0 --key k --reason r";
    let ended = race(&world, &vec![line.to_owned(); CONTENDERS]);
    assert_eq!(with_code(&ended, 0).len(), CONTENDERS);
    let winner = only_writer(&ended);
    assert_eq!(winner.at("/replayed"), false);
    assert_eq!(winner.at("/execution/put_by/pid"), winner.pid);
    for one in ended.iter().filter(|one| one.pid != winner.pid) {
        assert_eq!(one.at("/replayed"), true);
        for part in ["/intent", "/execution", "/current"] {
            assert_eq!(one.at(part), winner.at(part), "{part}");
        }
    }
    assert_eq!(kinds(&events_after(&world, before)), ["intent_accepted"]);
}

#[test]
fn one_key_with_many_counts_is_one_wish_and_conflicts_that_name_both() {
    let _alone = alone();
    let world = world();
    let before = world.events();
    let counts = 1..=CONTENDERS;
    let put = |n| format!("intent put web --replicas {n} --expect-revision 0 --key k --reason r");
    let lines: Vec<String> = counts.clone().map(put).collect();
    let ended = race(&world, &lines);
    let winner = only_writer(&ended);
    let stored = winner.at("/intent/desired_replicas").to_string();
    assert_eq!(with_code(&ended, 10).len(), CONTENDERS - 1);
    for (count, one) in counts.zip(&ended).filter(|(_, one)| one.pid != winner.pid) {
        assert_eq!(one.at("/error/code"), "key_conflict");
        assert_eq!(one.at("/error/expected"), serde_json::json!({ "replicas": stored }));
        assert_eq!(one.at("/error/actual"), serde_json::json!({ "replicas": count.to_string() }));
    }
    assert_eq!(kinds(&events_after(&world, before)), ["intent_accepted"]);
}

#[test]
fn services_of_their_own_and_keys_of_their_own_all_get_through() {
    let _alone = alone();
    let world = World::new();
    world.init_fake();
    let before = world.events();
    let service = |n| {
        format!(
            "service put web{n} --actuator fake --writer ops --max 10 --quiet 0s --drain none \
             --target-match replicas"
        )
    };
    let lines: Vec<String> = (0..CONTENDERS).map(service).collect();
    let ended = race(&world, &lines);
    assert_eq!(with_code(&ended, 0).len(), CONTENDERS);
    let put =
        |n| format!("intent put web{n} --replicas 3 --expect-revision 0 --key k{n} --reason r{n}");
    let lines: Vec<String> = (0..CONTENDERS).map(put).collect();
    let ended = race(&world, &lines);
    assert_eq!(with_code(&ended, 0).len(), CONTENDERS);
    for (n, one) in ended.iter().enumerate() {
        assert_eq!(one.at("/recorded"), "yes");
        assert_eq!(one.at("/intent/execution_key"), format!("k{n}"));
        assert_eq!(one.at("/execution/service"), format!("web{n}"));
        assert_eq!(one.at("/intent/intent_revision"), 1);
    }
    // Every service has its own chain, of just these two events.
    let events = events_after(&world, before);
    let (registered, accepted) = events.split_at(CONTENDERS);
    for (kind, sequence, part) in
        [("service_registered", 1, registered), ("intent_accepted", 2, accepted)]
    {
        assert!(part.iter().all(|event| event["event"] == kind && event["sequence"] == sequence));
        let streams: BTreeSet<&str> =
            part.iter().filter_map(|event| event["stream"].as_str()).collect();
        assert_eq!(streams.len(), CONTENDERS, "{kind}");
    }
    assert_eq!(events.len(), 2 * CONTENDERS);
}
