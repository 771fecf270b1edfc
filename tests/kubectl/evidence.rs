//! Evidence for a reduction, and where nothing is true that was not measured.

use serde_json::{Value, json};

use super::world::{DB, Kube, WEB, evidence, in_short};

const BUDGETS: &str = "/apis/policy/v1/namespaces/shop/poddisruptionbudgets";

/// drained, stabilized, quorum_safe.
fn said(answer: &Value) -> (Value, Value, Value) {
    let member = |name: &str| answer[name].clone();
    (member("drained"), member("stabilized"), member("quorum_safe"))
}

fn truths(drained: bool, stabilized: bool, quorum: Value) -> (Value, Value, Value) {
    (json!(drained), json!(stabilized), quorum)
}

#[test]
fn a_rollout_is_stable_once_all_that_was_wished_is_there() {
    let kube = Kube::new();
    let ask = |kube: &Kube| kube.call(&["--evidence", "rollout"], &evidence(kube, WEB, 2));
    let answer = ask(&kube);
    assert_eq!(said(&answer), truths(true, true, Value::Null));
    assert_eq!(
        (&answer["observed_replicas"], &answer["remaining_replicas"]),
        (&json!(6), &json!(2))
    );
    assert_eq!(answer["resource_version"], kube.server.get(WEB)["metadata"]["resourceVersion"]);
    for (pointer, value) in [
        ("/status/observedGeneration", json!(0)),
        ("/status/updatedReplicas", json!(5)),
        ("/status/availableReplicas", json!(5)),
        ("/status/replicas", json!(7)),
        ("/status/replicas", Value::Null),
    ] {
        let kube = Kube::new();
        kube.server.edit(WEB, |web| *web.pointer_mut(pointer).unwrap() = value.clone());
        assert_eq!(said(&ask(&kube)), truths(false, false, Value::Null), "{pointer} {value}");
    }
    // Pods without a grace are cut off.
    for grace in [json!(0), Value::Null] {
        kube.server.edit(WEB, |web| {
            web["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = grace.clone();
        });
        assert_eq!(said(&ask(&kube)), truths(false, true, Value::Null), "{grace}");
    }
    assert!(kube.server.mutations().is_empty());
}

#[test]
fn of_a_quorum_a_rollout_knows_nothing() {
    let kube = Kube::new();
    let ask = || kube.call(&["--evidence", "rollout"], &evidence(&kube, DB, 2));
    assert_eq!(said(&ask()), truths(true, true, json!(false)));
    kube.server.edit(DB, |db| db["status"]["updateRevision"] = json!("web-2"));
    assert_eq!(said(&ask()), truths(false, false, json!(false)));
}

fn budget(name: &str, selector: &Value, allowed: &Value) -> Value {
    let status = json!({"observedGeneration": 1, "disruptionsAllowed": allowed});
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "shop", "generation": 1},
        "spec": {"selector": selector}, "status": status,
    })
}

fn labels(pairs: &Value) -> Value {
    json!({"matchLabels": pairs})
}

#[test]
fn budgets_that_are_about_the_pods_must_let_so_many_go() {
    let web = || labels(&json!({"app": "web"}));
    let term = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "tier", "operator": operator, "values": values}]});
    let other = || budget("other", &labels(&json!({"app": "other"})), &json!(0));
    // From 6 to 2: four go.
    for (budgets, drained) in [
        (vec![], false),
        (vec![other()], false),
        (vec![budget("a", &web(), &json!(4))], true),
        (vec![budget("a", &web(), &json!(4)), other()], true),
        (vec![budget("a", &web(), &json!(3))], false),
        (vec![budget("a", &web(), &json!(-1))], false),
        (vec![budget("a", &web(), &Value::Null)], false),
        (vec![budget("a", &web(), &json!(9)), budget("b", &json!({}), &json!(3))], false),
        (vec![budget("a", &Value::Null, &json!(9))], false),
        (vec![budget("a", &labels(&json!({"app": "web", "tier": "front"})), &json!(9))], false),
        (vec![budget("a", &term("In", json!(["back"])), &json!(4))], true),
        (vec![budget("a", &term("In", json!(["front"])), &json!(4))], false),
        (vec![budget("a", &term("NotIn", json!(["front"])), &json!(4))], true),
        (vec![budget("a", &term("Exists", json!([])), &json!(4))], true),
        (vec![budget("a", &term("DoesNotExist", json!([])), &json!(4))], false),
    ] {
        let kube = Kube::new();
        for budget in &budgets {
            let name = budget["metadata"]["name"].as_str().unwrap();
            kube.server.put(&format!("{BUDGETS}/{name}"), budget.clone());
        }
        let answer = kube.call(&["--evidence", "pdb"], &evidence(&kube, WEB, 2));
        assert_eq!(answer["drained"], drained, "{budgets:?}: {answer}");
        assert_eq!(answer["stabilized"], true);
    }
}

