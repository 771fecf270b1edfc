//! Why a policy is refused.
//!
//! Owns the words of the refusals. Every one that is about a rule names the file, the line, the
//! column where Cedar knows it, and the rule.

use super::check::{BRACKETS_MAX, POLICY_BYTES_MAX, RULE_BYTES_MAX, RULE_ID_CHARS_MAX, RULES_MAX};

/// A place in a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1, where it is known.
    pub column: Option<u32>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        self.column.map_or(Ok(()), |column| write!(f, ":{column}"))
    }
}

/// Why a policy is refused. Nothing was stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// No rule at all, which would also deny its own replacement.
    #[error("the policy has no rules: it would deny everything, a better policy too")]
    Empty,
    /// More than [`POLICY_BYTES_MAX`].
    #[error("the policy is {bytes} bytes long; at most {POLICY_BYTES_MAX} are accepted")]
    TooLong {
        /// Over all files.
        bytes: usize,
    },
    /// More than [`RULES_MAX`].
    #[error("the policy has {rules} rules; at most {RULES_MAX} are accepted")]
    TooManyRules {
        /// Over all files.
        rules: usize,
    },
    /// More than [`RULE_BYTES_MAX`] in one rule.
    #[error("{place}: a rule of more than {RULE_BYTES_MAX} bytes; split it")]
    RuleTooLong {
        /// Where it begins.
        place: Place,
    },
    /// More than [`BRACKETS_MAX`] open at once.
    #[error("{place}: more than {BRACKETS_MAX} brackets are open here")]
    TooManyBrackets {
        /// Where the last one opens.
        place: Place,
    },
    /// Not Cedar.
    #[error("{place}: not Cedar: {problem}")]
    Syntax {
        /// Where.
        place: Place,
        /// What Cedar says.
        problem: String,
    },
    /// A rule with a slot.
    #[error("{place}: rule {rule:?} is a template (it has a slot such as ?principal)")]
    Template {
        /// Where it begins.
        place: Place,
        /// Its id.
        rule: String,
    },
    /// An id that cannot be printed or typed.
    #[error(
        "{place}: rule id {rule:?} must have 1 to {RULE_ID_CHARS_MAX} characters and no control characters"
    )]
    InvalidId {
        /// Where the rule begins.
        place: Place,
        /// The id.
        rule: String,
    },
    /// An id that another rule has.
    #[error("{place}: rule id {rule:?} is already taken by the rule at {first}")]
    DuplicateId {
        /// Where the second rule begins.
        place: Place,
        /// The id.
        rule: String,
        /// Where the first rule begins.
        first: Place,
    },
    /// Against the schema.
    #[error("{place}: rule {rule:?} is invalid: {problem}")]
    Invalid {
        /// Where.
        place: Place,
        /// Its id.
        rule: String,
        /// What Cedar says, and its advice.
        problem: String,
    },
    /// A warning: the rule most probably does not mean what it says.
    #[error("{place}: rule {rule:?} has a warning, which is refused: {problem}")]
    Warning {
        /// Where.
        place: Place,
        /// Its id.
        rule: String,
        /// What Cedar says, and its advice.
        problem: String,
    },
    /// A test for a member that does not exist, which Cedar takes for one that is always absent.
    #[error("{place}: rule {rule:?} asks for `{variable}.{member}`, which never exists")]
    UnknownMember {
        /// Where.
        place: Place,
        /// Its id.
        rule: String,
        /// `context`, `resource`, `principal` or `action`.
        variable: &'static str,
        /// The member.
        member: String,
    },
    /// Cedar that cannot be of use here, or not within bounds.
    #[error("{place}: rule {rule:?} {problem}")]
    Unsupported {
        /// Where it begins.
        place: Place,
        /// Its id.
        rule: String,
        /// What it has.
        problem: String,
    },
    /// The check itself failed.
    #[error("checking the policy failed: {problem}")]
    Check {
        /// Why.
        problem: String,
    },
}
