//! What is refused before anything is written, in the order of the rule book, and what is written.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::server::{ApiServer, Fault};
use super::world::{CLUSTER, DB, Kube, UID, WEB, apply, in_short, leads_to, object, with};

/// A pointer into an apply, what stands there instead, and what that comes to.
type Row<'a> = (&'a str, Value, &'a str);

/// Every request of it is refused as said, and the server was asked to change nothing.
fn refused(kube: &Kube, rows: &[Row<'_>]) {
    for (pointer, value, expected) in rows {
        let request = with(kube.apply_to(WEB, 7), pointer, value.clone());
        let answer = kube.call(&[], &request);
        assert_eq!(in_short(&answer), *expected, "{pointer} {value}: {answer}");
    }
    assert_eq!(kube.server.mutations(), Vec::<String>::new());
}

const TARGET: &str = "/request/target";
const WORKLOAD: &str = "/request/target/workload_id";

/// 6.1(1)
#[test]
fn rule_6_1_1_without_kubectl_nothing_is_looked_at() {
    let kube = Kube::new();
    let request = with(kube.apply_to(WEB, 7), WORKLOAD, json!("nonsense"));
    let words = ["actuator", "run", "kubectl", "--context", "prod"];
    let answer = Kube::answer(kube.world.command(&words).env("PATH", "/nonexistent"), &request);
    assert_eq!(in_short(&answer), "failed kubectl_missing");
    let detail = answer["result"]["detail"].as_str().unwrap();
    assert!(detail.contains("kubectl CLI not available"), "{detail}");
    assert!(kube.server.log().is_empty());
}

/// 6.1(2), 6.1(3), 6.1(4), 6.1(5)
#[test]
fn rules_6_1_2_to_6_1_5_refuse_before_any_read() {
    let kube = Kube::new();
    refused(
        &kube,
        &[
            // 6.1(2): the name is safe.
            (WORKLOAD, json!("deployment/web/scale"), "failed unsafe_target for good"),
            (WORKLOAD, json!("deployment/-web"), "failed unsafe_target for good"),
            (WORKLOAD, json!("deployment/"), "failed unsafe_target for good"),
            (WORKLOAD, json!("deployment/a:b"), "failed unsafe_target for good"),
            ("/request/target/runtime_id", json!("a/b"), "failed unsafe_target for good"),
            // 6.1(3): the identity is whole and of a known kind.
            (WORKLOAD, json!("web"), "failed unknown_workload for good"),
            (WORKLOAD, json!("daemonset/web"), "failed unknown_workload for good"),
            (TARGET, json!({"workload_id": "deployment/web"}), "error bad_request for good"),
            // 6.1(4): nothing but a count is changed, and nothing is simulated.
            ("/op", json!("restart_service"), "error unknown_op for good"),
            ("/op", json!("stop_service"), "error unknown_op for good"),
            ("/op", json!("rollback_service"), "error unknown_op for good"),
            ("/op", json!("deploy_service"), "error unknown_op for good"),
            ("/op", json!("redeploy_stack"), "error unknown_op for good"),
            ("/request/dry_run", json!(true), "failed dry_run for good"),
            // 6.1(5): the mode is native, and the refusal names it.
            ("/request/controller_mode", json!("delegated"), "failed unsupported_mode for good"),
        ],
    );
    let other = kube.call(&["--namespace", "front"], &kube.apply_to(WEB, 7));
    assert_eq!(in_short(&other), "failed other_namespace for good");
    let mode = with(kube.apply_to(WEB, 7), "/request/controller_mode", json!("delegated"));
    let detail = kube.call(&[], &mode)["result"]["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("delegated"), "{detail}");
    assert!(kube.server.log().is_empty(), "{:?}", kube.server.log());
}

/// 6.1(6)
#[test]
fn rule_6_1_6_a_context_that_leads_elsewhere_is_refused_before_any_write() {
    let kube = Kube::new();
    let request = kube.apply_to(WEB, 7);
    // The same names and even the same uid of the object, in another cluster.
    let other = ApiServer::start("99999999-1111-4222-8333-944445555666");
    other.put(WEB, object("Deployment", "web", UID, 6));
    leads_to(&kube.world, &other);
    let answer = kube.call(&[], &with(request, "/base/resource_version", Value::Null));
    assert_eq!(in_short(&answer), "failed other_cluster for good");
    let detail = answer["result"]["detail"].as_str().unwrap();
    assert!(detail.contains(CLUSTER) && detail.contains("99999999"), "{detail}");
    assert!(other.mutations().is_empty());
    // The object is read first, then the cluster.
    let log = other.log();
    let at = |part: &str| log.iter().position(|line| line.contains(part)).expect(part);
    assert!(at("deployments/web") < at("kube-system"), "{log:?}");
}

/// 6.1(6)
#[test]
fn rule_6_1_6_trouble_while_reading_is_a_plain_failure() {
    let kube = Kube::new();
    for (fault, expected) in [
        (Fault::Refuse(500, "InternalError"), "failed read_failed"),
        (Fault::Refuse(403, "Forbidden"), "failed read_failed"),
        (Fault::Refuse(404, "NotFound"), "failed no_such_object for good"),
        (Fault::HangBefore, "failed timeout"),
    ] {
        let mut request = kube.apply_to(WEB, 7);
        request["deadline_ms"] = json!(4000);
        kube.server.fault("deployments/web", fault.clone());
        assert_eq!(in_short(&kube.call(&[], &request)), expected, "{fault:?}");
        assert!(kube.server.met_all_faults());
    }
    assert!(kube.server.mutations().is_empty());
}

/// 6.1(7)
#[test]
fn rule_6_1_7_another_object_version_or_generation_is_refused() {
    let kube = Kube::new();
    let uid = "/request/target/target_uid";
    refused(&kube, &[(uid, json!("another"), "failed other_target for good")]);
    // Status alone moves the version: the generation and the count are compared where they are
    // known, and the version where they are not.
    for base in [
        json!({"replicas": 6, "generation": 2, "resource_version": "7"}),
        json!({"replicas": 5, "generation": 1, "resource_version": "7"}),
        json!({"replicas": 6, "generation": null, "resource_version": "7"}),
        json!({"replicas": null, "generation": 1, "resource_version": "7"}),
    ] {
        refused(&kube, &[("/base", base, "failed precondition_moved")]);
    }
    let churned = json!({"replicas": 6, "generation": 1, "resource_version": "7"});
    let request = with(kube.apply_to(WEB, 7), "/base", churned);
    assert_eq!(in_short(&kube.call(&[], &request)), "succeeded 7");
}

/// 6.1(8); the evidence itself is 6.3.
#[test]
fn rule_6_1_8_the_count_has_a_bound() {
    let kube = Kube::new();
    refused(
        &kube,
        &[
            ("/request/desired_replicas", json!(1_000_001), "failed invalid_replicas for good"),
            ("/request/desired_replicas", json!(-1), "error bad_request for good"),
            ("/request/desired_replicas", json!(true), "error bad_request for good"),
            ("/request/desired_replicas", json!("7"), "error bad_request for good"),
        ],
    );
}

fn evidence_of(request: &Value) -> Value {
    json!({
        "drained": true, "stabilized": true,
        "resource_version": request["base"]["resource_version"],
        "observed_replicas": request["base"]["replicas"],
        "remaining_replicas": request["request"]["desired_replicas"],
        "quorum_safe": null, "read_at": "2026-01-01T12:00:00Z",
    })
}

/// 6.3
#[test]
fn rule_6_3_evidence_of_something_else_is_refused_before_any_write() {
    let kube = Kube::new();
    for (member, value, expected) in [
        ("resource_version", json!("7"), "failed evidence_stale"),
        ("observed_replicas", json!(7), "failed evidence_stale"),
        ("remaining_replicas", json!(1), "failed evidence_stale"),
        ("drained", json!(1), "error bad_request for good"),
        ("stabilized", json!("true"), "error bad_request for good"),
        ("quorum_safe", json!(1), "error bad_request for good"),
    ] {
        let mut request = kube.apply_to(WEB, 2);
        request["evidence"] = evidence_of(&request);
        request["evidence"][member] = value.clone();
        assert_eq!(in_short(&kube.call(&[], &request)), expected, "{member} {value}");
    }
    // 6.3: a StatefulSet keeps its quorum, and nothing but true says so.
    for quorum in [Value::Null, json!(false)] {
        let mut request = kube.apply_to(DB, 2);
        request["evidence"] = evidence_of(&request);
        request["evidence"]["quorum_safe"] = quorum.clone();
        assert_eq!(in_short(&kube.call(&[], &request)), "failed quorum_unproved for good");
    }
    let without = in_short(&kube.call(&[], &kube.apply_to(DB, 2)));
    assert_eq!(without, "failed quorum_unproved for good");
    assert!(kube.server.mutations().is_empty());

    let mut request = kube.apply_to(DB, 2);
    request["evidence"] = evidence_of(&request);
    request["evidence"]["quorum_safe"] = json!(true);
    assert_eq!(in_short(&kube.call(&[], &request)), "succeeded 2");
    // 6.3: no guard is needed to raise or to keep.
    assert_eq!(in_short(&kube.call(&[], &kube.apply_to(DB, 3))), "succeeded 3");
    assert_eq!(in_short(&kube.call(&[], &kube.apply_to(DB, 3))), "succeeded 3");
}

/// A kubectl that notes its arguments, one call a line, and is the real one.
fn noting(kube: &Kube) -> String {
    let log = kube.world.path("argv.log");
    let script = format!(
        "#!/bin/sh\nprintf '%s|' \"$@\" >>{0}\necho >>{0}\nexec /usr/bin/env PATH=/usr/local/bin:\
         /usr/bin:/bin kubectl \"$@\"\n",
        log.to_str().unwrap()
    );
    let path = kube.world.write("bin/kubectl", script);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:/usr/bin:/bin", kube.world.path("bin").to_str().unwrap())
}

/// 6.1(9), 6.2
#[test]
fn rule_6_2_the_words_of_kubectl_are_these_and_no_shell_sees_them() {
    let kube = Kube::new();
    let path = noting(&kube);
    let words = ["actuator", "run", "kubectl", "--context", "prod"];
    let called = |desired: u64| {
        let request = kube.apply_to(WEB, desired);
        let version = request["base"]["resource_version"].as_str().unwrap().to_owned();
        std::fs::remove_file(kube.world.path("argv.log")).ok();
        let answer = Kube::answer(kube.world.command(&words).env("PATH", &path), &request);
        assert_eq!(in_short(&answer), format!("succeeded {desired}"));
        (version, std::fs::read_to_string(kube.world.path("argv.log")).unwrap())
    };
    // 6.2: scale_service, and stop_service, which is the count 0.
    for desired in [7, 0] {
        let (version, log) = called(desired);
        let lines: Vec<&str> = log.lines().collect();
        let first = "--context|prod|-n|shop|";
        assert_eq!(
            lines,
            [
                format!("{first}get|deployment/web|-o|json|--show-managed-fields|"),
                format!("{first}get|namespace/kube-system|-o|jsonpath={{.metadata.uid}}|"),
                format!(
                    "{first}scale|deployment/web|--replicas={desired}|--resource-version={version}|"
                ),
                format!("{first}get|deployment/web|-o|json|--show-managed-fields|"),
            ]
        );
    }
    assert_eq!(kube.count(), 0);
}

#[test]
fn where_it_may_act_is_checked_when_it_starts() {
    let kube = Kube::new();
    for (words, code) in [
        (&["--context=-x"][..], "invalid_place"),
        (&["--context", "a b"], "invalid_place"),
        (&["--context", ""], "invalid_place"),
        (&["--context", "prod", "--namespace", "a/b"], "invalid_place"),
        (&["--context", "prod", "--env", "A=B"], "invalid_place"),
        (&["--context", "prod", "--evidence", "provider"], "invalid_evidence"),
        (&["--context", "prod", "--evidence", "pdb", "--", "cmd"], "invalid_evidence"),
        (&["--context", "prod", "--", "cmd"], "invalid_evidence"),
    ] {
        let ran = kube.world.run_args(&[&["actuator", "run", "kubectl"], words].concat()).exits(2);
        assert!(ran.stderr.contains(code), "{words:?}: {ran:#?}");
    }
    // A context that the settings do not have is a reading that failed.
    let words = ["actuator", "run", "kubectl", "--context", "nowhere"];
    let answer = Kube::answer(&mut kube.world.command(&words), &apply(7));
    assert_eq!(in_short(&answer), "failed read_failed");
}
