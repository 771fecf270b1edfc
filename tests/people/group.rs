//! A ledger in a file that a group shares. Two users of the operating system are needed, so these
//! tests need the superuser; elsewhere they say so.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Ran, SCALECTL, World, fake_actuator};

/// No group of a distribution has this number; none of these users has a name.
const GROUP: u32 = 48_123;
const ANNA: u32 = 48_001;
const BERT: u32 = 48_002;
const EVE: u32 = 48_003;

/// A directory that everybody may look into, with a copy of the program that everybody may run.
struct Shared {
    root: tempfile::TempDir,
}

impl Shared {
    fn new() -> Self {
        let root = tempfile::Builder::new().prefix("scalectl-group-").tempdir().unwrap();
        std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let program = root.path().join("scalectl");
        if std::fs::hard_link(SCALECTL, &program).is_err() {
            std::fs::copy(SCALECTL, &program).unwrap();
        }
        for user in [ANNA, BERT, EVE] {
            let home = root.path().join(user.to_string());
            std::fs::create_dir(&home).unwrap();
            chown(&home, Some(user), Some(user)).unwrap();
        }
        std::fs::copy(fake_actuator(), root.path().join("fake.sh")).unwrap();
        let fake = root.path().join("fake");
        std::fs::create_dir(&fake).unwrap();
        std::fs::write(fake.join("capabilities"), "inspect\n").unwrap();
        std::fs::write(fake.join("count"), "5\n").unwrap();
        chown(&fake, Some(ANNA), None).unwrap();
        let srv = root.path().join("srv");
        std::fs::create_dir(&srv).unwrap();
        std::fs::set_permissions(&srv, std::fs::Permissions::from_mode(0o777)).unwrap();
        Self { root }
    }

    fn directory(&self) -> PathBuf {
        self.root.path().join("srv/team")
    }

    fn ledger(&self) -> PathBuf {
        self.directory().join("ledger.db")
    }

