//! Who and when we are: the host key, this process, the boot clock.
//!
//! Owns the reading of these facts. Never decides with them anything but [`whereabouts`].

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::error::HostError;
use super::procfs;
use crate::crash;
use crate::domain::digest::sha256_hex;
use crate::domain::id::HostKey;
use crate::domain::time::{DurationMs, Timestamp};

/// Begins the machine part of a host key that had to be derived from the host name.
///
/// Names are not unique, so such keys never prove that a boot of *this* machine is over.
const UNSURE: &str = "name-";

/// An instant of the boot clock, in milliseconds since the machine started. It counts through
/// suspend and never steps, and it means nothing on another boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(u64);

impl Deadline {
    /// That many milliseconds after the start of the machine.
    pub const fn at_boot_ms(boot_ms: u64) -> Self {
        Self(boot_ms)
    }

    /// So long after now.
    pub fn after(duration: DurationMs) -> Self {
        Self(boot_ms().saturating_add(duration.as_millis()))
    }

    /// Milliseconds since the start of the machine.
    pub const fn boot_ms(self) -> u64 {
        self.0
    }

    /// Later by so much.
    #[must_use]
    pub const fn plus_ms(self, millis: u64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// How long ago it came; zero until it has.
    pub fn ago(self) -> DurationMs {
        DurationMs::from_millis(boot_ms().saturating_sub(self.0))
    }

    /// Whether it has come.
    pub fn is_past(self) -> bool {
        boot_ms() >= self.0
    }

    /// How long until it comes; zero once it has.
    pub fn remaining(self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(boot_ms()))
    }
}

/// Now on the boot clock, in milliseconds.
pub fn boot_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let secs = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(now.tv_nsec).unwrap_or(0);
    secs.saturating_mul(1000).saturating_add(nanos / 1_000_000)
}

/// When a call was known to have ended. Not by the wall clock: it may be set meanwhile, and the
/// ledger's time may be another one, so only whoever records the end can say when that was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedAt {
    /// So many milliseconds after the start of this machine.
    BootMs(u64),
    /// Nobody has noted it by a clock that counts here: the latest that it can be is now.
    Unnoted,
}

impl EndedAt {
    /// Now, rounded up: an end is never told earlier than it was.
    pub(super) fn now() -> Self {
        Self::BootMs(boot_ms().saturating_add(1))
    }

    /// How long ago it was.
    pub fn ago(self) -> DurationMs {
        match self {
            Self::BootMs(at) => DurationMs::from_millis(boot_ms().saturating_sub(at)),
            Self::Unnoted => DurationMs::ZERO,
        }
    }
}

/// Now on the wall clock of this host, for the age of files only.
pub(super) fn wall_now() -> Timestamp {
    let now = clock_gettime(ClockId::Realtime);
    let micros = now.tv_sec.saturating_mul(1_000_000).saturating_add(now.tv_nsec / 1000);
    Timestamp::from_micros(micros.clamp(0, 253_402_207_200_000_000))
        .expect("BUG: clamped into the bounds")
}

/// The identity of the place where processes of this one can be seen: machine, boot and process
/// namespace, joined by colons.
pub fn host_key() -> Result<HostKey, HostError> {
    let boot = match crash::boot() {
        Some(boot) => boot,
        None => read("the boot id", "/proc/sys/kernel/random/boot_id")?,
    };
    let namespace = fs::metadata("/proc/self/ns/pid")
        .map_err(|source| HostError { what: "the process namespace", source })?
        .ino();
    key_of(&machine_id()?, &boot, namespace)
}

/// The key of a machine, the text of a boot id and the number of a namespace.
pub fn key_of(machine: &str, boot: &str, namespace: u64) -> Result<HostKey, HostError> {
    format!("{machine}:{}:{namespace}", boot.trim())
        .parse()
        .map_err(|error| HostError { what: "the host key", source: std::io::Error::other(error) })
}

