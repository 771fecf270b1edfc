//! Faults: everything that a verb can end with, made into the one form of a problem.

mod busy;
mod document;
mod gateway;
mod host;
mod life;

use super::exit::Exit;
use super::output::Recorded;
use super::problem::{EndSignal, Problem, ProblemContext};
use crate::actuator::error::{BindingError, CallError, HostError};
use crate::domain::id::ExecutionKey;
use crate::domain::scale::left::Left;
use crate::domain::scale::rejection::Rejection;
use crate::ledger::{ErrorClass, LedgerError};
use crate::ops::OpError;
use crate::policy::PolicyError;

const EXHAUSTED: &str = "make room for it (descriptors: ulimit -n), then run this same line again";

/// What a verb ends with, where it does not end well.
#[derive(Debug)]
pub(crate) enum Fault {
    /// An operation's error.
    Op(OpError),
    /// A problem that is complete already.
    Problem(Box<Problem>),
}

impl Fault {
    pub(crate) fn usage(code: &'static str, message: impl Into<String>) -> Self {
        Self::Problem(Box::new(Problem::usage(code, message)))
    }

    /// What is no key, with what one looks like.
    pub(crate) fn no_key(message: impl Into<String>) -> Self {
        Problem::usage("invalid_key", message)
            .hint("write a key such as deploy-42, or SERVICE@REVISION, or SERVICE@latest")
            .into()
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::Problem(Box::new(Problem::internal(message)))
    }

    /// 20: the system did not give what every command needs.
    pub(crate) fn host(message: impl Into<String>) -> Self {
        Problem::new("host_exhausted", Exit::Unavailable, message).hint(EXHAUSTED).into()
    }

    pub(crate) fn into_problem(self, context: &ProblemContext) -> Problem {
        match self {
            Self::Problem(problem) => *problem,
            Self::Op(error) => of_op(error, context),
        }
    }

    /// What its key has left, where the fault says so itself.
    pub(crate) fn left(&self) -> Option<Left> {
        match self {
            Self::Op(OpError::Rejected { left, .. }) => *left,
            Self::Op(_) => None,
            Self::Problem(_) => Some(Left::Nothing),
        }
    }

    /// The service as it stands, where the fault knows it.
    pub(crate) fn head(&self) -> Option<&crate::domain::scale::state::ServiceHead> {
        match self {
            Self::Op(OpError::Rejected { head, .. }) => head.as_deref(),
            Self::Op(_) | Self::Problem(_) => None,
        }
    }
}

macro_rules! from_op {
    ($($error:ty),+) => {$(
        impl From<$error> for Fault {
            fn from(error: $error) -> Self {
                Self::Op(error.into())
            }
        }
    )+};
}

from_op!(LedgerError, Rejection, HostError, CallError, BindingError, PolicyError);

