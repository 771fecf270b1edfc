//! Ledgers that cannot be used: each has its word and exit 21, nothing is lost, nothing panics.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::postgres::sqlite_only;
use crate::support::{Ran, SCALECTL, World};

/// What is tried on every ledger: it reads, it writes, it reads everything.
const LINES: [&str; 5] = [
    "status",
    "log",
    "verify",
    "intent put web --replicas 3 --key k9 --reason x",
    "scale web=2 --reason x --timeout 2s",
];

fn settled() -> World {
    let world = World::with_fake();
    for (key, count) in [("k1", 1), ("k2", 2), ("k3", 3)] {
        let put = format!("intent put web --replicas {count} --key {key} --reason {key}");
        world.run(&put).exits(0);
    }
    // All of it in the one file, so that damage to the file is damage to the ledger.
    let file = rusqlite::Connection::open(world.ledger()).unwrap();
    file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    world
}

fn side_files_away(world: &World) {
    for suffix in ["-wal", "-shm"] {
        let mut name = world.ledger().into_os_string();
        name.push(suffix);
        // There may be none.
        let _ = std::fs::remove_file(name);
    }
}

fn put_bytes(world: &World, bytes: &[u8]) {
    side_files_away(world);
    std::fs::write(world.ledger(), bytes).unwrap();
}

/// Every line ends with this code and word, and the file stays as it is.
fn refused(world: &World, exit: i32, code: &str) -> Vec<Ran> {
    let before = std::fs::read(world.ledger()).ok();
    let calls = world.fake_log("calls");
    let runs = LINES.map(|line| {
        let ran = world.json(line).exits(exit);
        assert_eq!(ran.at("/error/code"), code, "{ran:#?}");
        assert_eq!((ran.at("/recorded"), ran.at("/applied")), ("no".into(), "no".into()));
        assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
        ran
    });
    assert!(std::fs::read(world.ledger()).ok() == before, "the file was changed");
    assert_eq!(world.fake_log("calls"), calls, "nobody was called");
    runs.into()
}

#[test]
fn a_missing_ledger_says_why_it_was_chosen() {
    sqlite_only!("it is about the file of the ledger");
    let mut world = World::new();
    for ran in refused(&world, 21, "ledger_missing") {
        assert!(ran.stderr.contains("chosen by the default (no --ledger, no SCALECTL_LEDGER)"));
        assert!(ran.stderr.contains("scalectl init"), "{ran:#?}");
    }
    assert!(!world.path(".local/state/scalectl/ledger.db").exists(), "nothing is made");
    let there = world.path("there.db");
    world
        .run_args(&["--ledger", there.to_str().unwrap(), "status"])
        .exits(21)
        .says("chosen by --ledger");
    world.set("SCALECTL_LEDGER", there.to_str().unwrap());
    world.run("status").exits(21).says("chosen by SCALECTL_LEDGER");
    world.run("--ledger ./other.db status").exits(21).says("chosen by --ledger");
    symlink("nothing", &there).unwrap();
    world.run("status").exits(21).says("it is a link to nothing");
}

