//! The check at `policy put`: text in, a policy that can be stored and trusted out.
//!
//! Owns what a policy may be: Cedar that is valid against our schema without a warning, static
//! rules with unique ids, within bounds. Never decides anything, and never accepts a rule that
//! could silently never apply: an unknown member behind `has` is refused too, which Cedar accepts.

use cedar_policy_core::ast::{AnyId, Effect, Expr, ExprKind, Policy, PolicyID, PolicySet, Var};
use cedar_policy_core::parser::{Loc, parse_policyset};
use cedar_policy_core::validator::{ValidationMode, Validator};
use miette::Diagnostic;
use serde::{Deserialize, Serialize};

use super::code::{self, CompiledPolicy, DEPTH_MAX, EncodeError, TERMS_MAX};
use super::error::{Place, PolicyError};
use super::scan;
use super::schema::{self, CONTEXT_MEMBERS, RESOURCE_ATTRIBUTES};
use crate::domain::digest::Digest;
use crate::domain::scale::policy::PolicyRule;

/// The longest policy over all its files, in bytes: 256 KiB.
pub const POLICY_BYTES_MAX: usize = 256 * 1024;
/// The most rules of a policy.
pub const RULES_MAX: usize = 500;
/// The longest rule without its comments, in bytes: 8 KiB.
pub const RULE_BYTES_MAX: usize = 8 * 1024;
/// The most brackets that may be open at once.
pub const BRACKETS_MAX: usize = 64;
/// The longest id of a rule, in characters.
pub const RULE_ID_CHARS_MAX: usize = 128;

/// The crate that reads Cedar recurses along a rule. The bound of a rule's length keeps it far
/// within this stack, which is address space and not memory until it is used.
const STACK_BYTES: usize = 128 * 1024 * 1024;

/// One file of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicySource {
    /// What answers call it, such as `prod.cedar`.
    pub file: String,
    /// Its text, byte for byte.
    pub text: String,
}

/// One rule of a checked policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckedRule {
    /// Its `@id`, else `file:line`.
    pub id: String,
    /// `permit` or `forbid`.
    pub effect: String,
    /// The file that it is in.
    pub file: String,
    /// The line that it begins on, from 1.
    pub line: u32,
    /// Its text, byte for byte.
    pub text: String,
}

/// A policy that passed the check. `sources` is the truth; everything else is derived from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckedPolicy {
    /// The files, in the order in which they were given.
    pub sources: Vec<PolicySource>,
    /// The SHA-256 of names and texts.
    pub digest: Digest,
    /// The rules, in the order of the files.
    pub rules: Vec<CheckedRule>,
    /// What the next process loads.
    pub compiled: CompiledPolicy,
}

impl CheckedPolicy {
    /// The whole text, as `policy show` prints it; several files each under a line with its name.
    pub fn text(&self) -> String {
        if let [only] = self.sources.as_slice() {
            return only.text.clone();
        }
        let mut text = String::new();
        for source in &self.sources {
            // A name with a line break must not become a line of the policy.
            text.push_str("// file: ");
            text.extend(source.file.escape_debug());
            text.extend(["\n", source.text.trim_end(), "\n"]);
        }
        text
    }
}

/// Checks a policy. The first problem in the order of the files is the answer.
pub fn check(sources: &[PolicySource]) -> Result<CheckedPolicy, PolicyError> {
    let bytes = sources.iter().map(|source| source.text.len()).sum();
    if bytes > POLICY_BYTES_MAX {
        return Err(PolicyError::TooLong { bytes });
    }
    let rules = sources.iter().map(scan::bound_rules).sum::<Result<usize, _>>()?;
    if rules > RULES_MAX {
        return Err(PolicyError::TooManyRules { rules });
    }
    on_a_deep_stack(|| check_bounded(sources))?
}

/// Runs what recurses along rules.
pub(super) fn on_a_deep_stack<T: Send>(run: impl FnOnce() -> T + Send) -> Result<T, PolicyError> {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, run)
            .map_err(|error| PolicyError::Check { problem: error.to_string() })?
            .join()
            .map_err(|_| PolicyError::Check { problem: "the engine gave up".to_owned() })
    })
}

/// The digest of a policy: of the length, name and text of each file, so that no two lists of files
/// have the same bytes.
pub fn digest(sources: &[PolicySource]) -> Digest {
    let mut bytes = b"scalectl.policy/1\n".to_vec();
    for PolicySource { file, text } in sources {
        bytes.extend_from_slice(format!("{} {}\n{file}{text}", file.len(), text.len()).as_bytes());
    }
    Digest::of(&bytes)
}

