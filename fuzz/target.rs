//! One binary for each target, told by its name.
#![no_main]

#[path = "../tests/fuzz/targets/mod.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    targets::named(env!("CARGO_BIN_NAME"))(data);
});
