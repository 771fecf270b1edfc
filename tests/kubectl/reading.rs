//! `inspect`: the target as it is, whose it is, and what nobody knows.

use serde_json::{Value, json};

use super::server::{Fault, status_of};
use super::world::{CLUSTER, Kube, UID, WEB, in_short, inspect, object, with};

fn autoscaler(name: &str, target: (&str, &str), bounds: Value) -> Value {
    let mut spec = bounds;
    spec["scaleTargetRef"] = json!({"kind": target.0, "name": target.1, "apiVersion": "apps/v1"});
    json!({"metadata": {"name": name, "namespace": "shop"}, "spec": spec})
}

const HPAS: &str = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers";
const SCALED: &str = "/apis/keda.sh/v1alpha1/namespaces/shop/scaledobjects";

#[test]
fn the_target_is_told_as_found_with_all_five_members() {
    let kube = Kube::new();
    let found = kube.inspect();
    assert_eq!(
        found["target"],
        json!({
            "cluster_id": CLUSTER, "runtime_id": "shop", "workload_id": "deployment/web",
            "target_uid": UID,
            "target_resource_version": kube.server.get(WEB)["metadata"]["resourceVersion"],
        })
    );
    assert_eq!((&found["replicas"], &found["ready_replicas"]), (&json!(6), &json!(6)));
    assert_eq!((&found["generation"], &found["owners"]), (&json!(1), &json!([])));
    assert!(kube.server.mutations().is_empty());
    // The kind in any form (1B), and the namespace of the actuator where the target names none.
    for workload in ["deployments/web", "Deployment/web", "statefulset/db", "statefulsets/db"] {
        assert_eq!(kube.call(&[], &inspect(workload))["target"]["workload_id"], workload);
    }
    let bare = json!({"protocol": "scalectl.actuator/1", "op": "inspect",
        "target": {"workload_id": "deployment/web"}});
    assert_eq!(in_short(&kube.call(&[], &bare)), "error incomplete_target for good");
    let found = kube.call(&["--namespace", "shop"], &bare);
    assert_eq!(found["target"]["runtime_id"], "shop");
}

#[test]
fn a_missing_count_is_unknown_and_never_one() {
    let kube = Kube::new();
    for (count, expected) in [
        (Value::Null, "error count_unknown"),
        (json!(-1), "error read_failed"),
        (json!(1.5), "error read_failed"),
        (json!("6"), "error read_failed"),
        (json!(true), "error read_failed"),
    ] {
        kube.server.edit(WEB, |web| web["spec"]["replicas"] = count.clone());
        assert_eq!(in_short(&kube.inspect()), expected, "{count}");
        // 6.3: an unknown count is refused, for a raise as well.
        let mut request = super::world::apply(9);
        request["base"]["resource_version"] = Value::Null;
        let applied = in_short(&kube.call(&[], &request));
        assert_eq!(applied, expected.replace("error", "failed"), "{count}");
    }
    assert!(kube.server.mutations().is_empty());
}

#[test]
fn an_absent_ready_count_is_zero_only_once_the_controller_has_seen_the_object() {
    let kube = Kube::new();
    kube.server.edit(WEB, |web| {
        web["status"].as_object_mut().unwrap().remove("readyReplicas");
    });
    assert_eq!(kube.inspect()["ready_replicas"], 0);
    // The controller is behind: neither its count nor an absent one is of this generation.
    for status in [json!({"observedGeneration": 1, "readyReplicas": 6}), json!({})] {
        kube.server.edit(WEB, |web| {
            web["metadata"]["generation"] = json!(2);
            web["status"] = status.clone();
        });
        assert_eq!(in_short(&kube.inspect()), "error status_behind", "{status}");
    }
    // One that catches up meanwhile is waited for.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(700));
            kube.server.edit(WEB, |web| web["status"] = status_of(web));
        });
        assert_eq!(kube.inspect()["ready_replicas"], 6);
    });
}

#[test]
fn the_cluster_is_known_by_its_own_uid_and_else_by_the_name_that_says_so() {
    let kube = Kube::new();
    kube.server.forbid("/namespaces/kube-system");
    let found = kube.inspect();
    assert_eq!(found["target"]["cluster_id"], "context-cluster:eu-1");
    let asked = |cluster: &str| {
        let mut request = inspect("deployment/web");
        request["target"]["cluster_id"] = json!(cluster);
        in_short(&kube.call(&[], &request))
    };
    assert_eq!(asked("context-cluster:eu-2"), "error other_cluster for good");
    // Who was registered by the uid is not taken by the name.
    assert_eq!(asked(CLUSTER), "error cluster_unproved");

    // And the other way round: what was registered by the name is compared by it.
    let kube = Kube::new();
    let mut request = inspect("deployment/web");
    request["target"]["cluster_id"] = json!("context-cluster:eu-1");
    let found = kube.call(&[], &request);
    assert_eq!(found["target"]["cluster_id"], "context-cluster:eu-1");
    // Trouble of the server is not the lack of a permission.
    kube.server.fault("namespaces/kube-system", Fault::Refuse(500, "InternalError"));
    assert_eq!(in_short(&kube.inspect()), "error read_failed");
    assert!(kube.server.met_all_faults());
    assert_eq!(kube.inspect()["target"]["cluster_id"], CLUSTER);
}