#[test]
fn a_budget_that_is_behind_or_cannot_be_read_shows_nothing() {
    let kube = Kube::new();
    let ask = || kube.call(&["--evidence", "pdb"], &evidence(&kube, WEB, 5));
    let path = format!("{BUDGETS}/a");
    kube.server.put(&path, budget("a", &labels(&json!({"app": "web"})), &json!(1)));
    assert_eq!(ask()["drained"], true);
    kube.server.edit(&path, |budget| budget["metadata"]["generation"] = json!(2));
    assert_eq!(ask()["drained"], false);
    kube.server.edit(&path, |budget| {
        budget["spec"]["selector"] =
            json!({"matchExpressions": [{"key": "a", "operator": "Like"}]});
    });
    assert_eq!(in_short(&ask()), "error read_failed");
    kube.server.forbid("poddisruptionbudgets");
    assert_eq!(in_short(&ask()), "error read_failed");
}

#[test]
fn a_quorum_survives_where_a_budget_lets_them_go_and_most_remain() {
    for (members, remain, allowed, safe) in [
        (5, 3, 2, true),
        (5, 2, 3, false),
        (5, 3, 1, false),
        (3, 2, 1, true),
        (2, 1, 1, false),
        (1, 0, 1, false),
    ] {
        let kube = Kube::new();
        kube.server.put(DB, super::world::object("StatefulSet", "db", "db-uid", members));
        kube.server.put(
            &format!("{BUDGETS}/db"),
            budget("db", &labels(&json!({"app": "db"})), &json!(allowed)),
        );
        let answer = kube.call(&["--evidence", "pdb"], &evidence(&kube, DB, remain));
        assert_eq!(answer["quorum_safe"], safe, "{members} → {remain}, {allowed} may go");
    }
}

#[test]
fn a_provider_is_held_to_the_protocol() {
    let whole = r#"{"protocol":"scalectl.actuator/1","drained":true,"stabilized":true,"#.to_owned()
        + r#""resource_version":"101","observed_replicas":6,"remaining_replicas":2,"#
        + r#""quorum_safe":null,"read_at":"2026-01-01T12:00:01Z"}"#;
    let told = |kube: &Kube, path: &str, script: &str| {
        let script = kube.world.write("provider.sh", script);
        let flags = ["--evidence", "provider", "--", "/bin/sh", script.to_str().unwrap()];
        kube.call(&flags, &evidence(kube, path, 2))
    };
    let kube = Kube::new();
    let answer = told(&kube, WEB, &format!("cat >asked.json; echo '{whole}'"));
    assert_eq!(said(&answer), truths(true, true, Value::Null));
    let asked = std::fs::read_to_string(kube.world.path("asked.json")).unwrap();
    let asked: Value = serde_json::from_str(&asked).unwrap();
    assert_eq!(
        (&asked["op"], &asked["current"], &asked["desired"]),
        (&json!("evidence"), &json!(6), &json!(2))
    );
    // Of a StatefulSet nothing but true is safe.
    assert_eq!(told(&kube, DB, &format!("echo '{whole}'"))["quorum_safe"], false);

    let with = |from: &str, to: &str| format!("echo '{}'", whole.replacen(from, to, 1));
    for script in [
        with("true", "1"),
        with("true", r#""true""#),
        with(r#""stabilized":true,"#, ""),
        with(r#""observed_replicas":6,"#, ""),
        with(r#""quorum_safe":null"#, r#""quorum_safe":1"#),
        with("actuator/1", "actuator/2"),
        format!("{}; exit 1", with("x", "x")),
        format!("{0}; {0}", with("x", "x")),
        "exit 0".to_owned(),
        "echo yes".to_owned(),
        "kill -9 $$".to_owned(),
        r#"echo '{"protocol":"scalectl.actuator/1","error":{"code":"busy"}}'"#.to_owned(),
    ] {
        assert_eq!(in_short(&told(&kube, WEB, &script)), "error evidence_failed", "{script}");
    }
    assert!(kube.server.mutations().is_empty());
}
