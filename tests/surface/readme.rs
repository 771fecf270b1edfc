//! The README, typed as it stands: its shell blocks run in a real shell, in an empty HOME.

use std::path::Path;
use std::process::{Command, Output};

use scalectl::cli::exit::Exit;

use super::in_repository;
use crate::support::{SCALECTL, World};

/// The blocks of a page in one language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(in_repository(page)).expect("a page");
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1).filter_map(|rest| rest.split("```\n").next());
    blocks.map(str::to_owned).collect()
}

/// Runs a text in a shell that stops at the first failure.
fn typed(world: &World, script: &str) -> Output {
    let binaries = Path::new(SCALECTL).parent().expect("a folder");
    Command::new("/bin/bash")
        .args(["--norc", "-euo", "pipefail", "-c", script])
        .env_clear()
        .envs(world.ledger_variable())
        .env("HOME", world.path(""))
        .env("PATH", format!("{}:/usr/bin:/bin", binaries.display()))
        .env("TERM", "dumb")
        .current_dir(world.path(""))
        .output()
        .expect("a shell")
}

#[track_caller]
fn succeeds(world: &World, script: &str) -> String {
    let output = typed(world, script);
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

#[test]
fn every_shell_block_of_the_readme_works_as_typed() {
    let world = World::new();
    let blocks = blocks("README.md", "sh");
    let [session, plan, steps, actuator, trial] = &blocks[..] else {
        panic!("{} blocks", blocks.len());
    };
    let printed = succeeds(&world, session);
    assert!(printed.contains("verified (converged)"), "{printed}");
    assert!(printed.contains(": sound"), "{printed}");
    let readme = std::fs::read_to_string(in_repository("README.md")).expect("a page");
    let check = "scalectl actuator check procs --workload scalectl-check";
    assert!(readme.contains(check), "the line that tries an actuator");
    succeeds(&world, check);
    let refused = typed(&world, plan);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("50 is outside 0 to 10"), "{said}");
    succeeds(&world, steps);
    std::fs::write(world.path("files.sh"), actuator).expect("the script is written");
    let printed = succeeds(&world, trial);
    assert!(printed.contains("counter@1  0 → 4  verified (converged)"), "{printed}");
    let shared = typed(
        &world,
        &format!("export COUNTER_DIR=$PWD/target-folder; {}", check.replace("procs", "files")),
    );
    assert_eq!(shared.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&shared.stderr).contains("error[workload_in_use]"));
    let count = std::fs::read_to_string(world.path("target-folder/count")).expect("a count");
    assert_eq!(count.trim(), "4");
    assert_eq!(world.json("intent show web@latest").at("/execution/state"), "verified");
    assert_eq!(world.json("service show web").at("/current/desired_replicas"), 0);
}

#[test]
fn the_short_actuator_is_the_one_of_the_protocol_page() {
    let readme = blocks("README.md", "sh");
    let page = blocks("docs/actuator-protocol.md", "sh");
    assert_eq!(page.len(), 1);
    assert!(readme.contains(&page[0]));
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    let mut pages = Vec::new();
    for place in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs"] {
        super::lines::files_below(&in_repository(place), &mut pages);
    }
    let mut broken = Vec::new();
    for page in pages.iter().filter(|page| page.extension().is_some_and(|kind| kind == "md")) {
        let text = std::fs::read_to_string(page).expect("a page");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() {
                page.clone()
            } else {
                page.parent().expect("a folder").join(path)
            };
            let is_there = target.exists()
                && (anchor.is_empty() || has_anchor(&std::fs::read_to_string(&target), anchor));
            if !is_there {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_short_table_of_exits_has_every_one() {
    let readme = std::fs::read_to_string(in_repository("README.md")).expect("a page");
    let rows = readme.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        Some((cells.next()?, cells.next()?))
    });
    let mut found = Vec::new();
    for (codes, words) in rows {
        let codes = codes.split(' ').filter_map(|code| code.parse::<u8>().ok());
        let words: Vec<&str> = words.split(", ").collect();
        for (at, code) in codes.enumerate() {
            found.push((code, *words.get(at).unwrap_or(&words[0])));
        }
    }
    assert_eq!(found, Exit::ALL.map(|exit| (exit.code(), exit.word())));
}

/// Whether a page has a heading, or an explicit anchor, of a name.
fn has_anchor(page: &std::io::Result<String>, anchor: &str) -> bool {
    let Ok(page) = page else { return false };
    let slug = |heading: &str| -> String {
        let kept = heading.trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || *c == ' ' || *c == '-');
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    page.contains(&format!("id=\"{anchor}\""))
        || page
            .lines()
            .filter(|line| line.starts_with('#'))
            .any(|line| slug(line.trim_start_matches('#')) == anchor)
}
