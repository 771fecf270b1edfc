//! A disk that remembers what was synced and what was not, so that the power may fail.
//!
//! A file's sync makes its content durable, and not its name; a directory's sync makes the names in
//! it durable. Of what is not durable, anything may be there after a power cut: names in the order
//! in which they were made, data in any order and by sectors.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The least that a disk writes whole.
const SECTOR: usize = 512;

/// One operation, as the shim has told it.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) class: char,
    inode: u64,
    offset: usize,
    /// Relative to the world.
    pub(super) path: String,
    pub(super) data: Vec<u8>,
}

impl Record {
    /// Reads what the shim has written of a world.
    pub(super) fn all(mut bytes: &[u8], root: &str) -> Vec<Self> {
        let mut found = Vec::new();
        let relative = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            text.strip_prefix(root).map_or_else(|| text.clone(), str::to_owned)
        };
        while !bytes.is_empty() {
            let mut head = [0; 5];
            for number in &mut head {
                let (word, rest) = bytes.split_first_chunk::<8>().expect("a whole head");
                (*number, bytes) = (u64::from_ne_bytes(*word), rest);
            }
            let [class, inode, offset, path, data] = head;
            let size = |number: u64| usize::try_from(number).expect("small");
            let (path, rest) = bytes.split_at(size(path));
            let (data, rest) = rest.split_at(size(data));
            bytes = rest;
            let class = char::from(u8::try_from(class).expect("a letter"));
            // The second name of a rename or a link is a path, too.
            let is_named = matches!(class, 'n' | 'l');
            let data = if is_named { relative(data).into_bytes() } else { data.to_vec() };
            found.push(Self { class, inode, offset: size(offset), path: relative(path), data });
        }
        found
    }
}

/// What of the unsynced is there afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    Nothing,
    Everything,
    Names,
    Data,
    /// Some of it, by the seed.
    Some(u64),
}

#[derive(Debug, Clone)]
enum Change {
    Write { at: usize, data: Vec<u8> },
    Size(usize),
}

fn change(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Size(size) => content.resize(*size, 0),
        Change::Write { at, data } => {
            let end = at + data.len();
            content.resize(content.len().max(end), 0);
            content[*at..end].copy_from_slice(data);
        }
    }
}

#[derive(Debug, Default)]
struct Content {
    durable: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Debug, Clone, Copy)]
enum Node {
    File(usize),
    Directory,
}

#[derive(Debug)]
enum Naming {
    Add(String, Node),
    Remove(String),
    Rename(String, String),
}

#[derive(Debug, Default)]
struct Directory {
    namings: Vec<Naming>,
    durable: usize,
}

impl Directory {
    /// The names after the first so many operations.
    fn names(&self, count: usize) -> BTreeMap<&str, Node> {
        let mut names = BTreeMap::new();
        for naming in &self.namings[..count] {
            match naming {
                Naming::Add(name, node) => drop(names.insert(name.as_str(), *node)),
                Naming::Remove(name) => drop(names.remove(name.as_str())),
                Naming::Rename(from, to) => {
                    let node = names.remove(from.as_str()).expect("a name to be changed");
                    names.insert(to.as_str(), node);
                }
            }
        }
        names
    }
}

/// The disk of one world, from empty on.
#[derive(Debug, Default)]
pub(super) struct Disk {
    contents: Vec<Content>,
    by_inode: BTreeMap<u64, usize>,
    directories: BTreeMap<String, Directory>,
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').expect("a path")
}

impl Disk {
    /// The disk after some operations. A disk that lies forgets every sync.
    pub(super) fn after(records: &[Record], lies: bool) -> Self {
        let mut disk = Self::default();
        let is_kept = |record: &&Record| {
            // The index of the log is made anew from the log.
            !(record.path.ends_with("-shm") || lies && matches!(record.class, 's' | 'd'))
        };
        for record in records.iter().filter(is_kept) {
            disk.apply(record);
        }
        disk
    }

    fn name(&mut self, path: &str, naming: impl FnOnce(String) -> Naming) {
        let (directory, name) = split(path);
        let directory = self.directories.entry(directory.to_owned()).or_default();
        directory.namings.push(naming(name.to_owned()));
    }

