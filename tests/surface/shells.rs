//! Completions: the committed scripts, and the real shells that read them.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use scalectl::cli::completions::script;

use super::{hold_committed, in_repository};
use crate::support::World;

const SHELLS: [(&str, &str); 3] =
    [("bash", "scalectl.bash"), ("zsh", "_scalectl"), ("fish", "scalectl.fish")];

#[test]
fn the_completions_are_the_committed_ones() {
    let world = World::new();
    for (shell, file) in SHELLS {
        let printed = world.run(&format!("completions {shell}")).exits(0).stdout;
        let parsed = shell.parse().expect("a shell of clap");
        assert_eq!(printed, script(parsed), "{shell}");
        hold_committed(&format!("completions/{file}"), &printed);
    }
}

/// Runs a script in a real shell and returns what it prints; none where the shell is not there,
/// which is said out loud, and is a failure where `SCALECTL_TEST_ALL_SHELLS` asks for every shell.
fn in_shell(world: &World, shell: &str, flags: &[&str], script: &str) -> Option<String> {
    let is_there = ["/usr/local/bin", "/usr/bin", "/bin"]
        .iter()
        .any(|dir| Path::new(dir).join(shell).exists());
    if !is_there {
        let asked = std::env::var_os("SCALECTL_TEST_ALL_SHELLS").is_some();
        assert!(!asked, "{shell} is not installed, and SCALECTL_TEST_ALL_SHELLS asks for it");
        // The harness hides what a passing test prints by macro; a skip must be seen.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {shell} is not installed");
        return None;
    }
    let output = Command::new(shell)
        .args(flags)
        .args(["-c", script])
        .env_clear()
        .env("HOME", world.path(""))
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("TERM", "dumb")
        .current_dir(in_repository("completions"))
        .output()
        .expect("the shell runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && stderr.is_empty(), "{shell}: {stderr}");
    Some(String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn bash_completes_nouns_verbs_and_flags() {
    let world = World::new();
    let script = "source ./scalectl.bash
        complete_words() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
            _scalectl scalectl \"${!#}\" \"${@:$#-1:1}\"; echo \"${COMPREPLY[*]}\"; }
        complete_words scalectl sc
        complete_words scalectl intent p
        complete_words scalectl scale --supers";
    let Some(printed) = in_shell(&world, "bash", &["--norc", "--noprofile"], script) else {
        return;
    };
    assert_eq!(printed.lines().collect::<Vec<_>>(), ["scale schema", "put", "--supersede"]);
}

#[test]
fn zsh_takes_the_completions_as_its_own() {
    let world = World::new();
    // Once as a file in fpath, as it is installed, and once sourced.
    let script = "fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D
        print -r -- $_comps[scalectl]
        source ./_scalectl; print -r -- $+functions[_scalectl]";
    let Some(printed) = in_shell(&world, "zsh", &["-f"], script) else {
        return;
    };
    assert_eq!(printed.lines().collect::<Vec<_>>(), ["_scalectl", "1"]);
}

#[test]
fn fish_completes_nouns_verbs_and_flags() {
    let world = World::new();
    let script = "source ./scalectl.fish
        complete -C 'scalectl sc'
        complete -C 'scalectl intent p'
        complete -C 'scalectl scale --supers'";
    let Some(printed) = in_shell(&world, "fish", &["--no-config"], script) else {
        return;
    };
    let words: Vec<&str> = printed.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(words, ["scale", "schema", "put", "--supersede"], "{printed}");
}
