//! Files: what is created, with which modes, and what is refused with which word.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::support::*;
use crate::domain::time::DurationMs;
use crate::ledger::reach::Reach;
use crate::ledger::{Depth, ErrorClass, Ledger, LedgerError, Location, OpenOptions};

fn mode(path: &Path) -> u32 {
    path.metadata().expect("is there").permissions().mode() & 0o7777
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn refusal_of(path: &Path) -> LedgerError {
    match open(path) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error,
    }
}

#[test]
fn files_are_private_and_nothing_else_is_left() {
    let world = World::new();
    let directory = world.path.parent().expect("a parent");
    world.append("web", &[registered("web")]);
    assert_eq!(names(directory), ["ledger.db", "ledger.db-shm", "ledger.db-wal"]);
    assert_eq!(mode(directory), 0o700);
    for name in names(directory) {
        assert_eq!(mode(&directory.join(&name)), 0o600, "{name}");
    }
    let ledger = world.open();
    let identity = ledger.identity();
    assert_eq!((identity.ledger_id.as_str(), identity.incarnation), ("l-1", 1));
    assert_eq!((identity.engine, identity.schema_version), ("sqlite", 2));
    assert_eq!(identity.path, world.path);
}

#[test]
fn a_ledger_is_never_created_over_anything() {
    let world = World::new();
    let before = fs::read(&world.path).expect("bytes");
    let error = create(&world.path).err().expect("refused");
    assert_eq!((error.code(), error.class()), ("ledger_exists", ErrorClass::Conflict));
    assert_eq!(fs::read(&world.path).expect("bytes"), before);

    let directory = world.directory.path();
    symlink(directory.join("nothing"), directory.join("link.db")).expect("linked");
    assert_eq!(create(&directory.join("link.db")).err().expect("refused").code(), "ledger_exists");
    // The log of a removed ledger would be replayed into a new one.
    fs::write(directory.join("new.db-wal"), b"old").expect("written");
    let error = create(&directory.join("new.db")).err().expect("refused");
    assert_eq!(error.code(), "ledger_side_file");
    assert!(!directory.join("new.db").exists());
    fs::write(directory.join("file"), b"").expect("written");
    let error = create(&directory.join("file/ledger.db")).err().expect("refused");
    assert_eq!(error.class(), ErrorClass::Unusable);
}

#[test]
fn concurrent_creators_make_one_ledger() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ledger.db");
    let made = std::thread::scope(|scope| {
        let creators: Vec<_> = (0..4)
            .map(|number| {
                let path = &path;
                scope.spawn(move || {
                    let options = crate::ledger::CreateOptions {
                        ledger_id: id(&format!("l-{number}")),
                        command_id: id("command-0"),
                        open: OpenOptions::default(),
                        group: None,
                    };
                    let location = Location::File(path.clone());
                    Ledger::create(&location, &by(), at(0), &options).map(|_| ())
                })
            })
            .collect();
        let done = creators.into_iter().map(|creator| creator.join().expect("no panic"));
        done.map(|made| made.map_err(|error| error.code())).collect::<Vec<_>>()
    });
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 1, "{made:?}");
    assert!(made.iter().all(|made| matches!(made, Ok(()) | Err("ledger_exists"))), "{made:?}");
    assert!(names(directory.path()).iter().all(|name| name.starts_with("ledger.db")));
}

