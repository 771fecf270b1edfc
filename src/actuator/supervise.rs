//! The loop that stands by a running child until it is dead and reaped.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use super::error::SpawnError;
use super::guard::AT_ONCE;
use super::host::{Deadline, boot_ms};
use super::pipes::{Drain, Feed};
use super::process::{Captured, ChildEnd, ChildSpec, LeaderEnd, Limits, Tick, Watch, unwatchable};
use super::signals::Signals;
use crate::domain::time::DurationMs;

/// The clock of poll stops in suspend, so no wait is longer than this.
const WAIT_MS_MAX: u64 = 1000;
/// How much longer than its own bounds a guard is waited for before it is hurried.
const GUARD_SLACK_MS: u64 = 1000;
/// How long a guard may take to kill its group once it was told to.
const GUARD_KILL_MS: u64 = 2000;
/// How long the death of a killed child is awaited. Only a process that is blocked in the kernel
/// outlives this.
const DEATH_MS_MAX: u64 = 10_000;

/// What the child is to us, which decides how it is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// The leader of a group, all of which is signalled.
    Group,
    /// A guard, which is told to stop its group: SIGQUIT tells it to do so at once. It knows its
    /// own deadline.
    Guard,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Running,
    Asked { kill_at: Deadline },
    Killed { force_at: Deadline, give_up_at: Deadline },
    Forced { give_up_at: Deadline },
}

struct Call<'a> {
    hold: Hold,
    pid: Pid,
    pidfd: OwnedFd,
    feed: Feed<'a, ChildStdin>,
    stdout: Drain<ChildStdout>,
    stderr: Drain<ChildStderr>,
    signals: Option<&'a Signals>,
    signals_seen: usize,
    phase: Phase,
    reason: Option<ChildEnd>,
    deadline: Deadline,
    interrupt_grace_ms: u64,
}

/// Stands by the child until it is dead, drains what is left, and reaps it.
pub(super) fn supervise(
    mut child: Child,
    hold: Hold,
    spec: &ChildSpec,
    stdin: &[u8],
    limits: &Limits,
    watch: &mut dyn Watch,
    signals: Option<&Signals>,
) -> Result<Captured, SpawnError> {
    let started_ms = boot_ms();
    let mut call = match hold_on(&mut child, hold, stdin, limits, signals) {
        Ok(call) => call,
        Err(error) => return Err(unwatchable(&mut child, spec, error.into())),
    };
    let dead = loop {
        call.move_on(watch);
        if let Phase::Killed { give_up_at, .. } | Phase::Forced { give_up_at } = call.phase
            && give_up_at.is_past()
        {
            break false;
        }
        let is_dead = call.wait(watch);
        call.tell(watch);
        if is_dead {
            break true;
        }
    };
    if dead {
        // The leader is a zombie until it is reaped, so its group id cannot be another's.
        call.kill_group();
        call.drain(limits.drain_grace);
        call.tell(watch);
    }
    let Call { stdout, stderr, reason, feed, .. } = call;
    drop(feed);
    let status = if dead { child.wait().ok() } else { child.try_wait().ok().flatten() };
    let leader = status.and_then(|status| {
        let exited = status.code().map(LeaderEnd::Exited);
        exited.or_else(|| status.signal().map(LeaderEnd::Signalled))
    });
    let ((stdout, stdout_dropped), (stderr, stderr_dropped)) = (stdout.finish(), stderr.finish());
    let duration = DurationMs::from_millis(boot_ms().saturating_sub(started_ms));
    let end = end_of(reason, leader, hold);
    Ok(Captured { end, leader, stdout, stdout_dropped, stderr, stderr_dropped, duration })
}

fn end_of(reason: Option<ChildEnd>, leader: Option<LeaderEnd>, hold: Hold) -> ChildEnd {
    match (reason, leader) {
        // Nothing exits after a SIGKILL, so it was over before we killed it.
        (Some(ChildEnd::TimedOut | ChildEnd::Stopped) | None, Some(LeaderEnd::Exited(code)))
            if hold == Hold::Group =>
        {
            ChildEnd::Exited(code)
        }
        (Some(reason), _) => reason,
        (None, Some(LeaderEnd::Exited(code))) => ChildEnd::Exited(code),
        (None, Some(LeaderEnd::Signalled(signal))) => ChildEnd::Signalled(signal),
        (None, None) => ChildEnd::Signalled(Signal::KILL.as_raw()),
    }
}

fn hold_on<'a>(
    child: &mut Child,
    hold: Hold,
    stdin: &'a [u8],
    limits: &Limits,
    signals: Option<&'a Signals>,
) -> Result<Call<'a>, rustix::io::Errno> {
    let pid = Pid::from_child(child);
    let slack_ms = match hold {
        Hold::Group => 0,
        Hold::Guard => GUARD_SLACK_MS,
    };
    Ok(Call {
        hold,
        pid,
        pidfd: pidfd_open(pid, PidfdFlags::empty())?,
        feed: Feed::new(child.stdin.take(), stdin)?,
        stdout: Drain::new(child.stdout.take(), limits.stdout_bytes_max)?,
        stderr: Drain::new(child.stderr.take(), limits.stderr_bytes_max)?,
        signals,
        signals_seen: 0,
        phase: Phase::Running,
        reason: None,
        deadline: limits.deadline.plus_ms(slack_ms),
        interrupt_grace_ms: limits.interrupt_grace.as_millis().saturating_add(slack_ms),
    })
}

