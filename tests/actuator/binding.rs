//! `actuator put|bind|list|show`: which command serves an actuator here, and what it may see.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use crate::support::{SCALECTL, World, fake_actuator};

fn bindings(world: &World) -> String {
    std::fs::read_to_string(world.path(".config/scalectl/actuators.toml")).unwrap()
}

/// A program of its own, so that its file can change: it hands everything to the fake.
fn program(world: &World, name: &str) -> PathBuf {
    let text = format!("#!/bin/sh\nexec /bin/sh '{}'\n", fake_actuator().display());
    let path = world.write(name, text);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

pub(super) fn serviced() -> World {
    let world = World::new();
    world.run("init").exits(0);
    world.write("fake/capabilities", "inspect\n");
    let policy = world.write("all.cedar", "@id(\"all\")\npermit(principal, action, resource);\n");
    world.run_args(&["policy", "put", policy.to_str().unwrap(), "--reason", "test"]).exits(0);
    program(&world, "mine.sh");
    world.run("actuator put mine -- ./mine.sh").exits(0);
    world
        .run("service put web --actuator mine --writer ops --max 10 --quiet 0s --drain none")
        .exits(0);
    world.run("intent put web --replicas 3 --key k1 --reason x").exits(0);
    world
}

#[test]
fn relative_paths_become_absolute() {
    let world = World::with_local();
    let state_dir = world.path("procs");
    assert!(bindings(&world).contains(state_dir.to_str().unwrap()), "{}", bindings(&world));
    let elsewhere = world.path("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let scale = world
        .command(&["scale", "web=1", "--reason", "from elsewhere"])
        .current_dir(&elsewhere)
        .output()
        .unwrap();
    assert_eq!(scale.status.code(), Some(0), "{scale:?}");
    assert!(state_dir.exists() && !elsewhere.join("procs").exists());

    program(&world, "mine.sh");
    world.write("fake/capabilities", "inspect\n");
    world.run("actuator put mine -- ./mine.sh").exits(0);
    let absolute = format!("program = \"{}\"", world.path("mine.sh").display());
    assert!(bindings(&world).contains(&absolute), "{}", bindings(&world));
}

#[test]
fn scalectl_as_the_first_word_is_this_very_binary() {
    let world = World::with_local();
    assert!(bindings(&world).contains("program = \"scalectl\""), "{}", bindings(&world));
    // No PATH leads to a scalectl, and a false one on the PATH is not run.
    let false_one =
        world.write("bin/scalectl", "#!/bin/sh\ntouch \"$HOME/false-one-ran\"\nexit 1\n");
    std::fs::set_permissions(&false_one, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    let bound = world.command(&["service", "bind", "web"]).env("PATH", path).output().unwrap();
    assert_eq!(bound.status.code(), Some(0), "{bound:?}");
    assert!(!world.path("false-one-ran").exists());
}

#[test]
fn a_changed_program_is_not_run() {
    let world = serviced();
    program(&world, "mine.sh");
    world.run("actuator list").exits(0);
    let same = world.json("actuate k1 --controller ops").exits(0);
    assert_eq!(same.at("/execution/state"), "succeeded", "the same bytes are the same program");

    world.run("intent put web --replicas 4 --key k2 --reason x").exits(0);
    let mut text = std::fs::read_to_string(world.path("mine.sh")).unwrap();
    text.push_str("# changed\n");
    std::fs::write(world.path("mine.sh"), text).unwrap();
    let before = (world.events(), world.fake_log("calls"));
    for line in ["actuate k2 --controller ops", "scale web=5 --reason x", "service bind web"] {
        let ran = world.json(line).exits(10);
        assert_eq!(ran.at("/error/code"), "actuator_changed", "{line}");
        assert_eq!(ran.at("/applied"), "no", "{line}");
    }
    assert_eq!((world.events(), world.fake_log("calls")), before);
    world.run("actuator bind mine -- ./mine.sh").exits(0);
    world.run("actuate k2 --controller ops").exits(0);
}

#[test]
fn a_changed_script_of_an_interpreter_is_not_run() {
    let world = serviced();
    let script = |more: &str| {
        let text = format!("exec /bin/sh '{}' # {more}\n", fake_actuator().display());
        world.write("my act.txt", text)
    };
    script("1");
    let put = ["actuator", "put", "mine", "--", "/bin/sh", "-e", "my act.txt"];
    world.run_args(&put).exits(0);
    script("2");
    let before = (world.events(), world.fake_log("calls"));
    let ran = world.json("actuate k1 --controller ops").exits(10);
    assert_eq!(ran.at("/error/code"), "actuator_changed");
    assert_eq!((world.events(), world.fake_log("calls")), before);
    // The line that it says binds what is there now.
    let next = ran.at("/error/next/0");
    let words: Vec<&str> = next.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    assert!(words.contains(&world.path("my act.txt").to_str().unwrap()), "{words:?}");
    world.run_args(&words[1..]).exits(0);
    world.run("actuate k1 --controller ops").exits(0);
}

#[test]
fn an_unbound_actuator_is_not_found_until_it_is_bound() {
    let mut world = serviced();
    let before = (world.events(), world.fake_log("calls"));
    let elsewhere = world.path("other-config");
    world.set("XDG_CONFIG_HOME", elsewhere.to_str().unwrap());
    for line in ["actuate k1 --controller ops", "service bind web", "actuator check mine"] {
        let ran = world.json(line).exits(24);
        assert_eq!(ran.at("/error/code"), "actuator_not_bound", "{line}");
    }
    assert_eq!((world.events(), world.fake_log("calls")), before);
    assert_eq!(world.json("actuator show mine").exits(0).at("/bound_here"), false);
    assert_eq!(world.json("actuator list").exits(0).at("/actuators/0/bound_here"), false);

    world.run("actuator bind mine -- ./mine.sh").exits(0);
    assert_eq!(world.json("actuator show mine").exits(0).at("/bound_here"), true);
    assert_eq!(world.events(), before.0, "a binding is the host's, not the ledger's");
    world.run("actuate k1 --controller ops").exits(0);
}

#[test]
fn a_command_of_another_actuator_is_not_bound() {
    let world = serviced();
    let before = bindings(&world);
    let line = "actuator bind mine -- scalectl actuator run local --command true";
    let ran = world.json(line).exits(2);
    assert_eq!(ran.at("/error/code"), "other_actuator");
    world.write("fake/capabilities", "lookup\n");
    let ran = world.json("actuator bind mine -- ./mine.sh").exits(2);
    assert_eq!(ran.at("/error/code"), "other_capabilities");
    let text = ran.at("/error/message");
    assert_eq!(text, "mine is registered with inspect, which the command does not declare");
    assert_eq!(bindings(&world), before);
    world.run("actuator bind nobody -- ./mine.sh").exits(24);
    let ran = world.json("actuator bind mine -- ./not-there.sh").exits(24);
    assert_eq!(ran.at("/error/code"), "program_not_found");
}

const LOCAL: [&str; 9] = [
    "scalectl",
    "actuator",
    "run",
    "local",
    "--command",
    "sleep 300",
    "--grace",
    "1s",
    "--state-dir",
];

#[test]
fn a_command_that_finds_another_target_is_not_bound_under_a_call() {
    let mut world = World::with_local();
    world.run("intent put web --replicas 2 --key k1 --reason x").exits(0);
    world.set("SCALECTL_TEST_CRASH", "after_answer#1");
    assert_eq!(world.run("actuate k1 --controller ops").code, None, "it died with the answer");
    world.unset("SCALECTL_TEST_CRASH");
    let (bound, events) = (bindings(&world), world.events());
    copy(&world.path("procs"), &world.path("copied"));
    // A new folder has never been the target; a copy does not know what came after it.
    for state_dir in ["./elsewhere", "./copied"] {
        for verb in ["bind", "put"] {
            let line = [&["-o", "json", "actuator", verb, "procs", "--"], &LOCAL[..], &[state_dir]];
            let ran = world.run_args(&line.concat()).exits(2).says("which is in flight");
            assert_eq!(ran.at("/error/code"), "other_target", "{verb} {state_dir}");
        }
    }
    assert_eq!((bindings(&world), world.events()), (bound, events));
    // The same folder by another command line is the target still.
    let put = [&["actuator", "bind", "procs", "--"], &LOCAL[..], &["./procs", "--settle", "50ms"]];
    world.run_args(&put.concat()).exits(0);
    let replayed = world.json("replay k1").exits(0);
    assert_eq!(replayed.at("/execution/outcome"), "converged");
    // With nothing in flight another target is bound, and seen to be another when it is read.
    let put = [&["actuator", "bind", "procs", "--"], &LOCAL[..], &["./copied"]];
    world.run_args(&put.concat()).exits(0);
    assert_eq!(world.json("service bind web").exits(10).at("/error/code"), "target_changed");
    let put = [&["actuator", "bind", "procs", "--"], &LOCAL[..], &["./procs"]];
    world.run_args(&put.concat()).exits(0);
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(copied.success());
}

#[test]
fn a_command_that_reads_nothing_stays_the_same_under_a_call() {
    let mut world = World::new();
    world.init_fake_that(&["lookup"]);
    world
        .run(&format!(
            "{} --cluster fake --runtime sh --target-uid fake:web --target-version 1",
            crate::support::SERVICE
        ))
        .exits(0);
    world.run("intent put web --replicas 3 --key k1 --reason x").exits(0);
    world.set("SCALECTL_TEST_CRASH", "after_answer#1");
    assert_eq!(world.run("actuate k1 --controller ops").code, None);
    world.unset("SCALECTL_TEST_CRASH");
    program(&world, "mine.sh");
    for verb in ["bind", "put"] {
        let ran = world.json(&format!("actuator {verb} fake -- ./mine.sh")).exits(11);
        assert_eq!(ran.at("/error/code"), "in_flight", "{verb}");
    }
    let fake = fake_actuator();
    world.run(&format!("actuator bind fake -- /bin/sh {}", fake.display())).exits(0);
    world.run("replay k1").exits(0);
    world.run("actuator bind fake -- ./mine.sh").exits(0);
}

#[test]
fn bindings_that_others_may_write_are_not_trusted() {
    let world = serviced();
    let file = world.path(".config/scalectl/actuators.toml");
    let before = (world.events(), world.fake_log("calls"));
    for mode in [0o620, 0o602] {
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        let ran = world.json("actuate k1 --controller ops").exits(24);
        assert_eq!(ran.at("/error/code"), "bindings_unusable", "{mode:o}");
        world.json("actuator bind mine -- ./mine.sh").exits(24);
    }
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::set_permissions(file.parent().unwrap(), PermissionsExt::from_mode(0o777)).unwrap();
    world.json("actuate k1 --controller ops").exits(24);
    assert_eq!((world.events(), world.fake_log("calls")), before);
    std::fs::set_permissions(file.parent().unwrap(), PermissionsExt::from_mode(0o700)).unwrap();
    std::fs::write(&file, "format_version = 1\nnonsense = true\n").unwrap();
    let ran = world.json("actuate k1 --controller ops").exits(24);
    assert_eq!(ran.at("/error/code"), "bindings_unusable");
}

#[test]
fn each_ledger_has_bindings_of_its_own() {
    let world = serviced();
    let other = world.path("other.db");
    let other = other.to_str().unwrap();
    world.run_args(&["--ledger", other, "init"]).exits(0);
    // The same name in another ledger is another actuator.
    world.run_args(&["--ledger", other, "actuator", "show", "mine"]).exits(24);
    let run = ["scalectl", "actuator", "run", "local", "--command", "sleep 300"];
    let put = ["--ledger", other, "actuator", "put", "mine", "--"];
    world.run_args(&[&put[..], &run].concat()).exits(0);
    assert_eq!(world.json("actuator show mine").exits(0).at("/actuator/adapter"), "fake");
    let there = world.run_args(&["--ledger", other, "actuator", "show", "mine", "-o", "json"]);
    assert_eq!(there.exits(0).at("/actuator/adapter"), "local");
    world.run("actuate k1 --controller ops").exits(0);
    assert_eq!(world.fake_log("calls").len(), 1, "ours is still the fake");
}

#[test]
fn putting_the_same_again_records_nothing() {
    let world = serviced();
    let before = world.events();
    let again = world.json("actuator put mine -- ./mine.sh").exits(0);
    assert_eq!((again.at("/changed"), again.at("/recorded")), (false.into(), "no".into()));
    assert_eq!(world.events(), before);
    let changed = world.json("actuator put mine --timeout 7s -- ./mine.sh").exits(0);
    assert_eq!((changed.at("/changed"), changed.at("/recorded")), (true.into(), "yes".into()));
    assert_eq!(changed.at("/actuator/timeout_ms"), 7000);
    assert_eq!(world.events(), before + 1);
}

#[test]
fn what_does_not_describe_itself_is_not_registered() {
    let world = World::new();
    world.run("init").exits(0);
    let before = world.events();
    for (line, code, exit) in [
        ("actuator put it -- /bin/true", "not_an_actuator", 2),
        ("actuator put it -- /bin/echo {}", "not_an_actuator", 2),
        ("actuator put it -- /bin/false", "not_an_actuator", 2),
        ("actuator put it -- ./nothing-here", "program_not_found", 24),
        ("actuator put it -- nothing-of-this-name", "program_not_found", 24),
        ("actuator put it --timeout 0s -- scalectl", "timeout_out_of_range", 2),
        ("actuator put it --timeout 871s -- scalectl", "timeout_out_of_range", 2),
        ("actuator put it --timeout 60 -- scalectl", "usage", 2),
        ("actuator put i@t -- scalectl", "usage", 2),
        ("actuator put it", "usage", 2),
    ] {
        let words: Vec<&str> = ["-o", "json"].into_iter().chain(line.split(' ')).collect();
        let ran = world.run_args(&words).exits(exit);
        assert_eq!(ran.at("/error/code"), code, "{line}");
        assert!(!ran.stderr.contains("panicked"));
    }
    assert_eq!(world.events(), before);
    assert!(!world.path(".config/scalectl/actuators.toml").exists());
}

/// An actuator that writes down what it sees before it answers.
fn spy(world: &World) {
    let text = format!(
        "#!/bin/sh\nread -r request\nif [ -n \"${{FAKE_ACTUATOR_DIR:-}}\" ]; then\n\
         op=${{request#*\\\"op\\\":\\\"}} op=${{op%%\\\"*}}\n\
         env >\"$FAKE_ACTUATOR_DIR/env.$op\"\nls /proc/self/fd >\"$FAKE_ACTUATOR_DIR/fd.$op\"\nfi\n\
         printf '%s\\n' \"$request\" | /bin/sh '{}'\n",
        fake_actuator().display()
    );
    let path = world.write("spy.sh", text);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn an_actuator_sees_the_variables_that_it_lists_and_no_descriptor() {
    let mut world = World::new();
    world.init_fake();
    spy(&world);
    world.set("SECRET_TOKEN", "hunter2").set("SCALECTL_REASON", "spied").set("FAKE_OTHER", "1");
    world.run("actuator put spy -- ./spy.sh").exits(0);
    world.run("service put web --actuator spy --writer ops --max 10 --drain none").exits(0);
    world.run("intent put web --replicas 2 --key k1").exits(0);
    // A shell leaves descriptors open, as shells and CI systems do.
    let mut shell = Command::new("/bin/sh");
    let inner = world.command(&[]);
    shell.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir(world.path(""));
    let line = format!("exec 7</dev/null 9>leak; exec '{SCALECTL}' actuate k1 --controller ops");
    let ran = shell.args(["-c", &line]).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");

    for op in ["describe", "inspect", "apply"] {
        let read = |kind: &str| {
            let path = world.fake_dir().join(format!("{kind}.{op}"));
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
        };
        let env = read("env");
        let names: Vec<&str> =
            env.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
        // The shell sets these itself.
        let own = ["PWD", "OLDPWD", "SHLVL", "_"];
        let mut given: Vec<&str> = names.into_iter().filter(|name| !own.contains(name)).collect();
        given.sort_unstable();
        // The last describe is the one of `actuator put`: it sees what the first had asked for.
        let listed = ["FAKE_ACTUATOR_DIR", "PATH"];
        assert_eq!(given, listed[..if op == "describe" { 1 } else { 2 }], "{op}: {env}");
        // 3 is the directory that ls itself reads.
        assert_eq!(read("fd").split_whitespace().collect::<Vec<_>>(), ["0", "1", "2", "3"], "{op}");
    }
}

#[test]
fn the_policy_says_who_may_register() {
    let world = serviced();
    let policy = world.write(
        "none.cedar",
        "@id(\"only-policies\")\npermit(principal, action == Action::\"set_policy\", resource);\n",
    );
    world.run_args(&["policy", "put", policy.to_str().unwrap(), "--reason", "x"]).exits(0);
    let before = bindings(&world);
    for line in ["actuator put more -- ./mine.sh", "actuator put mine --timeout 9s -- ./mine.sh"] {
        let words: Vec<&str> = ["-o", "json"].into_iter().chain(line.split(' ')).collect();
        assert_eq!(world.run_args(&words).exits(12).at("/error/code"), "denied", "{line}");
    }
    assert_eq!(bindings(&world), before, "what is not registered is not bound");
}
