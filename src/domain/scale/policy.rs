//! What policy is asked and what it answers. The engine lives in `policy/`; the words are here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::provenance::{Provenance, WishSource};
use crate::domain::digest::Digest;
use crate::domain::id::{ActuatorName, ControllerId, EnvironmentName, Replicas, ServiceName};
use crate::domain::time::{DurationMs, Timestamp};

/// What somebody wants to do (design, section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyAction {
    /// Raise the count, or confirm it.
    ScaleUp,
    /// Lower the count.
    ScaleDown,
    /// Lower the count to nothing.
    ScaleToZero,
    /// Ask a person for it.
    Propose,
    /// Answer a proposal.
    Approve,
    /// Pass the cooldown.
    OverrideCooldown,
    /// Break the glass.
    BreakGlass,
    /// End an unknown attempt by one's word.
    Settle,
    /// Vouch for a fact.
    Attest,
    /// Pin a count for a time.
    Override,
    /// Move an environment.
    Relocate,
    /// Change a registration or an actuator.
    Register,
    /// Change the policy.
    SetPolicy,
    /// Everything else about the ledger.
    Administer,
}

impl PolicyAction {
    /// Every action.
    pub const ALL: [Self; 14] = [
        Self::ScaleUp,
        Self::ScaleDown,
        Self::ScaleToZero,
        Self::Propose,
        Self::Approve,
        Self::OverrideCooldown,
        Self::BreakGlass,
        Self::Settle,
        Self::Attest,
        Self::Override,
        Self::Relocate,
        Self::Register,
        Self::SetPolicy,
        Self::Administer,
    ];

    /// The word in policies and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ScaleUp => "scale_up",
            Self::ScaleDown => "scale_down",
            Self::ScaleToZero => "scale_to_zero",
            Self::Propose => "propose",
            Self::Approve => "approve",
            Self::OverrideCooldown => "override_cooldown",
            Self::BreakGlass => "break_glass",
            Self::Settle => "settle",
            Self::Attest => "attest",
            Self::Override => "override",
            Self::Relocate => "relocate",
            Self::Register => "register",
            Self::SetPolicy => "set_policy",
            Self::Administer => "administer",
        }
    }

    /// Open until a policy is set (design, section 4).
    pub const fn is_open_without_policy(self) -> bool {
        matches!(self, Self::Register | Self::SetPolicy | Self::Administer)
    }

    /// The actions that a change of the count asks for; all of them must be permitted.
    ///
    /// An unknown current count asks for both directions; an equal one asks `scale_up`.
    pub fn for_change(current: Option<Replicas>, desired: Replicas) -> Vec<Self> {
        let mut actions = Vec::with_capacity(3);
        if current.is_none_or(|current| desired >= current) {
            actions.push(Self::ScaleUp);
        }
        if current.is_none_or(|current| desired < current) {
            actions.push(Self::ScaleDown);
            if desired == Replicas::MIN {
                actions.push(Self::ScaleToZero);
            }
        }
        actions
    }
}

/// Where a change would bring an environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveTo {
    /// The cell.
    pub cell: String,
    /// Its location.
    pub location: String,
    /// What it would be promised.
    pub profile: String,
}

/// What the action is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum PolicyResource {
    /// A service, with what a rule may look at.
    Service {
        /// Its name.
        name: ServiceName,
        /// Its actuator's name.
        actuator: Option<ActuatorName>,
        /// Its actuator's kind, such as `local`.
        adapter: Option<String>,
        /// Its controller mode.
        mode: String,
        /// Its writer.
        writer: ControllerId,
        /// Its lower bound.
        min: Replicas,
        /// Its upper bound.
        max: Replicas,
        /// Its labels, as tags.
        labels: BTreeMap<String, String>,
    },
    /// An environment, and where a change would bring it.
    Environment {
        /// Its name.
        name: EnvironmentName,
        /// The placement policy that it is under.
        policy: String,
        /// The cell that it serves in.
        cell: String,
        /// The location of that.
        location: String,
        /// What it is promised.
        profile: String,
        /// Where it would be; none where a question is not about a change.
        to: Option<Box<MoveTo>>,
    },
    /// The ledger itself.
    Ledger {
        /// Its id.
        id: String,
    },
}

/// One question to the policy. Absent members are absent in Cedar too, never null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyQuery {
    /// The claim of who asks.
    pub actor: String,
    /// What is asked for.
    pub action: PolicyAction,
    /// About what.
    pub resource: PolicyResource,
    /// The wished count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired: Option<Replicas>,
    /// The count that is believed to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<Replicas>,
    /// Where the wish comes from: `cli`, later `autoscaler`, `gateway` …
    pub source: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who carries it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<ControllerId>,
    /// The operating system's user: what is known, not claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os_user: Option<String>,
    /// The role that the database knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db_role: Option<String>,
    /// Who signed it, by the list of allowed signers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    /// How much was changed lately, where anybody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent: Option<RecentChanges>,
    /// The time of the question; rules see the hour and the weekday in UTC.
    pub at: Timestamp,
}

