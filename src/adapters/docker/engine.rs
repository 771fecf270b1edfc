//! The HTTP API of an engine, over the pipe of `docker --context C system dial-stdio`.
//!
//! The CLI finds and proves the engine (a socket, TLS, ssh) and passes bytes on; nothing else of it
//! is used. One child carries the requests of one operation, one after the other. A child stays in
//! the process group of the call, so whoever ends the call ends it too.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;

use super::HOSTS;
use super::http::{Answer, Decoder, HttpError};
use crate::actuator::host::Deadline;
use crate::adapters::child::{HELD_OUTPUT, RunError, WORDS_BYTES_MAX, drained, started};
use crate::adapters::command;
use crate::domain::time::DurationMs;

/// The program.
pub(super) const DOCKER: &str = "docker";
/// How much is read at once.
const READ_BYTES: usize = 64 * 1024;
/// How long a child may take to end once nothing comes any more.
const GOODBYE: DurationMs = DurationMs::from_millis(500);
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    /// There was no child that could have passed the request on.
    #[error(transparent)]
    NotStarted(RunError),
    /// Not a byte of the request was taken.
    #[error("docker took no request: {words}")]
    NotSent { words: String },
    #[error("the engine gave no answer in time: {words}")]
    Late { words: String },
    #[error("{why}: {words}")]
    Lost { why: String, words: String },
}

impl AskError {
    /// Whether the request has surely not reached anybody.
    pub(super) const fn is_before_sent(&self) -> bool {
        match self {
            Self::NotStarted(_) | Self::NotSent { .. } => true,
            Self::Late { .. } | Self::Lost { .. } => false,
        }
    }
}

/// The engine that a context leads to, until a deadline.
#[derive(Debug)]
pub(super) struct Engine<'a> {
    context: &'a str,
    until: Deadline,
    dialled: Option<Dialled>,
}

impl<'a> Engine<'a> {
    /// Nobody is asked yet.
    pub(super) const fn of(context: &'a str, until: Deadline) -> Self {
        Self { context, until, dialled: None }
    }

    /// A reading is asked for again where an old connection had ended meanwhile.
    pub(super) fn get(&mut self, path: &str) -> Result<Answer, AskError> {
        let is_old = self.dialled.is_some();
        match self.ask("GET", path, "") {
            Err(AskError::NotSent { .. } | AskError::Lost { .. }) if is_old => {
                self.ask("GET", path, "")
            }
            answered => answered,
        }
    }

    pub(super) fn post(&mut self, path: &str, body: &str) -> Result<Answer, AskError> {
        self.ask("POST", path, body)
    }

    /// One request. After an error the next one is made by a new child.
    fn ask(&mut self, method: &str, path: &str, body: &str) -> Result<Answer, AskError> {
        let mut dialled = match self.dialled.take() {
            Some(dialled) => dialled,
            None => Dialled::start(self.context, self.until).map_err(AskError::NotStarted)?,
        };
        let version = env!("CARGO_PKG_VERSION");
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: docker\r\nUser-Agent: scalectl/{version}\r\n\
             Accept: application/json\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        let mut sent = 0;
        match dialled.exchange(request.as_bytes(), &mut sent, self.until) {
            Ok(answer) => {
                if !answer.closes {
                    self.dialled = Some(dialled);
                }
                Ok(answer)
            }
            Err(Broken::Late) => Err(AskError::Late { words: dialled.words() }),
            Err(Broken::Io(_)) if sent == 0 => Err(AskError::NotSent { words: dialled.words() }),
            Err(Broken::Io(error)) => {
                let why = format!("the pipe of docker: {error}");
                Err(AskError::Lost { why, words: dialled.words() })
            }
            Err(Broken::Http(error)) => {
                Err(AskError::Lost { why: error.to_string(), words: dialled.words() })
            }
        }
    }
}

enum Broken {
    Late,
    Io(io::Error),
    Http(HttpError),
}