    fn current(&self, path: &str) -> Node {
        let (directory, name) = split(path);
        let directory = &self.directories[directory];
        directory.names(directory.namings.len())[name]
    }

    fn apply(&mut self, record: &Record) {
        let content = self.by_inode.get(&record.inode).copied();
        let path = record.path.as_str();
        let known = || content.unwrap_or_else(|| panic!("a file from nowhere: {record:?}"));
        match record.class {
            'o' => {
                let index = self.contents.len();
                self.contents.push(Content::default());
                // The number of a file that is gone is given to another.
                self.by_inode.insert(record.inode, index);
                self.name(path, |name| Naming::Add(name, Node::File(index)));
            }
            'm' => self.name(path, |name| Naming::Add(name, Node::Directory)),
            'u' => self.name(path, Naming::Remove),
            'l' | 'n' => {
                let other = String::from_utf8(record.data.clone()).expect("a path");
                let node = self.current(path);
                if record.class == 'l' {
                    return self.name(&other, |name| Naming::Add(name, node));
                }
                assert_eq!(split(path).0, split(&other).0, "a name stays in its directory");
                let to = split(&other).1.to_owned();
                self.name(path, |from| Naming::Rename(from, to));
            }
            'w' => {
                let write = Change::Write { at: record.offset, data: record.data.clone() };
                self.contents[known()].pending.push(write);
            }
            't' => self.contents[known()].pending.push(Change::Size(record.offset)),
            's' => {
                let content = &mut self.contents[known()];
                for pending in std::mem::take(&mut content.pending) {
                    change(&mut content.durable, &pending);
                }
            }
            'd' => {
                let directory = self.directories.entry(path.to_owned()).or_default();
                directory.durable = directory.namings.len();
            }
            'A' => {}
            other => panic!("an operation {other}: {record:?}"),
        }
    }

    /// Writes into `root` what is there after a power cut.
    pub(super) fn restore(&self, root: &Path, keep: Keep) {
        let mut dice = Dice(match keep {
            Keep::Some(seed) => seed,
            _ => 0,
        });
        let content = self.contents.iter().map(|content| kept(content, keep, &mut dice)).collect();
        self.restore_directory("", root, keep, &mut dice, &content);
    }

    fn restore_directory(
        &self,
        path: &str,
        root: &Path,
        keep: Keep,
        dice: &mut Dice,
        contents: &Vec<Vec<u8>>,
    ) {
        let Some(directory) = self.directories.get(path) else { return };
        let (durable, all) = (directory.durable, directory.namings.len());
        let count = match keep {
            Keep::Nothing | Keep::Data => durable,
            Keep::Everything | Keep::Names => all,
            Keep::Some(_) => durable + dice.below(all - durable + 1),
        };
        for (name, node) in directory.names(count) {
            let below = format!("{path}/{name}");
            let place = root.join(below.trim_start_matches('/'));
            match node {
                Node::File(index) => fs::write(place, &contents[index]).expect("written"),
                Node::Directory => {
                    fs::create_dir(&place).expect("made");
                    self.restore_directory(&below, root, keep, dice, contents);
                }
            }
        }
    }
}

fn kept(content: &Content, keep: Keep, dice: &mut Dice) -> Vec<u8> {
    let mut found = content.durable.clone();
    for pending in &content.pending {
        match (keep, pending) {
            (Keep::Nothing | Keep::Names, _) => {}
            (Keep::Everything | Keep::Data, pending) => change(&mut found, pending),
            (Keep::Some(_), Change::Size(_)) => {
                if dice.below(2) == 0 {
                    change(&mut found, pending);
                }
            }
            (Keep::Some(_), Change::Write { at, data }) => {
                for (index, sector) in data.chunks(SECTOR).enumerate() {
                    let sector = Change::Write { at: at + index * SECTOR, data: sector.to_vec() };
                    if dice.below(2) == 0 {
                        change(&mut found, &sector);
                    }
                }
            }
        }
    }
    found
}

/// Numbers that a seed repeats (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let count = u64::try_from(count).expect("small");
        usize::try_from((mixed ^ (mixed >> 31)) % count).expect("small")
    }
}
