//! One service on its way: when it is looked at next, and who waits for it.

use std::hash::{BuildHasher as _, RandomState};

use super::{Followed, Waiter};
use crate::actuator::host::Deadline;
use crate::domain::id::ExecutionKey;
use crate::domain::time::DurationMs;
use crate::ops::gateway_converge::Convergence;

/// How long the first pause of a service that is on its way is; it doubles up to [`PAUSE_MAX`].
const PAUSE_MIN: DurationMs = DurationMs::from_millis(200);
const PAUSE_MAX: DurationMs = DurationMs::from_secs(30);
/// The longest pause before what did not come to be, or did not hold, is wished anew.
const AGAIN_MAX: DurationMs = DurationMs::from_secs(3600);

/// How long after a count was read as another one it is wished anew at first, and at most as long
/// as after a failure.
const DRIFT_PAUSE: DurationMs = DurationMs::from_secs(5);

/// How long a service is left alone.
#[derive(Clone, Copy)]
pub(in crate::cli::serve) struct Pauses {
    /// After the first failure for good, until its count is wished anew; it doubles.
    pub(in crate::cli::serve) again: DurationMs,
    /// Until what has come to be is read again.
    pub(in crate::cli::serve) tend: DurationMs,
}

/// What a look is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Look {
    /// To take the next steps.
    Onward,
    /// To see whether it still is as wished.
    Tend,
    /// To wish the count of this one anew, and take its first steps.
    Again { key: ExecutionKey, why: String },
    /// The same of what did not hold, if it still does not.
    Restore,
}

/// One service on its way.
#[derive(Default)]
pub(super) struct Slot {
    state: State,
    pause: Option<DurationMs>,
    /// What has failed for good or did not hold, when it is wished anew, and why.
    failed: Option<(ExecutionKey, Deadline, String)>,
    /// The pause before that, from one time to the next, until it has held.
    again: Option<DurationMs>,
    /// Whether it has come to be, and is looked at to see whether it still is so.
    is_tended: bool,
    /// The newest wish that was found unfinished.
    seen: Option<ExecutionKey>,
    waiters: Vec<Waiter>,
    /// Who came while it was looked at: the look may not have seen what they wait for.
    newcomers: Vec<Waiter>,
    why: Option<String>,
}

#[derive(Clone, Copy)]
enum State {
    Due(Deadline),
    /// It is looked at, and perhaps again right after; `wishes` where the look is to wish anew what
    /// did not come to be or did not hold.
    LookedAt {
        again: bool,
        wishes: bool,
    },
    Over,
}

impl Default for State {
    fn default() -> Self {
        Self::Due(Deadline::at_boot_ms(0))
    }
}

/// Up to a quarter more or less, so that many do not come at once.
pub(super) fn jittered(pause: DurationMs) -> DurationMs {
    let quarter = pause.as_millis() / 4;
    let random = RandomState::new().hash_one(pause.as_millis());
    let part = random.checked_rem(quarter * 2 + 1).unwrap_or(0);
    DurationMs::from_millis(pause.as_millis() - quarter + part)
}

impl Slot {
    /// One that came to be without this slot. Not all of them are looked at together.
    pub(super) fn found(pauses: Pauses) -> Self {
        let part = RandomState::new().hash_one(pauses.tend.as_millis());
        let part = part.checked_rem(pauses.tend.as_millis()).unwrap_or(0);
        let due = Deadline::after(DurationMs::from_millis(part));
        Self { state: State::Due(due), is_tended: true, ..Self::default() }
    }

    /// Something new was accepted: at once, from the shortest pause on.
    pub(super) fn wake(&mut self) {
        self.pause = None;
        self.failed = None;
        self.again = None;
        self.is_tended = false;
        self.state = match self.state {
            State::LookedAt { wishes, .. } => State::LookedAt { again: true, wishes },
            State::Due(_) | State::Over => State::default(),
        };
    }

    /// A wish that nobody has finished is gone towards at once, when it is found first.
    pub(super) fn go_on(&mut self, newest: &ExecutionKey) {
        if self.is_looked_at() || self.seen.as_ref() == Some(newest) {
            return;
        }
        self.seen = Some(newest.clone());
        self.failed.take_if(|(key, _, _)| key != newest);
        self.pause = None;
        self.is_tended = false;
        self.state = State::default();
    }

    /// Whether it is looked at to see whether it still is as wished.
    pub(super) const fn is_tended_now(&self) -> bool {
        self.is_tended && self.is_looked_at()
    }

    /// Whether the next look is one to see whether it still is as wished.
    pub(super) const fn is_tended(&self) -> bool {
        self.is_tended
    }

    /// Whether an earlier look has found the same.
    pub(super) fn has_told(&self, key: &ExecutionKey, why: &str) -> bool {
        self.failed.as_ref().is_some_and(|(known, _, told)| known == key && told == why)
    }

    pub(super) fn wait(&mut self, waiter: Waiter) {
        if let State::LookedAt { again, .. } = &mut self.state {
            *again = true;
            self.newcomers.push(waiter);
        } else {
            self.waiters.push(waiter);
            if matches!(self.state, State::Over) {
                self.state = State::default();
            }
        }
    }

    pub(super) const fn is_looked_at(&self) -> bool {
        matches!(self.state, State::LookedAt { .. })
    }

    /// Nothing is to be done, and nobody waits.
    pub(super) const fn is_over(&self) -> bool {
        matches!(self.state, State::Over) && self.waiters.is_empty()
    }

    pub(super) const fn due(&self) -> Option<Deadline> {
        match self.state {
            State::Due(due) => Some(due),
            State::LookedAt { .. } | State::Over => None,
        }
    }

