//! The ledger again, for whoever looks for a long time: by then another file may be in its place.

use std::time::Duration;

use super::App;
use crate::actuator::host::Deadline;
use crate::cli::fault::Fault;
use crate::domain::time::DurationMs;
use crate::ledger::{LedgerError, Location};
use crate::ops::{OpError, Session};

/// How long a place may be empty while a ledger is being put there.
const PLACE_EMPTY_MAX: DurationMs = DurationMs::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

impl App {
    /// The ledger that is at its place now, with nothing known of an earlier look. A connection to
    /// a server is kept: each one costs the server a process, and no other ledger takes its place.
    pub(crate) fn session_anew(&mut self) -> Result<&mut Session, Fault> {
        if matches!(self.chosen()?.location, Location::Server(_)) {
            return self.session();
        }
        self.session = None;
        let until = Deadline::after(PLACE_EMPTY_MAX);
        while let Err(Fault::Op(OpError::Ledger(LedgerError::Missing { .. }))) = self.session() {
            if until.is_past() {
                break;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        self.session()
    }
}
