//! `docs/recipes/ticks.md`, typed as it stands: its shell blocks and its crontab.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::{SCALECTL, World};

const PAGE: &str = include_str!("../../docs/recipes/ticks.md");

fn blocks(language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let blocks = PAGE.split(&fence).skip(1).filter_map(|rest| rest.split("```\n").next());
    blocks.map(str::to_owned).collect()
}

/// Runs a text in a shell with the little that cron gives.
fn typed(world: &World, shell: &[&str], script: &str) -> Output {
    let binaries = Path::new(SCALECTL).parent().expect("a folder");
    Command::new(shell[0])
        .args(&shell[1..])
        .arg(script)
        .env_clear()
        .envs(world.ledger_variable())
        .env("HOME", world.path(""))
        .env("PATH", format!("{}:/usr/bin:/bin", binaries.display()))
        .current_dir(world.path(""))
        .output()
        .expect("a shell")
}

#[track_caller]
fn succeeds(world: &World, script: &str) -> String {
    let output = typed(world, &["/bin/bash", "--norc", "-euo", "pipefail", "-c"], script);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{script}\n{output:#?}");
    stdout
}

#[test]
fn the_recipe_works_as_typed() {
    let world = World::new();
    let shell = blocks("sh");
    let [setup, ticks, gate] = &shell[..] else {
        panic!("{} blocks", shell.len());
    };
    succeeds(&world, setup);
    let printed = succeeds(&world, ticks);
    assert!(printed.contains("intent_accepted    1     4     35"), "{printed}");
    assert!(printed.contains("verified"), "{printed}");
    let count =
        |world: &World| world.json("service bind web").exits(0).at("/service/binding/replicas");
    assert_eq!(count(&world), 4);
    let printed = succeeds(&world, gate);
    assert!(printed.contains("autoscaling_ready is false: a drill"), "{printed}");

    // The crontab, as cron runs it: once a minute, here at once.
    let crontab = blocks("crontab");
    let lines: Vec<&str> = crontab[0].lines().collect();
    assert_eq!(lines.len(), 2);
    std::fs::write(world.path("spool"), "x\n".repeat(60)).expect("a file");
    // The next sample is a second newer.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    for line in [lines[0], lines[1], lines[1]] {
        let command = line.strip_prefix("* * * * * ").expect("every minute");
        let output = typed(&world, &["/bin/sh", "-c"], command);
        assert!(output.status.success(), "{command}: {output:?}");
    }
    let log = std::fs::read_to_string(world.path("autoscale.log")).expect("a log");
    let tick: serde_json::Value = serde_json::from_str(log.trim()).expect("one line of JSON");
    assert_eq!(tick["intents_accepted"], 1, "{tick:#}");
    let log = std::fs::read_to_string(world.path("reconcile.log")).expect("a log");
    assert_eq!(log.lines().count(), 2);
    assert_eq!(count(&world), 6);
}

/// The codes that the unit calls no failure are those that the table of exit codes calls worth the
/// same line again.
#[test]
fn the_unit_forgives_what_the_next_tick_does_by_itself() {
    let unit = blocks("ini").concat();
    let codes = unit.split("SuccessExitStatus=").nth(1).and_then(|rest| rest.lines().next());
    let codes = codes.expect("the unit says so").split(' ').collect::<Vec<_>>().join(", ");
    let page = include_str!("../../docs/exit-codes.md");
    let said = page.split("The\ncodes ").nth(1).and_then(|rest| rest.split(" are worth").next());
    assert_eq!(codes, said.expect("the page says so").replace(" and ", ", "));
}
