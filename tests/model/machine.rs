//! The model: who may do what next, and what the world is like afterwards.

use scalectl::domain::scale::decide::Reply;
use scalectl::domain::scale::execution::Phase;
use stateright::{Model, Property};

use super::actions::end_of;
use super::book::{Book, Said};
use super::deeds::Turn;
use super::orders::{Answer, Order, Word};
use super::setup::Setup;
use super::snapshot::{Call, Effect, Process, Snapshot};
use super::torn::Torn;
use super::truth;
use crate::rules::support::id;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act {
    Tick,
    /// Somebody else changes the count back.
    Reset,
    Step(i8),
    /// Somebody whose clock is 450 s behind the ledger asks.
    FromThePast(Order),
    /// An order that is given and answered at once; by a process, which is idle afterwards, or by a
    /// person.
    Ask {
        host: Option<u8>,
        order: Order,
    },
    /// The start whose COMMIT is answered by an error, and that is durable nevertheless.
    StartUnknown {
        host: u8,
        order: Order,
    },
    Gather {
        host: u8,
        key: u8,
    },
    Read {
        host: u8,
        key: u8,
    },
    Spawn(u8),
    SpawnFails(u8),
    Crash(u8),
    Effect {
        call: u8,
        effect: Effect,
    },
    End {
        call: u8,
        answer: Answer,
    },
    /// The process records what its child has said.
    Deliver(u8),
    FenceTarget {
        key: u8,
        attempt: u8,
    },
    Lookup {
        key: u8,
        attempt: u8,
    },
    /// What happens to the world where several persons live.
    World(Turn),
    /// One step of a process that settles, and may die after it.
    Torn {
        host: u8,
        step: Torn,
    },
}

/// What the target has at first.
pub(super) const REPLICAS: u8 = 3;

pub(super) struct Machine {
    pub(super) setup: Setup,
    pub(super) book: Book,
}

impl Model for Machine {
    type State = Snapshot;
    type Action = Act;

    fn init_states(&self) -> Vec<Snapshot> {
        vec![Snapshot {
            page: 0,
            policy: 0,
            real: 0,
            skew: 0,
            processes: vec![Process::Idle; usize::from(self.setup.hosts)],
            calls: Vec::new(),
            replicas: REPLICAS,
            version: 1,
            mishaps: self.setup.mishaps,
            steps: self.setup.steps,
            looks: self.setup.looks,
            lied: false,
            broken: None,
        }]
    }

    fn actions(&self, snapshot: &Snapshot, acts: &mut Vec<Act>) {
        if snapshot.broken.is_some() {
            return;
        }
        self.time(snapshot, acts);
        self.children(snapshot, acts);
        for host in 0..self.setup.hosts {
            self.process(snapshot, host, acts);
        }
        self.operator(snapshot, acts);
    }

    fn next_state(&self, last: &Snapshot, act: Act) -> Option<Snapshot> {
        let mut next = last.clone();
        self.perform(&mut next, act);
        next.settle(self.setup.quiet);
        if next.broken.is_none() {
            let state = self.book.state(next.page);
            next.broken = truth::broken(&self.setup, &state, &next);
        }
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("every promise holds", |_, snapshot: &Snapshot| {
            snapshot.broken.is_none()
        })]
    }
}

impl Machine {
    fn perform(&self, next: &mut Snapshot, act: Act) {
        let wall = next.wall();
        match act {
            Act::Tick => {
                next.real += 1;
                let now = (next.real, next.wall());
                let real = next.real;
                let is_due = |call: &&mut Call| {
                    call.ended.is_none() && real >= call.started + self.setup.timeout
                };
                for call in next.calls.iter_mut().filter(is_due) {
                    call.ended = Some(now);
                    // The guard of a call whose deadline is over spawns nothing.
                    if !call.spawned {
                        call.effect = Effect::Never;
                    }
                }
            }
            Act::Reset => (next.replicas, next.version) = (REPLICAS, next.version + 1),
            Act::Step(skew) => {
                // The quiet runs on the wall clock: a step forward takes from it, and the model
                // assumes that nothing comes late then.
                let ended = next.calls.iter_mut().filter(|call| call.ended.is_some());
                for call in ended.filter(|call| call.effect == Effect::Pending && skew > next.skew)
                {
                    call.effect = Effect::Never;
                }
                next.skew = skew;
                next.steps -= 1;
            }
            Act::FromThePast(order) => self.ask_from_the_past(next, &order),
            Act::Ask { host, order } => {
                next.lied |= self.is_lie(next, &order);
                let mut is_new_look = order.is_look();
                if let Some(host) = host {
                    let was =
                        std::mem::replace(&mut next.processes[usize::from(host)], Process::Idle);
                    is_new_look &= !matches!(was, Process::Read { .. });
                }
                next.looks -= u8::from(is_new_look);
                self.ask(next, &order, wall);
            }
            Act::StartUnknown { host, order } => {
                next.mishaps -= 1;
                self.ask(next, &order, wall);
                crash(next, host);
            }
            Act::Gather { host, key } => {
                let look = self.look(next);
                next.processes[usize::from(host)] = Process::Gathered { key, look };
            }
            Act::Read { host, key } => {
                let look = self.look(next);
                next.looks -= 1;
                next.processes[usize::from(host)] = Process::Read { key, look };
            }
            Act::Spawn(host) => {
                if let Process::Committed { call } = next.processes[usize::from(host)] {
                    let made = &mut next.calls[usize::from(call)];
                    made.spawned = made.ended.is_none();
                    next.processes[usize::from(host)] = Process::Waiting { call };
                }
            }
            Act::SpawnFails(host) => {
                if let Process::Committed { call } = next.processes[usize::from(host)] {
                    let now = (next.real, wall);
                    let call = &mut next.calls[usize::from(call)];
                    (call.ended, call.effect) = (Some(now), Effect::Never);
                    let order = end_of(call, Answer::NotStarted, Some(wall), next.version);
                    next.processes[usize::from(host)] = Process::Idle;
                    self.ask(next, &order, wall);
                }
            }
            Act::Crash(host) => {
                next.mishaps -= 1;
                crash(next, host);
            }
            Act::Effect { call, effect } => {
                let call = &mut next.calls[usize::from(call)];
                call.effect = effect;
                next.version += 1;
                let wished = self.setup.wishes[usize::from(call.key)].replicas;
                next.replicas = if effect == Effect::Whole { wished } else { 4 };
            }
            Act::End { call, answer } => {
                next.mishaps -= u8::from(answer == Answer::Nothing);
                let now = (next.real, wall);
                let call = &mut next.calls[usize::from(call)];
                (call.ended, call.answer) = (Some(now), answer);
                if answer != Answer::Nothing && call.effect == Effect::Pending {
                    call.effect = Effect::Never;
                }
            }
            Act::Deliver(host) => {
                if let Process::Waiting { call } = next.processes[usize::from(host)] {
                    let call = &next.calls[usize::from(call)];
                    let ended = call.ended.map(|(_, ended)| ended);
                    let order = end_of(call, call.answer, ended, next.version);
                    next.processes[usize::from(host)] = Process::Idle;
                    self.deliver(next, &order, wall);
                }
            }
            Act::FenceTarget { key, attempt } => self.fence(next, key, attempt, wall),
            Act::Lookup { key, attempt } => {
                let word = self.look_up(next, key, attempt);
                self.ask(next, &Order::Settle { key, word }, wall);
            }
            Act::Torn { host, step } => self.torn(next, host, step),
            Act::World(turn) => Self::turn(next, turn),
        }
    }

