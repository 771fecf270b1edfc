//! The last words: an answer after a bug, and what becomes of one that could not be written.
//! stdout never gets a second document.

use super::{Answer, Out};
use crate::cli::exit::Exit;
use crate::cli::problem::Problem;

impl Out {
    /// Prints an answer unless stdout has one already, or a part of it; then only what it says on
    /// stderr.
    pub(in crate::cli) fn last_answer(&mut self, answer: &Answer) -> Exit {
        if !self.stdout.is_begun {
            return self.answer(answer);
        }
        self.stderr.write(&answer.stderr_text());
        answer.exit()
    }

    /// The exit code, unless stdout could not be written for another reason than a closed reader.
    pub fn finish(mut self, exit: Exit) -> Exit {
        let Some(failure) = self.stdout.failure.take() else {
            return exit;
        };
        let what =
            format!("the answer (exit {}) could not be written to stdout: {failure}", exit.code());
        let problem = Problem::new("answer_not_written", Exit::Internal, what)
            .hint("what was recorded stays recorded: the same line answers again");
        self.stderr.write(&problem.text_without_applied());
        if exit == Exit::Ok { Exit::Internal } else { exit }
    }
}
