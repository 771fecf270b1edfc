//! Compiled rules: what a process reads instead of Cedar text.
//!
//! Cedar's parser, and its JSON reader through the registry of extension functions, compile their
//! lexers at first use, which is most of what a one-shot process would spend on a decision. So the
//! check keeps each rule's condition as plain data; loading builds the expression directly.
//!
//! Owns that format. Never interprets an expression, and never trusts the data alone: it names the
//! policy's digest and has one of its own. Data that is damaged or of another format is an error,
//! and the caller derives it again from the text, which stays the truth.

use std::collections::BTreeMap;

use cedar_policy_core::ast::{BinaryOp, Expr, ExprKind, Literal, PatternElem, UnaryOp, Var};
use serde::{Deserialize, Serialize};

use super::names::{entity, entity_type};
use crate::domain::digest::Digest;
use crate::domain::scale::policy::PolicyRule;

/// The format of the data and the engine that it was made for.
pub(crate) const FORMAT: &str = "scalectl.policy-code/1 cedar 4.14.1";

/// How deep conditions may be nested. Half of what the reader of JSON follows.
pub(crate) const DEPTH_MAX: usize = 50;

/// How many terms one chain of `&&`, `||` or other operators may have.
pub(crate) const TERMS_MAX: usize = 200;

/// The compiled form of a policy, kept beside its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompiledPolicy {
    /// The policy that it was made of.
    pub policy_digest: Digest,
    /// The SHA-256 of `code`.
    pub code_digest: Digest,
    /// The rules, as JSON text.
    pub code: String,
}

/// Why compiled rules cannot be used. The text of the policy is not affected: derive them again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The bytes are not those that were stored.
    #[error("loading the compiled policy {policy}: its bytes have digest {actual}, not {expected}")]
    Damaged {
        /// The policy.
        policy: Digest,
        /// As stored.
        expected: Digest,
        /// As found.
        actual: Digest,
    },
    /// The bytes are of another policy.
    #[error("loading the compiled policy {expected}: its bytes belong to policy {actual}")]
    OtherPolicy {
        /// As stored.
        expected: Digest,
        /// As found.
        actual: Digest,
    },
    /// Another format, as after a change of version.
    #[error("loading the compiled policy {policy}: its format is {found:?}, not {FORMAT:?}")]
    OtherFormat {
        /// The policy.
        policy: Digest,
        /// As found, at most 80 characters of it.
        found: String,
    },
    /// Not rules.
    #[error("loading the compiled policy {policy}: {problem}")]
    Malformed {
        /// The policy.
        policy: Digest,
        /// What is wrong.
        problem: String,
    },
}

/// Why a condition cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EncodeError {
    /// Deeper than [`DEPTH_MAX`].
    TooDeep,
    /// More than [`TERMS_MAX`] terms in one chain.
    TooLong,
    /// A construct that has no use with our schema.
    Unsupported(&'static str),
}

/// One expression. Chains of `&&` and `||` are kept flat, as `a && b && c` is read by people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Node {
    Bool(bool),
    Long(i64),
    Text(String),
    Entity(String, String),
    Principal,
    Action,
    Resource,
    Context,
    If(Box<(Node, Node, Node)>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Unary(String, Box<Node>),
    Binary(String, Box<(Node, Node)>),
    Get(Box<Node>, String),
    Has(Box<Node>, String),
    /// A wildcard is nothing.
    Like(Box<Node>, Vec<Option<char>>),
    Is(Box<Node>, String),
    Set(Vec<Node>),
    Record(BTreeMap<String, Node>),
}

const UNARY: [(UnaryOp, &str); 3] =
    [(UnaryOp::Not, "not"), (UnaryOp::Neg, "neg"), (UnaryOp::IsEmpty, "is_empty")];

const BINARY: [(BinaryOp, &str); 12] = [
    (BinaryOp::Eq, "eq"),
    (BinaryOp::Less, "less"),
    (BinaryOp::LessEq, "less_eq"),
    (BinaryOp::Add, "add"),
    (BinaryOp::Sub, "sub"),
    (BinaryOp::Mul, "mul"),
    (BinaryOp::In, "in"),
    (BinaryOp::Contains, "contains"),
    (BinaryOp::ContainsAll, "contains_all"),
    (BinaryOp::ContainsAny, "contains_any"),
    (BinaryOp::GetTag, "get_tag"),
    (BinaryOp::HasTag, "has_tag"),
];

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Code {
    format: String,
    policy: Digest,
    rules: Vec<(PolicyRule, Node)>,
}

