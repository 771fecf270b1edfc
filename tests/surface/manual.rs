//! The manual pages: the committed ones, and what groff says of them.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Command;

use scalectl::cli::man::pages;

use super::{hold_committed, in_repository};
use crate::support::World;

#[test]
fn the_pages_are_the_committed_ones() {
    let mut names = BTreeSet::new();
    for (name, text) in pages() {
        hold_committed(&format!("man/{name}"), &text);
        names.insert(name);
    }
    assert!(names.len() > 80 && names.contains("scalectl-intent-put.1"), "{names:#?}");
    let there: BTreeSet<String> = std::fs::read_dir(in_repository("man"))
        .expect("the folder of the pages")
        .map(|entry| entry.expect("a page").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(there, names, "a page of a command that is gone is taken away");
}

#[test]
fn a_page_is_printed_and_all_are_written() {
    let world = World::new();
    let page = |name: &str| {
        pages().into_iter().find(|(page, _)| page == name).map(|(_, text)| text).expect("a page")
    };
    assert_eq!(world.run("man").exits(0).stdout, page("scalectl.1"));
    let printed = world.run("man intent put").exits(0).stdout;
    assert_eq!(printed, page("scalectl-intent-put.1"));
    world.run("man nonsense").exits(2).says("scalectl help");
    let dir = world.path("pages");
    world.run(&format!("man --dir {}", dir.display())).exits(20);
    std::fs::create_dir(&dir).expect("a folder");
    for _ in 0..2 {
        world.run(&format!("man --dir {}", dir.display())).exits(0);
    }
    let count = std::fs::read_dir(&dir).expect("written").count();
    assert_eq!(count, pages().len());
}

/// Every page is formatted without a warning, and shows what the help shows.
#[test]
fn groff_has_nothing_to_say_against_any_page() {
    let is_there = std::path::Path::new("/usr/bin/groff").exists();
    if !is_there {
        let asked = std::env::var_os("SCALECTL_TEST_ALL_SHELLS").is_some();
        assert!(!asked, "groff is not installed, and SCALECTL_TEST_ALL_SHELLS asks for it");
        let _ = writeln!(std::io::stderr(), "SKIPPED: groff is not installed");
        return;
    }
    for (name, _) in pages() {
        let path = in_repository("man").join(&name);
        let output = Command::new("groff")
            .args(["-man", "-Tutf8", "-ww", "-P-cbou"])
            .arg(&path)
            .env("LC_ALL", "C.UTF-8")
            .output()
            .expect("groff runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{name}: {said}");
        let shown = String::from_utf8_lossy(&output.stdout);
        for section in ["NAME", "SYNOPSIS", "OPTIONS"] {
            assert!(shown.lines().any(|line| line == section), "{name} has no {section}: {shown}");
        }
    }
    let page = in_repository("man").join("scalectl-scale.1");
    let output = Command::new("groff").args(["-man", "-Tascii", "-P-cbou"]).arg(page).output();
    let shown = String::from_utf8(output.expect("groff runs").stdout).expect("ASCII");
    for part in ["scalectl scale web --undo", "--break-glass", "scalectl-scale"] {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
}
