//! `config.toml`, which a person writes: names of ledgers, and who is told of what.

use std::collections::BTreeMap;

use crate::ops::notify::NotifySettings;

/// The shape of the file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Names of ledgers, and the path or the address of each.
    #[serde(default)]
    ledgers: BTreeMap<String, String>,
    /// Who is told of what; read by itself where something is told.
    #[serde(default)]
    notify: Option<NotifySettings>,
}

/// A text that is no such file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {said}")]
pub struct ConfigError {
    /// Where, from 1.
    line: usize,
    said: String,
}

/// What the file has, where the error's own words would show what stands there.
const SHAPE: &str = "it has [ledgers], and under it lines of NAME = \"PATH or address\"; and it \
                     may have [notify]";

impl Config {
    /// Reads the text of the file. The error says where it is wrong, and shows nothing of what
    /// stands there: it may be a password.
    pub fn read(text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let before = text.get(..start).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            let is_shown = error.message().contains(['"', '`', '\'']);
            let said = if is_shown { SHAPE } else { error.message() };
            ConfigError { line, said: said.to_owned() }
        })
    }

    /// All names, and what each stands for.
    pub fn into_ledgers(self) -> BTreeMap<String, String> {
        self.ledgers
    }

    /// Who is told of what, as it stands there.
    pub const fn notify(&self) -> Option<&NotifySettings> {
        self.notify.as_ref()
    }

    /// What a name stands for.
    pub fn ledger(&self, name: &str) -> Option<&str> {
        self.ledgers.get(name).map(String::as_str)
    }
}