/// Writes rules down.
pub(crate) fn write(policy: Digest, rules: Vec<(PolicyRule, Node)>) -> CompiledPolicy {
    let code = serde_json::to_string(&Code { format: FORMAT.to_owned(), policy, rules })
        .expect("BUG: plain data that is not JSON");
    CompiledPolicy { policy_digest: policy, code_digest: Digest::of(code.as_bytes()), code }
}

/// Reads rules back, each with its condition.
pub(crate) fn read(stored: &CompiledPolicy) -> Result<Vec<(PolicyRule, Expr)>, LoadError> {
    let policy = stored.policy_digest;
    let actual = Digest::of(stored.code.as_bytes());
    if actual != stored.code_digest {
        return Err(LoadError::Damaged { policy, expected: stored.code_digest, actual });
    }
    let malformed = |problem: String| LoadError::Malformed { policy, problem };
    let code: Code =
        serde_json::from_str(&stored.code).map_err(|error| malformed(error.to_string()))?;
    if code.format != FORMAT {
        let found = code.format.chars().take(80).collect();
        return Err(LoadError::OtherFormat { policy, found });
    }
    if code.policy != policy {
        return Err(LoadError::OtherPolicy { expected: policy, actual: code.policy });
    }
    code.rules
        .into_iter()
        .map(|(rule, node)| match decode(node) {
            Ok(condition) => Ok((rule, condition)),
            Err(problem) => Err(malformed(format!("rule {:?}: {problem}", rule.id))),
        })
        .collect()
}

/// Makes data of an expression.
pub(crate) fn encode(expr: &Expr) -> Result<Node, EncodeError> {
    encode_at(expr, DEPTH_MAX)
}

fn encode_at(expr: &Expr, depth: usize) -> Result<Node, EncodeError> {
    let depth = depth.checked_sub(1).ok_or(EncodeError::TooDeep)?;
    let sub = |expr: &Expr| encode_at(expr, depth);
    let boxed = |expr: &Expr| encode_at(expr, depth).map(Box::new);
    let all = |exprs: &[Expr]| exprs.iter().map(sub).collect::<Result<Vec<_>, _>>();
    Ok(match expr.expr_kind() {
        ExprKind::Lit(Literal::Bool(value)) => Node::Bool(*value),
        ExprKind::Lit(Literal::Long(value)) => Node::Long(*value),
        ExprKind::Lit(Literal::String(value)) => Node::Text(value.to_string()),
        ExprKind::Lit(Literal::EntityUID(uid)) => {
            let id: &str = uid.eid().as_ref();
            Node::Entity(uid.entity_type().to_string(), id.to_owned())
        }
        ExprKind::Var(Var::Principal) => Node::Principal,
        ExprKind::Var(Var::Action) => Node::Action,
        ExprKind::Var(Var::Resource) => Node::Resource,
        ExprKind::Var(Var::Context) => Node::Context,
        ExprKind::If { test_expr, then_expr, else_expr } => {
            Node::If(Box::new((sub(test_expr)?, sub(then_expr)?, sub(else_expr)?)))
        }
        ExprKind::And { .. } => Node::And(chain(expr, depth, |expr| match expr.expr_kind() {
            ExprKind::And { left, right } => Some((left, right)),
            _ => None,
        })?),
        ExprKind::Or { .. } => Node::Or(chain(expr, depth, |expr| match expr.expr_kind() {
            ExprKind::Or { left, right } => Some((left, right)),
            _ => None,
        })?),
        ExprKind::UnaryApp { op, arg } => Node::Unary(word(&UNARY, op)?, boxed(arg)?),
        ExprKind::BinaryApp { op, arg1, arg2 } => {
            Node::Binary(word(&BINARY, op)?, Box::new((sub(arg1)?, sub(arg2)?)))
        }
        ExprKind::GetAttr { expr, attr } => Node::Get(boxed(expr)?, attr.to_string()),
        ExprKind::HasAttr { expr, attr } => Node::Has(boxed(expr)?, attr.to_string()),
        ExprKind::Like { expr, pattern } => {
            let elements = pattern.iter().map(|element| match element {
                PatternElem::Char(character) => Some(*character),
                PatternElem::Wildcard => None,
            });
            Node::Like(boxed(expr)?, elements.collect())
        }
        ExprKind::Is { expr, entity_type } => Node::Is(boxed(expr)?, entity_type.to_string()),
        ExprKind::Set(items) => Node::Set(all(items)?),
        ExprKind::Record(members) => {
            let members = members.iter().map(|(name, expr)| Ok((name.to_string(), sub(expr)?)));
            Node::Record(members.collect::<Result<_, _>>()?)
        }
        ExprKind::ExtensionFunctionApp { .. } => {
            return Err(EncodeError::Unsupported("an extension function"));
        }
        ExprKind::ExtHasAttr { .. } => {
            return Err(EncodeError::Unsupported("`has` with a path"));
        }
        ExprKind::Slot(_) | ExprKind::Unknown(_) => {
            return Err(EncodeError::Unsupported("a slot"));
        }
    })
}

