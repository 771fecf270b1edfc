//! `notify`: who is told of what, and that telling never holds up a write nor fails a command.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Ran, SERVICE, World, processes};

/// Lets a shell script be told of what `on` says.
fn told_by(world: &World, on: &str, script: &str, more: &str) {
    let program = world.write("told.sh", format!("#!/bin/sh\n{script}\n"));
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(&program, mode).unwrap();
    let program = program.display();
    let text = format!("[notify]\non = [{on}]\ncommand = [\"{program}\", \"sre\"]\n{more}\n");
    let file = world.write(".config/scalectl/config.toml", text);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let folder = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(world.path(".config/scalectl"), folder).unwrap();
}

/// Each document that was told, in its own file.
const KEEP: &str =
    "cat > \"$HOME/told.$$\"; echo \"$1 $HOME\" > \"$HOME/args\"; env > \"$HOME/env\"";

fn told(world: &World) -> Vec<Value> {
    let files = std::fs::read_dir(world.path("")).unwrap().flatten();
    let names = files.map(|file| file.path());
    let told = names.filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("told.") && name != "told.sh"
    });
    told.map(|path| serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
        .collect()
}

/// A world in which a shrink needs a colleague.
fn asks() -> World {
    let world = World::new();
    world.init_fake();
    let rules = "@id(\"all\") permit(principal, action, resource);\n@id(\"ask\") \
                 @unless(\"approved\") forbid(principal, \
                 action == Action::\"scale_down\", resource);";
    world.write("r.cedar", rules);
    world.run("policy put r.cedar --reason r").exits(0);
    world.run(&format!("{SERVICE} --backoff 0s")).exits(0);
    world.run("scale web=5 --key k0 --reason r --timeout 20s").exits(0);
    world
}

