//! What an actuator says, as results of the contract.

use scalectl::domain::scale::attempt::UnknownWhy;
use scalectl::domain::scale::command::CallEnd;
use scalectl::domain::scale::result::{ActuationResult, Detail};
use scalectl::domain::scale::state::ServiceState;

use super::orders::Answer;
use crate::rules::support::id;

fn result(state: &ServiceState, key: &str, members: &serde_json::Value) -> ActuationResult {
    let execution = &state.executions[&id(key)];
    let mut document = serde_json::json!({
        "execution_key": key, "target": execution.intent.wish.target, "detail": "",
    });
    for (name, value) in members.as_object().expect("an object") {
        document[name] = value.clone();
    }
    serde_json::from_value(document).expect("the test's own result")
}

pub(super) fn succeeded(state: &ServiceState, key: &str, replicas: u64) -> ActuationResult {
    let said =
        serde_json::json!({"state": "succeeded", "scaled": true, "observed_replicas": replicas});
    result(state, key, &said)
}

fn failed(state: &ServiceState, key: &str, retryable: bool) -> ActuationResult {
    let said = serde_json::json!({"state": "failed", "scaled": false, "error_code": "refused",
        "retryable": retryable});
    result(state, key, &said)
}

fn stopped(state: &ServiceState, key: &str, replicas: u64) -> ActuationResult {
    let said = serde_json::json!({"state": "failed", "scaled": false, "error_code": "stopped",
        "retryable": true, "observed_replicas": replicas});
    result(state, key, &said)
}

pub(super) fn end(state: &ServiceState, key: &str, answer: Answer, version: u8) -> CallEnd {
    let desired = state.executions[&id(key)].desired().get();
    let answered = |result, after: bool| CallEnd::Answered {
        result,
        rollback_required: false,
        resource_version_after: after.then(|| id(&format!("v{version}"))),
    };
    match answer {
        Answer::Success => answered(succeeded(state, key, desired), true),
        Answer::Other(replicas) => answered(succeeded(state, key, replicas.into()), true),
        Answer::Stopped(replicas) => answered(stopped(state, key, replicas.into()), true),
        Answer::Refused => answered(failed(state, key, true), false),
        Answer::RefusedForGood => answered(failed(state, key, false), false),
        Answer::Nothing => CallEnd::Unknown {
            why: UnknownWhy::Lost,
            detail: Detail::cut("lost"),
            rollback_required: false,
        },
        Answer::NotStarted => CallEnd::NotStarted { detail: Detail::cut("no such file") },
    }
}
