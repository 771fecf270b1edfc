//! What comes from elsewhere, made safe for a person's eyes and for a person's shell.
//!
//! Owns the rule which characters may reach a terminal, how an argument is quoted for pasting, and
//! that no password is shown. Never changes what is stored or what a machine reads: JSON carries
//! the same text verbatim, written with `\u` where a terminal would obey it.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The longest foreign text that an error shows to a person, in characters.
pub const SHOWN_CHARS_MAX: usize = 1024;

/// Whether a terminal would obey a character, or a person would not see it.
///
/// Control characters (C0, DEL, C1) move the cursor or start escape sequences; bidirectional marks
/// show text in another order than it has (CVE-2021-42574); the rest is invisible or breaks lines.
/// The joiners U+200C and U+200D stay, because Persian and emoji need them.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'
            | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// A text in which nothing is unsafe: unsafe characters become `\n`, `\t`, `\r` or `\u{…}`.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    text.chars().for_each(|c| push_escaped(&mut out, c));
    Cow::Owned(out)
}

/// As [`escape`], at most `chars_max` characters of the original, and `…` where more were left out.
pub fn escape_bounded(text: &str, chars_max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars_max) {
        None => escape(text),
        Some((end, _)) => Cow::Owned(format!("{}…", escape(&text[..end]))),
    }
}

/// As [`escape`], but line feeds stay: for texts of several lines of our own making.
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| c != '\n' && is_unsafe(c)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split('\n').map(escape).collect::<Vec<_>>().join("\n"))
}

fn push_escaped(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if is_unsafe(c) => {
            write!(out, "\\u{{{:x}}}", u32::from(c)).expect("BUG: a String takes every text");
        }
        c => out.push(c),
    }
}

/// A JSON text in which what a terminal would obey is written as `\uXXXX`. The value is the same.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    // Below U+007F only line feeds of the layout occur: inside strings JSON escapes them itself.
    let needs = |c: char| c >= '\u{7f}' && is_unsafe(c);
    if !json.contains(needs) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if needs(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").expect("BUG: a String takes every text");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Arguments as one line that a POSIX shell reads back as exactly them, safe to look at.
///
/// What cannot be shown goes into `$'…'`, which POSIX has since 2024, and bash, zsh and ksh for long.
pub fn shell_line<S: AsRef<str>>(argv: &[S]) -> String {
    argv.iter().map(|arg| shell_quote(arg.as_ref())).collect::<Vec<_>>().join(" ")
}

fn shell_quote(arg: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    // A leading `=` names a command to zsh. The ellipsis stands for what a person fills in.
    if arg == "…" || (!arg.is_empty() && !arg.starts_with('=') && arg.chars().all(is_plain)) {
        return Cow::Borrowed(arg);
    }
    if !arg.contains(is_unsafe) {
        return Cow::Owned(format!("'{}'", arg.replace('\'', r"'\''")));
    }
    let mut out = "$'".to_owned();
    for c in arg.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            '\n' | '\r' | '\t' => push_escaped(&mut out, c),
            c if is_unsafe(c) => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    write!(out, "\\{byte:03o}").expect("BUG: a String takes every text");
                }
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_unchanged() {
        for text in ["", "web@18 3 → 5", "größe …", r"C:\new", "👩‍👩‍👧 می‌خواهم"]
        {
            assert!(matches!(escape(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
    }

    #[test]
    fn what_a_terminal_obeys_is_shown_instead() {
        for (text, shown) in [
            ("\u{1b}[2Jgone", r"\u{1b}[2Jgone"),
            ("a\nb\rc\td", r"a\nb\rc\td"),
            ("\0\u{7f}\u{9b}1m", r"\u{0}\u{7f}\u{9b}1m"),
            ("user\u{202e}txt.exe\u{2066}", r"user\u{202e}txt.exe\u{2066}"),
            ("a\u{200b}b\u{feff}\u{2028}\u{e0041}", r"a\u{200b}b\u{feff}\u{2028}\u{e0041}"),
        ] {
            assert_eq!(escape(text), shown);
            assert!(!escape(text).contains(is_unsafe));
        }
        assert_eq!(escape_lines("one\ntwo\u{1b}\r\n"), "one\ntwo\\u{1b}\\r\n");
    }

    #[test]
    fn bounded_text_says_that_it_was_cut() {
        assert_eq!(escape_bounded("abc", 3), "abc");
        assert_eq!(escape_bounded("äbcd", 3), "äbc…");
        assert_eq!(escape_bounded("\n\n\n", 2), r"\n\n…");
        assert_eq!(escape_bounded("x", 0), "…");
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({"a\u{9b}": "\u{202e}\u{e0041}\u{1b}→\u{7f}"});
        let json = serde_json::to_string_pretty(&value).expect("BUG: a value");
        let safe = escape_json(&json);
        assert!(safe.contains(r"\u202e\udb40\udc41\u001b→\u007f"), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).expect("JSON"), value);
    }

    #[test]
    fn pasted_lines_are_quoted() {
        for (arg, quoted) in [
            ("web=5", "web=5"),
            ("web@latest", "web@latest"),
            ("…", "…"),
            ("", "''"),
            ("=ls", "'=ls'"),
            ("~root", "'~root'"),
            ("it's $HOME; rm -rf `x`!", r"'it'\''s $HOME; rm -rf `x`!'"),
            ("größe", "'größe'"),
            ("a\nb'\\\u{1b}1\u{202e}", r"$'a\nb\'\\\0331\342\200\256'"),
        ] {
            assert_eq!(shell_line(&[arg]), quoted);
        }
        assert_eq!(shell_line(&["scalectl", "scale", "a b"]), "scalectl scale 'a b'");
    }
}
