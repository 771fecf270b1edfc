//! Answers. A forbid that applies wins, else a permit that applies, else no.
//!
//! Owns the decision, which is stricter than Cedar's own: Cedar skips a rule that cannot be
//! evaluated, even a forbid; here any such rule means no. Never parses Cedar and never sees the
//! schema. Holds no state: the same question to the same policy has the same answer, before and
//! after a crash.

use cedar_policy_core::ast::{Expr, ExprKind, Literal, SlotEnv, ValueKind, Var};
use cedar_policy_core::evaluator::Evaluator;
use cedar_policy_core::extensions::Extensions;

use super::check::{self, CheckedPolicy, PolicySource};
use super::code::{self, CompiledPolicy, LoadError};
use super::error::PolicyError;
use super::question;
use super::schema::{Shape, counted, shape};
use crate::domain::digest::Digest;
use crate::domain::scale::policy::{Counted, PolicyAnswer, PolicyGate, PolicyQuery, PolicyRule};

/// The gate while no policy is set: it denies what touches a target, and leaves open what a person
/// needs to set one.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPolicy;

impl PolicyGate for NoPolicy {
    fn answer(&self, query: &PolicyQuery) -> PolicyAnswer {
        PolicyAnswer {
            allowed: query.action.is_open_without_policy(),
            action: query.action,
            rules: Vec::new(),
            errors: Vec::new(),
            policy_digest: None,
        }
    }
}

/// A policy that answers.
#[derive(Debug)]
pub struct PolicyEngine {
    digest: Digest,
    rules: Vec<(PolicyRule, Expr)>,
    counted: Counted,
}

/// What one rule did with one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleOutcome {
    /// Its condition holds.
    Applies,
    /// Its condition does not hold.
    DoesNotApply,
    /// Its condition could not be evaluated.
    Fails {
        /// Why.
        error: String,
    },
}

/// One rule and what it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleTrace {
    /// The rule.
    pub rule: PolicyRule,
    /// What it did.
    pub outcome: RuleOutcome,
}

/// An answer with every rule, for `policy test`. There are no rules where the question itself has
/// the wrong shape; the answer's errors say why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The answer, the same as the gate's.
    pub answer: PolicyAnswer,
    /// Every rule in the order of the files.
    pub rules: Vec<RuleTrace>,
}

impl PolicyEngine {
    /// Loads compiled rules; the cheap way. After an error, [`Self::derive`] reads the text.
    pub fn load(stored: &CompiledPolicy) -> Result<Self, LoadError> {
        let rules = code::read(stored)?;
        let counted = rules.iter().map(|(_, condition)| counted_in(condition)).max();
        let counted = counted.unwrap_or_default();
        Ok(Self { digest: stored.policy_digest, rules, counted })
    }

    /// Checks the text again and loads what comes of it.
    pub fn derive(sources: &[PolicySource]) -> Result<Self, PolicyError> {
        Self::load(&check::check(sources)?.compiled)
            .map_err(|error| PolicyError::Check { problem: error.to_string() })
    }

    /// Loads a stored policy (a [`CheckedPolicy`] as JSON). Of a good one only the compiled rules
    /// are taken out: the text is the truth, and is read where they are of another version of the
    /// engine.
    pub fn of_document(document: &str) -> Result<Self, PolicyError> {
        #[derive(serde::Deserialize)]
        struct Compiled {
            compiled: CompiledPolicy,
        }
        if let Ok(Compiled { compiled }) = serde_json::from_str(document)
            && let Ok(engine) = Self::load(&compiled)
        {
            return Ok(engine);
        }
        let checked: CheckedPolicy = serde_json::from_str(document)
            .map_err(|error| PolicyError::Check { problem: error.to_string() })?;
        Self::derive(&checked.sources)
    }

    /// The policy's digest.
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// What of the recent changes its rules look at: a question must carry as much.
    pub const fn counted(&self) -> Counted {
        self.counted
    }

