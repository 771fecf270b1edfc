//! A world of its own for each test: a private HOME, a cleared environment, the real binary.

// Each file of tests uses its own part of the world.
#![allow(dead_code, clippy::unwrap_used, reason = "which parts are used differs")]

pub(crate) mod calls;
mod engine;
pub(crate) mod placed;
pub(crate) mod postgres;
mod processes;
pub(crate) mod schema;
pub(crate) mod terminal;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use postgres::OwnSchema;

/// The binary under test, built with the feature `testing`.
pub(crate) const SCALECTL: &str = env!("CARGO_BIN_EXE_scalectl");

/// The registration of `web` with the fake actuator: no quiet time, no drain, ten at most.
pub(crate) const SERVICE: &str = "service put web --actuator fake --writer ops --max 10 \
                                  --quiet 0s --drain none --target-match replicas";

/// The scripted fake actuator.
pub(crate) fn fake_actuator() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/actuators/fake.sh")
}

/// A world of its own.
pub(crate) struct World {
    dir: TempDir,
    env: Vec<(String, String)>,
    schema: Option<OwnSchema>,
}

/// What one run came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) line: String,
    /// The exit code; none for a death by signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The processes of a call under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallProcesses {
    /// The guard, which leads the session.
    pub(crate) guard: i32,
    /// The actuator, which leads the group.
    pub(crate) group: i32,
}

impl CallProcesses {
    fn parse(text: &str) -> Option<Self> {
        let pid = |word: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(word))?;
            line.trim().split(' ').next()?.parse().ok()
        };
        let is_over = text.contains("ended ");
        Some(Self { guard: pid("session")?, group: pid("group")? }).filter(|_| !is_over)
    }
}

/// The fields of `/proc/PID/stat` after the name, from the state on; none for who is gone.
pub(crate) fn stat_of(pid: i32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = stat.rsplit(") ").next()?.split(' ').map(str::to_owned).collect();
    Some(fields)
}

/// Whether a process is there and not only a zombie.
pub(crate) fn is_alive(pid: i32) -> bool {
    stat_of(pid).is_some_and(|fields| fields[0] != "Z")
}

fn pids() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The living processes of a process group.
pub(crate) fn group_members(group: i32) -> Vec<i32> {
    let is_member = |pid: &i32| {
        stat_of(*pid).is_some_and(|fields| fields[0] != "Z" && fields[2] == group.to_string())
    };
    pids().into_iter().filter(is_member).collect()
}

/// The living processes with such a command line.
pub(crate) fn processes(is_meant: impl Fn(&[&str]) -> bool) -> Vec<i32> {
    let is_one = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        let words: Vec<&str> = line.trim_end_matches('\0').split('\0').collect();
        is_meant(&words) && is_alive(*pid)
    };
    pids().into_iter().filter(is_one).collect()
}

/// Sends a signal to a process.
pub(crate) fn send(child: &Child, signal: rustix::process::Signal) {
    let pid = i32::try_from(child.id()).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Whether a process is stopped.
pub(crate) fn is_stopped(child: &Child) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    stat.rsplit_once(") ").unwrap().1.starts_with('T')
}

impl Ran {
    /// Asserts the exit code and returns the run.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// The one JSON document on stdout.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// A member of the JSON document by its pointer, such as `/execution/state`.
    #[track_caller]
    pub(crate) fn at(&self, pointer: &str) -> Value {
        let document = self.json();
        document.pointer(pointer).cloned().unwrap_or_else(|| panic!("no {pointer} in {document:#}"))
    }

    /// Asserts that stderr has a text.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "stderr lacks {text:?}: {self:#?}");
        self
    }
}

impl World {
    /// An empty world: no ledger yet. Its ledger will be on the engine of this run.
    pub(crate) fn new() -> Self {
        if postgres::is_the_engine() { Self::on_postgres() } else { Self::on_sqlite() }
    }

    /// A ledger with the fake actuator as `fake` under a policy that permits everything, and the
    /// service `web` (0 to 10 replicas, writer `ops`, no quiet time, no backoff, no drain).
    pub(crate) fn with_fake() -> Self {
        let world = Self::new();
        world.init_fake();
        world.run(&format!("{SERVICE} --backoff 0s")).exits(0);
        world
    }

    /// The same without any service.
    pub(crate) fn init_fake(&self) {
        self.init_fake_that(&["inspect", "lookup", "fence"]);
    }

    /// The same with a fake that can do other things.
    pub(crate) fn init_fake_that(&self, capabilities: &[&str]) {
        std::fs::create_dir_all(self.fake_dir()).unwrap();
        let mut lines = capabilities.join("\n");
        lines.extend((!capabilities.is_empty()).then_some('\n'));
        std::fs::write(self.fake_dir().join("capabilities"), lines).unwrap();
        self.run("init").exits(0);
        let policy = self.path("all.cedar");
        std::fs::write(&policy, "@id(\"all\")\npermit(principal, action, resource);\n").unwrap();
        self.run_args(&["policy", "put", policy.to_str().unwrap(), "--reason", "test"]).exits(0);
        let fake = fake_actuator();
        self.run_args(&[
            "actuator",
            "put",
            "fake",
            "--timeout",
            "5s",
            "--",
            "/bin/sh",
            fake.to_str().unwrap(),
        ])
        .exits(0);
    }

    /// A ledger with the starter policy, the bundled `local` actuator as `procs`, and the service
    /// `web` (0 to 10 replicas, writer `ops`).
    pub(crate) fn with_local() -> Self {
        Self::with_local_running("sleep 300")
    }

