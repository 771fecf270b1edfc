//! `service discover` through the real kubectl: what could be scaled, whose it is, and the line
//! that registers it.

use serde_json::{Value, json};

use super::world::{Kube, WEB, fence, object};
use crate::support::Ran;
use crate::support::schema::Schema;

const HPAS: &str = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers";

/// An actuator that acts through context `prod`, in one namespace or in all.
fn registered(kube: &Kube, namespace: &[&str]) {
    kube.world.run("init").exits(0);
    let put = ["actuator", "put", "k8s", "--", "scalectl", "actuator", "run", "kubectl"];
    kube.world.run_args(&[&put[..], &["--context", "prod"], namespace].concat()).exits(0);
}

fn autoscaler(name: &str, target: &str) -> Value {
    json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": target},
            "minReplicas": 4, "maxReplicas": 12,
        },
    })
}

/// What is found, each in one line: where, how many, whose, and by whom driven.
#[track_caller]
fn found(ran: &Ran) -> Vec<String> {
    let schema = Schema::named("answer");
    let document = ran.json();
    assert_eq!(schema.problems(&document), Vec::<String>::new(), "{document:#}");
    let all = document["discovery"]["found"].as_array().unwrap();
    all.iter()
        .map(|one| {
            let of = &one["target"];
            let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
            let owners = one["owners"].as_array().unwrap().iter().map(word).collect::<Vec<_>>();
            format!(
                "{}/{} {} {} [{}]",
                word(&of["runtime_id"]),
                word(&of["workload_id"]),
                one["replicas"],
                word(&one["service"]),
                owners.join("; ")
            )
        })
        .collect()
}

fn lines(ran: &Ran) -> Vec<Vec<String>> {
    let all = ran.at("/discovery/found");
    let lines = all.as_array().unwrap().iter().filter_map(|one| one["next"].as_array());
    let words = |line: &Vec<Value>| line.iter().map(|it| it.as_str().unwrap().to_owned()).collect();
    lines.map(words).collect()
}

/// Each line as it is told, without its first word.
fn typed(kube: &Kube, lines: &[Vec<String>]) {
    for line in lines {
        let words: Vec<&str> = line[1..].iter().map(String::as_str).collect();
        kube.world.run_args(&words).exits(0);
    }
}

#[test]
fn what_a_namespace_holds_is_listed_and_registered_by_the_lines_that_are_told() {
    let kube = Kube::new();
    registered(&kube, &["--namespace", "shop"]);
    kube.server.put(&format!("{HPAS}/web"), autoscaler("web", "web"));
    let entry = json!({
        "manager": "argocd", "time": "2026-01-05T10:00:00Z",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
    });
    kube.server.edit(WEB, |web| web["metadata"]["managedFields"] = json!([entry]));
    let before = kube.world.events();
    let ran = kube.world.json("service discover k8s").exits(0);
    let hpa = "HorizontalPodAutoscaler shop/web (min 4, max 12)";
    let web = format!("shop/deployment/web 6 - [{hpa}]");
    assert_eq!(found(&ran), [web, "shop/statefulset/db 3 - []".to_owned()]);
    assert_eq!(ran.at("/discovery/found/0/managers"), json!(["argocd (2026-01-05T10:00:00Z)"]));
    assert_eq!((ran.at("/recorded"), ran.at("/applied")), (json!("no"), json!("no")));
    let lines = lines(&ran);
    let put = "service put web --actuator k8s --runtime shop --workload deployment/web --max 6 \
               --mode external_hpa";
    assert_eq!(lines[0].join(" "), format!("scalectl {put}"));
    let put = "service put db --actuator k8s --runtime shop --workload statefulset/db --max 3";
    assert_eq!(lines[1].join(" "), format!("scalectl {put}"));
    // For people the same lines, to be pasted.
    let shown = kube.world.run("service discover k8s").exits(0);
    assert!(shown.stdout.contains(&format!("\nscalectl {put}\n")), "{shown:#?}");
    assert_eq!(kube.world.events(), before, "nothing is written to the ledger");
    typed(&kube, &lines);
    let ran = kube.world.json("service discover k8s --runtime shop").exits(0);
    assert_eq!(
        found(&ran),
        [format!("shop/deployment/web 6 web [{hpa}]"), "shop/statefulset/db 3 db []".to_owned()]
    );
    assert_eq!(self::lines(&ran), Vec::<Vec<String>>::new());
    let shown = kube.world.json("service show web").exits(0);
    assert_eq!(shown.at("/service/mode"), "external_hpa");
    let names = kube.world.run("service discover k8s -o name").exits(0);
    assert_eq!(names.stdout, "deployment/web\nstatefulset/db\n");
    assert_eq!(kube.server.mutations(), Vec::<String>::new());
    // Elsewhere it does not act.
    let ran = kube.world.json("service discover k8s --runtime other").exits(20);
    assert!(ran.at("/error/message").as_str().unwrap().contains("other_namespace"), "{ran:#?}");
}

