//! What is refused before anything is written, and in which order.

use serde_json::{Value, json};

use super::swarm::removed;
use super::world::{
    Swarm, apply, attempt, count, fence, found, inspect, label, named, spec, update,
};
use crate::support::calls::{answer, in_short, with};

/// A pointer into an apply, what stands there instead, and what that comes to.
type Row<'a> = (&'a str, Value, &'a str);

/// Every request of it is refused as said, and the engine was asked to change nothing.
fn refused(swarm: &Swarm, name: &str, rows: &[Row<'_>]) {
    for (pointer, value, expected) in rows {
        let request = with(apply(name, 7), pointer, value.clone());
        let answer = swarm.call(&request);
        assert_eq!(in_short(&answer), *expected, "{pointer} {value}: {answer}");
    }
    assert_eq!((swarm.relay.writes(), count(name)), (0, 6));
}

const WORKLOAD: &str = "/request/target/workload_id";

#[test]
fn what_is_no_service_of_a_swarm_is_refused_before_any_read() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    refused(
        &swarm,
        &web,
        &[
            (WORKLOAD, json!("web/scale"), "failed unsafe_target for good"),
            (WORKLOAD, json!("a:b"), "failed unsafe_target for good"),
            ("/request/target/runtime_id", json!("shop"), "failed other_runtime for good"),
            ("/op", json!("restart_service"), "error unknown_op for good"),
            ("/request/dry_run", json!(true), "failed dry_run for good"),
            ("/request/controller_mode", json!("delegated"), "failed unsupported_mode for good"),
        ],
    );
    assert_eq!(swarm.relay.log(), Vec::<String>::new());
    let nobody = answer(swarm.command(&[]).env("PATH", "/nonexistent"), &apply(&web, 7));
    assert_eq!(in_short(&nobody), "failed docker_missing");
    let detail = nobody["result"]["detail"].as_str().unwrap();
    assert!(detail.contains("docker CLI not available"), "{detail}");
}

#[test]
fn another_swarm_another_service_and_another_version_are_refused_before_any_write() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    let id = found(&web)["ID"].clone();
    refused(
        &swarm,
        &web,
        &[
            ("/request/target/cluster_id", json!("another"), "failed other_cluster for good"),
            ("/request/target/target_uid", json!("another"), "failed other_target for good"),
            (WORKLOAD, json!("scalectl-test-nobody"), "failed no_such_object for good"),
            // The engine finds a service by its id, too, and that is not its name.
            (WORKLOAD, id.clone(), "failed other_object for good"),
            ("/base/resource_version", json!("1"), "failed precondition_moved"),
            ("/base/replicas", json!(5), "failed precondition_moved"),
            ("/request/desired_replicas", json!(1_000_001), "failed invalid_replicas for good"),
        ],
    );
    // A service that was made anew under the name is another one.
    let request = apply(&web, 7);
    removed(&web);
    named(&web, &["--replicas", "6", "--constraint", "node.labels.scalectl==nowhere"]);
    assert_eq!(in_short(&swarm.call(&request)), "failed other_target for good");
    let mut late = fence(&web, "L1", (1, 7, 2));
    late["target"]["target_uid"] = id;
    assert_eq!(in_short(&swarm.call(&late)), "error other_target for good");
    late["target"]["cluster_id"] = json!("another");
    assert_eq!(in_short(&swarm.call(&late)), "error other_cluster for good");
    assert_eq!((swarm.relay.writes(), count(&web)), (0, 6));
}

#[test]
fn a_service_without_a_count_to_set_is_refused_by_its_mode() {
    let Some(mut swarm) = Swarm::new() else { return };
    for (mode, word) in [
        (&["--mode", "global"][..], "Global"),
        (&["--mode", "global-job"], "GlobalJob"),
        (&["--mode", "replicated-job", "--replicas", "2"], "ReplicatedJob"),
    ] {
        let nowhere = ["--constraint", "node.labels.scalectl==nowhere"];
        let name = swarm.service(&[mode, &nowhere].concat());
        for request in [inspect(&name), fence(&name, "L1", (1, 7, 2))] {
            let answer = swarm.call(&request);
            assert_eq!(in_short(&answer), "error not_replicated for good");
            let detail = answer["error"]["detail"].as_str().unwrap();
            assert!(detail.contains(&format!("mode {word}:")), "{detail}");
        }
        assert_eq!(swarm.scale(&name, 7), "failed not_replicated for good", "{word}");
    }
    assert_eq!(swarm.relay.writes(), 0);
}

