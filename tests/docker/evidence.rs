//! Evidence for a reduction: what was measured, and nothing else.

use serde_json::{Value, json};

use super::world::{Swarm, evidence, found, index, inspect, update};
use crate::support::calls::in_short;

const TASKS: [&str; 2] = ["--evidence", "tasks"];

#[test]
fn tasks_show_what_is_stabilized_and_never_what_is_drained() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.running(2);
    let answer = swarm.call_with(&TASKS, &evidence(&web, 1));
    assert_eq!(answer["drained"], false, "{answer}");
    assert_eq!(answer["stabilized"], true);
    assert_eq!(answer["resource_version"], json!(index(&web).to_string()));
    assert_eq!(
        (&answer["observed_replicas"], &answer["remaining_replicas"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(answer["quorum_safe"], Value::Null);
    assert_eq!(swarm.call(&inspect(&web))["ready_replicas"], 2);
    // One that does not run yet, and an update that is not over.
    let idle = swarm.idle(2);
    assert_eq!(swarm.call_with(&TASKS, &evidence(&idle, 1))["stabilized"], false);
    assert_eq!(swarm.call(&inspect(&idle))["ready_replicas"], 0);
    update(
        &web,
        &["--constraint-add", "node.labels.scalectl==nowhere", "--update-order", "start-first"],
    );
    swarm.world.until("it is under way", || found(&web)["UpdateStatus"]["State"] == "updating");
    assert_eq!(swarm.call_with(&TASKS, &evidence(&web, 1))["stabilized"], false);
    assert_eq!(swarm.relay.writes(), 0);
}

#[test]
fn a_provider_says_what_it_says_and_1_is_not_true() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    for (drained, expected) in [("true", true), ("false", false)] {
        let answer = provided(&swarm, &web, drained);
        assert_eq!(answer["drained"], expected, "{answer}");
        assert_eq!(answer["quorum_safe"], true);
    }
    for nonsense in ["1", "\"true\"", "null"] {
        let answer = provided(&swarm, &web, nonsense);
        assert_eq!(in_short(&answer), "error evidence_failed", "{nonsense}: {answer}");
    }
    let undeclared = swarm.call(&evidence(&web, 2));
    assert_eq!(in_short(&undeclared), "error not_declared for good");
}

fn provided(swarm: &Swarm, web: &str, drained: &str) -> Value {
    let said = format!(
        "{{\"protocol\":\"scalectl.actuator/1\",\"drained\":{drained},\"stabilized\":true,\
         \"resource_version\":\"{}\",\"observed_replicas\":6,\"remaining_replicas\":2,\
         \"quorum_safe\":true,\"read_at\":\"2026-01-01T12:00:00Z\"}}",
        index(web)
    );
    swarm.world.write("said", said);
    let words = ["--evidence", "provider", "--", "/bin/cat", "said"];
    swarm.call_with(&words, &evidence(web, 2))
}
