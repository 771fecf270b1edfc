//! What this host does not give: the file of a call, and what tells one host from another.

use crate::actuator::error::{CallError, HostError};
use crate::cli::exit::Exit;
use crate::cli::problem::{Problem, ProblemContext};

pub(super) fn of_call(error: &CallError, context: &ProblemContext) -> Problem {
    let hint = match error {
        CallError::Unsafe { .. } => {
            "let it be this user's alone (chown, chmod 700), then run this same line again"
        }
        CallError::Nonsense { .. } => {
            "it proves nothing, so it is left as it is: look at it, and move it away"
        }
        CallError::Survivors { .. } | CallError::Alive(_) => {
            "what is left of the call must end first; then run this same line again"
        }
        CallError::Unnameable(_)
        | CallError::Io { .. }
        | CallError::Exists { .. }
        | CallError::NotStarted { .. } => {
            "let this user write there, or make room, then run this same line again"
        }
    };
    let problem = Problem::new("call_file", Exit::Unavailable, error.to_string());
    problem.applied(context).hint(hint).again(context)
}

pub(super) fn of_host(error: &HostError, context: &ProblemContext) -> Problem {
    Problem::new("host_unknown", Exit::Unavailable, error.to_string())
        .applied(context)
        .hint("let this user read it (/proc must be mounted), then run this same line again")
        .again(context)
}
