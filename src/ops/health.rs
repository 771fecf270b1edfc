//! The health gate of a tick: whether what a tick would rely on is well enough to act.
//!
//! Owns the shape of the document. A gate that cannot be read is closed: it never opens by default.

use std::path::Path;

use serde::Deserialize;

use super::wait::read_given;
use crate::domain::canonical::{DOCUMENT_BYTES_MAX, read_document};
use crate::domain::scale::scaling::{SAMPLE_AGE_MAX, SAMPLE_SKEW_MAX};
use crate::domain::time::Timestamp;

/// The bytes of a document, or why they could not be read.
pub type Given = Result<Vec<u8>, String>;

/// Reads a document that a tick is given, when it is due: `-` is stdin. What cannot be read is no
/// wrong line: it is a fact that is missing, and the next tick may have it.
pub fn given(file: &Path) -> Given {
    read_given(file, DOCUMENT_BYTES_MAX)
        .map_err(|error| format!("reading {}: {error}", file.display()))
}

/// Which tick asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// `autoscale`
    Autoscaling,
    /// `reconcile`
    Convergence,
}

/// What the gate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// There is none: nobody was asked.
    NotAsked,
    /// It is open.
    Ready,
    /// It is closed, and says so.
    NotReady(String),
    /// What it says cannot be read, so it is closed.
    Unreadable(String),
}

/// The document: the two words are booleans, and nothing else is taken for one. Other members are
/// the evidence behind them, and nobody here judges it.
#[derive(Deserialize)]
struct Document {
    autoscaling_ready: bool,
    convergence_ready: bool,
    #[serde(default)]
    observed_at: Option<Timestamp>,
    #[serde(default)]
    reason: Option<String>,
}

impl Health {
    /// What a document says to whoever asks.
    pub fn of(given: Option<Given>, asking: Asking, now: Timestamp) -> Self {
        let bytes = match given {
            None => return Self::NotAsked,
            Some(Err(why)) => return Self::Unreadable(why),
            Some(Ok(bytes)) => bytes,
        };
        let document: Document = match read_document(&bytes) {
            Ok(document) => document,
            Err(error) => return Self::Unreadable(error.to_string()),
        };
        if let Some(at) = document.observed_at {
            if at.plus(SAMPLE_AGE_MAX) < now {
                return Self::Unreadable(format!("it is of {at}, over {SAMPLE_AGE_MAX} ago"));
            }
            if at > now.plus(SAMPLE_SKEW_MAX) {
                return Self::Unreadable(format!("it is of {at}, which is still to come"));
            }
        }
        let (is_ready, word) = match asking {
            Asking::Autoscaling => (document.autoscaling_ready, "autoscaling_ready"),
            Asking::Convergence => (document.convergence_ready, "convergence_ready"),
        };
        match document.reason {
            _ if is_ready => Self::Ready,
            None => Self::NotReady(format!("{word} is false")),
            Some(reason) => Self::NotReady(format!("{word} is false: {reason}")),
        }
    }

    /// The word on the wire.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NotAsked => "not_asked",
            Self::Ready => "ready",
            Self::NotReady(_) => "not_ready",
            Self::Unreadable(_) => "unreadable",
        }
    }

    /// Why nothing may be done; none where it may.
    pub fn closed(&self) -> Option<String> {
        match self {
            Self::NotAsked | Self::Ready => None,
            Self::NotReady(why) => Some(format!("the health gate is closed: {why}")),
            Self::Unreadable(why) => Some(format!("the health gate cannot be read: {why}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(text: &str, asking: Asking) -> &'static str {
        let now = "2026-01-01T00:00:00Z".parse().expect("BUG: an instant");
        Health::of(Some(Ok(text.as_bytes().to_vec())), asking, now).as_str()
    }

    fn at(instant: &str) -> String {
        let ready = r#""autoscaling_ready":true,"convergence_ready":true"#;
        format!("{{{ready},\"observed_at\":{instant}}}")
    }

    /// Rule book, 4.1(1) and 5.1: wrong type or unreadable is closed.
    #[test]
    fn a_gate_opens_by_a_boolean_and_by_nothing_else() {
        use Asking::{Autoscaling, Convergence};
        let both = r#"{"autoscaling_ready":true,"convergence_ready":false,"peers":3}"#;
        assert_eq!(says(both, Autoscaling), "ready");
        assert_eq!(says(both, Convergence), "not_ready");
        for closed in [
            "",
            "true",
            "[]",
            "{}",
            r#"{"autoscaling_ready":true}"#,
            r#"{"autoscaling_ready":1,"convergence_ready":true}"#,
            r#"{"autoscaling_ready":"true","convergence_ready":true}"#,
            r#"{"autoscaling_ready":null,"convergence_ready":true}"#,
            r#"{"autoscaling_ready":false,"autoscaling_ready":true,"convergence_ready":true}"#,
            r#"{"autoscaling_ready":true,"convergence_ready":true} {}"#,
            &at("\"2025-12-31T23:57:59Z\""),
            &at("\"2026-01-01T00:00:31Z\""),
            &at("1"),
        ] {
            assert_eq!(says(closed, Autoscaling), "unreadable", "{closed}");
        }
        assert_eq!(says(&at("\"2025-12-31T23:58:00Z\""), Autoscaling), "ready");
    }
}
