//! Copies the files of a copy into one that is not finished, each with its digest.
//!
//! Owns the journal of an unfinished copy. A file gets its name only once it is complete, and a
//! line of the journal after that, so that after a crash what is proved by both is not copied
//! again. The line counts only while source and copy are as it says. What the target's cell has
//! already is copied there, and not sent.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::num::NonZero;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use rustix::fs::{Advice, Timespec, Timestamps};
use serde::{Deserialize, Serialize};

use super::contents::{Contents, open_known};
use super::fault::{Done, io, os};
use super::files::{read_up_to, remove};
use super::manifest::Entry;
use super::progress::Progress;
use super::reading::{PIECE_BYTES, digest_of, in_time, open_plain};
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
/// How many names before its turn a file is asked for, and how much of it.
const AHEAD: usize = 32;
const AHEAD_BYTES_MAX: u64 = 256 * 1024;
/// A file with holes gets them in steps of so many bytes.
const HOLE_BYTES: usize = 64 * 1024;

#[derive(Serialize, Deserialize)]
struct Line {
    path: String,
    bytes: u64,
    modified: (i64, i64),
    sha256: Digest,
    /// The target's cell had its content.
    #[serde(default)]
    reused: bool,
}

/// What was copied.
pub(super) struct Copied {
    /// By their names.
    pub(super) entries: BTreeMap<String, Entry>,
    /// The bytes of the files whose content the target's cell had.
    pub(super) reused_bytes: u64,
}

/// A file that is read, and what was read of it.
struct Source<'call> {
    file: File,
    path: &'call Path,
    hasher: Hasher,
    bytes: u64,
}

/// From where to where, and what is there already.
struct Copying<'call> {
    from: &'call Path,
    to: &'call Path,
    contents: Contents,
    until: Deadline,
    progress: &'call Progress,
    piece: Vec<u8>,
    /// The same of what is reused: the piece of the source is still needed if it is not used.
    known_piece: Vec<u8>,
}

/// Copies all names of a tree below a folder that is there. What an earlier call has proved stays.
pub(super) fn copy_tree(
    from: &Path,
    to: &Path,
    (tree, contents): (&Tree, Contents),
    until: Deadline,
    progress: &Progress,
) -> Done<Copied> {
    let known = journal(to)?;
    let path = to.join(JOURNAL);
    let mut journal = File::options()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&path)
        .map_err(io("opening", &path))?;
    let (piece, known_piece) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
    let mut copying = Copying { from, to, contents, until, progress, piece, known_piece };
    let (mut entries, mut reused_bytes) = (BTreeMap::new(), 0_u64);
    for (at, item) in tree.items.iter().enumerate() {
        if let Some(later) = tree.items.get(at + AHEAD) {
            ask_for(from, later);
        }
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
                let (sha256, reused) = match line {
                    Some(line) if copying.is_as_said(&target, line)? => (line.sha256, line.reused),
                    Some(_) | None => {
                        let line = copying.copy_file(item, &target)?;
                        let mut text = serde_json::to_vec(&line).expect("BUG: a line is JSON");
                        text.push(b'\n');
                        journal.write_all(&text).map_err(io("writing", &path))?;
                        (line.sha256, line.reused)
                    }
                };
                reused_bytes = reused_bytes.saturating_add(if reused { *bytes } else { 0 });
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
    Ok(Copied { entries, reused_bytes })
}

