//! What is decided without an engine; the rest is tested through the binary in `tests/docker.rs`.

use super::apply::{Judged, Told, check_base, judge};
use super::http::{Answer, Decoder, HttpError};
use super::service::{Applied, Mode, Service, Update};
use super::{ConfigError, DockerConfig};
use crate::actuator::protocol::Base;

fn answer(status: u16, message: &str) -> Answer {
    let body = format!("{{\"message\":\"{message}\"}}").into_bytes();
    Answer { status, body, closes: false }
}

fn decoded(bytes: &[u8]) -> Result<Answer, HttpError> {
    let mut decoder = Decoder::default();
    decoder.feed(bytes)?;
    decoder.whole()?.map_or_else(|| decoder.ended(), Ok)
}

#[test]
fn a_write_is_judged_by_its_label_before_the_words_are_believed() {
    use Told::{Done, Nothing, Premise};
    for (told, is_ours, has_moved, expected) in [
        (Done, true, true, Judged::Applied),
        // The engine's word, even where somebody else has written since.
        (Done, false, true, Judged::Applied),
        (Premise, false, true, Judged::Moved),
        // A manager sent it twice: the version was moved by the first of them.
        (Premise, true, true, Judged::Applied),
        (Premise, false, false, Judged::Unknown),
        (Nothing, true, true, Judged::Applied),
        // Ours may be overwritten already, or may still come.
        (Nothing, false, true, Judged::Unknown),
        (Nothing, false, false, Judged::Unknown),
    ] {
        assert_eq!(judge(told, is_ours, has_moved), expected, "{told:?} {is_ours} {has_moved}");
    }
}

#[test]
fn only_a_refusal_of_the_engine_is_one() {
    let moved = "rpc error: code = Unknown desc = update out of sequence";
    for (status, message, expected) in [
        (200, "", Told::Done),
        (500, moved, Told::Premise),
        (409, moved, Told::Premise),
        (400, "bad parameter", Told::Refused { retryable: false }),
        (403, "forbidden", Told::Refused { retryable: false }),
        (404, "service not found", Told::Refused { retryable: false }),
        (401, "who is it", Told::Refused { retryable: true }),
        (408, "too slow", Told::Nothing),
        (429, "too many", Told::Nothing),
        (500, "rpc error: code = DeadlineExceeded desc = context deadline exceeded", Told::Nothing),
        (503, "The swarm does not have a leader", Told::Nothing),
        (301, moved, Told::Nothing),
    ] {
        assert_eq!(Told::of(&answer(status, message)), expected, "{status} {message}");
    }
}

#[test]
fn a_base_is_compared_by_version_and_count() {
    let base = |version: Option<&str>, replicas: Option<u32>| Base {
        replicas: replicas.map(Into::into),
        generation: None,
        resource_version: version.map(|text| text.parse().expect("valid")),
    };
    let check = |base: Base| check_base(&base, &"41".parse().expect("valid"), 6.into());
    for base in [base(Some("41"), Some(6)), base(None, None), base(Some("41"), None)] {
        assert!(check(base).is_ok());
    }
    for base in [base(Some("40"), Some(6)), base(Some("41"), Some(5)), base(None, Some(5))] {
        assert_eq!(check(base).expect_err("moved").code, "precondition_moved");
    }
}

const SERVICE: &str = r#"{"ID":"abc","Version":{"Index":41},"Spec":{"Name":"web",
  "Labels":{"b":"1","a" : "2"},"New":{"deep":[1.50,18446744073709551615, 1e400]},
  "TaskTemplate":{"RestartPolicy":{"Delay":9007199254740993}},
  "Mode":{"Replicated":{"Replicas":6,"More":true}}},
  "PreviousSpec":{"Labels":{"scalectl.applied":"L1/1.7.1 6 k0"}}}"#;

