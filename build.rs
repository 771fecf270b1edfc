//! Links the release binary for Linux so that little is left to do when it starts.
//!
//! A command runs for three milliseconds. At a fixed address it does not relocate itself; without
//! the shared libgcc_s nobody asks the processor for its features once more, which is dear in a
//! virtual machine. Each saves about a tenth of a put (docs/performance.md). Debug builds, tests
//! and every other system keep the default, and so does a linker that has no static libgcc.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_dynamic = !variable("CARGO_CFG_TARGET_FEATURE").contains("crt-static");
    let is_linux =
        variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    if !is_dynamic || !is_linux || variable("PROFILE") != "release" {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    if variable("HOST") == variable("TARGET")
        && let Some(dir) = static_libgcc()
    {
        println!("cargo::rustc-link-search=native={}", dir.display());
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}

#[expect(clippy::disallowed_methods, reason = "Cargo speaks to a build script by its environment")]
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// Where the linker keeps the part of libgcc that unwinds. It answers the bare name if it has none.
#[expect(clippy::disallowed_methods, reason = "a build script is not part of the program")]
fn static_libgcc() -> Option<PathBuf> {
    let linker = Some(variable("RUSTC_LINKER")).filter(|linker| !linker.is_empty());
    let mut ask = Command::new(linker.as_deref().unwrap_or("cc"));
    let answer = ask.arg("-print-file-name=libgcc_eh.a").output().ok()?;
    let path = PathBuf::from(String::from_utf8(answer.stdout).ok()?.trim());
    path.is_absolute().then(|| path.parent().map(PathBuf::from))?.filter(|_| path.exists())
}
