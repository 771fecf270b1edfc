//! What became of a write: never *not applied* unless that is proved.

use serde_json::json;

use super::server::Fault;
use super::world::{Kube, WEB, in_short, inspect};

const SCALE: &str = "PUT /apis/apps/v1/namespaces/shop/deployments/web/scale";

/// The answer to a raise to 9 while its write meets a fault, and the count after it.
fn met(fault: Fault) -> (String, u64) {
    let kube = Kube::new();
    let request = kube.apply_to(WEB, 9);
    kube.server.fault(SCALE, fault);
    let answer = kube.call(&[], &request);
    assert!(kube.server.met_all_faults(), "the write was made: {answer}");
    (in_short(&answer), kube.count())
}

#[test]
fn a_count_is_set_with_the_version_that_was_just_read() {
    let kube = Kube::new();
    let answer = kube.call(&[], &kube.apply_to(WEB, 9));
    assert_eq!(in_short(&answer), "succeeded 9");
    assert_eq!(
        answer["resource_version_after"],
        kube.server.get(WEB)["metadata"]["resourceVersion"]
    );
    assert_eq!((kube.server.mutations(), kube.count()), (vec![SCALE.to_owned()], 9));
    // What is so already is not written again.
    assert_eq!(kube.scale(9), "succeeded 9");
    assert_eq!(kube.server.mutations().len(), 1);
}

#[test]
fn a_moved_version_is_told_from_a_lost_answer_by_reading_again() {
    for (fault, expected, count) in [
        // The server refuses the premise: somebody else, or only the status, was faster.
        (Fault::Churn, "failed precondition_moved", 6),
        (Fault::OtherCount(4), "failed precondition_moved", 4),
        (Fault::OtherCount(9), "failed precondition_moved", 9),
        // The answer is lost, and what is there says what happened.
        (Fault::DropAfter, "succeeded 9", 9),
        // The request is lost, and may still be on its way: the version has not moved.
        (Fault::DropBefore, "unknown outcome_unknown", 6),
        // The server's own trouble proves nothing.
        (Fault::Refuse(500, "InternalError"), "unknown outcome_unknown", 6),
        (Fault::Refuse(504, "Timeout"), "unknown outcome_unknown", 6),
        // Its refusals do.
        (Fault::Refuse(403, "Forbidden"), "failed server_refused for good", 6),
        (Fault::Refuse(422, "Invalid"), "failed server_refused for good", 6),
        (Fault::Refuse(401, "Unauthorized"), "failed server_refused", 6),
    ] {
        assert_eq!(met(fault.clone()), (expected.to_owned(), count), "{fault:?}");
    }
}

#[test]
fn a_lost_answer_after_which_nobody_can_read_is_unknown() {
    for (fault, count) in [(Fault::DropAfter, 9), (Fault::DropBefore, 6)] {
        let kube = Kube::new();
        let request = kube.apply_to(WEB, 9);
        kube.server.fault(SCALE, fault);
        kube.server.fault("after the write", Fault::DropBefore);
        let answer = std::thread::scope(|scope| {
            scope.spawn(|| {
                kube.world.until("it was written", || !kube.server.mutations().is_empty());
                kube.server.forbid("deployments/web");
            });
            kube.call(&[], &request)
        });
        assert_eq!(in_short(&answer), "unknown read_failed", "{answer}");
        assert_eq!(kube.count(), count);
    }
}

/// 6.4
#[test]
fn rule_6_4_a_timeout_after_the_write_is_unknown_and_asks_for_a_person() {
    for (fault, count) in [(Fault::HangBefore, 6), (Fault::HangAfter, 9)] {
        let kube = Kube::new();
        let mut request = kube.apply_to(WEB, 9);
        request["deadline_ms"] = json!(12000);
        kube.server.fault(SCALE, fault);
        let answer = kube.call(&[], &request);
        assert_eq!(in_short(&answer), "unknown timeout rollback");
        // No write makes up for it.
        assert_eq!((kube.count(), kube.server.mutations().len()), (count, 1));
    }
}

#[test]
fn a_success_is_the_servers_word_even_where_the_count_is_another_by_then() {
    let kube = Kube::new();
    let request = kube.apply_to(WEB, 9);
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| {
            kube.world.until("it was written", || kube.count() == 9);
            kube.server.edit(WEB, |web| web["spec"]["replicas"] = json!(5));
        });
        kube.call(&[], &request)
    });
    // The parent makes a mismatch of it: it is not what was wished.
    assert_eq!(in_short(&answer), "succeeded 5");
}

#[test]
fn a_kubectl_that_floods_or_lets_a_helper_hold_its_output_ends_in_bounded_time() {
    use std::os::unix::fs::PermissionsExt as _;

    let kube = Kube::new();
    let path = kube.world.write("bin/kubectl", "");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let search = format!("{}:/usr/bin:/bin", kube.world.path("bin").to_str().unwrap());
    let words = ["actuator", "run", "kubectl", "--context", "prod"];
    for (script, expected) in [
        ("head -c 20000000 /dev/zero", "error read_failed"),
        ("sleep 5 & echo '{}'", "error read_failed"),
        ("echo '{}'", "error read_failed"),
        ("kill -9 $$", "error read_failed"),
        ("head -c 300000 /dev/zero | tr '\\0' 'x' >&2; exit 1", "error read_failed"),
    ] {
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        let mut command = kube.world.command(&words);
        let answer = Kube::answer(command.env("PATH", &search), &inspect("deployment/web"));
        assert_eq!(in_short(&answer), expected, "{script}");
        // 6.2: the words are cut to what is kept.
        assert!(answer["error"]["detail"].as_str().unwrap().chars().count() <= 512, "{script}");
    }
}
