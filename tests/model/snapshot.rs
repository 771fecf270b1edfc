//! One state of the model: the ledger's page, the world around it, and what is left of the budget.

use scalectl::domain::id::LeaseInstanceId;

use super::orders::Answer;

/// Whether a call has changed the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Effect {
    /// Not yet; it may still.
    Pending,
    Whole,
    Partial,
    /// Not, and it never will.
    Never,
}

/// One call, as it really is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Call {
    pub(super) key: u8,
    pub(super) attempt: u8,
    pub(super) host: u8,
    pub(super) lease: LeaseInstanceId,
    /// When its `started` was made durable, in real time.
    pub(super) started: i8,
    pub(super) spawned: bool,
    /// When its group was dead: in real time, and by the wall clock.
    pub(super) ended: Option<(i8, i8)>,
    pub(super) effect: Effect,
    pub(super) answer: Answer,
    /// The target has promised that it takes no effect any more.
    pub(super) powerless: bool,
}

impl Call {
    pub(super) const fn is_alive(&self) -> bool {
        self.spawned && self.ended.is_none()
    }

    /// Whether it may change the target, now or later.
    pub(super) const fn is_dangerous(&self) -> bool {
        !self.powerless && (self.ended.is_none() || matches!(self.effect, Effect::Pending))
    }
}

/// What a process on a host is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Process {
    Idle,
    /// It has read the target, and is about to start an attempt.
    Gathered {
        key: u8,
        look: super::orders::Look,
    },
    /// Its `started` is durable, and the child is not spawned.
    Committed {
        call: u8,
    },
    /// It waits for its child, or holds the answer and has not recorded it.
    Waiting {
        call: u8,
    },
    /// It has read the target, and is about to record that.
    Read {
        key: u8,
        look: super::orders::Look,
    },
    /// It has read the target, and is about to fence it, or to record that it has.
    Fencing {
        key: u8,
        attempt: u8,
        look: super::orders::Look,
        is_done: bool,
    },
    /// It was told what became of a call, and is about to record that.
    Told {
        key: u8,
        word: super::orders::Word,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Snapshot {
    pub(super) page: u32,
    /// Which of the policies holds.
    pub(super) policy: u8,
    /// Real time: it only goes on.
    pub(super) real: i8,
    /// What the wall clock is off by.
    pub(super) skew: i8,
    pub(super) processes: Vec<Process>,
    pub(super) calls: Vec<Call>,
    pub(super) replicas: u8,
    pub(super) version: u8,
    pub(super) mishaps: u8,
    pub(super) steps: u8,
    /// How many readings may still be recorded: each is news, and there is no end to them.
    pub(super) looks: u8,
    /// A person has said what is not so.
    pub(super) lied: bool,
    pub(super) broken: Option<&'static str>,
}

impl Snapshot {
    pub(super) const fn wall(&self) -> i8 {
        self.real + self.skew
    }

    /// What cannot happen any more is forgotten, so that equal futures meet.
    pub(super) fn settle(&mut self, quiet: i8) {
        let (real, wall) = (self.real, self.wall());
        for call in &mut self.calls {
            let is_over = call.ended.is_some_and(|(ended_real, ended_wall)| {
                real >= ended_real + quiet || wall >= ended_wall + quiet
            });
            if call.effect == Effect::Pending && (is_over || call.powerless) {
                call.effect = Effect::Never;
            }
        }
    }
}