/// Lets a file come from the disk while others are copied. If that fails it is read all the same.
fn ask_for(from: &Path, item: &Item) {
    if let Kind::File { bytes } = item.kind
        && let Ok(file) = open_plain(&from.join(&item.path))
    {
        let bytes = NonZero::new(bytes.min(AHEAD_BYTES_MAX));
        let _ = rustix::fs::fadvise(&file, 0, bytes, Advice::WillNeed);
    }
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

impl Copying<'_> {
    /// Whether a file of an earlier call is what its line says.
    fn is_as_said(&mut self, path: &Path, line: &Line) -> Done<bool> {
        if !fs::symlink_metadata(path).is_ok_and(|it| it.is_file() && it.len() == line.bytes) {
            return Ok(false);
        }
        let found = digest_of(path, &line.path, self.until, self.progress)?.1;
        if found == line.sha256 {
            self.contents.add(path.to_owned(), line.bytes, found, None);
        }
        Ok(found == line.sha256)
    }

    /// One file, which has its name in the end.
    fn copy_file(&mut self, item: &Item, target: &Path) -> Done<Line> {
        let from = self.from.join(&item.path);
        let file = open_plain(&from).map_err(io("opening", &from))?;
        let found = file.metadata().map_err(io("inspecting", &from))?;
        let has_holes = found.blocks().saturating_mul(512) < found.size();
        let _ = rustix::fs::fadvise(&file, 0, None, Advice::Sequential);
        let mut source = Source { file, path: &from, hasher: Hasher::default(), bytes: 0 };
        let head_bytes = next_piece(&mut source, &mut self.piece, self.until)?;
        let head = source.hasher.clone().finish();
        let is_whole = head_bytes < self.piece.len();
        // Before it is known whether anybody has it, a file is read to its end only where one of
        // its size begins like it.
        let sha256 = if is_whole {
            Some(head)
        } else if self.contents.may_have(found.size(), &head) {
            while next_piece(&mut source, &mut self.piece, self.until)? > 0 {}
            Some(source.hasher.clone().finish())
        } else {
            None
        };
        let draft = self.to.join(DRAFT);
        let reused = match sha256 {
            Some(sha256) => self.reuse(source.bytes, sha256, &draft)?,
            None => None,
        };
        let is_reused = reused.is_some();
        let written = match reused {
            Some(written) => written,
            None => self.send(&mut source, head_bytes, &draft, has_holes)?,
        };
        let line = Line {
            path: item.path.clone(),
            bytes: source.bytes,
            modified: item.modified,
            sha256: source.hasher.finish(),
            reused: is_reused,
        };
        let is_as_read = sha256.is_none_or(|sha256| sha256 == line.sha256);
        if (Kind::File { bytes: line.bytes }) != item.kind || !is_as_read {
            // It was changed under our hands, so nobody has kept its writer out.
            let why = format!("{} was written while it was copied", item.path);
            return Err(Refusal::UnprovableFencing { why }.into());
        }
        give_attributes(&written, &draft, item)?;
        fs::rename(&draft, target).map_err(io("naming", target))?;
        self.contents.add(target.to_owned(), line.bytes, line.sha256, Some(head));
        Ok(line)
    }

    /// Writes the draft from a source of which the first piece, or all, was read.
    fn send(
        &mut self,
        source: &mut Source<'_>,
        head_bytes: usize,
        draft: &Path,
        has_holes: bool,
    ) -> Done<File> {
        let mut filled = head_bytes;
        if source.bytes > u64::try_from(head_bytes).unwrap_or(0) {
            // Nobody has it, so it is read a second time.
            source.file.seek(SeekFrom::Start(0)).map_err(io("reading", source.path))?;
            (source.hasher, source.bytes) = (Hasher::default(), 0);
            filled = next_piece(source, &mut self.piece, self.until)?;
        }
        let mut target = made(draft)?;
        while filled > 0 {
            write(&mut target, &self.piece[..filled], has_holes).map_err(io("writing", draft))?;
            self.progress.add(u64::try_from(filled).unwrap_or(0));
            if filled < self.piece.len() {
                break;
            }
            filled = next_piece(source, &mut self.piece, self.until)?;
        }
        if has_holes {
            target.set_len(source.bytes).map_err(io("writing", draft))?;
        }
        Ok(target)
    }

    /// Writes the draft from a file of the target's cell, if there is one that still has this very
    /// content.
    fn reuse(&mut self, bytes: u64, sha256: Digest, draft: &Path) -> Done<Option<File>> {
        let Some(path) = self.contents.find(bytes, &sha256).map(Path::to_owned) else {
            return Ok(None);
        };
        let Some(file) = open_known(&path) else { return Ok(None) };
        let mut known = Source { file, path: &path, hasher: Hasher::default(), bytes: 0 };
        let mut target = made(draft)?;
        loop {
            let filled = next_piece(&mut known, &mut self.known_piece, self.until)?;
            if filled == 0 || known.bytes > bytes {
                break;
            }
            target.write_all(&self.known_piece[..filled]).map_err(io("writing", draft))?;
        }
        if known.bytes != bytes || known.hasher.finish() != sha256 {
            return Ok(None);
        }
        self.progress.add(bytes);
        Ok(Some(target))
    }
}

/// The next bytes of a source, digested; none at its end, and fewer than a piece only there.
fn next_piece(source: &mut Source<'_>, piece: &mut [u8], until: Deadline) -> Done<usize> {
    in_time(until, "copying the files")?;
    let mut filled = 0;
    while filled < piece.len() {
        let read = source.file.read(&mut piece[filled..]);
        let count = read.map_err(io("reading", source.path))?;
        if count == 0 {
            break;
        }
        filled += count;
    }
    source.hasher.update(&piece[..filled]);
    source.bytes = source.bytes.saturating_add(u64::try_from(filled).unwrap_or(0));
    Ok(filled)
}

/// An empty draft.
fn made(draft: &Path) -> Done<File> {
    remove(draft)?;
    let mut options = File::options();
    let made = options.write(true).create_new(true).mode(0o600).open(draft);
    made.map_err(io("making", draft))
}

/// Writes a piece; what is nothing but zeros becomes a hole where its source has holes.
fn write(target: &mut File, piece: &[u8], has_holes: bool) -> std::io::Result<()> {
    if !has_holes {
        return target.write_all(piece);
    }
    for part in piece.chunks(HOLE_BYTES) {
        if part.iter().all(|byte| *byte == 0) {
            target.seek(SeekFrom::Current(i64::try_from(part.len()).unwrap_or(0)))?;
        } else {
            target.write_all(part)?;
        }
    }
    Ok(())
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
