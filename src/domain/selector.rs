//! Which services are meant, by their labels: the selectors of Kubernetes.
//!
//! `tier=front` (also `==`), `tier!=front`, `tier in (front,back)`, `tier notin (front,back)`,
//! `tier`, `!tier`; a comma between two asks for both. As there, `!=` and `notin` also take what
//! has no such label. A label here always has a value, so an empty one is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// The longest selector in bytes.
const BYTES_MAX: usize = 4096;

/// Requirements on labels, all of which hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    /// The label is there.
    Has(String),
    /// It is not.
    Lacks(String),
    /// It is there with one of these values.
    In(String, BTreeSet<String>),
    /// It is not, or has another value.
    NotIn(String, BTreeSet<String>),
}

/// A text that is no selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSelector {
    /// It is too long.
    #[error("a selector has at most {BYTES_MAX} bytes")]
    TooLong,
    /// Something else stands where this must.
    #[error("{found} where {expected} must be; write k=v, k!=v, k in (a,b), k or !k, with commas")]
    Unexpected {
        /// What is there: a word in quotation marks, or the end.
        found: String,
        /// What must be there.
        expected: &'static str,
    },
}

impl Selector {
    /// Whether these labels are as it says.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| requirement.is_met(labels))
    }
}

impl Requirement {
    fn is_met(&self, labels: &BTreeMap<String, String>) -> bool {
        match self {
            Self::Has(name) => labels.contains_key(name),
            Self::Lacks(name) => !labels.contains_key(name),
            Self::In(name, values) => labels.get(name).is_some_and(|it| values.contains(it)),
            Self::NotIn(name, values) => labels.get(name).is_none_or(|it| !values.contains(it)),
        }
    }
}

/// What is left of a text.
struct Rest<'t>(&'t str);

impl<'t> Rest<'t> {
    fn skip_spaces(&mut self) {
        self.0 = self.0.trim_start();
    }

