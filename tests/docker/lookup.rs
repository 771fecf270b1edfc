//! What a service tells of a key, and what it never says.

use serde_json::json;

use super::relay::Fault;
use super::world::{Swarm, apply, attempt, fence, lookup, update};
use crate::support::calls::{in_short, with};

#[test]
fn what_was_applied_is_told_with_its_count_whatever_came_after_it() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    let outcome = |request| swarm.call(&request)["outcome"].as_str().unwrap().to_owned();
    assert_eq!(outcome(lookup(&web)), "unknown");
    swarm.relay.fault("POST /services/", Fault::HangAfter);
    let request = with(apply(&web, 9), "/deadline_ms", json!(4000));
    assert_eq!(in_short(&swarm.call(&request)), "unknown timeout rollback");

    let asked = lookup(&web);
    let found = swarm.call(&asked);
    assert_eq!(found["outcome"], "applied", "{found}");
    assert_eq!(found["result"]["observed_replicas"], 9);
    assert_eq!(found["result"]["execution_key"], "k1");
    assert_eq!(found["result"]["target"], asked["target"]);
    // Another count of somebody else, and a fence of ours, leave it there.
    update(&web, &["--replicas", "4"]);
    swarm.call(&fence(&web, "L1", (1, 7, 2)));
    assert_eq!(swarm.call(&lookup(&web))["result"]["observed_replicas"], 9);
    for (pointer, value) in [("/execution_key", "k2"), ("/ledger/id", "L2")] {
        assert_eq!(outcome(with(lookup(&web), pointer, json!(value))), "unknown", "{pointer}");
    }
    // One write later the engine still knows what was before it, and then no more. That is no
    // proof of anything, so it is not called never.
    update(&web, &["--label-rm", "scalectl.applied"]);
    assert_eq!(outcome(lookup(&web)), "applied");
    update(&web, &["--label-add", "x=y"]);
    assert_eq!(outcome(lookup(&web)), "unknown");
    update(&web, &["--label-add", "scalectl.applied=nonsense"]);
    assert_eq!(outcome(lookup(&web)), "unknown");
}

#[test]
fn a_later_call_takes_the_place_of_an_older_one() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    assert_eq!(swarm.scale(&web, 9), "succeeded 9");
    for (key, desired) in [("k2", 7), ("k3", 8)] {
        let request = with(apply(&web, desired), "/request/execution_key", json!(key));
        assert_eq!(in_short(&swarm.call(&attempt(request, 2))), format!("succeeded {desired}"));
    }
    for (key, expected) in [("k1", "unknown"), ("k2", "applied"), ("k3", "applied")] {
        let found = swarm.call(&with(lookup(&web), "/execution_key", json!(key)));
        assert_eq!(found["outcome"], expected, "{key}");
    }
    let other = with(lookup(&web), "/target/target_uid", json!("another"));
    assert_eq!(in_short(&swarm.call(&other)), "error other_target for good");
}

#[test]
fn it_says_what_it_can_without_asking_the_engine() {
    let Some(swarm) = Swarm::new() else { return };
    let described = json!({"protocol": "scalectl.actuator/1", "op": "describe"});
    let found = swarm.call_with(&["--env", "SSH_AUTH_SOCK"], &described);
    assert_eq!(found["environment"], json!(["HOME", "PATH", "DOCKER_CONFIG", "SSH_AUTH_SOCK"]));
    for (word, expected) in [
        ("conditional_on_version", true),
        ("inspect", true),
        ("fence", true),
        ("lookup", true),
        ("evidence", false),
        ("deduplicates_execution_key", false),
        ("rejects_stale_lease", false),
        ("drains_itself", false),
    ] {
        assert_eq!(found["capabilities"][word], expected, "{word}");
    }
    let found = swarm.call_with(&["--evidence", "tasks"], &described);
    assert_eq!(found["capabilities"]["evidence"], true);
    assert_eq!(swarm.relay.log(), Vec::<String>::new());
}
