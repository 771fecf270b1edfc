//! What of a policy is valid and most likely not meant, and which rules could permit an action.
//!
//! Owns warnings that are never false: each says what follows from the rules whatever is asked. A
//! rule whose action is only told by its conditions may permit anything, and is never warned of.

use cedar_policy_core::ast::{ActionConstraint, EntityUID, Expr, ExprKind, Var};
use cedar_policy_core::parser::parse_policyset;

use super::check::{CheckedPolicy, CheckedRule, on_a_deep_stack};
use super::error::PolicyError;
use crate::domain::scale::policy::PolicyAction;

/// Something that is most likely not meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// For machines.
    pub code: &'static str,
    /// For people.
    pub text: String,
}

/// The actions that ask for a change of a count.
const CHANGES: [PolicyAction; 3] =
    [PolicyAction::ScaleUp, PolicyAction::ScaleDown, PolicyAction::ScaleToZero];

/// What the head of a rule says of actions.
enum Scope {
    /// Any of them, as far as the head says.
    Any,
    /// These.
    These(Vec<String>),
}

struct Scoped<'p> {
    rule: &'p CheckedRule,
    scope: Scope,
    /// Whether a condition looks at the action.
    asks_which: bool,
    unless_approved: bool,
}

impl Scoped<'_> {
    fn names(&self, action: PolicyAction) -> bool {
        match &self.scope {
            Scope::Any => false,
            Scope::These(names) => names.iter().any(|name| name == action.as_str()),
        }
    }

    fn may_be_about(&self, action: PolicyAction) -> bool {
        matches!(self.scope, Scope::Any) || self.names(action)
    }

    fn is_permit(&self) -> bool {
        self.rule.effect == "permit"
    }

    fn place(&self) -> String {
        place(self.rule)
    }
}

fn place(rule: &CheckedRule) -> String {
    let id = format!("\"{}\"", rule.id);
    if rule.id == format!("{}:{}", rule.file, rule.line) {
        return id;
    }
    format!("{id} ({}:{})", rule.file, rule.line)
}

/// What of a policy is most likely not meant.
pub fn lint(policy: &CheckedPolicy) -> Result<Vec<Finding>, PolicyError> {
    on_a_deep_stack(|| scoped(policy).map(|rules| findings(&rules)))?
}

/// The rules that could permit an action, by id and place, in their order.
pub fn that_may_permit(
    policy: &CheckedPolicy,
    action: PolicyAction,
) -> Result<Vec<String>, PolicyError> {
    let of = |rules: Vec<Scoped<'_>>| {
        let able = rules.iter().filter(|rule| rule.is_permit() && rule.may_be_about(action));
        able.map(Scoped::place).collect()
    };
    on_a_deep_stack(|| scoped(policy).map(of))?
}

fn scoped(policy: &CheckedPolicy) -> Result<Vec<Scoped<'_>>, PolicyError> {
    let mut found = Vec::with_capacity(policy.rules.len());
    for rule in &policy.rules {
        let problem = |problem: String| PolicyError::Check { problem };
        let set = parse_policyset(&rule.text).map_err(|error| problem(error.to_string()))?;
        let parsed = set.static_policies().next();
        let parsed = parsed.ok_or_else(|| problem(format!("{} is no rule", rule.id)))?;
        let name = |uid: &EntityUID| {
            let id: &str = uid.eid().as_ref();
            id.to_owned()
        };
        let scope = match parsed.action_constraint() {
            ActionConstraint::Any => Scope::Any,
            ActionConstraint::Eq(uid) => Scope::These(vec![name(uid)]),
            ActionConstraint::In(uids) => Scope::These(uids.iter().map(|uid| name(uid)).collect()),
        };
        let is_action = |part: &Expr| matches!(part.expr_kind(), ExprKind::Var(Var::Action));
        let conditions = parsed.non_scope_constraints();
        let asks_which = conditions.is_some_and(|it| it.subexpressions().any(is_action));
        let unless = parsed.annotations().any(|(name, _)| name.as_ref() == "unless");
        found.push(Scoped { rule, scope, asks_which, unless_approved: unless });
    }
    Ok(found)
}

