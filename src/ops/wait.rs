//! Waiting, bounded and interruptible.

use std::io;
use std::path::Path;

use super::error::OpError;
use crate::actuator::host::Deadline;
use crate::actuator::signals;
use crate::domain::time::{DurationMs, Timestamp};
use crate::files;

/// How long one sleep is at most, so that a signal is answered soon.
const SLICE: DurationMs = DurationMs::from_millis(50);

/// After how long the same is said again; it doubles up to [`AGAIN_MAX`].
const AGAIN_MIN: DurationMs = DurationMs::from_secs(5);
/// The longest such time.
const AGAIN_MAX: DurationMs = DurationMs::from_secs(60);

/// When to say what is waited for: at once, and again in growing intervals. A log is no terminal,
/// and equal lines tell nobody more.
#[derive(Debug, Default)]
pub(crate) struct Teller {
    said: Option<(String, Deadline, DurationMs)>,
}

impl Teller {
    /// Whether to say now that this is waited for.
    pub(crate) fn is_due(&mut self, what: &str) -> bool {
        let gap = match &self.said {
            Some((said, next, _)) if said == what && !next.is_past() => return false,
            Some((said, _, gap)) if said == what => {
                DurationMs::from_millis(gap.as_millis() * 2).min(AGAIN_MAX)
            }
            Some(_) | None => AGAIN_MIN,
        };
        self.said = Some((what.to_owned(), Deadline::after(gap), gap));
        true
    }
}

/// Ends with [`OpError::Interrupted`] if a signal has asked this process to end.
pub(crate) fn refuse_after_signal() -> Result<(), OpError> {
    match signals::installed().and_then(signals::Signals::first) {
        Some(signal) => Err(OpError::Interrupted { signal, key: None }),
        None => Ok(()),
    }
}

/// Reads a document that somebody names, but not past a signal.
pub(crate) fn read_given(file: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
    files::read_given(file, bytes_max, &|| refuse_after_signal().is_err())
}

/// Sleeps, but not past the deadline and not past a signal.
pub(crate) fn pause(duration: DurationMs, deadline: Deadline) -> Result<(), OpError> {
    let until = Deadline::after(duration);
    loop {
        refuse_after_signal()?;
        let left = until.remaining().min(deadline.remaining());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(SLICE.to_std()));
    }
}

/// Whether an instant comes before the deadline.
pub(crate) fn is_within(at: Timestamp, now: Timestamp, deadline: Deadline) -> bool {
    at.since(now).to_std() < deadline.remaining()
}
