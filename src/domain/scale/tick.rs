//! What a tick of the autoscaler came to.
//!
//! Owns the words. The order of the steps is in `decide/tick.rs`.

use serde::{Deserialize, Serialize};

use super::scaling::{NoData, SampleMark};
use super::state::Direction;
use crate::domain::id::{ExecutionKey, Replicas};
use crate::domain::measure::Measure;

/// One look of the autoscaler at one service. Recorded where it used a sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// What it came to.
    pub outcome: TickOutcome,
    /// What was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<Replicas>,
    /// What the sample asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired: Option<Replicas>,
    /// The value of the sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Measure>,
    /// What the next tick remembers.
    #[serde(default, skip_serializing_if = "SampleMark::is_empty")]
    pub samples: SampleMark,
    /// The intent that it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_key: Option<ExecutionKey>,
}

/// What a look came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum TickOutcome {
    /// An intent was accepted.
    Accepted,
    /// An intent was proposed: a person must agree.
    Proposed,
    /// Another controller owns the count: it was only looked at.
    Reported,
    /// Nothing was wished.
    Skipped {
        /// Why.
        because: Skip,
    },
}

/// Why a tick wished nothing, in the order of facts/fleet-authority.md, 4.3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "why", deny_unknown_fields)]
pub enum Skip {
    /// The service is not scaled by a signal.
    Static,
    /// The tick has made as many intents as it may.
    Budget,
    /// Nobody could say what runs.
    Unobserved,
    /// It is down.
    Down,
    /// There is no sample that may be used.
    NoData {
        /// Why.
        what: NoData,
    },
    /// A person has pinned the count.
    Overridden,
    /// A person holds the count.
    Held,
    /// The value is near enough to the target.
    WithinDeadband,
    /// An intent is under way.
    Awaiting {
        /// Its state.
        state: String,
    },
    /// The newest intent asked for the same, and was simulated.
    Simulated,
    /// More would cost too much.
    CostCap,
    /// It is what it should be.
    AtTarget,
    /// Not enough samples in a row agree.
    Stabilizing {
        /// On what they agree.
        direction: Direction,
        /// How many do.
        samples: u8,
        /// How many must.
        needed: u8,
    },
    /// A gate refuses.
    Refused {
        /// Its code.
        code: String,
        /// Its words.
        message: String,
    },
}

impl TickOutcome {
    /// The word on the wire.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Accepted => "intent_accepted",
            Self::Proposed => "intent_proposed",
            Self::Reported => "reported",
            Self::Skipped { .. } => "skipped",
        }
    }

    /// Whether it counts against the budget of its tick.
    pub const fn is_action(&self) -> bool {
        matches!(self, Self::Accepted | Self::Proposed)
    }
}

impl Skip {
    /// The words for whoever has read no rule book.
    pub fn plain(&self) -> String {
        let said = match self {
            Self::Static => "no signal scales it",
            Self::Budget => "this tick has made as many wishes as it may (--max-actions)",
            Self::Unobserved => "nobody could say what runs",
            Self::Down => "it is down: none of it is ready",
            Self::NoData { what } => what.plain(),
            Self::Overridden => "a person has pinned the count (override)",
            Self::Held => "a person holds the count (hold)",
            Self::WithinDeadband => "the value is near enough to its target (deadband)",
            Self::Awaiting { state } => {
                return format!("its newest wish is {state}, and comes first");
            }
            Self::Simulated => "the same wish was simulated",
            Self::CostCap => "more would cost over the budget",
            Self::AtTarget => "it is as the sample asks",
            Self::Stabilizing { direction, samples, needed } => {
                let more = if *direction == Direction::Up { "more" } else { "fewer" };
                return format!("{samples} of {needed} samples in a row ask for {more}");
            }
            Self::Refused { message, .. } => message,
        };
        said.to_owned()
    }

    /// The words of the rule book, on the wire.
    pub fn text(&self) -> String {
        match self {
            Self::Static => "not scaled by a signal".to_owned(),
            Self::Budget => "per-tick action budget exhausted".to_owned(),
            Self::Unobserved => "unobserved".to_owned(),
            Self::Down => "down".to_owned(),
            Self::NoData { what } => format!("no data: {}", what.as_str()),
            Self::Overridden => "operator replica override is authoritative".to_owned(),
            Self::Held => "held by a person".to_owned(),
            Self::WithinDeadband => "within the deadband".to_owned(),
            Self::Awaiting { state } => {
                format!("{state}: awaiting execution or observation")
            }
            Self::Simulated => "the same wish was simulated".to_owned(),
            Self::CostCap => "the budget allows no more".to_owned(),
            Self::AtTarget => "at target".to_owned(),
            Self::Stabilizing { direction, samples, needed } => {
                format!("stabilizing {} ({samples}/{needed})", direction.as_str())
            }
            Self::Refused { message, .. } => message.clone(),
        }
    }
}
