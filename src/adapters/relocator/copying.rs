//! Copies the files of a copy into one that is not finished, each with its digest.
//!
//! Owns the journal of an unfinished copy. A file gets its name only once it is complete, and a
//! line of the journal after that, so that after a crash what is proved by both is not copied
//! again. The line counts only while source and copy are as it says.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use rustix::fs::{Advice, Timespec, Timestamps};
use serde::{Deserialize, Serialize};

use super::durable::{read_up_to, remove};
use super::fault::{Done, io, os};
use super::manifest::{Entry, PIECE_BYTES, digest_of, in_time, open_plain};
use super::progress::Progress;
use super::tree::{Item, Kind, Tree};
use crate::actuator::host::Deadline;
use crate::crash::{self, CrashPoint, RelocatorPoint};
use crate::domain::digest::{Digest, Hasher};
use crate::domain::placement::protocol::Refusal;

/// The lines of an unfinished copy.
pub(super) const JOURNAL: &str = ".journal.ndjson";
/// The one file that is being written.
pub(super) const DRAFT: &str = ".draft";
const JOURNAL_BYTES_MAX: u64 = 1024 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct Line {
    path: String,
    bytes: u64,
    modified: (i64, i64),
    sha256: Digest,
}

/// Copies all names of a tree below a folder that is there. What an earlier call has proved stays.
pub(super) fn copy_tree(
    from: &Path,
    to: &Path,
    tree: &Tree,
    until: Deadline,
    progress: &mut Progress,
) -> Done<BTreeMap<String, Entry>> {
    let known = journal(to)?;
    let path = to.join(JOURNAL);
    let mut journal = File::options()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&path)
        .map_err(io("opening", &path))?;
    let mut entries = BTreeMap::new();
    for item in &tree.items {
        in_time(until, "copying the files")?;
        let target = to.join(&item.path);
        let entry = match &item.kind {
            Kind::Folder => {
                make_folder(&target)?;
                Entry::Folder { mode: item.mode }
            }
            Kind::Link { to: leads_to } => {
                remove(&target)?;
                symlink(leads_to, &target).map_err(io("linking", &target))?;
                Entry::Link { to: leads_to.clone() }
            }
            Kind::File { bytes } => {
                let line = known.get(&item.path);
                let line = line.filter(|it| it.bytes == *bytes && it.modified == item.modified);
                let sha256 = match line {
                    Some(line) if is_as_said(&target, line, until, progress)? => line.sha256,
                    Some(_) | None => {
                        let draft = to.join(DRAFT);
                        let line =
                            copy_file(&from.join(&item.path), &draft, item, until, progress)?;
                        fs::rename(&draft, &target).map_err(io("naming", &target))?;
                        let text = serde_json::to_string(&line).expect("BUG: a line is JSON");
                        writeln!(journal, "{text}").map_err(io("writing", &path))?;
                        line.sha256
                    }
                };
                crash::hit(CrashPoint::Relocator(RelocatorPoint::AfterFile));
                Entry::File { mode: item.mode, bytes: *bytes, sha256 }
            }
        };
        entries.insert(item.path.clone(), entry);
    }
    // Last, and from below: a folder that may not be written could not be filled.
    for item in tree.items.iter().rev().filter(|item| item.kind == Kind::Folder) {
        let folder = to.join(&item.path);
        let open = File::open(&folder).map_err(io("opening", &folder))?;
        give_attributes(&open, &folder, item)?;
    }
    Ok(entries)
}

/// A folder that can be filled, whatever an earlier call has made of it.
fn make_folder(path: &Path) -> Done<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        other => other.map_err(io("making", path))?,
    }
    fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(io("opening up", path))
}

/// The lines of an earlier call; a last one that was cut short says nothing.
fn journal(to: &Path) -> Done<BTreeMap<String, Line>> {
    let bytes = read_up_to(&to.join(JOURNAL), JOURNAL_BYTES_MAX)?.unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| serde_json::from_slice::<Line>(line).ok());
    Ok(lines.map(|line| (line.path.clone(), line)).collect())
}

fn is_as_said(path: &Path, line: &Line, until: Deadline, progress: &mut Progress) -> Done<bool> {
    if !fs::symlink_metadata(path).is_ok_and(|it| it.is_file() && it.len() == line.bytes) {
        return Ok(false);
    }
    Ok(digest_of(path, &line.path, until, progress)?.1 == line.sha256)
}

fn copy_file(
    from: &Path,
    draft: &Path,
    item: &Item,
    until: Deadline,
    progress: &mut Progress,
) -> Done<Line> {
    let mut source = open_plain(from).map_err(io("opening", from))?;
    let _ = rustix::fs::fadvise(&source, 0, None, Advice::Sequential);
    remove(draft)?;
    let mut target = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(draft)
        .map_err(io("making", draft))?;
    let (mut hasher, mut bytes) = (Hasher::default(), 0_u64);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let count = source.read(&mut piece).map_err(io("reading", from))?;
        if count == 0 {
            break;
        }
        target.write_all(&piece[..count]).map_err(io("writing", draft))?;
        hasher.update(&piece[..count]);
        let count = u64::try_from(count).unwrap_or(0);
        bytes = bytes.saturating_add(count);
        progress.add(count);
        in_time(until, "copying the files")?;
    }
    if (Kind::File { bytes }) != item.kind {
        // It grew or shrank under our hands, so nobody has kept its writer out.
        let why = format!("{} was written while it was copied", item.path);
        return Err(Refusal::UnprovableFencing { why }.into());
    }
    give_attributes(&target, draft, item)?;
    let sha256 = hasher.finish();
    Ok(Line { path: item.path.clone(), bytes, modified: item.modified, sha256 })
}

/// Owner, mode and time of what it is a copy of. The owner first: a change of it takes bits away.
fn give_attributes(file: &File, path: &Path, item: &Item) -> Done<()> {
    let found = file.metadata().map_err(io("inspecting", path))?;
    if (found.uid(), found.gid()) != item.owner && rustix::process::geteuid().is_root() {
        let (user, group) = item.owner;
        let user = Some(rustix::fs::Uid::from_raw(user));
        let group = Some(rustix::fs::Gid::from_raw(group));
        rustix::fs::fchown(file, user, group).map_err(os("giving away", path))?;
    }
    file.set_permissions(Permissions::from_mode(item.mode)).map_err(io("changing", path))?;
    let time = Timespec { tv_sec: item.modified.0, tv_nsec: item.modified.1 };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::futimens(file, &times).map_err(os("dating", path))
}