struct ParsedRule<'a> {
    source: &'a PolicySource,
    start: usize,
    text: String,
    policy: Policy,
    rule: PolicyRule,
}

fn check_bounded(sources: &[PolicySource]) -> Result<CheckedPolicy, PolicyError> {
    let mut parsed = Vec::new();
    for source in sources {
        parsed.append(&mut parse(source)?);
    }
    // The scan has counted what ends in a semicolon; the parser is the one who knows.
    match parsed.len() {
        0 => return Err(PolicyError::Empty),
        1..=RULES_MAX => {}
        rules => return Err(PolicyError::TooManyRules { rules }),
    }
    refuse_duplicate_ids(&parsed)?;
    let validator = Validator::new(schema::validator_schema());
    let mut compiled = Vec::with_capacity(parsed.len());
    for rule in &parsed {
        compiled.push((rule.rule.clone(), validate(&validator, rule)?));
    }
    let digest = digest(sources);
    Ok(CheckedPolicy {
        sources: sources.to_vec(),
        digest,
        rules: parsed.into_iter().map(CheckedRule::from).collect(),
        compiled: code::write(digest, compiled),
    })
}

impl From<ParsedRule<'_>> for CheckedRule {
    fn from(ParsedRule { text, rule, .. }: ParsedRule<'_>) -> Self {
        let PolicyRule { id, effect, file, line, unless_approved: _ } = rule;
        Self { id, effect, file, line, text }
    }
}

fn parse(source: &PolicySource) -> Result<Vec<ParsedRule<'_>>, PolicyError> {
    let set = parse_policyset(&source.text).map_err(|errors| PolicyError::Syntax {
        place: place_of(source, &errors, 0),
        problem: sentence(&errors),
    })?;
    let id_name: AnyId =
        "id".parse().map_err(|_| PolicyError::Check { problem: "no name id".to_owned() })?;
    if let Some(template) = set.templates().next() {
        let place = line_of(source, template.loc().map_or(0, Loc::start));
        let annotation = template.annotation(&id_name).map(|id| id.as_ref().to_owned());
        let rule = annotation.unwrap_or_else(|| place.to_string());
        return Err(PolicyError::Template { place, rule });
    }
    let mut parsed = Vec::with_capacity(set.static_policies().count());
    for policy in set.static_policies() {
        let loc = policy.loc();
        let start = loc.map_or(0, Loc::start);
        let place = line_of(source, start);
        let annotation = policy.annotation(&id_name).map(|id| id.as_ref().to_owned());
        let id = annotation.unwrap_or_else(|| place.to_string());
        let chars = id.chars().count();
        if chars == 0 || chars > RULE_ID_CHARS_MAX || id.contains(char::is_control) {
            return Err(PolicyError::InvalidId { place, rule: id });
        }
        let unless_approved = unless_approved(policy, &place, &id)?;
        parsed.push(ParsedRule {
            source,
            start,
            text: loc.and_then(|loc| loc.snippet()).unwrap_or_default().to_owned(),
            policy: policy.new_id(PolicyID::from_string(&id)),
            rule: PolicyRule {
                id,
                effect: policy.effect().to_string(),
                file: place.file,
                line: place.line,
                unless_approved,
            },
        });
    }
    parsed.sort_by_key(|rule| rule.start);
    Ok(parsed)
}

/// Whether a rule is `@unless("approved")`: only a `forbid` has a last word to leave.
fn unless_approved(policy: &Policy, place: &Place, rule: &str) -> Result<bool, PolicyError> {
    let name: AnyId = "unless"
        .parse()
        .map_err(|_| PolicyError::Check { problem: "no name unless".to_owned() })?;
    let refuse = |problem: &str| {
        let (place, rule, problem) = (place.clone(), rule.to_owned(), problem.to_owned());
        Err(PolicyError::Unsupported { place, rule, problem })
    };
    match policy.annotation(&name).map(AsRef::as_ref) {
        None => Ok(false),
        Some("approved") if policy.effect() == Effect::Forbid => Ok(true),
        Some("approved") => refuse("is a permit, and only a forbid can be @unless(\"approved\")"),
        Some(_) => refuse("has another @unless than @unless(\"approved\")"),
    }
}

