//! A bug of ours that comes to light while a line is carried out: one answer like any other, and no
//! trace of a program that nobody but us can read.
//!
//! Owns the hook for panics. Never guesses what was done: nobody knows what was recorded or
//! applied.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use super::exit::Exit;
use super::output::{Answer, Applied, Out, Recorded};
use super::problem::Problem;

/// What the first panic said and where: others follow from it.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

/// Carries a line out; a panic in it is answered. `is_traced` says whether stderr shows its trace
/// as well (`RUST_BACKTRACE`).
pub(super) fn answered(
    is_traced: bool,
    out: &mut Out,
    line: impl FnOnce(&mut Out) -> Exit,
) -> Exit {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| panic.to_string());
        if is_traced {
            hook(panic);
        }
    }));
    // What the panic left half done is not looked at any more, but for whether an answer is out.
    let Ok(exit) = catch_unwind(AssertUnwindSafe(|| line(out))) else {
        return out.last_answer(&Answer::failed(problem()));
    };
    exit
}

fn problem() -> Problem {
    let first = FIRST.lock().unwrap_or_else(PoisonError::into_inner).take();
    let what: Vec<String> =
        first.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect();
    let mut problem = Problem::internal(what.join(" "));
    problem.recorded = Recorded::Unknown;
    problem.applied = Applied::Unknown;
    problem
}