#[test]
fn opening_creates_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    symlink(root.join("nothing"), root.join("link.db")).expect("linked");
    fs::create_dir(root.join("a-directory")).expect("made");
    fs::write(root.join("empty"), b"").expect("written");
    fs::write(root.join("garbage"), vec![0xA5; 8192]).expect("written");
    fs::write(root.join("text"), b"not a database").expect("written");
    let before = names(root);
    for (name, code, text) in [
        ("missing.db", "ledger_missing", "there is no ledger at"),
        ("gone/ledger.db", "ledger_missing", "its directory is not there either"),
        ("link.db", "ledger_missing", "it is a link to nothing"),
        ("text/ledger.db", "ledger_missing", "not a directory"),
        ("a-directory", "ledger_not_a_file", "not a regular file"),
        ("empty", "ledger_foreign", "it is empty"),
        ("garbage", "ledger_foreign", "not a database"),
        ("text", "ledger_foreign", "not a database"),
    ] {
        let error = refusal_of(&root.join(name));
        assert_eq!((error.code(), error.class()), (code, ErrorClass::Unusable), "{name}: {error}");
        assert!(error.to_string().contains(text), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
    assert_eq!(names(root), before);
}

#[test]
fn foreign_and_newer_databases_are_refused() {
    let world = World::new();
    raw(&world.path).execute_batch("PRAGMA user_version = 7").expect("raised");
    let error = refusal_of(&world.path);
    assert_eq!(error.code(), "ledger_newer");
    let text = error.to_string();
    assert!(text.contains("schema 7") && text.contains("knows up to 2"), "{text}");
    raw(&world.path).execute_batch("PRAGMA user_version = 0").expect("lowered");
    assert_eq!(refusal_of(&world.path).code(), "ledger_older");

    let other = world.directory.path().join("other.db");
    raw(&other).execute_batch("CREATE TABLE t (a)").expect("made");
    let error = refusal_of(&other);
    assert_eq!(error.code(), "ledger_foreign");
    assert!(error.to_string().contains("application id is 0x00000000"), "{error}");
}

#[test]
fn a_truncated_ledger_is_refused_or_found_damaged() {
    let world = World::new();
    world.append("web", &[registered("web"), accepted("web", "k-1", 1, false)]);
    drop(raw(&world.path).execute_batch("PRAGMA wal_checkpoint(TRUNCATE)"));
    let whole = fs::read(&world.path).expect("bytes");
    for length in [1, 99, 100, 511, 4096, 8192, whole.len() / 2, whole.len() - 4096] {
        let path = world.directory.path().join("cut.db");
        fs::write(&path, &whole[..length]).expect("written");
        let error = match open(&path) {
            Err(error) => error,
            Ok(mut ledger) => {
                let found = ledger.read().expect("reads").verify(&[], Depth::Quick);
                match found {
                    Ok(found) => {
                        assert!(!found.is_sound(), "cut to {length}");
                        continue;
                    }
                    Err(error) => error,
                }
            }
        };
        assert_eq!(error.class(), ErrorClass::Unusable, "cut to {length}: {error}");
    }
}

#[test]
fn a_ledger_that_cannot_be_written_is_refused() {
    let world = World::new();
    let directory = world.path.parent().expect("a parent").to_owned();
    let log = world.path.with_file_name("ledger.db-wal");
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("changed");
    };
    let refused = || as_nobody(|| open(&world.path).err().expect("refused"));
    set(world.directory.path(), 0o755);

    // Side files of somebody else: what a command under sudo leaves behind.
    set(&directory, 0o555);
    set(&world.path, 0o666);
    let error = refused();
    assert_eq!((error.code(), error.class()), ("ledger_read_only", ErrorClass::Unusable));
    assert!(error.to_string().contains("ledger.db-wal cannot be written"), "{error}");

    // No side files, and no right to make them.
    fs::remove_file(&log).expect("removed");
    fs::remove_file(world.path.with_file_name("ledger.db-shm")).expect("removed");
    let error = refused();
    assert_eq!(error.code(), "ledger_read_only", "{error}");
    assert!(error.to_string().contains("state cannot be written"), "{error}");

    set(&world.path, 0o444);
    let error = refused();
    assert_eq!(error.code(), "ledger_read_only", "{error}");
    assert!(error.to_string().contains("ledger.db cannot be written"), "{error}");

    let error = as_nobody(|| create(&directory.join("new.db")).err().expect("refused"));
    assert_eq!(error.code(), "ledger_read_only", "{error}");
    assert!(error.to_string().contains("state cannot be written"), "{error}");
    assert_eq!(names(&directory), ["ledger.db"]);
    set(&directory, 0o755);
}

/// Runs on a thread without the rights of the super-user, so that modes mean something.
fn as_nobody<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let nobody = rustix::process::Uid::from_raw(65534);
                rustix::thread::set_thread_uid(nobody).expect("dropped");
            }
            run()
        });
        thread.join().expect("no panic")
    })
}

#[test]
fn a_locked_ledger_is_busy_after_the_timeout() {
    let world = World::new();
    let mut holder = world.open();
    let txn = holder.write(id("command-1"), Reach::registry()).expect("writes");
    let options =
        OpenOptions { lock_timeout: DurationMs::from_millis(40), ..OpenOptions::default() };
    let location = Location::File(world.path.clone());
    let mut waiter = Ledger::open(&location, options).expect("reading is never locked out");
    drop(waiter.read().expect("reads"));
    let error = waiter.write(id("command-2"), Reach::registry()).err().expect("busy");
    assert_eq!((error.code(), error.class()), ("ledger_busy", ErrorClass::Unavailable));
    assert!(error.is_busy() && error.to_string().contains("locked for 40ms"), "{error}");
    drop(txn);
    assert!(waiter.write(id("command-2"), Reach::registry()).is_ok());
}

#[test]
fn the_log_stays_bounded_over_many_processes() {
    let world = World::new();
    world.append("web", &[registered("web")]);
    let log = world.path.with_file_name("ledger.db-wal");
    let mut largest = 0;
    for seconds in 0..500 {
        world.append("web", &[bound(seconds)]);
        largest = largest.max(log.metadata().expect("is there").len());
    }
    assert!(largest < 1 << 20, "{largest} bytes");
    assert!(world.verify().is_sound());
}
