//! When a service is looked at, and for what.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::*;

fn waiter(key: &str, for_ms: u64) -> (Waiter, oneshot::Receiver<Followed>) {
    let (reply, told) = oneshot::channel();
    let until = Deadline::after(DurationMs::from_millis(for_ms));
    (Waiter { key: key.parse().expect("a key"), until, reply }, told)
}

fn later() -> Convergence {
    Convergence::Later { why: "slow".to_owned(), after: None }
}

const SECOND: Pauses = Pauses { again: DurationMs::from_secs(1), tend: DurationMs::from_secs(60) };
const AT_ONCE: Pauses = Pauses { again: DurationMs::ZERO, tend: DurationMs::ZERO };

#[test]
fn who_comes_during_a_look_is_told_by_the_next_one() {
    let mut slot = Slot::default();
    let (first, mut told_first) = waiter("k1", 60_000);
    slot.wait(first);
    assert_eq!(slot.begin(), Look::Onward);
    let (second, mut told_second) = waiter("k2", 60_000);
    slot.wait(second);
    let key = "k1".parse().expect("a key");
    slot.looked(Convergence::Converged { key, answer: None }, SECOND);
    assert!(matches!(told_first.try_recv(), Ok(Followed::Converged(None))));
    assert!(matches!(told_second.try_recv(), Err(TryRecvError::Empty)));
    assert!(slot.due().is_some_and(Deadline::is_past), "it is looked at again at once");
    slot.begin();
    let key = "k3".parse().expect("a key");
    slot.looked(Convergence::Converged { key, answer: None }, SECOND);
    assert!(matches!(told_second.try_recv(), Ok(Followed::Failed(_))), "it was overtaken");
    assert!(slot.due().is_some_and(|due| due.remaining() > Duration::from_secs(40)));
    slot.begin();
    slot.looked(Convergence::Idle, SECOND);
    assert!(slot.is_over());
}

#[test]
fn pauses_grow_and_something_new_ends_them() {
    let mut slot = Slot::default();
    let mut pauses = Vec::new();
    for _ in 0..10 {
        slot.begin();
        slot.looked(later(), SECOND);
        pauses.push(slot.pause.expect("a pause").as_millis());
    }
    assert_eq!((pauses[0], pauses[1], pauses[9]), (200, 400, 30_000));
    assert!(!slot.due().expect("due").is_past());
    slot.wake();
    assert!(slot.due().expect("due").is_past());
    slot.begin();
    slot.wake();
    slot.looked(later(), SECOND);
    assert!(slot.due().expect("due").is_past(), "what came meanwhile is seen at once");
}

#[test]
fn what_failed_for_good_is_wished_anew_in_time_and_not_after_something_new() {
    let failed = |slot: &mut Slot, pauses| {
        let (key, why) = ("k1".parse().expect("a key"), "no".to_owned());
        slot.looked(Convergence::Failed { key, why }, pauses);
    };
    let mut slot = Slot::default();
    assert_eq!(slot.begin(), Look::Onward);
    // Who comes late for the very wish is told at once, and hurries nothing.
    let (late, mut told) = waiter("k1", 60_000);
    slot.wait(late);
    failed(&mut slot, SECOND);
    assert!(matches!(told.try_recv(), Ok(Followed::Failed(_))));
    assert_eq!(slot.begin(), Look::Onward, "it is not time yet");
    failed(&mut slot, SECOND);
    assert!(!slot.due().expect("due").is_past());
    let mut slot = Slot::default();
    slot.begin();
    failed(&mut slot, AT_ONCE);
    let again = Look::Again { key: "k1".parse().expect("a key"), why: "no".to_owned() };
    assert_eq!(slot.begin(), again);
    failed(&mut slot, AT_ONCE);
    slot.wake();
    assert_eq!(slot.begin(), Look::Onward);
}

#[test]
fn pauses_between_failures_double_whatever_is_waited_for_between_them() {
    let mut slot = Slot::default();
    let mut pauses = Vec::new();
    for key in ["k1", "k2", "k3"] {
        let (key, why) = (key.parse().expect("a key"), "no".to_owned());
        slot.begin();
        slot.looked(later(), SECOND);
        slot.begin();
        slot.looked(Convergence::Failed { key, why }, SECOND);
        pauses.push(slot.again.expect("a pause").as_millis());
    }
    assert_eq!(pauses, [1000, 2000, 4000]);
}