    /// Answers and says what every rule did.
    pub fn explain(&self, query: &PolicyQuery) -> Explanation {
        let outcomes = match self.outcomes(query) {
            Ok(outcomes) => outcomes,
            Err(error) => {
                let answer = self.answered(query, false, Vec::new(), vec![error]);
                return Explanation { answer, rules: Vec::new() };
            }
        };
        let answer = self.decide(query, &outcomes);
        let rules = self.rules.iter().zip(outcomes);
        let rules = rules.map(|((rule, _), outcome)| RuleTrace { rule: rule.clone(), outcome });
        Explanation { answer, rules: rules.collect() }
    }

    fn outcomes(&self, query: &PolicyQuery) -> Result<Vec<RuleOutcome>, String> {
        let (request, entities) = question::build(query)?;
        // A rule that asks whether the member is there would silently not apply.
        let is_counted = matches!(shape(query.action), Shape::Care | Shape::Move)
            || self.counted.is_in(query.recent.as_ref());
        if !is_counted {
            return Err("how much was changed lately was not counted".to_owned());
        }
        let evaluator = Evaluator::new(request, &entities, Extensions::none());
        let no_slots = SlotEnv::new();
        let outcome = |condition: &Expr| match evaluator.interpret(condition, &no_slots) {
            Ok(value) => match value.value {
                ValueKind::Lit(Literal::Bool(true)) => RuleOutcome::Applies,
                ValueKind::Lit(Literal::Bool(false)) => RuleOutcome::DoesNotApply,
                _ => RuleOutcome::Fails { error: "the condition is neither true nor false".into() },
            },
            Err(error) => RuleOutcome::Fails { error: error.to_string() },
        };
        Ok(self.rules.iter().map(|(_, condition)| outcome(condition)).collect())
    }

    fn decide(&self, query: &PolicyQuery, outcomes: &[RuleOutcome]) -> PolicyAnswer {
        let of = |wanted: fn(&PolicyRule, &RuleOutcome) -> bool| -> Vec<PolicyRule> {
            let rules = self.rules.iter().zip(outcomes);
            let wanted = rules.filter(|((rule, _), outcome)| wanted(rule, outcome));
            wanted.map(|((rule, _), _)| rule.clone()).collect()
        };
        let errors: Vec<String> = self
            .rules
            .iter()
            .zip(outcomes)
            .filter_map(|((rule, _), outcome)| match outcome {
                RuleOutcome::Fails { error } => {
                    Some(format!("rule {:?} ({}:{}): {error}", rule.id, rule.file, rule.line))
                }
                RuleOutcome::Applies | RuleOutcome::DoesNotApply => None,
            })
            .collect();
        let against = of(|rule, outcome| match outcome {
            RuleOutcome::Fails { .. } => true,
            RuleOutcome::Applies => rule.effect != "permit",
            RuleOutcome::DoesNotApply => false,
        });
        if !against.is_empty() {
            return self.answered(query, false, against, errors);
        }
        let in_favour = of(|_, outcome| *outcome == RuleOutcome::Applies);
        self.answered(query, !in_favour.is_empty(), in_favour, errors)
    }

    fn answered(
        &self,
        query: &PolicyQuery,
        allowed: bool,
        rules: Vec<PolicyRule>,
        errors: Vec<String>,
    ) -> PolicyAnswer {
        let policy_digest = Some(self.digest);
        PolicyAnswer { allowed, action: query.action, rules, errors, policy_digest }
    }
}

/// What of the recent changes a condition looks at.
fn counted_in(condition: &Expr) -> Counted {
    let members = condition.subexpressions().filter_map(|part| match part.expr_kind() {
        ExprKind::HasAttr { expr, attr } | ExprKind::GetAttr { expr, attr }
            if matches!(expr.expr_kind(), ExprKind::Var(Var::Context)) =>
        {
            Some(counted(attr))
        }
        _ => None,
    });
    members.max().unwrap_or_default()
}

impl PolicyGate for PolicyEngine {
    fn answer(&self, query: &PolicyQuery) -> PolicyAnswer {
        match self.outcomes(query) {
            Ok(outcomes) => self.decide(query, &outcomes),
            Err(error) => self.answered(query, false, Vec::new(), vec![error]),
        }
    }
}
