//! The members of a document whose things have several names, each taken once.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::wrong;
use crate::domain::canonical::{DocumentError, from_value};
use crate::domain::near::nearest;

/// The longest text of a foreign value in a message, in characters.
const TOLD_CHARS_MAX: usize = 60;

/// What `service show` tells beside the settings.
const FACTS: [&str; 4] = ["target", "binding", "latest_intent_revision", "fence_mark"];

/// The members that nobody has taken yet, by their block (empty for the document itself) and name.
pub(super) struct Members {
    said: BTreeMap<(String, String), Value>,
    known: BTreeSet<&'static str>,
}

/// A dotted path as its block and its name.
fn place(path: &str) -> (String, String) {
    let (block, name) = path.rsplit_once('.').unwrap_or(("", path));
    (block.to_owned(), name.to_owned())
}

/// The name of a dotted path without its block.
fn leaf(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(_, leaf)| leaf)
}

/// A member below another.
fn joined(block: &str, name: &str) -> String {
    match (block, name) {
        ("", _) => name.to_owned(),
        (_, "" | ".") => block.to_owned(),
        (block, name) if name.starts_with('[') => format!("{block}{name}"),
        (block, name) => format!("{block}.{name}"),
    }
}

/// A value as a message says it.
fn told(value: &Value) -> String {
    let text = value.to_string();
    let cut: String = text.chars().take(TOLD_CHARS_MAX).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

/// An error of a value, at the path of its member.
fn within(path: &str, error: DocumentError) -> DocumentError {
    match error {
        DocumentError::Shape { path: below, problem } => wrong(&joined(path, &below), problem),
        DocumentError::Empty
        | DocumentError::TooLong
        | DocumentError::NotUtf8 { .. }
        | DocumentError::Syntax(_) => error,
    }
}

impl Members {
    /// The members of one object.
    pub(super) fn of(document: Value) -> Result<Self, DocumentError> {
        let Value::Object(members) = document else {
            return Err(wrong("", format!("{} is no object of settings", told(&document))));
        };
        let said = members.into_iter().map(|(name, value)| ((String::new(), name), value));
        Ok(Self { said: said.collect(), known: BTreeSet::new() })
    }

    /// Takes an object apart, and says whether it is there.
    pub(super) fn open(&mut self, block: &'static str) -> Result<bool, DocumentError> {
        self.known.insert(block);
        match self.said.remove(&place(block)) {
            None => Ok(false),
            Some(Value::Object(members)) => {
                let below = members.into_iter();
                self.said.extend(below.map(|(name, value)| ((block.to_owned(), name), value)));
                Ok(true)
            }
            Some(other) => Err(wrong(block, format!("{} is no object", told(&other)))),
        }
    }

    /// Takes a member that is said to be nothing, if it is.
    pub(super) fn take_null(&mut self, path: &str) -> bool {
        let is_null = self.said.get(&place(path)).is_some_and(Value::is_null);
        if is_null {
            self.said.remove(&place(path));
        }
        is_null
    }

    /// Whether a member is a text.
    pub(super) fn is_text(&self, path: &str) -> bool {
        self.said.get(&place(path)).is_some_and(Value::is_string)
    }

    /// Takes a thing by any of its names. Two that say different things refuse it.
    pub(super) fn take<T: DeserializeOwned + PartialEq>(
        &mut self,
        names: &[&'static str],
    ) -> Result<Option<T>, DocumentError> {
        self.take_as(names, |_, value| from_value(value))
    }

    /// The same where a value is read in its own way, by the name that it has.
    pub(super) fn take_as<T: PartialEq>(
        &mut self,
        names: &[&'static str],
        read: impl Fn(&str, Value) -> Result<T, DocumentError>,
    ) -> Result<Option<T>, DocumentError> {
        let mut found: Option<(&str, Value, T)> = None;
        for name in names {
            self.known.insert(name);
            let Some(value) = self.said.remove(&place(name)) else {
                continue;
            };
            let thing = read(name, value.clone()).map_err(|error| within(name, error))?;
            match &found {
                None => found = Some((name, value, thing)),
                Some((_, _, earlier)) if *earlier == thing => {}
                Some((other, earlier, _)) => {
                    let (here, there) = (told(&value), told(earlier));
                    let problem = format!("{here}, but {other}, its other name, says {there}");
                    return Err(wrong(name, problem));
                }
            }
        }
        Ok(found.map(|(.., thing)| thing))
    }

    /// The known member that is near to a name: one of the same block, if there is one.
    fn meant(&self, block: &str, name: &str) -> Option<&'static str> {
        let near = nearest(name, self.known.iter().map(|known| leaf(known)))?;
        let all = || self.known.iter().copied().filter(|known| leaf(known) == near);
        all().find(|known| place(known).0 == block).or_else(|| all().next())
    }

    /// The names that were asked for so far, as dotted paths.
    #[cfg(test)]
    pub(super) fn known(&self) -> &BTreeSet<&'static str> {
        &self.known
    }

    /// Refuses what nobody has taken.
    pub(super) fn end(self) -> Result<(), DocumentError> {
        let Some((block, name)) = self.said.keys().next() else {
            return Ok(());
        };
        let path = joined(block, name);
        if block.is_empty() && FACTS.contains(&name.as_str()) {
            let problem = "a fact, and no setting: the settings alone are `registration` in \
                           service show -o json";
            return Err(wrong(&path, problem));
        }
        let problem = match self.meant(block, name) {
            Some(meant) => format!("unknown member; did you mean {meant}?"),
            None => "unknown member (scalectl schema registration has them all)".to_owned(),
        };
        Err(wrong(&path, problem))
    }
}