    /// When something is to be done about it: a look, or a waiter who waits no longer.
    pub(super) fn wakes(&self) -> Option<Deadline> {
        let waiters = self.waiters.iter().chain(&self.newcomers).map(|waiter| waiter.until);
        waiters.chain(self.due()).min()
    }

    /// A look begins; what has failed for good or does not hold is wished anew by it, once it is
    /// time.
    pub(super) fn begin(&mut self) -> Look {
        let failed = self.failed.as_ref().filter(|(_, at, _)| at.is_past());
        self.state = State::LookedAt { again: false, wishes: failed.is_some() };
        match failed {
            Some(_) if self.is_tended => Look::Restore,
            Some((key, _, why)) => Look::Again { key: key.clone(), why: why.clone() },
            None if self.is_tended => Look::Tend,
            None => Look::Onward,
        }
    }

    /// A look could not be begun: it is due again.
    pub(super) fn is_put_back(&mut self) {
        self.state = State::default();
    }

    /// A look has come to nothing, such as by a gate that refuses: the same again, later.
    pub(super) fn stumbled(&mut self, why: String) {
        let next = self.next_pause();
        let due = Deadline::after(jittered(next));
        if let Some((_, at, _)) = &mut self.failed {
            *at = due.max(*at);
        }
        self.why = Some(why);
        self.ends(Some(due));
    }

    /// A look has ended.
    pub(super) fn looked(&mut self, found: Convergence, pauses: Pauses) {
        if matches!(self.state, State::LookedAt { wishes: true, .. }) {
            self.failed = None;
        }
        let next = match found {
            Convergence::Idle => {
                self.give_up("another wish than the operation's is the newest one");
                None
            }
            Convergence::Converged { key, answer } => {
                self.tell(&key, || Followed::Converged(answer.clone()));
                self.is_tended = true;
                Some(self.left_alone(pauses))
            }
            Convergence::Holds { key } => {
                self.tell(&key, || Followed::Converged(None));
                self.again = None;
                Some(self.left_alone(pauses))
            }
            Convergence::Drifted { key, why } => {
                self.pause = None;
                let again = self.fails(key, why, pauses.again.min(DRIFT_PAUSE));
                // It may come back by itself meanwhile.
                Some(again.min(Deadline::after(jittered(pauses.tend))))
            }
            Convergence::Failed { key, why } => {
                self.tell(&key, || Followed::Failed(why.clone()));
                self.is_tended = false;
                Some(self.fails(key, why, pauses.again))
            }
            Convergence::Later { why, after } => {
                self.why = Some(why);
                let pause = self.next_pause();
                let pause = after.map_or(pause, |after| after.max(PAUSE_MIN));
                Some(Deadline::after(jittered(pause)))
            }
        };
        self.ends(next);
    }

    /// What comes after a look.
    fn ends(&mut self, next: Option<Deadline>) {
        let is_again = matches!(self.state, State::LookedAt { again: true, .. });
        self.waiters.append(&mut self.newcomers);
        self.state = match next {
            _ if is_again => State::default(),
            Some(due) => State::Due(due),
            None => {
                self.pause = None;
                State::Over
            }
        };
    }

    /// Tells who waits for a wish what it came to, and all who came before that a newer one counts.
    fn tell(&mut self, key: &ExecutionKey, what: impl Fn() -> Followed) {
        for waiter in self.waiters.drain(..) {
            let _ = waiter.reply.send(if waiter.key == *key { what() } else { overtaken() });
        }
        let newcomers = std::mem::take(&mut self.newcomers).into_iter();
        let (own, newer): (Vec<_>, Vec<_>) = newcomers.partition(|waiter| waiter.key == *key);
        self.newcomers = newer;
        for waiter in own {
            let _ = waiter.reply.send(what());
        }
    }

    /// When what has failed for good, or did not hold, is wished anew.
    fn fails(&mut self, key: ExecutionKey, why: String, first: DurationMs) -> Deadline {
        match &self.failed {
            Some((known, at, _)) if *known == key => *at,
            _ => {
                let pause = doubled(self.again, first, AGAIN_MAX);
                self.again = Some(pause);
                let at = Deadline::after(jittered(pause));
                self.failed = Some((key, at, why));
                at
            }
        }
    }

    /// When what is as wished is read again.
    fn left_alone(&mut self, pauses: Pauses) -> Deadline {
        self.failed = None;
        self.pause = None;
        Deadline::after(jittered(pauses.tend))
    }

    fn next_pause(&mut self) -> DurationMs {
        let pause = doubled(self.pause, PAUSE_MIN, PAUSE_MAX);
        self.pause = Some(pause);
        pause
    }

    /// Tells everybody who waits that it did not come to be.
    pub(super) fn give_up(&mut self, why: &str) {
        for waiter in self.waiters.drain(..) {
            let _ = waiter.reply.send(Followed::Failed(why.to_owned()));
        }
    }

    /// Tells those whose time is over what it waits for.
    pub(super) fn tell_who_waits_no_longer(&mut self) {
        let why = self.why.as_deref().unwrap_or("it is being carried out");
        for waiters in [&mut self.waiters, &mut self.newcomers] {
            let (over, waiting): (Vec<_>, Vec<_>) =
                waiters.drain(..).partition(|waiter| waiter.until.is_past());
            *waiters = waiting;
            for waiter in over {
                let _ = waiter.reply.send(Followed::Failed(format!("it is not so yet: {why}")));
            }
        }
    }
}

fn doubled(last: Option<DurationMs>, first: DurationMs, most: DurationMs) -> DurationMs {
    let doubled = last.map(|last| DurationMs::from_millis(last.as_millis() * 2));
    doubled.unwrap_or(first).max(first).min(most)
}

fn overtaken() -> Followed {
    Followed::Failed("a newer wish has taken the place of this one".to_owned())
}

#[cfg(test)]
mod tests;
