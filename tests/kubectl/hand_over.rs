//! J8: a count goes from an autoscaler of the cluster to us, and back.

use std::process::Command;

use serde_json::json;

use super::server::ApiServer;
use super::world::{Kube, object};
use crate::support::{Ran, World};

const SEARCH: &str = "/apis/apps/v1/namespaces/shop/deployments/search";
pub(super) const HPA: &str = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/search";

/// `search` at 9, driven by an autoscaler of 4 to 12.
pub(super) fn search_driven_in(world: World) -> Kube {
    let kube = Kube::within(world);
    kube.server.put(SEARCH, object("Deployment", "search", "5ea4c6f0-1111-4222-8333", 9));
    kube.server.put(
        HPA,
        json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "search", "namespace": "shop"},
            "spec": {
                "minReplicas": 4, "maxReplicas": 12,
                "scaleTargetRef":
                    {"apiVersion": "apps/v1", "kind": "Deployment", "name": "search"},
            },
        }),
    );
    kube
}

/// The same, and known to us as its.
fn driven() -> Kube {
    let kube = search_driven_in(World::new());
    let world = &kube.world;
    world.run("init").exits(0);
    world.write("all.cedar", "@id(\"all\")\npermit(principal, action, resource);\n");
    world.run("policy put all.cedar --reason test").exits(0);
    let command = "scalectl actuator run kubectl --context prod --namespace shop";
    world.run(&format!("actuator put k8s -- {command} --evidence rollout")).exits(0);
    let put = "service put search --actuator k8s --workload deployment/search --writer ops";
    world.run(&format!("{put} --max 20 --mode hpa")).exits(0);
    kube
}

/// The real kubectl, as a person types it.
#[track_caller]
pub(super) fn kubectl(world: &World, line: &str) -> String {
    let own = world.command(&[]);
    let mut command = Command::new("kubectl");
    command.args(["--context", "prod", "-n", "shop"]).args(line.split_whitespace()).env_clear();
    command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.current_dir(world.path("")).output().unwrap();
    assert!(output.status.success(), "{line}: {output:#?}");
    String::from_utf8(output.stdout).unwrap()
}

fn count(server: &ApiServer) -> u64 {
    server.get(SEARCH)["spec"]["replicas"].as_u64().unwrap()
}

/// Whether anything wrote the count through us.
fn scales(server: &ApiServer) -> usize {
    let is_scale = |line: &&String| line.as_str() == format!("PUT {SEARCH}/scale");
    server.mutations().iter().filter(is_scale).count()
}

/// The refusal tells the lines that keep a copy of the owner and take it away, then this very line.
fn takes_away(ran: &Ran) {
    let next = ran.at("/error/next");
    let told = |words: &str| {
        let words = format!("kubectl --context prod -n shop {words}");
        json!(words.split(' ').collect::<Vec<_>>())
    };
    assert_eq!(next[0], told("get horizontalpodautoscaler/search -o yaml"));
    assert_eq!(next[1], told("delete horizontalpodautoscaler/search"));
    let again = next[2].as_array().expect("a line").iter().skip(3);
    let again: Vec<&str> = again.filter_map(|word| word.as_str()).collect();
    assert_eq!(again, ["service", "mode", "search", "native", "--reason", "sale"]);
}

/// Argo CD has set the count before, and does so again with its next sync.
pub(super) fn set_by_argo(server: &ApiServer) {
    let entry = json!({
        "manager": "argocd-controller", "time": "2026-01-05T10:00:00Z",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
    });
    server.edit(SEARCH, |search| search["metadata"]["managedFields"] = json!([entry]));
}

#[test]
fn j8_a_count_is_taken_over_and_given_back() {
    let kube = driven();
    let world = &kube.world;
    // What somebody else owns is not wished, and the owner is named.
    let ran = world.run("scale search=12 --reason sale").exits(22).says("error[external_owner]");
    for part in ["search", "scalectl service mode search native --reason TEXT"] {
        assert!(ran.stderr.contains(part), "no {part:?} in {ran:#?}");
    }
    // While it drives the object it is not taken over, and nothing is recorded.
    let ran = world.json("service mode search native --reason sale").exits(22);
    assert_eq!(ran.at("/error/code"), "still_owned", "{ran:#?}");
    assert_eq!((ran.at("/recorded"), ran.at("/applied")), (json!("no"), json!("no")));
    assert!(ran.stderr.contains("HorizontalPodAutoscaler shop/search"), "{ran:#?}");
    let shown = world.json("service show search").exits(0);
    assert_eq!(shown.at("/service/mode"), "external_hpa", "{shown:#?}");
    // The lines that take it away are told, and typed as they stand; the owner is kept.
    takes_away(&ran);
    let kept = kubectl(world, "get horizontalpodautoscaler/search -o json");
    world.write("search-hpa.json", kept);
    kubectl(world, "delete horizontalpodautoscaler/search");
    set_by_argo(&kube.server);

    let ran = world.run("service mode search native --reason sale").exits(0);
    let line = ran.stdout.lines().next().unwrap();
    assert!(
        line.starts_with("search  external_hpa → native   baseline 9 (read now, 9 of 9"),
        "{ran:#?}"
    );
    assert!(line.contains("registration 2"), "{ran:#?}");
    let warning =
        "warning: argocd-controller (2026-01-05T10:00:00Z) has set the count of search too";
    assert!(ran.stderr.starts_with(warning) && ran.stderr.lines().count() == 1, "{ran:#?}");
    let shown = world.json("service show search").exits(0);
    assert_eq!(shown.at("/service/binding/replicas"), 9);
    world.run("scale search=12 --reason sale --timeout 60s").exits(0);
    assert_eq!((count(&kube.server), scales(&kube.server)), (12, 1));

    // And back: nobody writes until the other one is there again.
    let ran = world.run("service mode search hpa --reason sale-over").exits(0);
    for part in [
        "search  native → external_hpa",
        "registration 3",
        "last wanted 12 (search@1)",
        "scalectl no longer writes; nobody does until the new owner is there",
    ] {
        assert!(ran.stdout.contains(part), "no {part:?} in {ran:#?}");
    }
    kubectl(world, "create -f search-hpa.json --validate=false");
    assert_eq!(kube.server.get(HPA)["spec"]["maxReplicas"], 12, "as it was kept");
    world.run("service bind search").exits(0);
    world.run("scale search=5 --reason r").exits(22);
    assert_eq!(scales(&kube.server), 1, "we wrote once, in between");
    let modes = world.json("log search --event service_handed_over").exits(0).at("/events");
    assert_eq!(modes.as_array().unwrap().len(), 2, "{modes:#}");
    world.run("verify").exits(0);
}
