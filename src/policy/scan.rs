//! Bounds that hold before Cedar's recursive readers see a text.
//!
//! Owns a lexer that knows strings, comments, brackets and semicolons, and nothing else of Cedar.
//! It never judges: a text that it misreads is one that Cedar refuses.

use super::check::{BRACKETS_MAX, PolicySource, RULE_BYTES_MAX, line_of, place_at};
use super::error::PolicyError;

/// Refuses rules that are too long or too deep; the number of semicolons that end a rule.
pub(super) fn bound_rules(source: &PolicySource) -> Result<usize, PolicyError> {
    let bytes = source.text.as_bytes();
    let (mut rules, mut start, mut length, mut open) = (0, 0, 0_usize, 0_usize);
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let end = match byte {
            b'"' => end_of_string(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = bytes[at..]
                    .iter()
                    .position(|byte| *byte == b'\n')
                    .map_or(bytes.len(), |n| at + n);
                continue;
            }
            _ => at + 1,
        };
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > BRACKETS_MAX {
            return Err(PolicyError::TooManyBrackets { place: place_at(source, at) });
        }
        if length == 0 && byte.is_ascii_whitespace() {
            at = end;
            continue;
        }
        if length == 0 {
            start = at;
        }
        length += end - at;
        if length > RULE_BYTES_MAX {
            return Err(PolicyError::RuleTooLong { place: line_of(source, start) });
        }
        if *byte == b';' {
            (rules, length, open) = (rules + 1, 0, 0);
        }
        at = end;
    }
    Ok(rules)
}

/// The byte after a string that begins at `at`, or the end of the text.
fn end_of_string(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    loop {
        match bytes.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => return bytes.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_hide_what_is_in_them() {
        let count =
            |text: &str| bound_rules(&PolicySource { file: "t.cedar".into(), text: text.into() });
        for (text, rules) in [
            ("", 0),
            ("a;b;", 2),
            ("\"a;\\\";\"; // ;;; (((\nb;", 2),
            ("\"never closed; \\", 0),
            ("// no end of line", 0),
        ] {
            assert_eq!(count(text), Ok(rules), "{text:?}");
        }
        let brackets = format!("a;\n b{}", "(".repeat(BRACKETS_MAX + 1));
        let error = count(&brackets).expect_err("too many brackets").to_string();
        assert_eq!(error, "t.cedar:2:67: more than 64 brackets are open here");
        let comment = format!("a //{}\n;\n", "x".repeat(RULE_BYTES_MAX));
        assert_eq!(count(&comment), Ok(1));
        let long = format!("{comment}\n{};", "x".repeat(RULE_BYTES_MAX));
        let error = count(&long).expect_err("too long").to_string();
        assert_eq!(error, "t.cedar:4: a rule of more than 8192 bytes; split it");
    }
}
