//! What an intent, a refusal and a broken glass say, for the list and for the page.

use crate::domain::scale::execution::Outcome;
use crate::domain::scale::policy::PolicyAnswer;
use crate::domain::scale::provenance::{Provenance, WishSource};
use crate::domain::scale::timeline::{Glass, Story};

/// `5 → 3`, or `? → 3`.
pub(super) fn change(story: &Story) -> String {
    let from = story.current_replicas.map_or_else(|| "?".to_owned(), |count| count.to_string());
    format!("{from} → {}", story.desired_replicas)
}

/// Who, and by which way where that was not a plain command.
pub(super) fn who(story: &Story) -> String {
    match story.source {
        WishSource::Cli => story.by.actor.to_string(),
        source => format!("{} ({})", story.by.actor, source.as_str()),
    }
}

/// The reason, and the reference beside it.
pub(super) fn why(reason: &str, by: &Provenance) -> String {
    match &by.reference {
        Some(reference) => format!("{reason} [{reference}]"),
        None => reason.to_owned(),
    }
}

/// The rules that decided, or that none permits it.
pub(super) fn rules(decision: &PolicyAnswer) -> String {
    let rules: Vec<String> = decision.rules.iter().map(|rule| rule.id.clone()).collect();
    match (rules.is_empty(), decision.allowed, &decision.policy_digest) {
        (false, ..) => rules.join(", "),
        (true, _, None) => "no policy is set".to_owned(),
        (true, true, Some(_)) => "-".to_owned(),
        (true, false, Some(_)) => format!("no rule permits {}", decision.action.as_str()),
    }
}

/// What an intent rests on: the rules, and whose word beside them.
pub(super) fn rests_on(story: &Story) -> String {
    let mut parts = Vec::new();
    if let Some(id) = &story.authorization_id {
        parts.push(format!("BROKEN GLASS {id}"));
    } else {
        parts.push(rules(&story.decision));
    }
    if let Some(approval) = &story.approval {
        parts.push(format!("approved by {}", approval.by.actor));
    }
    parts.join(", ")
}

/// Where it stands, and what it came to.
pub(super) fn came_to(story: &Story) -> String {
    let simulation = if story.dry_run { ", simulation" } else { "" };
    match (story.stands(), story.outcome()) {
        ("unknown", _) => format!("unknown{simulation}"),
        ("verified", Some(outcome)) => format!("{}{simulation}", outcome.as_str()),
        (word, Some(outcome)) => format!("{word}, {}{simulation}", outcome.as_str()),
        (word, None) => format!("{word}{simulation}"),
    }
}

/// Whether a person should look at it.
pub(super) fn is_bad(story: &Story) -> bool {
    matches!(story.outcome(), Some(Outcome::Failed | Outcome::Drifted | Outcome::Unknown))
}

/// What was made of a broken glass.
pub(super) fn after(glass: &Glass) -> String {
    let uses = match glass.uses.len() {
        0 => "not used".to_owned(),
        1 => "used once".to_owned(),
        uses => format!("used {uses} times"),
    };
    match (&glass.review, glass.revoked_at) {
        (Some(review), _) => format!("{uses}, reviewed by {}: {}", review.by.actor, review.reason),
        (None, Some(_)) => format!("{uses}, taken back, NOT REVIEWED"),
        (None, None) => format!("{uses}, NOT REVIEWED"),
    }
}

/// A text of ours in ASCII. What is foreign in it and is not ASCII is shown as what it is.
pub(super) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '→' => out.push_str("->"),
            '…' => out.push('~'),
            c if c.is_ascii() => out.push(c),
            c => out.extend(c.escape_unicode()),
        }
    }
    out
}
