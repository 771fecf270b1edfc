//! The clock: the one place that reads the wall clock.

use crate::domain::time::Timestamp;

/// The wall clock, in UTC. A test may shift it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clock {
    shift_micros: i64,
    #[cfg(feature = "testing")]
    still: Option<Timestamp>,
}

impl Clock {
    /// The system's clock.
    pub const fn system() -> Self {
        Self {
            shift_micros: 0,
            #[cfg(feature = "testing")]
            still: None,
        }
    }

    /// A clock that says `instant` now and goes on from there. For tests only.
    #[cfg(feature = "testing")]
    pub fn starting_at(instant: Timestamp) -> Self {
        Self { shift_micros: instant.as_micros().saturating_sub(system_micros()), still: None }
    }

    /// A clock that stands still, so that a transcript does not depend on how fast the host is.
    /// For tests only.
    #[cfg(feature = "testing")]
    pub const fn still(instant: Timestamp) -> Self {
        Self { shift_micros: 0, still: Some(instant) }
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        #[cfg(feature = "testing")]
        if let Some(instant) = self.still {
            return instant;
        }
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
