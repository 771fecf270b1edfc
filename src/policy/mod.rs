//! Policy: Cedar, and nothing else about it anywhere else.
//!
//! Owns the schema ([`schema`]), the check at `policy put` ([`mod@check`]), the form in which a
//! checked policy is kept for the next process ([`code`]), the answers ([`engine`]), what is most
//! likely not meant ([`mod@lint`]) and the texts to start from ([`template`]). It is the only home
//! of the Cedar crate. It never reads a file, a clock or a ledger: sources and questions are
//! arguments. It never allows what it could not evaluate.
//!
//! After a crash nothing here needs repair: the text in the ledger is the truth, and the compiled
//! form beside it is bound to it by digests and can be derived again.

pub mod check;
pub mod code;
pub mod engine;
pub mod error;
pub mod lint;
mod names;
mod question;
mod scan;
pub mod schema;
pub mod template;
#[cfg(test)]
mod tests;

pub use check::{CheckedPolicy, CheckedRule, PolicySource, check};
pub use code::{CompiledPolicy, LoadError};
pub use engine::{Explanation, NoPolicy, PolicyEngine, RuleOutcome, RuleTrace};
pub use error::{Place, PolicyError};
