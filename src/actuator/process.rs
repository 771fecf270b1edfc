//! One child, run whole: fed, drained, bounded in time and output, stopped with its group, reaped.
//!
//! Owns every start of a process outside `adapters/`. Never inherits more to a child than what its
//! [`ChildSpec`] lists, and never leaves one unreaped. After a crash of this process a child of
//! [`run`] lives on; what must not is started by [`super::guarded`].

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::io::{Errno, FdFlags, fcntl_setfd};

use super::error::SpawnError;
use super::host::Deadline;
use super::signals;
use super::supervise::{Hold, supervise};
use crate::crash;
use crate::domain::time::DurationMs;

/// Attempts to start a program whose file is still open for writing somewhere (ETXTBSY).
const BUSY_ATTEMPTS_MAX: u32 = 6;

/// Held during every start of a child, because for that time a descriptor may be inheritable.
static STARTING: Mutex<()> = Mutex::new(());

/// What is started. The child inherits nothing else: no other variable, no other descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildSpec {
    /// The program; looked up in the `PATH` of `env` if it has no slash.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory; ours if there is none.
    pub current_dir: Option<PathBuf>,
}

/// How much a child may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// When it is killed.
    pub deadline: Deadline,
    /// How much of stdout is kept. The rest is drained and counted.
    pub stdout_bytes_max: usize,
    /// How much of stderr is kept. The rest is drained and counted.
    pub stderr_bytes_max: usize,
    /// How long output is awaited after the child has ended, if somebody still holds a pipe.
    pub drain_grace: DurationMs,
    /// How long the child may go on after a signal of ours was forwarded to it.
    pub interrupt_grace: DurationMs,
}

impl Limits {
    /// The bounds of the actuator protocol, and this deadline.
    pub const fn until(deadline: Deadline) -> Self {
        Self {
            deadline,
            stdout_bytes_max: 1024 * 1024,
            stderr_bytes_max: 64 * 1024,
            drain_grace: DurationMs::from_millis(200),
            interrupt_grace: DurationMs::from_secs(5),
        }
    }

    /// The bounds of the actuator protocol, and a deadline so long after now.
    pub fn within(timeout: DurationMs) -> Self {
        Self::until(Deadline::after(timeout))
    }
}

/// What the caller does during a call.
pub trait Watch {
    /// Called when [`Watch::next_tick`] has come. May answer that the call must end now.
    fn tick(&mut self) -> Tick;
    /// How long until the next tick is due: zero for now, none for never. A tick must move it on.
    fn next_tick(&self) -> Option<Duration>;
    /// Called with what the child has written to stderr since the last time.
    fn heard(&mut self, _stderr: &[u8]) {}
}

/// Whether a call goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tick {
    /// It goes on.
    Continue,
    /// It is killed at once.
    End,
}

/// Nothing to do during the call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn tick(&mut self) -> Tick {
        Tick::Continue
    }

    fn next_tick(&self) -> Option<Duration> {
        None
    }
}

/// Why a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, which we did not send.
    Signalled(i32),
    /// It was killed at its deadline.
    TimedOut,
    /// This process was asked to end by this signal, and forwarded it.
    Interrupted(i32),
    /// The [`Watch`] asked for the end.
    Stopped,
}

/// How the child itself ended, whatever was asked of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaderEnd {
    /// It exited with this code.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
}

/// A finished call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Why it ended.
    pub end: ChildEnd,
    /// How the child itself ended: an interrupted child may still have exited with 0. None if that
    /// is not known, because even SIGKILL did not end it in time or because its guard was killed.
    pub leader: Option<LeaderEnd>,
    /// The first bytes of its stdout.
    pub stdout: Vec<u8>,
    /// How many more there were.
    pub stdout_dropped: u64,
    /// The first bytes of its stderr.
    pub stderr: Vec<u8>,
    /// How many more there were.
    pub stderr_dropped: u64,
    /// How long it took, on the boot clock.
    pub duration: DurationMs,
}

/// Runs one child in a process group of its own until the whole group is dead.
///
/// Stdin is written while both outputs are drained. The child ends by itself, at the deadline,
/// when `watch` says so, or after SIGINT, SIGTERM or SIGHUP to us: the first is forwarded and
/// followed by SIGKILL after [`Limits::interrupt_grace`], a second of any kind kills at once. Who
/// has left the group is neither killed nor waited for. Blocks; errors mean that no child is left.
pub fn run(
    spec: &ChildSpec,
    stdin: &[u8],
    limits: &Limits,
    watch: &mut dyn Watch,
) -> Result<Captured, SpawnError> {
    refuse_after_signal(&spec.program)?;
    let child = spawn_piped(spec, Group::Own, None)?;
    supervise(child, Hold::Group, spec, stdin, limits, watch, signals::installed())
}

