//! What is asked of a placement: as it was submitted, and what the whole wish is then.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::environment::{Desired, RuntimeMode};
use super::protocol::Generation;
use super::registry::Cell;
use crate::domain::id::{
    CellName, EnvironmentName, IdempotencyKey, InvalidIdentifier, LocationName, ProfileName,
};
use crate::domain::scale::rejection::Difference;

/// A location, or any that the policy lets in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LocationWish {
    /// Whichever cell is eligible; the one that it is in, as long as it is.
    Auto,
    /// A cell of this one.
    In(LocationName),
}

/// A recovery copy, or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum StandbyWish {
    /// No recovery copy.
    None,
    /// One in a cell of this location.
    In(LocationName),
}

macro_rules! word_or_location {
    ($name:ident, $other:ident, $word:literal) => {
        impl FromStr for $name {
            type Err = InvalidIdentifier;
            fn from_str(text: &str) -> Result<Self, InvalidIdentifier> {
                if text == $word { Ok(Self::$other) } else { text.parse().map(Self::In) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidIdentifier;
            fn try_from(text: String) -> Result<Self, InvalidIdentifier> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(wish: $name) -> String {
                wish.to_string()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Self::$other => f.write_str($word),
                    Self::In(location) => fmt::Display::fmt(location, f),
                }
            }
        }
    };
}

word_or_location!(LocationWish, Auto, "auto");
word_or_location!(StandbyWish, None, "none");

/// A change as it was submitted. What is none keeps what is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeRequest {
    /// Of which environment.
    pub environment: EnvironmentName,
    /// The revision that it was made after.
    pub expected_revision: u64,
    /// The revision of the policy that it was made against.
    pub policy_revision: u64,
    /// Another profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    /// Another location.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<LocationWish>,
    /// Exactly this cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellName>,
    /// Another place for the recovery copy, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standby: Option<StandbyWish>,
    /// Whether the recovery copy is made anew where it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refresh_standby: bool,
    /// Whether zero replicas are allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_mode: Option<RuntimeMode>,
    /// The older copy whose workspace is to go, and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retire_workspace: Option<Generation>,
}

impl ChangeRequest {
    /// Whether it says anything of the placement itself.
    pub const fn says_something(&self) -> bool {
        self.says_where()
            || self.profile.is_some()
            || self.standby.is_some()
            || self.refresh_standby
            || self.runtime_mode.is_some()
    }

    /// Whether it says where the environment is to serve.
    pub const fn says_where(&self) -> bool {
        self.location.is_some() || self.cell.is_some()
    }

    /// The whole wish after this change of it. A cell that is named is in its location.
    pub fn whole(&self, before: &Desired, cell: Option<&Cell>) -> Desired {
        let mut desired = before.clone();
        if let Some(profile) = &self.profile {
            desired.profile = profile.clone();
        }
        if let Some(location) = &self.location {
            desired.location = location.clone();
            desired.cell = None;
        }
        if let Some(cell) = cell {
            desired.cell = Some(cell.name.clone());
            desired.location = LocationWish::In(cell.location.clone());
        }
        if let Some(standby) = &self.standby {
            desired.standby = standby.clone();
        }
        if let Some(mode) = self.runtime_mode {
            desired.runtime_mode = mode;
        }
        desired
    }

    /// Each field in which another request differs.
    pub fn differences(&self, submitted: &Self) -> Vec<Difference> {
        fn said<T: fmt::Display>(value: Option<&T>) -> String {
            value.map_or_else(|| "kept".to_owned(), ToString::to_string)
        }
        let rows = |it: &Self| {
            [
                ("environment", it.environment.to_string()),
                ("expected_revision", it.expected_revision.to_string()),
                ("policy_revision", it.policy_revision.to_string()),
                ("profile", said(it.profile.as_ref())),
                ("location", said(it.location.as_ref())),
                ("cell", said(it.cell.as_ref())),
                ("standby", said(it.standby.as_ref())),
                ("refresh_standby", it.refresh_standby.to_string()),
                ("runtime_mode", said(it.runtime_mode.as_ref())),
                ("retire_workspace", said(it.retire_workspace.as_ref())),
            ]
        };
        let pairs = rows(self).into_iter().zip(rows(submitted));
        let differing = pairs.filter(|((_, stored), (_, submitted))| stored != submitted);
        let differing = differing.map(|((field, stored), (_, submitted))| Difference {
            field: field.to_owned(),
            stored,
            submitted,
        });
        differing.collect()
    }
}

/// A change under its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedRequest {
    /// The key.
    pub key: IdempotencyKey,
    /// The change.
    pub request: ChangeRequest,
}
