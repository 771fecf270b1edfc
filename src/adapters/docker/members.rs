//! A JSON object whose members are kept byte by byte, as they came.
//!
//! A service is written back whole. What is not known here, a number past 2^53 among it, must come
//! back as it was; so no member is understood but those that are asked for.

use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// The members in their order, each name once.
#[derive(Debug, Clone, Default)]
pub(super) struct Members(Vec<(String, Box<RawValue>)>);

impl Members {
    /// A member as it came; none where it is absent or null.
    pub(super) fn raw(&self, name: &str) -> Option<&RawValue> {
        let found = self.0.iter().find(|(known, _)| known == name)?;
        Some(&*found.1).filter(|raw| raw.get() != "null")
    }

    /// A member of a known type; none where it is absent or null.
    pub(super) fn get<T: DeserializeOwned>(&self, name: &str) -> serde_json::Result<Option<T>> {
        self.raw(name).map(|raw| serde_json::from_str(raw.get())).transpose()
    }

    /// Sets a member, in its place if it has one.
    pub(super) fn set<T: Serialize>(&mut self, name: &str, value: &T) {
        let raw = to_raw_value(value).expect("BUG: texts, counts and members are JSON");
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, place)) => *place = raw,
            None => self.0.push((name.to_owned(), raw)),
        }
    }

    /// The first member that is not null.
    pub(super) fn first_name(&self) -> Option<&str> {
        let found = self.0.iter().find(|(_, raw)| raw.get() != "null")?;
        Some(&found.0)
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, raw) in &self.0 {
            map.serialize_entry(name, raw)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reading)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if members.iter().any(|(known, _)| *known == name) {
                return Err(serde::de::Error::custom(format!(
                    "member {name:?} stands there twice"
                )));
            }
            members.push((name, map.next_value()?));
        }
        Ok(Members(members))
    }
}
