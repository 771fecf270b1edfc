//! Prometheus as a source of samples, by its HTTP API and in clear text.
//!
//! Owns what of its answers is a sample: one number of one instant vector, and when it was scraped.
//! Follows no redirection, uses no proxy, reads at most 1 MiB. A server that nobody reaches says
//! nothing of any service.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use ureq::Agent;

use super::{Said, Samples, Wanted};
use crate::actuator::host::Deadline;
use crate::domain::canonical::{DOCUMENT_BYTES_MAX, from_value, read_document};
use crate::domain::id::ServiceName;
use crate::domain::measure::Measure;
use crate::domain::scale::scaling::{SAMPLE_AGE_MAX, Sample};
use crate::domain::time::{DurationMs, Timestamp};
use crate::ops::error::OpError;
use crate::ops::wait::refuse_after_signal;

/// How often a signal to this process is looked for.
const SLICE: Duration = Duration::from_millis(50);

/// Where a Prometheus listens: `http://HOST[:PORT][/PATH]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress(String);

/// An address that is none of a Prometheus.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidServerAddress(&'static str);

impl FromStr for ServerAddress {
    type Err = InvalidServerAddress;

    fn from_str(text: &str) -> Result<Self, InvalidServerAddress> {
        let Some(rest) = text.strip_prefix("http://") else {
            return Err(InvalidServerAddress(
                "it is asked over http://HOST:PORT only; for TLS let a --provider ask",
            ));
        };
        let host = rest.split('/').next().unwrap_or_default();
        if host.contains('@') {
            return Err(InvalidServerAddress(
                "a password would go in clear text: let a --provider ask",
            ));
        }
        let is_bad = |c: char| c.is_whitespace() || c.is_control() || "?#\\\"<>".contains(c);
        if host.is_empty() || host.starts_with(':') || rest.contains(is_bad) {
            return Err(InvalidServerAddress("it is http://HOST:PORT, and perhaps a path"));
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }
}

impl ServerAddress {
    /// The text, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A Prometheus and what it is asked.
#[derive(Debug, Clone)]
pub struct Prometheus {
    /// Where it listens.
    pub address: ServerAddress,
    /// The query of a service, before that of its registration.
    pub queries: BTreeMap<ServiceName, String>,
    /// How long all of it may take.
    pub timeout: DurationMs,
}

impl Prometheus {
    /// Asks beside this thread, so that a signal is answered at once.
    pub(super) fn read(&self, wanted: &[Wanted]) -> Result<Samples, OpError> {
        let (sender, receiver) = mpsc::channel();
        let (asked, wanted) = (self.clone(), wanted.to_vec());
        std::thread::spawn(move || {
            // Nobody waits any more where a signal came first.
            let _ = sender.send(asked.samples(&wanted));
        });
        loop {
            refuse_after_signal()?;
            match receiver.recv_timeout(SLICE) {
                Ok(samples) => return Ok(samples),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(OpError::Internal { what: "nobody asks Prometheus".to_owned() });
                }
            }
        }
    }

    fn samples(&self, wanted: &[Wanted]) -> Samples {
        let deadline = Deadline::after(self.timeout);
        let mut samples = Samples::default();
        for wanted in wanted {
            let query = self.queries.get(&wanted.service).or(wanted.query.as_ref());
            let said = match query {
                None => Said::Unreadable(
                    "no query: name one with --query, or with the label prometheus-query"
                        .to_owned(),
                ),
                Some(query) => match self.sample(wanted, query, deadline) {
                    Ok(said) => said,
                    Err(why) => {
                        samples.failure = Some(format!("Prometheus: {why}"));
                        return samples;
                    }
                },
            };
            samples.said.insert(wanted.service.clone(), said);
        }
        samples
    }