fn warned(ran: &Ran) -> Vec<String> {
    let warnings = ran.at("/warnings");
    let warnings = warnings.as_array().unwrap().iter();
    let ours = warnings.filter(|warning| warning["code"] == "not_notified");
    ours.map(|warning| warning["message"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_person_is_told_of_an_approval_an_unknown_outcome_and_broken_glass() {
    let mut world = asks();
    world.set("SCALECTL_REASON", "secret").set("PGPASSWORD", "secret");
    told_by(&world, "\"approval\", \"unknown\", \"break_glass\"", KEEP, "");
    let ran = world.json("scale web=2 --key k1 --reason night --actor ci").exits(13);
    assert_eq!(warned(&ran), Vec::<String>::new());
    let first = told(&world);
    assert_eq!(first.len(), 1, "{first:#?}");
    let one = &first[0];
    assert_eq!((&one["topic"], &one["service"]), (&"approval".into(), &"web".into()));
    assert_eq!((&one["current_replicas"], &one["desired_replicas"]), (&5.into(), &2.into()));
    assert_eq!((&one["reason"], &one["by"]["actor"]), (&"night".into(), &"ci".into()));
    assert_eq!(one["next"][1], "approval");
    let line: Vec<&str> =
        one["next"].as_array().unwrap().iter().skip(1).map(|word| word.as_str().unwrap()).collect();
    world.run_args(&line).exits(0);
    assert!(std::fs::read_to_string(world.path("args")).unwrap().starts_with("sre /"));
    let env = std::fs::read_to_string(world.path("env")).unwrap();
    assert!(!env.contains("secret"), "what is ours and the database's is not handed on: {env}");
    world.script(&["ok", "unknown"]);
    world.run("intent put web --replicas 7 --reason r --key k2 --supersede").exits(0);
    let ran = world.json("actuate k2").exits(16);
    assert_eq!(warned(&ran), Vec::<String>::new());
    world.run("replay k2 --wait --timeout 20s").exits(0);
    world
        .run("scale web=9 --break-glass --incident INC-1 --yes --current-replicas 7 --reason r")
        .exits(0);
    let mut topics: Vec<String> =
        told(&world).iter().map(|it| it["topic"].as_str().unwrap().to_owned()).collect();
    topics.sort();
    assert_eq!(topics, ["approval", "break_glass", "unknown"]);
}

#[test]
fn only_what_is_asked_for_is_told_and_nothing_without_settings() {
    let world = asks();
    world.run("scale web=2 --key k1 --reason r").exits(13);
    told_by(&world, "\"unknown\"", KEEP, "");
    world.run("scale web=1 --key k2 --reason r").exits(13);
    assert_eq!(told(&world), Vec::<Value>::new());
}

#[test]
fn who_hangs_dies_or_is_not_there_is_one_warning_and_no_failure() {
    let world = asks();
    let on = "\"approval\"";
    for (number, (script, more, why)) in [
        ("sleep 300", "timeout = \"1s\"", "ended after 1s"),
        ("sleep 300 & exec sleep 301", "timeout = \"1s\"", "ended after 1s"),
        ("kill -9 $$", "", "signal 9"),
        ("echo 'no such team' >&2; exit 3", "", "exit 3 (\"no such team\")"),
        ("exit 0", "", ""),
        ("head -c 10000000 /dev/zero; cat > /dev/null", "", ""),
    ]
    .into_iter()
    .enumerate()
    {
        told_by(&world, on, script, more);
        let begun = Instant::now();
        let key = format!("w{number}");
        let ran =
            world.json(&format!("scale web={} --key {key} --reason r", number % 4 + 1)).exits(13);
        assert!(begun.elapsed() < Duration::from_secs(20), "{script}");
        let warned = warned(&ran);
        assert_eq!(warned.len(), usize::from(!why.is_empty()), "{script}: {warned:?}");
        assert!(warned.iter().all(|text| text.contains(why)), "{script}: {warned:?}");
        assert_eq!(ran.at("/recorded"), "yes");
    }
    let own = world.path("").to_string_lossy().into_owned();
    let is_left = |words: &[&str]| words.iter().any(|word| word.contains(&format!("{own}told.sh")));
    assert_eq!(processes(is_left), Vec::<i32>::new(), "nobody is left");
    std::fs::remove_file(world.path("told.sh")).unwrap();
    let ran = world.json("scale web=3 --key gone --reason r").exits(13);
    assert_eq!(warned(&ran).len(), 1, "{ran:#?}");
}

#[test]
fn the_write_is_durable_while_somebody_is_still_being_told() {
    let world = asks();
    told_by(&world, "\"approval\"", "touch \"$HOME/begun\"; sleep 300", "timeout = \"8s\"");
    let mut child = world.start("scale web=2 --key k1 --reason r");
    world.until("it is being told", || world.path("begun").exists());
    // Another line finds it there, and the ledger free.
    world.run("approval show k1").exits(0);
    world.run("intent withdraw k1").exits(0);
    assert_eq!(child.try_wait().unwrap(), None, "it was still being told");
    crate::support::send(&child, rustix::process::Signal::TERM);
    child.wait().unwrap();
}

#[test]
fn settings_that_others_could_have_written_are_not_run() {
    let world = asks();
    let cases: [(&str, u32, &str); 3] = [
        (".config/scalectl/config.toml", 0o666, "others may write it"),
        (".config/scalectl", 0o777, "others may write it"),
        ("told.sh", 0o722, "others may write it"),
    ];
    for (number, (path, mode, why)) in cases.into_iter().enumerate() {
        told_by(&world, "\"approval\"", KEEP, "");
        let path = world.path(path);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let ran = world
            .json(&format!("intent put web --replicas {} --key k{number}x --reason r", number + 1))
            .exits(13);
        let warned = warned(&ran);
        assert_eq!(warned.len(), 1, "{ran:#?}");
        assert!(warned[0].contains(why), "{warned:?}");
        assert_eq!(told(&world), Vec::<Value>::new());
    }
    // A program that is named by no absolute path, or a part that says nothing: the same.
    for (number, text) in [
        "[notify]\ncommand = [\"told.sh\"]",
        "[notify]",
        "[notify]\ncommand = [\"/x\"]\non = [\"x\"]",
    ]
    .into_iter()
    .enumerate()
    {
        told_by(&world, "\"approval\"", KEEP, "");
        world.write(".config/scalectl/config.toml", text);
        let ran = world
            .json(&format!("intent put web --replicas {} --key y{number} --reason r", number + 1))
            .exits(13);
        assert_eq!(warned(&ran).len(), 1, "{text}: {ran:#?}");
    }
}

#[test]
fn the_command_of_the_recipe_is_told_as_written() {
    let mut world = asks();
    let of = |kind: &str| {
        let blocks = crate::recipes::page::blocks("on-call.md");
        blocks.into_iter().find(|block| block.kind == kind).unwrap().text
    };
    // A chat that is none: it keeps what it is sent.
    let curl =
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$HOME/curl.args\"\ncat > \"$HOME/told.curl\"\n";
    let (curl, page) = (world.write("bin/curl", curl), world.write("bin/page", of("sh")));
    for program in [&curl, &page] {
        std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    world.set("PATH", format!("{}:/usr/bin:/bin", world.path("bin").display()));
    let settings = of("toml").replace("/usr/local/bin/page", page.to_str().unwrap());
    world.write(".config/scalectl/config.toml", settings);
    let ran = world.json("scale web=2 --key k1 --reason r").exits(13);
    assert_eq!(warned(&ran), Vec::<String>::new());
    assert_eq!(told(&world)[0]["topic"], "approval");
    let args = std::fs::read_to_string(world.path("curl.args")).unwrap();
    assert!(args.contains("--json\n@-\n"), "{args}");
    let checks = world.json("doctor").at("/checks");
    let check = checks.as_array().unwrap().iter().find(|check| check["check"] == "notify").unwrap();
    assert!(check["found"].to_string().contains("break_glass, approval, unknown"), "{check}");
}

/// Each line of a batch tells as its single command would, once, and holds up no write.
#[test]
fn a_line_of_a_batch_tells_too() {
    let world = asks();
    told_by(&world, "\"approval\"", KEEP, "");
    let put = |count: u64, key: &str| {
        format!("intent put web --replicas {count} --key {key} --reason r --supersede")
    };
    let lines = |all: &[String]| -> String {
        all.iter()
            .map(|line| serde_json::json!({"command": line.split(' ').collect::<Vec<_>>()}))
            .fold(String::new(), |text, line| text + &line.to_string() + "\n")
    };
    let all = [put(2, "k1"), put(2, "k1"), "nonsense".to_owned(), put(3, "k2"), put(9, "k3")];
    let ran = world.run_with("batch", lines(&all).as_bytes());
    let exits: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["exit"].clone())
        .collect();
    assert_eq!(exits, [13, 13, 2, 13, 0], "{ran:#?}");
    let mut keys: Vec<String> =
        told(&world).iter().map(|it| it["execution_key"].as_str().unwrap().to_owned()).collect();
    keys.sort();
    assert_eq!(keys, ["k1", "k2"], "each once, and nobody of what needs nobody");
    // That nobody could be told is a warning at the end; the line is written.
    told_by(&world, "\"approval\"", "exit 3", "");
    let ran = world.run_with("batch", lines(&[put(1, "k4")]).as_bytes()).exits(13);
    assert!(
        ran.stderr.contains("warning: approval was not told: it ended with exit 3"),
        "{ran:#?}"
    );
    assert_eq!(ran.at("/recorded"), "yes");
    // While somebody is being told, the write is there for others.
    told_by(&world, "\"approval\"", "touch \"$HOME/begun\"; sleep 300", "timeout = \"8s\"");
    let input = world.write("lines", lines(&[put(0, "k5")]));
    let mut batch = world.command(&["batch"]);
    batch.stdin(std::fs::File::open(input).unwrap()).stdout(std::process::Stdio::null());
    let mut child = batch.stderr(std::process::Stdio::null()).spawn().unwrap();
    world.until("it is being told", || world.path("begun").exists());
    world.run("approval show k5").exits(0);
    assert_eq!(child.try_wait().unwrap(), None, "it was still being told");
    crate::support::send(&child, rustix::process::Signal::TERM);
    child.wait().unwrap();
}
