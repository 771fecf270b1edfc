//! Running kubectl, and a provider of evidence: one child, fed, drained, bounded, reaped.
//!
//! Owns every start of a child of this adapter. A child stays in the process group of the call, so
//! whoever ends the call ends it too. No shell sees a word, and nothing is asked at a terminal.

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
const WORDS_BYTES_MAX: u64 = 64 * 1024;
/// How long the output of a child that has ended may stay open, because a helper of it holds it. It
/// is far less than what a call keeps for its own answer.
const HELD_OUTPUT: Duration = Duration::from_millis(500);
/// How often it is looked whether a child has ended.
const LOOK_EVERY: Duration = Duration::from_millis(4);

/// Why a child told nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    #[error("kubectl CLI not available: no kubectl in PATH")]
    Missing,
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
            Self::Missing | Self::NotStarted(_) | Self::NoTime => true,
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

/// Where kubectl is told to act.
#[derive(Debug, Clone, Copy)]
pub(super) struct Client<'a> {
    pub(super) context: &'a str,
    pub(super) namespace: &'a str,
}

impl Client<'_> {
    /// Runs kubectl: the context and the namespace always come first.
    pub(super) fn run(&self, tail: &[&str], until: Deadline) -> Result<Ended, RunError> {
        let mut line = command("kubectl");
        line.args(["--context", self.context, "-n", self.namespace]).args(tail);
        // Its words are read by a machine, so they are not to be translated; and what the settings
        // of a person make of a command is not what was written here.
        line.env("LC_ALL", "C").env("KUBECTL_KUBERC", "false").env("KUBERC", "off");
        run(line, &[], until)
    }
}

/// Whether there is a kubectl in PATH.
pub(super) fn is_present() -> bool {
    #[expect(clippy::disallowed_methods, reason = "where a child would be looked for")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_here = |dir: &Path| dir.join("kubectl").is_file();
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

fn run(mut line: Command, stdin: &[u8], until: Deadline) -> Result<Ended, RunError> {
    if until.is_past() {
        return Err(RunError::NoTime);
    }
    line.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = line.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if line.get_program() == "kubectl" => RunError::Missing,
        _ => RunError::NotStarted(error),
    })?;
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
fn drained<R: Read + Send + 'static>(pipe: Option<R>, bytes_max: u64) -> Receiver<(Vec<u8>, bool)> {
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
