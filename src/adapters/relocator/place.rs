//! Where everything is below the root, and how much room a cell has.
//!
//! ```text
//! cells/CELL/limit.json                     {"storage_bytes": N}
//! cells/CELL/ENVIRONMENT/EPOCH-OPERATION/   one copy: application/ artifacts/ workspace/
//!                                           database.sqlite credentials.json subjects.json …
//! routes/ENVIRONMENT.json                   who serves
//! sessions/ENVIRONMENT/                     accepted.lock open/
//! fences/ENVIRONMENT.json                   the newest token
//! ```

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::fault::{Done, Fault, io};
use super::files::{lock, names, read_json, replace_json};
use crate::actuator::host::Deadline;
use crate::domain::digest::sha256_hex;
use crate::domain::id::{CellName, EnvironmentName, FenceToken};
use crate::domain::placement::protocol::{CopyPlace, Refusal};

/// The longest name of a folder that is the identifier itself, in bytes.
const FOLDER_BYTES_MAX: usize = 100;

pub(super) const DATABASE: &str = "database.sqlite";
pub(super) const MANIFEST: &str = "manifest.json";
pub(super) const VERIFIED: &str = "verified.json";
pub(super) const FENCE: &str = "fence.json";
/// Whoever writes files of a copy holds its lock, and looks at [`FENCE`] under it.
pub(super) const FILES_LOCK: &str = ".lock";
/// How many bytes a copy that is being made will have.
pub(super) const RESERVED: &str = ".reserved.json";
pub(super) const LIMIT: &str = "limit.json";

/// The root of a relocator.
#[derive(Debug, Clone)]
pub struct Root(PathBuf);

/// The folder of an identifier: itself where that is a safe name, else its digest.
pub(super) fn folder_of(text: &str) -> String {
    let is_plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.len() <= FOLDER_BYTES_MAX
        && !text.starts_with("sha256-");
    if is_plain { text.to_owned() } else { format!("sha256-{}", sha256_hex(text.as_bytes())) }
}

impl Root {
    /// A relocator whose cells, routes, sessions and fences are below this folder.
    pub const fn new(dir: PathBuf) -> Self {
        Self(dir)
    }

    pub(super) fn cell(&self, cell: &CellName) -> PathBuf {
        self.0.join("cells").join(folder_of(cell.as_str()))
    }

    /// The copies of an environment in a cell.
    pub(super) fn copies(&self, cell: &CellName, environment: &EnvironmentName) -> PathBuf {
        self.cell(cell).join(folder_of(environment.as_str()))
    }

    pub(super) fn copy(&self, environment: &EnvironmentName, place: &CopyPlace) -> PathBuf {
        self.copies(&place.cell, environment).join(folder_of(&place.generation.to_string()))
    }

    pub(super) fn routes(&self) -> PathBuf {
        self.0.join("routes")
    }

    pub(super) fn fences(&self) -> PathBuf {
        self.0.join("fences")
    }

    pub(super) fn sessions(&self, environment: &EnvironmentName) -> PathBuf {
        self.0.join("sessions").join(folder_of(environment.as_str()))
    }

    /// Where credentials of the provider `local` are.
    pub(super) fn credentials(&self) -> PathBuf {
        self.0.join("credentials")
    }
}

/// The hidden beginnings beside a copy: of one that is being made, and of one that is going.
pub(super) fn partial_of(copy: &Path, token: FenceToken) -> PathBuf {
    beside(copy, ".partial-", &format!(".t{token}"))
}

pub(super) fn trash_of(copy: &Path) -> PathBuf {
    beside(copy, ".trash-", "")
}

fn beside(copy: &Path, before: &str, behind: &str) -> PathBuf {
    let name = copy.file_name().unwrap_or_default().to_string_lossy();
    copy.with_file_name(format!("{before}{name}{behind}"))
}

/// The unfinished copies under this name, of whichever token.
pub(super) fn partials_of(copy: &Path) -> Done<Vec<PathBuf>> {
    let Some(dir) = copy.parent() else { return Ok(Vec::new()) };
    let beginning = beside(copy, ".partial-", ".t");
    let beginning = beginning.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_one = |name: &str| {
        name.strip_prefix(&beginning).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
    };
    let names = names(dir)?.into_iter().filter_map(|name| name.into_string().ok());
    Ok(names.filter(|name| is_one(name)).map(|name| dir.join(name)).collect())
}

/// A copy that is there, as a folder.
pub(super) fn existing(path: &Path, place: &CopyPlace) -> Done<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(Refusal::Unusable {
            file: place.generation.to_string(),
            problem: "it is no folder".to_owned(),
        }
        .into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Refusal::NotThere { what: format!("copy {place}") }.into())
        }
        Err(error) => Err(io("inspecting", path)(error)),
    }
}

