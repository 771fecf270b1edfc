use super::*;
use crate::domain::scale::result::Answer;

macro_rules! sample {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/protocol/", $name))
    };
}

const OK: Exit = Exit::Code(0);

fn key() -> ExecutionKey {
    "deploy-42".parse().expect("valid")
}

fn target() -> TargetBinding {
    match Request::read(sample!("apply.request.json").as_bytes()).expect("valid") {
        Request::Apply(apply) => apply.request.target,
        other => panic!("not an apply: {other:?}"),
    }
}

#[test]
fn the_text_of_every_request_is_its_sample() {
    for (op, sample) in [
        ("describe", sample!("describe.request.json")),
        ("apply", sample!("apply.request.json")),
        ("inspect", sample!("inspect.request.json")),
        ("lookup", sample!("lookup.request.json")),
        ("fence", sample!("fence.request.json")),
        ("evidence", sample!("evidence.request.json")),
        ("discover", sample!("discover.request.json")),
    ] {
        let request = Request::read(sample.as_bytes()).expect(op);
        assert_eq!(request.op(), op);
        assert_eq!(request.to_json(), sample);
    }
}

#[test]
fn the_text_of_every_answer_is_its_sample() {
    let describe = read_describe(sample!("describe.answer.json").as_bytes(), OK).expect("valid");
    assert_eq!(Reply::Describe(describe).to_json(), sample!("describe.answer.json"));

    let asked = PartialTarget::from(&target());
    for sample in [sample!("inspect.answer.json"), sample!("inspect.owned.json")] {
        let inspect = read_inspect(sample.as_bytes(), &asked, OK);
        let inspect = Box::new(inspect.expect("valid"));
        assert_eq!(Reply::Inspect(inspect).to_json(), sample);
    }

    for sample in [
        sample!("lookup.applied.json"),
        sample!("lookup.never.json"),
        sample!("lookup.unknown.json"),
    ] {
        let lookup = read_lookup(sample.as_bytes(), &key(), &target(), OK).expect("valid");
        assert_eq!(Reply::Lookup(lookup).to_json(), sample);
    }

    let fence = read_fence(sample!("fence.answer.json").as_bytes(), &target(), OK).expect("valid");
    assert_eq!(Reply::Fence(Box::new(fence)).to_json(), sample!("fence.answer.json"));

    let evidence = read_evidence(sample!("evidence.answer.json").as_bytes(), OK).expect("valid");
    assert_eq!(Reply::Evidence(Box::new(evidence)).to_json(), sample!("evidence.answer.json"));

    let asked = DiscoverRequest::default();
    let sample = sample!("discover.answer.json");
    let discovery = read_discovery(sample.as_bytes(), &asked, OK).expect("valid");
    assert_eq!(Reply::Discover(Box::new(discovery)).to_json(), sample);

    let error = Reply::error("other_ledger", "the target belongs to ledger 01JP", false);
    assert_eq!(error.to_json(), sample!("error.json"));
    for sample in [sample!("apply.succeeded.json"), sample!("apply.failed.json")] {
        let ApplyAnswer::Known { result, rollback_required, resource_version_after } =
            read_apply_answer(sample.as_bytes(), &key(), &target(), OK)
        else {
            panic!("unknown: {sample}");
        };
        let (result, outcome_unknown) = (*result, false);
        let reply =
            ApplyReply { result, outcome_unknown, rollback_required, resource_version_after };
        assert_eq!(Reply::Apply(Box::new(reply)).to_json(), sample);
    }
}

