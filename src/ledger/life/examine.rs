//! What a doctor looks at before and below the tables: the place, the engine, the storage.
//!
//! Each check stands alone: one that fails keeps no other from being made, and a ledger that every
//! command refuses is looked at all the same. Changes nothing.

use std::borrow::Cow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::Standing;
use crate::ledger::error::LedgerError;
use crate::ledger::{Ledger, Location, OpenOptions, ServerAddress, postgres, sqlite};

/// From here on a full disk is near.
const FREE_BYTES_MIN: u64 = 64 * 1024 * 1024;
/// A log that is longer is kept so by a reader that does not end.
const LOG_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// As it should be.
    Ok,
    /// A person should look.
    Warn,
    /// The ledger cannot be used like this.
    Fail,
}

impl Health {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// How it went.
    pub health: Health,
    /// What was found.
    pub found: String,
    /// What to do; empty where nothing is.
    pub advice: Cow<'static, str>,
}

impl Check {
    /// All is well.
    pub fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, health: Health::Ok, found: found.into(), advice: Cow::Borrowed("") }
    }

    /// A person should look.
    pub fn warn(
        name: &'static str,
        found: impl Into<String>,
        advice: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { name, health: Health::Warn, found: found.into(), advice: advice.into() }
    }

    /// It cannot be used like this.
    pub fn fail(
        name: &'static str,
        found: impl Into<String>,
        advice: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { name, health: Health::Fail, found: found.into(), advice: advice.into() }
    }

    fn when(is_ok: bool, name: &'static str, found: String, advice: &'static str) -> Self {
        if is_ok { Self::ok(name, found) } else { Self::warn(name, found, advice) }
    }
}

/// The place of a ledger, whether or not there is one.
pub fn place(location: &Location, open: OpenOptions) -> Vec<Check> {
    match location {
        Location::File(path) => file_checks(path),
        Location::Server(address) => server_checks(address, open),
    }
}

fn file_checks(path: &Path) -> Vec<Check> {
    let version = sqlite::version();
    let mut checks = vec![match version {
        Ok(version) => Check::ok("sqlite", version),
        Err(error) => Check::fail("sqlite", error.to_string(), "use another build of scalectl"),
    }];
    let path = match std::path::absolute(path) {
        Ok(path) => path,
        Err(error) => {
            checks.push(Check::fail("file", error.to_string(), "fix the path"));
            return checks;
        }
    };
    let directory = path.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned);
    checks.push(match sqlite::check_place(&path) {
        Ok(()) => Check::ok("file_system", "local"),
        Err(error) => {
            Check::fail("file_system", error.to_string(), "keep the ledger on a disk of this host")
        }
    });
    checks.extend(free_space(&directory));
    let shared = path.metadata().ok().filter(|found| found.mode() & 0o020 != 0);
    let group = shared.map(|found| found.gid());
    checks.push(match group {
        None => modes("directory_mode", &directory, 0o022, "chmod go-w it, or its group's ledger"),
        Some(group) => group_check(&directory, group),
    });
    match path.metadata() {
        Err(error) => {
            let found = format!("{}: {error}", path.display());
            checks.push(Check::fail("file", found, "fix the path, or scalectl init"));
        }
        Ok(found) => {
            checks.push(Check::ok("file", format!("{}, {} bytes", path.display(), found.len())));
            checks.push(modes("file_mode", &path, 0o007, "chmod o-rwx it"));
            checks.extend(side_files(&path, found.uid(), group));
        }
    }
    if let Some(culprit) = sqlite::unwritable(&path) {
        let found = format!("{} cannot be written", culprit.display());
        checks.push(Check::fail("writable", found, "let this user write it"));
    }
    checks
}

fn free_space(directory: &Path) -> Option<Check> {
    let found = rustix::fs::statvfs(directory).ok()?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let text = format!("{} MiB free", free / (1024 * 1024));
    Some(Check::when(free >= FREE_BYTES_MIN, "disk", text, "make room"))
}

