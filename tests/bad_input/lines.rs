//! Lines that are refused: exit 2, a word, nothing written.

use std::time::Duration;

use crate::support::World;

#[test]
fn a_wrong_line_is_refused_with_a_word_and_nothing_written() {
    let world = World::with_fake();
    world.run("intent put web --replicas 1 --key k0 --reason x").exits(0);
    let before = world.events();
    let mut others = Vec::new();
    let long = "x".repeat(513);
    let key = "k".repeat(257);
    let reference = "r".repeat(1025);
    let put = |more: &[&str]| {
        let words = ["intent", "put", "web", "--reason", "x", "--replicas"];
        words.iter().chain(more).map(|word| (*word).to_owned()).collect::<Vec<_>>()
    };
    let plain = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let reason = |text: &str| {
        ["intent", "put", "web", "--replicas", "3", "--reason", text].map(str::to_owned).to_vec()
    };
    for (words, code) in [
        // Counts are absolute.
        (put(&["+2"]), "usage"),
        (put(&["-1"]), "usage"),
        (put(&["3.0"]), "usage"),
        (put(&["3e0"]), "usage"),
        (put(&["0x3"]), "usage"),
        (put(&[" 3"]), "usage"),
        (put(&["three"]), "usage"),
        (put(&[""]), "usage"),
        (put(&["50%"]), "usage"),
        (put(&["9007199254740992"]), "invalid_replicas"),
        (put(&["18446744073709551616"]), "usage"),
        (put(&["3", "--replicas", "4"]), "usage"),
        (plain("scale web=+1 --reason x"), "invalid_wish"),
        (plain("scale web=-1 --reason x"), "invalid_wish"),
        (plain("scale web= --reason x"), "invalid_wish"),
        (plain("scale web --reason x"), "invalid_wish"),
        (plain("scale =3 --reason x"), "invalid_wish"),
        (plain("scale web=3=4 --reason x"), "invalid_wish"),
        (plain("scale w@b=3 --reason x"), "invalid_wish"),
        (plain("plan web=+1"), "invalid_wish"),
        (plain("policy test web=-1"), "invalid_wish"),
        (plain("intent put web --reason x"), "usage"),
        // Reasons.
        (plain("intent put web --replicas 3"), "reason_missing"),
        (reason(""), "invalid_reason"),
        (reason(&long), "invalid_reason"),
        // Durations have a unit.
        (put(&["3", "--backoff", "5"]), "usage"),
        (put(&["3", "--backoff", "1.5s"]), "usage"),
        (put(&["3", "--backoff", "-5s"]), "usage"),
        (put(&["3", "--backoff", "5 s"]), "usage"),
        (put(&["3", "--backoff", "2h"]), "invalid_backoff"),
        (put(&["3", "--backoff", "99999999999999999999s"]), "usage"),
        (put(&["3", "--valid-for", "0s"]), "invalid_fence"),
        (plain("--lock-timeout 5 status"), "usage"),
        (plain("scale web=3 --reason x --timeout 10"), "usage"),
        (plain("lease acquire k0 --ttl 60"), "usage"),
        // Numbers of their own.
        (put(&["3", "--max-attempts", "0"]), "invalid_attempts"),
        (put(&["3", "--max-attempts", "9"]), "invalid_attempts"),
        (put(&["3", "--expect-revision", "x"]), "invalid_revision"),
        (put(&["3", "--expect-revision", "-1"]), "usage"),
        (put(&["3", "--expect-revision", "+1"]), "invalid_revision"),
        (put(&["3", "--current-replicas", "-1"]), "usage"),
        (put(&["3", "--fence", "4"]), "invalid_fence"),
        (put(&["3", "--fence", "0.1"]), "invalid_fence"),
        (put(&["3", "--fence", "1.0"]), "invalid_fence"),
        (put(&["3", "--fence", "1.2.3"]), "invalid_fence"),
        (put(&["3", "--fence", "1.9007199254740992"]), "invalid_fence"),
        // Names and keys.
        (put(&["3", "--key", ""]), "invalid_key"),
        (put(&["3", "--key", "a b"]), "invalid_key"),
        (put(&["3", "--key", "a\u{1b}b"]), "invalid_key"),
        (put(&["3", "--key", &key]), "invalid_key"),
        (plain("intent show k0 --key k0"), "usage"),
        (plain("intent show"), "usage"),
        (plain("observe web@zzz"), "invalid_key"),
        (plain("observe web@"), "invalid_key"),
        (plain("observe @1"), "invalid_key"),
        (plain("observe web@-1"), "invalid_key"),
        (plain("actuate k0 --controller a@b"), "usage"),
        (plain("service put w@b --actuator fake"), "usage"),
        (plain("--actor  status"), "invalid_actor"),
        // Words.
        (plain("frobnicate"), "usage"),
        (plain("intent frobnicate"), "usage"),
        (plain("intent put web --frobnicate"), "usage"),
        (plain("-o yaml status"), "usage"),
        (put(&["3", "--attest", "drained"]), "usage"),
        (plain("log --since yesterday"), "invalid_time"),
        (plain("log --since 2026-01-01T12:00:00"), "invalid_time"),
        (plain("service put more --actuator fake --max 3 --mode manual"), "invalid_mode"),
        (plain("service put more --actuator fake --max 3 --readings 0"), "out_of_range"),
        (plain("service put more --actuator fake --max 3 --readings 11"), "out_of_range"),
        (plain("policy test web=3 --action explode"), "invalid_action"),
        // Flags that contradict each other.
        (plain("intent put web --file x --replicas 3"), "usage"),
        (plain("intent put web --file x --key k"), "usage"),
        (plain("intent put web --file x --reason y"), "usage"),
        (plain("service put web --file x --max 3"), "contradiction"),
        (plain("service put web --file x --signal none"), "contradiction"),
        (plain("service put"), "usage"),
        (vec!["--ref".into(), reference, "status".into()], "invalid_reference"),
    ] {
        let mut line = vec!["-o", "json"];
        line.extend(words.iter().map(String::as_str));
        let yaml = words.iter().any(|word| word == "yaml");
        let ran = world.run_args(if yaml { &line[2..] } else { &line }).exits(2);
        assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
        assert!(ran.stderr.starts_with("error["), "{ran:#?}");
        if !yaml {
            let found = ran.at("/error/code");
            if found != code {
                others.push(format!("{words:?} is {found}, not {code}"));
            }
            assert_eq!((ran.at("/recorded"), ran.at("/applied")), ("no".into(), "no".into()));
        }
    }
    assert_eq!(others, Vec::<String>::new());
    assert_eq!(world.events(), before);
    assert!(world.fake_log("calls").is_empty());
}

