//! `docs/recipes/shell.md`: its lines as they are typed, and its script after every exit that it
//! knows a way on from.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::page::{Block, blocks, ends, root, shell};
use crate::support::{SERVICE, World};

/// The script of the page, executable, and what it calls in its middle.
fn write_script(world: &World, text: &str, migrate: &str) {
    for (name, text) in [("migrate.sh", text), ("migrate", migrate)] {
        let path = world.write(name, text);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn script() -> String {
    let is_script = |block: &Block| block.text.starts_with("#!/usr/bin/env bash\n");
    let mut found = blocks("shell.md").into_iter().filter(is_script);
    let script = found.next().expect("the page has a script").text;
    assert!(found.next().is_none(), "it has two");
    script
}

const MIGRATE: &str = "#!/bin/sh\necho migrated >>migrations\n";

/// The script in a shell, with short pauses.
fn run_of(world: &World, name: &str) -> Command {
    let mut command = shell(world, &format!("./migrate.sh {name}"));
    command.env("PAUSE", "0.3");
    command
}

#[track_caller]
fn runs(world: &World, name: &str, exit: i32) -> String {
    let output = run_of(world, name).output().unwrap();
    assert_eq!(output.status.code(), Some(exit), "{output:#?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_page_does_what_it_says() {
    let world = World::new();
    let mut lines = 0;
    for block in blocks("shell.md") {
        match block.kind.as_str() {
            "console" => {
                for typed in block.lines() {
                    assert_eq!(typed.who, "", "{typed:?}");
                    ends(&world, &typed);
                    lines += 1;
                }
            }
            "sh" if block.text.starts_with("#!") => {
                // The migration fails, is mended, and the same line goes on; once more is too much.
                write_script(&world, &block.text, "#!/bin/sh\nexit 3\n");
                runs(&world, "42", 3);
                write_script(&world, &block.text, MIGRATE);
                runs(&world, "42", 0);
                let said = runs(&world, "42", 23);
                assert!(said.contains("replayed_not_current"), "{said}");
                assert_eq!(
                    std::fs::read_to_string(world.path("migrations")).unwrap(),
                    "migrated\n"
                );
            }
            "sh" => {
                let output = shell(&world, &format!("set -euo pipefail\n{}", block.text)).output();
                let output = output.unwrap();
                assert!(output.status.success(), "{output:#?}");
            }
            other => panic!("nobody runs {other}"),
        }
    }
    assert_eq!(lines, 9, "the page has other lines");
    // 3, 0, 3, 0: once each, whatever was run again.
    let log = world.json("log web --event result_recorded").exits(0).at("/events");
    assert_eq!(log.as_array().unwrap().len(), 4, "{log:#}");
}

/// `web` at 3 on the fake actuator, and the script beside it.
fn prepared() -> World {
    let world = World::new();
    world.init_fake();
    world.run(&format!("{SERVICE} --backoff 200ms")).exits(0);
    world.run("scale web=3 --reason begin --timeout 20s").exits(0);
    write_script(&world, &script(), MIGRATE);
    world
}

/// Each way in which the first call can end, and the script comes to its end with one effect for
/// each step.
#[test]
fn the_script_goes_on_after_whatever_its_table_says() {
    for word in ["ok", "die", "unknown", "silent", "fail retryable busy"] {
        let world = prepared();
        // The first call was that of the beginning.
        world.script(&["ok", word]);
        runs(&world, "7", 0);
        let effects = world.fake_log("effects");
        let counts: Vec<&str> = effects.iter().filter_map(|line| line.split(' ').nth(2)).collect();
        assert_eq!(counts, ["3", "0", "3"], "{word}: {effects:?}");
        world.run("verify").exits(0);
    }
    // What repeating does not help is not repeated.
    let world = prepared();
    world.script(&["ok", "fail terminal broken"]);
    runs(&world, "7", 17);
    assert_eq!(world.fake_log("calls").len(), 2);
    assert!(!world.path("migrations").exists());
}

/// Killed in the middle of its first call, run again, it finds out and goes on.
#[test]
fn a_script_that_was_killed_is_run_again() {
    let world = prepared();
    world.script(&["ok", "gate"]);
    let mut command = run_of(&world, "9");
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().unwrap();
    world.until("it is in its call", || world.fake_log("calls").len() == 2);
    let group = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
    child.wait().unwrap();
    world.write("fake/go", "");
    runs(&world, "9", 0);
    let log = std::fs::read_to_string(world.path("migrations")).unwrap();
    assert_eq!(log, "migrated\n");
    assert_eq!(world.json("status web").at("/services/0/desired_replicas"), 3);
    world.run("verify").exits(0);
}

/// The codes that the script repeats are those that the page of exit codes calls worth it.
#[test]
fn the_script_repeats_what_is_worth_it_and_nothing_else() {
    let script = script();
    let repeated = script.lines().find(|line| line.contains("sleep ")).expect("it waits");
    let codes = repeated.split(')').next().unwrap().trim().replace(" | ", ", ");
    let page = std::fs::read_to_string(root().join("docs/exit-codes.md")).unwrap();
    let said = page.split("The\ncodes ").nth(1).and_then(|rest| rest.split(" are worth").next());
    assert_eq!(codes, said.expect("the page says so").replace(" and ", ", "));
}
