//! A glass that is about to be broken: the bound that it does not pass, and the step that was
//! confirmed.

use scalectl::domain::id::Replicas;
use scalectl::domain::scale::command::{PutForm, PutIntent};
use scalectl::domain::scale::glass::{OtherStep, above_max, check_belief, check_step, known_count};
use scalectl::domain::scale::intent::{Reason, RetryAsked};
use scalectl::domain::scale::state::ServiceHead;
use scalectl::domain::time::DurationMs;

use super::script::run;
use super::support::{count, id};

fn wish(replicas: u64, expect_count: Option<Replicas>) -> PutIntent {
    let form = PutForm::Flags {
        replicas: count(replicas),
        reason: Reason::cut("a test"),
        retry: RetryAsked::default(),
        key: id("a"),
        fence: None,
        valid_for: DurationMs::from_secs(60),
    };
    PutIntent { expect_count, ..PutIntent::new(id("web"), form) }
}

#[test]
fn only_what_is_above_the_upper_bound_is_above_it() {
    let head = run("min=2 max=9", "").state.head;
    for (desired, is_above) in [(0, false), (2, false), (9, false), (10, true)] {
        assert_eq!(above_max(&head, count(desired)).is_some(), is_above, "{desired}");
    }
    assert!(above_max(&ServiceHead::default(), count(10)).is_none());
}

#[test]
fn what_was_confirmed_from_one_count_is_no_step_from_another() {
    // Three ran when it was confirmed.
    let given = "authorize bg-1 5";
    let other = Err(OtherStep { confirmed: count(3), actual: count(7) });
    for (script, put, held) in [
        (String::new(), wish(5, None), Ok(())),
        ("target 7\n bind".to_owned(), wish(5, None), other),
        // It says itself what it starts from; the put holds it to that.
        ("target 7\n bind".to_owned(), wish(5, Some(count(7))), Ok(())),
        ("target 7\n bind".to_owned(), wish(5, Some(count(3))), Ok(())),
        // It is there already.
        ("target 5\n bind".to_owned(), wish(5, None), Ok(())),
    ] {
        let world = run("", &format!("{given}\n {script}"));
        let step = |id: &str| check_step(&world.state.head, &self::id(id), &put, world.now);
        assert_eq!(step("bg-1"), held, "{script} {put:?}");
        // Of what was never given nothing was confirmed; the put says that it is not there.
        assert_eq!(step("bg-2"), Ok(()), "{script} {put:?}");
    }
    // What it does not permit at all is no step of it; the put says why.
    for (script, put) in [
        ("target 7\n bind", wish(6, None)),
        ("target 7\n bind\n wait 1h", wish(5, None)),
        ("revoke bg-1\n target 7\n bind", wish(5, None)),
        ("put k 5 glass=bg-1\n start k\n ok k\n target 7\n bind", wish(5, None)),
    ] {
        let world = run("", &format!("{given}\n {script}"));
        assert_eq!(check_step(&world.state.head, &id("bg-1"), &put, world.now), Ok(()), "{script}");
    }
}

/// What is wrong with an authorization is told whole: another count of one that is used up would
/// be mended in vain.
#[test]
fn a_used_up_authorization_says_so_whatever_the_count() {
    let told = |script: &str, last: &str| {
        run("", script).line(last).expect_err(last).to_string().replace("bg-1 does not permit ", "")
    };
    let used = "authorize bg-1 5\n put k 5 glass=bg-1\n start k\n ok k\n observe k";
    for (script, last, text) in [
        ("authorize bg-1 5", "put a 6 glass=bg-1", "it is for another count: 5"),
        (used, "put a 5 glass=bg-1", "it was used as often as it may be"),
        (
            used,
            "put a 6 glass=bg-1",
            "it was used as often as it may be, and it is for another count: 5",
        ),
        (
            "authorize bg-1 5\n revoke bg-1",
            "put a 6 glass=bg-1",
            "it was taken back, and it is for another count: 5",
        ),
    ] {
        assert_eq!(told(script, last), format!("this of web: {text}"), "{script}");
    }
}

#[test]
fn what_a_line_believes_is_held_to_what_is_known() {
    let head = run("", "").state.head;
    assert_eq!(known_count(&head), Some(count(3)));
    let asked = |head, believed| check_belief(head, &id("web"), believed).map_err(|no| no.code());
    assert_eq!(asked(&head, Some(count(3))), Ok(()));
    assert_eq!(asked(&head, Some(count(4))), Err("premise_moved"));
    assert_eq!(asked(&head, None), Ok(()));
    // Where nobody knows, nothing contradicts it.
    let lost = run("", "put a 5\n start a\n lose a").state.head;
    assert_eq!(known_count(&lost), None);
    assert_eq!(asked(&lost, Some(count(4))), Ok(()));
}