#[test]
fn who_drives_the_count_is_named_and_who_only_seems_to_is_not() {
    let kube = Kube::new();
    let bounds = json!({"minReplicas": 4, "maxReplicas": 12});
    let hpa = autoscaler("search", ("Deployment", "web"), bounds);
    kube.server.put(&format!("{HPAS}/search"), hpa);
    let other = autoscaler("db", ("StatefulSet", "web"), json!({}));
    kube.server.put(&format!("{HPAS}/db"), other);
    let counts = json!({"minReplicaCount": 1, "maxReplicaCount": 5});
    let mut scaled = autoscaler("queue", ("Deployment", "web"), counts);
    scaled["spec"]["scaleTargetRef"] = json!({"name": "web"});
    kube.server.put(&format!("{SCALED}/queue"), scaled);
    let hpa = "HorizontalPodAutoscaler shop/search (min 4, max 12)";
    let keda = "ScaledObject shop/queue (min 1, max 5)";
    assert_eq!(kube.inspect()["owners"], json!([hpa, keda]));

    // Only true pauses; a pause at a count holds that count.
    for (paused, at, owners) in [
        (Some("true"), None, json!([hpa])),
        (Some("false"), None, json!([hpa, keda])),
        (Some(""), None, json!([hpa, keda])),
        (Some("true"), Some("3"), json!([hpa, keda])),
        (None, Some("3"), json!([hpa, keda])),
    ] {
        kube.server.edit(&format!("{SCALED}/queue"), |scaled| {
            let mut annotations = json!({});
            for (name, value) in [("paused", paused), ("paused-replicas", at)] {
                if let Some(value) = value {
                    annotations[format!("autoscaling.keda.sh/{name}")] = json!(value);
                }
            }
            scaled["metadata"]["annotations"] = annotations;
        });
        assert_eq!(kube.inspect()["owners"], owners, "{paused:?} {at:?}");
    }
}

#[test]
fn a_kind_that_the_api_lacks_drives_nothing_and_one_that_may_not_be_read_is_named() {
    let kube = Kube::new();
    kube.server.without_group("keda.sh");
    kube.server.forbid("horizontalpodautoscalers");
    let found = kube.inspect();
    assert_eq!(found["owners"], json!([]));
    assert_eq!(found["owners_unread"], json!(["HorizontalPodAutoscaler"]));
    // Anything else than that is no reading at all; one odd object among them is only named.
    let kube = Kube::new();
    kube.server.put(&format!("{HPAS}/odd"), json!({"metadata": {"name": "odd"}, "spec": {}}));
    let odd = json!(["HorizontalPodAutoscaler shop/odd"]);
    assert_eq!(kube.inspect()["owners_unread"], odd);
    kube.server.fault("horizontalpodautoscalers", Fault::Refuse(500, "InternalError"));
    assert_eq!(in_short(&kube.inspect()), "error read_failed");
}

#[test]
fn others_who_set_the_count_are_warned_of() {
    let kube = Kube::new();
    let entry = |manager: &str, subresource: &str, fields: Value| {
        json!({"manager": manager, "operation": "Apply", "subresource": subresource,
            "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": fields})
    };
    let count = json!({"f:spec": {"f:replicas": {}}});
    let entries = json!([
        entry("argocd-controller", "", count.clone()),
        entry("helm", "", json!({"f:spec": {"f:template": {}}})),
        entry("kube-controller-manager", "scale", count.clone()),
        entry("kube-controller-manager", "status", json!({"f:status": {"f:replicas": {}}})),
        entry("argocd-controller", "", count.clone()),
        entry("kubectl", "scale", count),
    ]);
    kube.server.edit(WEB, |web| web["metadata"]["managedFields"] = entries.clone());
    let found = kube.inspect();
    assert_eq!(found["managers"], json!(["argocd-controller", "kube-controller-manager"]));
    assert_eq!(found["owners"], json!([]));
    // An update of ours takes the field from them.
    assert_eq!(kube.scale(7), "succeeded 7");
    assert_eq!(kube.inspect().get("managers"), None);
}

#[test]
fn what_came_must_be_what_was_asked_for() {
    let kube = Kube::new();
    for (member, value) in [("name", "other"), ("namespace", "other")] {
        kube.server.put(
            WEB,
            with(object("Deployment", "web", UID, 6), &format!("/metadata/{member}"), json!(value)),
        );
        assert_eq!(in_short(&kube.inspect()), "error other_object for good", "{member}");
    }
    kube.server.put(WEB, object("StatefulSet", "web", UID, 6));
    assert_eq!(in_short(&kube.inspect()), "error other_object for good");
    let gone = kube.call(&[], &inspect("deployment/gone"));
    assert_eq!(in_short(&gone), "error no_such_object for good");
}

/// An object may have any number that the API takes, beside those that are read.
#[test]
fn numbers_beside_what_is_read_keep_nobody_from_reading() {
    let kube = Kube::new();
    kube.server.edit(WEB, |web| {
        let spec = &mut web["spec"]["template"]["spec"];
        spec["terminationGracePeriodSeconds"] = json!(i64::MAX);
        spec["securityContext"] = json!({"runAsUser": i64::MAX, "fsGroup": -1});
        web["metadata"]["generation"] = json!(7);
        web["status"]["observedGeneration"] = json!(7);
    });
    let found = kube.inspect();
    assert_eq!((&found["replicas"], &found["generation"]), (&json!(6), &json!(7)), "{found}");
    // A count that nobody could say again is none.
    kube.server.edit(WEB, |web| web["spec"]["replicas"] = json!((1_u64 << 53) + 1));
    let found = kube.inspect();
    assert_eq!(found["error"]["code"], "read_failed", "{found}");
    assert!(found["error"]["detail"].as_str().unwrap().contains("replicas"), "{found}");
}
