//! What is decided without kubectl; the rest is tested through the binary in `tests/kubectl.rs`.

use super::apply::{Judged, Refused, Seen, judge, server_refusal};
use super::place::{Kind, Place, is_context, is_name};
use super::{KubectlConfig, is_server_word};

fn seen(version: &str, generation: Option<u64>, replicas: u32) -> Seen {
    Seen {
        uid: "u".parse().expect("valid"),
        version: version.parse().expect("valid"),
        generation,
        replicas: Some(replicas.into()),
    }
}

#[test]
fn a_write_that_failed_is_judged_by_what_is_there_now() {
    let before = seen("10", Some(4), 6);
    for (now, refused, expected) in [
        // The version is as before: a write may still be on its way, unless it was refused.
        (seen("10", Some(4), 6), false, Judged::Unknown),
        (seen("10", Some(4), 6), true, Judged::Refused { retryable: true }),
        // It has moved, and the spec has not: nothing was written, and nothing comes late.
        (seen("11", Some(4), 6), false, Judged::Moved),
        (seen("11", Some(4), 6), true, Judged::Moved),
        // One change, and it is not ours.
        (seen("12", Some(5), 4), false, Judged::Moved),
        (seen("12", Some(5), 9), false, Judged::Applied),
        (seen("12", Some(5), 9), true, Judged::Moved),
        // Two changes: the first may have been ours.
        (seen("13", Some(6), 4), false, Judged::Unknown),
        (seen("13", Some(6), 4), true, Judged::Moved),
        (seen("13", Some(6), 9), false, Judged::Applied),
        // A generation that fell, or that nobody says, tells nothing.
        (seen("13", Some(3), 6), false, Judged::Unknown),
        (seen("13", None, 6), false, Judged::Unknown),
    ] {
        let refused = refused.then_some(Refused::Premise);
        let judged = judge(&before, &now, 9.into(), refused);
        assert_eq!(judged, expected, "{now:?} {refused:?}");
    }
    let other = Seen { uid: "v".parse().expect("valid"), ..seen("12", Some(5), 9) };
    assert_eq!(judge(&before, &other, 9.into(), None), Judged::Unknown);
    let unsure = seen("10", None, 6);
    assert_eq!(judge(&unsure, &seen("11", Some(4), 6), 9.into(), None), Judged::Unknown);
}

/// Somebody else may move the version at the same time; that makes no lost race of it.
#[test]
fn what_is_forbidden_or_invalid_stays_so_wherever_the_version_is() {
    let before = seen("10", Some(4), 6);
    let other = Seen { uid: "v".parse().expect("valid"), ..seen("12", Some(5), 9) };
    for now in [seen("10", Some(4), 6), seen("11", Some(4), 6), seen("12", Some(5), 9), other] {
        for (refused, retryable) in [(Refused::ForGood, false), (Refused::Later, true)] {
            let judged = judge(&before, &now, 9.into(), Some(refused));
            assert_eq!(judged, Judged::Refused { retryable }, "{now:?} {refused:?}");
        }
    }
}

#[test]
fn only_a_refusal_of_the_server_is_one() {
    use Refused::{ForGood, Later, Premise};
    for (words, expected) in [
        ("Error from server (Forbidden): deployments.apps \"web\" is forbidden", Some(ForGood)),
        ("Error from server (Conflict): Operation cannot be fulfilled", Some(Premise)),
        ("The Deployment \"web\" is invalid: spec.replicas: Invalid value", Some(ForGood)),
        ("The request is invalid: patch", Some(ForGood)),
        ("error: You must be logged in to the server (Unauthorized)", Some(Later)),
        ("Error from server (Unauthorized): x", Some(Later)),
        ("Error from server (TooManyRequests): slow down", Some(Later)),
        ("Error from server (NotFound): deployments.apps \"web\" not found", Some(ForGood)),
        ("Error from server (BadRequest): admission webhook denied it", Some(ForGood)),
        ("error: Expected resource version to be 10, was 11", Some(Premise)),
        ("Error from server (Timeout): it did not complete in time", None),
        ("Error from server (ServerTimeout): it could not be completed", None),
        ("error: read tcp 127.0.0.1:1: read: connection reset by peer", None),
        ("The connection to the server 127.0.0.1:1 was refused - is it the right one?", None),
        ("Error from server (InternalError): etcdserver: request timed out", None),
        ("Error from server (ServiceUnavailable): try again", None),
        ("Error from server: EOF", None),
        ("Unable to connect to the server: dial tcp 127.0.0.1:1: connection refused", None),
        ("error: Timeout: request did not complete within requested timeout", None),
        ("", None),
    ] {
        assert_eq!(server_refusal(words), expected, "{words}");
    }
    assert!(!is_server_word("Error from server (NotFoundAtAll): x", &["NotFound"]));
}

#[test]
fn a_place_is_a_namespace_a_kind_and_a_safe_name() {
    let config = KubectlConfig::new("prod".to_owned(), None, None, Vec::new()).expect("valid");
    let place = |workload: &str, runtime: &str| {
        let runtime = runtime.parse().expect("an identifier");
        Place::of(&config, &workload.parse().expect("an identifier"), Some(&runtime))
    };
    for (workload, kind) in [
        ("deployment/web", Kind::Deployment),
        ("Deployments/web", Kind::Deployment),
        ("STATEFULSET/web", Kind::StatefulSet),
        ("statefulsets/web", Kind::StatefulSet),
    ] {
        let found = place(workload, "shop").expect("valid");
        assert_eq!(
            (found.kind, found.name.as_str(), found.namespace.as_str()),
            (kind, "web", "shop")
        );
        assert!(found.to_string().starts_with("shop/") && found.to_string().ends_with("/web"));
    }
    for (workload, code) in [
        ("web", "unknown_workload"),
        ("pod/web", "unknown_workload"),
        ("deployment/web/scale", "unsafe_target"),
        ("deployment/", "unsafe_target"),
        ("deployment/.web", "unsafe_target"),
    ] {
        assert_eq!(place(workload, "shop").expect_err("refused").code, code, "{workload}");
    }
    assert_eq!(place("deployment/web", "a/b").expect_err("refused").code, "unsafe_target");
    assert!(!is_name("-A") && !is_name("") && !is_name("a b") && is_name("web-1.b_c"));
    assert!(is_context("arn:aws:eks:eu:1:cluster/x") && is_context("admin@eu-1"));
    assert!(!is_context("-x") && !is_context("a b") && !is_context(&"a".repeat(257)));
}
