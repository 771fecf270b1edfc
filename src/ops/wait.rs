//! Waiting, bounded and interruptible.

use super::error::OpError;
use crate::actuator::host::Deadline;
use crate::actuator::signals;
use crate::domain::time::{DurationMs, Timestamp};

/// How long one sleep is at most, so that a signal is answered soon.
const SLICE: DurationMs = DurationMs::from_millis(50);

/// Ends with [`OpError::Interrupted`] if a signal has asked this process to end.
pub(crate) fn refuse_after_signal() -> Result<(), OpError> {
    match signals::installed().and_then(signals::Signals::first) {
        Some(signal) => Err(OpError::Interrupted { signal, key: None }),
        None => Ok(()),
    }
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
