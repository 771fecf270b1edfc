//! Which processes belong to a session or a group, and their end.
//!
//! Owns the reading of `/proc/PID/stat`. A process is only ever killed through a descriptor of it
//! that was opened before its membership was read, so a pid that is used again is never hit.

use std::{fs, io};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// What we need of `/proc/PID/stat` (proc(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// The process.
    pub pid: i32,
    /// The process group.
    pub group: i32,
    /// The session.
    pub session: i32,
    /// The start time in clock ticks since the boot.
    pub start_ticks: u64,
    /// Whether it has ended and only waits to be reaped. A dead main thread with living others
    /// looks like a zombie too, but still has more than one thread.
    pub dead: bool,
    /// Whether it is stopped, by job control or by a tracer: it does nothing until it is continued.
    pub stopped: bool,
}

/// One session as long as it is the same one: its id may be used again by a later process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Session {
    /// The id of the session, which is the pid of its leader.
    pub(super) id: i32,
    /// The start time of the leader.
    pub(super) leader_start_ticks: u64,
}

/// The line of this process.
pub(super) fn own_stat() -> io::Result<Stat> {
    let text = fs::read("/proc/self/stat")?;
    parse(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/self/stat"))
}

/// The line of a process, or none where there is no such process that we may see.
pub(super) fn stat_of(pid: i32) -> io::Result<Option<Stat>> {
    match fs::read(format!("/proc/{pid}/stat")) {
        Ok(text) => parse(&text)
            .map(Some)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/PID/stat")),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// With `hidepid` the processes of other users cannot be read; they could not be killed either.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
        || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

/// Reads that line, whatever stands there: none where it is not one.
pub fn parse(text: &[u8]) -> Option<Stat> {
    // The name stands in parentheses and may hold anything, so what follows the last one counts.
    let name_end = text.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(text.split(|byte| *byte == b' ').next()?).ok()?;
    let rest = std::str::from_utf8(text.get(name_end + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let threads: u64 = fields.get(17)?.parse().ok()?;
    Some(Stat {
        pid: pid.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        start_ticks: fields.get(19)?.parse().ok()?,
        dead: matches!(*fields.first()?, "Z" | "X" | "x") && threads <= 1,
        stopped: matches!(*fields.first()?, "T" | "t"),
    })
}

/// The living processes of a session, or only those of one group in it.
///
/// Empty if the id of the session names a later process now.
pub(super) fn living(session: Session, group: Option<i32>) -> io::Result<Vec<Stat>> {
    if let Some(leader) = stat_of(session.id)?
        && leader.start_ticks != session.leader_start_ticks
    {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if let Some(stat) = stat_of(pid)?
            && is_member(&stat, session, group)
        {
            found.push(stat);
        }
    }
    Ok(found)
}

fn is_member(stat: &Stat, session: Session, group: Option<i32>) -> bool {
    !stat.dead && stat.session == session.id && group.is_none_or(|group| stat.group == group)
}

/// Sends SIGKILL to every living member and returns those that lived when it was sent.
pub(super) fn kill_living(session: Session, group: Option<i32>) -> io::Result<Vec<Stat>> {
    let members = living(session, group)?;
    for member in &members {
        let Some(pid) = Pid::from_raw(member.pid) else { continue };
        let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        if let Some(now) = stat_of(member.pid)?
            && now.start_ticks == member.start_ticks
            && is_member(&now, session, group)
        {
            // A process that has just ended, or that is another user's, shows in the next round.
            let _ = pidfd_send_signal(&pidfd, Signal::KILL);
        }
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_parentheses_do_not_shift_the_fields() {
        let line = b"42 (a) b (c)) S 1 40 39 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 777 1 2\n";
        let stat = parse(line).expect("well formed");
        assert_eq!((stat.pid, stat.group, stat.session), (42, 40, 39));
        assert_eq!((stat.start_ticks, stat.dead), (777, false));
        assert_eq!(parse(b"42 (a"), None);
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn a_zombie_is_dead_but_not_with_living_threads() {
        let line = |threads: u8| {
            format!("42 (x) Z 1 40 39 0 -1 0 1 2 3 4 5 6 7 8 20 0 {threads} 0 777 1 2")
        };
        assert!(parse(line(1).as_bytes()).expect("well formed").dead);
        assert!(!parse(line(3).as_bytes()).expect("well formed").dead);
        assert!(!parse(line(1).as_bytes()).expect("well formed").stopped);
        let stopped = line(1).replace(" Z ", " T ");
        let stopped = parse(stopped.as_bytes()).expect("well formed");
        assert!(stopped.stopped && !stopped.dead);
    }

    #[test]
    fn a_reused_session_id_has_no_members() {
        let own = own_stat().expect("readable here");
        let session = Session { id: own.pid, leader_start_ticks: own.start_ticks + 1 };
        assert_eq!(living(session, None).expect("readable here"), []);
    }
}
