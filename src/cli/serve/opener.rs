//! Sessions for the threads of a server: each has one of its own.

use crate::cli::app::App;
use crate::cli::fault::Fault;
use crate::domain::scale::provenance::Provenance;
use crate::ledger::{Ledger, Location, OpenOptions};
use crate::ops::clock::Clock;
use crate::ops::{OpError, Place, Session};

/// What a session is opened with.
#[derive(Clone)]
pub(super) struct Opener {
    location: Location,
    options: OpenOptions,
    clock: Clock,
    by: Provenance,
    place: Place,
}

impl Opener {
    /// What the line says.
    pub(super) fn of(app: &App) -> Result<Self, Fault> {
        Ok(Self {
            location: app.chosen()?.location,
            options: OpenOptions {
                lock_timeout: app.globals.lock_timeout,
                ..OpenOptions::default()
            },
            clock: app.clock(),
            by: app.provenance()?,
            place: app.place()?,
        })
    }

    /// Another session on the same ledger.
    pub(super) fn open(&self) -> Result<Session, OpError> {
        let ledger = Ledger::open(&self.location, self.options)?;
        Ok(Session::new(ledger, self.clock, self.by.clone(), self.place.clone()))
    }

    /// The session of a thread, opened where there is none. After a failure of the ledger whoever
    /// has it takes it away, so that the next request finds the ledger as it is then.
    pub(super) fn session<'s>(
        &self,
        session: &'s mut Option<Session>,
    ) -> Result<&'s mut Session, OpError> {
        if session.is_none() {
            *session = Some(self.open()?);
        }
        Ok(session.as_mut().expect("BUG: the session was just opened"))
    }
}