#[derive(Serialize, Deserialize)]
struct Limit {
    storage_bytes: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Reserved {
    pub(super) bytes: u64,
}

/// The limit of a cell, which says that there is such a cell.
pub(super) fn limit_of(dir: &Path, cell: &CellName) -> Done<u64> {
    let limit: Option<Limit> = read_json(&dir.join(LIMIT))?;
    let missing = || Fault::from(Refusal::NotThere { what: format!("{LIMIT} of cell {cell}") });
    Ok(limit.ok_or_else(missing)?.storage_bytes)
}

/// Reserves the bytes of a copy that is about to be made, or says that the cell is full. What the
/// others are about to write counts as if it were written.
pub(super) fn reserve(
    dir: &Path,
    cell: &CellName,
    partial: &Path,
    needed_bytes: u64,
    until: Deadline,
) -> Done<()> {
    let limit_bytes = limit_of(dir, cell)?;
    let _cell = lock(&dir.join(FILES_LOCK), until, "the cell's lock")?;
    let used_bytes = used(dir, Some(partial))?;
    if used_bytes.saturating_add(needed_bytes) > limit_bytes {
        let missing_bytes = used_bytes.saturating_add(needed_bytes) - limit_bytes;
        return Err(full(cell, needed_bytes, limit_bytes, used_bytes, missing_bytes));
    }
    replace_json(partial, RESERVED, &Reserved { bytes: needed_bytes })
}

/// The bytes of all copies in a cell, but for one that is being made.
fn used(cell: &Path, besides: Option<&Path>) -> Done<u64> {
    let mut bytes = 0_u64;
    for environment in folders(cell)? {
        for copy in folders(&environment)? {
            if Some(copy.as_path()) == besides {
                continue;
            }
            let reserved: Option<Reserved> = read_json(&copy.join(RESERVED))?;
            let written = bytes_below(&copy)?;
            bytes = bytes.saturating_add(written.max(reserved.map_or(0, |it| it.bytes)));
        }
    }
    Ok(bytes)
}

fn folders(dir: &Path) -> Done<Vec<PathBuf>> {
    let paths = names(dir)?.into_iter().map(|name| dir.join(name));
    Ok(paths.filter(|path| fs::symlink_metadata(path).is_ok_and(|it| it.is_dir())).collect())
}

/// The bytes of all files below a folder. What goes away meanwhile is not counted.
pub(super) fn bytes_below(dir: &Path) -> Done<u64> {
    let mut bytes = 0_u64;
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for name in names(&dir)? {
            let path = dir.join(name);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => open.push(path),
                Ok(found) => bytes = bytes.saturating_add(found.size()),
                Err(_) => {}
            }
        }
    }
    Ok(bytes)
}

/// What a full disk is told as: the cell's own file system, and not its limit.
/// `dir` is what is being written.
pub(super) fn disk_full(dir: &Path, cell: &CellName, needed_bytes: u64, fault: Fault) -> Fault {
    let written_bytes = bytes_below(dir).unwrap_or(0);
    let Ok(found) = rustix::fs::statvfs(dir) else { return fault };
    let limit_bytes = found.f_blocks.saturating_mul(found.f_frsize);
    let used_bytes = limit_bytes.saturating_sub(found.f_bavail.saturating_mul(found.f_frsize));
    // What was written already is among what is used.
    let missing_bytes = needed_bytes
        .saturating_sub(written_bytes)
        .saturating_add(used_bytes)
        .saturating_sub(limit_bytes)
        .max(1);
    full(cell, needed_bytes, limit_bytes, used_bytes, missing_bytes)
}

fn full(
    cell: &CellName,
    needed_bytes: u64,
    limit_bytes: u64,
    used_bytes: u64,
    missing_bytes: u64,
) -> Fault {
    let cell = cell.clone();
    Refusal::CapacityExhausted { cell, needed_bytes, limit_bytes, used_bytes, missing_bytes }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_identifier_names_what_is_hidden_or_above_or_of_another() {
        let name = folder_of;
        assert_eq!(name("1-op.a_b"), "1-op.a_b");
        let long = "a".repeat(256);
        let names = ["x", "x/y", "x:y", "..", "../x", "sha256-1", &long, ".t1", ""].map(name);
        for (at, one) in names.iter().enumerate() {
            assert!(names.iter().skip(at + 1).all(|other| other != one), "{names:?}");
            assert!(!one.contains('/') && !one.starts_with('.') && one.len() <= 100, "{one}");
        }
    }

    #[test]
    fn partials_of_one_copy_are_not_those_of_another() {
        let dir = tempfile::tempdir().expect("a folder");
        let (one, other) = (dir.path().join("1-a"), dir.path().join("1-a.t1"));
        let token = |number| FenceToken::new(number).expect("valid");
        for path in [partial_of(&one, token(3)), partial_of(&other, token(4)), trash_of(&one)] {
            fs::create_dir(path).expect("made");
        }
        assert_eq!(partials_of(&one).expect("listed"), [partial_of(&one, token(3))]);
    }
}
