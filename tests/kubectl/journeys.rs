//! The whole way, from a wish in the ledger to the object and back.

use serde_json::json;

use super::server::{ApiServer, Fault};
use super::world::{Kube, UID, WEB, leads_to, object};
use crate::support::calls::recipe;
use crate::support::{Ran, SCALECTL, World, group_members};

const SCALE: &str = "PUT /apis/apps/v1/namespaces/shop/deployments/web/scale";

/// The service `worker` on `deployment/web`, with such evidence and time.
fn registered(timeout: &str, evidence: &[&str]) -> Kube {
    let kube = Kube::new();
    let world = &kube.world;
    world.run("init").exits(0);
    let policy = world.write("all.cedar", "@id(\"all\")\npermit(principal, action, resource);\n");
    world.run_args(&["policy", "put", policy.to_str().unwrap(), "--reason", "test"]).exits(0);
    let put = ["actuator", "put", "k8s", "--timeout", timeout, "--"];
    let run =
        ["scalectl", "actuator", "run", "kubectl", "--context", "prod", "--namespace", "shop"];
    world.run_args(&[&put[..], &run, evidence].concat()).exits(0);
    world
        .run("service put worker --workload deployment/web --actuator k8s --writer ops --max 10")
        .exits(0);
    kube
}

fn shrink(world: &World) -> Ran {
    world.json("scale worker=2 --key shrink-7 --reason batch --timeout 60s")
}

#[test]
fn a_service_on_kubectl_is_scaled_and_verified_by_readings() {
    let kube = registered("60s", &["--evidence", "rollout"]);
    let shown = kube.world.json("service show worker").exits(0);
    assert_eq!(shown.at("/service/terms/target_match"), "generation", "{shown:#?}");
    assert_eq!(shown.at("/service/binding/target_uid"), UID);
    for desired in [9, 2] {
        let line = format!("scale worker={desired} --reason r --timeout 60s");
        let ran = kube.world.json(&line).exits(0);
        assert_eq!(ran.at("/applied"), "yes");
        assert_eq!(kube.count(), desired);
    }
    assert_eq!(kube.server.mutations(), [SCALE, SCALE]);
    kube.world.run("verify").exits(0);
}

/// J7, to the point where nobody knows: the write was lost, or made, without an answer.
fn timed_out(fault: Fault) -> Kube {
    let kube = registered("20s", &["--evidence", "rollout"]);
    kube.server.fault(SCALE, fault);
    let ran =
        kube.world.run("scale worker=2 --key shrink-7 --reason batch --timeout 60s").exits(16);
    says_in_order(
        &ran.stderr,
        &[
            "  accepted worker@1  6 → 2",
            "  attempt 1 of 3: recovery_pending (unknown)",
            "warning: the call left something that a person should look at",
            "error[outcome_unknown]: nobody knows what became of attempt 1 of worker@1 (6 → 2)",
            "  why       the actuator itself does not know",
            "  detail    kubectl scale gave no answer in time",
            "  late      an effect may still arrive until ",
            "  blocked   worker starts nothing else until this is settled",
            "  applied   unknown: the request may have reached the target",
            "hint: never use a new key; this finds out, without a blind second call (quiet in ",
            "        scalectl replay shrink-7 --wait",
        ],
    );
    let ran = kube.world.json("explain shrink-7").exits(0);
    assert_eq!(ran.at("/execution/state"), "recovery_pending");
    let shown = kube.world.json("attempt show shrink-7");
    assert!(
        shown.stdout.contains("\"rollback_required\": true")
            || shown.stdout.contains("\"rollback_required\":true"),
        "{shown:#?}"
    );
    // Blocked until this is settled.
    let ran = kube.world.run("scale worker=3 --key other --reason r --timeout 1s").exits(11);
    says_in_order(
        &ran.stderr,
        &[
            "error[in_flight]: worker@1 is recovery_pending, and nothing else may start",
            "  applied   no",
            "hint: find out what became of it, then run this same line again:",
            "        scalectl replay worker@1",
        ],
    );
    kube
}

