//! The last words: an answer after a bug, and what becomes of one that could not be written.
//! stdout never gets a second document.

use super::{Answer, Applied, Block, Out, Recorded};
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
    ///
    /// Then the work is done and only its answer is missing: stderr says what was done, and the
    /// exit is the one of what could not be had, held to what became of the target.
    pub fn finish(mut self, exit: Exit) -> Exit {
        let Some(failure) = self.stdout.failure.take() else {
            return exit;
        };
        let Told { recorded, applied, line } = self.told.take().unwrap_or_default();
        let what =
            format!("the answer (exit {}) could not be written to stdout: {failure}", exit.code());
        let ends = if exit == Exit::Ok { Exit::Unavailable } else { exit };
        let problem =
            Problem { recorded, applied, ..Problem::new("answer_not_written", ends, what) }.hint(
                "it is done: with its key the same line answers again, and scalectl log tells it",
            );
        let problem = match line {
            Some(line) => {
                problem.fact("done", line.split_whitespace().collect::<Vec<_>>().join(" "))
            }
            None => problem,
        };
        let answer = Answer::failed(problem);
        self.stderr.write(&answer.stderr_text());
        answer.exit()
    }
}

/// What stderr says again where stdout could not be written.
#[derive(Debug, Default)]
pub(super) struct Told {
    recorded: Recorded,
    applied: Applied,
    line: Option<String>,
}

impl Told {
    pub(super) fn of(answer: &Answer) -> Self {
        let line = answer.blocks.iter().find_map(|block| match block {
            Block::Line(line) => Some(line.clone()),
            Block::Table(_) => None,
        });
        Self { recorded: answer.recorded, applied: answer.applied, line }
    }
}
