//! The children of the bundled actuators: fed, drained, bounded, reaped.
//!
//! A child stays in the process group of the call, so whoever ends the call ends it too. No shell
//! sees a word, and nothing is asked at a terminal.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::actuator::host::Deadline;
use crate::adapters::command;

/// The longest output that is read, in bytes: a list of every autoscaler of a large namespace.
const OUTPUT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How much of what a child says to people is kept.
pub(super) const WORDS_BYTES_MAX: u64 = 64 * 1024;
/// How long the output of a child that has ended may stay open, because a helper of it holds it. It
/// is far less than what a call keeps for its own answer.
pub(super) const HELD_OUTPUT: Duration = Duration::from_millis(500);
/// How often it is looked whether a child has ended.
const LOOK_EVERY: Duration = Duration::from_millis(4);

/// The programs of others that an actuator acts through.
const PROGRAMS: [&str; 2] = ["docker", "kubectl"];

/// Why a child told nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    #[error("{0} CLI not available: no {0} in PATH")]
    Missing(&'static str),
    #[error("starting it: {0}")]
    NotStarted(io::Error),
    #[error("no time was left to start it")]
    NoTime,
    #[error("it gave no answer in time, and was killed")]
    TimedOut { words: String },
    #[error("it printed more than {OUTPUT_BYTES_MAX} bytes")]
    TooLong,
    #[error("waiting for it: {0}")]
    Lost(io::Error),
}

impl RunError {
    /// Whether there never was a child: then it has done nothing.
    pub(super) const fn is_before_start(&self) -> bool {
        match self {
            Self::Missing(_) | Self::NotStarted(_) | Self::NoTime => true,
            Self::TimedOut { .. } | Self::TooLong | Self::Lost(_) => false,
        }
    }
}

/// A child that has ended by itself.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    /// What it said to people.
    pub(super) words: String,
}

/// Whether there is such a program in PATH.
pub(super) fn is_present(program: &str) -> bool {
    #[expect(clippy::disallowed_methods, reason = "where a child would be looked for")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_here = |dir: &Path| dir.join(program).is_file();
    std::env::split_paths(&path).any(|dir| is_here(&dir))
}

/// Runs the command of somebody else, with something on its standard input.
pub(super) fn run_provider(
    words: &[String],
    stdin: &[u8],
    until: Deadline,
) -> Result<Ended, RunError> {
    let (program, args) = words.split_first().expect("BUG: a provider has a first word");
    let mut line = command(OsStr::new(program));
    line.args(args);
    run(line, stdin, until)
}

/// Runs a child to its end, with something on its standard input.
pub(super) fn run(mut line: Command, stdin: &[u8], until: Deadline) -> Result<Ended, RunError> {
    let mut child = started(&mut line, until)?;
    if let Some(mut pipe) = child.stdin.take() {
        let stdin = stdin.to_vec();
        // A child may end without reading; its exit says what that means.
        thread::spawn(move || drop(pipe.write_all(&stdin)));
    }
    let stdout = drained(child.stdout.take(), OUTPUT_BYTES_MAX);
    let stderr = drained(child.stderr.take(), WORDS_BYTES_MAX);
    let status = wait(&mut child, until);
    let words = || {
        let (bytes, _) = stderr.recv_timeout(HELD_OUTPUT).unwrap_or_default();
        // A detail is short; all of it is for people, and is no answer if it cannot be written.
        let _ = io::stderr().write_all(&bytes);
        String::from_utf8_lossy(&bytes).trim().to_owned()
    };
    match status {
        Err(error) => Err(RunError::Lost(error)),
        Ok(None) => Err(RunError::TimedOut { words: words() }),
        Ok(Some(status)) => match stdout.recv_timeout(HELD_OUTPUT) {
            Ok((_, true)) => Err(RunError::TooLong),
            Ok((stdout, false)) => Ok(Ended { status, stdout, words: words() }),
            Err(_) => Err(RunError::Lost(io::Error::other("a helper of it holds its output"))),
        },
    }
}

/// Starts a child with three pipes, if there is time.
pub(super) fn started(line: &mut Command, until: Deadline) -> Result<Child, RunError> {
    if until.is_past() {
        return Err(RunError::NoTime);
    }
    line.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    line.spawn().map_err(|error| {
        let known = PROGRAMS.into_iter().find(|program| line.get_program() == *program);
        match (error.kind(), known) {
            (io::ErrorKind::NotFound, Some(program)) => RunError::Missing(program),
            _ => RunError::NotStarted(error),
        }
    })
}

/// The end of a child; none where it had to be killed. Either way it is reaped.
fn wait(child: &mut Child, until: Deadline) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if until.is_past() {
            // That it has ended meanwhile is no error: the call is late all the same.
            let _ = child.kill();
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(until.remaining().min(LOOK_EVERY));
    }
}

/// The first bytes of a pipe, and whether there were more. The rest is read and forgotten, so that
/// a child that goes on printing is not held up.
pub(super) fn drained<R: Read + Send + 'static>(
    pipe: Option<R>,
    bytes_max: u64,
) -> Receiver<(Vec<u8>, bool)> {
    let (sender, receiver) = channel();
    let Some(mut pipe) = pipe else { return receiver };
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = (&mut pipe).take(bytes_max).read_to_end(&mut bytes);
        let rest = io::copy(&mut pipe, &mut io::sink()).unwrap_or(0);
        // Nobody waits any more if the call was late.
        let _ = sender.send((bytes, rest > 0));
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::run_provider;
    use crate::actuator::host::Deadline;
    use crate::domain::time::DurationMs;

    /// What had no time to start has done nothing; what ran out of time may have.
    #[test]
    fn a_child_that_was_never_started_is_told_from_one_that_was_late() {
        let words = ["sh", "-c", "sleep 9"].map(str::to_owned);
        for (time, is_before_start) in [(0, true), (200, false)] {
            let until = Deadline::after(DurationMs::from_millis(time));
            let error = run_provider(&words, b"", until).expect_err("late");
            assert_eq!(error.is_before_start(), is_before_start, "{error}");
        }
        let missing = ["/nowhere/provider".to_owned()];
        let until = Deadline::after(DurationMs::from_secs(9));
        assert!(run_provider(&missing, b"", until).expect_err("missing").is_before_start());
    }
}
