use std::process::{Child, Command};

use super::lines::parse;
use super::*;

const AT: &str = "1767268800000000";

fn id(text: &str) -> CallId {
    text.parse().expect("an identifier")
}

fn calls_dir() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().expect("a directory");
    let dir = root.path().join("scalectl/calls");
    (root, dir)
}

/// A file as a guard that was killed would leave it.
fn leave(dir: &Path, call_id: &CallId, text: &str) {
    drop(PreparedCall::create(dir, call_id).expect("created"));
    fs::write(dir.join(call_id.as_str()), text).expect("written");
}

#[expect(clippy::disallowed_methods, reason = "a session that no guard of ours leads")]
fn session_of(script: &str) -> (Child, Session) {
    let mut setsid = Command::new("setsid");
    let child = setsid.args(["/bin/sh", "-c", script]).spawn().expect("started");
    let session = await_session(&child);
    (child, session)
}

fn await_session(leader: &Child) -> Session {
    let id = i32::try_from(leader.id()).expect("a pid");
    let until = Deadline::after(DurationMs::from_secs(5));
    loop {
        let stat = procfs::stat_of(id).expect("readable").expect("unreaped");
        if stat.session == id {
            return Session { id, leader_start_ticks: stat.start_ticks };
        }
        assert!(!until.is_past(), "setsid makes no session");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_lock_says_that_a_call_is_prepared_and_its_loss_that_it_never_ran() {
    let (_root, dir) = calls_dir();
    let call_id = id("call:1");
    assert_eq!(prove_end(&dir, &call_id).unwrap(), CallProof::NoFile);
    let prepared = PreparedCall::create(&dir, &call_id).unwrap();
    assert_eq!(prove_end(&dir, &call_id).unwrap(), CallProof::Alive);
    assert!(matches!(remove_call(&dir, &call_id), Err(CallError::Alive(_))));
    assert!(matches!(PreparedCall::create(&dir, &call_id), Err(CallError::Exists { .. })));
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&dir), mode(&dir.join("call:1"))), (0o700, 0o600));
    drop(prepared);
    let proof = prove_end(&dir, &call_id).unwrap();
    assert!(matches!(proof, CallProof::Ended { how: CallEnd::NotStarted(_), .. }), "{proof:?}");
    remove_call(&dir, &call_id).unwrap();
    remove_call(&dir, &call_id).unwrap();
    assert_eq!(prove_end(&dir, &call_id).unwrap(), CallProof::NoFile);
}

#[test]
fn a_call_id_cannot_leave_the_directory() {
    let (_root, dir) = calls_dir();
    let sly = id("a/../../x");
    assert!(matches!(PreparedCall::create(&dir, &sly), Err(CallError::Unnameable(_))));
    assert!(matches!(prove_end(&dir, &sly), Err(CallError::Unnameable(_))));
}

#[test]
fn a_directory_that_others_may_write_proves_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = tempfile::tempdir().expect("a directory");
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let refused = PreparedCall::create(root.path(), &id("c"));
    assert!(matches!(refused, Err(CallError::Unsafe { .. })));
}

#[test]
fn ends_are_read_as_they_were_written() {
    let at = Timestamp::from_micros(AT.parse().unwrap()).unwrap();
    for (how, line) in [
        (CallEnd::Exited(0), "ended exit 0 "),
        (CallEnd::Signalled(9), "ended signal 9 "),
        (CallEnd::Deadline, "ended deadline "),
        (CallEnd::Orphaned, "ended orphaned "),
        (CallEnd::Killed, "ended killed "),
        (CallEnd::NotStarted("no such file".into()), "ended spawn_failed no such file "),
    ] {
        let text = ended_line(&how, at);
        assert_eq!(text, format!("{line}{AT}\n"));
        assert_eq!(parse(text.as_bytes()).unwrap().ended, Some((at, how)));
    }
    let long = CallEnd::NotStarted("ä\n".repeat(5000));
    assert!(ended_line(&long, at).len() < 1100);
    assert!(parse(ended_line(&long, at).as_bytes()).is_ok());
}