#[test]
fn what_is_written_back_is_what_was_read_byte_by_byte_but_for_the_count_and_the_labels() {
    let service = Service::read(SERVICE.as_bytes()).expect("a service");
    let labels = [("scalectl.fence", "L1/1.7.2"), ("b", "3")];
    assert_eq!(
        service.written(&labels, Some(9.into())).expect("a text"),
        "{\"Name\":\"web\",\"Labels\":{\"b\":\"3\",\"a\":\"2\",\"scalectl.fence\":\"L1/1.7.2\"},\
         \"New\":{\"deep\":[1.50,18446744073709551615, 1e400]},\
         \"TaskTemplate\":{\"RestartPolicy\":{\"Delay\":9007199254740993}},\
         \"Mode\":{\"Replicated\":{\"Replicas\":9,\"More\":true}}}"
    );
    let kept = service.written(&[], None).expect("a text");
    assert!(kept.contains("\"Mode\":{\"Replicated\":{\"Replicas\":6,\"More\":true}}"), "{kept}");
    let applied: Applied = "L1/1.7.1 6 k0".parse().expect("of our form");
    assert_eq!(service.applied().expect("labels"), [applied]);
    let bare = SERVICE.replace("\"Labels\":{\"b\":\"1\",\"a\" : \"2\"},", "\"Labels\":null,");
    let bare = Service::read(bare.as_bytes()).expect("a service");
    let written = bare.written(&[("c", "1")], None).expect("a text");
    assert!(written.contains("\"Labels\":{\"c\":\"1\"}"), "{written}");
}

#[test]
fn a_member_that_stands_there_twice_is_refused() {
    for (once, twice) in [
        ("\"Name\":\"web\",", "\"Name\":\"web\",\"Name\":\"db\","),
        ("\"Version\":{\"Index\":41}", "\"Version\":{\"Index\":41},\"Version\":{\"Index\":42}"),
    ] {
        let text = SERVICE.replace(once, twice);
        assert!(Service::read(text.as_bytes()).is_err(), "{text}");
    }
    let text = SERVICE.replace("\"Replicas\":6,", "\"Replicas\":6,\"Replicas\":7,");
    assert!(Service::read(text.as_bytes()).expect("a service").mode().is_err());
}

#[test]
fn the_mode_and_the_update_of_a_service_are_told() {
    let with = |from: &str, to: &str| {
        Service::read(SERVICE.replace(from, to).as_bytes()).expect("a service")
    };
    let mode = "{\"Replicated\":{\"Replicas\":6,\"More\":true}}";
    for (text, expected) in [
        (mode, Mode::Replicated(6.into())),
        ("{\"Replicated\":{}}", Mode::Uncounted),
        ("{\"Replicated\":{\"Replicas\":null}}", Mode::Uncounted),
        ("{\"Global\":{}}", Mode::Other("Global".to_owned())),
        ("{\"Replicated\":null,\"GlobalJob\":{}}", Mode::Other("GlobalJob".to_owned())),
        ("{\"ReplicatedJob\":{\"MaxConcurrent\":1}}", Mode::Other("ReplicatedJob".to_owned())),
        ("{}", Mode::Other("none".to_owned())),
    ] {
        assert_eq!(with(mode, text).mode().expect("a mode"), expected, "{text}");
    }
    let first = "{\"ID\":\"abc\",";
    for (state, expected) in [
        ("null", Update::Over),
        ("{}", Update::Over),
        ("{\"State\":\"\"}", Update::Over),
        ("{\"State\":\"completed\"}", Update::Over),
        ("{\"State\":\"rollback_completed\"}", Update::Over),
        ("{\"State\":\"updating\"}", Update::UnderWay),
        ("{\"State\":\"rollback_started\"}", Update::UnderWay),
        ("{\"State\":\"of a later engine\"}", Update::UnderWay),
        ("{\"State\":\"paused\"}", Update::Paused),
        ("{\"State\":\"rollback_paused\"}", Update::Paused),
    ] {
        let found = with(first, &format!("{first}\"UpdateStatus\":{state},"));
        assert_eq!(found.update(), expected, "{state}");
    }
}

#[test]
fn what_was_applied_is_read_as_it_was_written_and_nothing_else_is() {
    for text in ["L1/1.7.2 5 k1", "led:1/a/1.7.2 0 scale-intent-key:ab/c"] {
        let applied: Applied = text.parse().expect(text);
        assert_eq!(applied.to_string(), text);
    }
    let none = ["", "L1/1.7.2", "L1/1.7.2 5", "L1/1.7.2 05 k", "L1/1.7.2 5 k k", "L1/1.7 5 k"];
    for text in none.into_iter().chain(["L1/1.7.2 5  k", "L1/1.7.2 -5 k", "L1/1.7.2 5 k "]) {
        assert!(text.parse::<Applied>().is_err(), "{text:?}");
    }
}

