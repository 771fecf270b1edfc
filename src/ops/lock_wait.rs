//! Waiting for another writer of the ledger: bounded by the caller's own time, ended by a signal,
//! and told, with who holds it where that can be known.
//!
//! Holds nothing that must survive: a wait that ends has written nothing.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::error::OpError;
use super::outwait::remaining;
use super::session::Session;
use super::wait::Teller;
use crate::actuator::host::Deadline;
use crate::actuator::locks::{self, LockHolder};
use crate::actuator::signals;
use crate::domain::id::ExecutionKey;
use crate::domain::time::DurationMs;
use crate::ledger::{InTheWay, Ledger, LedgerError, Reach, Sought, WaitOn, WhileAsked, WriteTxn};

/// After how long it is said what is waited for.
const SAY_AFTER: DurationMs = DurationMs::from_secs(2);

/// Within which time after the end of a wait the next one is its continuation.
const SAME_WAIT: DurationMs = DurationMs::from_millis(500);

/// What decides how long a process waits for the ledger.
#[derive(Default)]
pub(super) struct LockWait {
    /// Until when the command may wait for anything; none where only the lock timeout bounds it.
    deadline: Cell<Option<Deadline>>,
    /// A call is under way: neither a signal nor the caller's time may lose what it came to.
    must_go_on: Arc<AtomicBool>,
    /// A wait that the lock timeout has ended is begun anew, until the deadline.
    asks_again: Cell<bool>,
    /// What is told of it.
    long: Arc<Mutex<LongWait>>,
}

impl LockWait {
    /// How much longer a wait may last.
    fn left(&self, lock_timeout: DurationMs, waited: DurationMs) -> Option<DurationMs> {
        let of_lock = lock_timeout.less(waited);
        match self.deadline.get().map(remaining) {
            _ if self.goes_on() => None,
            Some(left) if self.asks_again.get() => Some(left),
            Some(left) => Some(left.min(of_lock)),
            None => Some(of_lock),
        }
    }

    fn long(&self) -> MutexGuard<'_, LongWait> {
        self.long.lock().unwrap_or_else(PoisonError::into_inner)
    }

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

/// Tells what is waited for, where that lasts, each time that it is due.
#[derive(Default)]
struct LongWait {
    teller: Teller,
    say: Option<fn(&str)>,
    /// When it began, with what it goes on with.
    began: Option<Deadline>,
    /// How long the last one lasted when it was last looked after.
    last: DurationMs,
    /// The next one goes on with it, because nothing came of it,
    is_begun_anew: bool,
    /// if it begins until then.
    fresh: Option<Deadline>,
    /// It goes on with another one.
    goes_on: bool,
    /// What was found to be in its way.
    found: Option<InTheWay>,
}

impl LongWait {
    fn new(say: fn(&str)) -> Self {
        Self { say: Some(say), ..Self::default() }
    }

    /// How long it is, together with what it goes on with.
    fn so_far(&mut self, waited: DurationMs) -> DurationMs {
        if self.began.is_none() || waited < self.last {
            self.goes_on = std::mem::take(&mut self.is_begun_anew) && self.is_fresh();
            if !self.goes_on {
                (self.began, self.found) = (None, None);
            }
        }
        let began = self.began.get_or_insert_with(|| {
            let now = Deadline::after(DurationMs::ZERO).boot_ms();
            Deadline::at_boot_ms(now.saturating_sub(waited.as_millis()))
        });
        let so_far = began.ago();
        self.last = waited;
        self.fresh = Some(Deadline::after(SAME_WAIT));
        so_far
    }

    fn is_fresh(&self) -> bool {
        self.fresh.is_some_and(|until| !until.is_past())
    }

    /// How long it was, where it went on with another one.
    fn in_all(&self) -> Option<DurationMs> {
        let is_one_of_many = self.is_fresh() && (self.goes_on || self.is_begun_anew);
        self.began.filter(|_| is_one_of_many).map(Deadline::ago)
    }

    /// What whoever waits for a server's answer goes on with. `left` is how much longer it may
    /// last, where that is told.
    fn on_server(
        &mut self,
        waited: DurationMs,
        found: Option<&InTheWay>,
        left: Option<DurationMs>,
    ) -> WaitOn {
        let so_far = self.so_far(waited);
        if let Some(found) = found {
            self.tell(&in_words(found), so_far, left);
            self.found = Some(found.clone());
        } else if so_far >= SAY_AFTER && self.teller.is_due("the ledger") {
            return WaitOn::Look;
        }
        WaitOn::Go
    }

    /// The same of a file, which says by itself who has it.
    fn on_file(&mut self, file: &Path, waited: DurationMs, left: Option<DurationMs>) {
        let so_far = self.so_far(waited);
        if so_far >= SAY_AFTER && self.teller.is_due("the ledger") {
            let by = holder_of(file).map_or_else(String::new, |holder| format!(" by {holder}"));
            self.tell(&format!("locked{by}"), so_far, left);
        }
    }

