//! Canonical JSON out, strict JSON in.
//!
//! Out (seed 000, *Canonical digests*): keys sorted at every level, no spaces, everything outside
//! printable ASCII as `\uXXXX` with lower-case hex digits and surrogate pairs. In: duplicate keys,
//! numbers past 2^53 − 1, more than one document, bytes that are not UTF-8, U+0000, a list in the
//! place of an object and documents over the size bound are refused, because two readers would
//! understand them differently.

mod named;
mod sorted;

use std::fmt;

use serde::de::{self, DeserializeOwned, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, Serialize};
use serde_json::{Map, Value};

use self::named::Named;
use super::digest::Digest;
use super::id::NUMBER_MAX;

/// The largest document that is read from a person or another program, in bytes: 1 MiB.
pub const DOCUMENT_BYTES_MAX: usize = 1 << 20;

/// Why a document could not be read. The text names the place and what was expected there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Nothing but white space.
    #[error("the document is empty")]
    Empty,
    /// More bytes than [`DOCUMENT_BYTES_MAX`].
    #[error("the document is longer than {DOCUMENT_BYTES_MAX} bytes")]
    TooLong,
    /// Not UTF-8.
    #[error("the document is not UTF-8 (first bad byte at offset {offset})")]
    NotUtf8 {
        /// Where the first bad byte is.
        offset: usize,
    },
    /// Not one JSON document, or one that readers disagree about.
    #[error("not a JSON document: {0}")]
    Syntax(String),
    /// JSON, but not of the expected shape.
    #[error("{}{problem}", if path.is_empty() || path == "." { String::new() } else { format!("{path}: ") })]
    Shape {
        /// The member, as a dotted path.
        path: String,
        /// What is wrong there.
        problem: String,
    },
}

/// Reads bytes as exactly one strict JSON document.
pub fn parse_strict(bytes: &[u8]) -> Result<Value, DocumentError> {
    if bytes.len() > DOCUMENT_BYTES_MAX {
        return Err(DocumentError::TooLong);
    }
    parsed(bytes, Strict { takes_any_number: false })
}

fn parsed(bytes: &[u8], strict: Strict) -> Result<Value, DocumentError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| DocumentError::NotUtf8 { offset: error.valid_up_to() })?;
    if text.trim().is_empty() {
        return Err(DocumentError::Empty);
    }
    let syntax = |error: serde_json::Error| DocumentError::Syntax(error.to_string());
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = strict.deserialize(&mut reader).map_err(syntax)?;
    reader.end().map_err(syntax)?;
    Ok(value)
}

/// Reads bytes as one strict JSON document of a given shape.
pub fn read_document<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DocumentError> {
    from_value(parse_strict(bytes)?)
}

/// The same of a document that is somebody else's and is read for a few members: whoever gathered
/// the bytes has a bound of its own, and a number past 2^53 − 1 is refused where a member that is
/// read says it, and nowhere else.
pub fn read_document_of_others<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DocumentError> {
    from_value(parsed(bytes, Strict { takes_any_number: true })?)
}

/// Reads a strict value as a given shape; the error names the member.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, DocumentError> {
    serde_path_to_error::deserialize(Named(value)).map_err(|error| DocumentError::Shape {
        path: error.path().to_string(),
        problem: error.inner().to_string(),
    })
}

/// [`NUMBER_MAX`], which a float holds exactly.
const NUMBER_MAX_AS_FLOAT: f64 = 9_007_199_254_740_991.0;