#[test]
fn torn_last_lines_count_for_nothing_and_nonsense_proves_nothing() {
    let whole = "session 42 7\ngroup 43 8\n";
    for torn in ["s", "ended", "ended exit 0 17672688", "\u{0}\u{0}"] {
        let content = parse(format!("{whole}{torn}").as_bytes()).unwrap();
        assert_eq!((content.group, content.ended), (Some(43), None), "{torn:?}");
        assert_eq!(content.whole_bytes, whole.len() as u64);
    }
    for torn in ["", "gro", "group ", "group 4", "group 43 "] {
        let content = parse(format!("session 42 7\n{torn}\nended exit 0 1\n").as_bytes()).unwrap();
        assert_eq!(content.group, None, "{torn:?}");
        assert!(content.ended.is_some(), "{torn:?}");
    }
    for nonsense in [
        "hello\n",
        "\n",
        "session 42\n",
        "session 42 x\n",
        "session 0 7\n",
        "session 1 7\n",
        "session -5 7\n",
        "session 42 7\nsession 42 7\n",
        "group 43 8\n",
        "session 42 7\ngroup 43 8\ngroup 43 8\n",
        "ended exit 0\n",
        "ended exit x 1\n",
        "ended well 1\n",
        "ended exit 0 1\nsession 42 7\n",
        "session 42 7 8\n",
    ] {
        assert!(parse(nonsense.as_bytes()).is_err(), "{nonsense:?}");
    }
    assert!(parse(b"session \xff 7\n").is_err());
    let (_root, dir) = calls_dir();
    leave(&dir, &id("c"), "ended\n");
    let error = prove_end(&dir, &id("c")).expect_err("nonsense").to_string();
    assert!(error.contains("line 1"), "{error}");
    fs::write(dir.join("c"), "session 42 7\n".repeat(2000)).unwrap();
    assert!(matches!(prove_end(&dir, &id("c")), Err(CallError::Nonsense { .. })));
}

#[test]
fn what_a_killed_guard_has_left_is_killed_with_its_session() {
    let (_root, dir) = calls_dir();
    let (mut leader, session) = session_of("trap '' TERM; sleep 60 & sleep 60 & wait; wait");
    let text = format!("session {} {}\ngro", session.id, session.leader_start_ticks);
    leave(&dir, &id("c"), &text);
    assert_eq!(look(&dir, &id("c")).unwrap(), CallSight::Unproved);
    let proof = prove_end(&dir, &id("c")).unwrap();
    assert!(matches!(proof, CallProof::Ended { how: CallEnd::Killed, .. }), "{proof:?}");
    assert_eq!(procfs::living(session, None).unwrap(), []);
    assert_eq!(prove_end(&dir, &id("c")).unwrap(), proof);
    assert_eq!(look(&dir, &id("c")).unwrap(), CallSight::Known(proof));
    leader.wait().unwrap();
}

#[test]
fn with_a_group_line_only_that_group_is_killed() {
    let (_root, dir) = calls_dir();
    let (mut leader, session) = session_of("exec sleep 60");
    let Session { id: sid, leader_start_ticks } = session;
    leave(&dir, &id("c"), &format!("session {sid} {leader_start_ticks}\ngroup {} 1\n", i32::MAX));
    prove_end(&dir, &id("c")).unwrap();
    assert_eq!(procfs::living(session, None).unwrap().len(), 1);
    leader.kill().unwrap();
    leader.wait().unwrap();
}

#[test]
fn a_session_whose_id_was_used_again_is_left_alone() {
    let (_root, dir) = calls_dir();
    let (mut leader, session) = session_of("exec sleep 60");
    let Session { id: sid, leader_start_ticks } = session;
    leave(&dir, &id("c"), &format!("session {sid} {}\n", leader_start_ticks - 1));
    let proof = prove_end(&dir, &id("c")).unwrap();
    assert!(matches!(proof, CallProof::Ended { .. }), "{proof:?}");
    assert_eq!(procfs::living(session, None).unwrap().len(), 1);
    leader.kill().unwrap();
    leader.wait().unwrap();
}
