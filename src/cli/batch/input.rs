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

use super::lines::{Lines, Raw};
use crate::actuator::host::Deadline;
use crate::actuator::signals::Signals;
use crate::domain::canonical::DOCUMENT_BYTES_MAX;
use crate::domain::time::DurationMs;
use crate::files::open_given;

/// How many lines are carried out in one transaction at most.
pub(super) const LINES_MAX: usize = 256;
/// From so many bytes on a group is not made longer.
const GROUP_BYTES_MAX: usize = 4 * DOCUMENT_BYTES_MAX;
/// How long the first line of a group waits for others at most.
const GATHER_MAX: DurationMs = DurationMs::from_millis(20);
/// Whoever sends nothing for so long waits for an answer.
const PAUSE_MAX: Duration = Duration::from_millis(2);
/// So much without a line feed is another thing than lines, and might have no end.
const LINELESS_BYTES_MAX: usize = 64 * 1024 * 1024;
const READ_BYTES: usize = 64 * 1024;

/// Where the lines come from.
pub(super) struct Input {
    /// None for stdin.
    file: Option<File>,
    lines: Lines,
    is_ended: bool,
    /// How many bytes have come since the last line.
    lineless: usize,
    signals: &'static Signals,
}

impl Input {
    /// A file, or `-` for stdin.
    pub(super) fn open(file: &Path, signals: &'static Signals) -> io::Result<Self> {
        let file = if file.as_os_str() == "-" { None } else { Some(open_given(file)?) };
        Ok(Self { file, lines: Lines::default(), is_ended: false, lineless: 0, signals })
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
        if next.is_some() {
            self.lineless = 0;
        }
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
            Ok(count) => {
                self.lineless += count;
                if self.lineless > LINELESS_BYTES_MAX {
                    return Err(io::Error::other("64 MiB without a line feed are no lines"));
                }
                self.lines.push(&bytes[..count]);
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}
