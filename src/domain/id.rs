//! Identifiers, counts and numbers, each its own type, parsed once at the border.
//!
//! Source of the rule: the durable scale-intent contract (seed 000), `identifier`:
//! surrounding whitespace is stripped, then `[A-Za-z0-9][A-Za-z0-9._:/-]{0,255}` must match whole.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::digest::sha256_hex;

/// The longest identifier, in bytes (which are characters here).
pub const IDENTIFIER_BYTES_MAX: usize = 256;

/// The largest count or number that crosses the border: 2^53 − 1, the last integer that every JSON
/// reader keeps exactly.
pub const NUMBER_MAX: u64 = (1 << 53) - 1;

/// Why a text is not an identifier. Names the text, cut to what a person can read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{kind} {text:?} is not an identifier: 1 to 256 of A-Z a-z 0-9 . _ : / - that begin with a letter or digit"
)]
pub struct InvalidIdentifier {
    /// The noun that was expected.
    pub kind: &'static str,
    /// What was found instead, at most 80 characters of it.
    pub text: String,
}

fn parse_identifier(kind: &'static str, text: &str) -> Result<String, InvalidIdentifier> {
    let stripped = text.trim();
    if is_identifier(stripped) {
        Ok(stripped.to_owned())
    } else {
        Err(InvalidIdentifier { kind, text: text.chars().take(80).collect() })
    }
}

fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    let head_ok = bytes.next().is_some_and(|b| b.is_ascii_alphanumeric());
    let is_of_one =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'/' | b'-');
    head_ok && bytes.all(is_of_one) && text.len() <= IDENTIFIER_BYTES_MAX
}

/// `prefix:value` where that is an identifier, else `prefix:` + the first 32 hex digits of the
/// SHA-256 of `value` (seed 000, *derived id*).
pub fn derived_id(prefix: &str, value: &str) -> String {
    let plain = format!("{prefix}:{value}");
    parse_identifier("derived id", &plain)
        .unwrap_or_else(|_| format!("{prefix}:{}", &sha256_hex(value.as_bytes())[..32]))
}

