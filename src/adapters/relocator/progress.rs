//! How far a copy is, for people: on stderr, at most twice a second.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::actuator::host::boot_ms;

const EVERY_MS: u64 = 500;

/// What was done of so many bytes, by however many threads.
#[derive(Debug)]
pub(super) struct Progress {
    what: &'static str,
    total: u64,
    began_ms: u64,
    done: AtomicU64,
    said_ms: AtomicU64,
}

impl Progress {
    pub(super) fn new(what: &'static str, total: u64) -> Self {
        let began_ms = boot_ms();
        Self { what, total, began_ms, done: AtomicU64::new(0), said_ms: AtomicU64::new(began_ms) }
    }

    pub(super) fn add(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let (now, said) = (boot_ms(), self.said_ms.load(Ordering::Relaxed));
        let is_due = now.saturating_sub(said) >= EVERY_MS;
        // One of the threads says it.
        let takes =
            || self.said_ms.compare_exchange(said, now, Ordering::Relaxed, Ordering::Relaxed);
        if is_due && takes().is_ok() {
            // Who listens is not needed for the copy.
            let _ = writeln!(std::io::stderr(), "{}", self.line(done, now));
        }
    }

    fn line(&self, done: u64, now_ms: u64) -> String {
        let took_ms = now_ms.saturating_sub(self.began_ms).max(1);
        let total = self.total.max(done);
        let left = u128::from(total - done) * u128::from(took_ms);
        let left_ms = left / u128::from(done.max(1));
        let seconds = left_ms.div_ceil(1000);
        format!("{}: {} of {}, about {seconds} s left", self.what, mb(done), mb(total))
    }
}

fn mb(bytes: u64) -> String {
    let tenths = bytes / 100_000;
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_bytes_and_the_time_left() {
        let mut progress = Progress::new("transfer", 10_000_000);
        progress.began_ms = 0;
        assert_eq!(progress.line(2_500_000, 1000), "transfer: 2.5 MB of 10.0 MB, about 3 s left");
        assert_eq!(progress.line(12_000_000, 1000), "transfer: 12.0 MB of 12.0 MB, about 0 s left");
    }
}
