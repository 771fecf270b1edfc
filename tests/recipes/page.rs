//! A page of `docs/recipes/` as its blocks, and a block as the lines that a person types.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::{SCALECTL, World};

/// The repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What stands between two fences.
#[derive(Debug)]
pub(crate) struct Block {
    /// The word behind the first fence: `console`, `sh`, `yaml`.
    pub(crate) kind: String,
    pub(crate) text: String,
}

/// A line that is typed: by whom, what, and how it ends.
#[derive(Debug)]
pub(crate) struct Typed {
    /// The word before `$`; empty where there is none.
    pub(crate) who: String,
    pub(crate) line: String,
    pub(crate) exit: i32,
}

/// The blocks of a page, in their order. One without a kind would be run by nobody, and fails.
pub(crate) fn blocks(name: &str) -> Vec<Block> {
    let path = root().join("docs/recipes").join(name);
    let page = std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{name}: {why}"));
    let mut found: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(kind), None) => {
                assert!(!kind.is_empty(), "{name}: a block without a kind");
                open = Some(Block { kind: kind.to_owned(), text: String::new() });
            }
            (Some(rest), Some(_)) => {
                assert_eq!(rest, "", "{name}: a block in a block");
                found.extend(open.take());
            }
            (None, Some(block)) => block.text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{name}: a block without an end");
    assert!(!found.is_empty(), "{name} has no block");
    found
}

impl Block {
    /// The lines of a console, each with its prompt.
    pub(crate) fn lines(&self) -> Vec<Typed> {
        let typed = |line: &str| {
            let (who, line) = line.split_once("$ ").unwrap_or_else(|| panic!("no prompt: {line}"));
            let (line, exit) = match line.split_once("    # exit ") {
                Some((line, exit)) => (line, exit.parse().expect("a number behind exit")),
                None => (line, 0),
            };
            Typed { who: who.to_owned(), line: line.to_owned(), exit }
        };
        self.text.lines().map(typed).collect()
    }
}

/// A shell in the home of a world, in which `scalectl` is the binary under test.
pub(crate) fn shell(world: &World, script: &str) -> Command {
    let binaries = Path::new(SCALECTL).parent().expect("a folder");
    let own = world.command(&[]);
    let mut shell = Command::new("/bin/bash");
    shell.args(["--norc", "-c", script]).env_clear();
    shell.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", binaries.display()));
    shell.current_dir(world.path(""));
    shell
}

/// Runs a line and holds its exit. A line that ends otherwise than well says why.
#[track_caller]
pub(crate) fn ends(world: &World, typed: &Typed) -> Output {
    let output = shell(world, &typed.line).output().expect("a shell");
    assert_eq!(output.status.code(), Some(typed.exit), "{typed:?}: {output:#?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(typed.exit == 0 || said.contains("error["), "{typed:?}: {output:#?}");
    output
}