impl Call<'_> {
    /// Whatever is due: signals of ours, the deadline, the watch, the end of a grace.
    fn move_on(&mut self, watch: &mut dyn Watch) {
        self.heed_signals();
        match self.phase {
            Phase::Running | Phase::Asked { .. } if self.deadline.is_past() => {
                self.kill(ChildEnd::TimedOut);
            }
            Phase::Asked { kill_at } if kill_at.is_past() => self.kill(ChildEnd::TimedOut),
            Phase::Running | Phase::Asked { .. } => {
                let due = watch.next_tick().is_some_and(|wait| wait.is_zero());
                if due && watch.tick() == Tick::End {
                    self.kill(ChildEnd::Stopped);
                }
            }
            Phase::Killed { force_at, give_up_at } if force_at.is_past() => {
                let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
                self.phase = Phase::Forced { give_up_at };
            }
            Phase::Killed { .. } | Phase::Forced { .. } => {}
        }
    }

    fn heed_signals(&mut self) {
        let Some(signals) = self.signals else { return };
        let count = signals.count();
        if count == self.signals_seen {
            return;
        }
        let first = signals.first().and_then(Signal::from_named_raw).unwrap_or(Signal::TERM);
        let news = count - self.signals_seen;
        self.signals_seen = count;
        match self.phase {
            Phase::Running => {
                self.reason.get_or_insert(ChildEnd::Interrupted(first.as_raw()));
                self.forward(first);
                let kill_at = Deadline::at_boot_ms(boot_ms()).plus_ms(self.interrupt_grace_ms);
                self.phase = Phase::Asked { kill_at };
                if news > 1 {
                    self.kill(ChildEnd::Interrupted(first.as_raw()));
                }
            }
            Phase::Asked { .. } => self.kill(ChildEnd::Interrupted(first.as_raw())),
            Phase::Killed { .. } | Phase::Forced { .. } => {}
        }
    }

    fn forward(&self, signal: Signal) {
        // Whoever has just ended needs no signal; the next wait sees it.
        let _ = match self.hold {
            Hold::Group => kill_process_group(self.pid, signal),
            Hold::Guard => pidfd_send_signal(&self.pidfd, signal),
        };
    }

    /// The first reason for an end stays the reason.
    fn kill(&mut self, reason: ChildEnd) {
        self.reason.get_or_insert(reason);
        match self.hold {
            Hold::Group => self.kill_group(),
            Hold::Guard => self.forward(AT_ONCE),
        }
        let now = Deadline::at_boot_ms(boot_ms());
        self.phase = Phase::Killed {
            force_at: now.plus_ms(GUARD_KILL_MS),
            give_up_at: now.plus_ms(DEATH_MS_MAX),
        };
    }

    fn kill_group(&self) {
        if self.hold == Hold::Group {
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
    }

    /// Waits for something to happen, moves bytes, and answers whether the child is dead.
    fn wait(&mut self, watch: &dyn Watch) -> bool {
        let timeout = self.wait_max(watch);
        let dead = {
            let mut fds = vec![PollFd::new(&self.pidfd, PollFlags::IN)];
            if let Some(signals) = self.signals {
                fds.push(PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN));
            }
            fds.extend(self.feed.open().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::OUT)));
            fds.extend(self.stdout.open().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            fds.extend(self.stderr.open().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            wait_for(&mut fds, timeout);
            !fds[0].revents().is_empty()
        };
        self.feed.push();
        self.stdout.pull();
        self.stderr.pull();
        dead
    }

    /// Hands over what was written for people.
    fn tell(&mut self, watch: &mut dyn Watch) {
        let news = self.stderr.news();
        if !news.is_empty() {
            watch.heard(news);
        }
    }

    fn wait_max(&self, watch: &dyn Watch) -> Duration {
        let until = match self.phase {
            Phase::Running => self.deadline.remaining(),
            Phase::Asked { kill_at } => self.deadline.min(kill_at).remaining(),
            Phase::Killed { force_at, .. } => force_at.remaining(),
            Phase::Forced { give_up_at } => give_up_at.remaining(),
        };
        let tick = match self.phase {
            Phase::Running | Phase::Asked { .. } => watch.next_tick(),
            Phase::Killed { .. } | Phase::Forced { .. } => None,
        };
        until.min(tick.unwrap_or(until)).min(Duration::from_millis(WAIT_MS_MAX))
    }

    /// Takes what is still in the pipes. Somebody outside the group may hold them open for ever.
    fn drain(&mut self, grace: DurationMs) {
        let until = Deadline::after(grace);
        loop {
            self.stdout.pull();
            self.stderr.pull();
            let mut fds: Vec<PollFd<'_>> = Vec::new();
            fds.extend(self.stdout.open().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            fds.extend(self.stderr.open().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            if fds.is_empty() || until.is_past() {
                return;
            }
            wait_for(&mut fds, until.remaining());
        }
    }
}

/// Waits for any of these, or as long as said. An interrupted wait is a short one.
pub(super) fn wait_for(fds: &mut [PollFd<'_>], timeout: Duration) {
    let timeout = Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    if poll(fds, Some(&timeout)).is_err() {
        for fd in fds {
            fd.clear_revents();
        }
    }
}
