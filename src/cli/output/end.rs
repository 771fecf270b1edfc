//! How an answer ends: the one place where an exit is held to what was done to the target
//! (docs/decisions/0026).

use super::{Answer, Applied, End, Recorded};
use crate::cli::exit::Exit;
use crate::cli::problem::Problem;

impl Answer {
    /// Leaves out what it has for people so far.
    pub fn without_lines(self) -> Self {
        Self { blocks: Vec::new(), ..self }
    }

    /// How the command ends. What was done to the target has the last word.
    pub fn exit(&self) -> Exit {
        let exit = match &self.end {
            End::Exit(exit) => *exit,
            End::Problem(problem) => problem.exit,
        };
        exit.after(self.applied)
    }

    /// Whether the ledger changed.
    pub const fn is_recorded(&self) -> Recorded {
        self.recorded
    }

    /// Whether the target changed.
    pub const fn is_applied(&self) -> Applied {
        self.applied
    }

    /// The error, if it is one.
    pub fn problem(&self) -> Option<&Problem> {
        match &self.end {
            End::Exit(_) => None,
            End::Problem(problem) => Some(problem),
        }
    }

    /// The same, to be told in another answer: with the exit that this one ends with.
    pub fn into_problem(self) -> Option<Problem> {
        let exit = self.exit();
        match self.end {
            End::Exit(_) => None,
            End::Problem(problem) => Some(Problem { exit, ..*problem }),
        }
    }
}
