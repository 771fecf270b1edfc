//! What comes in a stream: the lines of a batch, what a command prints, and command lines.

use scalectl::adapters::exec::{Printed, Template};
use scalectl::cli::batch::document::Document;
use scalectl::cli::batch::lines::{Lines, Raw};
use scalectl::cli::escape::{escape, escape_json, is_unsafe, shell_line};
use scalectl::domain::id::{Replicas, TargetResourceVersion, TargetUid};
use serde_json::Value;

use super::json;

const DOCUMENT_BYTES_MAX: usize = 1 << 20;

fn cut(data: &[u8], size: usize) -> Vec<Raw> {
    let mut lines = Lines::default();
    let mut found = Vec::new();
    for piece in data.chunks(size) {
        lines.push(piece);
        found.extend(std::iter::from_fn(|| lines.next()));
    }
    found.extend(lines.last());
    assert_eq!((lines.next(), lines.last()), (None, None), "the end is there once");
    found
}

/// A batch: the same lines in whatever pieces they come, each of them what it says and nothing
/// else.
pub fn batch_lines(data: &[u8]) -> bool {
    let mut expected: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    if expected.last().is_some_and(|last| last.is_empty()) {
        expected.pop();
    }
    let lines = cut(data, 64 * 1024);
    let size = 1 + data.len() % 97;
    assert_eq!(cut(data, size), lines, "other lines in pieces of {size}");
    assert_eq!(lines.len(), expected.len());
    let mut taken = 0;
    for (raw, expected) in lines.iter().zip(expected) {
        match raw {
            Raw::Line(line) => assert_eq!(line.as_slice(), expected),
            Raw::TooLong => assert!(expected.len() > DOCUMENT_BYTES_MAX),
        }
        taken += usize::from(is_line(raw, expected));
    }
    taken > 0
}

fn is_line(raw: &Raw, bytes: &[u8]) -> bool {
    let (id, document) = Document::read(raw);
    let said: Option<Value> = serde_json::from_slice(bytes).ok();
    if let Some(id) = &id {
        assert_eq!(said.as_ref().and_then(|said| said.get("id")), Some(id));
        assert!(id.is_string() || id.is_number());
    }
    let Ok(document) = document else { return false };
    assert_eq!(json::problem(bytes), None, "only a strict document is a line");
    let said = said.expect("it was read");
    let said = said.as_object().expect("a line is an object");
    assert!(said.keys().all(|name| ["id", "command", "intent_put"].contains(&name.as_str())));
    let is_there = |name: &str| said.get(name).is_some_and(|value| !value.is_null());
    assert_ne!(is_there("command"), is_there("intent_put"), "one of them");
    assert_eq!(is_there("id"), id.is_some());
    match document {
        Document::Command(argv) => assert_eq!(said["command"], Value::from(argv)),
        Document::Put(_) => assert!(said["intent_put"].is_object()),
    }
    true
}

/// What an inspect command of `exec` prints: a count, or an object with one, which is the count
/// that is taken.
pub fn exec_output(data: &[u8]) -> bool {
    let Ok(printed) = Printed::read(data) else { return false };
    assert_eq!(json::problem(data), None, "only a strict document is a count");
    let said: Value = serde_json::from_slice(data).expect("it was read");
    let number = |count: Replicas| Some(count.get());
    let count = if said.is_object() { &said["replicas"] } else { &said };
    assert_eq!(count.as_u64(), number(printed.replicas));
    assert_eq!(said["ready"].as_u64(), printed.ready.and_then(number));
    let (uid, version) = (printed.uid.as_ref(), printed.resource_version.as_ref());
    assert_eq!(said["uid"].as_str().map(str::trim), uid.map(TargetUid::as_str));
    let told = said["resource_version"].as_str().map(str::trim);
    assert_eq!(told, version.map(TargetResourceVersion::as_str));
    true
}

/// A command line of `exec`: names of values stand in lone braces only, and a line that the reader
/// of counts takes, the writer takes too.
pub fn exec_template(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let apply = Template::apply(text, false);
    if Template::inspect(text, false).is_ok() {
        assert!(apply.is_ok(), "{apply:?}");
    }
    if let Ok(template) = &apply {
        let told = format!("{template:?}");
        let braces = text.matches('{').count() + text.matches("Value(").count();
        assert!(told.matches("Value(").count() <= braces, "{told} out of {braces} braces");
        // Nothing but quotes, backslashes and blanks holds a shell's line back.
        assert!(Template::apply(text, true).is_ok() || text.contains(['"', '\'', '\\']), "{text}");
    }
    // Quoted as a shell wants it, any text is one word of a line.
    if !text.contains(['{', '}', '\0']) && !text.trim().is_empty() {
        let quoted = format!("'{}'", text.replace('\'', r"'\''"));
        let told = format!("{:?}", Template::apply(&quoted, false).expect("one word"));
        assert!(told.contains(&format!("Text({text:?})")), "{told}");
    }
    apply.is_ok()
}

/// Any text of somebody else, as a person sees it and pastes it.
pub fn shown(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    assert!(!escape(text).contains(is_unsafe), "{text:?}");
    let json = Value::from(text).to_string();
    let safe = escape_json(&json);
    assert!(!safe.contains(is_unsafe), "{safe:?}");
    assert_eq!(serde_json::from_str::<Value>(&safe).expect("JSON"), Value::from(text));
    // No argument of a process has a U+0000.
    if text.contains('\0') {
        return false;
    }
    let words: Vec<&str> = text.split(' ').collect();
    let line = shell_line(&words);
    assert!(!line.contains(is_unsafe), "{line:?}");
    assert_eq!(pasted(&line), words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>());
    true
}

/// The words of a line as a shell reads them, by hand: bare letters, `'…'`, `\'` and `$'…'`.
fn pasted(line: &str) -> Vec<Vec<u8>> {
    let (mut words, mut word) = (Vec::new(), Vec::new());
    let mut rest = line.bytes().peekable();
    while let Some(byte) = rest.next() {
        match byte {
            b' ' => words.push(std::mem::take(&mut word)),
            b'\\' => word.extend(rest.next()),
            b'\'' => word.extend(rest.by_ref().take_while(|byte| *byte != b'\'')),
            b'$' if rest.next_if_eq(&b'\'').is_some() => {
                while let Some(byte) = rest.next().filter(|byte| *byte != b'\'') {
                    let escaped = (byte == b'\\').then(|| rest.next()).flatten();
                    word.push(match escaped {
                        None => byte,
                        Some(b'n') => b'\n',
                        Some(b'r') => b'\r',
                        Some(b't') => b'\t',
                        Some(high @ b'0'..=b'3') => {
                            let mut digit = || rest.next().expect("three digits") - b'0';
                            (high - b'0') * 64 + digit() * 8 + digit()
                        }
                        Some(other) => other,
                    });
                }
            }
            other => {
                let is_plain = other.is_ascii_alphanumeric() || b"@%+=:,./-_".contains(&other);
                assert!(is_plain || !other.is_ascii(), "a shell would read {line:?} otherwise");
                word.push(other);
            }
        }
    }
    words.push(word);
    words
}
