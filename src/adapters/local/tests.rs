//! The journal alone; processes are tested through the binary in `tests/local_adapter.rs`.

use super::apply::replica_command;
use super::judge::{Verdict, succeeded};
use super::process::Identity;
use super::slot::Record;
use super::state::{Mark, Rank, State};
use crate::actuator::protocol::{ApplyRequest, LookupReply, LookupRequest, Request};
use crate::domain::id::{FenceToken, LeaseEpoch};

const APPLY: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/protocol/apply.request.json"));
const LOOKUP: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/protocol/lookup.request.json"));

fn state() -> State {
    State { version: 41, ..State::new("local:7f3c0a".parse().expect("valid"), None) }
}

fn apply_of(edits: &[(&str, &str)]) -> ApplyRequest {
    let text = edits.iter().fold(APPLY.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    match Request::read(text.as_bytes()).expect("valid") {
        Request::Apply(apply) => *apply,
        other => panic!("not an apply: {other:?}"),
    }
}

fn lookup_of(attempt: u64) -> LookupRequest {
    let text = LOOKUP.replace(r#""attempt":1"#, &format!(r#""attempt":{attempt}"#));
    match Request::read(text.as_bytes()).expect("valid") {
        Request::Lookup(lookup) => *lookup,
        other => panic!("not a lookup: {other:?}"),
    }
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Go => "go",
        Verdict::Replay(_) => "replay",
        Verdict::Refuse(refusal) => refusal.code,
    }
}

const NEXT: (&str, &str) = (r#""attempt":1"#, r#""attempt":2"#);
const OTHER_KEY: (&str, &str) = ("deploy-42", "deploy-43");
const OLDER: (&str, &str) = (r#""fence_token":7"#, r#""fence_token":6"#);
const NEWER: (&str, &str) = (r#""fence_token":7"#, r#""fence_token":8"#);
const WRITERS: (&str, &str) = ("ledger:01JQ", "writer:01JQ");
const AT_42: (&str, &str) = (r#""resource_version":"41""#, r#""resource_version":"42""#);
const SIX: (&str, &str) = (r#"desired_replicas":5"#, r#"desired_replicas":6"#);

#[test]
fn a_first_call_is_judged_by_owner_object_and_version() {
    for (edits, expected) in [
        (&[][..], "go"),
        (&[(r#""id":"01JQ""#, r#""id":"01JX""#)], "go"),
        (&[("7f3c0a", "000000")], "other_target"),
        (&[(r#""processes""#, r#""pods""#)], "other_target"),
        (&[AT_42], "precondition_moved"),
        (&[(r#""resource_version":"41""#, r#""resource_version":null"#)], "go"),
        (&[(r#"desired_replicas":5"#, r#"desired_replicas":513"#)], "too_many_replicas"),
    ] {
        assert_eq!(word(&state().judge(&apply_of(edits))), expected, "{edits:?}");
    }
}

#[test]
fn a_begun_call_refuses_what_is_behind_it_and_lets_its_key_go_on() {
    let mut state = state();
    state.begin(&apply_of(&[NEXT]));
    assert_eq!(state.version, 42);
    for (edits, expected) in [
        (&[NEXT][..], "go"),
        (&[("\"attempt\":1", "\"attempt\":3")], "go"),
        (&[], "stale_fence"),
        (&[NEXT, SIX], "key_conflict"),
        (&[OTHER_KEY, OLDER], "stale_fence"),
        (&[OTHER_KEY, NEWER], "precondition_moved"),
        (&[OTHER_KEY, NEWER, AT_42], "go"),
        // A ledger mints a fence for one key; a writer's own may stand for many.
        (&[OTHER_KEY, AT_42], "fence_reused"),
        (&[OTHER_KEY, AT_42, WRITERS], "go"),
        (&[OTHER_KEY, NEWER, AT_42, (r#""id":"01JQ""#, r#""id":"01JX""#)], "other_ledger"),
        (&[OTHER_KEY, NEWER, AT_42, (r#""incarnation":1"#, r#""incarnation":0"#)], "other_ledger"),
        (&[OTHER_KEY, NEWER, AT_42, (r#""incarnation":1"#, r#""incarnation":2"#)], "go"),
    ] {
        assert_eq!(word(&state.judge(&apply_of(edits))), expected, "{edits:?}");
    }
    // Once somebody else has moved the target, the key's own move excuses nothing.
    state.begin(&apply_of(&[OTHER_KEY, AT_42]));
    assert_eq!(word(&state.judge(&apply_of(&[NEXT, WRITERS]))), "precondition_moved");
}

#[test]
fn a_finished_key_answers_as_before() {
    let mut state = state();
    let apply = apply_of(&[]);
    state.begin(&apply);
    state.finish(&apply, succeeded(&apply, &state, ""));
    state.begin(&apply_of(&[OTHER_KEY, NEWER, AT_42]));
    for (edits, expected) in [
        (&[][..], "replay"),
        (&[NEXT], "replay"),
        (&[SIX], "key_conflict"),
        (&[(r#"version":"41""#, r#"version":"40""#)], "key_conflict"),
    ] {
        assert_eq!(word(&state.judge(&apply_of(edits))), expected, "{edits:?}");
    }
}

#[test]
fn never_refuses_the_attempts_it_spoke_of_and_no_later_one() {
    let mut state = state();
    assert_eq!(state.look_up(&lookup_of(2), Some(3)), (true, LookupReply::Never));
    assert_eq!(state.look_up(&lookup_of(1), Some(3)), (false, LookupReply::Never));
    for (edits, expected) in [
        (&[][..], "stale_fence"),
        (&[NEXT], "stale_fence"),
        (&[("\"attempt\":1", "\"attempt\":3")], "go"),
        (&[OTHER_KEY, NEWER], "go"),
        (&[OTHER_KEY], "fence_reused"),
    ] {
        assert_eq!(word(&state.judge(&apply_of(edits))), expected, "{edits:?}");
    }
}

#[test]
fn a_begun_key_is_applied_only_if_the_count_says_so() {
    let mut state = state();
    state.begin(&apply_of(&[NEXT]));
    for (attempt, count, said) in [
        (2, Some(4), LookupReply::Unknown),
        (2, None, LookupReply::Unknown),
        (1, Some(5), LookupReply::Unknown),
    ] {
        assert_eq!(state.look_up(&lookup_of(attempt), count), (false, said), "{attempt} {count:?}");
    }
    let (changed, applied) = state.look_up(&lookup_of(2), Some(5));
    assert!(changed && matches!(applied, LookupReply::Applied { .. }), "{applied:?}");
    // From then on it does not depend on the count any more.
    assert_eq!(state.look_up(&lookup_of(2), Some(0)), (false, applied));
    assert_eq!(word(&state.judge(&apply_of(&[NEXT]))), "replay");
}

#[test]
fn a_raised_mark_moves_the_version_once() {
    let mut state = state();
    let token = FenceToken::new(7).expect("valid");
    let mark = Mark { rank: Rank::of(LeaseEpoch::MIN, token), attempt: 2 };
    assert!(state.raise_mark(mark) && !state.raise_mark(mark));
    assert_eq!(state.version, 42);
    assert_eq!(word(&state.judge(&apply_of(&[AT_42]))), "stale_fence");
    assert_eq!(word(&state.judge(&apply_of(&[NEXT, AT_42]))), "go");
    assert_eq!(word(&state.judge(&apply_of(&[NEWER, AT_42]))), "go");
}

#[test]
fn forgotten_keys_are_never_said_to_be_never() {
    let mut state = state();
    for number in 1..=300 {
        let (key, token) = (format!("key-{number}"), format!("\"fence_token\":{number}"));
        let edits = [(OTHER_KEY.0, key.as_str()), (OLDER.0, token.as_str())];
        state.begin(&apply_of(&edits));
    }
    assert_eq!(state.journal.len(), 256);
    let mut lookup = lookup_of(1);
    assert_eq!(state.look_up(&lookup, Some(3)), (false, LookupReply::Unknown));
    lookup.token = FenceToken::new(300).expect("valid");
    assert_eq!(state.look_up(&lookup, Some(3)), (true, LookupReply::Never));
}

#[test]
fn a_shell_runs_only_what_needs_one() {
    let words = |command: &str| replica_command(command).join("|");
    assert_eq!(words("sleep 3600"), "sleep|3600");
    assert_eq!(words("  /srv/web  --port=80 --a,b "), "/srv/web|--port=80|--a,b");
    for line in ["a && b", "echo $HOME", "echo 'a b'", "PORT=80 web", "web *.conf", "web &"] {
        assert_eq!(words(line), format!("/bin/sh|-c|{line}"));
    }
    assert!(replica_command(" ").is_empty());
}

/// To kill(2) the groups 0 and 1 are our own and everybody.
#[test]
fn a_record_of_a_process_that_cannot_be_ours_is_none() {
    let identity = Identity::own().expect("proc");
    let (pid, record) = (identity.pid, Record::Running { identity });
    let text = serde_json::to_string(&record).expect("JSON");
    assert_eq!(Record::read(text.as_bytes()), Some(record));
    for bad in [1, 0, -1, -pid] {
        let text = text.replace(&format!("\"pid\":{pid}"), &format!("\"pid\":{bad}"));
        assert!(text.contains(&format!("\"pid\":{bad},")), "{text}");
        assert_eq!(Record::read(text.as_bytes()), None, "{text}");
    }
}
