//! The clock: the one place that reads the wall clock.

use crate::domain::time::Timestamp;

/// The wall clock, in UTC. A test may shift it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clock {
    shift_micros: i64,
}

impl Clock {
    /// The system's clock.
    pub const fn system() -> Self {
        Self { shift_micros: 0 }
    }

    /// A clock that says `instant` now and goes on from there. For tests only.
    #[cfg(feature = "testing")]
    pub fn starting_at(instant: Timestamp) -> Self {
        Self { shift_micros: instant.as_micros().saturating_sub(system_micros()) }
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        let micros = system_micros().saturating_add(self.shift_micros);
        Timestamp::from_micros(micros).unwrap_or(Timestamp::MAX)
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock")]
fn system_micros() -> i64 {
    let now = std::time::SystemTime::now();
    match now.duration_since(std::time::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |m| -m),
    }
}
