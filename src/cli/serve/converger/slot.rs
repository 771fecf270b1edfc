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
/// The longest pause after failures for good.
const AGAIN_MAX: DurationMs = DurationMs::from_secs(3600);

/// One service on its way.
#[derive(Default)]
pub(super) struct Slot {
    state: State,
    pause: Option<DurationMs>,
    /// What has failed for good, and when it is wished anew.
    failed: Option<(ExecutionKey, Deadline)>,
    waiters: Vec<Waiter>,
    /// Who came while it was looked at: the look may not have seen what they wait for.
    newcomers: Vec<Waiter>,
    why: Option<String>,
}

#[derive(Clone, Copy)]
enum State {
    Due(Deadline),
    /// It is looked at, and perhaps again right after.
    LookedAt {
        again: bool,
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
    /// Something new was accepted: at once, from the shortest pause on.
    pub(super) fn wake(&mut self) {
        self.pause = None;
        self.failed = None;
        self.state = match self.state {
            State::LookedAt { .. } => State::LookedAt { again: true },
            State::Due(_) | State::Over => State::default(),
        };
    }

    pub(super) fn wait(&mut self, waiter: Waiter) {
        if self.is_looked_at() {
            self.newcomers.push(waiter);
            self.state = State::LookedAt { again: true };
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

    /// A look begins; what has failed for good is wished anew by it, once it is time.
    pub(super) fn begin(&mut self) -> Option<ExecutionKey> {
        self.state = State::LookedAt { again: false };
        let is_time = self.failed.as_ref().is_some_and(|(_, at)| at.is_past());
        self.failed.take_if(|_| is_time).map(|(key, _)| key)
    }

    /// A look has ended.
    pub(super) fn looked(&mut self, found: Convergence, again_after: DurationMs) {
        let is_again = matches!(self.state, State::LookedAt { again: true });
        let next = match found {
            Convergence::Idle => {
                self.give_up("another wish than the operation's is the newest one");
                None
            }
            Convergence::Converged { key, answer } => {
                self.tell(&key, || Followed::Converged(answer.clone()));
                None
            }
            Convergence::Failed { key, why } => {
                self.tell(&key, || Followed::Failed(why.clone()));
                Some(self.fails(key, again_after))
            }
            Convergence::Later { why, after } => {
                self.why = Some(why);
                let pause = self.next_pause(PAUSE_MIN, PAUSE_MAX);
                let pause = after.map_or(pause, |after| after.max(PAUSE_MIN));
                Some(Deadline::after(jittered(pause)))
            }
        };
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

    /// When what has failed for good is wished anew.
    fn fails(&mut self, key: ExecutionKey, again_after: DurationMs) -> Deadline {
        match &self.failed {
            Some((known, at)) if *known == key => *at,
            _ => {
                let pause = self.next_pause(again_after, AGAIN_MAX);
                let at = Deadline::after(jittered(pause));
                self.failed = Some((key, at));
                at
            }
        }
    }

    fn next_pause(&mut self, first: DurationMs, most: DurationMs) -> DurationMs {
        let doubled = self.pause.map(|last| DurationMs::from_millis(last.as_millis() * 2));
        let pause = doubled.unwrap_or(first).max(first).min(most);
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

fn overtaken() -> Followed {
    Followed::Failed("a newer wish has taken the place of this one".to_owned())
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;

    fn waiter(key: &str, for_ms: u64) -> (Waiter, oneshot::Receiver<Followed>) {
        let (reply, told) = oneshot::channel();
        let until = Deadline::after(DurationMs::from_millis(for_ms));
        (Waiter { key: key.parse().expect("a key"), until, reply }, told)
    }

    fn later() -> Convergence {
        Convergence::Later { why: "slow".to_owned(), after: None }
    }

    const SECOND: DurationMs = DurationMs::from_secs(1);

    #[test]
    fn who_comes_during_a_look_is_told_by_the_next_one() {
        let mut slot = Slot::default();
        let (first, mut told_first) = waiter("k1", 60_000);
        slot.wait(first);
        assert_eq!(slot.begin(), None);
        let (second, mut told_second) = waiter("k2", 60_000);
        slot.wait(second);
        let key = "k1".parse().expect("a key");
        slot.looked(Convergence::Converged { key, answer: None }, SECOND);
        assert!(matches!(told_first.try_recv(), Ok(Followed::Converged(None))));
        assert!(matches!(told_second.try_recv(), Err(TryRecvError::Empty)));
        assert!(slot.due().is_some_and(Deadline::is_past), "it is looked at again at once");
        slot.begin();
        let key = "k3".parse().expect("a key");
        slot.looked(Convergence::Converged { key, answer: None }, SECOND);
        assert!(matches!(told_second.try_recv(), Ok(Followed::Failed(_))), "it was overtaken");
        assert!(slot.is_over());
    }

    #[test]
    fn pauses_grow_and_something_new_ends_them() {
        let mut slot = Slot::default();
        let mut pauses = Vec::new();
        for _ in 0..10 {
            slot.begin();
            slot.looked(later(), SECOND);
            pauses.push(slot.pause.expect("a pause").as_millis());
        }
        assert_eq!((pauses[0], pauses[1], pauses[9]), (200, 400, 30_000));
        assert!(!slot.due().expect("due").is_past());
        slot.wake();
        assert!(slot.due().expect("due").is_past());
        slot.begin();
        slot.wake();
        slot.looked(later(), SECOND);
        assert!(slot.due().expect("due").is_past(), "what came meanwhile is seen at once");
    }

    #[test]
    fn what_failed_for_good_is_wished_anew_in_time_and_not_after_something_new() {
        let failed = |slot: &mut Slot, pause| {
            let (key, why) = ("k1".parse().expect("a key"), "no".to_owned());
            slot.looked(Convergence::Failed { key, why }, pause);
        };
        let mut slot = Slot::default();
        assert_eq!(slot.begin(), None);
        // Who comes late for the very wish is told at once, and hurries nothing.
        let (late, mut told) = waiter("k1", 60_000);
        slot.wait(late);
        failed(&mut slot, SECOND);
        assert!(matches!(told.try_recv(), Ok(Followed::Failed(_))));
        assert_eq!(slot.begin(), None, "it is not time yet");
        failed(&mut slot, SECOND);
        assert!(!slot.due().expect("due").is_past());
        let mut slot = Slot::default();
        slot.begin();
        failed(&mut slot, DurationMs::ZERO);
        assert_eq!(slot.begin().expect("it is wished anew").as_str(), "k1");
        failed(&mut slot, DurationMs::ZERO);
        slot.wake();
        assert_eq!(slot.begin(), None);
    }

    #[test]
    fn nobody_waits_longer_than_asked() {
        let mut slot = Slot::default();
        let (waiter, mut told) = waiter("k1", 0);
        slot.wait(waiter);
        slot.begin();
        slot.looked(later(), SECOND);
        slot.tell_who_waits_no_longer();
        let Ok(Followed::Failed(why)) = told.try_recv() else { panic!("nobody was told") };
        assert_eq!(why, "it is not so yet: slow");
    }

    #[test]
    fn pauses_vary_by_a_quarter() {
        let pauses: Vec<u64> =
            (0..200).map(|_| jittered(DurationMs::from_millis(1000)).as_millis()).collect();
        assert!(pauses.iter().all(|pause| (750..=1250).contains(pause)), "{pauses:?}");
        assert!(pauses.iter().any(|pause| *pause != pauses[0]));
        assert_eq!(jittered(DurationMs::ZERO), DurationMs::ZERO);
    }
}