/// The same for a child that has nothing to do with what this process was asked to do: a signal to
/// us is not its, and it is started after one, too.
pub fn run_aside(
    spec: &ChildSpec,
    stdin: &[u8],
    limits: &Limits,
    watch: &mut dyn Watch,
) -> Result<Captured, SpawnError> {
    let child = spawn_piped(spec, Group::Own, None)?;
    supervise(child, Hold::Group, spec, stdin, limits, watch, None)
}

/// A child is not started once this process was asked to end.
pub(super) fn refuse_after_signal(program: &Path) -> Result<(), SpawnError> {
    match signals::installed().and_then(signals::Signals::first) {
        Some(signal) => Err(SpawnError::Interrupted { program: program.to_owned(), signal }),
        None => Ok(()),
    }
}

/// Which process group a child starts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// Its own.
    Own,
    /// Ours, for a child that makes a session of its own (which a leader of a group cannot).
    Ours,
}

/// Starts a child with three pipes. It inherits `handed_over` under the same number.
pub(super) fn spawn_piped(
    spec: &ChildSpec,
    group: Group,
    handed_over: Option<&File>,
) -> Result<Child, SpawnError> {
    let mut command = command(&spec.program, group);
    command.args(&spec.args).env_clear().envs(spec.env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(dir) = &spec.current_dir {
        command.current_dir(dir);
    }
    start(command, spec, handed_over)
}

/// Starts a child that takes over our own stdin, stdout, stderr, environment and directory.
pub(super) fn spawn_in_place(program: &Path, args: &[OsString]) -> Result<Child, SpawnError> {
    let mut command = command(program, Group::Own);
    command.args(args);
    for name in crash::VARIABLES {
        command.env_remove(name);
    }
    let spec = ChildSpec {
        program: program.to_owned(),
        args: Vec::new(),
        env: Vec::new(),
        current_dir: None,
    };
    start(command, &spec, None)
}

#[expect(clippy::disallowed_methods, reason = "the one place where children are started")]
fn command(program: &Path, group: Group) -> Command {
    let mut command = Command::new(program);
    match group {
        Group::Own => command.process_group(0),
        Group::Ours => &mut command,
    };
    command
}

fn start(
    mut command: Command,
    spec: &ChildSpec,
    handed_over: Option<&File>,
) -> Result<Child, SpawnError> {
    // No other thread may start a child while the descriptor can be inherited: a stranger would
    // hold the lock of the call.
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let inheritable = |flags| handed_over.map_or(Ok(()), |file| fcntl_setfd(file, flags));
    inheritable(FdFlags::empty()).map_err(|error| describe(spec, error.into()))?;
    let mut attempt = 1;
    let started = loop {
        match command.spawn() {
            Err(error) if is_busy(&error) && attempt < BUSY_ATTEMPTS_MAX => {
                std::thread::sleep(Duration::from_millis(1 << attempt));
                attempt += 1;
            }
            result => break result,
        }
    };
    let restored = inheritable(FdFlags::CLOEXEC);
    let mut child = started.map_err(|error| describe(spec, error))?;
    if let Err(error) = restored {
        return Err(unwatchable(&mut child, spec, error.into()));
    }
    Ok(child)
}

/// Ends and reaps a child that cannot be watched.
pub(super) fn unwatchable(child: &mut Child, spec: &ChildSpec, source: io::Error) -> SpawnError {
    // Killing an unreaped child cannot hit another process; that it has ended already is no error.
    let _ = child.kill();
    let _ = child.wait();
    SpawnError::Unwatchable { program: spec.program.clone(), source }
}

fn is_busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::TXTBSY.raw_os_error())
}

fn describe(spec: &ChildSpec, source: io::Error) -> SpawnError {
    let program = spec.program.clone();
    match source.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) if program.exists() => SpawnError::InterpreterNotFound { program },
        Some(Errno::NOENT | Errno::NOTDIR) => SpawnError::NotFound { program },
        Some(Errno::ACCESS | Errno::PERM) => SpawnError::NotExecutable { program },
        Some(Errno::NOEXEC) => SpawnError::NotAProgram { program },
        _ => SpawnError::Refused { program, source },
    }
}

/// Marks every descriptor above stderr that this process has inherited as not to be inherited
/// again.
///
/// Called once, first thing in `main`. Descriptors that are opened later are marked when opened.
pub fn protect_descriptors() {
    close_fds::set_fds_cloexec(3, &[]);
}

#[cfg(test)]
mod tests;
