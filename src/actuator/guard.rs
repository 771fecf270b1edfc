//! The guard: the process between us and an actuator, which ends the call whatever becomes of us.
//!
//! Owns the actuator's process group from its start to its last process, and the lines of the call
//! file. Never reads or writes the actuator's pipes and never judges its answer. It lives in a
//! session of its own and holds the lock of the call file for all its life. If its parent dies, it
//! ends the group; if it dies itself, the session line that it had written before the spawn lets
//! [`super::calls::prove_end`] do so.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getppid, kill_process_group, pidfd_open, setsid,
    test_kill_process_group, waitpgid,
};

use super::calls::{CallEnd, ended_line};
use super::host::{Deadline, boot_ms, wall_now};
use super::process::{protect_descriptors, spawn_in_place};
use super::procfs::{self, Session};
use super::signals::Signals;
use super::supervise::wait_for;
use crate::crash::{self, CrashPoint};

/// How long the actuator may go on after it was asked to end.
const GRACE_MS: u64 = 5000;
/// The clock of poll stops in suspend, so no wait is longer than this.
const WAIT_MS_MAX: u64 = 1000;

/// The parent's word for killing the group at once.
pub(super) const AT_ONCE: Signal = Signal::QUIT;
/// What the kernel sends when the parent dies. Nobody else does, so it is never mistaken for a
/// wish.
const ORPHANED: Signal = Signal::USR1;

/// The end of the call is in the file.
const EXIT_OK: u8 = 0;
/// The end of the call could not be written down.
const EXIT_INTERNAL: u8 = 1;
/// The guard was not started by us. Nothing was done.
const EXIT_USAGE: u8 = 2;

/// The hidden subcommand `guard --call-fd N --deadline-boot-ms D --parent PID -- PROGRAM ARG…`,
/// with what follows `guard`. Answers the exit code.
///
/// Must be the first thing that the process does: it leaves the session, adopts orphans, and gives
/// stdin, stdout and stderr away.
pub fn guard_main(args: impl IntoIterator<Item = OsString>) -> u8 {
    protect_descriptors();
    let done = Orders::parse(args).and_then(|orders| {
        let guard = Guard::take_over(&orders)?;
        Ok((guard, orders))
    });
    match done {
        Ok((mut guard, orders)) => {
            let how = guard.keep(&orders);
            crash::hit(CrashPoint::GuardBeforeEnded);
            match guard.write(&ended_line(&how, wall_now())) {
                Ok(()) => EXIT_OK,
                Err(error) => {
                    // Nobody else has stderr where nothing was started, and the parent reads it
                    // then: without it the file would only say that something has ended.
                    if let CallEnd::NotStarted(why) = how {
                        let _ = writeln!(io::stderr(), "{why}; its end: {error}");
                    }
                    EXIT_INTERNAL
                }
            }
        }
        Err(why) => {
            // Nobody else has stderr yet; that it is closed changes nothing.
            let _ = writeln!(io::stderr(), "scalectl guard: {why}");
            EXIT_USAGE
        }
    }
}

struct Orders {
    call_fd: u32,
    deadline: Deadline,
    parent: Pid,
    program: PathBuf,
    args: Vec<OsString>,
}

impl Orders {
    fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        const USAGE: &str =
            "usage: guard --call-fd N --deadline-boot-ms D --parent PID -- PROGRAM [ARG]…";
        let mut args = args.into_iter();
        let mut number = |name: &str| -> Option<u64> {
            (args.next()? == OsStr::new(name)).then_some(())?;
            args.next()?.to_str()?.parse().ok()
        };
        let call_fd = number("--call-fd").and_then(|fd| u32::try_from(fd).ok());
        let deadline = number("--deadline-boot-ms").map(Deadline::at_boot_ms);
        let parent = number("--parent").and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        let separated = args.next().is_some_and(|word| word == "--");
        match (call_fd, deadline, parent, separated, args.next()) {
            (Some(call_fd @ 3..), Some(deadline), Some(parent), true, Some(program)) => {
                let (program, args) = (program.into(), args.collect());
                Ok(Self { call_fd, deadline, parent, program, args })
            }
            _ => Err(USAGE.to_owned()),
        }
    }
}

struct Guard {
    file: File,
    parent: Pid,
    parent_pidfd: OwnedFd,
    signals: Signals,
    session: Session,
    is_torn: bool,
}