    /// What it says of one service. An error where it cannot be reached.
    ///
    /// A vector says when it was evaluated, and not when its number was scraped. So the same
    /// instant is asked a second time, for `timestamp()`: that of a plain series is the scrape's,
    /// and a number that has not been scraped anew is not taken for a new one.
    fn sample(&self, wanted: &Wanted, query: &str, deadline: Deadline) -> Result<Said, String> {
        let point = match self.ask(query, None, deadline)? {
            Ok(Some(point)) => point,
            Ok(None) => return Ok(Said::Nothing("the query finds no series".to_owned())),
            Err(why) => return Ok(Said::Unreadable(why)),
        };
        let scraped = format!("timestamp(\n{query}\n)");
        let scraped = match self.ask(&scraped, Some(point.at), deadline)? {
            Ok(Some(scraped)) => scraped.value,
            Ok(None) => return Ok(Said::Unreadable("nobody says when it was scraped".to_owned())),
            Err(why) => return Ok(Said::Unreadable(why)),
        };
        let Some(observed_at) = instant(scraped.get().min(point.at)) else {
            return Ok(Said::Unreadable(format!("{scraped} is no instant")));
        };
        let (service, signal) = (wanted.service.clone(), wanted.signal.clone());
        Ok(Said::Sample(Sample { service, signal, value: point.value, observed_at }))
    }

    /// One query: the outer error is the server's, the inner one the answer's; none where the
    /// vector is empty.
    fn ask(
        &self,
        query: &str,
        at: Option<f64>,
        deadline: Deadline,
    ) -> Result<Result<Option<Point>, String>, String> {
        let left = deadline.remaining();
        if left.is_zero() {
            return Err(format!("no answer within {}", self.timeout));
        }
        let mut request = agent(left)
            .get(format!("{}/api/v1/query", self.address.0))
            .query("query", query)
            // What was scraped longer ago is of no use, whatever the server's own patience.
            .query("lookback_delta", format!("{}ms", SAMPLE_AGE_MAX.as_millis()));
        if let Some(at) = at {
            request = request.query("time", at.to_string());
        }
        let mut response = request.call().map_err(|error| error.to_string())?;
        let status = response.status().as_u16();
        let limit = DOCUMENT_BYTES_MAX as u64 + 1;
        let body = response.body_mut().with_config().limit(limit).read_to_vec();
        let body = body.map_err(|error| error.to_string())?;
        match (status, point(&body)) {
            (200, point) => Ok(point.map_err(|bad| bad.to_string())),
            // What it says for itself is worth more than a number.
            (_, Err(bad @ Bad::Refused(_))) => Ok(Err(bad.to_string())),
            (status, _) => Err(format!("it answers with HTTP status {status}")),
        }
    }
}

fn agent(timeout: Duration) -> Agent {
    Agent::config_builder()
        .timeout_global(Some(timeout))
        .proxy(None)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .user_agent("scalectl")
        .build()
        .new_agent()
}

/// One number of a vector.
struct Point {
    value: Measure,
    at: f64,
}

/// The answer of the API. Members that we do not read may be anything.
#[derive(Deserialize)]
struct Reply {
    status: String,
    #[serde(default)]
    data: Option<Data>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    warnings: Vec<String>,
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "resultType")]
    result_type: String,
    result: Value,
}

#[derive(Deserialize)]
struct Series {
    value: (f64, String),
}

/// Why an answer has no number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Bad {
    /// Prometheus does not answer this query.
    #[error("it refuses the query: {0}")]
    Refused(String),
    /// A part of the answer may be missing, and the rest would look like less load.
    #[error("it warns that the answer may not be whole: {0}")]
    Partial(String),
    /// The answer is none of its API.
    #[error("its answer: {0}")]
    Garbled(String),
    /// The answer is no single number.
    #[error("the query gives {0}")]
    NotOne(String),
}

/// The one number of an answer; none where there is no series.
fn point(body: &[u8]) -> Result<Option<Point>, Bad> {
    let garbled = |what: &str| Bad::Garbled(what.to_owned());
    let reply: Reply = read_document(body).map_err(|error| Bad::Garbled(error.to_string()))?;
    if reply.status != "success" {
        return Err(Bad::Refused(cut(&reply.error.unwrap_or(reply.status))));
    }
    if let Some(warning) = reply.warnings.first() {
        return Err(Bad::Partial(cut(warning)));
    }
    let data = reply.data.ok_or_else(|| garbled("success without data"))?;
    if data.result_type != "vector" {
        let what = cut(&data.result_type);
        return Err(Bad::NotOne(format!("a {what}, not an instant vector")));
    }
    let Value::Array(mut series) = data.result else {
        return Err(garbled("a vector that is no list"));
    };
    if series.len() > 1 {
        let count = series.len();
        return Err(Bad::NotOne(format!("{count} series, and one is wanted (sum, max …)")));
    }
    let Some(series) = series.pop() else {
        return Ok(None);
    };
    let Series { value: (at, text) } =
        from_value(series).map_err(|error| Bad::Garbled(format!("no number: {error}")))?;
    let value = text.parse();
    let value = value.map_err(|_| Bad::NotOne(format!("{:?}, which is not finite", cut(&text))))?;
    Ok(Some(Point { value, at }))
}

