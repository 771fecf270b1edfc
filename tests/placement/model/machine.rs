//! Who may do what next: two workers, their calls, which may sleep, die and wake up late, a person,
//! and an application that has rows acknowledged wherever it can.

use scalectl::domain::placement::operation::{Course, Operation, Step};
use stateright::{Model, Property};

use super::Mutant;
use super::book::{Book, Order, Said, at_work};
use super::calls::{Call, Came, No};
use super::truth::{Gate, Truth};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Worker {
    Idle,
    /// It holds a lease and is between two steps.
    Ready {
        operation: u8,
        token: u64,
    },
    /// It waits for what its call says.
    Waits {
        operation: u8,
        token: u64,
        step: Step,
        heard: Heard,
    },
}

/// What a worker knows of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Heard {
    Nothing,
    Done,
    Refused(No),
    Died,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Snapshot {
    pub(super) page: u32,
    pub(super) workers: [Worker; 2],
    /// The calls that live, and whose parent waits for them.
    pub(super) calls: Vec<(Call, Option<u8>)>,
    pub(super) truth: Truth,
    left: Budget,
    pub(super) broken: Option<&'static str>,
}

/// How often things may still happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Budget {
    /// A worker or a call is killed, an answer is lost, something is in the way.
    pub(super) mishaps: u8,
    /// Something is in the way that does not pass.
    pub(super) refusals: u8,
    /// Somebody takes over from a worker that lives.
    pub(super) supersedes: u8,
    pub(super) abandons: u8,
    pub(super) retries: u8,
    pub(super) writes: u8,
    /// The way there, and the way back.
    pub(super) moves: u8,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Act {
    Move,
    Acquire {
        worker: u8,
        supersede: bool,
    },
    Begin(u8),
    Part(usize),
    /// A call is killed before one of its writes.
    DiesAt(usize, u8),
    /// A call ends, and something was in the way, or is and stays there.
    InTheWay(usize, No),
    Hears(u8),
    /// A worker waits no longer; its call may live on.
    Loses(u8),
    Kill(u8),
    Leave(u8),
    Abandon,
    Retry,
    Write(usize),
}

pub(super) struct Machine {
    pub(super) book: Book,
    pub(super) mutant: Mutant,
    pub(super) budget: Budget,
}

impl Model for Machine {
    type State = Snapshot;
    type Action = Act;

    fn init_states(&self) -> Vec<Snapshot> {
        vec![Snapshot {
            page: 0,
            workers: [Worker::Idle; 2],
            calls: Vec::new(),
            truth: Truth::new(),
            left: self.budget,
            broken: None,
        }]
    }

    fn actions(&self, now: &Snapshot, acts: &mut Vec<Act>) {
        if now.broken.is_some() {
            return;
        }
        let state = self.book.at(now.page);
        let operation = at_work(&state);
        if operation.is_none() && now.left.moves > 0 {
            acts.push(Act::Move);
        }
        for worker in 0..2_u8 {
            self.worker(now, worker, acts);
        }
        for at in 0..now.calls.len() {
            acts.push(Act::Part(at));
            if now.left.mishaps > 0 {
                acts.extend((0..3).map(|write| Act::DiesAt(at, write)));
                acts.extend(now.calls[at].1.map(|_| Act::InTheWay(at, No::TimedOut)));
            }
            if now.left.refusals > 0 {
                acts.extend(now.calls[at].1.map(|_| Act::InTheWay(at, No::Unprovable)));
            }
        }
        if operation.is_some() && now.left.abandons > 0 {
            acts.push(Act::Abandon);
        }
        if operation.is_some_and(|it| it.course == Course::Stuck) && now.left.retries > 0 {
            acts.push(Act::Retry);
        }
        if now.left.writes > 0 {
            let open = now.truth.copies.iter().enumerate();
            let open = open.filter(|(_, it)| it.is_some_and(|it| it.gate == Gate::Open));
            acts.extend(open.map(|(at, _)| Act::Write(at)));
        }
    }

    fn next_state(&self, last: &Snapshot, act: Act) -> Option<Snapshot> {
        let mut next = last.clone();
        self.perform(&mut next, act);
        // What nobody waits for and what has no part left is gone.
        next.calls.sort_unstable();
        if next.broken.is_none() {
            next.broken = self.broken(&next);
        }
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("every promise holds", |_, now: &Snapshot| now.broken.is_none())]
    }
}

