//! The shim: built here, loaded into the real binary, and proven to have bitten.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::support::{Ran, World};

/// No command of these tests takes a tenth of it; who does hangs.
const RUN_MAX: Duration = Duration::from_mins(1);

/// The built library. Removed when it is dropped.
pub(super) struct Shim {
    dir: TempDir,
}

/// An operation on a file of ours, as the shim has numbered it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Op {
    pub(super) number: usize,
    /// `r` read, `w` write, `s` sync, `t` truncate, `o` create, `e` open to write, `u` unlink,
    /// `m` mkdir, `l` link, `n` rename.
    pub(super) class: char,
    pub(super) path: String,
}

impl Op {
    /// The name of the file without what differs from run to run.
    pub(super) fn file(&self) -> String {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        if self.path.contains("/calls/") {
            return "call file".to_owned();
        }
        if self.path.contains("/stderr/") {
            return "stderr file".to_owned();
        }
        match name.strip_prefix(".ledger.db.").and_then(|rest| rest.split_once('-')) {
            Some((_, side)) => format!("draft-{side}"),
            None if name.starts_with(".ledger.db.") => "draft".to_owned(),
            None => name.replace(|c: char| c.is_ascii_digit(), ""),
        }
    }

    fn all(text: &str) -> Vec<Self> {
        let op = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let number = words.next()?.parse().ok()?;
            let class = words.next()?.chars().next()?;
            Some(Self { number, class, path: words.next()?.to_owned() })
        };
        text.lines()
            .map(|line| op(line).unwrap_or_else(|| panic!("no operation: {line}")))
            .collect()
    }
}

/// A run on a disk that the shim stands before.
#[derive(Debug)]
pub(super) struct OnDisk {
    pub(super) ran: Ran,
    pub(super) ops: Vec<Op>,
    pub(super) marks: Vec<Op>,
    /// The records of `watch`, as bytes.
    pub(super) writes: Vec<u8>,
}

impl Shim {
    pub(super) fn build() -> Self {
        let dir = tempfile::Builder::new().prefix("scalectl-shim-").tempdir().expect("a place");
        let source = format!("{}/tests/disk_faults/shim.c", env!("CARGO_MANIFEST_DIR"));
        let built = Command::new("cc")
            .args(["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
            .arg(dir.path().join("shim.so"))
            .arg(source)
            .output();
        match built {
            Ok(built) => assert!(built.status.success(), "the shim is not built: {built:?}"),
            Err(error) => panic!("cc is needed here (apt-get install gcc libc6-dev): {error}"),
        }
        Self { dir }
    }

    fn library(&self) -> PathBuf {
        self.dir.path().join("shim.so")
    }

    /// Runs words on a disk that does `kind` at the operation `nth`.
    pub(super) fn run(&self, world: &World, args: &[&str], kind: &str, nth: usize) -> OnDisk {
        let orders = tempfile::Builder::new().prefix("scalectl-disk-").tempdir().expect("a place");
        let at = |name: &str| orders.path().join(name);
        let root = world.path("");
        let root = root.to_str().expect("UTF-8").trim_end_matches('/');
        fs::write(at("order"), format!("{kind} {nth} {root}\n")).expect("written");
        fs::write(at("shared"), [0; 4096]).expect("written");
        let file = |name: &str| Stdio::from(File::create(at(name)).expect("created"));
        let mut child = world
            .command(args)
            .env("LD_PRELOAD", self.library())
            .env("SCALECTL_TEST_DISK", orders.path())
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .spawn()
            .expect("it starts");
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("ours") {
                break status;
            }
            if begun.elapsed() > RUN_MAX {
                let _ = child.kill();
                let _ = child.wait();
                panic!("{args:?} hangs at {kind} {nth}");
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let text = |name: &str| fs::read_to_string(at(name)).unwrap_or_default();
        let ran = Ran {
            line: format!("{} [{kind} {nth}]", args.join(" ")),
            code: status.code(),
            stdout: text("stdout"),
            stderr: text("stderr"),
        };
        let (ops, marks) = (Op::all(&text("ops")), Op::all(&text("mark")));
        OnDisk { ran, ops, marks, writes: fs::read(at("writes")).unwrap_or_default() }
    }
}