impl Guard {
    fn take_over(orders: &Orders) -> Result<Self, String> {
        // The inherited descriptor is never closed, so its lock lasts as long as this process. What
        // is opened here is another description of the same file, without a lock of its own.
        let path = format!("/proc/self/fd/{}", orders.call_fd);
        let file = File::options()
            .append(true)
            .open(&path)
            .map_err(|error| format!("opening the call file {path}: {error}"))?;
        if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
            return Err(format!("the call file {path} is not locked by its parent"));
        }
        let say = |what: &'static str| move |error: rustix::io::Errno| format!("{what}: {error}");
        let signals =
            Signals::registered(&[Signal::TERM, Signal::INT, Signal::HUP, AT_ONCE, ORPHANED])
                .map_err(|error| error.to_string())?;
        setsid().map_err(say("leaving the session of the parent"))?;
        let parent_pidfd =
            pidfd_open(orders.parent, PidfdFlags::empty()).map_err(say("watching the parent"))?;
        rustix::process::set_parent_process_death_signal(Some(ORPHANED))
            .map_err(say("asking for a signal at the parent's death"))?;
        // The parent cannot have been replaced by a namesake before this, and from here on its
        // death shows on the descriptor.
        if getppid() != Some(orders.parent) {
            return Err("the parent is gone".to_owned());
        }
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(say("adopting orphans"))?;
        let own =
            procfs::own_stat().map_err(|error| format!("reading /proc/self/stat: {error}"))?;
        let session = Session { id: own.session, leader_start_ticks: own.start_ticks };
        let parent = orders.parent;
        Ok(Self { file, parent, parent_pidfd, signals, session, is_torn: false })
    }

    /// Starts the actuator and stays until its group is empty.
    fn keep(&mut self, orders: &Orders) -> CallEnd {
        match self.start(orders) {
            Ok((child, pidfd)) => self.stand_by(child, &pidfd, orders.deadline),
            Err(end) => end,
        }
    }

    fn start(&mut self, orders: &Orders) -> Result<(Child, OwnedFd), CallEnd> {
        let not_started = |why: &str| Err(CallEnd::NotStarted(why.to_owned()));
        if orders.deadline.is_past() {
            return not_started("its deadline passed before");
        }
        let Session { id, leader_start_ticks } = self.session;
        crash::hit(CrashPoint::GuardBeforeSession);
        // Written before the effect: if we are killed from here on, this line leads to whatever we
        // have started. It needs no sync: only a crash of the machine could lose it, and that ends
        // the call too, as the other boot in the host key proves.
        self.write(&format!("session {id} {leader_start_ticks}\n"))
            .map_err(|error| CallEnd::NotStarted(format!("writing the call file: {error}")))?;
        crash::hit(CrashPoint::GuardAfterSession);
        if self.is_orphaned() {
            return not_started("its parent was gone");
        }
        if let Some(signal) = self.signals.first() {
            return not_started(&format!("signal {signal} came first"));
        }
        let mut child = spawn_in_place(&orders.program, &orders.args)
            .map_err(|error| CallEnd::NotStarted(error.to_string()))?;
        crash::hit(CrashPoint::GuardAfterSpawn);
        let pid = Pid::from_child(&child);
        let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else {
            // It ran for a moment, so this is not the same as never started.
            kill(pid, Signal::KILL);
            let _ = child.wait();
            end_group(pid, self.session);
            return Err(CallEnd::Killed);
        };
        give_away_standard_streams();
        let started = procfs::stat_of(pid.as_raw_nonzero().get()).ok().flatten();
        let ticks = started.map_or(0, |stat| stat.start_ticks);
        // Without this line a proof kills the session instead of the group, so its loss is no harm.
        let _ = self.write(&format!("group {} {ticks}\n", pid.as_raw_nonzero()));
        Ok((child, pidfd))
    }

    fn stand_by(&mut self, mut child: Child, pidfd: &OwnedFd, deadline: Deadline) -> CallEnd {
        let group = Pid::from_child(&child);
        let forced = self.wait_for_leader(group, pidfd, deadline);
        // The leader is a zombie until it is reaped, so its group id cannot be another's.
        let _ = kill_process_group(group, Signal::KILL);
        let status = child.wait();
        end_group(group, self.session);
        match (forced, status.ok().map(own_end)) {
            (Some(CallEnd::Orphaned), _) => CallEnd::Orphaned,
            // Nothing exits after a SIGKILL, so it was over before the deadline.
            (_, Some(CallEnd::Exited(code))) => CallEnd::Exited(code),
            (Some(forced), _) => forced,
            (None, Some(end)) => end,
            (None, None) => CallEnd::Killed,
        }
    }

    /// Waits until the leader is dead. Answers why the guard ended it, if for a reason of its own.
    fn wait_for_leader(&self, group: Pid, pidfd: &OwnedFd, deadline: Deadline) -> Option<CallEnd> {
        let mut forced = None;
        let mut kill_at: Option<Deadline> = None;
        let mut killed = false;
        loop {
            let signals = self.signals.count();
            let orphaned = self.is_orphaned();
            if orphaned {
                forced.get_or_insert(CallEnd::Orphaned);
            }
            if killed {
                // Only the kernel can end it now, and the lock says so for as long as it takes.
            } else if deadline.is_past() {
                forced.get_or_insert(CallEnd::Deadline);
                killed = kill(group, Signal::KILL);
            } else if self.signals.has_come(AT_ONCE)
                || signals > 1 && !orphaned
                || kill_at.is_some_and(Deadline::is_past)
            {
                killed = kill(group, Signal::KILL);
            } else if kill_at.is_none() && (orphaned || signals > 0) {
                let first = self.signals.first().and_then(Signal::from_named_raw);
                kill(group, if orphaned { Signal::TERM } else { first.unwrap_or(Signal::TERM) });
                kill_at = Some(Deadline::at_boot_ms(boot_ms()).plus_ms(GRACE_MS));
            }
            let next = kill_at.map_or(deadline, |kill_at| kill_at.min(deadline));
            let timeout = if killed { Duration::MAX } else { next.remaining() };
            let mut fds = vec![
                PollFd::new(pidfd, PollFlags::IN),
                PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
            ];
            if !orphaned {
                fds.push(PollFd::new(&self.parent_pidfd, PollFlags::IN));
            }
            wait_for(&mut fds, timeout.min(Duration::from_millis(WAIT_MS_MAX)));
            if !fds[0].revents().is_empty() {
                return forced;
            }
        }
    }

    /// The signal comes when the *thread* dies that has started us. That is the end of the parent
    /// too, because that thread does nothing but wait for us.
    fn is_orphaned(&self) -> bool {
        self.signals.has_come(ORPHANED) || getppid() != Some(self.parent)
    }

    /// Writes a line whole. After a write that failed, on a full disk perhaps, a part of a line may
    /// stand there: the next one begins below it.
    fn write(&mut self, line: &str) -> io::Result<()> {
        let start = if self.is_torn { "\n" } else { "" };
        let written = self.file.write_all(format!("{start}{line}").as_bytes());
        self.is_torn |= written.is_err();
        written
    }
}