/// The terms of a chain that leans to the left, in their order.
fn chain<'a>(
    expr: &'a Expr,
    depth: usize,
    split: impl Fn(&'a Expr) -> Option<(&'a std::sync::Arc<Expr>, &'a std::sync::Arc<Expr>)>,
) -> Result<Vec<Node>, EncodeError> {
    let mut terms = Vec::new();
    let mut rest = expr;
    while let Some((left, right)) = split(rest) {
        if terms.len() == TERMS_MAX {
            return Err(EncodeError::TooLong);
        }
        terms.push(encode_at(right, depth)?);
        rest = left;
    }
    terms.push(encode_at(rest, depth)?);
    terms.reverse();
    Ok(terms)
}

fn word<T: PartialEq>(words: &[(T, &str)], op: &T) -> Result<String, EncodeError> {
    let found = words.iter().find(|(known, _)| known == op);
    found.map(|(_, word)| (*word).to_owned()).ok_or(EncodeError::Unsupported("an operator"))
}

fn op<T: Copy>(words: &[(T, &str)], word: &str) -> Result<T, String> {
    let found = words.iter().find(|(_, known)| *known == word);
    found.map(|(op, _)| *op).ok_or_else(|| format!("no operator {word:?}"))
}

/// Makes an expression of data. The reader of JSON has bounded the depth.
fn decode(node: Node) -> Result<Expr, String> {
    let all = |nodes: Vec<Node>| nodes.into_iter().map(decode).collect::<Result<Vec<_>, _>>();
    let fold = |nodes: Vec<Node>, join: fn(Expr, Expr) -> Expr| {
        all(nodes)?.into_iter().reduce(join).ok_or_else(|| "a chain without terms".to_owned())
    };
    Ok(match node {
        Node::Bool(value) => Expr::val(value),
        Node::Long(value) => Expr::val(value),
        Node::Text(value) => Expr::val(value.as_str()),
        Node::Entity(type_name, id) => Expr::val(entity(&type_name, &id)?),
        Node::Principal => Expr::var(Var::Principal),
        Node::Action => Expr::var(Var::Action),
        Node::Resource => Expr::var(Var::Resource),
        Node::Context => Expr::var(Var::Context),
        Node::If(parts) => Expr::ite(decode(parts.0)?, decode(parts.1)?, decode(parts.2)?),
        Node::And(terms) => fold(terms, Expr::and)?,
        Node::Or(terms) => fold(terms, Expr::or)?,
        Node::Unary(word, arg) => Expr::unary_app(op(&UNARY, &word)?, decode(*arg)?),
        Node::Binary(word, args) => {
            Expr::binary_app(op(&BINARY, &word)?, decode(args.0)?, decode(args.1)?)
        }
        Node::Get(expr, attr) => Expr::get_attr(decode(*expr)?, attr.into()),
        Node::Has(expr, attr) => Expr::has_attr(decode(*expr)?, attr.into()),
        Node::Like(expr, elements) => {
            let elements = elements.into_iter().map(|element| match element {
                Some(character) => PatternElem::Char(character),
                None => PatternElem::Wildcard,
            });
            Expr::like(decode(*expr)?, elements.collect::<Vec<_>>().into())
        }
        Node::Is(expr, type_name) => Expr::is_entity_type(decode(*expr)?, entity_type(&type_name)?),
        Node::Set(nodes) => Expr::set(all(nodes)?),
        Node::Record(members) => {
            let members = members.into_iter().map(|(name, node)| Ok((name.into(), decode(node)?)));
            let members = members.collect::<Result<Vec<_>, String>>()?;
            Expr::record(members).map_err(|error| error.to_string())?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cedar_policy_core::parser::parse_policyset;

    fn condition(when: &str) -> Expr {
        let text = format!("permit (principal, action, resource) when {{ {when} }};");
        let set = parse_policyset(&text).expect("BUG: a test's policy");
        set.policies().next().expect("BUG: one policy").condition()
    }

    fn nested(times: usize) -> Expr {
        (0..times).fold(Expr::val(true), |expr, _| Expr::not(expr))
    }

    #[test]
    fn an_expression_survives_its_data() {
        for when in [
            "true && (false || !true)",
            "principal == Actor::\"a\\\"b\" && action in [Action::\"x\", Action::\"y\"]",
            "resource is Service && resource has adapter && resource.adapter like \"lo*\\*al\"",
            "resource.hasTag(\"tier\") && resource.getTag(\"tier\") != \"front\"",
            "if context.a < 1 then context.b >= -2 else context.c * 3 + 4 - 5 <= 6",
            "[1, 2].contains(3) || [1].containsAll([2]) || [1].containsAny([2]) || [1].isEmpty()",
            "{a: 1, \"b c\": \"d\"}.a == 1",
            "context[\"if\"] == -9223372036854775808",
            "principal in resource && context has \"with space\"",
        ] {
            let expr = condition(when);
            let node = encode(&expr).unwrap_or_else(|error| panic!("{when}: {error:?}"));
            let text = serde_json::to_string(&node).unwrap();
            let back: Node = serde_json::from_str(&text).unwrap();
            assert_eq!(decode(back), Ok(expr), "{text}");
        }
    }

    #[test]
    fn what_has_no_use_or_no_bound_is_not_compiled() {
        assert_eq!(encode(&nested(DEPTH_MAX)), Err(EncodeError::TooDeep));
        let long = "context.a && ".repeat(TERMS_MAX + 1) + "true";
        for (when, error) in [
            (
                "decimal(\"1.0\") == decimal(\"2.0\")",
                EncodeError::Unsupported("an extension function"),
            ),
            ("context has a.b", EncodeError::Unsupported("`has` with a path")),
            (long.as_str(), EncodeError::TooLong),
        ] {
            assert_eq!(encode(&condition(when)), Err(error), "{when}");
        }
    }

    #[test]
    fn the_deepest_data_is_read_back() {
        let expr = nested(DEPTH_MAX - 1);
        let rule = PolicyRule {
            id: "x".into(),
            effect: "permit".into(),
            file: "f".into(),
            line: 1,
            unless_approved: false,
        };
        let stored = write(Digest::ZERO, vec![(rule.clone(), encode(&expr).unwrap())]);
        assert_eq!(read(&stored), Ok(vec![(rule, expr)]));
    }

    #[test]
    fn foreign_or_damaged_data_is_an_error() {
        let stored = |code: &str| CompiledPolicy {
            policy_digest: Digest::ZERO,
            code_digest: Digest::of(code.as_bytes()),
            code: code.to_owned(),
        };
        let zero = Digest::ZERO;
        let good = format!(r#"{{"format":"{FORMAT}","policy":"{zero}","rules":[]}}"#);
        assert_eq!(read(&stored(&good)), Ok(vec![]));
        let damaged = CompiledPolicy { code: good.replace("rules", "rulez"), ..stored(&good) };
        assert!(matches!(read(&damaged), Err(LoadError::Damaged { .. })));
        let other = good.replace(&zero.to_string(), &Digest::of(b"").to_string());
        assert!(matches!(read(&stored(&other)), Err(LoadError::OtherPolicy { .. })));
        let older = good.replace("code/1", "code/0");
        assert!(matches!(read(&stored(&older)), Err(LoadError::OtherFormat { .. })));
        let rule = r#"{"id":"x","effect":"permit","file":"f","line":1}"#;
        for node in [
            "{\"and\":[]}",
            "{\"unary\":[\"no\",\"context\"]}",
            "{\"is\":[\"context\",\"a b\"]}",
            "7",
        ] {
            let text = good.replace("[]", &format!("[[{rule},{node}]]"));
            assert!(matches!(read(&stored(&text)), Err(LoadError::Malformed { .. })), "{node}");
        }
    }

    #[test]
    fn the_format_names_the_engine_that_is_linked() {
        let version = FORMAT.rsplit(' ').next().expect("BUG: the format ends in a version");
        let line = format!("cedar-policy-core = \"={version}\"");
        assert!(include_str!("../../Cargo.toml").contains(&line));
    }
}
