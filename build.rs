//! Links the release binary for Linux at a fixed address.
//!
//! A command that runs for two milliseconds spends a tenth of them on relocating itself
//! (docs/performance.md). Debug builds and tests keep the default, and so does every other system.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_dynamic = !variable("CARGO_CFG_TARGET_FEATURE").contains("crt-static");
    let is_linux =
        variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    if is_dynamic && is_linux && variable("PROFILE") == "release" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}

#[expect(clippy::disallowed_methods, reason = "Cargo speaks to a build script by its environment")]
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}