impl From<OpError> for Fault {
    fn from(error: OpError) -> Self {
        Self::Op(error)
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

const fn signal_of(signal: i32) -> EndSignal {
    match signal {
        1 => EndSignal::Hangup,
        2 => EndSignal::Interrupt,
        _ => EndSignal::Terminate,
    }
}

/// The policy that holds is not the expected one.
fn policy_moved(context: &ProblemContext, expected: String, actual: String) -> Problem {
    Problem::new(
        "stale_policy",
        Exit::Conflict,
        format!("the policy has digest {actual}, you expected {expected}"),
    )
    .values(expected, actual)
    .hint("look at what holds, then decide again")
    .run(context.command(&["policy", "show"]))
}

fn of_op(error: OpError, context: &ProblemContext) -> Problem {
    match error {
        OpError::Rejected { rejection, .. } => Problem::from_rejection(&rejection, context),
        OpError::Gateway(conflict) => gateway::of_conflict(&conflict),
        OpError::Placement(rejection) => Problem::from_placement(&rejection, context),
        OpError::Relocator(fault) => Problem::of_relocator(context, &fault),
        OpError::Ledger(error) => of_ledger(&error, context),
        OpError::Unrecorded { key, said, effect, source } => {
            // Where the ledger has moved meanwhile, whoever is asked there can tell.
            let mut context = context.clone();
            if let OpError::Ledger(LedgerError::Sealed { to, .. }) = source.as_ref() {
                context.program = vec!["scalectl".into(), "--ledger".into(), to.clone()];
            }
            let message =
                format!("{key} was called, and what became of it could not be recorded: {source}");
            let mut problem = Problem::new("unrecorded", Exit::Unknown, message)
                .fact("said", said)
                .hint("the call has ended; what became of it is found out by")
                .run(context.command(&["replay", key.as_str()]));
            problem.recorded = Recorded::Unknown;
            problem.applied = super::ending::applied(effect);
            problem
        }
        OpError::Usage { code, message, hint } => {
            let problem = Problem::usage(code, message);
            match hint {
                Some(hint) => problem.hint(hint),
                None => problem,
            }
        }
        OpError::Document { what, source } => document::of(&what, &source, context),
        OpError::PolicyMoved { expected, actual } => policy_moved(context, expected, actual),
        OpError::Policy(error) => Problem::usage("policy_invalid", error.to_string())
            .hint("nothing was changed; the shapes are shown by")
            .run(context.command(&["policy", "template"])),
        OpError::Binding(error) => of_binding(&error, context),
        OpError::ActuatorChanged { actuator, words, source } => {
            Problem::actuator_changed(context, &actuator, &source.to_string(), &words)
        }
        OpError::Actuator { actuator, op, problem, stderr } => {
            let what = Problem::actuator_unavailable(context, &actuator, op, &problem.to_string());
            let first = stderr.lines().find(|line| !line.trim().is_empty());
            match first {
                Some(line) => what.fact("stderr", format!("{:?}", cut(line))),
                None => what,
            }
        }
        OpError::Call(error) => host::of_call(&error, context),
        OpError::Host(error) => host::of_host(&error, context),
        OpError::TimedOut { what, waited, key } => {
            let problem = Problem::new("not_yet", Exit::NotYet, format!("{what} after {waited}"));
            match key {
                Some(key) => problem
                    .hint("it may yet be: look again with")
                    .run(context.command(&["observe", key.as_str()])),
                None => problem,
            }
        }
        OpError::Interrupted { signal, key } => {
            let key = key.as_ref().map(ExecutionKey::as_str);
            Problem::interrupted(context, signal_of(signal), key)
        }
        OpError::Broken(violation) => {
            Problem::internal(format!("the write would break a rule and was not made: {violation}"))
        }
        OpError::Internal { what } => Problem::internal(what),
    }
}

/// A line of somebody else, as far as an error shows it.
pub(super) fn cut(line: &str) -> String {
    line.chars().take(200).collect()
}

/// A COMMIT of which nobody knows.
fn unknown_commit(error: &LedgerError, context: &ProblemContext) -> Option<Problem> {
    let (LedgerError::CommitUnknown { command_id, .. } | LedgerError::Poisoned { command_id, .. }) =
        error
    else {
        return None;
    };
    let problem = Problem::unknown_commit(context, command_id, error.to_string(), false);
    Some(if matches!(error, LedgerError::CommitUnknown { was_moved: true, .. }) {
        Problem { code: error.code().to_owned(), ..problem }
            .hint("nothing more was written or called; once its file has its name again, ask it")
    } else {
        problem
    })
}

const fn exit_of(error: &LedgerError) -> Exit {
    match error.class() {
        ErrorClass::Conflict => Exit::Conflict,
        ErrorClass::Unknown => Exit::Unknown,
        ErrorClass::Unavailable => Exit::Unavailable,
        ErrorClass::Unusable => Exit::LedgerUnusable,
    }
}

fn of_ledger(error: &LedgerError, context: &ProblemContext) -> Problem {
    if let Some(problem) = unknown_commit(error, context) {
        return problem;
    }
    let facts = context.ledger.iter().map(|ledger| ("ledger".to_owned(), ledger.clone())).collect();
    let problem = |hint: &str| {
        let told = Problem::ledger(error.code(), exit_of(error), error.to_string(), facts, hint);
        Problem { recorded: recorded_of(error, context.recorded), ..told.applied(context) }
    };
    if let Some((hint, line)) = life::advice(error, context) {
        let told = problem(&hint);
        return if line.is_empty() { told } else { told.run(line) };
    }
    if let Some(hint) = same_line(error) {
        return problem(hint).again(context);
    }
    match error {
        LedgerError::Missing { .. } => {
            problem("set SCALECTL_LEDGER to the ledger that is meant, or make a first one with")
                .run(context.command(&["init"]))
        }
        LedgerError::Exists { .. } => {
            problem("nothing was changed; look at it with").run(context.command(&["status"]))
        }
        LedgerError::NameUnknown { .. } => {
            problem("it is told after a power cut by").run(context.command(&["status"]))
        }
        LedgerError::MadeUnopened { .. } => {
            problem("once its place is in order, look at it with").run(context.command(&["status"]))
        }
        LedgerError::Busy { path, .. } => {
            let problem = problem("run this same line again, or wait longer with --lock-timeout");
            busy::of(error, path, problem, context)
        }
        LedgerError::Older { .. } => problem("bring its tables up to this program with")
            .run(context.command(&["ledger", "migrate"])),
        LedgerError::Sealed { to, .. } => problem("use it where it goes on").run(vec![
            "scalectl".to_owned(),
            "--ledger".to_owned(),
            to.clone(),
            "status".to_owned(),
        ]),
        LedgerError::Corrupt { .. }
        | LedgerError::Nonsense { .. }
        | LedgerError::Illegal { .. } => {
            problem("see how far the damage goes with, and keep a copy before anything else")
                .run(context.command(&["verify"]))
        }
        other => problem(ledger_hint(other).unwrap_or(match context.recorded {
            Recorded::No => "nothing was recorded",
            Recorded::Yes | Recorded::Unknown => "nothing more was recorded",
        })),
    }
}

/// What a person waits for or does before the same line is run again, where that is the way on.
const fn same_line(error: &LedgerError) -> Option<&'static str> {
    match error {
        LedgerError::Stale { .. } => Some("somebody was faster: run this same line again"),
        LedgerError::Failed { .. } | LedgerError::Incomplete { .. } => {
            Some("see to what the system says, then run this same line again")
        }
        LedgerError::Unreachable { .. } | LedgerError::NotCommitted { .. } => {
            Some("run this same line again once the server can be reached")
        }
        LedgerError::Exhausted { .. } => Some(EXHAUSTED),
        LedgerError::Full { .. } => Some("make room on its disk, then run this same line again"),
        LedgerError::Reincarnated { .. } => {
            Some("it was restored meanwhile: run this same line again")
        }
        LedgerError::Unconfirmed { .. } => {
            Some("run this same line again once a standby is in step")
        }
        _ => None,
    }
}

/// What of a ledger that was being made, or waited for a standby, is recorded.
const fn recorded_of(error: &LedgerError, usual: Recorded) -> Recorded {
    match error {
        LedgerError::NameUnknown { .. } | LedgerError::Unconfirmed { .. } => Recorded::Unknown,
        LedgerError::MadeUnopened { .. } => Recorded::Yes,
        _ => usual,
    }
}

/// What a person does where no line of ours helps.
const fn ledger_hint(error: &LedgerError) -> Option<&'static str> {
    match error {
        LedgerError::NotPermitted { .. } => {
            Some("the server's administrator gives the right, the password, TLS or its certificate")
        }
        LedgerError::UnsafeServer { .. } => {
            Some("the server's administrator changes that; until then nothing is recorded there")
        }
        LedgerError::Newer { .. } => Some("use a scalectl that is as new as the ledger"),
        LedgerError::EngineTooOld { .. } => {
            Some("use a scalectl that was built with the SQLite that comes with it")
        }
        LedgerError::ReadOnly { .. } => {
            Some("let this user write the ledger, its directory and its side files")
        }
        LedgerError::IsBackup { .. } => {
            Some("it becomes a ledger by scalectl restore --from FILE, in another place")
        }
        LedgerError::Unfinished { .. } => {
            Some("run the line of scalectl ledger copy again that has begun it")
        }
        LedgerError::OtherLedger { .. } => Some("name a place where nothing is, or move that away"),
        LedgerError::Unsound { .. } => Some("nothing was changed; use an older backup"),
        LedgerError::NotShared { .. } => Some(
            "nothing was made; name a place outside of a home with --ledger, or chgrp and \
             chmod 2770 a directory for it",
        ),
        LedgerError::NetworkFileSystem { .. } => Some("keep the ledger on a disk of this host"),
        LedgerError::HardLinked { .. } => Some(
            "with no scalectl at work, remove the name that has no -wal beside it; where both have \
             one, hold a copy of each with its -wal against its events first (scalectl verify)",
        ),
        LedgerError::NotAFile { .. } => Some(
            "name the file of a ledger with --ledger or SCALECTL_LEDGER, or make one with init",
        ),
        LedgerError::Foreign { .. } => Some(
            "nothing was changed; name another file with --ledger or SCALECTL_LEDGER, or put a \
             sound copy in its place",
        ),
        _ => None,
    }
}