/// Always true: whoever has ended needs no signal.
fn kill(group: Pid, signal: Signal) -> bool {
    let _ = kill_process_group(group, signal);
    true
}

fn own_end(status: ExitStatus) -> CallEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => CallEnd::Exited(code),
        (None, Some(signal)) => CallEnd::Signalled(signal),
        (None, None) => CallEnd::Killed,
    }
}

/// Reaps and kills until no process of the group lives. Unbounded: the lock must be held as long.
fn end_group(group: Pid, session: Session) {
    let id = group.as_raw_nonzero().get();
    let mut pause_ms = 1;
    loop {
        while matches!(waitpgid(group, WaitOptions::NOHANG), Ok(Some(_))) {}
        match test_kill_process_group(group) {
            Err(rustix::io::Errno::SRCH) => return,
            // Somebody of it is another user's now, and /proc may hide those: it is not over.
            Err(rustix::io::Errno::PERM) => {
                std::thread::sleep(Duration::from_millis(pause_ms));
                pause_ms = (pause_ms * 2).min(50);
                continue;
            }
            Ok(()) | Err(_) => {}
        }
        // Left over are zombies of a parent that is not in the group, and what is still dying.
        if procfs::kill_living(session, Some(id)).is_ok_and(|left| left.is_empty()) {
            return;
        }
        std::thread::sleep(Duration::from_millis(pause_ms));
        pause_ms = (pause_ms * 2).min(50);
    }
}

/// The parent waits for the end of the actuator's output, so we may not hold its pipes open.
fn give_away_standard_streams() {
    let Ok(null) = File::options().read(true).write(true).open("/dev/null") else { return };
    // If one cannot be replaced, the parent sees its end when this process ends.
    let _ = rustix::stdio::dup2_stdin(&null);
    let _ = rustix::stdio::dup2_stdout(&null);
    let _ = rustix::stdio::dup2_stderr(&null);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_exactly() {
        let parse = |line: &str| Orders::parse(line.split(' ').map(OsString::from));
        let orders = parse("--call-fd 7 --deadline-boot-ms 9 --parent 42 -- /bin/x -- y");
        let orders = orders.expect("well formed");
        assert_eq!((orders.call_fd, orders.deadline.boot_ms()), (7, 9));
        assert_eq!((orders.program, orders.args), ("/bin/x".into(), vec!["--".into(), "y".into()]));
        for bad in [
            "",
            "--call-fd 7 --deadline-boot-ms 9 --parent 42 --",
            "--call-fd 7 --deadline-boot-ms 9 --parent 42 /bin/x",
            "--call-fd 1 --deadline-boot-ms 9 --parent 42 -- /bin/x",
            "--call-fd 7 --deadline-boot-ms x --parent 42 -- /bin/x",
            "--call-fd 7 --deadline-boot-ms 9 --parent 0 -- /bin/x",
            "--call-fd -7 --deadline-boot-ms 9 --parent 42 -- /bin/x",
        ] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