/// Holds that lines begin so, in this order and with nothing forgotten between: each line that is
/// told and not listed is a fault of the list.
#[track_caller]
fn says_in_order(text: &str, beginnings: &[&str]) {
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), beginnings.len(), "{text}");
    for (line, beginning) in lines.iter().zip(beginnings) {
        assert!(
            line.starts_with(beginning),
            "{line:?} does not begin with {beginning:?} in {text}"
        );
    }
}

#[test]
fn j7_an_unknown_write_is_fenced_read_and_proved_not_applied_and_the_same_line_goes_on() {
    let kube = timed_out(Fault::HangBefore);
    let ran = kube.world.run("replay shrink-7").exits(18);
    says_in_order(
        &ran.stdout,
        &[
            "worker@1  6 → 2  failed  key shrink-7",
            "  fenced: a late effect is ruled out",
            "  read 6 replicas: failed, not applied (proved)",
            "  the next attempt may start at ",
        ],
    );
    says_in_order(
        &ran.stderr,
        &[
            "warning: the call left something that a person should look at",
            "error[retry_later]: worker@1 (6 → 2) failed, and may be tried again at ",
            "  attempt   1 of 3, the next is free",
            "  code      not_applied",
            "  detail    ",
            "  applied   no: recorded, and the target was not changed",
            "hint: run the line that wished it again then, or let it be tried by:",
            "        scalectl replay shrink-7",
        ],
    );
    // It never calls kubectl scale again.
    assert_eq!(kube.server.mutations(), [SCALE.to_owned(), format!("PATCH {WEB}")]);
    assert_eq!(kube.count(), 6);
    let ran = shrink(&kube.world).exits(0);
    assert_eq!((ran.at("/applied"), kube.count()), (json!("yes"), 2));
    assert_eq!(kube.server.mutations().len(), 3);
    kube.world.run("verify").exits(0);
}

#[test]
fn j7_an_unknown_write_that_was_made_is_found_and_not_made_again() {
    let kube = timed_out(Fault::HangAfter);
    kube.world.run("replay shrink-7").exits(0);
    shrink(&kube.world).exits(0);
    let scales = kube.server.mutations().into_iter().filter(|line| line == SCALE).count();
    assert_eq!((scales, kube.count()), (1, 2));
    kube.world.run("verify").exits(0);
}

#[test]
fn a_killed_command_takes_its_kubectl_with_it_and_the_same_line_goes_on() {
    let kube = registered("60s", &["--evidence", "rollout"]);
    let world = &kube.world;
    kube.server.fault(SCALE, Fault::HangBefore);
    let mut command = world.start("scale worker=2 --key shrink-7 --reason batch --timeout 60s");
    world.until("the write is under way", || kube.server.mutations() == [SCALE]);
    let call = world.call_file();
    // The adapter, and the kubectl that it waits for: whoever ends the group ends both.
    assert!(group_members(call.group).len() >= 2, "{call:?}");
    command.kill().unwrap();
    command.wait().unwrap();
    world.await_no_children();
    world.run("replay shrink-7").exits(18);
    assert_eq!(kube.count(), 6);
    shrink(world).exits(0);
    assert_eq!(kube.count(), 2);
    world.run("verify").exits(0);
}