#[test]
fn without_a_namespace_all_are_listed_and_no_name_is_given_twice() {
    let kube = Kube::new();
    registered(&kube, &[]);
    let mut other = object("Deployment", "web", "0e0e0e0e-1111-4222-8333-944445555666", 2);
    other["metadata"]["namespace"] = json!("blue");
    kube.server.put("/apis/apps/v1/namespaces/blue/deployments/web", other);
    // An autoscaler of one namespace drives nothing in another.
    kube.server.put(&format!("{HPAS}/web"), autoscaler("web", "web"));
    let ran = kube.world.json("service discover k8s").exits(0);
    assert_eq!(
        found(&ran),
        [
            "blue/deployment/web 2 - []",
            "shop/deployment/web 6 - [HorizontalPodAutoscaler shop/web (min 4, max 12)]",
            "shop/statefulset/db 3 - []",
        ]
    );
    let lines = lines(&ran);
    let names: Vec<&str> = lines.iter().map(|line| line[3].as_str()).collect();
    assert_eq!(names, ["web", "shop-web", "db"]);
    typed(&kube, &lines);
    // Where not all may be listed, one is named.
    kube.server.forbid("/apps/v1/deployments");
    kube.server.forbid("/apps/v1/statefulsets");
    let ran = kube.world.json("service discover k8s").exits(20);
    let why = ran.at("/error/message");
    assert!(why.as_str().unwrap().contains("name one with --runtime"), "{ran:#?}");
    let ran = kube.world.json("service discover k8s --runtime blue").exits(0);
    assert_eq!(found(&ran), ["blue/deployment/web 2 web []"]);
}

#[test]
fn what_cannot_be_read_is_named_and_hides_nothing_else() {
    let kube = Kube::new();
    registered(&kube, &["--namespace", "shop"]);
    kube.server.forbid("statefulsets");
    kube.server.forbid("horizontalpodautoscalers");
    let mut odd = object("Deployment", "odd", "0d0d0d0d-1111-4222-8333-944445555666", 1);
    odd["spec"]["replicas"] = json!("many");
    kube.server.put("/apis/apps/v1/namespaces/shop/deployments/odd", odd);
    let mut bare = object("Deployment", "bare", "ba9eba9e-1111-4222-8333-944445555666", 1);
    bare["spec"].as_object_mut().unwrap().remove("replicas");
    kube.server.put("/apis/apps/v1/namespaces/shop/deployments/bare", bare);
    let ran = kube.world.json("service discover k8s").exits(0);
    assert_eq!(found(&ran), ["shop/deployment/bare null - []", "shop/deployment/web 6 - []"]);
    assert_eq!(ran.at("/discovery/unread"), json!(["StatefulSet", "shop/deployment/odd"]));
    let unread = json!(["HorizontalPodAutoscaler"]);
    assert_eq!(ran.at("/discovery/found/1/owners_unread"), unread);
    let warnings = ran.at("/warnings");
    let codes: Vec<&str> =
        warnings.as_array().unwrap().iter().filter_map(|it| it["code"].as_str()).collect();
    assert_eq!(codes, ["not_listed", "not_listed", "owners_unread"]);
    // Unknown is not 1: what may be wished is for a person to say.
    assert_eq!(lines(&ran)[0].join(" ").split("--max ").nth(1), Some("N"));
    kube.server.forbid("deployments");
    let ran = kube.world.json("service discover k8s").exits(20);
    assert!(ran.at("/error/message").as_str().unwrap().contains("list_forbidden"), "{ran:#?}");
}

#[test]
fn another_object_of_the_place_is_told_with_the_line_that_binds_it() {
    let kube = Kube::new();
    registered(&kube, &["--namespace", "shop"]);
    let ran = kube.world.json("service discover k8s").exits(0);
    typed(&kube, &lines(&ran));
    let recreated = "91ab6f0e-1111-4222-8333-944445555666";
    kube.server.put(WEB, object("Deployment", "web", recreated, 6));
    let ran = kube.world.json("service discover k8s").exits(0);
    assert_eq!(ran.at("/discovery/found/0/same_object"), false);
    let next = lines(&ran);
    assert_eq!(next.len(), 1);
    assert_eq!(next[0][1..].join(" "), format!("service bind web --accept-uid {recreated}"));
    typed(&kube, &next);
    let ran = kube.world.json("service discover k8s").exits(0);
    assert_eq!(ran.at("/discovery/found/0/same_object"), true);
    // What was retired may be registered anew, under its name.
    kube.world.run("service retire web --reason over").exits(0);
    let ran = kube.world.json("service discover k8s").exits(0);
    assert_eq!(ran.at("/discovery/found/0/retired"), true);
    typed(&kube, &lines(&ran));
    let ran = kube.world.json("service discover k8s").exits(0);
    assert_eq!(ran.at("/discovery/found/0/retired"), false);
}

#[test]
fn what_takes_orders_from_another_ledger_is_its() {
    let kube = Kube::new();
    registered(&kube, &["--namespace", "shop"]);
    assert_eq!(kube.call(&[], &fence("L1", 1, 7, 1))["fenced"], true);
    let ran = kube.world.json("service discover k8s").exits(0);
    assert_eq!(found(&ran)[0], "shop/deployment/web 6 - [scalectl ledger L1]");
    assert_eq!(ran.at("/discovery/found/0/next"), Value::Null);
    assert_eq!(lines(&ran).len(), 1, "the other one has its line");
}