impl Machine {
    fn worker(&self, now: &Snapshot, worker: u8, acts: &mut Vec<Act>) {
        let state = self.book.at(now.page);
        match now.workers[usize::from(worker)] {
            Worker::Idle => {
                let Some(operation) = at_work(&state) else { return };
                if operation.course == Course::Stuck {
                    return;
                }
                acts.push(Act::Acquire { worker, supersede: false });
                if now.left.supersedes > 0 && operation.lease.is_some() {
                    acts.push(Act::Acquire { worker, supersede: true });
                }
            }
            Worker::Ready { operation, .. } => {
                let is_over = at_work(&state)
                    .is_none_or(|it| it.course == Course::Stuck || number(&it.to) != operation);
                acts.push(if is_over { Act::Leave(worker) } else { Act::Begin(worker) });
                if !is_over && now.left.mishaps > 0 {
                    acts.push(Act::Kill(worker));
                }
            }
            Worker::Waits { heard, .. } => {
                if heard != Heard::Nothing {
                    acts.push(Act::Hears(worker));
                }
                if now.left.mishaps > 0 {
                    acts.push(Act::Kill(worker));
                    acts.push(Act::Loses(worker));
                }
            }
        }
    }

    fn ask(&self, next: &mut Snapshot, order: Order) -> bool {
        match self.book.ask(next.page, order) {
            Said::Done(page) => {
                next.page = page;
                true
            }
            Said::Refused(_) => false,
            Said::Broken(rule) => {
                next.broken = Some(rule);
                false
            }
        }
    }

    fn perform(&self, next: &mut Snapshot, act: Act) {
        match act {
            Act::Move => {
                let number = self.budget.moves - next.left.moves;
                next.left.moves -= 1;
                self.ask(next, Order::Move(number));
            }
            Act::Acquire { worker, supersede } => self.acquire(next, worker, supersede),
            Act::Begin(worker) => self.begin(next, worker),
            Act::Part(at) => self.part(next, at, None),
            Act::DiesAt(at, write) => {
                next.left.mishaps -= 1;
                self.part(next, at, Some(write));
            }
            Act::InTheWay(at, no) => {
                let left = &mut next.left;
                let left = if no == No::TimedOut { &mut left.mishaps } else { &mut left.refusals };
                *left -= 1;
                let (_, parent) = next.calls.remove(at);
                tell(next, parent, Heard::Refused(no));
            }
            Act::Hears(worker) => self.hears(next, worker),
            Act::Loses(worker) => {
                next.left.mishaps -= 1;
                orphan(next, worker);
                let Worker::Waits { operation, token, step, .. } =
                    next.workers[usize::from(worker)]
                else {
                    return;
                };
                self.record(next, worker, Order::Lost { operation, token, step });
            }
            Act::Kill(worker) => {
                next.left.mishaps -= 1;
                orphan(next, worker);
                next.workers[usize::from(worker)] = Worker::Idle;
            }
            Act::Leave(worker) => {
                if let Worker::Ready { operation, token } = next.workers[usize::from(worker)] {
                    self.ask(next, Order::Release { operation, token });
                }
                next.workers[usize::from(worker)] = Worker::Idle;
            }
            Act::Abandon => {
                let is_gone = is_gone(next, at_work(&self.book.at(next.page)));
                if self.ask(next, Order::Abandon { is_gone }) {
                    next.left.abandons -= 1;
                }
            }
            Act::Retry => {
                next.left.retries -= 1;
                self.ask(next, Order::Retry);
            }
            Act::Write(at) => {
                next.left.writes -= 1;
                next.truth.write(at);
            }
        }
    }

    fn acquire(&self, next: &mut Snapshot, worker: u8, supersede: bool) {
        let state = self.book.at(next.page);
        let is_gone = is_gone(next, at_work(&state));
        next.left.supersedes -= u8::from(supersede);
        if !self.ask(next, Order::Acquire { worker, is_gone, supersede }) {
            return;
        }
        let state = self.book.at(next.page);
        let Some(operation) = at_work(&state) else { return };
        let lease = operation.lease.as_ref().expect("it was just given");
        let (number, token) = (number(&operation.to), lease.token.get());
        next.workers[usize::from(worker)] = Worker::Ready { operation: number, token };
    }