    fn tell(&self, what: &str, so_far: DurationMs, left: Option<DurationMs>) {
        let at_most = left.map_or_else(String::new, |left| format!(", at most {left} more"));
        if let Some(say) = self.say {
            say(&format!("waiting for the ledger: {what} for {so_far} so far{at_most}"));
        }
    }
}

fn in_words(found: &InTheWay) -> String {
    match found {
        InTheWay::Holder(holder) => format!("locked by {holder}"),
        InTheWay::Standby => "it is written, and no standby has confirmed that,".to_owned(),
        InTheWay::Nobody => "not locked, its server is at work".to_owned(),
        InTheWay::Silence => "its server does not answer".to_owned(),
        InTheWay::Unknown => "locked, or its server does not answer,".to_owned(),
    }
}

/// Looks after the waits for a server's answers while a ledger is opened: `say` is told a line at a
/// time, and a signal ends the wait in words.
pub fn while_opening(say: fn(&str)) -> WhileAsked {
    let mut long = LongWait::new(say);
    Box::new(move |waited, found| {
        let _ = signals::install();
        if is_signalled() {
            return WaitOn::Over;
        }
        long.on_server(waited, found, None)
    })
}

impl Session {
    /// Lets whoever waits for the ledger be told what for, and be ended by a signal. `say` is told
    /// a line at a time.
    pub fn tell_of_locks(&mut self, lock_timeout: DurationMs, say: fn(&str)) {
        let rules = Rc::clone(&self.lock_wait);
        let path = self.ledger.identity().path.clone();
        let is_a_file = self.ledger.identity().engine == "sqlite";
        self.lock_wait.long().say = Some(say);
        let long = Arc::clone(&self.lock_wait.long);
        let ask = move |waited: DurationMs, found: Option<&InTheWay>| {
            // Before the first wait a signal ends the process by itself, and nothing is lost.
            // Without handlers it still does.
            let _ = signals::install();
            if !rules.may_go_on() {
                return WaitOn::Over;
            }
            let left = rules.left(lock_timeout, waited);
            if !is_a_file {
                return rules.long().on_server(waited, found, left);
            }
            rules.long().on_file(&path, waited, left);
            WaitOn::Go
        };
        self.ledger.while_locked(lock_timeout, Box::new(ask));
        let must_go_on = Arc::clone(&self.lock_wait.must_go_on);
        // The caller's time is kept by whoever asks the server.
        self.ledger.while_asked(Box::new(move |waited, found| {
            // As above: what has waited this long is ended in words.
            let _ = signals::install();
            if !must_go_on.load(Ordering::Relaxed) && is_signalled() {
                return WaitOn::Over;
            }
            let mut long = long.lock().unwrap_or_else(PoisonError::into_inner);
            long.on_server(waited, found, None)
        }));
    }

    /// Lets no wait for the ledger outlast the time that the caller has for all of it.
    pub fn wait_no_longer_than(&self, deadline: Deadline) {
        self.lock_wait.deadline.set(Some(deadline));
        self.ledger.answer_within(Some(deadline.remaining()));
    }

    /// The same, and a lock that could not be had is asked for again until then.
    pub(super) fn asks_again_until(&self, deadline: Deadline) {
        self.wait_no_longer_than(deadline);
        self.lock_wait.asks_again.set(true);
    }

    /// Says that a wait for a lock that has come to nothing is begun anew.
    pub(super) fn waits_anew(&self) {
        self.lock_wait.long().is_begun_anew = true;
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
        waited.map_err(|error| ended(error, &self.lock_wait))
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
    ledger.write(command_id, reach).map_err(|error| ended(error, wait))
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
    begun.map_err(|error| ended(error, wait))
}

/// What has ended a wait: a signal, or what was in the way, for all the time that it was.
fn ended(error: LedgerError, wait: &LockWait) -> OpError {
    let must_go_on = wait.goes_on();
    let error = {
        let long = wait.long();
        let found = long.found.clone().filter(|_| long.is_fresh());
        error.in_all(long.in_all()).locked_by(found)
    };
    match signals::installed().and_then(signals::Signals::first) {
        Some(signal) if error.is_unavailable() && !must_go_on => {
            OpError::Interrupted { signal, key: None }
        }
        Some(_) | None => error.into(),
    }
}

/// Who holds the write lock of a ledger in a file, where this host shows it.
pub fn holder_of(ledger: &Path) -> Option<LockHolder> {
    let mut index = ledger.as_os_str().to_owned();
    index.push("-shm");
    locks::holder(&PathBuf::from(index), locks::SQLITE_WRITER)
}
