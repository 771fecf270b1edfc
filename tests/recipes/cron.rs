//! `docs/recipes/cron.md`: its crontab and its script, in the environment that cron gives.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use super::page::{blocks, ends};
use crate::support::{SCALECTL, SERVICE, World};

/// A line of the crontab, as cron would run it: with its own variables, in the home, by /bin/sh.
fn run(world: &World, crontab: &str, line: &str) -> Output {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).env_clear().current_dir(world.path(""));
    command.env("HOME", world.path("")).env("LOGNAME", "ops").env("SHELL", "/bin/sh");
    for variable in crontab.lines().filter_map(|line| line.split_once('=')) {
        let (name, value) = variable;
        if name.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
            command.env(name, value);
        }
    }
    // What a test needs beside what the crontab says: where the ledger is, and the binary.
    let binaries = Path::new(SCALECTL).parent().expect("a folder");
    command.env("PATH", format!("{}:/usr/bin:/bin", binaries.display())).env("PAUSE", "0.2");
    command.env_remove("SCALECTL_LEDGER");
    let own = world.command(&[]);
    command.envs(
        own.get_envs()
            .filter_map(|(name, value)| Some((name, value?)))
            .filter(|(name, _)| *name != "PATH" && *name != "SCALECTL_ACTOR" && *name != "HOME"),
    );
    command.output().unwrap()
}

#[test]
fn the_crontab_does_what_it_says() {
    let world = World::new();
    world.init_fake();
    world.run(&SERVICE.replace("put web", "put batch")).exits(0);
    let page = blocks("cron.md");
    let text_of = |kind: &str| {
        page.iter().find(|block| block.kind == kind).map(|block| block.text.clone()).unwrap()
    };
    let script = world.write("night.sh", text_of("sh"));
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let crontab = text_of("crontab");
    let line_of = |part: &str| {
        let line = crontab.lines().find(|line| line.contains(part)).unwrap();
        line.splitn(6, ' ').nth(5).unwrap().to_owned()
    };
    assert!(!crontab.contains('%'), "a % is a new line in a crontab");
    let (down, up) = (line_of("batch=1"), line_of("batch=4"));
    // Each step once, also when its line runs again the same night.
    for line in [&up, &up, &down, &down] {
        let output = run(&world, &crontab, line);
        assert!(output.status.success(), "{line}: {output:#?}");
    }
    assert_eq!(world.fake_log("effects").len(), 2);
    let log = world.json("log batch --event intent_accepted").exits(0);
    assert_eq!(log.at("/events/0/by/actor"), "cron");
    // The day after: the first step of the night before is over, and is not made again.
    let again = run(&world, &crontab, &up);
    assert_eq!(again.status.code(), Some(23), "{again:#?}");
    assert_eq!(world.fake_log("effects").len(), 2);
    let said = std::fs::read_to_string(world.path("night.log")).unwrap();
    assert!(said.contains("replayed_not_current"), "{said}");
    // What is worth the same line again is tried again, and what is not is told.
    world.run("service put batch --backoff 0s").exits(0);
    let used = world.fake_log("calls").len();
    let lines: Vec<&str> = std::iter::repeat_n("ok", used).chain(["unknown"]).collect();
    world.script(&lines);
    let unknown = run(&world, &crontab, &down.replace("batch=1", "batch=2"));
    assert_eq!(unknown.status.code(), Some(16), "{unknown:#?}");
    assert_eq!(world.fake_log("calls").len(), used + 1, "a call that nobody knows is not repeated");
    world.run("replay batch@latest --wait --timeout 20s").exits(0);
    let metrics = run(&world, &crontab, &line_of("metrics"));
    assert!(metrics.status.success(), "{metrics:#?}");
    assert!(std::fs::read_to_string(world.path("scalectl.prom")).unwrap().contains("batch"));
    let mut typed = 0;
    for block in page.iter().filter(|block| block.kind == "console") {
        for line in block.lines() {
            ends(&world, &line);
            typed += 1;
        }
    }
    assert_eq!(typed, 2, "the page has other lines");
}