#[test]
fn what_is_no_ledger_is_named() {
    sqlite_only!("it is about the file of the ledger");
    let world = World::new();
    let path = world.ledger();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    for (bytes, codes) in [
        (b"".to_vec(), ["ledger_foreign"]),
        (b"hello".to_vec(), ["ledger_foreign"]),
        (vec![0; 8192], ["ledger_foreign"]),
        (b"SQLite format 3\0".to_vec(), ["ledger_foreign"]),
    ] {
        put_bytes(&world, &bytes);
        let word = world.json("status").at("/error/code");
        let word = word.as_str().unwrap().to_owned();
        assert!(codes.contains(&word.as_str()) || word == "ledger_corrupt", "{word}");
        refused(&world, 21, &word);
    }
    std::fs::remove_file(&path).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute_batch("PRAGMA application_id = 1; CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        .unwrap();
    drop(other);
    refused(&world, 21, "ledger_foreign");
    world.json("init").exits(10);
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    refused(&world, 21, "ledger_not_a_file");
}

#[test]
fn a_newer_ledger_is_refused_and_stays() {
    sqlite_only!("it is about the file of the ledger");
    let world = settled();
    let file = rusqlite::Connection::open(world.ledger()).unwrap();
    file.execute_batch("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(file);
    side_files_away(&world);
    for ran in refused(&world, 21, "ledger_newer") {
        assert!(ran.stderr.contains("99"), "{ran:#?}");
    }
    let file = rusqlite::Connection::open(world.ledger()).unwrap();
    file.execute_batch("PRAGMA user_version = 2").unwrap();
    drop(file);
    assert_eq!(world.json("intent list").exits(0).at("/executions").as_array().unwrap().len(), 3);
    world.run("verify").exits(0);
}

#[test]
fn a_truncated_ledger_is_told_from_a_whole_one() {
    sqlite_only!("it is about the file of the ledger");
    let world = settled();
    let whole = std::fs::read(world.ledger()).unwrap();
    for length in [1, 15, 16, 99, 100, 4095, 4096, 8192, whole.len() / 2, whole.len() - 1] {
        put_bytes(&world, &whole[..length]);
        for line in LINES {
            let ran = world.json(line);
            // One byte less than a whole page: who does not read that page is none the wiser.
            let may_work = length == whole.len() - 1 && line != "verify";
            assert!(ran.code == Some(21) || may_work, "{length} bytes, {line}: {ran:#?}");
            assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
        }
    }
    put_bytes(&world, &whole);
    world.run("verify").exits(0);
}

/// A page of noise.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(&mut next).take(length).collect()
}

#[test]
fn noise_in_any_page_is_found_and_never_a_panic() {
    sqlite_only!("it is about the file of the ledger");
    let seed = u64::from(std::process::id());
    let world = settled();
    let whole = std::fs::read(world.ledger()).unwrap();
    let page = 4096;
    assert_eq!(whole.len() % page, 0);
    for number in 0..whole.len() / page {
        let mut damaged = whole.clone();
        let at = number * page;
        damaged[at..at + page].copy_from_slice(&noise(seed + number as u64, page));
        for line in LINES {
            put_bytes(&world, &damaged);
            let ran = world.json(line);
            assert!(!ran.stderr.contains("panicked"), "seed {seed}, page {number}: {ran:#?}");
            let code = ran.code.unwrap_or(-1);
            // A line that does not need the page is none the wiser; `verify` always is.
            assert!(code == 21 || line != "verify", "seed {seed}, page {number}: {ran:#?}");
            assert!(
                [0, 10, 11, 20, 21, 24].contains(&code),
                "seed {seed}, page {number}, {line}: {ran:#?}"
            );
        }
    }
    put_bytes(&world, &whole);
    world.run("verify").exits(0);
}

#[test]
fn a_bit_that_flipped_is_found_by_verify() {
    sqlite_only!("it is about the file of the ledger");
    let seed = u64::from(std::process::id());
    let world = settled();
    let whole = std::fs::read(world.ledger()).unwrap();
    let mut silent = 0;
    for (round, byte) in noise(seed, 40).into_iter().enumerate() {
        let at = 100 + (round * 8191 + usize::from(byte) * 257) % (whole.len() - 100);
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (byte % 8);
        put_bytes(&world, &damaged);
        let ran = world.json("verify");
        assert!(!ran.stderr.contains("panicked"), "seed {seed}, byte {at}: {ran:#?}");
        // A bit of free space means nothing.
        silent += u32::from(ran.code == Some(0));
        assert!([0, 21].contains(&ran.code.unwrap_or(-1)), "seed {seed}, byte {at}: {ran:#?}");
    }
    assert!(silent < 40, "seed {seed}: verify never finds anything");
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// Runs a line as somebody who may not write what root may: as nobody, where we are root. Nobody may
/// not look into the directory of the build, so it is a copy of the program that runs.
fn as_other(world: &World, line: &str) -> Output {
    let words: Vec<&str> = line.split_whitespace().collect();
    let like = world.command(&words);
    if !is_root() {
        let mut command = like;
        return command.output().unwrap();
    }
    let program = world.path("scalectl-of-nobody");
    if !program.exists() {
        std::fs::copy(like.get_program(), &program).unwrap();
        mode(&program, 0o755);
    }
    let mut command = std::process::Command::new(program);
    command.args(like.get_args()).env_clear().uid(65534).gid(65534);
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(like.get_current_dir().unwrap_or(world.path("").as_path()));
    command.output().unwrap()
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn a_ledger_that_cannot_be_written_is_named_with_the_culprit() {
    sqlite_only!("it is about the file of the ledger");
    let world = settled();
    side_files_away(&world);
    let directory = world.ledger().parent().unwrap().to_owned();
    for path in ["", ".local", ".local/state", ".local/state/scalectl"] {
        mode(&world.path(path), 0o755);
    }
    let whole = std::fs::read(world.ledger()).unwrap();
    for (file_mode, directory_mode) in [(0o444, 0o755), (0o666, 0o555), (0o444, 0o555), (0, 0o755)]
    {
        mode(&world.ledger(), file_mode);
        mode(&directory, directory_mode);
        for line in LINES {
            let output = as_other(&world, &format!("-o json {line}"));
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(21), "{file_mode:o} {line}: {output:?}");
            assert!(stderr.contains("error[ledger_read_only]"), "{file_mode:o} {line}: {stderr}");
            assert!(!stderr.contains("panicked"), "{stderr}");
        }
        assert!(std::fs::read(world.ledger()).unwrap() == whole);
    }
    mode(&directory, 0o700);
    mode(&world.ledger(), 0o600);
    world.run("verify").exits(0);
}

/// A shell with a mount namespace of its own; none where this user may not have one.
fn in_own_mounts(world: &World, script: &str) -> Option<Output> {
    let may = Command::new("unshare").args(["-m", "true"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let inner = world.command(&[]);
    let mut shell = Command::new("unshare");
    shell.args(["-m", "/bin/sh", "-c", script]).env_clear();
    shell.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("SCALECTL", SCALECTL).current_dir(world.path(""));
    Some(shell.output().unwrap())
}

#[test]
fn a_full_disk_loses_nothing() {
    sqlite_only!("it is about the file of the ledger");
    let world = World::with_fake();
    let script = r#"
        mkdir -p small && mount -t tmpfs -o size=2m tmpfs small && cp -a .local/state/scalectl/. small/ || exit 90
        export SCALECTL_LEDGER=$PWD/small/ledger.db
        "$SCALECTL" intent put web --replicas 1 --key k1 --reason x >/dev/null || exit 91
        dd if=/dev/zero of=small/filler bs=1024 2>/dev/null
        number=0 code=0
        while [ $code = 0 ] && [ $number -lt 300 ]; do
            number=$((number + 1))
            "$SCALECTL" intent put web --replicas 2 --key n$number --reason x >/dev/null 2>out
            code=$?
        done
        cat out >&2
        echo "exit $code after $number"
        rm small/filler
        "$SCALECTL" -o name intent list --limit 1000 | wc -l
        "$SCALECTL" verify >/dev/null && echo sound
        "$SCALECTL" intent put web --replicas 2 --key n$number --reason x >/dev/null && echo again
    "#;
    let Some(output) = in_own_mounts(&world, script) else {
        return limited_file(&world);
    };
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let mut lines = stdout.lines();
    let ended = lines.next().unwrap_or_default();
    let (exit, number) =
        ended.trim_start_matches("exit ").split_once(" after ").unwrap_or_default();
    assert_eq!(exit, "21", "{stdout}{stderr}");
    assert!(stderr.contains("error[ledger_full]"), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    // k1 and every put that was answered with 0.
    assert_eq!(lines.next().map(str::trim), Some(number), "{stdout}{stderr}");
    assert_eq!(lines.collect::<Vec<_>>(), ["sound", "again"], "{stdout}{stderr}");
}

/// Without mounts of one's own: no file may grow beyond a bound.
fn limited_file(world: &World) {
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$SCALECTL\" intent put web --replicas 3 --key k1 --reason x";
    let inner = world.command(&[]);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script]).env_clear().env("SCALECTL", SCALECTL);
    shell.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = shell.current_dir(world.path("")).output().unwrap();
    assert_eq!(output.status.code(), Some(21), "{output:?}");
    world.run("intent show k1").exits(24);
    world.run("verify").exits(0);
}

#[test]
fn a_bound_on_files_loses_nothing() {
    sqlite_only!("it is about the file of the ledger");
    limited_file(&World::with_fake());
}

#[test]
fn without_a_home_there_is_no_default_ledger() {
    sqlite_only!("it is about the file of the ledger");
    let world = World::with_fake();
    let ledger = world.ledger();
    let run = |words: &[&str], env: &[(&str, &str)]| {
        let mut command = world.command(words);
        command.env_remove("HOME").envs(env.iter().copied());
        command.output().unwrap()
    };
    for line in LINES {
        let output = run(&line.split(' ').collect::<Vec<_>>(), &[]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("error[no_home]") && !stderr.contains("panicked"), "{stderr}");
    }
    let output = run(&["init"], &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let (state, config) = (world.path(".local/state"), world.path(".config"));
    let xdg = [
        ("XDG_STATE_HOME", state.to_str().unwrap()),
        ("XDG_CONFIG_HOME", config.to_str().unwrap()),
    ];
    assert_eq!(run(&["status"], &xdg).status.code(), Some(0));
    // A variable that is not absolute counts for nothing (XDG base directories).
    let output = run(&["status"], &[("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config")]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(ledger.exists());
}

#[test]
fn no_error_about_a_server_shows_a_password() {
    for (address, code, exit) in [
        // Nobody listens on port 1, and no such service is described.
        ("postgres://ops:hunter2@127.0.0.1:1/ledger", "ledger_unreachable", 20),
        ("postgres://ops:hunter2@127.0.0.1:1/l?password=hunter2", "ledger_unreachable", 20),
        ("postgres://ops:hunter2@db.example/l?sslmode=prefer", "ledger_address_invalid", 2),
        ("postgres://ops:hunter2@127.0.0.1/l?service=none", "ledger_address_invalid", 2),
        ("postgres://ops:hunter2%@127.0.0.1/l", "ledger_address_invalid", 2),
        ("mysql://ops:hunter2@127.0.0.1/l", "ledger_address_invalid", 2),
    ] {
        let mut world = World::new();
        world.set("SCALECTL_LEDGER", address);
        let ran = world.json("status").exits(exit);
        assert_eq!(ran.at("/error/code"), code, "{address}");
        if code == "ledger_address_invalid" {
            let hint = ran.at("/error/hint");
            assert!(hint.as_str().unwrap().contains("?sslmode=verify-full"), "{ran:#?}");
        }
        assert!(!ran.stdout.contains("hunter2") && !ran.stderr.contains("hunter2"), "{ran:#?}");
    }
}
