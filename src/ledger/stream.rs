//! Streams and their hash chains.
//!
//! `hash(n) = SHA-256(hash(n − 1) ‖ canonical JSON of {command_id, event, sequence, stream})`, with
//! 32 zero bytes before the first event. A chain proves that nothing inside it was changed; that
//! nothing was cut off its end needs a [`Head`] that was kept elsewhere.

use std::fmt;
use std::io::Write as _;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::domain::digest::Digest;
use crate::domain::id::ServiceName;

/// One chain of events.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Stream {
    /// Changes of the policy.
    Policy,
    /// Commands that changed nothing.
    Refusals,
    /// The ledger itself and its actuators.
    Registry,
    /// Cells, environments, and how these are moved.
    Placement,
    /// One service.
    Service(ServiceName),
}

/// A text that names no stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a stream: policy, placement, refusals, registry or service:NAME")]
pub struct InvalidStream {
    /// What was found, at most 80 characters of it.
    pub text: String,
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy => f.write_str("policy"),
            Self::Refusals => f.write_str("refusals"),
            Self::Registry => f.write_str("registry"),
            Self::Placement => f.write_str("placement"),
            Self::Service(name) => write!(f, "service:{name}"),
        }
    }
}

impl FromStr for Stream {
    type Err = InvalidStream;

    fn from_str(text: &str) -> Result<Self, InvalidStream> {
        let invalid = || InvalidStream { text: text.chars().take(80).collect() };
        match text {
            "policy" => Ok(Self::Policy),
            "refusals" => Ok(Self::Refusals),
            "registry" => Ok(Self::Registry),
            "placement" => Ok(Self::Placement),
            _ => {
                let name = text.strip_prefix("service:").ok_or_else(invalid)?;
                let service: ServiceName = name.parse().map_err(|_| invalid())?;
                // An identifier is read without the white space around it; a stream is exact.
                if service.as_str() == name { Ok(Self::Service(service)) } else { Err(invalid()) }
            }
        }
    }
}

impl TryFrom<String> for Stream {
    type Error = InvalidStream;
    fn try_from(text: String) -> Result<Self, InvalidStream> {
        text.parse()
    }
}

impl From<Stream> for String {
    fn from(stream: Stream) -> String {
        stream.to_string()
    }
}

/// The end of a chain. Kept elsewhere, it proves later that nothing before it was changed or cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The chain.
    pub stream: Stream,
    /// The number of its newest event, from 1.
    pub sequence: u64,
    /// The hash of its newest event.
    pub hash: Digest,
}

/// Makes the hashes of chains; keeps one buffer for all of them.
#[derive(Default)]
pub(super) struct Chainer {
    buffer: Vec<u8>,
}

impl Chainer {
    /// The hash of one event. `stream` and `command_id` are identifiers, so nothing in them needs
    /// an escape; `body` is canonical JSON already.
    pub(super) fn link(
        &mut self,
        previous: &Digest,
        stream: &str,
        sequence: i64,
        command_id: &str,
        body: &str,
    ) -> Digest {
        self.buffer.clear();
        write!(
            self.buffer,
            r#"{{"command_id":"{command_id}","event":{body},"sequence":{sequence},"stream":"{stream}"}}"#
        )
        .expect("BUG: writing to memory failed");
        Digest::chained(previous, &self.buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::canonical::canonical_json;

    #[test]
    fn streams_read_as_they_are_written() {
        for text in ["policy", "placement", "refusals", "registry", "service:web", "service:a/b:c"]
        {
            assert_eq!(text.parse::<Stream>().expect("a stream").to_string(), text);
        }
        for bad in ["", "service", "service:", "service: web", "services:web", "Policy"] {
            assert!(bad.parse::<Stream>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_link_hashes_canonical_json() {
        let body = serde_json::json!({"at": "2026-01-01T12:00:00Z", "body": {"event": "x"}});
        let whole = canonical_json(&serde_json::json!({
            "stream": "service:web", "sequence": 7, "command_id": "c-1", "event": body,
        }));
        let previous = Digest::of(b"before");
        assert_eq!(
            Chainer::default().link(&previous, "service:web", 7, "c-1", &canonical_json(&body)),
            Digest::chained(&previous, whole.as_bytes())
        );
    }
}
