//! What /proc says about processes, and the clock of short waits.
//!
//! A pid alone names nobody, because it is used again. Pid, start time, boot and pid namespace
//! together name one process for ever.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::LocalError;

/// This boot of this machine, and the namespace in which pids mean something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Host {
    boot_id: String,
    pid_namespace: String,
}

impl Host {
    pub(super) fn read() -> Result<Self, LocalError> {
        let boot = "/proc/sys/kernel/random/boot_id";
        let namespace = "/proc/self/ns/pid";
        let boot_id = fs::read_to_string(boot).map_err(LocalError::io("reading", boot))?;
        let pid_namespace =
            fs::read_link(namespace).map_err(LocalError::io("reading", namespace))?;
        Ok(Self {
            boot_id: boot_id.trim().to_owned(),
            pid_namespace: pid_namespace.to_string_lossy().into_owned(),
        })
    }
}

/// One process, for ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) pid: i32,
    start_ticks: u64,
    host: Host,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Liveness {
    Alive,
    Dead,
    /// Same boot, another pid namespace: it cannot be told from here.
    Elsewhere,
}

impl Identity {
    /// Whether a process of ours can be called so: to kill(2) the groups 0 and 1 are others, and a
    /// session that is none of this namespace is 0 in /proc.
    pub(super) const fn is_possible(&self) -> bool {
        self.pid > 1
    }

    /// The calling process.
    pub(super) fn own() -> Result<Self, LocalError> {
        let path = "/proc/self/stat";
        let pid = i32::try_from(std::process::id()).unwrap_or(i32::MAX);
        let stat = Stat::read(pid).map_err(LocalError::io("reading", path))?;
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let stat = stat.ok_or_else(missing).map_err(LocalError::io("reading", path))?;
        Ok(Self { pid, start_ticks: stat.start_ticks, host: Host::read()? })
    }

    pub(super) fn liveness(&self, here: &Host) -> Liveness {
        if self.host.boot_id != here.boot_id {
            return Liveness::Dead;
        }
        if self.host.pid_namespace != here.pid_namespace {
            return Liveness::Elsewhere;
        }
        match Stat::read(self.pid) {
            Ok(Some(stat)) if stat.start_ticks == self.start_ticks && !stat.is_over() => {
                Liveness::Alive
            }
            Ok(_) => Liveness::Dead,
            Err(_) => Liveness::Elsewhere,
        }
    }

    pub(super) fn is_alive(&self, here: &Host) -> bool {
        self.liveness(here) == Liveness::Alive
    }

    /// Signals the replica's process group, which its leader has made for itself.
    pub(super) fn signal_group(&self, here: &Host, signal: Signal) {
        if let (true, Some(pid)) = (self.is_alive(here), Pid::from_raw(self.pid)) {
            // It may have ended since; then there is nobody to signal.
            let _ = kill_process_group(pid, signal);
        }
    }

    /// The live processes of the replica's session, its leader included.
    pub(super) fn session_members(&self, here: &Host) -> Vec<i32> {
        if self.host != *here {
            return Vec::new();
        }
        // A session id is not given to a new process while a member of the session lives. So if
        // the pid is somebody else's now, nobody of ours is left.
        let is_reused = matches!(Stat::read(self.pid), Ok(Some(stat))
            if stat.start_ticks != self.start_ticks);
        if is_reused {
            return Vec::new();
        }
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_ours = |stat: &Stat| stat.session == self.pid && !stat.is_over();
        pids.filter(|pid| Stat::read(*pid).is_ok_and(|stat| stat.as_ref().is_some_and(is_ours)))
            .collect()
    }

    /// Kills whoever is left of the replica's session.
    pub(super) fn kill_session(&self, here: &Host) {
        self.signal_group(here, Signal::KILL);
        for member in self.session_members(here) {
            if let Some(pid) = Pid::from_raw(member) {
                // As above: it may have ended since.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// What we need of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// The letter of the state.
    pub state: u8,
    /// The session.
    pub session: i32,
    /// The start time in clock ticks since the boot.
    pub start_ticks: u64,
}

impl Stat {
    /// None if there is no such process.
    fn read(pid: i32) -> io::Result<Option<Self>> {
        let path: PathBuf = format!("/proc/{pid}/stat").into();
        match fs::read(path) {
            Ok(text) => {
                Self::parse(&text).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            // ESRCH: it ended between the opening and the reading.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Fields 3, 6 and 22 of proc(5). The second is the name, which may hold anything, so fields
    /// are counted from the last parenthesis.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let name_end = text.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(text.get(name_end + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        Some(Self {
            state: *fields.first()?.as_bytes().first()?,
            session: fields.get(3)?.parse().ok()?,
            start_ticks: fields.get(19)?.parse().ok()?,
        })
    }

    const fn is_over(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

/// A deadline on the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline(Duration);

impl Deadline {
    pub(super) fn after(wait: Duration) -> Self {
        Self(monotonic() + wait)
    }

    pub(super) fn is_over(self) -> bool {
        monotonic() >= self.0
    }

    /// Asks `done` again and again until it is, or until the deadline. Returns whether it was.
    pub(super) fn wait_until(self, mut done: impl FnMut() -> bool) -> bool {
        let mut pause = Duration::from_millis(1);
        loop {
            if done() {
                return true;
            }
            if self.is_over() {
                return false;
            }
            thread::sleep(pause.min(self.0.saturating_sub(monotonic())));
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

fn monotonic() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    let secs = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(secs, u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_forge_the_fields() {
        let stat = b"7 (a) Z 9 9 9 (b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1 2";
        let stat = Stat::parse(stat).expect("valid");
        assert_eq!((stat.state, stat.session, stat.start_ticks), (b'S', 7, 4242));
        assert!(Stat::parse(b"7 (a) S 1").is_none());
        assert!(Stat::parse(b"").is_none());
    }

    #[test]
    fn only_the_same_start_time_in_the_same_boot_is_alive() {
        let here = Host::read().expect("proc");
        let own = Identity::own().expect("proc");
        assert_eq!(own.liveness(&here), Liveness::Alive);
        let reused = Identity { start_ticks: own.start_ticks + 1, ..own.clone() };
        assert_eq!(reused.liveness(&here), Liveness::Dead);
        assert_eq!(reused.session_members(&here), Vec::<i32>::new());
        let rebooted = Host { boot_id: "another".to_owned(), ..here.clone() };
        assert_eq!(own.liveness(&rebooted), Liveness::Dead);
        let elsewhere = Host { pid_namespace: "pid:[1]".to_owned(), ..here };
        assert_eq!(own.liveness(&elsewhere), Liveness::Elsewhere);
    }
}
