//! An environment in a cell, for tests of what is a part of it.

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
