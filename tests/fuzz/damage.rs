//! The files of a ledger, and the ways to damage them.

use std::fs;
use std::path::Path;

use super::mutate::Random;
use super::{SEED, number};

/// Every so many bytes of a database; less where `SCALECTL_FUZZ_CASES` asks for more cases.
const STRIDE: usize = 691;
/// The same of a log, which is checked by frames.
const LOG_STRIDE: usize = 8191;
const PAGE: usize = 4096;

/// A ledger and its log.
#[derive(Clone, PartialEq)]
pub(super) struct Files {
    pub(super) database: Vec<u8>,
    pub(super) log: Vec<u8>,
}

impl Files {
    pub(super) fn of(path: &Path) -> Self {
        let log = fs::read(path.with_extension("db-wal")).unwrap_or_default();
        Self { database: fs::read(path).expect("a ledger"), log }
    }

    /// Writes them as `ledger.db` where nothing else is left of an earlier one.
    pub(super) fn put(&self, folder: &Path) {
        let path = folder.join("ledger.db");
        for side in ["db-wal", "db-shm"] {
            let _ = fs::remove_file(path.with_extension(side));
        }
        fs::write(&path, &self.database).expect("written");
        if !self.log.is_empty() {
            fs::write(path.with_extension("db-wal"), &self.log).expect("written");
        }
    }
}

/// One way to damage the files.
#[derive(Debug, Clone)]
pub(super) enum Damage {
    /// This bit of this byte of the database, or of the log.
    Flip { log: bool, at: usize, bit: usize },
    /// The file ends here.
    Cut { log: bool, at: usize },
    /// This page is all zeros.
    Zero(usize),
    /// These two pages stand in each other's place.
    Swap(usize, usize),
}

impl Damage {
    pub(super) fn done_to(&self, files: &Files) -> Files {
        let mut files = files.clone();
        match *self {
            Self::Flip { log: false, at, bit } => files.database[at] ^= 1 << bit,
            Self::Flip { log: true, at, bit } => files.log[at] ^= 1 << bit,
            Self::Cut { log: false, at } => files.database.truncate(at),
            Self::Cut { log: true, at } => files.log.truncate(at),
            Self::Zero(page) => files.database[page * PAGE..(page + 1) * PAGE].fill(0),
            Self::Swap(one, other) => {
                for at in 0..PAGE {
                    files.database.swap(one * PAGE + at, other * PAGE + at);
                }
            }
        }
        files
    }
}

/// The header, the heads of pages and of frames, names of streams, the rest at a stride; cuts and
/// whole pages.
pub(super) fn damages(files: &Files) -> Vec<Damage> {
    let mut random = Random::new(number("SCALECTL_FUZZ_SEED").unwrap_or(SEED), "ledgers");
    let more = number("SCALECTL_FUZZ_CASES").map_or(1, |asked| 1 + asked / 1000);
    let more = usize::try_from(more).expect("fewer");
    let mut all = Vec::new();
    let pages = files.database.len() / PAGE;
    let names: Vec<usize> = places_of(&files.database, b"service:").collect();
    for at in 0..files.database.len() {
        let is_head = at < 100 || (at % PAGE < 12 && random.below(6) < more);
        let is_name = names.iter().any(|name| (*name..name + 12).contains(&at));
        let is_chosen = at % (STRIDE / more).max(1) == 0;
        if is_head || is_chosen || (is_name && random.below(8) < more) {
            all.push(Damage::Flip { log: false, at, bit: random.below(8) });
        }
    }
    // What is in the log is not read from the database any more.
    if !files.log.is_empty() {
        all.retain(|_| random.below(8) == 0);
    }
    for at in 0..files.log.len() {
        let is_head = at < 32 || ((at - 32) % (PAGE + 24) < 24 && random.below(48) < more);
        if is_head || at % (LOG_STRIDE / more).max(1) == 0 {
            all.push(Damage::Flip { log: true, at, bit: random.below(8) });
        }
    }
    for page in 0..pages {
        all.push(Damage::Zero(page));
        all.push(Damage::Swap(page, random.below(pages)));
        all.push(Damage::Cut { log: false, at: page * PAGE + random.below(2) * 100 });
    }
    if !files.log.is_empty() {
        all.extend((0..10).map(|_| Damage::Cut { log: true, at: random.below(files.log.len()) }));
    }
    all
}

fn places_of<'b>(bytes: &'b [u8], word: &'b [u8]) -> impl Iterator<Item = usize> + 'b {
    (0..bytes.len()).filter(move |at| bytes[*at..].starts_with(word))
}
