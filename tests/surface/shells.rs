//! Completions: the committed scripts, and the real shells that read them.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use scalectl::cli::completions::script;

use super::{hold_committed, in_repository};
use crate::support::{SCALECTL, SERVICE, World};

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

fn folder_of_binary() -> String {
    let folder = Path::new(SCALECTL).parent().expect("a binary is in a folder");
    folder.to_str().expect("text").to_owned()
}

/// A ledger with two services, one actuator and one key.
fn with_names() -> World {
    let world = World::on_sqlite();
    world.init_fake();
    world.run(SERVICE).exits(0);
    let put = SERVICE.replace("put web", "put wiki");
    world.run(&format!("{put} --workload wiki")).exits(0);
    world.run("intent put web --replicas 1 --key night-1 --reason x").exits(0);
    world
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
        .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", folder_of_binary()))
        .env("TERM", "dumb")
        .env("SCALECTL_LEDGER", world.ledger())
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
        complete_words scalectl scale --supers
        complete_words scalectl help ke";
    let Some(printed) = in_shell(&world, "bash", &["--norc", "--noprofile"], script) else {
        return;
    };
    assert_eq!(printed.lines().collect::<Vec<_>>(), ["scale schema", "put", "--supersede", "keys"]);
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
        complete -C 'scalectl scale --supers'
        complete -C 'scalectl help ke'
        complete -C 'scalectl status -l '";
    let Some(printed) = in_shell(&world, "fish", &["--no-config"], script) else {
        return;
    };
    let words: Vec<&str> = printed.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(words, ["scale", "schema", "put", "--supersede", "keys"], "{printed}");
}

#[test]
fn bash_completes_the_names_of_the_ledger() {
    let world = with_names();
    let script = "source ./scalectl.bash
        complete_words() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
            _scalectl_and_values scalectl \"${!#}\" \"${@:$#-1:1}\"; echo \"${COMPREPLY[*]}\"; }
        complete_words scalectl status w
        complete_words scalectl scale w
        complete_words scalectl log --key n
        complete_words scalectl actuator show ''
        complete_words scalectl intent p
        complete -p scalectl";
    let Some(printed) = in_shell(&world, "bash", &["--norc", "--noprofile"], script) else {
        return;
    };
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[..5], ["web wiki", "web= wiki=", "night-1", "fake", "put"], "{printed}");
    assert!(lines[5].contains("-F _scalectl_and_values"), "{printed}");
}

#[test]
fn zsh_completes_the_names_of_the_ledger() {
    let world = with_names();
    // Outside of a completion compadd cannot be called: what it would be given is printed.
    let script = "fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D
        source ./_scalectl
        compadd() { print -r -- \"$@\" }
        _default() { print -r -- files }
        for line in 'status w' 'scale w' 'log --key n' 'actuator show f' 'version x'; do
            _scalectl_line=(scalectl ${=line}); _scalectl_values
        done";
    let Some(printed) = in_shell(&world, "zsh", &["-f"], script) else {
        return;
    };
    let lines: Vec<&str> = printed.lines().collect();
    let wanted = [
        "-S  --",
        "-- web wiki",
        "-S  -- web= wiki=",
        "--",
        "-S  --",
        "-- night-1",
        "-S  --",
        "-- fake",
        "files",
    ];
    assert_eq!(lines, wanted, "{printed}");
}

#[test]
fn fish_completes_the_names_of_the_ledger() {
    let world = with_names();
    let script = "source ./scalectl.fish
        complete -C 'scalectl status w'
        complete -C 'scalectl scale w'
        complete -C 'scalectl log --key n'
        complete -C 'scalectl actuator show '";
    let Some(printed) = in_shell(&world, "fish", &["--no-config"], script) else {
        return;
    };
    let words: Vec<&str> = printed.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(words, ["web", "wiki", "web=", "wiki=", "night-1", "fake"], "{printed}");
}

/// Whatever is wrong, a line that is being typed gets no message and no candidate.
#[test]
fn completing_is_silent_where_there_is_no_ledger() {
    let world = World::new();
    for line in ["complete -- status w", "complete --", "complete -- scale web=3 --key n"] {
        let ran = world.run(line).exits(0);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""), "{line}");
    }
}
