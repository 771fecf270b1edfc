//! The three pipes of a child, none of which ever blocks us.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::{Errno, ioctl_fionbio, read, write};

/// Reads in one turn, so that a child that never pauses cannot hold up its deadline.
const READS_PER_TURN_MAX: usize = 32;

/// One output of a child: the first bytes are kept, the rest is drained and counted.
pub(super) struct Drain<P> {
    pipe: Option<P>,
    kept: Vec<u8>,
    kept_bytes_max: usize,
    dropped: u64,
    told: usize,
}

impl<P: AsFd> Drain<P> {
    pub(super) fn new(pipe: Option<P>, kept_bytes_max: usize) -> Result<Self, Errno> {
        if let Some(pipe) = &pipe {
            ioctl_fionbio(pipe, true)?;
        }
        Ok(Self { pipe, kept: Vec::new(), kept_bytes_max, dropped: 0, told: 0 })
    }

    /// The pipe, while somebody may still write to it.
    pub(super) fn open(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Takes what is there.
    pub(super) fn pull(&mut self) {
        let mut buffer = [0; 8192];
        for _ in 0..READS_PER_TURN_MAX {
            let Some(pipe) = &self.pipe else { return };
            match read(pipe, &mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => self.keep(&buffer[..count]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.pipe = None,
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.kept_bytes_max.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(&bytes[..room]);
        self.dropped = self.dropped.saturating_add((bytes.len() - room) as u64);
    }

    /// What was kept since the last time that this was asked.
    pub(super) fn news(&mut self) -> &[u8] {
        let from = std::mem::replace(&mut self.told, self.kept.len());
        &self.kept[from..]
    }

    /// The bytes that were kept and the number of those that were not.
    pub(super) fn finish(self) -> (Vec<u8>, u64) {
        (self.kept, self.dropped)
    }
}

/// The input of a child. It is closed as soon as all is written or nobody reads it.
pub(super) struct Feed<'a, P> {
    pipe: Option<P>,
    rest: &'a [u8],
}

impl<'a, P: AsFd> Feed<'a, P> {
    pub(super) fn new(pipe: Option<P>, bytes: &'a [u8]) -> Result<Self, Errno> {
        if let Some(pipe) = &pipe {
            ioctl_fionbio(pipe, true)?;
        }
        let mut feed = Self { pipe, rest: bytes };
        feed.push();
        Ok(feed)
    }

    /// The pipe, while there is more to write.
    pub(super) fn open(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Writes what fits. A reader that is gone is no error: how the child ended says more.
    pub(super) fn push(&mut self) {
        while let Some(pipe) = &self.pipe {
            if self.rest.is_empty() {
                self.pipe = None;
                return;
            }
            match write(pipe, self.rest) {
                Ok(count) => self.rest = &self.rest[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.pipe = None,
            }
        }
    }
}
