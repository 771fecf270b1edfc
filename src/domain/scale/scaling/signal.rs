//! The words of a signal.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest name of a signal, a unit or a scope, in characters.
pub const SIGNAL_CHARS_MAX: usize = 128;
/// What the value of a signal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// All replicas together.
    #[default]
    FleetTotal,
    /// One replica.
    PerReplica,
}

/// The words of a signal: its name, its unit, its scope. Not blank, at most 128 characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SignalWord(String);

/// A word of a signal that is blank, too long or has a control character in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a word of a signal has 1 to {SIGNAL_CHARS_MAX} characters, not all blank, and no control ones"
)]
pub struct InvalidSignalWord;

impl SignalWord {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SignalWord {
    type Error = InvalidSignalWord;
    fn try_from(text: String) -> Result<Self, InvalidSignalWord> {
        let is_blank = text.trim().is_empty();
        let is_too_long = text.chars().count() > SIGNAL_CHARS_MAX;
        if is_blank || is_too_long || text.chars().any(char::is_control) {
            return Err(InvalidSignalWord);
        }
        Ok(Self(text))
    }
}

impl FromStr for SignalWord {
    type Err = InvalidSignalWord;
    fn from_str(text: &str) -> Result<Self, InvalidSignalWord> {
        text.to_owned().try_into()
    }
}

impl From<SignalWord> for String {
    fn from(word: SignalWord) -> String {
        word.0
    }
}

impl fmt::Display for SignalWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which signal a service is scaled by. A sample must say the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    /// Its name.
    pub name: SignalWord,
    /// What its value is about.
    #[serde(default)]
    pub aggregation: Aggregation,
    /// What its value is counted in; none where nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<SignalWord>,
    /// What part of the service it is measured over; none for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<SignalWord>,
}