    /// The next step of a worker: a commit, or a call that is durable before it is made.
    fn begin(&self, next: &mut Snapshot, worker: u8) {
        let Worker::Ready { operation, token } = next.workers[usize::from(worker)] else { return };
        let state = self.book.at(next.page);
        let Some(step) = at_work(&state).and_then(Operation::next_step) else { return };
        if step == Step::Commit {
            let was_ready = next.truth.is_ready(usize::from(operation));
            if !self.ask(next, Order::Commit { operation, token }) {
                next.workers[usize::from(worker)] = Worker::Idle;
            } else if !was_ready {
                next.broken = Some("a copy was committed that is not the whole of a closed source");
            }
            return;
        }
        if !self.ask(next, Order::Start { operation, token }) {
            next.workers[usize::from(worker)] = Worker::Idle;
            return;
        }
        next.workers[usize::from(worker)] =
            Worker::Waits { operation, token, step, heard: Heard::Nothing };
        next.calls.push((Call::new(operation, token, step), Some(worker)));
    }

    fn part(&self, next: &mut Snapshot, at: usize, dies_at: Option<u8>) {
        let (mut call, parent) = next.calls.remove(at);
        match next.truth.part(&mut call, dies_at, self.mutant) {
            Ok(Came::On) if dies_at.is_none() => next.calls.push((call, parent)),
            Ok(Came::On | Came::Died) => tell(next, parent, Heard::Died),
            Ok(Came::Done) if dies_at.is_some() => tell(next, parent, Heard::Died),
            Ok(Came::Done) => tell(next, parent, Heard::Done),
            Err(no) => tell(next, parent, Heard::Refused(no)),
        }
    }

    fn hears(&self, next: &mut Snapshot, worker: u8) {
        let Worker::Waits { operation, token, step, heard } = next.workers[usize::from(worker)]
        else {
            return;
        };
        let order = match heard {
            Heard::Done => Order::Done { operation, token, step },
            Heard::Refused(no) => Order::Refused { operation, token, step, no },
            Heard::Died => Order::Lost { operation, token, step },
            Heard::Nothing => return,
        };
        self.record(next, worker, order);
    }

    /// What became of a call is recorded; a worker that is not heard any more leaves.
    fn record(&self, next: &mut Snapshot, worker: u8, order: Order) {
        let Worker::Waits { operation, token, .. } = next.workers[usize::from(worker)] else {
            return;
        };
        let is_recorded = self.ask(next, order);
        let state = self.book.at(next.page);
        let is_unsure = at_work(&state).is_some_and(|it| it.unsure.is_some());
        next.workers[usize::from(worker)] = match (is_recorded, is_unsure) {
            (true, false) => Worker::Ready { operation, token },
            // Its call may live: it goes on under another lease.
            (true, true) | (false, _) => Worker::Idle,
        };
    }
}

/// Whether whoever holds the lease was killed, which is known on its host.
fn is_gone(now: &Snapshot, operation: Option<&Operation>) -> bool {
    let lease = operation.and_then(|it| it.lease.as_ref());
    lease.is_some_and(|lease| now.workers.iter().all(|it| it.token() != Some(lease.token.get())))
}

/// The number of the operation that makes a copy.
fn number(to: &scalectl::domain::placement::environment::Effective) -> u8 {
    u8::try_from(to.epoch.get() - 2).expect("few")
}

fn tell(next: &mut Snapshot, parent: Option<u8>, said: Heard) {
    let Some(parent) = parent else { return };
    if let Worker::Waits { heard, .. } = &mut next.workers[usize::from(parent)] {
        *heard = said;
    }
}

fn orphan(next: &mut Snapshot, worker: u8) {
    for (_, parent) in next.calls.iter_mut().filter(|(_, parent)| *parent == Some(worker)) {
        *parent = None;
    }
}

impl Worker {
    const fn token(self) -> Option<u64> {
        match self {
            Self::Idle => None,
            Self::Ready { token, .. } | Self::Waits { token, .. } => Some(token),
        }
    }
}
