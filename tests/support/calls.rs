//! Calls of a bundled actuator as its parent makes them, and what they come to.

use std::process::{Command, Stdio};

use serde_json::Value;

/// The answer of one call: one request in, one answer out, exit 0.
#[track_caller]
pub(crate) fn answer(command: &mut Command, request: &Value) -> Value {
    use std::io::Write as _;
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    child.stdin.take().unwrap().write_all(request.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A request with one member changed.
pub(crate) fn with(mut request: Value, pointer: &str, value: Value) -> Value {
    *request.pointer_mut(pointer).unwrap() = value;
    request
}

/// An answer in one line: how it ended, the count or the code, and whether it may be tried again.
pub(crate) fn in_short(answer: &Value) -> String {
    let again = |of: &Value| if of["retryable"] == true { "" } else { " for good" };
    if let Some(code) = answer["error"]["code"].as_str() {
        return format!("error {code}{}", again(&answer["error"]));
    }
    let result = &answer["result"];
    let code = result["error_code"].as_str().unwrap_or_default();
    if answer["outcome_unknown"] == true {
        let rollback = if answer["rollback_required"] == true { " rollback" } else { "" };
        return format!("unknown {code}{rollback}");
    }
    match result["state"].as_str() {
        Some("succeeded") => format!("succeeded {}", result["observed_replicas"]),
        Some("failed") => format!("failed {code}{}", again(result)),
        _ => answer.to_string(),
    }
}

/// The lines of a recipe that are typed, each with the exit that it says.
pub(crate) fn recipe(page: &str) -> Vec<(String, i32)> {
    let blocks = page.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines).filter_map(|line| line.strip_prefix("$ "));
    let with_exit = |line: &str| {
        let exit = line.split_once("# exit ").map_or(0, |(_, code)| code.parse().unwrap());
        (line.to_owned(), exit)
    };
    lines.map(with_exit).collect()
}
