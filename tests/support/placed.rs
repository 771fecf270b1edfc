//! An environment in a cell, for tests of what is a part of it.

use std::fs;
use std::path::Path;

use super::World;

const BEFORE: [&str; 7] = [
    "capacity location put eu",
    "capacity cell put a --location eu --allocatable cpu=4,memory=8GiB,storage=10GiB",
    "capacity cell put b --location eu --allocatable cpu=4,memory=8GiB,storage=10GiB",
    "capacity profile put small --floor cpu=1,memory=1GiB,storage=1GiB
     --maximum cpu=2,memory=2GiB,storage=4GiB",
    "capacity policy put std --offer small=1 --cell a --cell b --budget 4",
    "placement adopt shop --policy std --cell a --generation 1-first --profile small
     --relocator mover --reason there",
    "service put web --environment shop",
];

impl World {
    /// Makes `web` a part of the environment `shop`, whose relocator never drains.
    pub(crate) fn place(&self) {
        let relocator = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/relocators");
        let relocator = relocator.join("undrained.sh");
        let command = relocator.to_str().expect("UTF-8");
        self.run_args(&["relocator", "put", "mover", "--", "/bin/sh", command]).exits(0);
        for line in BEFORE {
            self.run(line).exits(0);
        }
    }
}

/// Two cells that are folders, and the environment `shop` in the first.
pub(crate) fn shop_in(root: &Path) {
    let copy = "cells/a/shop/1-first";
    let artifact = "artifact ".repeat(4000);
    for (below, text) in [
        ("cells/a/limit.json", r#"{"storage_bytes": 1073741824}"#),
        ("cells/b/limit.json", r#"{"storage_bytes": 1073741824}"#),
        (&format!("{copy}/application/server"), "#!/bin/sh\n"),
        (&format!("{copy}/artifacts/release.tar"), &artifact),
        (&format!("{copy}/credentials.json"), r#"{"references": []}"#),
        (&format!("{copy}/subjects.json"), r#"{"subjects": []}"#),
        ("routes/shop.json", r#"{"cell": "a", "epoch": 1, "generation": "1-first"}"#),
    ] {
        let path = root.join(below);
        fs::create_dir_all(path.parent().expect("below")).expect("made");
        fs::write(path, text).expect("written");
    }
    database(root, "a", "1-first")
        .execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE entry (number INTEGER PRIMARY KEY);
             INSERT INTO entry VALUES (1), (2), (3);",
        )
        .expect("a schema");
}

#[expect(clippy::disallowed_methods, reason = "the application of the test opens its database")]
pub(crate) fn database(root: &Path, cell: &str, generation: &str) -> rusqlite::Connection {
    let copy = root.join(format!("cells/{cell}/shop/{generation}"));
    fs::create_dir_all(&copy).expect("made");
    rusqlite::Connection::open(copy.join("database.sqlite")).expect("opened")
}
