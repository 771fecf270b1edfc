//! `docs/recipes/on-call.md`, as it is typed.

use std::process::{Command, Stdio};

use crate::support::terminal::Terminal;
use crate::support::{SCALECTL, SERVICE, World};

const LINES: usize = 19;

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recipes/on-call.md");
    std::fs::read_to_string(path).unwrap()
}

fn blocks<'p>(page: &'p str, kind: &str) -> Vec<&'p str> {
    let begin = format!("```{kind}\n");
    let rests: Vec<&str> = page.split(begin.as_str()).skip(1).collect();
    rests.into_iter().map(|rest| rest.split("```").next().unwrap()).collect()
}

/// `scalectl` is the binary under test, whatever is in PATH.
fn script(line: &str) -> String {
    format!("program=$1; scalectl() {{ \"$program\" \"$@\"; }}\n{line}\n")
}

/// Runs a line of a shell, in a pipe.
fn typed(world: &World, line: &str) -> Option<i32> {
    let words = world.command(&[]);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &script(line), "sh", SCALECTL]).env_clear();
    shell.envs(words.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = shell.current_dir(world.path("")).stdin(Stdio::null()).output().unwrap();
    let code = output.status.code();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if code != Some(0) {
        assert!(text.contains("error["), "{line}: {text}");
    }
    code
}

#[test]
fn the_recipe_of_whoever_is_on_call_does_what_it_says() {
    let page = page();
    let mut world = World::new();
    world.init_fake();
    world.run(&format!("{SERVICE} --backoff 0s")).exits(0);
    world.run("scale web=5 --reason begin --timeout 20s").exits(0);
    world.write("oncall.cedar", blocks(&page, "cedar")[0]);
    std::fs::create_dir(world.path(".ssh")).unwrap();
    world.make_key(".ssh/id_ed25519", "allowed_signers");
    let mut count = 0;
    for line in blocks(&page, "console").into_iter().flat_map(str::lines) {
        let (prompt, line) = line.split_once("$ ").unwrap_or_else(|| panic!("no prompt: {line}"));
        let (line, exit) = match line.split_once("    # exit ") {
            Some((line, exit)) => (line, exit.parse().unwrap()),
            None => (line, 0),
        };
        count += 1;
        match prompt {
            "oncall" | "oncall-tty" => world.be("oncall:1001"),
            "lead" => world.be("lead:1002"),
            other => panic!("who is {other}?"),
        }
        if prompt == "oncall-tty" {
            let mut terminal = Terminal::start(&world, Some(&script(line)), "");
            terminal.await_text("Type web to go on: ");
            terminal.type_line("web");
            terminal.await_text("verified");
            assert_eq!(terminal.code(), Some(exit), "{line}");
        } else {
            assert_eq!(typed(&world, line), Some(exit), "{prompt}$ {line}");
        }
    }
    assert_eq!(count, LINES, "the page has other lines");
    // Five, then eight at the terminal, then nine, once each.
    assert_eq!(world.fake_log("effects").len(), 3);
}