fn findings(rules: &[Scoped<'_>]) -> Vec<Finding> {
    let is_answered =
        rules.iter().any(|it| it.is_permit() && it.may_be_about(PolicyAction::Approve));
    let mut found = of_proposals(rules, is_answered);
    let breaks = |it: &&Scoped<'_>| it.is_permit() && it.names(PolicyAction::BreakGlass);
    if let Some(first) = rules.iter().find(breaks).filter(|_| !is_answered) {
        found.push(Finding {
            code: "nobody_reviews",
            text: format!(
                "rule {} lets the glass be broken, and no rule permits approve: nobody could ever \
                 review it",
                first.place()
            ),
        });
    }
    found
}

fn of_proposals(rules: &[Scoped<'_>], is_answered: bool) -> Vec<Finding> {
    let proposes: Vec<&Scoped<'_>> =
        rules.iter().filter(|it| it.is_permit() && it.names(PolicyAction::Propose)).collect();
    if proposes.is_empty() {
        return Vec::new();
    }
    let is_left = |it: &Scoped<'_>| {
        !it.is_permit()
            && it.unless_approved
            && CHANGES.iter().any(|action| it.may_be_about(*action))
    };
    let is_any_left = rules.iter().any(is_left);
    let permits_all =
        |it: &Scoped<'_>| !it.asks_which && CHANGES.iter().all(|action| it.names(*action));
    let mut found: Vec<Finding> = Vec::new();
    let (idle, useful): (Vec<_>, Vec<_>) =
        proposes.into_iter().partition(|it| permits_all(it) && !is_any_left);
    found.extend(idle.iter().map(|it| Finding {
        code: "propose_does_nothing",
        text: format!(
            "rule {} permits propose only where it permits the change itself, and no forbid is \
             @unless(\"approved\"): nothing is ever proposed by it",
            it.place()
        ),
    }));
    let Some(first) = useful.first() else {
        return found;
    };
    if !is_answered {
        found.push(Finding {
            code: "nobody_approves",
            text: format!(
                "rule {} lets a wish be proposed, and no rule permits approve: nobody could ever \
                 agree",
                first.place()
            ),
        });
    }
    let is_final = |it: &&Scoped<'_>| {
        let is_about_a_change = CHANGES.iter().any(|action| it.names(*action));
        let is_meant = it.may_be_about(PolicyAction::Propose);
        !it.is_permit() && !it.unless_approved && is_about_a_change && !is_meant
    };
    found.extend(rules.iter().filter(is_final).map(|it| Finding {
        code: "forbid_is_final",
        text: format!(
            "what rule {} forbids cannot be proposed: @unless(\"approved\") would leave it to a \
             colleague, and propose among its actions says that it is meant",
            it.place()
        ),
    }));
    found
}

#[cfg(test)]
mod tests {
    use super::super::{PolicySource, check};
    use super::*;
    use crate::policy::template::templates;

    fn found(text: &str) -> Vec<(&'static str, String)> {
        let source = PolicySource { file: "p.cedar".to_owned(), text: text.to_owned() };
        let policy = check(&[source]).unwrap_or_else(|error| panic!("{error}: {text}"));
        let found = lint(&policy).expect("it was checked");
        found.into_iter().map(|it| (it.code, it.text)).collect()
    }

    fn rule(effect: &str, actions: &[&str], when: &str) -> String {
        let id = format!("{effect}-{}", actions.join("-"));
        let actions: Vec<String> = actions.iter().map(|it| format!("Action::\"{it}\"")).collect();
        let unless = if effect == "leave" { "@unless(\"approved\") " } else { "" };
        let effect = if effect == "leave" { "forbid" } else { effect };
        format!(
            "@id(\"{id}\") {unless}{effect} (principal, action in [{}], resource is Service) \
             when {{ {when} }};\n",
            actions.join(", ")
        )
    }

