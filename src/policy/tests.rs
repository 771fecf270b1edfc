//! Rows: what is refused at the check, and what is answered.

mod moves;

use std::collections::BTreeMap;
use std::path::Path;

use super::template::{starter, templates};
use super::*;
use crate::domain::id::Replicas;
use crate::domain::scale::policy::{PolicyAction, PolicyGate, PolicyQuery, PolicyResource};

fn source(text: &str) -> PolicySource {
    PolicySource { file: "t.cedar".into(), text: text.into() }
}

fn checked(text: &str) -> CheckedPolicy {
    check(&[source(text)]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn engine(text: &str) -> PolicyEngine {
    PolicyEngine::load(&checked(text).compiled).expect("BUG: what was just compiled loads")
}

fn service() -> PolicyResource {
    PolicyResource::Service {
        name: "web".parse().unwrap(),
        actuator: Some("procs".parse().unwrap()),
        adapter: Some("local".into()),
        mode: "native".into(),
        writer: "ops".parse().unwrap(),
        min: Replicas::from(0),
        max: Replicas::from(20),
        labels: BTreeMap::from([("tier".into(), "front".into())]),
    }
}

fn ask(action: PolicyAction, current: Option<u32>, desired: u32) -> PolicyQuery {
    PolicyQuery {
        actor: "ci".into(),
        action,
        resource: service(),
        desired: Some(Replicas::from(desired)),
        current: current.map(Replicas::from),
        source: "cli".into(),
        reason: Some("release 418".into()),
        controller: Some("ops".parse().unwrap()),
        os_user: Some("dev".into()),
        db_role: None,
        signed_by: None,
        recent: None,
        at: "2026-03-02T08:30:00Z".parse().unwrap(),
    }
}

fn ask_ledger(action: PolicyAction) -> PolicyQuery {
    let resource = PolicyResource::Ledger { id: "l-1".into() };
    PolicyQuery { resource, desired: None, controller: None, ..ask(action, None, 0) }
}

fn ids(answer: &crate::domain::scale::policy::PolicyAnswer) -> Vec<&str> {
    answer.rules.iter().map(|rule| rule.id.as_str()).collect()
}

/// Every file in `fixtures/policies/refused` begins with a line `// expect: ` and a part of the
/// refusal.
#[test]
fn what_must_be_refused_is_refused_where_it_stands() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/policies/refused");
    let mut rows = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let expected = text.lines().next().and_then(|line| line.strip_prefix("// expect: "));
        let expected = expected.unwrap_or_else(|| panic!("{path:?} expects nothing"));
        let error = match check(&[source(&text)]) {
            Ok(_) => panic!("{path:?} is accepted"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(expected), "{path:?}\n expected {expected}\n was {error}");
        rows += 1;
    }
    assert!(rows >= 15, "{rows} rows only");
}

#[test]
fn bounds_are_refused_with_their_figures() {
    let rule = "permit (principal, action == Action::\"settle\", resource is Service);\n";
    let long = format!("//{}\n{rule}", "x".repeat(check::POLICY_BYTES_MAX));
    let many = rule.repeat(check::RULES_MAX + 1);
    for (text, expected) in [
        ("", "the policy has no rules"),
        ("// only words\n", "the policy has no rules"),
        (long.as_str(), "bytes long; at most 262144"),
        (many.as_str(), "has 501 rules; at most 500"),
    ] {
        let error = check(&[source(text)]).expect_err("out of bounds").to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(checked(&rule.repeat(check::RULES_MAX)).rules.len(), check::RULES_MAX);
    assert_eq!(check(&[]).expect_err("nothing"), PolicyError::Empty);
}

#[test]
fn no_text_breaks_the_check() {
    let head = "permit (principal, action == Action::\"settle\", resource is Service) when { ";
    for body in [
        "context.source==\"\"&&".repeat(390) + "true",
        "context.source==\"\"||".repeat(390) + "true",
        "1 + ".repeat(2000) + "1 == 1",
        "if context.hour_utc==1 then ".repeat(200) + "true" + &" else true".repeat(200),
        "!(".repeat(60) + "context.source == \"\"" + &")".repeat(60),
        "!".repeat(5000) + "true",
        "-".repeat(5000) + "1 == 1",
        "context".to_owned() + &".a".repeat(3900),
        "[".repeat(64),
        "context has ".to_owned() + &"a.".repeat(3900) + "a",
        "\"".to_owned(),
        "\"\\".to_owned(),
        "\u{0}".to_owned(),
        "\u{202e}\"é\"".to_owned(),
        "\"\\u{110000}\" == \"\"".to_owned(),
        "99999999999999999999 == 1".to_owned(),
    ] {
        let short: String = body.chars().take(40).collect();
        match check(&[source(&format!("{head}{body} }};"))]) {
            Ok(_) | Err(PolicyError::Check { .. }) => panic!("{short}"),
            Err(_) => {}
        }
    }
}

#[test]
fn ids_come_from_the_annotation_or_the_place() {
    let first = "\n@id(\"a\")\npermit (principal, action == Action::\"settle\", resource is Service);\n\
                 forbid (principal, action == Action::\"settle\", resource is Service);";
    let second = PolicySource { file: "b.cedar".into(), text: first.replace("\"a\"", "\"b\"") };
    let policy = check(&[source(first), second]).unwrap();
    let rules: Vec<_> = policy
        .rules
        .iter()
        .map(|rule| format!("{} {} {}:{}", rule.id, rule.effect, rule.file, rule.line))
        .collect();
    assert_eq!(
        rules,
        [
            "a permit t.cedar:2",
            "t.cedar:4 forbid t.cedar:4",
            "b permit b.cedar:2",
            "b.cedar:4 forbid b.cedar:4",
        ]
    );
    assert!(policy.rules[0].text.starts_with("@id(\"a\")"), "{}", policy.rules[0].text);
    assert!(policy.text().starts_with("// file: t.cedar\n\n@id"));
}

#[test]
fn a_checked_policy_survives_the_ledger() {
    let policy = checked(&starter("dev"));
    let text = serde_json::to_string(&policy).unwrap();
    assert_eq!(serde_json::from_str::<CheckedPolicy>(&text).unwrap(), policy);
    assert_eq!(check(&policy.sources).unwrap(), policy, "everything is derived from the sources");
    assert_eq!(PolicyEngine::derive(&policy.sources).unwrap().digest(), policy.digest);
    let renamed = PolicySource { file: "u.cedar".into(), ..policy.sources[0].clone() };
    assert_ne!(check(&[renamed]).unwrap().digest, policy.digest);
}

#[test]
fn no_policy_denies_what_touches_a_target() {
    for action in PolicyAction::ALL {
        let answer = NoPolicy.answer(&ask(action, Some(1), 2));
        assert_eq!(answer.allowed, action.is_open_without_policy(), "{}", action.as_str());
        assert!(answer.rules.is_empty() && answer.errors.is_empty());
        assert_eq!(answer.policy_digest, None);
    }
}

const PERMIT: &str =
    "@id(\"all\") permit (principal, action == Action::\"scale_up\", resource is Service);\n";

#[test]
fn rules_decide_and_are_named() {
    use PolicyAction::{ScaleDown, ScaleUp};
    let forbid = |when: &str| {
        format!(
            "{PERMIT}@id(\"no\") forbid (principal, action == Action::\"scale_up\", resource is Service) when {{ {when} }};"
        )
    };
    let rows = [
        ("context.desired > 4", true, "no"),
        ("context.desired > 5", false, "all"),
        ("resource.hasTag(\"tier\") && resource.getTag(\"tier\") == \"front\"", true, "no"),
        ("resource.hasTag(\"team\") && resource.getTag(\"team\") == \"front\"", false, "all"),
        ("context has current && context.current < 3", false, "all"),
        ("context has delta && context.delta == 2", true, "no"),
        ("context.hour_utc == 8 && context.weekday == 1", true, "no"),
        ("context has reason && context.reason like \"release *\"", true, "no"),
        ("context has controller && context.controller == resource.writer", true, "no"),
        ("principal == Actor::\"ci\"", true, "no"),
        ("resource == Service::\"web\" && resource.max == 20 && resource.min == 0", true, "no"),
        ("resource has actuator && resource.actuator == \"procs\"", true, "no"),
        ("resource.mode == \"native\" && context.source == \"cli\"", true, "no"),
    ];
    for (when, denied, rule) in rows {
        let answer = engine(&forbid(when)).answer(&ask(ScaleUp, Some(3), 5));
        assert_eq!((answer.allowed, ids(&answer)), (!denied, vec![rule]), "{when}");
        assert!(answer.errors.is_empty() && answer.policy_digest.is_some());
    }
    let answer = engine(PERMIT).answer(&ask(ScaleDown, Some(5), 3));
    assert_eq!((answer.allowed, ids(&answer)), (false, vec![]));
    let answer = engine(&forbid("true")).answer(&ask(ScaleUp, None, 1));
    assert_eq!((answer.rules[0].file.as_str(), answer.rules[0].line), ("t.cedar", 2));
}

#[test]
fn what_cannot_be_evaluated_denies() {
    // Cedar alone skips the forbid and allows.
    let overflow = "9223372036854775807 + context.desired > 0";
    for (effect, when) in [("forbid", overflow), ("permit", overflow)] {
        let text = format!(
            "{PERMIT}@id(\"bad\") {effect} (principal, action == Action::\"scale_up\", resource is Service) when {{ {when} }};"
        );
        let answer = engine(&text).answer(&ask(PolicyAction::ScaleUp, Some(1), 2));
        assert_eq!((answer.allowed, ids(&answer)), (false, vec!["bad"]));
        assert!(answer.errors[0].starts_with("rule \"bad\" (t.cedar:2): "), "{:?}", answer.errors);
        assert!(answer.errors[0].contains("overflow"), "{:?}", answer.errors);
    }
}

#[test]
fn a_misshapen_question_is_denied() {
    let all = "permit (principal, action, resource);";
    let no_count = PolicyQuery { desired: None, ..ask(PolicyAction::ScaleUp, None, 1) };
    for (query, error) in [
        (no_count, "the question scale_up names no count"),
        (ask(PolicyAction::Register, None, 1), "the question register is about a ledger"),
        (ask_ledger(PolicyAction::Settle), "the question settle is about a service"),
    ] {
        let answer = engine(all).answer(&query);
        assert!(!answer.allowed && answer.errors[0].contains(error), "{:?}", answer.errors);
        assert!(engine(all).explain(&query).rules.is_empty());
    }
}

#[test]
fn claims_mean_only_themselves() {
    let text = "@id(\"ci\") permit (principal == Actor::\"ci\", action == Action::\"scale_up\", resource is Service);";
    let engine = engine(text);
    let long = "\"".repeat(256);
    for claim in [
        "",
        "ci\"",
        "ci\\",
        "\"ci\"",
        "Actor::\"ci\"",
        "ci\n",
        "ci\0",
        "\u{202e}ic",
        "сi",
        "ci\" || principal == Actor::\"x",
        long.as_str(),
    ] {
        let query = PolicyQuery { actor: claim.into(), ..ask(PolicyAction::ScaleUp, None, 1) };
        assert!(!engine.answer(&query).allowed, "{claim:?}");
        let query =
            PolicyQuery { reason: Some(claim.into()), os_user: Some(claim.into()), ..query };
        assert!(!engine.answer(&query).allowed, "{claim:?}");
    }
    assert!(engine.answer(&ask(PolicyAction::ScaleUp, None, 1)).allowed);
}

#[test]
fn an_explanation_shows_every_rule() {
    let text = format!(
        "{PERMIT}@id(\"zero\") forbid (principal, action == Action::\"scale_to_zero\", resource is Service);\n\
         @id(\"bad\") permit (principal, action == Action::\"scale_up\", resource is Service) when {{ context.desired * 9223372036854775807 > 0 }};"
    );
    let engine = engine(&text);
    let query = ask(PolicyAction::ScaleUp, Some(1), 2);
    let explanation = engine.explain(&query);
    assert_eq!(explanation.answer, engine.answer(&query));
    let outcomes: Vec<_> = explanation
        .rules
        .iter()
        .map(|trace| match &trace.outcome {
            RuleOutcome::Applies => format!("{} applies", trace.rule.id),
            RuleOutcome::DoesNotApply => format!("{} does not apply", trace.rule.id),
            RuleOutcome::Fails { .. } => format!("{} fails", trace.rule.id),
        })
        .collect();
    assert_eq!(outcomes, ["all applies", "zero does not apply", "bad fails"]);
}

#[test]
fn the_starter_permits_this_user_and_nobody_else() {
    use PolicyAction as A;
    let engine = engine(&starter("dev"));
    for action in A::ALL {
        let ledger = matches!(action, A::Register | A::SetPolicy | A::Administer);
        let query =
            |desired| if ledger { ask_ledger(action) } else { ask(action, Some(3), desired) };
        let not = [A::Approve, A::BreakGlass, A::OverrideCooldown, A::Propose, A::Relocate];
        assert_eq!(
            engine.answer(&query(10)).allowed,
            !not.contains(&action),
            "{}",
            action.as_str()
        );
        let other = PolicyQuery { os_user: Some("eve".into()), actor: "dev".into(), ..query(10) };
        assert!(!engine.answer(&other).allowed, "{}", action.as_str());
        let nobody = PolicyQuery { os_user: None, ..query(10) };
        assert!(!engine.answer(&nobody).allowed, "{}", action.as_str());
    }
    assert!(!engine.answer(&ask(A::ScaleUp, Some(3), 11)).allowed);
    let mut elsewhere = ask(A::ScaleUp, Some(3), 4);
    if let PolicyResource::Service { adapter, .. } = &mut elsewhere.resource {
        *adapter = None;
    }
    assert!(!engine.answer(&elsewhere).allowed);
}

#[test]
fn templates_pass_the_check_whoever_the_user_is() {
    for user in ["dev", "o'brien", "a\"b\\c\n", "DOMAIN\\user", "jürgen"] {
        for template in templates(user) {
            let policy = check(&[source(&template.text)]);
            let policy = policy.unwrap_or_else(|error| panic!("{} {error}", template.name));
            let engine = PolicyEngine::load(&policy.compiled).unwrap();
            let set =
                PolicyQuery { os_user: Some(user.into()), ..ask_ledger(PolicyAction::SetPolicy) };
            assert!(engine.answer(&set).allowed, "{} locks {user:?} out", template.name);
        }
    }
}

#[test]
fn business_hours_turn_on_the_hour() {
    let text = templates("dev").into_iter().find(|it| it.name == "business-hours").unwrap().text;
    let engine = engine(&text);
    for (at, allowed) in [
        ("2026-03-02T07:59:59.999999Z", false),
        ("2026-03-02T08:00:00Z", true),
        ("2026-03-02T17:59:59.999999Z", true),
        ("2026-03-02T18:00:00Z", false),
        ("2026-03-06T17:59:59Z", true),
        ("2026-03-07T12:00:00Z", false),
        ("2026-03-08T12:00:00Z", false),
    ] {
        let at = at.parse().unwrap();
        let query = PolicyQuery { at, ..ask(PolicyAction::ScaleDown, Some(9), 2) };
        assert_eq!(engine.answer(&query).allowed, allowed, "{at}");
    }
}

/// A rule that asks whether a member is there would silently not apply: a question that carries
/// less than the rules look at has no answer.
#[test]
fn a_question_that_counts_too_little_is_a_no() {
    use crate::domain::scale::policy::{Counted, RecentChanges};
    let all = "@id(\"all\") permit (principal, action, resource);";
    let forbid = |member: &str| {
        format!(
            "{all} @id(\"limit\") forbid (principal, action == Action::\"scale_up\", resource is \
             Service) when {{ context has {member} && context.{member} >= 3 }};"
        )
    };
    let of_service = RecentChanges { of_service: 2, of_ledger: None, services: None };
    let of_ledger = RecentChanges { of_ledger: Some(2), services: Some(1), ..of_service };
    let much = RecentChanges { of_service: 3, of_ledger: Some(3), services: Some(3) };
    for (member, counted) in [
        ("service_changes_last_hour", Counted::OfService),
        ("ledger_changes_last_hour", Counted::OfLedger),
        ("services_changed_last_hour", Counted::OfLedger),
    ] {
        let engine = engine(&forbid(member));
        assert_eq!(engine.counted(), counted, "{member}");
        let answer = |recent| {
            engine.answer(&PolicyQuery { recent, ..ask(PolicyAction::ScaleUp, Some(1), 2) })
        };
        let uncounted = answer(None);
        assert!(!uncounted.allowed && uncounted.errors.len() == 1, "{member}: {uncounted:?}");
        let half = answer(Some(of_service));
        assert_eq!(half.allowed, counted == Counted::OfService, "{member}: {half:?}");
        assert!(answer(Some(of_ledger)).allowed, "{member}");
        assert_eq!(ids(&answer(Some(much))), ["limit"], "{member}");
        // The ledger itself has no changes of a count.
        assert!(engine.answer(&ask_ledger(PolicyAction::Administer)).allowed, "{member}");
    }
    assert_eq!(engine(all).counted(), Counted::Nothing);
}