fn modes(name: &'static str, path: &Path, forbidden: u32, advice: &'static str) -> Check {
    match path.metadata() {
        Err(error) => Check::fail(name, format!("{}: {error}", path.display()), "fix the path"),
        Ok(found) => {
            let mode = found.mode() & 0o7777;
            Check::when(mode & forbidden == 0, name, format!("{mode:04o}"), advice)
        }
    }
}

/// A ledger that its group may write is shared by the group, all of it, or members lock each other
/// out.
fn group_check(directory: &Path, group: u32) -> Check {
    match sqlite::unshared(directory, group) {
        None => Check::ok("group", format!("shared by group {group}")),
        Some(error) => Check::warn(
            "group",
            format!("the file is of group {group}, but {error}"),
            "chgrp it and chmod 2770 it, or chmod g-rwx the ledger",
        ),
    }
}

fn side_files(path: &Path, owner: u32, group: Option<u32>) -> Vec<Check> {
    let mut checks = Vec::new();
    for side in sqlite::side_files(path) {
        let Ok(found) = side.metadata() else { continue };
        let name = side.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let text = format!("{name}: {} bytes, of user {}", found.len(), found.uid());
        let is_shared =
            group.is_some_and(|group| found.gid() == group && found.mode() & 0o060 == 0o060);
        if group.is_some() && !is_shared && found.uid() == owner {
            let advice = "chgrp it to the group of the ledger, and chmod 660 it";
            checks.push(Check::warn("side_file", text, advice));
            continue;
        }
        checks.push(if found.uid() == owner || is_shared {
            let advice = "a reader that does not end keeps the log long";
            Check::when(found.len() <= LOG_BYTES_MAX, "side_file", text, advice)
        } else {
            Check::fail("side_file", text, "chown it to the owner of the ledger")
        });
    }
    checks
}

fn server_checks(address: &ServerAddress, open: OpenOptions) -> Vec<Check> {
    let mut checks = vec![Check::when(
        !address.is_in_clear(),
        "tls",
        if address.is_in_clear() { "none, over a network" } else { "as it should be" }.to_owned(),
        "take sslmode=disable out of the address",
    )];
    match postgres::PostgresEngine::examine(address, open) {
        Err(error) => checks.push(Check::fail("server", error.to_string(), "reach the server")),
        Ok(settings) => {
            for setting in settings {
                let (name, found, wanted) = (setting.name, setting.found, setting.wanted);
                let is_ok = wanted.is_empty() || wanted.split('|').any(|wanted| wanted == found);
                let advice = "the administrator of the server sets it";
                checks.push(match (is_ok, setting.is_vital) {
                    (true, _) => Check::ok(name, found),
                    (false, true) => Check::fail(name, found, advice),
                    (false, false) => Check::warn(name, found, advice),
                });
            }
        }
    }
    checks
}

/// Whether it opens, and what an open ledger says of itself and of its storage.
pub fn storage(ledger: &mut Ledger) -> Vec<Check> {
    let mut checks = Vec::new();
    let schema = ledger.identity().schema_version;
    checks.push(Check::ok("schema", schema.to_string()));
    let mut look = || -> Result<(), LedgerError> {
        let read = ledger.read()?;
        let (standing, incarnation) = read.standing()?;
        checks.push(Check::ok("incarnation", incarnation.to_string()));
        checks.push(match standing {
            Standing::Open => Check::ok("standing", "takes writes"),
            Standing::Sealed { to } => {
                Check::fail("standing", format!("sealed: it goes on at {to}"), "use that one")
            }
            Standing::Backup => Check::fail(
                "standing",
                "a backup: it takes no writes",
                "scalectl restore --from it",
            ),
        });
        let problems = read.engine().storage_problems(false, 5)?;
        checks.push(match problems.first() {
            None => Check::ok("storage", "sound"),
            Some(first) => {
                let advice = "keep a copy, then scalectl verify says how far it goes";
                Check::fail("storage", first.clone(), advice)
            }
        });
        Ok(())
    };
    if let Err(error) = look() {
        let advice = "keep a copy, then scalectl verify says how far it goes";
        checks.push(Check::fail("storage", error.to_string(), advice));
    }
    checks
}
