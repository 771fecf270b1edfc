//! Every target in one binary: `SCALECTL_FUZZ_TARGET` names the one that runs.
#![no_main]

#[path = "../tests/fuzz/targets/mod.rs"]
mod targets;

use std::sync::OnceLock;

static TARGET: OnceLock<targets::Target> = OnceLock::new();

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let target = TARGET.get_or_init(|| {
        let name = std::env::var("SCALECTL_FUZZ_TARGET").expect("SCALECTL_FUZZ_TARGET");
        targets::named(&name)
    });
    target(data);
});
