//! What the line under way has done so far, and what its key has left: whatever it fails by later
//! must not deny that (docs/decisions/0026).
//!
//! Owns the one way to begin a line. A run of many begins each of them; nothing else takes back
//! what was noted.

use super::report::Effect;
use super::session::Session;
use crate::domain::scale::left::Left;

/// Whose turn it is in a run of many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Another row of the same command. What rows before it have recorded the command has; what
    /// they have done to their targets, and what their keys have left, is theirs.
    Row {
        /// What an earlier look at the same row has done.
        effect: Effect,
    },
    /// Another line of a batch, which is a command of its own.
    Line {
        /// Whether it has recorded anything.
        recorded: bool,
    },
}

/// What was done, and what was left.
#[derive(Debug, Default)]
pub(super) struct Tally {
    recorded: bool,
    effect: Effect,
    left: Left,
}

impl Tally {
    fn begun(&self, turn: Turn) -> Self {
        match turn {
            Turn::Row { effect } => Self { recorded: self.recorded, effect, left: Left::Nothing },
            Turn::Line { recorded } => Self { recorded, effect: Effect::None, left: Left::Nothing },
        }
    }
}

impl Session {
    /// Begins a row of a command, or a line of a batch.
    pub fn begin(&mut self, turn: Turn) {
        self.tally = self.tally.begun(turn);
    }

    /// Whether anything was recorded: a later refusal must not deny it.
    pub fn has_recorded(&self) -> bool {
        self.tally.recorded
    }

    /// What was done to the target.
    pub fn effect(&self) -> Effect {
        self.tally.effect
    }

    /// What the calls of the key that was loaded last have left: a later failure must not deny it.
    pub fn left(&self) -> Left {
        self.tally.left
    }

    /// Notes that something is durable.
    pub fn note_recorded(&mut self) {
        self.tally.recorded = true;
    }

    /// Notes what a call has done. One that has done nothing takes nothing back.
    pub(super) fn note_effect(&mut self, effect: Effect) {
        if effect != Effect::None {
            self.tally.effect = effect;
        }
    }

    /// Notes what a call has done that nobody could tell before.
    pub(super) fn note_settled(&mut self, effect: Effect) {
        self.tally.effect = effect;
    }

    /// Notes what the key has left that the line is about.
    pub(super) fn note_left(&mut self, left: Left) {
        self.tally.left = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_what_the_command_has_recorded_and_nothing_else_of_the_rows_before() {
        let before = Tally { recorded: true, effect: Effect::Unknown, left: Left::Changed };
        let Tally { recorded, effect, left } = before.begun(Turn::Row { effect: Effect::Applied });
        assert_eq!((recorded, effect, left), (true, Effect::Applied, Left::Nothing));
        let Tally { recorded, .. } = Tally::default().begun(Turn::Row { effect: Effect::None });
        assert!(!recorded);
    }

    #[test]
    fn a_line_of_a_batch_has_nothing_of_the_lines_before() {
        let before = Tally { recorded: true, effect: Effect::Unknown, left: Left::Changed };
        for own in [false, true] {
            let Tally { recorded, effect, left } = before.begun(Turn::Line { recorded: own });
            assert_eq!((recorded, effect, left), (own, Effect::None, Left::Nothing));
        }
    }
}
