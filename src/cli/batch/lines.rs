//! Bytes cut into lines.
//!
//! Keeps at most one line in memory, whatever is sent.

use crate::domain::canonical::DOCUMENT_BYTES_MAX;

/// One line as it came, without its line feed.
#[derive(Debug, PartialEq, Eq)]
pub enum Raw {
    /// A line.
    Line(Vec<u8>),
    /// One with more bytes than a document may have; they are gone.
    TooLong,
}

/// Cuts bytes into lines.
#[derive(Debug, Default)]
pub struct Lines {
    bytes: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where no line feed was found.
    seen: usize,
    /// Whether the line that begins was too long already.
    is_cut: bool,
}

impl Lines {
    /// Takes what has come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.seen -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole line, if there is one.
    #[expect(clippy::should_implement_trait, reason = "more may follow after none")]
    pub fn next(&mut self) -> Option<Raw> {
        let found = self.bytes[self.seen..].iter().position(|byte| *byte == b'\n');
        let Some(at) = found else {
            self.seen = self.bytes.len();
            if self.is_cut || self.seen - self.start > DOCUMENT_BYTES_MAX {
                self.is_cut = true;
                self.bytes.clear();
                (self.start, self.seen) = (0, 0);
            }
            return None;
        };
        let line = self.start..self.seen + at;
        self.start = line.end + 1;
        self.seen = self.start;
        let is_cut = std::mem::take(&mut self.is_cut) || line.len() > DOCUMENT_BYTES_MAX;
        Some(if is_cut { Raw::TooLong } else { Raw::Line(self.bytes[line].to_vec()) })
    }

    /// What stands behind the last line feed.
    pub fn last(&mut self) -> Option<Raw> {
        let rest = self.bytes.split_off(self.start);
        *self = Self { is_cut: self.is_cut, ..Self::default() };
        if std::mem::take(&mut self.is_cut) {
            Some(Raw::TooLong)
        } else {
            (!rest.is_empty()).then_some(Raw::Line(rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECE_BYTES: usize = 64 * 1024;

    /// The lines of bytes that come in pieces of a size, short for their text.
    fn cut(bytes: &[u8], size: usize) -> Vec<String> {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for piece in bytes.chunks(size) {
            lines.push(piece);
            found.extend(std::iter::from_fn(|| lines.next()));
        }
        found.extend(lines.last());
        assert_eq!(lines.last(), None, "the end is there once");
        let text = |raw| match raw {
            Raw::Line(line) => String::from_utf8(line).expect("UTF-8"),
            Raw::TooLong => "too long".to_owned(),
        };
        found.into_iter().map(text).collect()
    }

    #[test]
    fn lines_are_the_same_in_whatever_pieces_they_come() {
        for size in 1..9 {
            assert_eq!(cut(b"", size), [""; 0]);
            assert_eq!(cut(b"\n", size), [""]);
            assert_eq!(cut(b"one\n\ntwo\r\nlast", size), ["one", "", "two\r", "last"]);
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_forgotten_and_the_next_one_is_not() {
        let just = vec![b'x'; DOCUMENT_BYTES_MAX];
        for (more, end) in [(0, "\nnext\n"), (1, "\nnext\n"), (3 * DOCUMENT_BYTES_MAX, "\nnext")] {
            let mut bytes = just.clone();
            bytes.resize(just.len() + more, b'x');
            bytes.extend_from_slice(end.as_bytes());
            for size in [PIECE_BYTES, 7 * DOCUMENT_BYTES_MAX] {
                let found = cut(&bytes, size);
                let is_long = found[0] == "too long";
                assert_eq!((is_long, found[1].as_str(), found.len()), (more > 0, "next", 2));
            }
        }
        // Nothing of it is kept, also where it does not end.
        let mut lines = Lines::default();
        for _ in 0..64 {
            lines.push(&just[..PIECE_BYTES]);
            assert_eq!(lines.next(), None);
            assert!(lines.bytes.len() <= DOCUMENT_BYTES_MAX + PIECE_BYTES);
        }
        assert_eq!(lines.last(), Some(Raw::TooLong));
    }
}