    /// The same with another command of its replicas.
    pub(crate) fn with_local_running(command: &str) -> Self {
        let world = Self::new();
        world.run("init --starter-policy local").exits(0);
        world
            .run_args(&[
                "actuator",
                "put",
                "procs",
                "--",
                "scalectl",
                "actuator",
                "run",
                "local",
                "--state-dir",
                "./procs",
                "--grace",
                "1s",
                "--command",
                command,
            ])
            .exits(0);
        world.run("service put web --actuator procs --writer ops --max 10 --backoff 0s").exits(0);
        world
    }

    /// A world that is now as this one is, and goes its own way from here on.
    pub(crate) fn copy(&self) -> Self {
        let mut copy = Self::on_sqlite();
        copy.env.clone_from(&self.env);
        copy.take_ledger_of(self);
        copy_dir(self.dir.path(), copy.dir.path());
        copy
    }

    /// Sets a variable for every later run.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) -> &mut Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// Takes a variable away again.
    pub(crate) fn unset(&mut self, name: &str) -> &mut Self {
        self.env.retain(|(known, _)| known != name);
        self
    }

    /// The instant that every later run begins at.
    pub(crate) fn clock(&mut self, instant: &str) -> &mut Self {
        self.set("SCALECTL_TEST_NOW", instant)
    }

    /// The instant at which every later run, and the fake actuator's clock, stands still.
    pub(crate) fn still(&mut self, instant: &str) -> &mut Self {
        std::fs::create_dir_all(self.fake_dir()).unwrap();
        std::fs::write(self.fake_dir().join("now"), format!("{instant}\n")).unwrap();
        self.set("SCALECTL_TEST_CLOCK", "still").clock(instant)
    }

    /// A path in the world's HOME.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    /// Waits until something is so, for at most 30 seconds, however long each look takes.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let begun = std::time::Instant::now();
        while begun.elapsed() < std::time::Duration::from_secs(30) {
            if is_so() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        panic!("it never came true that {what}: {:#?}", self.run("log"));
    }

    /// The processes of the one call that is under way, from its call file.
    pub(crate) fn call_file(&self) -> CallProcesses {
        let dir = self.path(".local/state/scalectl/calls");
        let mut found = None;
        self.until("a call has its group", || {
            let files = std::fs::read_dir(&dir).into_iter().flatten().flatten();
            let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
            found = texts.into_iter().find_map(|text| CallProcesses::parse(&text));
            found.is_some()
        });
        found.unwrap()
    }

    /// The default ledger.
    pub(crate) fn ledger(&self) -> PathBuf {
        self.path(".local/state/scalectl/ledger.db")
    }

    /// Where the fake actuator keeps its script and its logs.
    pub(crate) fn fake_dir(&self) -> PathBuf {
        self.path("fake")
    }

    /// What the fake actuator does at its next calls, a word a line.
    pub(crate) fn script(&self, lines: &[&str]) {
        std::fs::write(self.fake_dir().join("script"), lines.join("\n") + "\n").unwrap();
    }

    /// The fake actuator's own log of one kind: `effects` or `calls`.
    pub(crate) fn fake_log(&self, kind: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.fake_dir().join(format!("{kind}.log")));
        text.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// The command of a line, ready to be spawned.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(SCALECTL);
        command
            .args(args)
            .env_clear()
            .env("HOME", self.dir.path())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("TERM", "dumb")
            .env("FAKE_ACTUATOR_DIR", self.fake_dir())
            .envs(self.env.iter().cloned())
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs a line whose words have no spaces.
    pub(crate) fn run(&self, line: &str) -> Ran {
        self.run_args(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs words.
    pub(crate) fn run_args(&self, args: &[&str]) -> Ran {
        let output = self.command(args).output().unwrap();
        ran(args, &output)
    }

    /// Runs a line with something on stdin.
    pub(crate) fn run_with(&self, line: &str, stdin: &[u8]) -> Ran {
        self.run_args_with(&line.split_whitespace().collect::<Vec<_>>(), stdin)
    }

    /// Runs words with something on stdin.
    pub(crate) fn run_args_with(&self, args: &[&str], stdin: &[u8]) -> Ran {
        use std::io::Write as _;
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let bytes = stdin.to_vec();
        // The child may end without reading all of it.
        let writer = std::thread::spawn(move || drop(pipe.write_all(&bytes)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        ran(args, &output)
    }

    /// Starts a line and goes on.
    pub(crate) fn start(&self, line: &str) -> Child {
        let args: Vec<&str> = line.split_whitespace().collect();
        self.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// How many events the ledger has, refusals included.
    #[track_caller]
    pub(crate) fn events(&self) -> usize {
        let ran = self.json("log --limit 100000").exits(0);
        ran.at("/events").as_array().unwrap().len()
    }

    /// Writes a file in the world's HOME.
    pub(crate) fn write(&self, relative: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Runs a line in JSON.
    pub(crate) fn json(&self, line: &str) -> Ran {
        // First, because a line may end with the command of an actuator.
        self.run(&format!("-o json {line}"))
    }
}

fn copy_dir(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            std::fs::set_permissions(&target, entry.metadata().unwrap().permissions()).unwrap();
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
        }
    }
}

fn ran(args: &[&str], output: &std::process::Output) -> Ran {
    Ran {
        line: args.join(" "),
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout.clone()).unwrap(),
        stderr: String::from_utf8(output.stderr.clone()).unwrap(),
    }
}

impl Drop for World {
    /// Replicas of `local` outlive everything else; they must not outlive the test.
    fn drop(&mut self) {
        let procs = self.path("procs");
        if procs.exists() {
            for _ in 0..3 {
                let ran = self.run("scale web=0 --reason cleanup --supersede --timeout 10s");
                if ran.code == Some(0) {
                    break;
                }
            }
        }
    }
}