/// The number of an answer, and when it was evaluated; none where there is no series.
pub fn number_in(body: &[u8]) -> Result<Option<(f64, f64)>, String> {
    let point = point(body).map_err(|bad| bad.to_string())?;
    Ok(point.map(|point| (point.value.get(), point.at)))
}

fn cut(text: &str) -> String {
    text.chars().take(200).collect()
}

/// Seconds since the epoch as an instant; none for what is none.
fn instant(seconds: f64) -> Option<Timestamp> {
    let micros = seconds * 1e6;
    if !micros.is_finite() || micros.abs() > 1e18 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "its size was looked at")]
    let micros = micros.round() as i64;
    Timestamp::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(body: &str) -> String {
        match point(body.as_bytes()) {
            Ok(Some(point)) => format!("{} at {}", point.value, point.at),
            Ok(None) => "nothing".to_owned(),
            Err(bad) => bad.to_string(),
        }
    }

    fn vector(result: &str) -> String {
        let data = format!(r#"{{"resultType":"vector","result":{result}}}"#);
        said(&format!(r#"{{"status":"success","data":{data},"infos":["x"]}}"#))
    }

    #[test]
    fn only_one_finite_number_of_a_vector_is_a_sample() {
        assert_eq!(vector("[]"), "nothing");
        assert_eq!(vector(r#"[{"metric":{},"value":[17.5,"3"]}]"#), "3 at 17.5");
        assert_eq!(vector(r#"[{"metric":{},"value":[17,"-1e-3"]}]"#), "-0.001 at 17");
        for number in ["NaN", "+Inf", "-Inf", "", "0x1", "1 "] {
            let said = vector(&format!(r#"[{{"metric":{{}},"value":[17,"{number}"]}}]"#));
            assert!(said.ends_with("which is not finite"), "{number}: {said}");
        }
        for (result, says) in [
            (r#"[{"value":[1,"1"]},{"value":[1,"2"]}]"#, "the query gives 2 series"),
            (r#"[{"metric":{},"value":[1,2]}]"#, "its answer: no number"),
            (r#"[{"metric":{},"value":["1","2"]}]"#, "its answer: no number"),
            (r#"[{"metric":{},"value":[1,"2",3]}]"#, "its answer: no number"),
            (r#"[{"metric":{},"histogram":[1,{}]}]"#, "its answer: no number"),
            (r#"{"metric":{}}"#, "its answer: a vector that is no list"),
            ("null", "its answer: a vector that is no list"),
        ] {
            assert!(vector(result).starts_with(says), "{result}: {}", vector(result));
        }
        for (body, says) in [
            ("", "its answer: the document is empty"),
            ("<html>", "its answer: not a JSON document"),
            (r#"{"status":"success"}"#, "its answer: success without data"),
            (
                r#"{"status":"error","errorType":"bad_data","error":"parse"}"#,
                "it refuses the query: parse",
            ),
            (r#"{"status":"success","warnings":["half"],"data":null}"#, "it warns"),
            (
                r#"{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}"#,
                "the query gives a scalar",
            ),
            (r#"{"status":"success","status":"success"}"#, "its answer: not a JSON document"),
        ] {
            assert!(said(body).starts_with(says), "{body}: {}", said(body));
        }
    }

    #[test]
    fn an_address_is_plain_http_without_a_password() {
        for good in ["http://localhost:9090", "http://10.0.0.1/prometheus/", "http://[::1]:9090"] {
            assert!(good.parse::<ServerAddress>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "localhost:9090",
            "https://x",
            "http://",
            "http://:9090",
            "http://u:p@x",
            "http://x?y",
        ] {
            assert!(bad.parse::<ServerAddress>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_instant_is_within_what_can_be_said() {
        assert_eq!(instant(1.5).map(Timestamp::as_micros), Some(1_500_000));
        for bad in [f64::MAX, f64::INFINITY, 1e13] {
            assert_eq!(instant(bad), None);
        }
    }
}
