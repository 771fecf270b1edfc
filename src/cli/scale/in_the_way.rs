//! What a broken glass would pass: which rule stands in the way, what cools until when, who holds.

use crate::domain::scale::gates::{Reports, Verdict};
use crate::domain::scale::policy::PolicyAnswer;
use crate::domain::scale::rejection::{MissingFact, Rejection};

/// What stands in the way of a wish without a glass, a part for each.
pub(super) fn in_the_way(reports: &Reports) -> Vec<String> {
    let refusals = reports.all.iter().filter_map(|report| match &report.verdict {
        Verdict::Refused(rejection) => Some(&**rejection),
        Verdict::Passed(_) | Verdict::Yielded(..) | Verdict::Skipped(_) => None,
    });
    refusals
        .filter_map(|rejection| match rejection {
            Rejection::Denied { answer, .. } => Some(told_of(answer)),
            Rejection::ApprovalRequired { .. } => {
                let why = reports.refused.as_ref().map_or_else(String::new, told_of);
                Some(format!("{why}, so a colleague must agree"))
            }
            Rejection::OnHold { hold, .. } => {
                Some(format!("{} holds it until {}: {}", hold.actor, hold.until, hold.reason))
            }
            Rejection::Cooldown { until, .. } => Some(format!("it cools until {until}")),
            Rejection::FactUnknown { fact: fact @ MissingFact::Cooldown { .. }, service } => {
                let fact = fact.clone();
                Some(Rejection::FactUnknown { fact, service: service.clone() }.to_string())
            }
            _ => None,
        })
        .collect()
}

/// The rules of a no.
fn told_of(answer: &PolicyAnswer) -> String {
    let action = answer.action.as_str();
    if !answer.errors.is_empty() {
        return format!("policy fails at {action}: {}", answer.errors.join("; "));
    }
    let forbidding = answer.rules.iter().filter(|rule| rule.effect == "forbid");
    let rules: Vec<String> = forbidding
        .map(|rule| format!("rule \"{}\" ({}:{}) forbids {action}", rule.id, rule.file, rule.line))
        .collect();
    if rules.is_empty() { format!("no rule permits {action}") } else { rules.join("; ") }
}
