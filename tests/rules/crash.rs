//! The log is cut after every transaction: whoever comes next brings the service to an end.

use scalectl::domain::scale::attempt::ELSEWHERE_GRACE;
use scalectl::domain::scale::execution::{Outcome, Phase};

use scalectl::domain::scale::state::ServiceState;

use super::script::run;
use super::support::World;

/// Settings and script.
const SCENARIOS: [(&str, &str); 9] = [
    ("", "put a 5\nstart a\nok a\nobserve a"),
    ("readings=3", "put a 5\nacquire a\nstart a\nok a\nobserve a\nobserve a"),
    ("", "put a 5\nstart a\nfail a\nwait 5s\nstart a\nok a\nobserve a"),
    ("", "put a 5\nstart a\nlose a applied\nwait 60s\nsettle a reading\nobserve a"),
    ("", "put a 5\nstart a\nlose a applied 4\nfence a\nsettle a reading\nwait 5s\nstart a\nok a"),
    ("", "put a 5\nstart a\nput b 6 queue\nfail a\nstart b\nok b\nobserve b"),
    ("tries=1", "put a 5\nstart a\nlose a elsewhere\nprove a\nwait 60s\nsettle a no"),
    ("", "put a 5\nput b 6\nsimulate b\nput c 7\nwithdraw c"),
    ("match=replicas", "put a 5\nstart a\nok a\nput b 6\nstart b\nfatal b\nput c 3\nstart c\nok c"),
];

impl World {
    /// What `replay` and `scale` do between them, until nothing is unfinished.
    fn converge(&mut self) {
        for _ in 0..60 {
            let open = self.state.executions.values().filter(|e| !e.phase.is_finished());
            // The newest first: an older failure only waits for it.
            let Some(next) = open.max_by_key(|e| {
                let is_called =
                    matches!(e.phase, Phase::Started { .. } | Phase::RecoveryPending { .. });
                (is_called, e.revision())
            }) else {
                return;
            };
            let key = next.key().to_string();
            match next.phase.clone() {
                Phase::Accepted if next.intent.dry_run => self.must(&format!("simulate {key}")),
                Phase::Accepted => self.must(&format!("start {key}")),
                // The process that made the call is gone, and so is the call.
                Phase::Started { .. } => self.must(&format!("lose {key}")),
                Phase::RecoveryPending { pending } => {
                    self.now = self.now.max(pending.call.deadline_at.plus(ELSEWHERE_GRACE));
                    self.run("wait 60s");
                    let answer = self.line(&format!("settle {key} reading"));
                    if answer.is_err()
                        || matches!(self.execution(&key).phase, Phase::RecoveryPending { .. })
                    {
                        self.must(&format!("fence {key}"));
                    }
                }
                Phase::Failed { retry_at } => {
                    self.now = self.now.max(retry_at);
                    let answer = self.line(&format!("start {key}"));
                    if answer.is_err() {
                        self.must(&format!("abandon {key}"));
                    }
                }
                Phase::Succeeded | Phase::Observed => {
                    let desired = next.desired().get();
                    if self.target.replicas != desired {
                        self.change_target(desired);
                    }
                    self.must(&format!("observe {key}"));
                }
                Phase::Proposed { .. }
                | Phase::Verified { .. }
                | Phase::Rejected
                | Phase::Withdrawn
                | Phase::Superseded { .. } => panic!("{key} is not open"),
            }
        }
        panic!("it does not converge: {:?}", self.state.executions);
    }

    fn must(&mut self, line: &str) {
        if let Err(rejection) = self.line(line) {
            // A wish for a target that has moved since is put again by a person.
            assert_eq!(rejection.code(), "target_changed", "{line}: {rejection}");
            let key = line.split_whitespace().nth(1).expect("a key");
            self.run(&format!("withdraw {key}"));
        }
    }
}

#[test]
fn after_any_cut_the_service_comes_to_an_end() {
    for (settings, script) in SCENARIOS {
        let whole = run(settings, script);
        for lost in 0..whole.log.len() {
            let mut world = whole.clone();
            world.cut(lost);
            world.check();
            world.converge();
            let converged = world
                .state
                .executions
                .values()
                .filter(|execution| execution.outcome() == Some(Outcome::Converged))
                .max_by_key(|execution| execution.revision());
            if let Some(execution) = converged {
                let observed = execution.observation.as_ref().and_then(|o| o.observed_replicas);
                assert_eq!(observed, Some(execution.desired()));
            }
        }
    }
}

/// Every line of a script is sent again after the cut: what was recorded answers, and nothing that
/// was recorded is recorded twice.
#[test]
fn after_any_cut_the_same_puts_are_replayed() {
    for (settings, script) in SCENARIOS {
        let whole = run(settings, script);
        for lost in 0..whole.log.len() {
            let mut world = whole.clone();
            world.cut(lost);
            for line in script.lines().filter(|line| line.starts_with("put")) {
                let key = line.split_whitespace().nth(1).expect("a key");
                let known = world.state.executions.contains_key(&super::support::id(key));
                let before = world.log.len();
                let answer = world.line(line);
                let said = super::script::said(&answer);
                if known {
                    assert!(matches!(said, "replayed" | "simulated_key"), "{line}: {said}");
                    assert_eq!(world.log.len(), before, "{line} was recorded twice");
                }
            }
        }
    }
}

/// A damaged log is an error or another state, never a panic; nor is what is decided on it.
#[test]
fn a_damaged_log_is_refused_or_folded_and_never_a_panic() {
    let mut refused = 0;
    for (settings, script) in SCENARIOS {
        let whole = run(settings, script);
        let events: Vec<_> = whole.log.iter().flatten().cloned().collect();
        for at in 0..events.len() {
            let mut lost = events.clone();
            lost.remove(at);
            let mut twice = events.clone();
            twice.insert(at, events[at].clone());
            let mut swapped = events.clone();
            swapped.swap(at, (at + 1) % events.len());
            for damaged in [lost, twice, swapped] {
                let Ok(state) = ServiceState::default().fold(&damaged) else {
                    refused += 1;
                    continue;
                };
                let mut world = whole.clone();
                world.state = state;
                for line in ["put z 9 queue", "start a", "observe a", "acquire a", "abandon a"] {
                    let _ = world.decide_line(line);
                }
            }
        }
    }
    assert!(refused > 100, "only {refused} damaged logs were refused");
}