fn of_binding(error: &BindingError, context: &ProblemContext) -> Problem {
    match error {
        BindingError::Unbound { actuator, .. } => Problem::actuator_not_bound(context, actuator),
        BindingError::ProgramNotFound { .. } => {
            Problem::new("program_not_found", Exit::NotFound, error.to_string())
                .applied(context)
                .hint("install it, or name it by its path; then run this same line again")
                .again(context)
        }
        BindingError::ActuatorChanged { .. } | BindingError::BundledChanged { .. } => {
            Problem::new("actuator_changed", Exit::Conflict, error.to_string())
                .applied(context)
                .hint("the file was changed while it was being bound: run this same line again")
        }
        BindingError::Empty | BindingError::NotUtf8(_) => {
            Problem::usage("invalid_command", error.to_string())
        }
        BindingError::Unsafe { .. } | BindingError::Malformed { .. } | BindingError::Io { .. } => {
            let hint = match error {
                BindingError::Unsafe { .. } => {
                    "let it be yours, and writable by nobody else (chown, chmod go-w), then run \
                     this same line again"
                }
                BindingError::Malformed { .. } => {
                    "mend that line; or move the file away, and bind each actuator anew. Which \
                     there are is listed by"
                }
                _ => "let this user read and write it as a file, then run this same line again",
            };
            let problem = Problem::new("bindings_unusable", Exit::NotFound, error.to_string());
            let problem = problem.applied(context).hint(hint);
            if matches!(error, BindingError::Malformed { .. }) {
                return problem.run(context.command(&["actuator", "list"]));
            }
            problem.again(context)
        }
    }
}

#[cfg(test)]
mod tests;
