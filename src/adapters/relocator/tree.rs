//! What a copy consists of on the disk: its files, folders and links, without its caches.

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;

use super::fault::{Done, io, unusable};
use super::files::names;
use crate::domain::digest::{Digest, Hasher};
use crate::domain::placement::protocol::Refusal;

/// The folders of a copy.
pub(super) const APPLICATION: &str = "application";
pub(super) const ARTIFACTS: &str = "artifacts";
pub(super) const WORKSPACE: &str = "workspace";
/// The files of a copy, besides its database.
pub(super) const CREDENTIALS: &str = "credentials.json";
pub(super) const SUBJECTS: &str = "subjects.json";
pub(super) const WORKSPACE_STATE: &str = "workspace.json";

/// Folders of a workspace that a build or a tool makes again: never what a person has written.
const CACHES: [&str; 5] =
    ["node_modules", "__pycache__", ".cache", ".scalectl-helpers", ".pytest_cache"];
/// What marks any other cache (<https://bford.info/cachedir/>).
const CACHE_TAG: &str = "CACHEDIR.TAG";
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// How many links are followed, as the system does.
const LINKS_MAX: usize = 40;

/// What a name is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) enum Kind {
    Folder,
    File { bytes: u64 },
    Link { to: String },
}

/// One name of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Item {
    /// Below the copy, with `/`.
    pub(super) path: String,
    pub(super) kind: Kind,
    /// The bits of the mode.
    pub(super) mode: u32,
    pub(super) owner: (u32, u32),
    /// Seconds and nanoseconds since 1970.
    pub(super) modified: (i64, i64),
    /// When the name or the content was changed last; nobody can set this back.
    changed: (i64, i64),
}

/// All names of a copy, in order, and the caches that are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tree {
    pub(super) items: Vec<Item>,
    pub(super) left_out: Vec<String>,
}

impl Tree {
    /// The bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        let bytes = self.items.iter().map(|item| match &item.kind {
            Kind::File { bytes } => *bytes,
            Kind::Folder | Kind::Link { .. } => 0,
        });
        bytes.fold(0, u64::saturating_add)
    }

    pub(super) fn files(&self) -> u64 {
        let files = self.items.iter().filter(|item| matches!(item.kind, Kind::File { .. }));
        u64::try_from(files.count()).unwrap_or(u64::MAX)
    }

    /// The digest of all that is said here of every name, its times included.
    pub(super) fn digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        for item in &self.items {
            hasher.update(&serde_json::to_vec(item).expect("BUG: an item is JSON"));
        }
        hasher.finish()
    }

    /// The first name that was changed after an instant.
    pub(super) fn changed_after(&self, instant: (i64, i64)) -> Option<&str> {
        self.items.iter().find(|item| item.changed > instant).map(|item| item.path.as_str())
    }

    /// The first name that is another in a later look, or was changed meanwhile.
    pub(super) fn moved(&self, later: &Self) -> Option<String> {
        let moved = self.items.iter().zip(&later.items).find(|(one, other)| one != other);
        let rest = |longer: &Self, at: usize| longer.items.get(at).map(|item| item.path.clone());
        moved
            .map(|(one, _)| one.path.clone())
            .or_else(|| rest(self, later.items.len()))
            .or_else(|| rest(later, self.items.len()))
    }
}

/// The names of a copy that a transfer takes along.
pub(super) fn walk(copy: &Path) -> Done<Tree> {
    let mut tree = Tree::default();
    for top in [APPLICATION, ARTIFACTS, CREDENTIALS, SUBJECTS, WORKSPACE, WORKSPACE_STATE] {
        if fs::symlink_metadata(copy.join(top)).is_ok() {
            visit(copy, top.to_owned(), &mut tree)?;
        }
    }
    Ok(tree)
}

fn text_of(name: &std::ffi::OsStr, below: &str) -> Done<String> {
    let shown = || format!("{below}{}", name.to_string_lossy());
    let text = name.to_str().ok_or_else(|| unusable(shown(), "its name is not UTF-8"))?;
    Ok(text.to_owned())
}

fn visit(copy: &Path, top: String, tree: &mut Tree) -> Done<()> {
    // What is still to be looked at, the next one last.
    let mut open = vec![top];
    while let Some(path) = open.pop() {
        let at = copy.join(&path);
        let found = fs::symlink_metadata(&at).map_err(io("inspecting", &at))?;
        let kind = if found.is_dir() {
            Kind::Folder
        } else if found.is_file() {
            Kind::File { bytes: found.size() }
        } else if found.is_symlink() {
            link(copy, &at, &path)?
        } else {
            return Err(unusable(&path, "it is a device, a socket or a pipe"));
        };
        let is_folder = kind == Kind::Folder;
        if is_folder && is_cache(&at, &path) {
            tree.left_out.push(path);
            continue;
        }
        tree.items.push(Item {
            path: path.clone(),
            kind,
            mode: found.mode() & 0o7777,
            owner: (found.uid(), found.gid()),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        });
        if is_folder {
            let below = format!("{path}/");
            for name in names(&at)?.iter().rev() {
                open.push(format!("{below}{}", text_of(name, &below)?));
            }
        }
    }
    Ok(())
}

