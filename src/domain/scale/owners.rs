//! Who else drives a count, as an actuator has found them.

use serde::{Deserialize, Serialize};

/// How an owner is taken away: lines of its own tool, in their order, each as its words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeAway {
    /// The owner, as it is named among them.
    pub owner: String,
    /// At most 8 lines of at most 32 words. Nobody runs them but a person.
    pub lines: Vec<Vec<String>>,
}

/// Who drives a count, who may, and of whom nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owners {
    /// Who drives it now: a reason not to take it over.
    pub drive: Vec<String>,
    /// How they are taken away, as far as the actuator says.
    pub take_away: Vec<TakeAway>,
    /// Who may not be read, or not understood: whether they drive it nobody knows.
    pub unread: Vec<String>,
    /// Who has set it before and may do so again: a warning.
    pub managers: Vec<String>,
}
