//! The surface: what people read, paste and script against. Help, suggested lines, completions,
//! the one JSON document, and its schemas.

mod answers;
mod help;
mod lines;
mod links;
mod manual;
mod readme;
mod schemas;
mod shells;
mod streams;
mod texts;

use std::path::{Path, PathBuf};

/// A path in the repository.
fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Holds a committed text equal to what the binary says; `SCALECTL_UPDATE_TEXTS=1` writes it anew.
#[track_caller]
pub(crate) fn hold_committed(path: &str, generated: &str) {
    let file = in_repository(path);
    if std::env::var_os("SCALECTL_UPDATE_TEXTS").is_some() {
        std::fs::create_dir_all(file.parent().expect("a file has a folder")).expect("a folder");
        std::fs::write(file, generated).expect("the text is written");
        return;
    }
    let committed = std::fs::read_to_string(file).unwrap_or_default();
    let pairs = committed.lines().zip(generated.lines());
    let same = pairs.take_while(|(committed, generated)| committed == generated).count();
    assert!(
        committed == generated,
        "{path} differs from line {} on: {:?} is committed, {:?} is generated \
         (SCALECTL_UPDATE_TEXTS=1 writes it anew)",
        same + 1,
        committed.lines().nth(same),
        generated.lines().nth(same)
    );
}
