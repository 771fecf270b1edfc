//! Waiting for other writers: looked after by whoever waits, and never for ever.
//!
//! Holds nothing between two waits. A wait that ends without its locks has begun nothing.

use std::time::{Duration, Instant};

use super::error::LedgerError;
use super::in_the_way::InTheWay;
use super::sql::{Bound, Engine, Lock, MayWait};
use super::{Ledger, Reach};
use crate::domain::id::{ExecutionKey, ServiceName};
use crate::domain::time::DurationMs;

/// What whoever looks after a wait says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitOn {
    /// Go on.
    Go,
    /// Go on, and find out what is in the way; on a server only. It is told when it is found.
    Look,
    /// No longer.
    Over,
}

/// Asked again and again while another writer is waited for, with how long so far, and with what
/// was found to be in the way, once, where it was looked for.
pub type WhileLocked = Box<dyn FnMut(DurationMs, Option<&InTheWay>) -> WaitOn>;

/// The same while a server's answer is waited for.
pub type WhileAsked = Box<dyn FnMut(DurationMs, Option<&InTheWay>) -> WaitOn + Send>;

/// What was looked for and not found, which somebody may be recording.
#[derive(Debug, Clone, Copy)]
pub enum Sought<'a> {
    /// One of these keys.
    Keys(&'a [ExecutionKey]),
    /// A wish of a service, by its number.
    WishOf(&'a ServiceName),
    /// Anything at all.
    Anything,
}

/// How to wait for another writer, where the caller looks after it.
pub(super) struct Patience {
    lock_timeout: DurationMs,
    ask: WhileLocked,
}

/// How often who looks after a wait is asked, where the engine can wait for so short.
const LOCK_SLICE: DurationMs = DurationMs::from_millis(100);

impl Ledger {
    /// Waits for no answer of a server beyond so long from now, or not far; none waits as long as
    /// usual again. A file answers at once, and is waited for by its lock timeout.
    pub fn answer_within(&self, left: Option<Duration>) {
        self.engine.answer_within(left);
    }

    /// Lets `ask` look after every wait for another writer, and end it before the lock timeout.
    pub fn while_locked(&mut self, lock_timeout: DurationMs, ask: WhileLocked) {
        self.patience = Some(Patience { lock_timeout, ask });
    }

    /// Lets `ask` look after every wait for a server's answer, and end it: what was asked is then
    /// not known, a COMMIT neither.
    pub fn while_asked(&mut self, ask: WhileAsked) {
        self.engine.while_asked(ask);
    }

    /// Waits for whoever may be recording what was not found. On a server the COMMIT of a process
    /// that is gone may still be under way, and until it has ended nobody can say that it is not
    /// there. Answers whether it is worth looking again.
    pub fn outwait(&mut self, sought: Sought<'_>) -> Result<bool, LedgerError> {
        let locks = match sought {
            Sought::Keys(keys) => Reach::default().about(keys).locks(),
            Sought::WishOf(service) => Reach::service(service).locks(),
            Sought::Anything => Reach::everything().locks(),
        };
        self.waiting(|engine, may_wait| engine.outwait(&locks, may_wait))
    }

    pub(super) fn begin_write(
        &mut self,
        locks: &[Lock],
        ahead: &[Bound<'_>],
    ) -> Result<(), LedgerError> {
        self.waiting(|engine, may_wait| engine.begin_write_ahead(locks, ahead, may_wait))
    }

    /// Waits for locks as long as whoever looks after waits goes on with it.
    #[expect(clippy::disallowed_methods, reason = "how long was waited is no deadline")]
    fn waiting<T>(
        &mut self,
        take: impl Fn(&dyn Engine, MayWait<'_>) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let Some(Patience { lock_timeout, ask }) = &mut self.patience else {
            return take(self.engine.as_ref(), &mut |_| WaitOn::Go);
        };
        let began = Instant::now();
        let waited = || {
            let waited = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            DurationMs::from_millis(waited)
        };
        self.engine.wait_at_most(LOCK_SLICE.min(*lock_timeout))?;
        let begun = loop {
            let begun = take(self.engine.as_ref(), &mut |found| ask(waited(), found));
            let busy = match begun {
                Err(error) if error.is_busy() => error,
                begun => break begun,
            };
            let waited = waited();
            if waited >= *lock_timeout || ask(waited, None) == WaitOn::Over {
                break Err(busy.after(waited.min(*lock_timeout)));
            }
        };
        self.engine.wait_at_most(*lock_timeout)?;
        begun
    }
}