#[derive(Clone, Copy)]
struct Strict {
    takes_any_number: bool,
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        if !self.takes_any_number && value.unsigned_abs() > NUMBER_MAX {
            return Err(E::custom(format!("integer {value} is past 2^53 - 1")));
        }
        Ok(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        if !self.takes_any_number && value > NUMBER_MAX {
            return Err(E::custom(format!("integer {value} is past 2^53 - 1")));
        }
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        // An integer past a u64 arrives here, already rounded.
        if !self.takes_any_number && value.abs() > NUMBER_MAX_AS_FLOAT {
            return Err(E::custom(format!("number {value} is past 2^53 - 1")));
        }
        serde_json::Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        if value.contains('\0') {
            return Err(E::custom("text with U+0000"));
        }
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            out.push(item);
        }
        Ok(Value::Array(out))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut out = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if key.contains('\0') {
                return Err(de::Error::custom("a key with U+0000"));
            }
            if out.contains_key(&key) {
                return Err(de::Error::custom(format!("duplicate key {key:?}")));
            }
            let value = members.next_value_seed(self)?;
            out.insert(key, value);
        }
        Ok(Value::Object(out))
    }
}

/// The canonical JSON of a value, as ASCII text.
pub fn canonical_json<T: Serialize>(value: &T) -> String {
    String::from_utf8(sorted::text(value)).expect("BUG: ASCII is UTF-8")
}

/// The SHA-256 of the canonical JSON of a value.
pub fn canonical_digest<T: Serialize>(value: &T) -> Digest {
    Digest::of(&sorted::text(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn canonical_text_is_python_ascii() {
        let value = json!({"b": 2.0, "a": "é\u{1F600}\u{7f}\n\"\\/", "Z": [1, null, true]});
        assert_eq!(
            canonical_json(&value),
            r#"{"Z":[1,null,true],"a":"\u00e9\ud83d\ude00\u007f\n\"\\/","b":2.0}"#
        );
    }

    #[test]
    fn ambiguous_documents_are_refused() {
        for (bytes, fragment) in [
            (&b""[..], "empty"),
            (b" \n", "empty"),
            (b"{\"a\":1,\"a\":2}", "duplicate key \"a\""),
            (b"{\"x\":{\"a\":1,\"a\":1}}", "duplicate key"),
            (b"{} {}", "trailing characters"),
            (b"{\"a\":9007199254740992}", "past 2^53"),
            (b"{\"a\":-9007199254740992}", "past 2^53"),
            (b"{\"a\":18446744073709551616}", "past 2^53"),
            (b"{\"a\":-9223372036854775809}", "past 2^53"),
            (b"{\"a\":1e300}", "past 2^53"),
            (b"\xff\xfe", "not UTF-8"),
            (b"\"\\ud800\"", "hex escape"),
            (b"\"\\u0000\"", "U+0000"),
            (b"{", "EOF"),
            (b"NaN", "not a JSON"),
        ] {
            let error = parse_strict(bytes).expect_err("must be refused").to_string();
            assert!(error.contains(fragment), "{error}");
        }
        assert_eq!(parse_strict(&vec![b' '; DOCUMENT_BYTES_MAX + 1]), Err(DocumentError::TooLong));
        assert!(parse_strict(&vec![b'['; 200_000]).is_err(), "deep nesting ends in an error");
        let long = format!("{}[true]", " ".repeat(DOCUMENT_BYTES_MAX));
        assert_eq!(read_document_of_others(long.as_bytes()), Ok([true]));
    }

    /// Nobody is kept from reading a count by a number beside it.
    #[test]
    fn a_foreign_document_is_refused_for_the_numbers_that_are_read_only() {
        #[derive(Debug, PartialEq, serde::Deserialize)]
        struct Read {
            count: crate::domain::id::Replicas,
        }
        let beside = br#"{"count":6,"x":[9223372036854775807,-9223372036854775808,1e300]}"#;
        assert_eq!(read_document_of_others(beside), Ok(Read { count: 6.into() }));
        assert!(parse_strict(beside).is_err());
        for bytes in [
            &br#"{"count":9007199254740992}"#[..],
            br#"{"count":6,"count":6}"#,
            br#"{"count":6,"x":1e400}"#,
            br#"{"count":6} {}"#,
        ] {
            assert!(read_document_of_others::<Read>(bytes).is_err(), "{bytes:?}");
        }
    }
}