    /// Takes a mark, where it is next.
    fn takes(&mut self, mark: &str) -> bool {
        self.skip_spaces();
        let rest = self.0.strip_prefix(mark);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn word(&mut self, expected: &'static str) -> Result<&'t str, InvalidSelector> {
        self.skip_spaces();
        let ends = |c: char| c.is_whitespace() || c.is_control() || ",()=!<>".contains(c);
        let (word, rest) = self.0.split_at(self.0.find(ends).unwrap_or(self.0.len()));
        if word.is_empty() {
            return Err(self.unexpected(expected));
        }
        self.0 = rest;
        Ok(word)
    }

    fn unexpected(&self, expected: &'static str) -> InvalidSelector {
        let found =
            self.0.chars().next().map_or_else(|| "the end".to_owned(), |c| format!("{c:?}"));
        InvalidSelector::Unexpected { found, expected }
    }

    fn values(&mut self) -> Result<BTreeSet<String>, InvalidSelector> {
        if !self.takes("(") {
            return Err(self.unexpected("("));
        }
        let mut values = BTreeSet::new();
        loop {
            values.insert(self.word("a value")?.to_owned());
            if self.takes(")") {
                return Ok(values);
            }
            if !self.takes(",") {
                return Err(self.unexpected(", or )"));
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, InvalidSelector> {
        if self.takes("!") {
            return Ok(Requirement::Lacks(self.word("the name of a label")?.to_owned()));
        }
        let name = self.word("the name of a label")?.to_owned();
        let one = |value: &str| BTreeSet::from([value.to_owned()]);
        if self.takes("!=") {
            return Ok(Requirement::NotIn(name, one(self.word("a value")?)));
        }
        if self.takes("==") || self.takes("=") {
            return Ok(Requirement::In(name, one(self.word("a value")?)));
        }
        self.skip_spaces();
        if self.0.is_empty() || self.0.starts_with(',') {
            return Ok(Requirement::Has(name));
        }
        let found = self.unexpected("=, !=, in, notin, a comma or the end");
        match self.word("=, !=, in, notin, a comma or the end")? {
            "in" => Ok(Requirement::In(name, self.values()?)),
            "notin" => Ok(Requirement::NotIn(name, self.values()?)),
            _ => Err(found),
        }
    }
}

impl FromStr for Selector {
    type Err = InvalidSelector;
    fn from_str(text: &str) -> Result<Self, InvalidSelector> {
        if text.len() > BYTES_MAX {
            return Err(InvalidSelector::TooLong);
        }
        let mut rest = Rest(text);
        let mut all = Vec::new();
        loop {
            all.push(rest.requirement()?);
            rest.skip_spaces();
            if rest.0.is_empty() {
                return Ok(Self(all));
            }
            if !rest.takes(",") {
                return Err(rest.unexpected("a comma or the end"));
            }
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |values: &BTreeSet<String>| {
            values.iter().map(String::as_str).collect::<Vec<_>>().join(",")
        };
        for (at, requirement) in self.0.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { "," })?;
            match requirement {
                Requirement::Has(name) => f.write_str(name)?,
                Requirement::Lacks(name) => write!(f, "!{name}")?,
                Requirement::In(name, values) if values.len() == 1 => {
                    write!(f, "{name}={}", list(values))?;
                }
                Requirement::In(name, values) => write!(f, "{name} in ({})", list(values))?,
                Requirement::NotIn(name, values) if values.len() == 1 => {
                    write!(f, "{name}!={}", list(values))?;
                }
                Requirement::NotIn(name, values) => write!(f, "{name} notin ({})", list(values))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each selector over four services, by which of them it takes: a has tier=front, b tier=back,
    /// c team=shop and tier=front, d nothing.
    #[test]
    fn a_selector_takes_what_kubectl_takes() {
        let labels = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        let services = [
            ("a", labels(&[("tier", "front")])),
            ("b", labels(&[("tier", "back")])),
            ("c", labels(&[("team", "shop"), ("tier", "front")])),
            ("d", labels(&[])),
        ];
        for (text, taken) in [
            ("tier=front", "ac"),
            ("tier==front", "ac"),
            (" tier = front ", "ac"),
            ("tier!=front", "bd"),
            ("tier != front", "bd"),
            ("tier in (front,back)", "abc"),
            ("tier in ( back , x )", "b"),
            ("tier in(back)", "b"),
            ("tier notin (front)", "bd"),
            ("tier", "abc"),
            ("!tier", "d"),
            ("! tier", "d"),
            ("tier,team", "c"),
            ("tier=front,!team", "a"),
            ("tier=front,tier=back", ""),
            ("tier in (front,back),team!=shop", "ab"),
            ("in in (front)", ""),
            ("notin", ""),
            ("Tier=front", ""),
        ] {
            let selector: Selector = text.parse().unwrap_or_else(|it| panic!("{text}: {it}"));
            let found: String = services
                .iter()
                .filter(|(_, labels)| selector.matches(labels))
                .map(|(name, _)| *name)
                .collect();
            assert_eq!(found, taken, "{text}");
            assert_eq!(selector.to_string().parse().as_ref(), Ok(&selector), "{text}");
        }
    }

    #[test]
    fn what_is_no_selector_is_said_to_be_none() {
        for (text, why) in [
            ("", "the end where the name of a label must be"),
            (",", "',' where the name of a label must be"),
            ("tier=", "the end where a value must be"),
            ("tier=front,", "the end where the name of a label must be"),
            ("tier=a=b", "'=' where a comma or the end must be"),
            ("tier front", "'f' where =, !=, in, notin, a comma or the end must be"),
            ("tier in front", "'f' where ( must be"),
            ("tier in ()", "')' where a value must be"),
            ("tier in (a", "the end where , or ) must be"),
            ("tier in (a b)", "'b' where , or ) must be"),
            ("tier>3", "'>' where =, !=, in, notin, a comma or the end must be"),
            ("!tier=a", "'=' where a comma or the end must be"),
            ("a\u{1b}b", r"'\u{1b}' where =, !=, in, notin, a comma or the end must be"),
        ] {
            let error = text.parse::<Selector>().expect_err(text).to_string();
            assert!(error.starts_with(why), "{text}: {error}");
        }
        let long = "a".repeat(BYTES_MAX + 1);
        assert_eq!(long.parse::<Selector>(), Err(InvalidSelector::TooLong));
    }
}
