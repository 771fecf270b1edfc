//! The lines of a call file: how they are written, and what is read from them.
//!
//! Only whole lines count. What cannot be a line of ours is an error and proves nothing.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::super::error::CallError;
use super::super::host::wall_now;
use super::super::procfs::Session;
use super::{CallEnd, failed};
use crate::domain::time::Timestamp;

/// Far more than the three lines of a guard.
const FILE_BYTES_MAX: u64 = 16 * 1024;
/// The longest reason that a guard writes for not starting the actuator.
const REASON_BYTES_MAX: usize = 1024;

/// What a call file says, in whole lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::actuator) struct Content {
    pub(super) session: Option<Session>,
    pub(super) group: Option<i32>,
    pub(super) ended: Option<(Timestamp, CallEnd)>,
    pub(super) whole_bytes: u64,
}

pub(in crate::actuator) enum Verdict {
    Ended(Timestamp, CallEnd),
    Unproved(Session, Option<i32>),
}

impl Content {
    pub(in crate::actuator) fn verdict(self: &Content) -> Verdict {
        match (&self.ended, self.session) {
            (Some((at, how)), _) => Verdict::Ended(*at, how.clone()),
            (None, Some(session)) => Verdict::Unproved(session, self.group),
            (None, None) => Verdict::Ended(
                wall_now(),
                CallEnd::NotStarted("its parent or guard ended before".to_owned()),
            ),
        }
    }
}

pub(in crate::actuator) fn read(file: &mut File, path: &Path) -> Result<Content, CallError> {
    let nonsense =
        |line, why: &str| CallError::Nonsense { path: path.to_owned(), line, why: why.to_owned() };
    let mut bytes = Vec::new();
    let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    let read = read.map_err(failed("reading the call file", path))? as u64;
    if read > FILE_BYTES_MAX {
        return Err(nonsense(1, "it is far too long"));
    }
    parse(&bytes).map_err(|(line, why)| nonsense(line, why))
}

/// A last line without its end is torn and counts for nothing: the guard acts only on whole ones.
pub(super) fn parse(bytes: &[u8]) -> Result<Content, (usize, &'static str)> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut content = Content { whole_bytes: whole as u64, ..Content::default() };
    for (index, line) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
        let at = index + 1;
        let line = std::str::from_utf8(line).map_err(|_| (at, "it is not UTF-8"))?;
        let line = line.trim_end_matches('\n');
        if content.ended.is_some() {
            return Err((at, "nothing may follow the end"));
        }
        if let Some(rest) = line.strip_prefix("session ") {
            let (id, leader_start_ticks) = parse_pair(rest).ok_or((at, "a pid and a time"))?;
            let session = Session { id, leader_start_ticks };
            if content.session.replace(session).is_some() {
                return Err((at, "a second session"));
            }
        } else if let Some(rest) = line.strip_prefix("group ") {
            // Torn by a full disk: the session leads to what it would have named.
            let Some((id, _)) = parse_pair(rest) else { continue };
            if content.session.is_none() || content.group.replace(id).is_some() {
                return Err((at, "a group out of place"));
            }
        } else if let Some(rest) = line.strip_prefix("ended ") {
            content.ended = Some(parse_end(rest).ok_or((at, "no known kind of end"))?);
        } else if content.session.is_none() || !"group ".starts_with(line) {
            return Err((at, "no known kind of line"));
        }
    }
    Ok(content)
}

fn parse_pair(text: &str) -> Option<(i32, u64)> {
    let (id, ticks) = text.split_once(' ')?;
    let id = id.parse().ok().filter(|id| *id > 1)?;
    Some((id, ticks.parse().ok()?))
}

fn parse_end(text: &str) -> Option<(Timestamp, CallEnd)> {
    let (how, micros) = text.rsplit_once(' ')?;
    let at = Timestamp::from_micros(micros.parse().ok()?)?;
    let how = match how.split_once(' ').unwrap_or((how, "")) {
        ("exit", code) => CallEnd::Exited(code.parse().ok()?),
        ("signal", signal) => CallEnd::Signalled(signal.parse().ok()?),
        ("spawn_failed", reason) => CallEnd::NotStarted(reason.to_owned()),
        ("deadline", "") => CallEnd::Deadline,
        ("orphaned", "") => CallEnd::Orphaned,
        ("killed", "") => CallEnd::Killed,
        _ => return None,
    };
    Some((at, how))
}

/// The line that says how a call ended.
pub(in crate::actuator) fn ended_line(how: &CallEnd, at: Timestamp) -> String {
    let how = match how {
        CallEnd::Exited(code) => format!("exit {code}"),
        CallEnd::Signalled(signal) => format!("signal {signal}"),
        CallEnd::Deadline => "deadline".to_owned(),
        CallEnd::Orphaned => "orphaned".to_owned(),
        CallEnd::Killed => "killed".to_owned(),
        CallEnd::NotStarted(reason) => format!("spawn_failed {}", one_line(reason)),
    };
    format!("ended {how} {}\n", at.as_micros())
}

fn one_line(text: &str) -> String {
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.truncate(line.floor_char_boundary(REASON_BYTES_MAX));
    line
}
