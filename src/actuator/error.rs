//! What can fail on the parent side of a call. Each error says what was being done to what.

use std::io;
use std::path::PathBuf;

use crate::domain::id::{ActuatorName, CallId};

/// A child could not be started, or not be held. No child of the call is left.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// There is no such program.
    #[error("starting {program:?}: there is no such file")]
    NotFound {
        /// The program as it was given.
        program: PathBuf,
    },
    /// The program is there, but not what it needs.
    #[error(
        "starting {program:?}: the file is there, but the interpreter that it names or the working directory is not"
    )]
    InterpreterNotFound {
        /// The program as it was given.
        program: PathBuf,
    },
    /// The file may not be executed by this user.
    #[error("starting {program:?}: it is not executable by this user (chmod +x?)")]
    NotExecutable {
        /// The program as it was given.
        program: PathBuf,
    },
    /// The file is executable but no program.
    #[error("starting {program:?}: it is no program (a script needs a #! line)")]
    NotAProgram {
        /// The program as it was given.
        program: PathBuf,
    },
    /// A signal asked this process to end before the child was started.
    #[error("starting {program:?}: not started, because signal {signal} came first")]
    Interrupted {
        /// The program as it was given.
        program: PathBuf,
        /// The first signal.
        signal: i32,
    },
    /// The system refused.
    #[error("starting {program:?}: {source}")]
    Refused {
        /// The program as it was given.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The child was started and, because it could not be watched, killed and reaped at once.
    #[error("watching {program:?}: {source}; it was killed")]
    Unwatchable {
        /// The program as it was given.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A guarded call or its file could not be handled.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The call id cannot name a file.
    #[error("call id {0} cannot name a call file: it has a slash")]
    Unnameable(CallId),
    /// An input or output operation failed.
    #[error("{doing} {path:?}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Others may write the directory of the call files, so its locks prove nothing.
    #[error("the directory {path:?} of the call files {why}")]
    Unsafe {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is such a call already.
    #[error("creating the call file {path:?}: it exists")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file does not hold what a call file holds. It proves nothing.
    #[error("the call file {path:?} is not one: line {line}: {why}")]
    Nonsense {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// Processes of the call survive SIGKILL (another user's, or blocked in the kernel).
    #[error("ending call {call_id}: {count} of its processes survive SIGKILL, such as pid {pid}")]
    Survivors {
        /// The call.
        call_id: CallId,
        /// How many are left.
        count: usize,
        /// One of them.
        pid: i32,
    },
    /// The call still runs, so its file stays.
    #[error("removing the file of call {0}: the call still runs")]
    Alive(CallId),
    /// The actuator was not started, which is proved: nothing can have happened.
    #[error("call {call_id}: the actuator was not started: {reason}")]
    NotStarted {
        /// The call.
        call_id: CallId,
        /// Why.
        reason: String,
    },
}

/// The identity of this host or process could not be read.
#[derive(Debug, thiserror::Error)]
#[error("reading {what}: {source}")]
pub struct HostError {
    /// What was being read.
    pub what: &'static str,
    /// Why it failed.
    pub source: io::Error,
}

/// The handlers of signals could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("setting up the handling of signals: {0}")]
pub struct SignalError(#[from] pub io::Error);

/// A binding could not be made, stored, read or trusted.
#[derive(Debug, thiserror::Error)]
pub enum BindingError {
    /// No command serves this actuator on this host.
    #[error("actuator {actuator} is not bound on this host ({path:?})")]
    Unbound {
        /// The actuator.
        actuator: ActuatorName,
        /// The file of bindings.
        path: PathBuf,
    },
    /// An input or output operation failed.
    #[error("{doing} {path:?}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The file is not a file of bindings.
    #[error("{path:?}, line {line}: {why}")]
    Malformed {
        /// The file of bindings.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// Others could change which command is run.
    #[error("{path:?} {why}; bindings there are not trusted")]
    Unsafe {
        /// The file or its directory.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The command to bind names no program.
    #[error("a binding needs a command: PROGRAM [ARG]…")]
    Empty,
    /// The command to bind is not UTF-8, and the file is.
    #[error("binding {0:?}: a bound command must be UTF-8")]
    NotUtf8(std::ffi::OsString),
    /// The program to bind was not found.
    #[error("binding {program:?}: no such executable {place}")]
    ProgramNotFound {
        /// The program as it was given.
        program: PathBuf,
        /// Where it was looked for.
        place: &'static str,
    },
    /// The file behind the binding is not the one that was bound.
    #[error("{program:?} is not the program that was bound: SHA-256 was {expected}, is {actual}")]
    ActuatorChanged {
        /// The program.
        program: PathBuf,
        /// The digest at binding time.
        expected: String,
        /// The digest now.
        actual: String,
    },
    /// The bundled actuator speaks or behaves otherwise than when it was bound.
    #[error("the bundled actuator was bound as {expected}, this scalectl has {actual}")]
    BundledChanged {
        /// Protocol and adapter version at binding time.
        expected: String,
        /// Protocol and adapter version now.
        actual: String,
    },
}
