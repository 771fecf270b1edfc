//! The signals that ask this process to end: SIGINT, SIGTERM and SIGHUP.
//!
//! Owns their handlers, which are installed once and only take notes. Never ends the process: who
//! waits polls [`Signals`], and the first signal decides the exit code.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;

use super::error::SignalError;

const ENDING: [Signal; 3] = [Signal::TERM, Signal::INT, Signal::HUP];

static INSTALLED: OnceLock<Signals> = OnceLock::new();

/// The notes of the handlers.
#[derive(Debug)]
pub struct Signals {
    wake: OwnedFd,
    notify: OwnedFd,
    flags: Vec<(Signal, Arc<AtomicBool>)>,
    count: AtomicUsize,
    first: AtomicI32,
}

impl Signals {
    /// How many have come so far.
    pub fn count(&self) -> usize {
        let mut bytes = [0; 64];
        // Every signal is a byte in the pipe. Another thread may take the bytes; then it counts
        // them, and whoever else waits sees the count at its next look, at most a second later.
        while let Ok(taken @ 1..) = rustix::io::read(&self.wake, &mut bytes) {
            self.note_first();
            self.count.fetch_add(taken, Ordering::SeqCst);
        }
        self.count.load(Ordering::SeqCst)
    }

    /// The number of the signal that came first, if one has come. Of two between two looks, the
    /// first of SIGTERM, SIGINT, SIGHUP.
    pub fn first(&self) -> Option<i32> {
        self.count();
        Some(self.first.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }

    /// Takes what has come as heard and answers the first of it. Children that are started from
    /// now on are ended only by what comes after: for what must be put right before the end.
    pub fn heard(&self) -> Option<i32> {
        let first = self.first();
        for (_, flag) in &self.flags {
            flag.store(false, Ordering::SeqCst);
        }
        self.first.store(0, Ordering::SeqCst);
        self.count.store(0, Ordering::SeqCst);
        first
    }

    /// Readable as soon as a signal has come that nobody has counted.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Whether this one has come.
    pub(super) fn has_come(&self, signal: Signal) -> bool {
        self.flags.iter().any(|(name, flag)| *name == signal && flag.load(Ordering::SeqCst))
    }

    fn note_first(&self) {
        let come = self.flags.iter().find(|(_, flag)| flag.load(Ordering::SeqCst));
        if let Some((signal, _)) = come {
            let signal = signal.as_raw();
            let _ = self.first.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    fn unregistered(signals: &[Signal]) -> io::Result<Self> {
        let (wake, notify) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let flags = signals.iter().map(|signal| (*signal, Arc::default())).collect();
        let (count, first) = (AtomicUsize::new(0), AtomicI32::new(0));
        Ok(Self { wake, notify, flags, count, first })
    }

    /// Handles these signals from now on, whether or not they were ignored before.
    pub(super) fn registered(signals: &[Signal]) -> Result<Self, SignalError> {
        let notes = Self::unregistered(signals)?;
        for (signal, flag) in &notes.flags {
            // The flag is set before the byte is written, so whoever reads the byte sees it.
            signal_hook::flag::register(signal.as_raw(), Arc::clone(flag))?;
            signal_hook::low_level::pipe::register(signal.as_raw(), notes.notify.try_clone()?)?;
        }
        Ok(notes)
    }

    /// Notes that are not connected to any signal.
    #[cfg(test)]
    pub(super) fn fake() -> Self {
        Self::unregistered(&ENDING).expect("a pipe")
    }

    /// As if the signal had come.
    #[cfg(test)]
    pub(super) fn pretend(&self, signal: Signal) {
        for (_, flag) in self.flags.iter().filter(|(name, _)| *name == signal) {
            flag.store(true, Ordering::SeqCst);
        }
        rustix::io::write(&self.notify, b"X").expect("a pipe with room");
    }
}

/// Installs the handlers; the second time it only returns the first's notes.
///
/// A signal that was ignored when the program started stays ignored, so `nohup` keeps its meaning.
pub fn install() -> Result<&'static Signals, SignalError> {
    if let Some(signals) = INSTALLED.get() {
        return Ok(signals);
    }
    let signals = Signals::registered(&wanted())?;
    Ok(INSTALLED.get_or_init(|| signals))
}

/// The same handlers with notes that nobody else of this process looks at: for a server, whose
/// calls go on to their end when it is asked to end itself.
pub fn apart() -> Result<Signals, SignalError> {
    Signals::registered(&wanted())
}

fn wanted() -> Vec<Signal> {
    let ignored = ignored_mask();
    ENDING.into_iter().filter(|signal| ignored & (1 << (signal.as_raw() - 1)) == 0).collect()
}

/// Takes signals over that would end this process in the middle of a write, or hide how its
/// children end: beyond a limit of file sizes a write fails like any other (SIGXFSZ), and a child
/// can be waited for where whoever started us ignores SIGCHLD, which is inherited.
///
/// Called once, first thing in `main`. Handlers do not outlive an exec, so every child begins with
/// the default.
pub fn withstand() {
    for signal in [Signal::XFSZ, Signal::CHILD] {
        // Without the handler all is as it was inherited.
        let _ = signal_hook::flag::register(signal.as_raw(), Arc::default());
    }
}

/// The notes, if the handlers are installed.
pub fn installed() -> Option<&'static Signals> {
    INSTALLED.get()
}

/// The ignored signals of this process, one bit each (proc(5), `SigIgn`); none if unreadable.
fn ignored_mask() -> u64 {
    let status = std::fs::read("/proc/self/status").unwrap_or_default();
    ignored_of(&status)
}

/// The same from the text of `/proc/PID/status`, whatever stands there: the name of a process need
/// not be UTF-8.
pub fn ignored_of(status: &[u8]) -> u64 {
    let mut lines = status.split(|byte| *byte == b'\n');
    let mask = lines.find_map(|line| line.strip_prefix(b"SigIgn:"));
    let mask = mask.and_then(|mask| std::str::from_utf8(mask).ok());
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_signal_stays_the_first() {
        let signals = Signals::fake();
        assert_eq!((signals.count(), signals.first()), (0, None));
        signals.pretend(Signal::HUP);
        assert_eq!(signals.first(), Some(Signal::HUP.as_raw()));
        signals.pretend(Signal::TERM);
        signals.pretend(Signal::TERM);
        assert_eq!((signals.count(), signals.first()), (3, Some(Signal::HUP.as_raw())));
        assert!(signals.has_come(Signal::TERM) && !signals.has_come(Signal::INT));
        assert_eq!(signals.heard(), Some(Signal::HUP.as_raw()));
        assert_eq!((signals.count(), signals.first(), signals.heard()), (0, None, None));
        assert!(!signals.has_come(Signal::TERM));
        signals.pretend(Signal::INT);
        assert_eq!((signals.count(), signals.first()), (1, Some(Signal::INT.as_raw())));
    }

    #[test]
    fn rust_ignores_broken_pipes() {
        assert_ne!(ignored_mask() & (1 << (Signal::PIPE.as_raw() - 1)), 0);
    }
}
