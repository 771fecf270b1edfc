//! `config.toml`, which a person writes: names of ledgers.

use std::collections::BTreeMap;

/// The shape of the file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Names of ledgers, and the path or the address of each.
    #[serde(default)]
    ledgers: BTreeMap<String, String>,
}

impl Config {
    /// Reads the text of the file. The error says where it is wrong.
    pub fn read(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// What a name stands for.
    pub fn ledger(&self, name: &str) -> Option<&str> {
        self.ledgers.get(name).map(String::as_str)
    }
}