#[test]
fn what_has_come_to_be_is_tended_and_wished_anew_where_it_does_not_hold() {
    let key = || -> ExecutionKey { "k1".parse().expect("a key") };
    let why = || "2 run, and 3 are wished".to_owned();
    let mut slot = Slot::default();
    slot.begin();
    slot.looked(Convergence::Converged { key: key(), answer: None }, AT_ONCE);
    assert_eq!(slot.begin(), Look::Tend);
    slot.looked(Convergence::Drifted { key: key(), why: why() }, SECOND);
    assert!(!slot.due().expect("due").is_past(), "it may come back by itself");
    assert_eq!(slot.begin(), Look::Tend);
    slot.looked(Convergence::Holds { key: key() }, AT_ONCE);
    slot.begin();
    slot.looked(Convergence::Drifted { key: key(), why: why() }, AT_ONCE);
    assert_eq!(slot.begin(), Look::Restore, "it is read before it is wished anew");
    slot.looked(Convergence::Converged { key: key(), answer: None }, AT_ONCE);
    assert!(slot.again.is_some(), "it has not held yet");
    slot.begin();
    slot.looked(Convergence::Holds { key: key() }, AT_ONCE);
    assert_eq!(slot.again, None);
}

#[test]
fn what_did_not_hold_is_looked_at_as_often_as_what_does() {
    let key = || -> ExecutionKey { "k1".parse().expect("a key") };
    let drifted = |why: &str| Convergence::Drifted { key: key(), why: why.to_owned() };
    let rare = Pauses { again: DurationMs::from_secs(600), tend: DurationMs::from_secs(1) };
    let mut slot = Slot::found(rare);
    for _ in 0..3 {
        assert_eq!(slot.begin(), Look::Tend);
        assert!(slot.is_tended_now());
        slot.looked(drifted("2 run"), rare);
        assert!(slot.due().expect("due").remaining() < Duration::from_millis(1300));
    }
    let (found, at, _) = slot.failed.as_ref().expect("it is known");
    assert!(at.remaining() <= Duration::from_millis(6300), "the first pause is not begun anew");
    assert_eq!(*found, key());
    assert!(slot.has_told(&key(), "2 run") && !slot.has_told(&key(), "3 run"));
}

#[test]
fn a_look_that_was_refused_is_made_again_and_not_at_once() {
    let key = || -> ExecutionKey { "k1".parse().expect("a key") };
    let mut slot = Slot::found(AT_ONCE);
    slot.begin();
    slot.looked(Convergence::Drifted { key: key(), why: "2 run".to_owned() }, AT_ONCE);
    assert_eq!(slot.begin(), Look::Restore);
    slot.stumbled("the policy says no".to_owned());
    assert!(!slot.due().expect("due").is_past());
    let (_, at, _) = slot.failed.as_ref().expect("it still does not hold");
    assert!(!at.is_past(), "nothing is wished before that pause, either");
    let mut slot = Slot::default();
    slot.begin();
    slot.is_put_back();
    assert!(slot.due().expect("due").is_past(), "no thread could be begun");
}

/// Whatever is found unfinished is gone towards, and not only looked at; once, and no more after
/// each search.
#[test]
fn a_wish_that_is_found_hurries_once() {
    let key = |key: &str| -> ExecutionKey { key.parse().expect("a key") };
    let mut slot = Slot::found(SECOND);
    slot.go_on(&key("k1"));
    assert_eq!(slot.begin(), Look::Onward);
    slot.go_on(&key("k2"));
    slot.looked(later(), SECOND);
    slot.go_on(&key("k1"));
    assert!(!slot.due().expect("due").is_past(), "it was found before");
    slot.go_on(&key("k2"));
    assert!(slot.due().expect("due").is_past(), "a newer one was not");
    slot.begin();
    slot.looked(Convergence::Failed { key: key("k2"), why: "no".to_owned() }, SECOND);
    slot.go_on(&key("k3"));
    assert_eq!(slot.begin(), Look::Onward);
    assert_eq!(slot.failed, None, "k2 counts no more");
}

#[test]
fn nobody_waits_longer_than_asked() {
    let mut slot = Slot::default();
    let (waiter, mut told) = waiter("k1", 0);
    slot.wait(waiter);
    slot.begin();
    slot.looked(later(), SECOND);
    slot.tell_who_waits_no_longer();
    let Ok(Followed::Failed(why)) = told.try_recv() else { panic!("nobody was told") };
    assert_eq!(why, "it is not so yet: slow");
}

#[test]
fn pauses_vary_by_a_quarter() {
    let pauses: Vec<u64> =
        (0..200).map(|_| jittered(DurationMs::from_millis(1000)).as_millis()).collect();
    assert!(pauses.iter().all(|pause| (750..=1250).contains(pause)), "{pauses:?}");
    assert!(pauses.iter().any(|pause| *pause != pauses[0]));
    assert_eq!(jittered(DurationMs::ZERO), DurationMs::ZERO);
}
