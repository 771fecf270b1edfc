//! `status --watch`: the same answer again and again, in the same place of a terminal.

use super::{StatusArgs, answer_of};
use crate::cli::app::App;
use crate::cli::exit::Exit;
use crate::cli::noun::Outcome;
use crate::cli::output::{Answer, Format, Out};
use crate::cli::problem::Problem;

/// Ends where nobody reads any more, or by a signal, which needs no handler: nothing is held, the
/// screen is as usual, and nothing is written.
pub(super) fn run(args: &StatusArgs, app: &mut App, out: &mut Out) -> Outcome {
    let is_stream = out.format() == Format::Ndjson;
    if !is_stream && (out.format() != Format::Table || out.look().width().is_none()) {
        return Err(Problem::usage("watch_needs_a_terminal", "there is no screen to repaint")
            .hint("in a pipe each look is a line with -o ndjson; one look needs no --watch")
            .into());
    }
    let of_opening = app.session()?.notices.clone();
    loop {
        // After a restore another file is in the place of the one before. What was said of an
        // earlier look is said again where it is still so.
        app.session_anew()?.notices.clone_from(&of_opening);
        let mut answer = answer_of(args, app)?;
        answer.ledger = app.ledger_shown();
        for notice in &app.session()?.notices {
            answer = answer.warning(notice.code, notice.text.clone());
        }
        if is_stream {
            let _: Exit = out.answer(&answer);
        } else {
            out.repaint(&answer);
        }
        if out.is_closed() || out.waits_for_reader(args.every) {
            return Ok(Answer::ok().streamed());
        }
    }
}