fn is_cache(at: &Path, path: &str) -> bool {
    let Some(below) = path.strip_prefix("workspace/") else { return false };
    let name = below.rsplit('/').next().unwrap_or(below);
    if CACHES.contains(&name) {
        return true;
    }
    let mut beginning = Vec::new();
    let length = u64::try_from(CACHE_SIGNATURE.len()).unwrap_or(0);
    let read = fs::File::open(at.join(CACHE_TAG))
        .and_then(|file| file.take(length).read_to_end(&mut beginning));
    read.is_ok() && beginning == CACHE_SIGNATURE
}

/// A link that leads to the same place in every copy: anything else is a dependency that stays
/// behind.
fn link(copy: &Path, at: &Path, path: &str) -> Done<Kind> {
    let to = fs::read_link(at).map_err(io("reading", at))?;
    let text = to.to_str().ok_or_else(|| unusable(path, "it leads to what is not UTF-8"))?;
    if !stays_inside(copy, path, &to) {
        let missing = vec![format!("{path} leads outside of the copy, to {text}")];
        return Err(Refusal::MissingDependency { missing }.into());
    }
    Ok(Kind::Link { to: text.to_owned() })
}

/// A step from one folder.
enum Step {
    Down(OsString),
    Up,
    Root,
}

fn steps(path: &Path) -> impl Iterator<Item = Step> {
    path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(Step::Down(name.to_owned())),
        Component::CurDir => None,
        Component::ParentDir => Some(Step::Up),
        Component::RootDir | Component::Prefix(_) => Some(Step::Root),
    })
}

/// Whether a link leads to a place of its own part of the copy, through whatever other links: what
/// looks as if it stayed inside may leave through one that leads up.
fn stays_inside(copy: &Path, path: &str, to: &Path) -> bool {
    let mut at: Vec<OsString> = path.split('/').map(OsString::from).collect();
    let top = at[0].clone();
    at.pop();
    // What is still to be gone, the next step last.
    let mut open: Vec<Step> = steps(to).collect();
    let mut links = 0;
    while let Some(step) = open.pop() {
        match step {
            Step::Up if at.len() > 1 => {
                at.pop();
            }
            Step::Up | Step::Root => return false,
            Step::Down(name) => {
                at.push(name);
                if at[0] != top {
                    return false;
                }
                let Ok(leads_to) = fs::read_link(copy.join(at.iter().collect::<PathBuf>())) else {
                    continue;
                };
                links += 1;
                if links > LINKS_MAX {
                    // A ring leads nowhere.
                    return true;
                }
                at.pop();
                open.extend(steps(&leads_to));
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_left_out_of_the_workspace_only_and_only_where_they_are_marked() {
        let dir = tempfile::tempdir().expect("a folder");
        let write = |path: &str, bytes: &[u8]| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().expect("below")).expect("made");
            fs::write(path, bytes).expect("written");
        };
        write("application/node_modules/needed.js", b"1");
        write("workspace/node_modules/x.js", b"2");
        write("workspace/src/target/edited.txt", b"3");
        write("workspace/target/CACHEDIR.TAG", CACHE_SIGNATURE);
        write("workspace/target/debug/x", b"4");
        write("workspace/a/__pycache__/x.pyc", b"5");
        write("elsewhere/x", b"6");
        let tree = walk(dir.path()).expect("walked");
        let files = tree.items.iter().filter(|item| matches!(item.kind, Kind::File { .. }));
        let files: Vec<&str> = files.map(|item| item.path.as_str()).collect();
        assert_eq!(
            files,
            ["application/node_modules/needed.js", "workspace/src/target/edited.txt"]
        );
        let mut left_out = tree.left_out.clone();
        left_out.sort();
        let expected = ["workspace/a/__pycache__", "workspace/node_modules", "workspace/target"];
        assert_eq!(left_out, expected);
        assert_eq!((tree.bytes(), tree.files()), (2, 2));
        let before = tree;
        write("workspace/src/target/edited.txt", b"7");
        let moved = before.moved(&walk(dir.path()).expect("walked"));
        assert_eq!(moved.as_deref(), Some("workspace/src/target/edited.txt"));
    }

    #[test]
    fn a_link_stays_in_its_part_of_the_copy() {
        for (path, to, is_inside) in [
            ("application/current", "releases/1", true),
            ("application/a/b", "../c", true),
            ("application/a", "./b", true),
            ("application/a", "../artifacts/x", false),
            ("application/a", "../../other", false),
            ("application/a/b", "../../../x", false),
            ("application/a", "/etc/passwd", false),
        ] {
            let nothing = Path::new("/nothing");
            assert_eq!(stays_inside(nothing, path, Path::new(to)), is_inside, "{path} -> {to}");
        }
    }

    #[test]
    fn a_link_that_leaves_through_another_one_does_not_stay_inside() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(dir.path().join("application/a/b")).expect("made");
        for (name, to, is_inside) in [
            ("here", ".", true),
            ("deep", "a/b", true),
            ("ring", "ring", true),
            ("up", "here/here/../..", false),
            ("through", "deep/../..", true),
            ("too_far", "deep/../../..", false),
            ("by_name", "here/../application/a", false),
        ] {
            let path = dir.path().join("application").join(name);
            std::os::unix::fs::symlink(to, &path).expect("linked");
            let walked = walk(dir.path());
            assert_eq!(walked.is_ok(), is_inside, "{name} -> {to}: {walked:?}");
            if !is_inside {
                fs::remove_file(path).expect("removed");
            }
        }
        // A whole part is none either: what it leads to would stay behind.
        std::os::unix::fs::symlink("application", dir.path().join("artifacts")).expect("linked");
        assert!(walk(dir.path()).is_err());
    }
}
