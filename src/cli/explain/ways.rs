//! The ways out of where a wish stands: each line to type, and what it is for.

use super::list;
use crate::cli::output::Answer;
use crate::cli::unwell::settle_lines;
use crate::cli::upon;
use crate::domain::scale::decide::waits_behind;
use crate::domain::scale::execution::{Execution, Outcome, Phase};
use crate::domain::scale::next::{Next, next_of};
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::state::{ServiceHead, ServiceState};
use crate::domain::time::Timestamp;

/// The answer with its ways out, a number for each; as it is where there is none.
pub(super) fn with_ways(answer: Answer, ways: &[(String, String)]) -> Answer {
    let answer = answer.noun("ways_out", &ways);
    if ways.is_empty() {
        return answer;
    }
    let numbered = ways.iter().zip(1..);
    let numbered = numbered.map(|((line, why), at)| (format!("{at}  {line}"), why));
    answer.line(String::new()).line("Ways out").table(list(numbered))
}

/// Each line with what it is for.
pub(super) fn ways_out(
    execution: &Execution,
    state: &ServiceState,
    now: Timestamp,
) -> Vec<(String, String)> {
    let name = execution.key();
    let way = |command: &str, why: &str| (format!("scalectl {command}"), why.to_owned());
    let withdraw = |why| way(&format!("intent withdraw {name}"), why);
    let abandon = || way(&format!("intent abandon {name} --reason TEXT"), "end it");
    match next_of(execution, &state.head, now) {
        Next::EndStranded(end) => {
            let why = "it was made for settings that are no more: end it, then wish anew";
            vec![(upon::line_of_end(end, name.as_str()), why.to_owned())]
        }
        Next::Start
            if let Some(Rejection::WaitsBehind { service, behind, .. }) =
                waits_behind(state, execution) =>
        {
            let other = format!("replay {service}@{behind} --wait");
            vec![
                way(&other, "it waits for that one to come to an end"),
                way(&format!("actuate {name}"), "carry it out then"),
                withdraw("take it back"),
            ]
        }
        Next::Start => {
            vec![way(&format!("actuate {name}"), "carry it out"), withdraw("take it back")]
        }
        Next::FenceOver => vec![withdraw("its fence ran out: take it back, then wish anew")],
        Next::CallEnds => {
            vec![way(&format!("replay {name} --wait"), "find out what became of it")]
        }
        Next::FindOut { quiet_from, is_quiet } => {
            let from = if is_quiet { String::new() } else { format!("from {quiet_from} on; ") };
            let look = "look it up, fence it, read it; no blind second call";
            let look = way(&format!("replay {name} --wait"), look);
            std::iter::once(look).chain(settled(execution, &from)).collect()
        }
        Next::Settle => {
            let look = "look again, where the target has changed since";
            let look = way(&format!("replay {name} --wait"), look);
            settled(execution, "").into_iter().chain([look]).collect()
        }
        Next::Overtaken { by } => {
            let newer = format!("{}@{by}", execution.intent.service);
            vec![
                way(&format!("actuate {newer}"), "it goes first, and ends this one"),
                way(&format!("intent withdraw {newer}"), "then this one may be tried again"),
                abandon(),
            ]
        }
        Next::Retry { .. } => vec![
            way(&format!("actuate {name}"), "the next attempt, once its time has come"),
            abandon(),
        ],
        Next::Confirm => vec![way(&format!("observe {name} --wait"), "confirm it")],
        Next::Drifted => drifted(execution),
        Next::Answer => vec![
            way(&format!("approval show {name}"), "what is asked, and whether you may answer"),
            way(&format!("approval grant {name} --reason TEXT"), "another person agrees"),
            way(&format!("approval deny {name} --reason TEXT"), "another person refuses, for good"),
            withdraw("take it back"),
        ],
        Next::Unanswered => vec![withdraw("nobody answered in time")],
        Next::Over => over(execution, &state.head),
    }
}

/// What a person says became of a call.
fn settled(execution: &Execution, from: &str) -> [(String, String); 2] {
    let [applied, not_applied] =
        settle_lines(execution).map(|words| format!("scalectl {}", words.join(" ")));
    [
        (applied, format!("{from}needs a reading of the wished count")),
        (not_applied, format!("{from}then the same key may be tried again")),
    ]
}

/// What is over is carried on by a newer wish, where it is the newest and is not so, or not any
/// more.
fn over(execution: &Execution, head: &ServiceHead) -> Vec<(String, String)> {
    let newest = head.current.as_ref().map(|current| &current.execution_key);
    let is_newest = newest == Some(execution.key());
    let is_so = execution.outcome() == Some(Outcome::Converged) && !execution.drift;
    let is_ended = matches!(execution.phase, Phase::Verified { .. });
    if is_newest && is_ended && !is_so { drifted(execution) } else { Vec::new() }
}

/// A count that somebody has changed since the call is not confirmed by waiting.
fn drifted(execution: &Execution) -> Vec<(String, String)> {
    let (service, desired) = (&execution.intent.service, execution.desired());
    let adopt = format!("scalectl adopt {service} --reason TEXT");
    let adopt = (adopt, "take what is there for what is wished".to_owned());
    let confirm = format!("scalectl observe {} --wait", execution.key());
    let anew = format!("scalectl scale {service}={desired} --reason TEXT");
    let anew = (anew, "wish it anew: another count was read".to_owned());
    let confirm = (confirm, "confirm it, where its count has come back".to_owned());
    let adopt = execution.last_reading.is_some().then_some(adopt);
    std::iter::once(anew).chain(adopt).chain([confirm]).collect()
}
