//! What is over stays over: section 1B of the rule book, the terminal states of an outbox.

use super::script::{run, said};

/// Each end, by its settings and its way; `a` is what is over.
const ENDS: &[(&str, &str, &str)] = &[
    ("", "put a 5\n start a\n ok a\n observe a", "verified(converged)"),
    ("", "put a 5\n start a\n fatal a", "verified(failed)"),
    ("", "put a 5\n start a\n fail a\n abandon a", "verified(failed)"),
    ("", "put a 5 dry\n simulate a", "verified(simulated)"),
    ("", "put a 5\n simulate a", "verified(simulated)"),
    ("", "put a 5\n withdraw a", "withdrawn"),
    ("", "put a 5\n put b 6", "superseded"),
    ("readings=3", "put a 5\n start a\n ok a\n put b 6", "superseded(unconfirmed)"),
    ("deny=scale_down", "put a 2 within=1h\n person bob\n deny-it a\n person ann", "rejected"),
];

/// Whatever can be asked of a key.
const ASKED: &[&str] = &[
    "put a 5",
    "put a 6",
    "put a 5 dry",
    "start a",
    "simulate a",
    "acquire a",
    "renew a",
    "release a",
    "observe a",
    "observe a unread",
    "settle a yes",
    "settle a no",
    "settle a reading",
    "fence a",
    "prove a",
    "ok a",
    "fail a",
    "fatal a",
    "lose a",
    "withdraw a supersede",
    "abandon a supersede",
    "grant a",
    "deny-it a",
];

/// Section 1B, *outbox*: no command moves what is over, none makes a call of it, and none of them
/// takes an attempt, a result or an observation from it.
#[test]
fn what_is_over_stays_over_whatever_is_asked() {
    let mut answers = std::collections::BTreeSet::new();
    for (settings, script, state) in ENDS {
        for who in ["ann", "bob"] {
            for asked in ASKED {
                let mut world = run(settings, &format!("{script}\n person {who}"));
                assert!(
                    world.state_of("a").starts_with(state),
                    "{script}: {}",
                    world.state_of("a")
                );
                let was = world.execution("a").clone();
                let answer = world.line(asked);
                answers.insert(said(&answer));
                let is = world.execution("a");
                let seen = |it: &scalectl::domain::scale::execution::Execution| {
                    let counts = (it.attempts, it.calls, it.intent.clone(), it.acceptance.clone());
                    (
                        it.phase.clone(),
                        it.outcome(),
                        it.observation.clone(),
                        it.result.clone(),
                        counts,
                    )
                };
                assert_eq!(seen(is), seen(&was), "{script}: {asked}: {}", said(&answer));
                assert!(is.lease.is_none() || was.lease.is_some(), "{script}: {asked}");
            }
        }
    }
    // It is asked, and not only refused for another reason.
    for answer in ["replayed", "wrong_state", "late", "key_conflict", "simulated_key"] {
        assert!(answers.contains(answer), "never {answer}: {answers:?}");
    }
}
