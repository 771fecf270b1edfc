//! Waiting for another writer of the ledger: bounded by the caller's own time, ended by a signal,
//! and told, with who holds it where that can be known.
//!
//! Holds nothing that must survive: a wait that ends has written nothing.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::OpError;
use super::session::Session;
use super::wait::Teller;
use crate::actuator::host::Deadline;
use crate::actuator::locks;
use crate::actuator::signals;
use crate::domain::id::ExecutionKey;
use crate::domain::time::DurationMs;
use crate::ledger::{Ledger, LedgerError, Reach, Sought, WriteTxn};

/// After how long it is said what is waited for.
const SAY_AFTER: DurationMs = DurationMs::from_secs(2);

/// What decides how long a process waits for the ledger.
#[derive(Default)]
pub(super) struct LockWait {
    /// Until when the command may wait for anything; none where only the lock timeout bounds it.
    deadline: Cell<Option<Deadline>>,
    /// A call is under way: neither a signal nor the caller's time may lose what it came to.
    must_go_on: Arc<AtomicBool>,
}

impl LockWait {
    /// Whether a wait of so long may go on.
    fn may_go_on(&self) -> bool {
        self.goes_on()
            || !is_signalled() && self.deadline.get().is_none_or(|deadline| !deadline.is_past())
    }

    fn goes_on(&self) -> bool {
        self.must_go_on.load(Ordering::Relaxed)
    }
}

fn is_signalled() -> bool {
    signals::installed().and_then(signals::Signals::first).is_some()
}

impl Session {
    /// Lets whoever waits for the ledger be told what for, and be ended by a signal. `say` is told
    /// a line at a time.
    pub fn tell_of_locks(&mut self, lock_timeout: DurationMs, say: impl Fn(&str) + 'static) {
        let rules = Rc::clone(&self.lock_wait);
        let path = self.ledger.identity().path.clone();
        let is_a_file = self.ledger.identity().engine == "sqlite";
        let teller = RefCell::new(Teller::default());
        let ask = move |waited: DurationMs| {
            // Before the first wait a signal ends the process by itself, and nothing is lost.
            // Without handlers it still does.
            let _ = signals::install();
            if !rules.may_go_on() {
                return ControlFlow::Break(());
            }
            if waited >= SAY_AFTER && teller.borrow_mut().is_due("the ledger") {
                let holder = Some(&path).filter(|_| is_a_file).and_then(|path| holder_of(path));
                let by = holder.map_or_else(String::new, |holder| format!(" by {holder}"));
                let what =
                    if is_a_file { "locked" } else { "locked, or its server does not answer," };
                say(&format!("waiting for the ledger: {what}{by} for {waited} so far"));
            }
            ControlFlow::Continue(())
        };
        self.ledger.while_locked(lock_timeout, Box::new(ask));
        let must_go_on = Arc::clone(&self.lock_wait.must_go_on);
        // The caller's time is kept by whoever asks the server.
        self.ledger.while_asked(Box::new(move || {
            // As above: what has waited this long is ended in words.
            let _ = signals::install();
            let goes_on = must_go_on.load(Ordering::Relaxed) || !is_signalled();
            if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        }));
    }

    /// Lets no wait for the ledger outlast the time that the caller has for all of it.
    pub fn wait_no_longer_than(&self, deadline: Deadline) {
        self.lock_wait.deadline.set(Some(deadline));
        self.ledger.answer_within(Some(deadline.remaining()));
    }

    /// What `find` finds; where it finds nothing, what it finds once whoever may be recording it
    /// has ended.
    pub(super) fn sought<T>(
        &mut self,
        sought: Sought<'_>,
        find: impl Fn(&mut Self) -> Result<Option<T>, OpError>,
    ) -> Result<Option<T>, OpError> {
        match find(self)? {
            None if self.outwait(sought)? => find(self),
            found => Ok(found),
        }
    }

    /// Waits for whoever may be recording what was not found. Answers whether it is worth looking
    /// again.
    pub fn outwait(&mut self, sought: Sought<'_>) -> Result<bool, OpError> {
        let waited = self.ledger.outwait(sought);
        waited.map_err(|error| ended_by_signal(error, self.lock_wait.goes_on()))
    }

    /// Until when the caller waits for anything, where that is bounded.
    pub(super) fn waits_until(&self) -> Option<Deadline> {
        self.lock_wait.deadline.get()
    }

    /// Says whether a call is under way, whose result is worth more than an early end.
    pub(super) fn must_go_on(&self, must: bool) {
        self.lock_wait.must_go_on.store(must, Ordering::Relaxed);
        let deadline = self.waits_until().filter(|_| !must);
        self.ledger.answer_within(deadline.map(Deadline::remaining));
    }
}

/// Begins to write. A signal that has ended the wait is what is told of it.
pub(super) fn write_to<'l>(
    ledger: &'l mut Ledger,
    wait: &LockWait,
    reach: Reach,
) -> Result<WriteTxn<'l>, OpError> {
    let command_id = Session::command_id()?;
    ledger.write(command_id, reach).map_err(|error| ended_by_signal(error, wait.goes_on()))
}

/// The same, and what is known of these keys is read with the begin.
pub(super) fn write_about<'l>(
    ledger: &'l mut Ledger,
    wait: &LockWait,
    reach: Reach,
    keys: &[ExecutionKey],
) -> Result<WriteTxn<'l>, OpError> {
    let command_id = Session::command_id()?;
    let begun = ledger.write_about(command_id, reach, keys);
    begun.map_err(|error| ended_by_signal(error, wait.goes_on()))
}

fn ended_by_signal(error: LedgerError, must_go_on: bool) -> OpError {
    match signals::installed().and_then(signals::Signals::first) {
        Some(signal) if error.is_busy() && !must_go_on => {
            OpError::Interrupted { signal, key: None }
        }
        Some(_) | None => error.into(),
    }
}

/// Who holds the write lock of a ledger in a file, where this host shows it.
pub fn holder_of(ledger: &Path) -> Option<String> {
    let mut index = ledger.as_os_str().to_owned();
    index.push("-shm");
    let holder = locks::holder(&PathBuf::from(index), locks::SQLITE_WRITER)?;
    Some(format!("{} (pid {})", holder.name, holder.pid))
}