    #[test]
    fn what_cannot_do_anything_is_told_and_nothing_else() {
        let all = ["scale_up", "scale_down", "scale_to_zero", "propose"];
        let together = rule("permit", &all, "context.desired <= 10");
        let ask = rule("permit", &["propose"], "true");
        let agree = rule("permit", &["approve"], "true");
        let no = rule("forbid", &["scale_down"], "context.desired < 2");
        let left = rule("leave", &["scale_down"], "context.desired < 2");
        let meant = rule("forbid", &["scale_down", "propose"], "context.desired < 2");
        let glass = rule("permit", &["break_glass"], "true");
        let any = "@id(\"any\") permit (principal, action, resource);\n";
        let told = "@id(\"told\") permit (principal, action, resource is Service) \
                    when { action == Action::\"propose\" };\n";
        let by_action = rule("permit", &all, "action == Action::\"propose\"");
        let fewer = rule("permit", &["scale_up", "scale_down", "propose"], "context.desired < 9");
        for (text, codes) in [
            // One rule for both: it is never asked.
            (vec![&together], vec!["propose_does_nothing"]),
            (vec![&together, &agree, &no], vec!["propose_does_nothing"]),
            (vec![&together, &agree, &left], vec![]),
            (vec![&by_action, &agree], vec![]),
            (vec![&fewer, &agree], vec![]),
            // Nobody could ever agree.
            (vec![&ask], vec!["nobody_approves"]),
            (vec![&together, &left], vec!["nobody_approves"]),
            (vec![&ask, &agree], vec![]),
            (vec![&ask, &any.to_owned()], vec![]),
            (vec![&told.to_owned()], vec![]),
            // A forbid that nobody may pass.
            (vec![&ask, &agree, &no], vec!["forbid_is_final"]),
            (vec![&ask, &agree, &left], vec![]),
            (vec![&ask, &agree, &meant], vec![]),
            (vec![&any.to_owned(), &no], vec![]),
            // A glass that nobody could ever review.
            (vec![&glass], vec!["nobody_reviews"]),
            (vec![&ask, &glass], vec!["nobody_approves", "nobody_reviews"]),
            (vec![&glass, &agree], vec![]),
            (vec![&any.to_owned(), &glass], vec![]),
        ] {
            let text: String = text.into_iter().map(String::as_str).collect();
            let seen: Vec<&str> = found(&text).into_iter().map(|(code, _)| code).collect();
            assert_eq!(seen, codes, "{text}");
        }
        let (_, text) = found(&format!("\n{ask}")).remove(0);
        assert!(text.contains("rule \"permit-propose\" (p.cedar:2) lets a wish"), "{text}");
    }

    #[test]
    fn every_template_is_free_of_findings_and_permits_what_its_verbs_ask() {
        use PolicyAction as A;
        let mut permitted = std::collections::BTreeSet::new();
        for template in templates("dev") {
            let source = PolicySource { file: "t".to_owned(), text: template.text };
            let policy = check(&[source]).expect("a template is valid");
            assert_eq!(lint(&policy), Ok(Vec::new()), "{}", template.name);
            let may = |action| !that_may_permit(&policy, action).expect("checked").is_empty();
            let of_services: &[A] = match template.name {
                "placement" => &[A::Relocate],
                _ => &[A::ScaleUp, A::Settle, A::Attest, A::Override],
            };
            for action in of_services.iter().copied() {
                assert!(may(action), "{} permits {} to nobody", template.name, action.as_str());
            }
            permitted.extend(A::ALL.into_iter().filter(|action| may(*action)));
        }
        let never: Vec<_> = A::ALL.into_iter().filter(|it| !permitted.contains(it)).collect();
        assert_eq!(never, []);
    }
}