/// A write of any kind would start a paused update again.
#[test]
fn a_service_under_an_update_is_not_written_and_a_paused_update_stays_paused() {
    let Some(mut swarm) = Swarm::new() else { return };
    // The new task never starts, so the update never ends.
    let idle = swarm.idle(6);
    update(&idle, &["--env-add", "A=1"]);
    swarm.world.until("it is under way", || found(&idle)["UpdateStatus"]["State"] == "updating");
    assert_eq!(swarm.scale(&idle, 7), "failed update_under_way");
    let asked = swarm.call(&fence(&idle, "L1", (1, 7, 2)));
    assert_eq!(in_short(&asked), "error update_under_way");
    // What is so already needs no write, and can be read.
    assert_eq!(swarm.scale(&idle, 6), "succeeded 6");
    assert_eq!(swarm.call(&inspect(&idle))["replicas"], 6);

    let web = swarm.service(&["--replicas", "1", "--update-monitor", "500ms"]);
    swarm.await_running(&web, 1);
    update(&web, &["--args", "x", "--entrypoint", "/nothing"]);
    swarm.world.until("it is paused", || found(&web)["UpdateStatus"]["State"] == "paused");
    let before = found(&web);
    assert_eq!(swarm.scale(&web, 3), "failed update_paused");
    let asked = swarm.call(&fence(&web, "L1", (1, 7, 2)));
    assert_eq!(in_short(&asked), "error update_paused");
    assert_eq!((found(&web), swarm.relay.writes()), (before, 0));
}

#[test]
fn evidence_of_something_else_is_refused_before_any_write() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    let with_evidence = || {
        let mut request = apply(&web, 2);
        request["evidence"] = json!({
            "drained": true, "stabilized": true, "observed_replicas": 6, "remaining_replicas": 2,
            "resource_version": request["base"]["resource_version"], "quorum_safe": null,
            "read_at": "2026-01-01T12:00:00Z",
        });
        request
    };
    for (member, value, expected) in [
        ("resource_version", json!("7"), "failed evidence_stale"),
        ("observed_replicas", json!(7), "failed evidence_stale"),
        ("remaining_replicas", json!(1), "failed evidence_stale"),
        ("drained", json!(1), "error bad_request for good"),
    ] {
        let request = with(with_evidence(), &format!("/evidence/{member}"), value);
        assert_eq!(in_short(&swarm.call(&request)), expected, "{member}");
    }
    assert_eq!(swarm.relay.writes(), 0);
    assert_eq!(in_short(&swarm.call(&with_evidence())), "succeeded 2");
}

/// The context is the one place; what the environment of a shell says leads nowhere else.
#[test]
fn where_it_may_act_is_checked_when_it_starts_and_no_variable_leads_elsewhere() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(1);
    let mut command = swarm.command(&[]);
    command.env("DOCKER_HOST", "tcp://127.0.0.1:1").env("DOCKER_CONTEXT", "nowhere");
    assert_eq!(answer(&mut command, &inspect(&web))["replicas"], 1);
    let words = ["actuator", "run", "docker", "--context", "default"];
    let mut command = swarm.world.command(&words);
    command.env("DOCKER_HOST", "tcp://127.0.0.1:1").env("DOCKER_TLS_VERIFY", "1");
    assert_eq!(answer(&mut command, &inspect(&web))["replicas"], 1);
    let words = ["actuator", "run", "docker", "--context", "nowhere"];
    let found = answer(&mut swarm.world.command(&words), &inspect(&web));
    assert_eq!(in_short(&found), "error read_failed");
    let detail = found["error"]["detail"].as_str().unwrap();
    assert!(detail.contains("context \"nowhere\"") && detail.contains("not found"), "{detail}");
    for (words, code) in [
        (&["--context=-x"][..], "invalid_place"),
        (&["--context", "a b"], "invalid_place"),
        (&["--context", "prod", "--env", "A=B"], "invalid_place"),
        (&["--context", "prod", "--env", "DOCKER_HOST"], "invalid_place"),
        (&["--context", "prod", "--evidence", "provider"], "invalid_evidence"),
        (&["--context", "prod", "--evidence", "tasks", "--", "cmd"], "invalid_evidence"),
        (&["--context", "prod", "--", "cmd"], "invalid_evidence"),
    ] {
        let ran = swarm.world.run_args(&[&["actuator", "run", "docker"], words].concat()).exits(2);
        assert!(ran.stderr.contains(code), "{words:?}: {ran:#?}");
    }
}

#[test]
fn who_else_sets_the_count_is_told() {
    let Some(mut swarm) = Swarm::new() else { return };
    let stack = ["--label", "com.docker.stack.namespace=shop", "--replicas", "0"];
    let web = swarm.service(&stack);
    let found = swarm.call(&inspect(&web));
    assert_eq!(found["managers"], json!(["docker stack shop"]), "{found}");
    assert_eq!(found["ready_replicas"], 0);
    // Its label stays, and ours stand beside it.
    assert_eq!(in_short(&swarm.call(&attempt(apply(&web, 0), 1))), "succeeded 0");
    assert_eq!(spec(&web)["Labels"], json!({"com.docker.stack.namespace": "shop"}));
    assert_eq!(label(&web, "scalectl.fence"), Value::Null);
}