/// The id in a text in the form of machine-id(5); none where it is not one.
pub fn machine_of(text: &str) -> Option<&str> {
    let id = text.trim();
    (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

fn machine_id() -> Result<String, HostError> {
    if let Some(machine) = crash::machine() {
        return Ok(machine);
    }
    for path in ["/etc/machine-id", "/var/lib/dbus/machine-id"] {
        let Ok(text) = fs::read_to_string(path) else { continue };
        if let Some(id) = machine_of(&text) {
            return Ok(id.to_owned());
        }
    }
    Ok(format!("{UNSURE}{}", &sha256_hex(host_name()?.as_bytes())[..32]))
}

/// The name of this host, as the kernel has it.
pub fn host_name() -> Result<String, HostError> {
    if let Some(name) = crash::host_name() {
        return Ok(name);
    }
    rustix::system::uname()
        .nodename()
        .to_str()
        .map(str::to_owned)
        .map_err(|error| HostError { what: "the host name", source: std::io::Error::other(error) })
}

/// The id of this process.
pub fn pid() -> u32 {
    std::process::id()
}

/// When this process started, in clock ticks since the boot: with the pid it names one process.
pub fn start_ticks() -> Result<u64, HostError> {
    procfs::own_stat()
        .map(|stat| stat.start_ticks)
        .map_err(|source| HostError { what: "the start time of this process", source })
}

/// Whether the process under that id lives and was there at an instant of the boot clock: a later
/// namesake was not.
pub fn has_lived_since(pid: u32, boot_ms: u64) -> bool {
    let Ok(pid) = i32::try_from(pid) else { return false };
    let hertz = rustix::param::clock_ticks_per_second().max(1);
    procfs::stat_of(pid)
        .ok()
        .flatten()
        .is_some_and(|stat| !stat.dead && stat.start_ticks.saturating_mul(1000) / hertz <= boot_ms)
}

/// Whether the process under that id is stopped: it does nothing until somebody continues it.
pub fn is_stopped(pid: u32) -> bool {
    let stat = i32::try_from(pid).ok().and_then(|pid| procfs::stat_of(pid).ok().flatten());
    stat.is_some_and(|stat| stat.stopped)
}

/// Where a call runs, seen from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whereabouts {
    /// On this boot of this machine, in this process namespace: its end can be proved here.
    Here,
    /// On an earlier boot of this machine: no process of it is left.
    DeadBoot,
    /// Anywhere else: nothing can be proved here.
    Elsewhere,
}

/// Compares the host key of a call with this host's own (ruling 1 of the design). A key that is
/// not of our making is elsewhere.
pub fn whereabouts(own: &HostKey, other: &HostKey) -> Whereabouts {
    let (Some(own), Some(other)) = (parts(own), parts(other)) else {
        return Whereabouts::Elsewhere;
    };
    match (own.machine == other.machine, own.boot == other.boot) {
        (true, true) if own.namespace == other.namespace => Whereabouts::Here,
        (true, false) if !own.machine.starts_with(UNSURE) => Whereabouts::DeadBoot,
        (true | false, true | false) => Whereabouts::Elsewhere,
    }
}

struct Parts<'a> {
    machine: &'a str,
    boot: &'a str,
    namespace: &'a str,
}

fn parts(key: &HostKey) -> Option<Parts<'_>> {
    let mut parts = key.as_str().split(':');
    let found = Parts { machine: parts.next()?, boot: parts.next()?, namespace: parts.next()? };
    let whole = [found.machine, found.boot, found.namespace].iter().all(|part| !part.is_empty());
    (whole && parts.next().is_none()).then_some(found)
}

fn read(what: &'static str, path: &str) -> Result<String, HostError> {
    fs::read_to_string(path).map_err(|source| HostError { what, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_key_has_three_parts_and_is_here() {
        let key = host_key().expect("readable here");
        assert_eq!(key.as_str().split(':').count(), 3);
        assert_eq!(whereabouts(&key, &host_key().expect("readable here")), Whereabouts::Here);
    }

    #[test]
    fn a_later_namesake_was_not_there() {
        let (own, started) = (pid(), start_ticks().expect("readable here"));
        let hertz = rustix::param::clock_ticks_per_second();
        assert!(has_lived_since(own, boot_ms()));
        assert!(!has_lived_since(own, (started * 1000 / hertz).saturating_sub(1000)));
        assert!(!has_lived_since(u32::MAX, boot_ms()));
    }

    #[test]
    fn keys_are_compared_part_by_part() {
        for (own, other, expected) in [
            ("m:b:1", "m:b:1", Whereabouts::Here),
            ("m:b:1", "m:b:2", Whereabouts::Elsewhere),
            ("m:b:1", "m:c:1", Whereabouts::DeadBoot),
            ("m:b:1", "m:c:2", Whereabouts::DeadBoot),
            ("m:b:1", "n:b:1", Whereabouts::Elsewhere),
            ("m:b:1", "n:c:1", Whereabouts::Elsewhere),
            ("name-x:b:1", "name-x:b:1", Whereabouts::Here),
            ("name-x:b:1", "name-x:c:1", Whereabouts::Elsewhere),
            ("m:b:1", "m:c", Whereabouts::Elsewhere),
            ("m:b:1", "m:c:1:1", Whereabouts::Elsewhere),
            ("m:b:1", "m::1", Whereabouts::Elsewhere),
        ] {
            let key = |text: &str| text.parse::<HostKey>().expect("an identifier");
            assert_eq!(whereabouts(&key(own), &key(other)), expected, "{own} {other}");
        }
    }

    #[test]
    fn an_end_was_as_long_ago_as_the_boot_clock_says() {
        let ago = |at| EndedAt::BootMs(at).ago().as_millis();
        let at = boot_ms().saturating_sub(5000);
        assert!((5000..60_000).contains(&ago(at)));
        assert_eq!((ago(u64::MAX), EndedAt::Unnoted.ago()), (0, DurationMs::ZERO));
    }

    #[test]
    fn a_deadline_comes() {
        assert!(Deadline::after(DurationMs::ZERO).is_past());
        let later = Deadline::after(DurationMs::from_secs(50));
        assert!(!later.is_past());
        assert!(later.remaining() <= Duration::from_secs(50));
        assert_eq!(Deadline::at_boot_ms(u64::MAX).plus_ms(1).boot_ms(), u64::MAX);
    }
}
