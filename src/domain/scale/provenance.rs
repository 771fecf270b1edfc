//! Who did something: what is claimed, and what is known.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest claim, in characters.
pub const CLAIM_CHARS_MAX: usize = 256;

/// The name that somebody gives for themselves. It is a claim: nothing proves it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Claim(String);

/// A claim that is empty, too long or has U+0000 in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an actor has 1 to {CLAIM_CHARS_MAX} characters and no U+0000")]
pub struct InvalidClaim;

impl Claim {
    /// The text, verbatim. Escape it before a person sees it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Claim {
    type Error = InvalidClaim;
    fn try_from(text: String) -> Result<Self, InvalidClaim> {
        let chars = text.chars().count();
        if (1..=CLAIM_CHARS_MAX).contains(&chars) && !text.contains('\0') {
            Ok(Self(text))
        } else {
            Err(InvalidClaim)
        }
    }
}

impl From<Claim> for String {
    fn from(claim: Claim) -> String {
        claim.0
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who made a write: the claim, and beside it what is known without it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The claim.
    pub actor: Claim,
    /// The user id of the process.
    pub uid: u32,
    /// The operating system's name for it.
    pub os_user: String,
    /// The host.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// The page of the CI run, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_url: Option<String>,
    /// What varies between runs of the same wish: a commit, a ticket. Never compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}
