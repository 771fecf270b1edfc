//! Who drives a count, how they are taken away, and what is done where nobody knows.

use std::process::Command;

use serde_json::{Value, json};

use super::world::{Kube, WEB};

const HPAS: &str = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers";
const SCALED: &str = "/apis/keda.sh/v1alpha1/namespaces/shop/scaledobjects";

fn hpa(name: &str) -> Value {
    autoscaler("autoscaling/v2", "HorizontalPodAutoscaler", name)
}

fn scaled_object(name: &str) -> Value {
    autoscaler("keda.sh/v1alpha1", "ScaledObject", name)
}

fn autoscaler(version: &str, kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": version, "kind": kind,
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 12},
    })
}

/// A line of kubectl, as words.
fn line(words: &str) -> Value {
    let words = format!("kubectl --context prod -n shop {words}");
    json!(words.split(' ').collect::<Vec<_>>())
}

const PAUSE: &str = "annotate scaledobject/queue autoscaling.keda.sh/paused=true \
                     autoscaling.keda.sh/paused-replicas- --overwrite";

#[test]
fn each_owner_is_named_with_the_lines_that_take_it_away() {
    let kube = Kube::new();
    kube.server.put(&format!("{HPAS}/web"), hpa("web"));
    kube.server.put(&format!("{SCALED}/queue"), scaled_object("queue"));
    // What KEDA has made it makes anew, so what it was made of is paused.
    let mut made = hpa("keda-hpa-queue");
    made["metadata"]["ownerReferences"] = json!([{"kind": "ScaledObject", "name": "queue"}]);
    kube.server.put(&format!("{HPAS}/keda-hpa-queue"), made);
    // A name that could be an option has no line.
    kube.server.put(&format!("{HPAS}/x"), hpa("-o"));
    let found = kube.inspect();
    let told = |name: &str| format!("HorizontalPodAutoscaler shop/{name} (min ?, max 12)");
    let keda = "ScaledObject shop/queue (min ?, max 12)";
    assert_eq!(found["owners"], json!([told("keda-hpa-queue"), told("web"), told("-o"), keda]));
    assert_eq!(
        found["take_away"],
        json!([
            {"owner": told("keda-hpa-queue"), "lines": [line(PAUSE)]},
            {"owner": told("web"), "lines": [
                line("get horizontalpodautoscaler/web -o yaml"),
                line("delete horizontalpodautoscaler/web"),
            ]},
            {"owner": keda, "lines": [line(PAUSE)]},
        ])
    );
}

#[test]
fn an_annotation_of_keda_does_not_hide_an_hpa() {
    let kube = Kube::new();
    let mut paused = hpa("web");
    paused["metadata"]["annotations"] = json!({"autoscaling.keda.sh/paused": "true"});
    kube.server.put(&format!("{HPAS}/web"), paused);
    let owner = "HorizontalPodAutoscaler shop/web (min ?, max 12)";
    assert_eq!(kube.inspect()["owners"], json!([owner]));
}

#[test]
fn one_that_cannot_be_understood_is_named_and_hides_nobody() {
    let kube = Kube::new();
    kube.server.put(&format!("{HPAS}/web"), hpa("web"));
    let mut odd = hpa("odd");
    odd["spec"] = json!({"scaleTargetRef": "web"});
    kube.server.put(&format!("{HPAS}/odd"), odd);
    // A bound that is none is no reason not to know what it drives.
    let mut strange = scaled_object("strange");
    strange["spec"]["scaleTargetRef"]["name"] = json!("other");
    strange["spec"]["maxReplicas"] = json!("many");
    kube.server.put(&format!("{SCALED}/strange"), strange);
    let found = kube.inspect();
    assert_eq!(found["owners_unread"], json!(["HorizontalPodAutoscaler shop/odd"]));
    assert_eq!(found["owners"], json!(["HorizontalPodAutoscaler shop/web (min ?, max 12)"]));
}

fn registered(kube: &Kube) {
    let world = &kube.world;
    world.run("init").exits(0);
    let program = env!("CARGO_BIN_EXE_scalectl");
    let put = ["actuator", "put", "k8s", "--", program, "actuator", "run", "kubectl"];
    let flags = ["--context", "prod", "--namespace", "shop"];
    world.run_args(&[&put[..], &flags[..]].concat()).exits(0);
    world
        .run("service put web --actuator k8s --workload deployment/web --max 10 --mode hpa")
        .exits(0);
}

const TAKE_OVER: &str = "service mode web native --reason sale";

