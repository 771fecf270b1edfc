//! The fence: one annotation that moves the version, and what is refused after it.

use serde_json::{Value, json};

use super::server::{ApiServer, Fault};
use super::world::{Kube, UID, WEB, fence, in_short, leads_to, object, with};

const ANNOTATION: &str = "/metadata/annotations/scalectl.io~1fence";

fn mark(kube: &Kube) -> Value {
    kube.server.get(WEB).pointer(ANNOTATION).cloned().unwrap_or_default()
}

fn version(kube: &Kube) -> Value {
    kube.server.get(WEB)["metadata"]["resourceVersion"].clone()
}

#[test]
fn a_fence_moves_the_version_once_and_leaves_the_count_and_the_generation() {
    let kube = Kube::new();
    let before = kube.server.get(WEB);
    let answer = kube.call(&[], &fence("led:1/a", 1, 7, 2));
    assert_eq!(answer["fenced"], true, "{answer}");
    assert_eq!(mark(&kube), "led:1/a/1.7.2");
    let after = kube.server.get(WEB);
    assert_eq!(after["spec"], before["spec"]);
    assert_eq!(after["metadata"]["generation"], before["metadata"]["generation"]);
    let found = &answer["reading"]["target"]["target_resource_version"];
    assert_eq!(*found, version(&kube));
    assert_ne!(*found, before["metadata"]["resourceVersion"]);
    assert_eq!(answer["reading"]["replicas"], 6);
    // Again it stands already, and nothing is written.
    assert_eq!(kube.call(&[], &fence("led:1/a", 1, 7, 2))["fenced"], true);
    assert_eq!(kube.server.mutations(), [format!("PATCH {WEB}")]);
}

#[test]
fn a_late_write_is_refused_once_the_fence_stands() {
    let kube = Kube::new();
    let request = kube.apply_to(WEB, 9);
    // The fence comes between the reading of a call and its write.
    let scale = format!("GET {WEB}/scale");
    kube.server.fault(&scale, Fault::Churn);
    assert_eq!(in_short(&kube.call(&[], &request)), "failed precondition_moved");
    assert_eq!(kube.count(), 6);
    kube.call(&[], &fence("L1", 1, 7, 2));
    // The call that was fenced begins again, and a later one is let through.
    assert_eq!(kube.scale(9), "failed stale_fence for good");
    assert_eq!(kube.count(), 6);
    let later = with(kube.apply_to(WEB, 9), "/request/lease/attempt", json!(2));
    assert_eq!(in_short(&kube.call(&[], &later)), "succeeded 9");
}

#[test]
fn older_fences_other_ledgers_and_nonsense_are_refused_without_a_write() {
    let kube = Kube::new();
    kube.call(&[], &fence("L1", 2, 7, 2));
    let writes = kube.server.mutations().len();
    for (request, expected) in [
        (fence("L1", 2, 7, 1), "error stale_fence for good"),
        (fence("L1", 2, 6, 9), "error stale_fence for good"),
        (fence("L1", 1, 9, 9), "error stale_fence for good"),
        (fence("L2", 9, 9, 9), "error other_ledger for good"),
        (with(fence("L1", 9, 9, 9), "/ledger", Value::Null), "error incomplete_request for good"),
        (
            with(fence("L1", 9, 9, 9), "/target/target_uid", json!("x")),
            "error other_target for good",
        ),
        (
            with(fence("L1", 9, 9, 9), "/target/cluster_id", json!("x")),
            "error other_cluster for good",
        ),
    ] {
        assert_eq!(in_short(&kube.call(&[], &request)), expected, "{request}");
    }
    let other = with(kube.apply_to(WEB, 9), "/ledger/id", json!("L2"));
    assert_eq!(in_short(&kube.call(&[], &other)), "failed other_ledger for good");
    for nonsense in ["", "L1", "L1/1.2", "L1/1.2.3.4", "L1/1.x.3", "L 1/1.2.3", "/1.2.3"] {
        kube.server.edit(WEB, |web| *web.pointer_mut(ANNOTATION).unwrap() = json!(nonsense));
        let expected = "error fence_unreadable for good";
        assert_eq!(in_short(&kube.call(&[], &fence("L1", 9, 9, 9))), expected, "{nonsense:?}");
        assert_eq!(kube.scale(9), "failed fence_unreadable for good", "{nonsense:?}");
    }
    assert_eq!(kube.server.mutations().len(), writes);
}

#[test]
fn a_busy_status_does_not_keep_a_fence_away_and_a_lost_answer_is_no_fence() {
    let patch = format!("PATCH {WEB}");
    let kube = Kube::new();
    for _ in 0..3 {
        kube.server.fault(&patch, Fault::Churn);
    }
    assert_eq!(kube.call(&[], &fence("L1", 1, 7, 2))["fenced"], true);
    assert_eq!((mark(&kube), kube.server.mutations().len()), (json!("L1/1.7.2"), 4));

    for (fault, written) in [
        (Fault::DropBefore, Value::Null),
        (Fault::DropAfter, json!("L1/1.7.2")),
        (Fault::Refuse(403, "Forbidden"), Value::Null),
        (Fault::Refuse(500, "InternalError"), Value::Null),
    ] {
        let kube = Kube::new();
        kube.server.fault(&patch, fault.clone());
        let answer = in_short(&kube.call(&[], &fence("L1", 1, 7, 2)));
        assert_eq!((answer.as_str(), mark(&kube)), ("error fence_failed", written), "{fault:?}");
        // Whatever it was, the next one stands.
        assert_eq!(kube.call(&[], &fence("L1", 1, 7, 2))["fenced"], true, "{fault:?}");
    }
}

#[test]
fn a_fence_in_another_cluster_writes_nothing() {
    let kube = Kube::new();
    let other = ApiServer::start("99999999-1111-4222-8333-944445555666");
    other.put(WEB, object("Deployment", "web", UID, 6));
    leads_to(&kube.world, &other);
    let answer = in_short(&kube.call(&[], &fence("L1", 1, 7, 2)));
    assert_eq!(answer, "error other_cluster for good");
    assert!(other.mutations().is_empty());
}

#[test]
fn an_object_does_not_tell_what_became_of_a_key() {
    let kube = Kube::new();
    let mut request = fence("L1", 1, 7, 2);
    request["op"] = json!("lookup");
    request["execution_key"] = json!("k1");
    assert_eq!(kube.call(&[], &request)["outcome"], "unknown");
    let described = json!({"protocol": "scalectl.actuator/1", "op": "describe"});
    let found = kube.call(&["--env", "AWS_PROFILE"], &described);
    assert_eq!(found["environment"], json!(["HOME", "PATH", "KUBECONFIG", "AWS_PROFILE"]));
    let can = |word: &str| found["capabilities"][word].clone();
    for (word, expected) in [
        ("conditional_on_version", true),
        ("inspect", true),
        ("fence", true),
        ("evidence", false),
        ("deduplicates_execution_key", false),
        ("rejects_stale_lease", false),
        ("lookup", false),
        ("drains_itself", false),
    ] {
        assert_eq!(can(word), expected, "{word}");
    }
    let found = kube.call(&["--evidence", "rollout"], &described);
    assert_eq!(found["capabilities"]["evidence"], true);
    assert!(kube.server.log().is_empty(), "describe does not touch the target");
}