impl From<HttpError> for Broken {
    fn from(error: HttpError) -> Self {
        Self::Http(error)
    }
}

/// A child and its pipes.
#[derive(Debug)]
struct Dialled {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    stderr: Receiver<(Vec<u8>, bool)>,
}

impl Dialled {
    fn start(context: &str, until: Deadline) -> Result<Self, RunError> {
        let mut line = command(DOCKER);
        line.args(["--context", context, "system", "dial-stdio"]).env("LC_ALL", "C");
        for name in HOSTS {
            line.env_remove(name);
        }
        let mut child = started(&mut line, until)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let stderr = drained(child.stderr.take(), WORDS_BYTES_MAX);
        let stdout = stdout.ok_or_else(|| RunError::Lost(io::Error::other("no pipe")))?;
        let dialled = Self { child, stdin, stdout, stderr };
        let set = |result: rustix::io::Result<()>| result.map_err(|e| RunError::Lost(e.into()));
        set(ioctl_fionbio(&dialled.stdout, true))?;
        if let Some(stdin) = &dialled.stdin {
            set(ioctl_fionbio(stdin, true))?;
        }
        Ok(dialled)
    }

    /// Sends a request and reads its answer.
    fn exchange(
        &mut self,
        request: &[u8],
        sent: &mut usize,
        until: Deadline,
    ) -> Result<Answer, Broken> {
        while *sent < request.len() {
            let Some(stdin) = &mut self.stdin else { break };
            wait(&PollFd::new(stdin, PollFlags::OUT), until)?;
            match stdin.write(&request[*sent..]) {
                Ok(length) => *sent += length,
                Err(error) if is_again(&error) => {}
                Err(error) if *sent == 0 => return Err(Broken::Io(error)),
                // It may have been answered before it was read to its end.
                Err(_) => break,
            }
        }
        let (mut decoder, mut bytes) = (Decoder::default(), vec![0; READ_BYTES]);
        loop {
            if let Some(answer) = decoder.whole()? {
                return Ok(answer);
            }
            wait(&PollFd::new(&self.stdout, PollFlags::IN), until)?;
            match self.stdout.read(&mut bytes) {
                Ok(0) => return Ok(decoder.ended()?),
                Ok(length) => decoder.feed(&bytes[..length])?,
                Err(error) if is_again(&error) => {}
                Err(error) => return Err(Broken::Io(error)),
            }
        }
    }

    /// Ends the child, and says what it said to people.
    fn words(&mut self) -> String {
        self.end(DurationMs::ZERO);
        let (bytes, _) = self.stderr.recv_timeout(HELD_OUTPUT).unwrap_or_default();
        // A detail is short; all of it is for people, and is no answer if it cannot be written.
        let _ = io::stderr().write_all(&bytes);
        let words = String::from_utf8_lossy(&bytes).trim().to_owned();
        if words.is_empty() { "docker said nothing".to_owned() } else { words }
    }

    /// Lets the child end, and kills it if it does not. Either way it is reaped.
    fn end(&mut self, patience: DurationMs) {
        drop(self.stdin.take());
        let until = Deadline::after(patience);
        while let Ok(None) = self.child.try_wait() {
            if until.is_past() {
                // That it has ended meanwhile is no error.
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for Dialled {
    fn drop(&mut self) {
        self.end(GOODBYE);
    }
}

fn is_again(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Waits for a pipe; an error once the deadline has come.
fn wait(pipe: &PollFd<'_>, until: Deadline) -> Result<(), Broken> {
    let mut pipes = [pipe.clone()];
    if until.is_past() {
        return Err(Broken::Late);
    }
    let left = Timespec::try_from(until.remaining()).unwrap_or_default();
    match poll(&mut pipes, Some(&left)) {
        Ok(0) => Err(Broken::Late),
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(Broken::Io(error.into())),
    }
}