#[test]
fn bounds_of_the_registration_are_refused_with_both_values() {
    let world = World::with_fake();
    let before = world.events();
    let ran = world.json("intent put web --replicas 11 --key k1 --reason x").exits(2);
    assert_eq!(ran.at("/error/code"), "out_of_bounds");
    assert!(ran.stderr.contains("11") && ran.stderr.contains("10"), "{ran:#?}");
    let ran = world.json("service put web --min 5 --max 2").exits(2);
    assert!(ran.stderr.contains('5') && ran.stderr.contains('2'), "{ran:#?}");
    assert_eq!(world.events(), before);
}

#[test]
fn no_system_hands_over_a_nul() {
    let world = World::with_fake();
    let refused = world.command(&["intent", "put", "web", "--reason", "a\0b"]).output();
    assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
}

#[test]
fn a_line_that_is_not_utf8_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::with_fake();
    let before = world.events();
    let bytes = std::ffi::OsStr::from_bytes(b"a\xffb");
    for words in [
        &["intent", "put", "web", "--replicas", "3", "--reason"][..],
        &["intent", "show"],
        &["--actor"],
        &["service", "put"],
    ] {
        let output = world.command(words).arg(bytes).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?} {output:?}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{output:?}");
    }
    let mut command = world.command(&["intent", "put", "web", "--replicas", "3"]);
    let output = command.env("SCALECTL_REASON", bytes).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(world.events(), before);
}

#[test]
fn a_lease_beyond_its_bounds_is_refused() {
    let world = World::with_fake();
    world.run("intent put web --replicas 1 --key k0 --reason x").exits(0);
    let before = world.events();
    for ttl in ["0s", "999ms", "901s", "16m"] {
        let ran = world.json(&format!("lease acquire k0 --controller ops --ttl {ttl}")).exits(2);
        assert!(ran.stderr.starts_with("error["), "{ran:#?}");
    }
    assert_eq!(world.events(), before);
}

#[test]
fn a_busy_ledger_is_waited_for_as_long_as_was_said() {
    let world = World::with_fake();
    let lock = world.lock();
    let line = "intent put web --replicas 3 --key k1 --reason x --lock-timeout 200ms";
    let began = std::time::Instant::now();
    let ran = world.json(line).exits(20);
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(200) && took < Duration::from_secs(4), "{took:?}");
    assert_eq!(ran.at("/error/code"), "ledger_busy");
    assert_eq!(ran.at("/error/retryable"), true);
    assert_eq!((ran.at("/recorded"), ran.at("/applied")), ("no".into(), "no".into()));
    // Readers wait for nobody.
    world.run("status").exits(0);
    drop(lock);
    world.run(line).exits(0);
}
