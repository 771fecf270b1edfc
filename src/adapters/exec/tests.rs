use super::*;
use crate::actuator::protocol::{
    ApplyAnswer, Exit, Request, UnknownWhy, read_apply_answer, read_inspect,
};

const APPLY: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/protocol/apply.request.json"));
const INSPECT: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/protocol/inspect.request.json"));

fn config(apply: &str, inspect: Option<&str>, shell: bool) -> ExecConfig {
    let inspect = inspect.map(|text| Template::inspect(text, shell).expect("valid"));
    let apply = Template::apply(apply, shell).expect("valid");
    ExecConfig { apply, inspect, shell, terminal_exits: vec![64] }
}

fn served(config: &ExecConfig, request: &str) -> Vec<u8> {
    let mut answer = Vec::new();
    assert_eq!(serve(config, &mut request.as_bytes(), &mut answer), 0);
    answer
}

fn applied(config: &ExecConfig) -> ApplyAnswer {
    let Ok(Request::Apply(apply)) = Request::read(APPLY.as_bytes()) else { panic!("a sample") };
    let (key, target) = (&apply.request.execution_key, &apply.request.target);
    read_apply_answer(&served(config, APPLY), key, target, Exit::Code(0))
}

/// The answer in one line: how it ended, the count or the code, whether it may be tried again.
fn in_short(answer: &ApplyAnswer) -> String {
    match answer {
        ApplyAnswer::Known { result, .. } => match &result.answer {
            Answer::Succeeded { observed_replicas, .. } => format!("succeeded {observed_replicas}"),
            Answer::Failed { error_code, retryable, observed_replicas } => {
                let read = observed_replicas.map(|count| format!(", {count} read"));
                format!("failed {error_code} {retryable}{}", read.unwrap_or_default())
            }
            Answer::Simulated { .. } => "simulated".to_owned(),
        },
        ApplyAnswer::Unknown { why, .. } => format!("unknown {why}"),
    }
}

#[test]
fn the_end_of_the_command_is_the_answer() {
    for (apply, inspect, expected) in [
        ("exit 0", None, "succeeded 5"),
        ("test {desired_replicas} = 5 && test {execution_key} = deploy-42", None, "succeeded 5"),
        ("echo 'not the answer'; exit 0", None, "succeeded 5"),
        ("exit 3", None, "unknown said_unknown"),
        ("exit 64", None, "unknown said_unknown"),
        ("exit 3", Some("echo 3"), "failed command_failed true, 3 read"),
        ("exit 64", Some("echo 3"), "failed command_failed false, 3 read"),
        ("exit 3", Some("echo 4"), "failed command_failed true, 4 read"),
        ("exit 3", Some("exit 1"), "unknown said_unknown"),
        ("exit 3", Some(r#"echo '{{"replicas":3,"uid":"another"}}'"#), "unknown said_unknown"),
        ("kill -9 $$", None, "unknown said_unknown"),
        ("exit 0", Some("echo 5"), "succeeded 5"),
        ("exit 0", Some("echo 4"), "succeeded 4"),
        ("exit 0", Some(r#"echo '{{"replicas":5,"ready":2,"x":1}}'"#), "succeeded 5"),
        ("exit 0", Some(r#"echo '{{"replicas":5,"uid":"local:7f3c0a"}}'"#), "succeeded 5"),
        ("exit 0", Some(r#"echo '{{"replicas":5,"uid":"another"}}'"#), "unknown said_unknown"),
        ("exit 0", Some("echo five"), "unknown said_unknown"),
        // Its first 64 KiB alone would be a count.
        ("exit 0", Some("printf 5; printf '%70000s' 7"), "unknown said_unknown"),
        ("exit 0", Some("echo 5; exit 1"), "unknown said_unknown"),
        ("exit 3", Some("echo 5"), "failed command_failed true, 5 read"),
    ] {
        let answer = applied(&config(apply, inspect, true));
        assert_eq!(in_short(&answer), expected, "{apply} / {inspect:?}: {answer:?}");
    }
}

#[test]
fn no_shell_sees_the_words_unless_it_was_asked_for() {
    let literal = config(r#"test '$HOME;' = "\$HOME;""#, None, false);
    assert_eq!(in_short(&applied(&literal)), "succeeded 5");
    let missing = config("/nonexistent/command {workload_id}", None, false);
    assert_eq!(in_short(&applied(&missing)), "failed command_not_started true");
}

#[test]
fn an_inspection_has_all_five_members() {
    let Ok(Request::Inspect(asked)) = Request::read(INSPECT.as_bytes()) else { panic!("a sample") };
    let read = |inspect: &str| {
        let answer = served(&config("true", Some(inspect), true), INSPECT);
        read_inspect(&answer, &asked.target, Exit::Code(0))
    };
    let found = read("echo 3").expect("valid");
    let target = serde_json::to_string(&found.target).expect("valid");
    assert_eq!(
        target,
        concat!(
            r#"{"cluster_id":"exec","runtime_id":"commands","workload_id":"web","#,
            r#""target_uid":"exec:web","target_resource_version":"unversioned"}"#
        )
    );
    assert_eq!((found.replicas.get(), found.ready_replicas), (3, None));
    let found = read(r#"echo '{{"replicas":3,"ready":2,"uid":"u","resource_version":"9"}}'"#);
    let found = found.expect("valid");
    assert_eq!(found.target.target_uid.as_str(), "u");
    assert_eq!(found.ready_replicas.map(Replicas::get), Some(2));
    let error = read("true {target_uid}").expect_err("refused").to_string();
    assert!(error.contains("incomplete_target") && error.contains("target_uid"), "{error}");

    let answer = served(&config("true", None, true), INSPECT);
    let error = read_inspect(&answer, &asked.target, Exit::Code(0)).expect_err("refused");
    assert!(error.to_string().contains("not_declared"), "{error}");
    assert_eq!(UnknownWhy::SaidUnknown.as_str(), "said_unknown");
}

#[test]
fn a_bad_template_is_refused_at_the_start() {
    for (text, problem) in [
        ("", "at least one word"),
        ("   ", "at least one word"),
        ("scale 'web", "ends inside a quotation"),
        ("scale web\\", "ends inside a quotation"),
        ("scale {replicas}", "{replicas} is not known here; known are {cluster_id}"),
        ("scale {}", "{} is not known here"),
        ("scale {desired_replicas", "lone brace"),
        ("scale desired_replicas}", "lone brace"),
    ] {
        let error = Template::apply(text, false).expect_err(text).to_string();
        assert!(error.contains(problem), "{error}");
    }
    assert!(Template::inspect("get {desired_replicas}", false).is_err(), "nothing is wished");
}
