//! The lines of a batch, in the groups in which they come.
//!
//! Owns how long is waited for more. Keeps at most one group and one line in memory, whatever is
//! sent, and never waits past a signal.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::actuator::host::Deadline;
use crate::actuator::signals::Signals;
use crate::domain::canonical::DOCUMENT_BYTES_MAX;
use crate::domain::time::DurationMs;

/// How many lines are carried out in one transaction at most.
pub(super) const LINES_MAX: usize = 256;
/// From so many bytes on a group is not made longer.
const GROUP_BYTES_MAX: usize = 4 * DOCUMENT_BYTES_MAX;
/// How long the first line of a group waits for others at most.
const GATHER_MAX: DurationMs = DurationMs::from_millis(20);
/// Whoever sends nothing for so long waits for an answer.
const PAUSE_MAX: Duration = Duration::from_millis(2);
const READ_BYTES: usize = 64 * 1024;

/// One line as it came, without its line feed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Raw {
    /// A line.
    Line(Vec<u8>),
    /// One with more bytes than a document may have; they are gone.
    TooLong,
}

/// Cuts bytes into lines.
#[derive(Debug, Default)]
struct Lines {
    bytes: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where no line feed was found.
    seen: usize,
    /// Whether the line that begins was too long already.
    is_cut: bool,
}

impl Lines {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.seen -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    fn next(&mut self) -> Option<Raw> {
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
    fn last(&mut self) -> Option<Raw> {
        let rest = self.bytes.split_off(self.start);
        *self = Self { is_cut: self.is_cut, ..Self::default() };
        if std::mem::take(&mut self.is_cut) {
            Some(Raw::TooLong)
        } else {
            (!rest.is_empty()).then_some(Raw::Line(rest))
        }
    }
}

/// Where the lines come from.
pub(super) struct Input {
    /// None for stdin.
    file: Option<File>,
    lines: Lines,
    is_ended: bool,
    signals: &'static Signals,
}

impl Input {
    /// A file, or `-` for stdin.
    pub(super) fn open(file: &Path, signals: &'static Signals) -> io::Result<Self> {
        let file = if file.as_os_str() == "-" { None } else { Some(File::open(file)?) };
        Ok(Self { file, lines: Lines::default(), is_ended: false, signals })
    }

    /// The next group: what has come, and what comes soon. Empty at the end, and after a signal.
    pub(super) fn group(&mut self) -> io::Result<Vec<Raw>> {
        let mut group = Vec::new();
        let mut bytes = 0;
        let mut deadline = None;
        loop {
            while group.len() < LINES_MAX && bytes < GROUP_BYTES_MAX {
                let Some(raw) = self.next() else { break };
                bytes += if let Raw::Line(line) = &raw { line.len() } else { 0 };
                group.push(raw);
            }
            let is_full = group.len() >= LINES_MAX || bytes >= GROUP_BYTES_MAX;
            if is_full || self.is_ended || self.signals.first().is_some() {
                return Ok(group);
            }
            let wait = if group.is_empty() {
                None
            } else {
                let deadline = deadline.get_or_insert_with(|| Deadline::after(GATHER_MAX));
                Some(deadline.remaining().min(PAUSE_MAX))
            };
            if self.is_ready(wait)? {
                self.fill()?;
            } else if !group.is_empty() {
                return Ok(group);
            }
        }
    }

    fn next(&mut self) -> Option<Raw> {
        let next = self.lines.next();
        if next.is_none() && self.is_ended { self.lines.last() } else { next }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_ref().map_or_else(|| rustix::stdio::stdin(), File::as_fd)
    }

    /// Waits for bytes, the end or a signal, as long as said; whether there are bytes or the end.
    fn is_ready(&self, wait: Option<Duration>) -> io::Result<bool> {
        if wait.is_some_and(|wait| wait.is_zero()) {
            return Ok(false);
        }
        let timeout = wait.map(|wait| Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: wait.subsec_nanos().into(),
        });
        let fd = self.fd();
        let mut fds = [
            PollFd::new(&fd, PollFlags::IN),
            PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
        ];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => Ok(!fds[0].revents().is_empty()),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut bytes = vec![0; READ_BYTES];
        match rustix::io::read(self.fd(), &mut bytes[..]) {
            Ok(0) => self.is_ended = true,
            Ok(count) => self.lines.push(&bytes[..count]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            for size in [READ_BYTES, 7 * DOCUMENT_BYTES_MAX] {
                let found = cut(&bytes, size);
                let is_long = found[0] == "too long";
                assert_eq!((is_long, found[1].as_str(), found.len()), (more > 0, "next", 2));
            }
        }
        // Nothing of it is kept, also where it does not end.
        let mut lines = Lines::default();
        for _ in 0..64 {
            lines.push(&just[..READ_BYTES]);
            assert_eq!(lines.next(), None);
            assert!(lines.bytes.len() <= DOCUMENT_BYTES_MAX + READ_BYTES);
        }
        assert_eq!(lines.last(), Some(Raw::TooLong));
    }
}