#[test]
fn unknown_members_are_ignored_except_in_the_types_of_the_contract() {
    let newer = sample!("apply.request.json").replacen('{', r#"{"hint":[1],"#, 1);
    assert!(Request::read(newer.as_bytes()).is_ok());
    let altered = sample!("apply.request.json").replace(r#""dry_run""#, r#""x":1,"dry_run""#);
    let error = Request::read(altered.as_bytes()).expect_err("refused").to_string();
    assert!(error.contains("request.x: unknown field `x`"), "{error}");

    let newer = sample!("apply.succeeded.json").replacen('{', r#"{"hint":[1],"#, 1);
    let answer = read_apply_answer(newer.as_bytes(), &key(), &target(), OK);
    assert!(matches!(answer, ApplyAnswer::Known { .. }), "{answer:?}");
    let newer = sample!("describe.answer.json").replace(r#""fence""#, r#""teleport":true,"fence""#);
    assert!(read_describe(newer.as_bytes(), OK).is_ok());
    let newer = sample!("evidence.answer.json").replacen('{', r#"{"hint":[1],"#, 1);
    assert!(read_evidence(newer.as_bytes(), OK).is_ok());
}

#[test]
fn a_request_of_another_protocol_or_operation_is_refused_by_name() {
    for (text, problem) in [
        (r#"{"op":"describe"}"#, "protocol null, this is scalectl.actuator/1"),
        (r#"{"protocol":"scalectl.actuator/2","op":"describe"}"#, r#""scalectl.actuator/2""#),
        (r#"{"protocol":"scalectl.actuator/1","op":"dance"}"#, r#"operation "dance""#),
        (r#"{"protocol":"scalectl.actuator/1"}"#, "operation null"),
        (r#"{"protocol":"scalectl.actuator/1","op":"inspect"}"#, "missing field `target`"),
        ("[]", "protocol null"),
        ("", "empty"),
    ] {
        let error = Request::read(text.as_bytes()).expect_err(text).to_string();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn what_is_not_a_valid_typed_result_is_unknown_and_says_why() {
    let good = sample!("apply.succeeded.json");
    let failed = sample!("apply.failed.json");
    let with = |from: &str, to: &str| good.replacen(from, to, 1).into_bytes();
    let simulated = good
        .replace(r#""state":"succeeded","scaled":true"#, r#""state":"simulated","scaled":false"#);
    let mut not_utf8 = good.as_bytes().to_vec();
    not_utf8[30] = 0xff;
    let rows: Vec<(Vec<u8>, Exit, &str)> = vec![
        (Vec::new(), OK, "no_result"),
        (b" \n".to_vec(), Exit::Code(1), "no_result"),
        (b"scaled web to 5\n".to_vec(), OK, "garbled_result"),
        (good.repeat(2).into_bytes(), OK, "garbled_result"),
        (not_utf8, OK, "garbled_result"),
        (vec![b' '; (1 << 20) + 1], OK, "result_too_long"),
        (with("actuator/1", "actuator/2"), OK, "wrong_protocol"),
        (b"{}".to_vec(), OK, "wrong_protocol"),
        (with("deploy-42", "deploy-41"), OK, "wrong_key"),
        (with(r#""web""#, r#""api""#), OK, "wrong_target"),
        (with(r#"version":"41""#, r#"version":"40""#), OK, "wrong_target"),
        (with(r#""state""#, r#""more":1,"state""#), OK, "garbled_result"),
        (with(r#""scaled":true"#, r#""scaled":false"#), OK, "garbled_result"),
        (with(r#","result""#, r#","error":{"code":"busy"},"result""#), OK, "garbled_result"),
        (simulated.into_bytes(), OK, "simulated_result"),
        (with(r#"unknown":false"#, r#"unknown":true"#), OK, "said_unknown"),
        (failed.replace(r#"unknown":false"#, r#"unknown":true"#).into(), OK, "said_unknown"),
        (good.into(), Exit::Code(1), "exit_contradicts"),
        (good.into(), Exit::Signal(9), "died_by_signal"),
        (failed.into(), Exit::Signal(15), "died_by_signal"),
        (good.into(), Exit::TimedOut, "timed_out"),
    ];
    for (bytes, exit, word) in rows {
        let answer = read_apply_answer(&bytes, &key(), &target(), exit);
        let ApplyAnswer::Unknown { why, detail, .. } = answer else {
            panic!("expected {word}, got {answer:?}");
        };
        assert_eq!(why.as_str(), word, "{}", detail.as_str());
        assert_eq!(serde_json::to_string(&why).expect("valid"), format!("{word:?}"));
    }
}

#[test]
fn a_typed_failure_is_the_result_whatever_the_exit_code() {
    for exit in [Exit::Code(0), Exit::Code(1), Exit::Code(255)] {
        let bytes = sample!("apply.failed.json").as_bytes();
        let answer = read_apply_answer(bytes, &key(), &target(), exit);
        let ApplyAnswer::Known { result, .. } = answer else { panic!("{answer:?}") };
        assert!(result.is_retryable_failure());
    }
}

#[test]
fn a_refusal_is_a_failed_result_of_the_same_code() {
    let bytes = sample!("error.json").as_bytes();
    let answer = read_apply_answer(bytes, &key(), &target(), Exit::Code(1));
    let ApplyAnswer::Known { result, .. } = answer else { panic!("{answer:?}") };
    let code = "other_ledger".parse().expect("valid");
    let failed = Answer::Failed { observed_replicas: None, retryable: false, error_code: code };
    assert_eq!((&result.answer, &result.target), (&failed, &target()));
    let error = read_describe(bytes, Exit::Code(1)).expect_err("refused").to_string();
    assert_eq!(error, "the actuator refused (other_ledger): the target belongs to ledger 01JP");
}

#[test]
fn readings_of_another_place_or_after_a_bad_exit_are_refused() {
    let asked = PartialTarget::from(&target());
    let sample = sample!("inspect.answer.json");
    for (text, exit, problem) in [
        (sample.to_owned(), Exit::Code(3), "exit 3"),
        (sample.to_owned(), Exit::TimedOut, "end of its time"),
        (sample.replace(r#""web""#, r#""api""#), OK, "another target"),
        (sample.replace(r#""processes""#, r#""pods""#), OK, "another target"),
        (sample.replace("[]", r#"["a\u0007b"]"#), OK, "owners"),
        (sample.replace("[]", r#"[],"managers":["a\u0007b"]"#), OK, "managers"),
        (sample.replace("[]", r#"[],"owners_unread":[""]"#), OK, "owners_unread"),
        (sample.replace("[]", r#"[],"take_away":[{"owner":"a","lines":[[]]}]"#), OK, "take_away"),
        (sample.replace("[]", r#"[],"take_away":[{"owner":"","lines":[]}]"#), OK, "take_away"),
        (
            sample.replace("[]", r#"[],"take_away":[{"owner":"a","lines":[["b\u001b"]]}]"#),
            OK,
            "take_away",
        ),
        (sample.replace("12:00:01Z", "12:00:01"), OK, "read_at"),
        (sample.replace(r#""replicas":3"#, r#""replicas":-3"#), OK, "replicas"),
    ] {
        let error = read_inspect(text.as_bytes(), &asked, exit).expect_err(problem).to_string();
        assert!(error.contains(problem), "{error}");
    }
    // A moved uid or version is news, not a wrong answer.
    let moved = sample.replace("7f3c0a", "000000").replace(r#""41""#, r#""99""#);
    assert!(read_inspect(moved.as_bytes(), &asked, OK).is_ok());

    for (from, to) in [("[\"HOME\"", "[\"HO=ME\""), (r#"version":"1""#, r#"version":"""#)] {
        let text = sample!("describe.answer.json").replace(from, to);
        assert!(read_describe(text.as_bytes(), OK).is_err(), "{text}");
    }
}

#[test]
fn a_discovery_is_of_the_place_that_was_asked_for_in_order_and_bounded() {
    let good = sample!("discover.answer.json");
    let asked = |runtime: Option<&str>| DiscoverRequest {
        runtime_id: runtime.map(|text| text.parse().expect("valid")),
        ..DiscoverRequest::default()
    };
    assert!(read_discovery(good.as_bytes(), &asked(Some("shop")), OK).is_ok());
    let elsewhere = read_discovery(good.as_bytes(), &asked(Some("other")), OK);
    assert!(matches!(elsewhere, Err(AnswerError::WrongTarget { .. })), "{elsewhere:?}");
    let names = vec!["\"x\""; LIST_ITEMS_MAX + 1].join(",");
    let value: serde_json::Value = serde_json::from_str(good).expect("JSON");
    let one = value["found"][1].to_string();
    let many: Vec<String> = (0..=FOUND_MAX)
        .map(|number| one.replace("deployment/web", &format!("deployment/web-{number:04}")))
        .collect();
    let many = format!("\"found\":[{}]", many.join(","));
    let found = good.find("\"found\"").expect("it is there")..good.find(",\"more\"").expect("too");
    for (text, problem) in [
        (good.replace("deployment/search", "deployment/z"), "sorted"),
        (good.replace("deployment/search", "deployment/web"), "each once"),
        (good.replace("\"external_hpa\"", "\"native\""), "mode is external_hpa"),
        (good.replace("\"shop/statefulset/odd\"", &names), "unread are at most 64"),
        (good.replace("\"ScaledObject\"", &names), "owners_unread are at most 64"),
        (good.replace("\"ScaledObject\"", "\"\""), "short names"),
        (good.replacen(&good[found], &many, 1), "at most 1000"),
        (good.replace("\"replicas\":3", "\"replicas\":-3"), "found[1].replicas"),
    ] {
        let error = read_discovery(text.as_bytes(), &asked(None), OK).expect_err(problem);
        assert!(error.to_string().contains(problem), "{problem}: {error}");
    }
    let fewer = r#"{"protocol":"scalectl.actuator/1","read_at":"2026-01-01T12:00:01Z","found":[]}"#;
    let found = read_discovery(fewer.as_bytes(), &asked(None), OK).expect("valid");
    assert!(found.found.is_empty() && !found.more);
}

#[test]
fn a_capability_that_was_not_there_before_is_left_out_where_it_is_false() {
    let cannot = crate::domain::scale::service::Capabilities::default();
    let text = serde_json::to_string(&cannot).expect("JSON");
    assert!(!text.contains("discover"), "{text}");
    let old: crate::domain::scale::service::Capabilities =
        serde_json::from_str(&text).expect("as it was stored before");
    assert!(!old.discover);
}