#[test]
fn another_cluster_another_object_and_another_generation_stop_the_call_before_any_write() {
    let put = "intent put worker --replicas 9 --key k1 --reason r --expect-revision 0";
    // A recreated object.
    let kube = registered("60s", &[]);
    kube.world.run(put).exits(0);
    kube.server.put(WEB, object("Deployment", "web", "recreated", 6));
    let ran = kube.world.json("actuate k1").exits(10);
    assert_eq!(ran.at("/error/code"), "target_changed");
    assert!(kube.server.mutations().is_empty());

    // A changed generation; a status that moved is none.
    let kube = registered("60s", &[]);
    kube.world.run(put).exits(0);
    kube.server.edit(WEB, |web| {
        web["metadata"]["generation"] = json!(2);
        web["status"]["observedGeneration"] = json!(2);
    });
    let ran = kube.world.json("actuate k1").exits(10);
    assert_eq!(ran.at("/error/code"), "target_changed");
    assert!(kube.server.mutations().is_empty());
    let kube = registered("60s", &[]);
    kube.world.run(put).exits(0);
    kube.server.edit(WEB, |web| web["status"]["conditions"] = json!([]));
    kube.world.run("actuate k1").exits(0);

    // A context that leads to another cluster, where even the uid is the same.
    let kube = registered("60s", &[]);
    kube.world.run(put).exits(0);
    let other = ApiServer::start("99999999-1111-4222-8333-944445555666");
    other.put(WEB, object("Deployment", "web", UID, 6));
    leads_to(&kube.world, &other);
    let ran = kube.world.json("actuate k1").exits(25);
    assert!(ran.stderr.contains("other_cluster"), "{ran:#?}");
    assert!(other.mutations().is_empty() && kube.server.mutations().is_empty());
}

#[test]
fn evidence_that_is_old_or_says_1_for_true_stops_a_reduction_before_any_write() {
    for (drained, age, code) in [
        ("1", "0", 25),
        ("\"true\"", "0", 25),
        ("false", "0", 25),
        ("true", "90", 25),
        ("true", "0", 0),
    ] {
        let kube = registered_with_provider();
        kube.world.write("drained", drained);
        kube.world.write("age", age);
        let ran = shrink(&kube.world).exits(code);
        assert_eq!(kube.server.mutations().is_empty(), code == 25, "{drained} {age}: {ran:#?}");
    }
}

/// Says what the files `drained` and `age` say, of the object as it is.
const PROVIDER: &str = r#"
at='jsonpath={.metadata.resourceVersion}'
version=$(kubectl --context prod -n shop get deployment/web -o "$at")
read_at=$(date -u -d "$(cat age) seconds ago" +%Y-%m-%dT%H:%M:%SZ)
printf '{"protocol":"scalectl.actuator/1","drained":%s,"stabilized":true,' "$(cat drained)"
printf '"resource_version":"%s","observed_replicas":6,"remaining_replicas":2,' "$version"
printf '"quorum_safe":null,"read_at":"%s"}' "$read_at"
"#;

fn registered_with_provider() -> Kube {
    registered("60s", &["--evidence", "provider", "--", "/bin/sh", "-c", PROVIDER])
}

#[test]
fn the_conformance_kit_finds_nothing_broken() {
    let kube = registered("60s", &["--evidence", "rollout"]);
    let path = "/apis/apps/v1/namespaces/shop/deployments/scalectl-check";
    kube.server.put(path, object("Deployment", "scalectl-check", "check-uid", 1));
    let ran = kube.world.run("actuator check k8s --workload deployment/scalectl-check").exits(0);
    let row = |name: &str| {
        let line = ran.stdout.lines().find(|line| line.starts_with(name)).expect(name);
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    for name in ["inspect", "apply_up", "conditional_on_version", "fence", "evidence", "in_time"] {
        assert_eq!(row(name), "ok", "{name}: {ran:#?}");
    }
    assert_eq!(kube.server.get(path)["spec"]["replicas"], 1);
}

#[test]
fn every_line_of_the_recipe_works_as_written() {
    let kube = Kube::new();
    let bin = std::path::Path::new(SCALECTL).parent().unwrap().to_str().unwrap();
    let lines = recipe(include_str!("../../docs/recipes/kubernetes.md"));
    assert_eq!(lines.len(), 13, "{lines:#?}");
    for (line, exit) in lines {
        if exit == 16 {
            kube.server.fault(SCALE, Fault::DropBefore);
        }
        let mut command = std::process::Command::new("/bin/sh");
        let scalectl = kube.world.command(&[]);
        let env = scalectl.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command.args(["-c", &line]).env_clear().envs(env);
        command.env("PATH", format!("{bin}:/usr/local/bin:/usr/bin:/bin"));
        let output = command.current_dir(kube.world.path("")).output().unwrap();
        assert_eq!(output.status.code(), Some(exit), "{line}: {output:#?}");
    }
    assert_eq!(kube.count(), 9);
}
