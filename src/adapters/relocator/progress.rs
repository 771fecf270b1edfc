//! How far a copy is, for people: on stderr, at most twice a second.

use std::io::Write as _;

use crate::actuator::host::boot_ms;

const EVERY_MS: u64 = 500;

/// What was done of so many bytes.
#[derive(Debug)]
pub(super) struct Progress {
    what: &'static str,
    total: u64,
    done: u64,
    began_ms: u64,
    said_ms: u64,
}

impl Progress {
    pub(super) fn new(what: &'static str, total: u64) -> Self {
        let now = boot_ms();
        Self { what, total, done: 0, began_ms: now, said_ms: now }
    }

    pub(super) fn add(&mut self, bytes: u64) {
        self.done = self.done.saturating_add(bytes);
        let now = boot_ms();
        if now.saturating_sub(self.said_ms) >= EVERY_MS {
            self.said_ms = now;
            // Who listens is not needed for the copy.
            let _ = writeln!(std::io::stderr(), "{}", self.line(now));
        }
    }

    fn line(&self, now_ms: u64) -> String {
        let took_ms = now_ms.saturating_sub(self.began_ms).max(1);
        let total = self.total.max(self.done);
        let left = u128::from(total - self.done) * u128::from(took_ms);
        let left_ms = left / u128::from(self.done.max(1));
        let seconds = left_ms.div_ceil(1000);
        format!("{}: {} of {}, about {seconds} s left", self.what, mb(self.done), mb(total))
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
        let progress = Progress {
            what: "transfer",
            total: 10_000_000,
            done: 2_500_000,
            began_ms: 0,
            said_ms: 0,
        };
        assert_eq!(progress.line(1000), "transfer: 2.5 MB of 10.0 MB, about 3 s left");
        let more = Progress { done: 12_000_000, ..progress };
        assert_eq!(more.line(1000), "transfer: 12.0 MB of 12.0 MB, about 0 s left");
    }
}
