//! JSON text whose members are put in order as it is written, without a document in between.
//!
//! Every event is written so. A document in between takes twice as long, most of it for memory.

use std::cell::RefCell;
use std::io;

use serde::Serialize;
use serde_json::ser::Formatter;

/// The canonical JSON of a value.
pub(super) fn text<T: Serialize>(value: &T) -> Vec<u8> {
    let out = RefCell::new(Vec::with_capacity(2048));
    let sorted = Sorted { out: &out, open: Vec::new(), scratch: Vec::new() };
    let mut writer = serde_json::Serializer::with_formatter(Shared(&out), sorted);
    value.serialize(&mut writer).expect("BUG: a domain type that is not JSON");
    drop(writer);
    out.into_inner()
}

/// What is written, seen by whoever writes and by whoever puts it in order.
struct Shared<'o>(&'o RefCell<Vec<u8>>);

impl io::Write for Shared<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where a member is in the text.
#[derive(Clone, Copy, Default)]
struct Member {
    begin: usize,
    /// Behind the closing quote of its key.
    key_end: usize,
    end: usize,
}

impl Member {
    fn key<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        &text[self.begin + 1..self.key_end - 1]
    }
}

/// Writes no spaces, everything outside of printable ASCII escaped, and members by their keys.
struct Sorted<'o> {
    out: &'o RefCell<Vec<u8>>,
    /// The members so far of every object that is open, the innermost last.
    open: Vec<Vec<Member>>,
    scratch: Vec<u8>,
}

impl Sorted<'_> {
    fn member(&mut self) -> &mut Member {
        self.open.last_mut().and_then(|members| members.last_mut()).expect("BUG: no open member")
    }

    /// Puts the members of the innermost object in order.
    fn sort(&mut self, mut members: Vec<Member>) {
        let mut text = self.out.borrow_mut();
        if members.is_sorted_by(|a, b| is_before(a.key(&text), b.key(&text))) {
            return;
        }
        let begin = members.first().map_or(0, |first| first.begin);
        self.scratch.clear();
        self.scratch.extend_from_slice(&text[begin..]);
        text.truncate(begin);
        for member in &mut members {
            member.begin -= begin;
            member.key_end -= begin;
            member.end -= begin;
        }
        members.sort_by(|a, b| order(a.key(&self.scratch), b.key(&self.scratch)));
        for (at, member) in members.iter().enumerate() {
            if at > 0 {
                text.push(b',');
            }
            text.extend_from_slice(&self.scratch[member.begin..member.end]);
        }
    }
}

/// Keys are compared as they are, not as they are escaped. Byte order is code-point order.
fn order(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    if a.contains(&b'\\') || b.contains(&b'\\') { plain(a).cmp(&plain(b)) } else { a.cmp(b) }
}

fn is_before(a: &[u8], b: &[u8]) -> bool {
    order(a, b).is_lt()
}

fn plain(escaped: &[u8]) -> String {
    let quoted = [b"\"", escaped, b"\""].concat();
    serde_json::from_slice(&quoted).expect("BUG: a key that was just written is not JSON")
}

impl Formatter for Sorted<'_> {
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open.push(Vec::new());
        writer.write_all(b"{")
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        let begin = self.out.borrow().len();
        let members = self.open.last_mut().expect("BUG: a member of no object");
        members.push(Member { begin, ..Member::default() });
        Ok(())
    }

    fn end_object_key<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.member().key_end = self.out.borrow().len();
        Ok(())
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.member().end = self.out.borrow().len();
        Ok(())
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let members = self.open.pop().expect("BUG: the end of no object");
        self.sort(members);
        writer.write_all(b"}")
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if fragment.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return writer.write_all(fragment.as_bytes());
        }
        let mut units = [0; 2];
        let mut plain_from = 0;
        for (at, character) in fragment.char_indices() {
            if matches!(character, ' '..='~') {
                continue;
            }
            writer.write_all(&fragment.as_bytes()[plain_from..at])?;
            for unit in character.encode_utf16(&mut units) {
                write!(writer, "\\u{unit:04x}")?;
            }
            plain_from = at + character.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[plain_from..])
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::*;

    #[test]
    fn keys_are_compared_as_they_are_and_not_as_they_are_escaped() {
        let value = json!({
            "ab": 1, "ab!": 2, "a\"": 3, "a": 4, "é": 5, "\u{1F600}": 6, "\u{FFFD}": 7, "~": 8,
            "\\": {"z": 1, "\n": 2}, "": [{"y": {}, "x": []}],
        });
        let expected = concat!(
            r#"{"":[{"x":[],"y":{}}],"\\":{"\n":2,"z":1},"a":4,"a\"":3,"ab":1,"ab!":2,"~":8,"#,
            r#""\u00e9":5,"\ufffd":7,"\ud83d\ude00":6}"#
        );
        assert_eq!(String::from_utf8(text(&value)).expect("ASCII"), expected);
    }

    #[derive(serde::Serialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        Some { zebra: u8, ant: Option<&'static str> },
        Inner(Inner),
    }

    #[derive(serde::Serialize)]
    struct Inner {
        b: i64,
        a: f64,
    }

    #[test]
    fn what_the_source_calls_its_members_decides_the_order_and_not_where_they_stand() {
        let of = |value| String::from_utf8(text(&value)).expect("ASCII");
        let some = Tagged::Some { zebra: 1, ant: None };
        assert_eq!(of(some), r#"{"ant":null,"kind":"Some","zebra":1}"#);
        let inner = Tagged::Inner(Inner { b: -1, a: 2.0 });
        assert_eq!(of(inner), r#"{"a":2.0,"b":-1,"kind":"Inner"}"#);
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            let key = prop_oneof![any::<String>(), "[a-c!\"\\\\é]{0,3}"];
            let members = prop::collection::vec((key, inner.clone()), 0..8);
            prop_oneof![
                prop::collection::vec(inner, 0..8).prop_map(Value::from),
                members.prop_map(|members| Value::Object(Map::from_iter(members))),
            ]
        })
    }

    proptest! {
        /// The same text as by way of a document whose members are sorted first.
        #[test]
        fn a_document_in_between_changes_nothing(value in values()) {
            let mut sorted = value.clone();
            sorted.sort_all_objects();
            let expected = serde_json::to_string(&sorted).expect("JSON");
            prop_assert_eq!(String::from_utf8(text(&value)).expect("ASCII"), escaped(&expected));
        }
    }

    /// Characters outside of printable ASCII are in strings only.
    fn escaped(text: &str) -> String {
        let mut out = String::new();
        for character in text.chars() {
            if matches!(character, ' '..='~') {
                out.push(character);
                continue;
            }
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").expect("memory");
            }
        }
        out
    }
}