#[test]
fn an_answer_of_http_has_one_end() {
    let ok = |body: &str, closes| Ok(Answer { status: 200, body: body.into(), closes });
    let cut = || Err(HttpError::Cut);
    let head = "HTTP/1.1 200 OK\r\n";
    for (text, expected) in [
        (format!("{head}Content-Length: 2\r\n\r\nhi"), ok("hi", false)),
        (format!("{head}content-length: 2\r\nConnection: Close\r\n\r\nhi"), ok("hi", true)),
        (
            format!("{head}Transfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1;x=y\r\ni\r\n0\r\n\r\n"),
            ok("hi", false),
        ),
        (format!("{head}Transfer-Encoding: chunked\r\n\r\n0\r\nTrailer: x\r\n\r\n"), ok("", false)),
        (format!("HTTP/1.1 100 Continue\r\n\r\n{head}Content-Length: 0\r\n\r\n"), ok("", false)),
        (format!("{head}\r\nto the end"), ok("to the end", true)),
        (format!("{head}Content-Length: 3\r\n\r\nhi"), cut()),
        (format!("{head}Transfer-Encoding: chunked\r\n\r\n5\r\nhi"), cut()),
        (format!("{head}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"), cut()),
        (format!("{head}Content-Le"), cut()),
        (String::new(), cut()),
    ] {
        assert_eq!(decoded(text.as_bytes()), expected, "{text}");
        // However it is cut on its way.
        let mut decoder = Decoder::default();
        let fed = text.bytes().try_for_each(|byte| decoder.feed(&[byte]));
        let found =
            fed.and_then(|()| decoder.whole()).and_then(|w| w.map_or_else(|| decoder.ended(), Ok));
        assert_eq!(found, expected, "{text}, byte by byte");
    }
}

#[test]
fn what_two_readers_would_end_differently_is_no_answer() {
    let head = "HTTP/1.1 200 OK\r\n";
    for text in [
        format!("{head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nhi"),
        format!("{head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        format!("{head}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        format!("{head}Content-Length: +2\r\n\r\nhi"),
        format!("{head}Content-Length: \r\n\r\n"),
        format!("{head}Content-Length: 99999999999999999999999\r\n\r\n"),
        format!("{head}Content-Length: 2\r\n\r\nhi{head}"),
        format!("{head}Transfer-Encoding: chunked\r\n\r\n2\r\nhix\r\n0\r\n\r\n"),
        format!("{head}Transfer-Encoding: chunked\r\n\r\n-1\r\n"),
        "HTTP/1.1 101 Upgraded\r\n\r\n".to_owned(),
        "HTTP/1.1 999 x\r\n\r\n".to_owned(),
        "HTTP/2 200\r\n\r\n".to_owned(),
        "<html>".to_owned(),
        format!("{head}{}", "X: y\r\n".repeat(20_000)),
        format!("{head}X: {}", "y".repeat(70_000)),
        "HTTP/1.1 100 Continue\r\n\r\n".repeat(9),
    ] {
        let found = decoded(text.as_bytes());
        assert!(matches!(found, Err(HttpError::Garbled(_))), "{found:?}: {text:.80}");
    }
    let flood = format!("{head}\r\n{}", "x".repeat(33 * 1024 * 1024));
    assert_eq!(decoded(flood.as_bytes()), Err(HttpError::TooLong));
}

#[test]
fn a_context_is_a_word_and_no_variable_leads_elsewhere() {
    let new = |context: &str, names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        DockerConfig::new(context.to_owned(), None, names)
    };
    assert!(new("prod-eu_1.a+b", &["SSH_AUTH_SOCK"]).is_ok());
    for context in ["", "-x", "a b", "a/b", &"a".repeat(257)] {
        assert!(matches!(new(context, &[]), Err(ConfigError::Context(_))), "{context:?}");
    }
    assert!(matches!(new("prod", &["A=B"]), Err(ConfigError::Variable(_))));
    for name in super::HOSTS {
        assert!(matches!(new("prod", &[name]), Err(ConfigError::Host(_))), "{name}");
    }
}
