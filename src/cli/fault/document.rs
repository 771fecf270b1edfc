//! Documents that cannot be taken: what is wrong with them, and where their shape is shown.

use crate::cli::problem::{Problem, ProblemContext};
use crate::domain::canonical::DocumentError;

pub(super) fn of(what: &str, error: &DocumentError, context: &ProblemContext) -> Problem {
    let problem = Problem::usage(code(error), format!("{what}: {error}"));
    let verb = context.verb.first().map_or("", String::as_str);
    let schema = match verb {
        "intent" => "intent",
        "service" => "registration",
        "verify" => {
            return problem
                .hint("what it takes is what an earlier run has printed of")
                .run(context.command(&["verify", "-o", "json"]));
        }
        _ => return problem.hint("mend the document; nothing of it was taken"),
    };
    problem
        .hint("mend the document; its shape is shown by")
        .run(context.command(&["schema", schema]))
}

const fn code(error: &DocumentError) -> &'static str {
    match error {
        DocumentError::Empty => "document_empty",
        DocumentError::TooLong => "document_too_long",
        DocumentError::NotUtf8 { .. } => "document_not_utf8",
        DocumentError::Syntax(_) => "document_syntax",
        DocumentError::Shape { .. } => "document_shape",
    }
}
