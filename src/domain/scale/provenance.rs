//! Who did something: what is claimed, and what is known.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest claim, in characters.
pub const CLAIM_CHARS_MAX: usize = 256;

/// The name that somebody gives for themselves. It is a claim: nothing proves it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
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
    /// The role that the database knows the writer by, where there is a database server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db_role: Option<String>,
    /// Who signed this, where somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<Signer>,
}

/// Who signed something, as the ledger's allowed signers name them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signer {
    /// The name in the list of allowed signers.
    pub principal: String,
    /// The fingerprint of the key: `SHA256:…`.
    pub fingerprint: String,
    /// The signature, in the armoured form of `ssh-keygen -Y sign`. What was signed follows from
    /// the event.
    pub signature: String,
}

/// What shows that two writes were made by two persons, or by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonEvidence {
    /// The signing key.
    SigningKey,
    /// The role that the database knows.
    DatabaseRole,
    /// The user of the operating system.
    OsUser,
}

impl PersonEvidence {
    /// The words for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SigningKey => "signing key",
            Self::DatabaseRole => "database role",
            Self::OsUser => "OS user",
        }
    }
}

impl Provenance {
    /// The strongest evidence that both have, and what each is by it. A claim is none: whoever
    /// proposes and whoever approves must differ by this (design, section 4).
    ///
    /// Users of the operating system are told apart by name: the same name on two hosts is taken
    /// for the same person, and so are two names of one number on one host.
    pub fn compared<'a>(&'a self, other: &'a Self) -> (PersonEvidence, &'a str, &'a str) {
        if let (Some(one), Some(two)) = (&self.signed_by, &other.signed_by) {
            return (PersonEvidence::SigningKey, &one.fingerprint, &two.fingerprint);
        }
        if let (Some(one), Some(two)) = (&self.db_role, &other.db_role) {
            return (PersonEvidence::DatabaseRole, one, two);
        }
        let is_same_number = self.host == other.host && self.uid == other.uid;
        let other_name = if is_same_number { &self.os_user } else { &other.os_user };
        (PersonEvidence::OsUser, &self.os_user, other_name)
    }

    /// Whether evidence says that both writes were made by different persons.
    pub fn is_other_person(&self, other: &Self) -> bool {
        let (_, one, two) = self.compared(other);
        one != two
    }
}

/// Where a wish comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WishSource {
    /// A person or a script, by a command.
    #[default]
    Cli,
    /// A person who pins a count for a time.
    Override,
    /// A person who takes what runs for what is wished.
    Adopt,
    /// A tick that tracks a signal.
    Autoscaler,
    /// A tick that brings a static service back to its declared count.
    Reconciler,
    /// The gateway's contract.
    Gateway,
}

impl WishSource {
    /// The word for policies and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Override => "override",
            Self::Adopt => "adopt",
            Self::Autoscaler => "autoscaler",
            Self::Reconciler => "reconciler",
            Self::Gateway => "gateway",
        }
    }

    /// Whether nobody has looked at the wish: it never ends what a person has asked for.
    pub const fn is_unattended(self) -> bool {
        match self {
            Self::Autoscaler | Self::Reconciler | Self::Gateway => true,
            Self::Cli | Self::Override | Self::Adopt => false,
        }
    }

    /// For members that are left out where they say what is usual.
    pub fn is_cli(&self) -> bool {
        *self == Self::Cli
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(os_user: &str, uid: u32, db_role: Option<&str>, key: Option<&str>) -> Provenance {
        Provenance {
            actor: Claim::try_from("anybody".to_owned()).expect("BUG: a claim"),
            uid,
            os_user: os_user.to_owned(),
            host: "h1".to_owned(),
            pid: 1,
            run_url: None,
            reference: None,
            db_role: db_role.map(str::to_owned),
            signed_by: key.map(|key| Signer {
                principal: "anybody".to_owned(),
                fingerprint: key.to_owned(),
                signature: String::new(),
            }),
        }
    }

    #[test]
    fn persons_differ_by_the_strongest_evidence_that_both_have() {
        use PersonEvidence::{DatabaseRole, OsUser, SigningKey};
        let rows = [
            (by("a", 1, None, None), by("b", 2, None, None), OsUser, true),
            (by("a", 1, None, None), by("a", 1, None, None), OsUser, false),
            // The same number under two names on one host.
            (by("a", 1, None, None), by("b", 1, None, None), OsUser, false),
            // The CI's user is everybody's.
            (
                by("runner", 1, Some("ci"), None),
                by("runner", 1, Some("sre"), None),
                DatabaseRole,
                true,
            ),
            (by("a", 1, Some("ops"), None), by("b", 2, Some("ops"), None), DatabaseRole, false),
            (
                by("a", 1, Some("ops"), Some("k1")),
                by("a", 1, Some("ops"), Some("k2")),
                SigningKey,
                true,
            ),
            (
                by("a", 1, Some("x"), Some("k1")),
                by("b", 2, Some("y"), Some("k1")),
                SigningKey,
                false,
            ),
            // Whoever leaves the signature away is compared by what is left.
            (by("a", 1, None, Some("k1")), by("a", 1, None, None), OsUser, false),
            (by("a", 1, Some("x"), None), by("a", 1, None, None), OsUser, false),
        ];
        for (one, two, evidence, other) in rows {
            assert_eq!(one.compared(&two).0, evidence, "{one:?} {two:?}");
            assert_eq!(one.is_other_person(&two), other, "{one:?} {two:?}");
            assert_eq!(two.is_other_person(&one), other, "{one:?} {two:?}");
        }
        let mut elsewhere = by("a", 1, None, None);
        elsewhere.host = "h2".to_owned();
        assert!(!elsewhere.is_other_person(&by("a", 7, None, None)));
    }
}
