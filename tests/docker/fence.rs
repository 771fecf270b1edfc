//! The fence: one label that moves the version, and what is refused after it.

use serde_json::{Value, json};

use super::relay::Fault;
use super::world::{
    Swarm, apply, attempt, count, fence, found, index, inspect, label, spec, update,
};
use crate::support::calls::{in_short, with};

const WRITE: &str = "POST /services/";

#[test]
fn a_fence_moves_the_version_once_and_leaves_everything_else() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.running(1);
    let (before, at) = (spec(&web), index(&web));
    let tasks = super::swarm::printed(&["service", "ps", "-q", &web]);
    let answer = swarm.call(&fence(&web, "led:1/a", (1, 7, 2)));
    assert_eq!(answer["fenced"], true, "{answer}");
    assert_eq!(label(&web, "scalectl.fence"), "led:1/a/1.7.2");
    let mut expected = before;
    expected["Labels"] = json!({"scalectl.fence": "led:1/a/1.7.2"});
    assert_eq!(spec(&web), expected);
    let version = &answer["reading"]["target"]["target_resource_version"];
    assert_eq!(*version, json!(index(&web).to_string()));
    assert!(index(&web) > at);
    assert_eq!(answer["reading"]["replicas"], 1);
    // Again it stands already, and nothing is written.
    assert_eq!(swarm.call(&fence(&web, "led:1/a", (1, 7, 2)))["fenced"], true);
    assert_eq!(swarm.relay.writes(), 1);
    // No task was touched.
    assert_eq!(super::swarm::printed(&["service", "ps", "-q", &web]), tasks);
}

/// Tasks that die and start again leave the version alone, so they are no conflict with anybody.
#[test]
fn tasks_do_not_move_the_version() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.running(2);
    let at = index(&web);
    let request = apply(&web, 3);
    let filter = format!("label=com.docker.swarm.service.name={web}");
    let ids = super::swarm::printed(&["ps", "-q", "--filter", &filter]);
    for id in ids.lines() {
        super::swarm::docker(&["kill", id]);
    }
    swarm.world.until("a task is gone", || {
        super::swarm::printed(&["ps", "-q", "--filter", &filter]) != ids
    });
    assert_eq!(index(&web), at);
    assert_eq!(in_short(&swarm.call(&request)), "succeeded 3");
}

/// The write of a docker that was killed may still be on its way.
#[test]
fn a_late_write_is_refused_once_the_fence_stands() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    let mut request = apply(&web, 9);
    request["deadline_ms"] = json!(4000);
    swarm.relay.fault(WRITE, Fault::Hold);
    assert_eq!(in_short(&swarm.call(&request)), "unknown timeout rollback");
    assert_eq!(swarm.call(&fence(&web, "L1", (1, 7, 2)))["fenced"], true);
    let late = swarm.relay.release();
    assert!(late.contains("update out of sequence"), "{late}");
    assert_eq!((count(&web), label(&web, "scalectl.applied")), (6, Value::Null));
    // The call that was fenced begins again, and a later one is let through.
    assert_eq!(swarm.scale(&web, 9), "failed stale_fence for good");
    let later = attempt(apply(&web, 9), 2);
    assert_eq!(in_short(&swarm.call(&later)), "succeeded 9");
    assert_eq!(label(&web, "scalectl.fence"), "L1/1.7.2");
}

/// Without a fence the same write takes effect, whoever has given it up.
#[test]
fn a_late_write_without_a_fence_takes_effect() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    let mut request = apply(&web, 9);
    request["deadline_ms"] = json!(4000);
    swarm.relay.fault(WRITE, Fault::Hold);
    assert_eq!(in_short(&swarm.call(&request)), "unknown timeout rollback");
    let late = swarm.relay.release();
    assert!(late.starts_with("HTTP/1.1 200"), "{late}");
    assert_eq!(count(&web), 9);
}

#[test]
fn older_fences_other_ledgers_and_nonsense_are_refused_without_a_write() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    swarm.call(&fence(&web, "L1", (2, 7, 2)));
    for (request, expected) in [
        (fence(&web, "L1", (2, 7, 1)), "error stale_fence for good"),
        (fence(&web, "L1", (2, 6, 9)), "error stale_fence for good"),
        (fence(&web, "L1", (1, 9, 9)), "error stale_fence for good"),
        (fence(&web, "L2", (9, 9, 9)), "error other_ledger for good"),
        (
            with(fence(&web, "L1", (9, 9, 9)), "/ledger", Value::Null),
            "error incomplete_request for good",
        ),
    ] {
        assert_eq!(in_short(&swarm.call(&request)), expected, "{request}");
    }
    let other = with(apply(&web, 9), "/ledger/id", json!("L2"));
    assert_eq!(in_short(&swarm.call(&other)), "failed other_ledger for good");
    assert_eq!(swarm.relay.writes(), 1);
    for nonsense in ["", "L1", "L1/1.2", "L1/1.x.3"] {
        update(&web, &["--label-add", &format!("scalectl.fence={nonsense}")]);
        let answer = in_short(&swarm.call(&fence(&web, "L1", (9, 9, 9))));
        assert_eq!(answer, "error fence_unreadable for good", "{nonsense:?}");
        assert_eq!(swarm.scale(&web, 9), "failed fence_unreadable for good", "{nonsense:?}");
    }
    // The line that the refusal names frees the service.
    update(&web, &["--label-rm", "scalectl.fence"]);
    assert_eq!(swarm.call(&fence(&web, "L2", (1, 1, 1)))["fenced"], true);
    assert_eq!((swarm.relay.writes(), count(&web)), (2, 6));
}

/// A write of a count carries the mark, so it also binds the service to its ledger.
#[test]
fn a_service_takes_orders_from_the_ledger_that_has_set_its_count() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    assert_eq!(swarm.scale(&web, 9), "succeeded 9");
    let other = with(apply(&web, 7), "/ledger/id", json!("L2"));
    assert_eq!(in_short(&swarm.call(&other)), "failed other_ledger for good");
    let older = with(apply(&web, 7), "/request/lease/fence/fence_token", json!(6));
    assert_eq!(in_short(&swarm.call(&older)), "failed stale_fence for good");
    assert_eq!(count(&web), 9);
}

#[test]
fn a_service_that_moves_does_not_keep_a_fence_away_and_a_lost_answer_is_no_fence() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    for number in 0..3 {
        let (web, label) = (web.clone(), format!("x={number}"));
        let deed = move || update(&web, &["--label-add", &label]);
        swarm.relay.fault(WRITE, Fault::After(std::sync::Arc::new(deed)));
    }
    assert_eq!(swarm.call(&fence(&web, "L1", (1, 7, 2)))["fenced"], true);
    assert_eq!(swarm.relay.writes(), 4);
    for (number, fault) in
        [Fault::DropBefore, Fault::DropAfter, Fault::says(500, "{}")].into_iter().enumerate()
    {
        let next = (2, 1, u64::try_from(number).unwrap() + 1);
        swarm.relay.fault(WRITE, fault);
        let answer = in_short(&swarm.call(&fence(&web, "L1", next)));
        assert_eq!(answer, "error fence_failed");
        // Whatever it was, the next one stands.
        assert_eq!(swarm.call(&fence(&web, "L1", next))["fenced"], true);
    }
    assert_eq!(
        swarm.call(&inspect(&web))["replicas"],
        found(&web)["Spec"]["Mode"]["Replicated"]["Replicas"]
    );
}