macro_rules! identifiers {
    ($($(#[$doc:meta])* $name:ident = $kind:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(String);

        impl $name {
            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The identifier derived from a prefix and any text.
            pub fn derived(prefix: &str, value: &str) -> Self {
                Self(derived_id(prefix, value))
            }
        }

        impl FromStr for $name {
            type Err = InvalidIdentifier;
            fn from_str(text: &str) -> Result<Self, InvalidIdentifier> {
                parse_identifier($kind, text).map(Self)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidIdentifier;
            fn try_from(text: String) -> Result<Self, InvalidIdentifier> {
                if is_identifier(&text) { Ok(Self(text)) } else { text.parse() }
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}

identifiers! {
    /// A thing with replicas and one writer.
    ServiceName = "service";
    /// One wish, as named by its maker or by the minting rule.
    IntentId = "intent id";
    /// The key that names one intent for ever.
    ExecutionKey = "execution key";
    /// Derived from the execution key.
    ExecutionId = "execution id";
    /// The one controller that may act on a service.
    ControllerId = "controller";
    /// Where the target runs: the cluster.
    ClusterId = "cluster id";
    /// Where the target runs: the runtime in the cluster.
    RuntimeId = "runtime id";
    /// What the target is called in its runtime.
    WorkloadId = "workload id";
    /// What the target is: another uid is another thing.
    TargetUid = "target uid";
    /// The version of the target as last read.
    TargetResourceVersion = "target resource version";
    /// The lease that a fence belongs to.
    LeaseId = "lease id";
    /// One grant of one lease.
    LeaseInstanceId = "lease instance id";
    /// The one terminal record of a key.
    ObservationId = "observation id";
    /// A registered actuator.
    ActuatorName = "actuator";
    /// A word that a machine reads: why something failed.
    ErrorCode = "error code";
    /// What the actuator calls its own operation.
    ActuatorOperationId = "actuator operation id";
    /// One run of one command that writes.
    CommandId = "command id";
    /// One call of an actuator.
    CallId = "call id";
    /// The identity of a ledger, minted by `init`.
    LedgerId = "ledger id";
    /// A machine, its boot and its process namespace (ruling 1 of the design).
    HostKey = "host key";
    /// One answer of the policy.
    DecisionId = "decision id";
    /// A proposal that waits for a person, or waited: derived from its key.
    ApprovalId = "approval id";
    /// One permission to break the glass.
    AuthorizationId = "authorization id";
    /// What is placed into a cell as a whole: an application with its data.
    EnvironmentName = "environment";
    /// A place with capacity of its own, in one location.
    CellName = "cell";
    /// One change of a placement, from its admission to its end.
    OperationId = "operation id";
}

/// Why a number is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {value} is outside {min}..={max}")]
pub struct OutOfRange {
    /// The noun that was expected.
    pub kind: &'static str,
    /// What was given.
    pub value: u64,
    /// The smallest value.
    pub min: u64,
    /// The largest value.
    pub max: u64,
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident = $kind:literal, $min:expr, $max:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "u64", into = "u64")]
        pub struct $name(u64);

        impl $name {
            /// The smallest value.
            pub const MIN: Self = Self($min);
            /// The largest value.
            pub const MAX: Self = Self($max);

            /// Checks the bounds.
            pub fn new(value: u64) -> Result<Self, OutOfRange> {
                if ($min..=$max).contains(&value) {
                    Ok(Self(value))
                } else {
                    Err(OutOfRange { kind: $kind, value, min: $min, max: $max })
                }
            }

            /// The number.
            pub const fn get(self) -> u64 {
                self.0
            }

            /// The next number, or none at the upper bound.
            pub const fn next(self) -> Option<Self> {
                if self.0 < $max { Some(Self(self.0 + 1)) } else { None }
            }
        }

        impl TryFrom<u64> for $name {
            type Error = OutOfRange;
            fn try_from(value: u64) -> Result<Self, OutOfRange> {
                Self::new(value)
            }
        }

        impl From<$name> for u64 {
            fn from(number: $name) -> u64 {
                number.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    )+};
}

numbers! {
    /// A count of replicas.
    Replicas = "replicas", 0, NUMBER_MAX;
    /// 1, 2, 3 … per service, over its live intents.
    IntentRevision = "intent revision", 1, NUMBER_MAX;
    /// 1, 2, 3 … per service, over its registration.
    UnitRevision = "unit revision", 1, NUMBER_MAX;
    /// The first half of a fence.
    LeaseEpoch = "lease epoch", 1, NUMBER_MAX;
    /// The second half of a fence.
    FenceToken = "fence token", 1, NUMBER_MAX;
    /// A numbered try of one execution key.
    AttemptNumber = "attempt", 1, NUMBER_MAX;
    /// How many attempts one key may use (seed 000).
    MaxAttempts = "max attempts", 1, 8;
    /// 1, 2, 3 … per environment, raised by the commit of each move; 0 is before the first one.
    PlacementEpoch = "placement epoch", 0, NUMBER_MAX;
    /// How many readings must agree.
    RequiredReadings = "required readings", 1, 10;
}

/// Reads a stored number that is counted up: past [`NUMBER_MAX`] it is nonsense, and an overflow.
pub(crate) fn counted<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<u64, D::Error> {
    let number = u64::deserialize(reader)?;
    if number > NUMBER_MAX {
        return Err(serde::de::Error::custom(format!("{number} is past 2^53 - 1")));
    }
    Ok(number)
}

impl From<u32> for Replicas {
    fn from(count: u32) -> Self {
        Self(u64::from(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_stripped_and_bounded() {
        assert_eq!(" web ".parse::<ServiceName>().expect("BUG: fits").as_str(), "web");
        for bad in ["", " ", ".web", "we b", "wéb", "a@1", "a=b", "x\n\u{7}", &"a".repeat(257)] {
            assert!(bad.parse::<ServiceName>().is_err(), "{bad:?}");
        }
        assert!("a".repeat(256).parse::<ServiceName>().is_ok());
    }

    #[test]
    fn derived_ids_fall_back_to_a_hash() {
        assert_eq!(derived_id("execution", "k1"), "execution:k1");
        let hashed = derived_id("execution", &"k".repeat(256));
        assert_eq!(hashed.len(), "execution:".len() + 32);
        assert_eq!(derived_id("action-key", "has space").len(), "action-key:".len() + 32);
    }

    #[test]
    fn numbers_know_their_bounds() {
        assert!(MaxAttempts::new(0).is_err());
        assert!(MaxAttempts::new(9).is_err());
        assert!(Replicas::new(0).is_ok());
        assert!(Replicas::new(1 << 53).is_err());
        assert_eq!(Replicas::MAX.next(), None);
    }
}
