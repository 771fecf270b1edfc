//! The swarm of the machine: made if there is none, and left as it was found.
//!
//! Every test holds a lock that may be shared, also with the tests of another process. Whoever can
//! have it alone afterwards is the last, and takes away what was made.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

/// What a task of the tests runs: it waits, and ends at once when it is told to.
const SLEEPER: &str = "#include <signal.h>\n#include <unistd.h>\n\
    static void end(int s) { (void)s; _exit(0); }\n\
    int main(void) { signal(SIGTERM, end); for (;;) pause(); }\n";
/// The network that a swarm leaves behind.
const BRIDGE: &str = "docker_gwbridge";

/// Runs docker as it is on this machine.
pub(super) fn docker(words: &[&str]) -> Output {
    Command::new("docker").args(["--context", "default"]).args(words).output().unwrap()
}

/// What docker printed; it has to end well.
#[track_caller]
pub(super) fn printed(words: &[&str]) -> String {
    let output = docker(words);
    assert!(output.status.success(), "docker {words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Whether an engine answers. Where none does that is said once, and is a failure where
/// `SCALECTL_TEST_DOCKER` asks for one.
fn has_engine() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let socket = std::path::Path::new(super::relay::ENGINE).exists();
        let found = Command::new("docker").args(["--context", "default", "version"]).output();
        let found = socket && found.is_ok_and(|output| output.status.success());
        if !found {
            // The harness hides what a passing test prints by macro; a skip must be seen.
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: no Docker engine answers at {}, and the tests of the docker actuator \
                 need one",
                super::relay::ENGINE
            );
        }
        found
    })
}

/// Who holds the swarm in this process, and the lock of the process.
static HELD: Mutex<(usize, Option<File>)> = Mutex::new((0, None));

/// The swarm, as long as this lives.
pub(super) struct Held;

impl Held {
    /// None where there is no engine.
    pub(super) fn take() -> Option<Self> {
        if !has_engine() {
            let asked = std::env::var_os("SCALECTL_TEST_DOCKER").is_some();
            assert!(!asked, "no Docker engine answers, and SCALECTL_TEST_DOCKER asks for one");
            return None;
        }
        let mut held = HELD.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if held.0 == 0 {
            held.1 = Some(joined());
        }
        held.0 += 1;
        Some(Self)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        held.0 -= 1;
        if held.0 == 0
            && let Some(lock) = held.1.take()
        {
            docker(&["image", "rm", "--force", &image()]);
            left(lock);
        }
    }
}

/// The image of this process.
pub(super) fn image() -> String {
    format!("scalectl-test-sleeper:{}", std::process::id())
}

/// The id of the swarm; empty where there is none, or no engine any more.
fn cluster() -> String {
    let output = docker(&["info", "--format", "{{with .Swarm.Cluster}}{{.ID}}{{end}}"]);
    String::from_utf8(output.stdout).unwrap_or_default().trim().to_owned()
}

/// Takes a service away once its tasks are gone. An engine of version 20.10 dies where a service is
/// removed while tasks of it are (swarmkit, `SetServiceTasksRemove`).
pub(super) fn removed(name: &str) {
    docker(&["service", "update", "--detach", "--replicas", "0", name]);
    let tasks = || docker(&["service", "ps", "--quiet", "--no-trunc", name]).stdout;
    let mut before = tasks();
    // What is the same for so long, with no container left, is the history of the service.
    let mut same = 0;
    for _ in 0..100 {
        if before.is_empty() || same == 5 {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
        let now = tasks();
        same = if now == before && !has_containers(name) { same + 1 } else { 0 };
        before = now;
    }
    docker(&["service", "rm", name]);
    for _ in 0..200 {
        if !has_containers(name) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn has_containers(name: &str) -> bool {
    let filter = format!("label=com.docker.swarm.service.name={name}");
    !docker(&["ps", "--all", "--quiet", "--filter", &filter]).stdout.is_empty()
}

/// A lock on a swarm that there is. The file says which swarm the tests have made.
fn joined() -> File {
    let path = std::env::temp_dir().join("scalectl-test-swarm.lock");
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    let mut lock = options.unwrap();
    loop {
        if cluster().is_empty() {
            flock(&lock, FlockOperation::LockExclusive).unwrap();
            if cluster().is_empty() {
                made(&mut lock);
            }
        }
        // A lock is not made shared in one step: the swarm may be gone in between.
        flock(&lock, FlockOperation::LockShared).unwrap();
        if !cluster().is_empty() {
            import();
            return lock;
        }
    }
}

fn made(lock: &mut File) {
    let had_bridge = docker(&["network", "inspect", BRIDGE]).status.success();
    let listen = ["--advertise-addr", "127.0.0.1", "--listen-addr", "127.0.0.1:2377"];
    printed(&[&["swarm", "init"], &listen[..]].concat());
    lock.rewind().unwrap();
    lock.set_len(0).unwrap();
    let bridge = if had_bridge { "" } else { BRIDGE };
    write!(lock, "{} {bridge}", cluster()).unwrap();
}

fn left(mut lock: File) {
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return;
    }
    let mut text = String::new();
    lock.rewind().unwrap();
    lock.read_to_string(&mut text).unwrap();
    let Some((made, bridge)) = text.split_once(' ') else { return };
    if made.is_empty() || made != cluster() {
        return;
    }
    docker(&["swarm", "leave", "--force"]);
    if !bridge.is_empty() {
        docker(&["network", "rm", bridge]);
    }
    lock.set_len(0).unwrap();
}

/// Builds the image from nothing but one static program.
fn import() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("sleeper.c");
    std::fs::write(&source, SLEEPER).unwrap();
    let run = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).current_dir(dir.path()).output().unwrap();
        assert!(output.status.success(), "{program} {words:?}: {output:?}");
    };
    run("cc", &["-static", "-Os", "-o", "sleeper", "sleeper.c"]);
    run("tar", &["cf", "sleeper.tar", "sleeper"]);
    let archive = dir.path().join("sleeper.tar");
    printed(&["import", "--change", "CMD [\"/sleeper\"]", archive.to_str().unwrap(), &image()]);
}
