//! What was released of the tables stays as it is.

use std::collections::BTreeMap;

use scalectl::domain::digest::sha256_hex;

use super::{hold, texts};

/// Released migrations are never edited.
const MIGRATIONS: [(&str, &str); 4] = [
    (
        "sqlite/migrations/0001.sql",
        "56e33dee4734e751d4549bee3232c5242aea9cf8cf3a1b1cdca4ce56cbd74f8c",
    ),
    (
        "postgres/migrations/0001.sql",
        "c8710a95920c5d681a5c61ad4525d409552b1e6829727f7a2e9a315aed763283",
    ),
    (
        "sqlite/migrations/0002.sql",
        "ed297be3d7588e74f99820a6c9fa1d9ca3ace1f5def179634c7f522ecd1c2e4a",
    ),
    (
        "postgres/migrations/0002.sql",
        "a40968a63106d079dadb132c8971aa724c18f3fdbf094cd29ca6ce3ea5eb4244",
    ),
];

#[test]
fn released_migrations_are_as_they_were() {
    let found: BTreeMap<_, _> = texts("src/ledger", "sql");
    let mut wrong = Vec::new();
    for (name, digest) in MIGRATIONS {
        let text = found.get(&format!("src/ledger/{name}"));
        if text.map(|text| sha256_hex(text.as_bytes())).as_deref() != Some(digest) {
            wrong.push(format!("{name} was edited: a change is a new migration"));
        }
    }
    if found.len() != MIGRATIONS.len() {
        wrong.push(format!("{} migrations are listed, {} found", MIGRATIONS.len(), found.len()));
    }
    hold(&wrong);
}