fn refuse_duplicate_ids(parsed: &[ParsedRule<'_>]) -> Result<(), PolicyError> {
    let mut taken = std::collections::BTreeMap::new();
    for rule in parsed {
        let place = line_of(rule.source, rule.start);
        if let Some(first) = taken.insert(rule.rule.id.as_str(), place.clone()) {
            return Err(PolicyError::DuplicateId { place, rule: rule.rule.id.clone(), first });
        }
    }
    Ok(())
}

/// Validates one rule alone, so that whatever is found is known to be about it.
fn validate(validator: &Validator, parsed: &ParsedRule<'_>) -> Result<code::Node, PolicyError> {
    let ParsedRule { source, start, .. } = *parsed;
    let rule = || parsed.rule.id.clone();
    let condition = parsed.policy.condition();
    refuse_absent_members(parsed, &condition)?;
    let set = PolicySet::singleton(parsed.policy.clone());
    let result = validator.validate(&set, ValidationMode::Strict);
    if let Some(error) = result.validation_errors().next() {
        let place = place_of(source, error, start);
        return Err(PolicyError::Invalid { place, rule: rule(), problem: sentence(error) });
    }
    if let Some(warning) = result.validation_warnings().next() {
        let place = place_of(source, warning, start);
        return Err(PolicyError::Warning { place, rule: rule(), problem: sentence(warning) });
    }
    code::encode(&condition).map_err(|error| PolicyError::Unsupported {
        place: line_of(source, start),
        rule: rule(),
        problem: match error {
            EncodeError::TooDeep => format!("is nested more than {DEPTH_MAX} deep"),
            EncodeError::TooLong => {
                format!("has more than {TERMS_MAX} terms in a row; use a set and `contains`")
            }
            EncodeError::Unsupported(what) => format!("has {what}, which no member here needs"),
        },
    })
}

fn refuse_absent_members(parsed: &ParsedRule<'_>, condition: &Expr) -> Result<(), PolicyError> {
    for part in condition.subexpressions() {
        let (ExprKind::HasAttr { expr, attr } | ExprKind::GetAttr { expr, attr }) =
            part.expr_kind()
        else {
            continue;
        };
        let ExprKind::Var(variable) = expr.expr_kind() else { continue };
        let (variable, known): (_, &[&str]) = match variable {
            Var::Principal => ("principal", &[]),
            Var::Action => ("action", &[]),
            Var::Resource => ("resource", &RESOURCE_ATTRIBUTES),
            Var::Context => ("context", &CONTEXT_MEMBERS),
        };
        let offset = part.source_loc().map_or(parsed.start, Loc::start);
        let place = place_at(parsed.source, offset);
        let (rule, member) = (parsed.rule.id.clone(), attr.to_string());
        if !known.contains(&attr.as_str()) {
            return Err(PolicyError::UnknownMember { place, rule, variable, member });
        }
    }
    Ok(())
}

/// What Cedar says without naming the rule again, and its advice where it has any.
fn sentence(problem: &dyn Diagnostic) -> String {
    let said = problem.to_string();
    let said = match said.strip_prefix("for policy `").and_then(|rest| rest.split_once("`, ")) {
        Some((_, rest)) => rest,
        None => &said,
    };
    problem.help().map_or_else(|| said.to_owned(), |help| format!("{said} ({help})"))
}

fn place_of(source: &PolicySource, problem: &dyn Diagnostic, otherwise: usize) -> Place {
    let label = problem.labels().and_then(|mut labels| labels.next());
    label.map_or_else(|| line_of(source, otherwise), |label| place_at(source, label.offset()))
}

/// The place of a byte, with its column.
pub(super) fn place_at(source: &PolicySource, offset: usize) -> Place {
    let before = &source.text.as_bytes()[..offset.min(source.text.len())];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    // A byte that continues a character of UTF-8 is 0b10xx_xxxx.
    let characters = before[line_start..].iter().filter(|byte| **byte & 0xc0 != 0x80).count();
    Place { column: Some(number(characters + 1)), ..line_of(source, offset) }
}

/// The line of a byte.
pub(super) fn line_of(source: &PolicySource, offset: usize) -> Place {
    let before = &source.text.as_bytes()[..offset.min(source.text.len())];
    let lines = before.split(|byte| *byte == b'\n').count();
    Place { file: source.file.clone(), line: number(lines), column: None }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).expect("BUG: no text is longer than POLICY_BYTES_MAX")
}
