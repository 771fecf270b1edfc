//! `service discover`: the replicated services of the swarm.

use serde_json::{Value, json};

use super::relay::Fault;
use super::world::{Swarm, fence, found};
use crate::support::schema::Schema;

fn discover() -> Value {
    let ledger = json!({"id": "L2", "incarnation": 1});
    json!({"protocol": "scalectl.actuator/1", "op": "discover", "ledger": ledger})
}

/// The one of a name in an answer; other tests have services at the same time.
fn of<'a>(answer: &'a Value, name: &str) -> Option<&'a Value> {
    let all = answer["found"].as_array().unwrap_or_else(|| panic!("a list: {answer}"));
    all.iter().find(|one| one["target"]["workload_id"] == name)
}

#[test]
fn replicated_services_are_listed_with_their_stack_and_their_ledger() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.running(2);
    let idle = swarm.idle(3);
    let stacked = swarm.service(&["--replicas", "0", "--label", "com.docker.stack.namespace=shop"]);
    let global = swarm.service(&["--mode", "global", "--constraint", "node.labels.x==nowhere"]);
    assert_eq!(swarm.call(&fence(&idle, "L1", (1, 7, 1)))["fenced"], true);
    let writes = swarm.relay.writes();
    let answer = swarm.call(&discover());
    let one = of(&answer, &web).expect("it is listed");
    assert_eq!((&one["replicas"], &one["ready_replicas"]), (&json!(2), &json!(2)));
    assert_eq!(one["target"]["target_uid"], found(&web)["ID"]);
    assert_eq!(one["target"]["runtime_id"], "docker-swarm");
    assert_eq!(one.get("owners"), None);
    let one = of(&answer, &idle).expect("it is listed");
    assert_eq!((&one["replicas"], &one["ready_replicas"]), (&json!(3), &json!(0)));
    assert_eq!(one["owners"], json!(["scalectl ledger L1"]));
    let one = of(&answer, &stacked).expect("it is listed");
    assert_eq!((&one["replicas"], &one["managers"]), (&json!(0), &json!(["docker stack shop"])));
    assert_eq!(of(&answer, &global), None, "it has no count to set");
    assert_eq!(swarm.relay.writes(), writes, "nothing is written");
    for (member, value, code) in
        [("runtime_id", "shop", "other_runtime"), ("cluster_id", "another", "other_cluster")]
    {
        let mut elsewhere = discover();
        elsewhere[member] = json!(value);
        assert_eq!(swarm.call(&elsewhere)["error"]["code"], code);
    }
}

#[test]
fn a_service_is_registered_by_the_line_that_is_told() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(3);
    let world = &swarm.world;
    world.run("init").exits(0);
    let put = ["actuator", "put", "swarm", "--", "scalectl", "actuator", "run", "docker"];
    world.run_args(&[&put[..], &["--context", "prod"]].concat()).exits(0);
    let listed = || {
        let ran = world.json("service discover swarm").exits(0);
        let document = ran.json();
        assert_eq!(Schema::named("answer").problems(&document), Vec::<String>::new());
        of(&document["discovery"], &web).expect("it is listed").clone()
    };
    let one = listed();
    let line: Vec<&str> =
        one["next"].as_array().unwrap().iter().skip(1).filter_map(Value::as_str).collect();
    let rest = ["--actuator", "swarm", "--runtime", "docker-swarm", "--workload", &web];
    assert_eq!(line, [&["service", "put", &web][..], &rest, &["--max", "3"]].concat());
    world.run_args(&line).exits(0);
    let one = listed();
    assert_eq!((&one["service"], &one["next"]), (&json!(web), &Value::Null));
}

#[test]
fn what_cannot_be_understood_is_named_and_no_list_is_an_error() {
    let Some(swarm) = Swarm::new() else { return };
    let list = json!([
        {"ID": "a1", "Version": {"Index": 5}, "Spec": {"Name": "web", "Mode": {"Replicated": {}}}},
        {"ID": "a2", "Version": {"Index": 5}, "Spec": {"Name": "odd", "Mode": 7}},
        {"Spec": {}},
    ]);
    swarm.relay.fault("GET /services?", Fault::says(200, &list.to_string()));
    let answer = swarm.call(&discover());
    let one = of(&answer, "web").expect("it is listed");
    assert_eq!((&one["replicas"], &one["ready_replicas"]), (&Value::Null, &Value::Null));
    let odd = json!(["service odd", "a service that cannot be understood"]);
    assert_eq!(answer["unread"], odd);
    for (fault, code) in [
        (Fault::says(200, "{}"), "read_failed"),
        (Fault::says(503, "{\"message\":\"no leader\"}"), "read_failed"),
        (Fault::DropBefore, "read_failed"),
    ] {
        // A reading whose connection had ended is asked for once more.
        swarm.relay.fault("GET /services?", fault.clone());
        swarm.relay.fault("GET /services?", fault);
        assert_eq!(swarm.call(&discover())["error"]["code"], code);
    }
}
