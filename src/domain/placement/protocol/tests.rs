//! What is written is read back, and what is not of the protocol is refused with a word.

use serde_json::{Value, json};

use super::*;

fn place(cell: &str, generation: &str) -> CopyPlace {
    CopyPlace { cell: cell.parse().expect("valid"), generation: generation.parse().expect("valid") }
}

fn call(order: Order) -> Request {
    Request::Call(Box::new(Call {
        call_id: "call-1".parse().expect("valid"),
        deadline_ms: DurationMs::from_secs(60),
        environment: "shop/live".parse().expect("valid"),
        operation: "op-2".parse().expect("valid"),
        token: FenceToken::new(7).expect("valid"),
        epoch: PlacementEpoch::new(1).expect("valid"),
        order,
    }))
}

fn orders() -> Vec<Order> {
    let (source, target) = (place("a", "1-op-1"), place("b", "2-op-2"));
    vec![
        Order::Inventory { source: source.clone() },
        Order::Drain { source: source.clone() },
        Order::Undrain { source: source.clone() },
        Order::Fence { source: source.clone() },
        Order::Unfence { source: source.clone() },
        Order::Transfer { source: source.clone(), target: target.clone() },
        Order::Verify { target: target.clone() },
        Order::Route { source: source.clone(), target: target.clone() },
        Order::Retire { source: source.clone(), target: target.clone(), workspace: true },
        Order::Discard { target: target.clone() },
        Order::Snapshot { source, target },
    ]
}

#[test]
fn every_request_is_read_as_it_was_written() {
    let calls = orders().into_iter().map(call).chain([Request::Describe]);
    for request in calls {
        let text = request.to_json();
        assert!(text.ends_with('\n') && text.lines().count() == 1);
        assert_eq!(Request::read(text.as_bytes()), Ok(request.clone()), "{text}");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["op"], request.op());
    }
}

#[test]
fn a_generation_is_an_epoch_and_an_operation() {
    let generation: Generation = "12-op-1:x/y".parse().expect("valid");
    assert_eq!(generation.epoch.get(), 12);
    assert_eq!(generation.operation.as_str(), "op-1:x/y");
    assert_eq!(generation.to_string(), "12-op-1:x/y");
    for bad in ["", "1", "-op", "1-", "01-op", "+1-op", "x-op", "1-../x", "9007199254740992-op"] {
        assert!(bad.parse::<Generation>().is_err(), "{bad}");
    }
    assert!("1-a".parse::<Generation>().expect("valid") < "10-a".parse().expect("valid"));
}

#[test]
fn a_request_that_lacks_something_is_refused_by_member() {
    let text = call(orders().remove(5)).to_json();
    let whole: Value = serde_json::from_str(&text).expect("JSON");
    for member in ["protocol", "op", "call_id", "deadline_ms", "environment", "operation", "token"]
        .into_iter()
        .chain(["epoch", "source", "target"])
    {
        let mut value = whole.clone();
        value.as_object_mut().expect("an object").remove(member);
        let error = Request::read(value.to_string().as_bytes()).expect_err(member).to_string();
        assert!(error.contains(member), "{member}: {error}");
    }
    let mut value = whole;
    value["op"] = json!("explode");
    let error = Request::read(value.to_string().as_bytes()).expect_err("no such op").to_string();
    assert!(error.contains("explode"), "{error}");
}

#[test]
fn an_answer_is_a_receipt_or_a_refusal_and_never_both() {
    let receipt = Receipt::Discard(Discarded { target: place("b", "2-op-2") });
    let done = Reply::Done(Box::new(receipt));
    assert_eq!(read_reply(done.to_json().as_bytes(), "discard"), Ok(done.clone()));
    let other = AnswerError::OtherOp { asked: "route", found: "discard" };
    assert_eq!(read_reply(done.to_json().as_bytes(), "route"), Err(other));
    for refusal in [
        Refusal::WorkspaceRunning,
        Refusal::NotFenced { given: FenceToken::MIN, current: None },
        Refusal::MissingDependency { missing: vec!["artifacts".to_owned()] },
    ] {
        let error = RelocatorError {
            message: refusal.to_string(),
            retryable: refusal.is_retryable(),
            applied: Applied::No,
            refusal,
        };
        let refused = Reply::Refused(Box::new(error.clone()));
        let text = refused.to_json();
        assert_eq!(read_reply(text.as_bytes(), "route"), Ok(refused.clone()), "{text}");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["error"]["code"], error.refusal.code());
        for ok in [true, false] {
            let mut both = value.clone();
            both["ok"] = json!(ok);
            both["receipt"] = json!({"op": "describe", "name": "x", "version": "1", "ops": []});
            assert!(read_reply(both.to_string().as_bytes(), "describe").is_err());
        }
    }
    assert!(read_reply(b"{}", "route").is_err());
    let neither = json!({"protocol": PROTOCOL, "ok": true}).to_string();
    let contradiction = AnswerError::Contradiction { ok: true, what: "neither" };
    assert_eq!(read_reply(neither.as_bytes(), "route"), Err(contradiction));
}
