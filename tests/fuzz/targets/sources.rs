//! What a tick is told: signals, the health gate, and what Prometheus answers.
//!
//! The JSON itself stands beside each typed answer.

use scalectl::domain::scale::scaling::{Sample, Signal};
use scalectl::domain::time::Timestamp;
use scalectl::ops::health::{Asking, Health};
use scalectl::ops::signals::{Said, ServerAddress, Wanted, number_in, samples};
use serde_json::Value;

use super::json;

/// The one strict JSON object of a text that was taken.
fn object(data: &[u8]) -> Value {
    assert_eq!(json::problem(data), None, "only a strict document is taken");
    let said: Value = serde_json::from_slice(data).expect("it was read");
    assert!(said.is_object(), "{said} is taken for an object");
    said
}

fn wanted(service: &str, signal: &str) -> Wanted {
    let signal: Signal = serde_json::from_value(serde_json::json!({ "name": signal }))
        .expect("a signal has a name at least");
    Wanted { service: service.parse().expect("a name"), signal, query: None }
}

/// A text as an identifier is read: blanks around it do not count.
fn trimmed(value: &Value) -> Option<&str> {
    value.as_str().map(str::trim)
}

/// A service without a word in a document that was read: it is not in it, or not once, or wrongly.
fn is_no_sample(said: &Value, wanted: &Wanted) {
    let elements = said["signals"].as_array().expect("a list of signals");
    let own = elements.iter().filter(|it| trimmed(&it["service"]) == Some(wanted.service.as_str()));
    let read = |it: &Value| serde_json::from_value::<Sample>(it.clone());
    let own: Vec<_> = own.map(read).collect();
    let fitting = own.iter().flatten().filter(|sample| sample.signal == wanted.signal).count();
    let is_wrong = own.iter().any(Result::is_err);
    assert!(own.is_empty() || fitting > 1 || is_wrong, "a sample is not taken: {said}");
}

/// A sample is in the document, with that service, signal and number; and once for that signal. One
/// that is there once is taken, unless another element of its service is none.
pub fn signals_document(data: &[u8]) -> bool {
    let both = [wanted("web", "depth"), wanted("api", "cpu")];
    let read = samples(data, &both);
    let mut is_taken = false;
    for wanted in &both {
        let Said::Sample(sample) = read.of(&wanted.service) else {
            if read.failure.is_none() {
                is_no_sample(&object(data), wanted);
            }
            continue;
        };
        is_taken = true;
        let said = object(data);
        assert!(read.failure.is_none() && said["format_version"] == 1, "{said}");
        let signal_of = |element: &Value| {
            let signal = serde_json::from_value::<Signal>(element["signal"].clone());
            signal.expect("one that is none takes the word of its service away")
        };
        let elements = said["signals"].as_array().expect("a list of signals");
        let is_own =
            |element: &&Value| trimmed(&element["service"]) == Some(wanted.service.as_str());
        let own: Vec<&Value> = elements.iter().filter(is_own).collect();
        let fits = |element: &&&Value| signal_of(element) == wanted.signal;
        let fitting = own.iter().filter(fits).count();
        let is_wanted = sample.signal == wanted.signal;
        assert_eq!(fitting, usize::from(is_wanted), "{said}");
        let is_it = |element: &&Value| {
            signal_of(element) == sample.signal
                && element["value"].as_f64() == Some(sample.value.get())
        };
        assert_eq!(sample.service, wanted.service);
        assert!(own.into_iter().any(|element| is_it(&element)), "{sample:?} is not in {said}");
    }
    is_taken
}

/// A gate is open only where both words are booleans, the asked one is true, and what it says is
/// neither old nor still to come.
pub fn health_document(data: &[u8]) -> bool {
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("an instant");
    let mut is_taken = false;
    for (asking, word) in
        [(Asking::Autoscaling, "autoscaling_ready"), (Asking::Convergence, "convergence_ready")]
    {
        let health = Health::of(Some(Ok(data.to_vec())), asking, now);
        let is_open = health == Health::Ready;
        assert_eq!(health.closed().is_none(), is_open, "{health:?}");
        if matches!(health, Health::Unreadable(_)) {
            continue;
        }
        is_taken = true;
        let said = object(data);
        let both = [&said["autoscaling_ready"], &said["convergence_ready"]];
        assert!(both.iter().all(|word| word.is_boolean()), "{said}");
        assert_eq!(said[word] == true, is_open, "{said}: {health:?}");
        if !said["observed_at"].is_null() {
            let at: Timestamp = said["observed_at"]
                .as_str()
                .and_then(|at| at.parse().ok())
                .expect("an instant is a text");
            let after = at.as_micros() - now.as_micros();
            assert!((-120_000_000..=30_000_000).contains(&after), "{said}: {health:?}");
        }
    }
    is_taken
}

/// A number is that of the one series of a vector, of a success without a warning; and no series is
/// an empty vector and nothing else.
pub fn prometheus_answer(data: &[u8]) -> bool {
    let Ok(read) = number_in(data) else { return false };
    let said = object(data);
    assert_eq!(said["status"], "success");
    let warnings = said.get("warnings").map(|list| list.as_array().map(Vec::len));
    assert!(matches!(warnings, None | Some(Some(0))), "{said}");
    assert_eq!(said["data"]["resultType"], "vector");
    let series = said["data"]["result"].as_array().expect("a vector is a list");
    let Some((value, at)) = read else {
        assert!(series.is_empty(), "{said} is taken for nothing");
        return true;
    };
    assert!(value.is_finite() && at.is_finite(), "{said}");
    let [one] = series.as_slice() else { panic!("{said} is taken for one number") };
    let [found_at, found] = one["value"].as_array().expect("a pair").as_slice() else {
        panic!("{said} is taken for a pair")
    };
    assert_eq!(found_at.as_f64(), Some(at), "{said}");
    let found = found.as_str().and_then(|text| text.parse::<f64>().ok());
    assert_eq!(found, Some(value), "{said}");
    true
}

/// An address that is taken is asked as it stands: in clear, without a password, on one line, and
/// nothing of it is taken for the question.
pub fn prometheus_address(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let Ok(address) = text.parse::<ServerAddress>() else { return false };
    let shown = address.as_str();
    let rest = shown.strip_prefix("http://").expect("it is asked in clear");
    assert!(text.strip_prefix(shown).is_some_and(|end| end.bytes().all(|b| b == b'/')), "{text}");
    let host: String = rest.chars().take_while(|c| *c != '/').collect();
    assert!(!host.is_empty() && !host.contains('@') && !host.starts_with(':'), "{text}");
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '?' && c != '#';
    assert!(rest.chars().all(is_plain), "{text:?}");
    true
}