/// The way that the refusal prints is walked, line by line, with the real kubectl.
#[test]
fn a_service_is_taken_over_by_the_lines_that_are_printed() {
    let kube = Kube::new();
    registered(&kube);
    kube.server.put(&format!("{SCALED}/queue"), scaled_object("queue"));
    kube.server.put(&format!("{HPAS}/web"), hpa("web"));
    let world = &kube.world;
    let ran = world.json(TAKE_OVER).exits(22);
    assert_eq!(ran.at("/error/code"), "still_owned");
    let facts = ran.at("/error/facts");
    assert_eq!(facts["owner 1"], "HorizontalPodAutoscaler shop/web (min ?, max 12)");
    assert_eq!(facts["owner 2"], "ScaledObject shop/queue (min ?, max 12)");
    let next = ran.at("/error/next");
    let lines = next.as_array().expect("lines");
    assert_eq!(lines[2], line(PAUSE));
    let delete = line("delete horizontalpodautoscaler/web");
    assert_eq!((&lines[0], &lines[1]), (&line("get horizontalpodautoscaler/web -o yaml"), &delete));
    for line in &lines[..3] {
        let words: Vec<&str> = line.as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let mut kubectl = Command::new(words[0]);
        kubectl.env("KUBECONFIG", world.path("kube.json")).env("HOME", world.path(""));
        let ran = kubectl.args(&words[1..]).output().unwrap();
        assert!(ran.status.success(), "{line}: {ran:?}");
    }
    let entry = json!({
        "manager": "argocd", "time": "2026-01-05T10:00:00Z",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
    });
    kube.server.edit(WEB, |web| web["metadata"]["managedFields"] = json!([entry]));
    let ran = world.json(TAKE_OVER).exits(0);
    let warnings = ran.at("/warnings");
    assert_eq!(warnings[0]["code"], "other_manager");
    let text = warnings[0]["message"].as_str().expect("a text");
    assert!(text.starts_with("argocd (2026-01-05T10:00:00Z) has set the count"), "{text}");
}

#[test]
fn who_could_not_be_read_is_no_owner_by_a_persons_word_only() {
    let kube = Kube::new();
    registered(&kube);
    kube.server.forbid("horizontalpodautoscalers");
    let world = &kube.world;
    let ran = world.json(TAKE_OVER).exits(25);
    assert_eq!(ran.at("/error/code"), "owners_unknown");
    assert_eq!(ran.at("/error/facts/unread"), "HorizontalPodAutoscaler");
    let line = ran.at("/error/next/1");
    assert_eq!(line.as_array().unwrap().last(), Some(&json!("accept")));
    let words: Vec<&str> = line.as_array().unwrap()[1..].iter().filter_map(Value::as_str).collect();
    let ran = world.run_args(&words).exits(0);
    assert_eq!(ran.at("/warnings/0/code"), "owners_unread");
    let told = world.json("log web --limit 1").exits(0).at("/events/0/body");
    assert_eq!(told["owners_unread"], json!(["HorizontalPodAutoscaler"]), "{told}");
    // Who is away is no matter where the count is given away.
    world.run("service mode web hpa --reason back").exits(0);
}

/// A call is not refused for whoever else drives the count: the registered mode says whose it is.
#[test]
fn who_drives_a_count_that_is_ours_is_told_wherever_it_is_set() {
    let kube = Kube::new();
    registered(&kube);
    let world = &kube.world;
    let policy = world.write("all.cedar", "@id(\"all\")\npermit(principal, action, resource);\n");
    world.run_args(&["policy", "put", policy.to_str().unwrap(), "--reason", "test"]).exits(0);
    world.run(TAKE_OVER).exits(0);
    let ran = world.json("scale web=7 --reason more").exits(0);
    assert_eq!(ran.at("/warnings"), json!([]));
    kube.server.put(&format!("{HPAS}/web"), hpa("web"));
    let ran = world.json("scale web=8 --reason more").exits(0);
    let owner = "HorizontalPodAutoscaler shop/web (min ?, max 12)";
    assert_eq!(ran.at("/warnings/0/code"), "other_owner");
    assert_eq!(ran.at("/warnings").as_array().map(Vec::len), Some(1), "it is told once");
    let text = ran.at("/warnings/0/message").as_str().unwrap().to_owned();
    assert!(text.starts_with(&format!("{owner} drives the count of web, too")), "{text}");
    // Who registers it as ours is told, too; who registers it as theirs has it named.
    let put = "--actuator k8s --workload deployment/web --max 9";
    world.run("service retire web --reason again").exits(0);
    let ran = world.json(&format!("service put web {put} --writer other")).exits(0);
    assert_eq!(ran.at("/warnings"), json!([]), "nobody was asked: the place is the same");
    world.run("--ledger other.db init").exits(0);
    let program = env!("CARGO_BIN_EXE_scalectl");
    let actuator = ["--ledger", "other.db", "actuator", "put", "k8s", "--", program];
    let flags = ["actuator", "run", "kubectl", "--context", "prod", "--namespace", "shop"];
    world.run_args(&[&actuator[..], &flags].concat()).exits(0);
    let ran = world.json(&format!("--ledger other.db service put ours {put}")).exits(0);
    assert_eq!(ran.at("/warnings/0/code"), "other_owner");
    let line = format!("--ledger other.db service put ours {put} --mode hpa");
    let ran = world.json(&line.replace("ours", "theirs")).exits(10);
    assert_eq!(ran.at("/error/code"), "target_taken", "{ran:#?}");
    world.run("--ledger third.db init").exits(0);
    let actuator = ["--ledger", "third.db", "actuator", "put", "k8s", "--", program];
    world.run_args(&[&actuator[..], &flags].concat()).exits(0);
    let theirs = format!("--ledger third.db service put theirs {put} --mode hpa");
    let ran = world.json(&theirs).exits(0);
    assert_eq!((ran.at("/service/owner"), ran.at("/warnings")), (json!(owner), json!([])));
    assert_eq!(world.json(&theirs).exits(0).at("/changed"), false);
    // And whoever asks about it is told its name, before anybody has wished anything.
    let told = world.run("--ledger third.db explain theirs").exits(0);
    assert!(told.stdout.contains(&format!("by {owner} (external_hpa)")), "{told:#?}");
    let ran = world.json("--ledger third.db scale theirs=3 --reason r").exits(22);
    assert!(ran.stderr.contains(owner), "{ran:#?}");
}
