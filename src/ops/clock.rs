//! The clock: the one place that reads the wall clock.

use crate::domain::time::Timestamp;

/// The wall clock, in UTC. A test may shift it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clock {
    shift_micros: i64,
    #[cfg(feature = "testing")]
    is_set: bool,
    #[cfg(feature = "testing")]
    still: Option<Timestamp>,
}

impl Clock {
    /// The system's clock.
    pub const fn system() -> Self {
        Self {
            shift_micros: 0,
            #[cfg(feature = "testing")]
            is_set: false,
            #[cfg(feature = "testing")]
            still: None,
        }
    }

    /// A clock that says `instant` now and goes on from there. For tests only.
    #[cfg(feature = "testing")]
    pub fn starting_at(instant: Timestamp) -> Self {
        let shift_micros = instant.as_micros().saturating_sub(system_micros());
        Self { shift_micros, is_set: true, still: None }
    }

    /// A clock that stands still, so that a transcript does not depend on how fast the host is.
    /// For tests only.
    #[cfg(feature = "testing")]
    pub const fn still(instant: Timestamp) -> Self {
        Self { shift_micros: 0, is_set: true, still: Some(instant) }
    }

    /// A clock of a host that is wrong by so many microseconds. For tests only.
    #[cfg(feature = "testing")]
    pub const fn wrong_by(shift_micros: i64) -> Self {
        Self { shift_micros, is_set: false, still: None }
    }

    /// Now, by the clock of the database where it has one; from then on this clock goes by that
    /// one. A clock that a test has set stays as it is.
    pub fn read(&mut self, database: Option<Timestamp>) -> Timestamp {
        #[cfg(feature = "testing")]
        let database = database.filter(|_| !self.is_set);
        if let Some(instant) = database {
            self.shift_micros = instant.as_micros().saturating_sub(system_micros());
            return instant;
        }
        self.now()
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
