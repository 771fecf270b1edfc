//! The clock: the one place that reads the wall clock.

use crate::actuator::host::EndedAt;
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

    /// How far this clock, once it goes by the database's, is from that of the host. A clock that a
    /// test has set is the host's.
    pub const fn skew(&self) -> HostSkew {
        #[cfg(feature = "testing")]
        if self.is_set {
            return HostSkew(0);
        }
        HostSkew(self.shift_micros)
    }

    /// When a call ended, by the clock that [`Self::read`] goes by. A clock that stands still has
    /// seen everything now.
    pub fn ended(&mut self, database: Option<Timestamp>, at: EndedAt) -> Timestamp {
        let now = self.read(database);
        #[cfg(feature = "testing")]
        if self.still.is_some() {
            return now;
        }
        now.minus(at.ago())
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

/// How far the ledger's clock is ahead of the host's, in microseconds. What a child says of the
/// time is by the host's clock.
#[derive(Debug, Clone, Copy)]
pub struct HostSkew(i64);

impl HostSkew {
    /// An instant of the ledger's clock on the host's.
    pub fn on_host(self, instant: Timestamp) -> Timestamp {
        shifted(instant, self.0.saturating_neg())
    }

    /// An instant of the host's clock on the ledger's.
    pub fn on_ledger(self, instant: Timestamp) -> Timestamp {
        shifted(instant, self.0)
    }
}

fn shifted(instant: Timestamp, micros: i64) -> Timestamp {
    Timestamp::from_micros(instant.as_micros().saturating_add(micros)).unwrap_or(instant)
}

#[expect(clippy::disallowed_methods, reason = "this is the clock")]
fn system_micros() -> i64 {
    let now = std::time::SystemTime::now();
    match now.duration_since(std::time::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |m| -m),
    }
}