    /// Runs a line as a user, in a group or not, under the strictest umask.
    fn run(&self, user: u32, is_member: bool, line: &str) -> Ran {
        let groups = if is_member { format!("{user},{GROUP}") } else { user.to_string() };
        let ledger = self.ledger();
        let script = "umask 077; exec \"$@\"";
        let output = Command::new("setpriv")
            .args([&format!("--reuid={user}"), &format!("--regid={user}")])
            .arg(format!("--groups={groups}"))
            .args(["/bin/sh", "-c", script, "sh"])
            .arg(self.root.path().join("scalectl"))
            .args(line.split_whitespace())
            .env_clear()
            .env("HOME", self.root.path().join(user.to_string()))
            .env("PATH", "/usr/bin:/bin")
            .env("SCALECTL_LEDGER", &ledger)
            .env("FAKE_ACTUATOR_DIR", self.root.path().join("fake"))
            .current_dir(self.root.path())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran {
            line: line.to_owned(),
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

fn mode(path: &Path) -> (u32, u32) {
    let found = path.metadata().unwrap();
    (found.mode() & 0o7777, found.gid())
}

/// Whether there can be two users; if not, one line says so.
#[expect(clippy::print_stderr, reason = "a test that cannot be made here says so")]
fn has_users() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("NOT WITHOUT ROOT: two users of the system share a ledger");
    }
    is_root
}

const POLICY: &str = r#"
@id("up") permit (principal, action == Action::"scale_up", resource is Service);
@id("ask")
permit (principal, action in [Action::"propose", Action::"approve"], resource is Service);
@id("admin")
permit (principal, action in [Action::"register", Action::"set_policy"], resource is Ledger);
"#;

#[test]
fn two_users_share_a_ledger_and_answer_each_other() {
    if !has_users() {
        return;
    }
    let shared = Shared::new();
    shared.run(ANNA, true, &format!("init --group {GROUP}")).exits(0);
    assert_eq!(mode(&shared.directory()), (0o2770, GROUP));
    assert_eq!(mode(&shared.ledger()), (0o660, GROUP));
    let policy = shared.root.path().join("rules.cedar");
    std::fs::write(&policy, POLICY).unwrap();
    shared.run(BERT, true, "policy put rules.cedar --reason r").exits(0);
    shared.run(ANNA, true, "actuator put fake -- /bin/sh fake.sh").exits(0);
    let service = "service put web --actuator fake --max 9 --writer ops --drain none";
    shared.run(ANNA, true, service).exits(0);
    for side in ["ledger.db-wal", "ledger.db-shm"] {
        assert_eq!(mode(&shared.directory().join(side)), (0o660, GROUP), "{side}");
    }
    // The index is made anew by whoever comes first.
    std::fs::remove_file(shared.directory().join("ledger.db-shm")).unwrap();
    shared.run(BERT, true, "status").exits(0);
    assert_eq!(mode(&shared.directory().join("ledger.db-shm")), (0o660, GROUP));

    shared.run(ANNA, true, "intent put web --replicas 2 --key k1 --reason r").exits(13);
    let own = shared.run(ANNA, true, "-o json approval grant k1 --reason r").exits(12);
    assert_eq!(own.at("/error/code"), "same_person");
    shared.run(BERT, true, "approval grant k1 --reason r").exits(0);
    shared.run(ANNA, true, "verify").exits(0);
    let doctor = shared.run(BERT, true, "-o json doctor");
    let checks = doctor.at("/checks");
    let group = checks.as_array().unwrap().iter().find(|row| row["check"] == "group");
    assert_eq!(group.unwrap()["state"], "ok", "{doctor:#?}");

    let out = shared.run(EVE, false, "-o json status");
    assert_eq!(out.code, Some(21), "{out:#?}");
    // A directory that was closed since then is told.
    let closed = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(shared.directory(), closed).unwrap();
    let doctor = shared.run(ANNA, true, "-o json doctor").exits(26);
    let checks = doctor.at("/checks");
    let group = checks.as_array().unwrap().iter().find(|row| row["check"] == "group");
    assert_eq!(group.unwrap()["state"], "warn", "{doctor:#?}");
}

/// What `local` runs is one user's processes: another member is told so, and who can.
#[test]
fn what_local_runs_is_scaled_by_its_own_user() {
    if !has_users() {
        return;
    }
    let shared = Shared::new();
    shared.run(ANNA, true, &format!("init --group {GROUP}")).exits(0);
    let policy = shared.root.path().join("all.cedar");
    std::fs::write(&policy, "@id(\"all\") permit(principal, action, resource);").unwrap();
    shared.run(ANNA, true, "policy put all.cedar --reason r").exits(0);
    let state = shared.root.path().join(ANNA.to_string()).join("state");
    let command = "scalectl actuator run local --command cat --state-dir";
    let command = format!("{command} {}", state.display());
    shared.run(ANNA, true, &format!("actuator put procs -- {command}")).exits(0);
    shared.run(ANNA, true, "service put web --actuator procs --max 3").exits(0);
    // Nobody else's command is run: each user binds their own.
    let unbound = shared.run(BERT, true, "scale web=0 --reason r").exits(24);
    let said = format!("has no command of uid-{BERT} on this host");
    assert!(unbound.stderr.contains(&said), "{unbound:#?}");
    shared.run(BERT, true, &format!("actuator bind procs -- {command}")).exits(0);
    let refused = shared.run(BERT, true, "scale web=1 --reason r").exits(20);
    assert!(refused.stderr.contains("what local runs belongs to one user"), "{refused:#?}");
    shared.run(ANNA, true, "scale web=0 --reason r").exits(0);
}

#[test]
fn a_place_that_the_group_cannot_share_is_refused() {
    if !has_users() {
        return;
    }
    let shared = Shared::new();
    // One that is there, and is not the group's.
    std::fs::create_dir(shared.directory()).unwrap();
    chown(shared.directory(), Some(ANNA), Some(ANNA)).unwrap();
    let line = format!("-o json init --group {GROUP}");
    let refused = shared.run(ANNA, true, &line).exits(21);
    assert_eq!(refused.at("/error/code"), "ledger_not_shared", "{refused:#?}");
    assert!(!shared.ledger().exists());
    // A home that nobody else may enter.
    let home = shared.root.path().join(ANNA.to_string());
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o700)).unwrap();
    let within = home.join("team/ledger.db");
    let line = format!("--ledger {} {line}", within.display());
    let refused = shared.run(ANNA, true, &line).exits(21);
    assert_eq!(refused.at("/error/code"), "ledger_not_shared", "{refused:#?}");
    assert!(!within.parent().unwrap().exists(), "nothing was made");
    // Whoever is not in the group.
    let refused = shared.run(EVE, false, &format!("-o json init --group {GROUP}")).exits(2);
    assert_eq!(refused.at("/error/code"), "group_not_member", "{refused:#?}");
}

#[test]
fn a_group_that_is_not_there_is_refused() {
    let world = World::new();
    let code = if world.is_on_postgres() { 2 } else { 24 };
    let refused = world.json("init --group no-such-group").exits(code);
    let expected = if world.is_on_postgres() { "group_on_server" } else { "group_not_found" };
    assert_eq!(refused.at("/error/code"), expected);
    world.run("status").exits(21);
}
