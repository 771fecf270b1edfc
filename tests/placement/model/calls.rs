//! A call of a relocator as the model has it: its parts, its writes, and what it says.

use scalectl::domain::placement::operation::Step;

/// Why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum No {
    Stale,
    NotFenced,
    Committed,
    Unprovable,
    OtherGeneration,
    NotThere,
    Unusable,
    /// Something else was in the way; it may pass.
    TimedOut,
}

/// One call of a relocator, which may sleep between any two of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Call {
    pub(super) operation: u8,
    pub(super) token: u64,
    pub(super) step: Step,
    /// How many of its parts are done.
    pub(super) part: u8,
    /// What it has read of its source, and under which seal.
    pub(super) read: Option<(u8, u8)>,
}

impl Call {
    pub(super) const fn new(operation: u8, token: u64, step: Step) -> Self {
        Self { operation, token, step, part: 0, read: None }
    }

    /// A move is from the epoch of its number to the next one.
    pub(super) const fn source(&self) -> usize {
        self.operation as usize
    }

    pub(super) const fn target(&self) -> usize {
        self.operation as usize + 1
    }
}

/// How far a part came: it goes on, it is done, or it was killed at a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    On,
    Done,
    Died,
}

/// The writes of one part, which are one after another under the lock.
pub(super) struct Writes {
    pub(super) left: Option<u8>,
}

impl Writes {
    pub(super) fn may(&mut self) -> bool {
        match &mut self.left {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        }
    }
}