/// How far back the recent changes go.
pub const CHANGES_WINDOW: DurationMs = DurationMs::from_secs(3600);

/// How many live intents were accepted within the last hour, the one that is asked about not among
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecentChanges {
    /// Of the service that is asked about: what a rate limit looks at.
    pub of_service: u32,
    /// Of all services, where anybody counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_ledger: Option<u32>,
    /// How many services they were of, the one that is asked about always among them: the blast
    /// radius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub services: Option<u32>,
}

/// What of the recent changes a policy looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Counted {
    /// None of them.
    #[default]
    Nothing,
    /// Those of the service that is asked about.
    OfService,
    /// Those of all services.
    OfLedger,
}

impl Counted {
    /// Whether as much was counted.
    pub fn is_in(self, recent: Option<&RecentChanges>) -> bool {
        match self {
            Self::Nothing => true,
            Self::OfService => recent.is_some(),
            Self::OfLedger => recent.is_some_and(|recent| recent.services.is_some()),
        }
    }
}

impl PolicyQuery {
    /// The question of one person, with all that is known of them and no count.
    pub fn of(
        who: &Provenance,
        action: PolicyAction,
        resource: PolicyResource,
        source: WishSource,
        at: Timestamp,
    ) -> Self {
        Self {
            actor: who.actor.to_string(),
            action,
            resource,
            desired: None,
            current: None,
            source: source.as_str().to_owned(),
            reason: None,
            controller: None,
            os_user: Some(who.os_user.clone()),
            db_role: who.db_role.clone(),
            signed_by: who.signed_by.as_ref().map(|signer| signer.principal.clone()),
            recent: None,
            at,
        }
    }
}

/// One rule that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyRule {
    /// Its `@id`.
    pub id: String,
    /// `permit` or `forbid`.
    pub effect: String,
    /// The file that it came from.
    pub file: String,
    /// The line in that file, from 1.
    pub line: u32,
    /// Whether a `forbid` leaves the last word to a colleague: `@unless("approved")`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unless_approved: bool,
}

impl PolicyAnswer {
    /// Whether a colleague may agree to what was refused: nothing permits it, or only rules forbid
    /// it that say so themselves. What could not be evaluated is refused for good.
    pub fn leaves_to_a_colleague(&self) -> bool {
        let is_final = |rule: &PolicyRule| rule.effect == "forbid" && !rule.unless_approved;
        !self.allowed && self.errors.is_empty() && !self.rules.iter().any(is_final)
    }
}

/// The answer of the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyAnswer {
    /// Whether every asked action is permitted.
    pub allowed: bool,
    /// The action that was refused, or the first that was asked.
    pub action: PolicyAction,
    /// The rules that decided, in the order of their file.
    pub rules: Vec<PolicyRule>,
    /// Errors of the evaluation; any of them means that it is not allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// The policy that answered; none where none is set.
    pub policy_digest: Option<Digest>,
}

/// Whoever answers policy questions: the engine, or a fixed answer in tests and models.
pub trait PolicyGate {
    /// Answers one question. Never fails: what cannot be evaluated is not allowed.
    fn answer(&self, query: &PolicyQuery) -> PolicyAnswer;

    /// Answers several questions about the same thing: the first refusal, else one yes with the
    /// rules of all of them.
    fn answer_all(&self, query: &PolicyQuery, actions: &[PolicyAction]) -> PolicyAnswer {
        let mut together: Option<PolicyAnswer> = None;
        for action in actions {
            let answer = self.answer(&PolicyQuery { action: *action, ..query.clone() });
            if !answer.allowed {
                return answer;
            }
            match &mut together {
                None => together = Some(answer),
                Some(first) => {
                    let more = answer.rules.into_iter().filter(|rule| !first.rules.contains(rule));
                    let more: Vec<PolicyRule> = more.collect();
                    first.rules.extend(more);
                }
            }
        }
        together.expect("BUG: a change asks for at least one action")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_asks_for_all_its_actions() {
        use PolicyAction::{ScaleDown, ScaleToZero, ScaleUp};
        let ask = |current: Option<u32>, desired: u32| {
            PolicyAction::for_change(current.map(Replicas::from), Replicas::from(desired))
        };
        assert_eq!(ask(Some(3), 5), [ScaleUp]);
        assert_eq!(ask(Some(3), 3), [ScaleUp]);
        assert_eq!(ask(Some(0), 0), [ScaleUp]);
        assert_eq!(ask(Some(3), 1), [ScaleDown]);
        assert_eq!(ask(Some(3), 0), [ScaleDown, ScaleToZero]);
        assert_eq!(ask(None, 2), [ScaleUp, ScaleDown]);
        assert_eq!(ask(None, 0), [ScaleUp, ScaleDown, ScaleToZero]);
    }
}