    /// A fence is kept in the target, and moves its version.
    fn fence(&self, next: &mut Snapshot, key: u8, attempt: u8, wall: i8) {
        let look = (!self.setup.has("blind")).then(|| self.look(next));
        disarm(next, key, attempt);
        next.version += 1;
        self.ask(next, &Order::Fenced { key, attempt, look }, wall);
    }

    /// An order, and what a start leaves to be done.
    fn ask(&self, next: &mut Snapshot, order: &Order, wall: i8) {
        match self.book.ask(next, order, wall) {
            Said::Broken(rule) => next.broken = Some(rule),
            Said::Refused(_) => {}
            Said::Done(page, _) => {
                let is_new = page != next.page;
                next.page = page;
                if let (Order::Start { key, host, .. }, true) = (order, is_new) {
                    self.commit(next, *key, *host);
                }
            }
        }
    }

    fn commit(&self, next: &mut Snapshot, key: u8, host: u8) {
        let state = self.book.state(next.page);
        let Phase::Started { call } = &state.executions[&id(&Setup::key(key))].phase else {
            next.broken = Some("a start that did not start");
            return;
        };
        next.calls.push(Call {
            key,
            attempt: u8::try_from(call.attempt.get()).expect("few attempts"),
            host,
            lease: call.lease_instance_id.clone(),
            started: next.real,
            spawned: false,
            ended: None,
            effect: Effect::Pending,
            answer: Answer::Nothing,
            powerless: false,
        });
        let call = u8::try_from(next.calls.len() - 1).expect("few calls");
        next.processes[usize::from(host)] = Process::Committed { call };
    }

    /// What the actuator said is never lost while its process lives.
    fn deliver(&self, next: &mut Snapshot, order: &Order, wall: i8) {
        let is_answer = matches!(order, Order::End { answer, .. }
            if !matches!(answer, Answer::Nothing | Answer::NotStarted));
        let said = self.book.ask(next, order, wall);
        let is_lost = match &said {
            Said::Done(_, reply) => matches!(reply, Reply::Unchanged | Reply::StaleReading),
            Said::Refused(_) => true,
            Said::Broken(_) => false,
        };
        if is_answer && is_lost {
            next.broken = Some("an answer was lost");
            return;
        }
        self.ask(next, order, wall);
    }

    fn ask_from_the_past(&self, next: &mut Snapshot, order: &Order) {
        let state = self.book.state(next.page);
        let Some(mark) = state.head.time_mark else {
            return;
        };
        let ticks = (-1..=self.setup.ticks + 1).filter(|tick| super::orders::at(*tick) <= mark);
        let Some(tick) = ticks.max() else {
            return;
        };
        if !matches!(self.book.ask(next, order, tick - 3), Said::Refused("clock_skew")) {
            next.broken = Some("a clock that is far behind was believed");
        }
    }

    fn is_lie(&self, next: &Snapshot, order: &Order) -> bool {
        let Order::Settle { key, word: Word::NotApplied } = order else {
            return false;
        };
        self.setup.may("lie")
            && next.calls.iter().any(|call| {
                call.key == *key && (call.is_dangerous() || call.effect != Effect::Never)
            })
    }
}

/// A process dies: its call was never made, or goes on without it.
fn crash(next: &mut Snapshot, host: u8) {
    let now = (next.real, next.wall());
    if let Process::Committed { call } = next.processes[usize::from(host)] {
        let call = &mut next.calls[usize::from(call)];
        (call.ended, call.effect) = (Some(now), Effect::Never);
    }
    next.processes[usize::from(host)] = Process::Idle;
}

/// The target takes no effect of this attempt any more, nor of any before it.
pub(super) fn disarm(next: &mut Snapshot, key: u8, attempt: u8) {
    for call in &mut next.calls {
        if call.key == key && call.attempt <= attempt {
            call.powerless = true;
        }
    }
}
