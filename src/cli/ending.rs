//! How what stands ends an answer: what became of the target, and the problem where it is not well.
//!
//! Never decides an exit code: the class of a standing does, and the answer holds it to what became
//! of the target.

use super::app::App;
use super::exit::Exit;
use super::output::{Answer, Applied};
use super::unwell;
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::left::Left;
use crate::ops::report::{Effect, Report};

/// What a command has done to the target, as answers say it.
pub(super) const fn applied(effect: Effect) -> Applied {
    match effect {
        Effect::None => Applied::No,
        Effect::Applied => Applied::Yes,
        Effect::Partial => Applied::Partial,
        Effect::Unknown => Applied::Unknown,
    }
}

/// What the calls of a key have left of the target, as answers say it.
pub(super) const fn applied_of_left(left: Left) -> Applied {
    match left {
        Left::Nothing | Left::Unconfirmed => Applied::No,
        Left::Changed => Applied::Partial,
        Left::Unknown => Applied::Unknown,
    }
}

/// The answer of a report that ends with `exit`, before anything is shown of it.
pub(super) fn of(app: &App, report: &Report, exit: Exit) -> Answer {
    let ending = match unwell::problem(app, report, exit) {
        Some(problem) => Answer::failed(problem),
        None => Answer::ending(exit),
    };
    ending.applied(applied_of(report, exit))
}

/// What became of the target: what this command did, and what is unknown or half done of the key.
/// What it had called, and could not tell, it may have found out since.
pub(super) fn applied_of(report: &Report, exit: Exit) -> Applied {
    let recorded = Effect::recorded_of(&report.execution);
    applied(match (report.effect, recorded, exit) {
        (Effect::Unknown, Some(recorded), _) => recorded,
        // What is under way elsewhere may still be said.
        (Effect::None, None, exit) if exit == Exit::Unknown || is_lost(&report.execution) => {
            Effect::Unknown
        }
        (Effect::None, Some(Effect::Partial), _) => Effect::Partial,
        (effect, ..) => effect,
    })
}

const fn is_lost(execution: &Execution) -> bool {
    matches!(execution.phase, Phase::RecoveryPending { .. })
}
