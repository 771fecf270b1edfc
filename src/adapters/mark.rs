//! The mark of the newest fence, as a target keeps it for an actuator without a memory.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::refusal::Refusal;
use crate::actuator::protocol::{ApplyRequest, FenceRequest};
use crate::domain::id::LedgerId;

/// Where a target keeps the mark, in the words of its own world.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    /// What holds it, such as `annotation scalectl.io/fence`.
    pub(super) at: &'static str,
    /// What a person types to take it away.
    pub(super) freed_by: &'static str,
}

/// Calls below this have no effect any more. Compared by all but the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    ledger: LedgerId,
    order: (u64, u64, u64),
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (epoch, token, attempt) = self.order;
        write!(f, "{}/{epoch}.{token}.{attempt}", self.ledger)
    }
}

impl FromStr for Mark {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (ledger, order) = text.rsplit_once('/').ok_or(())?;
        let mut numbers = order.split('.').map(|part| part.parse::<u64>().map_err(|_| ()));
        let mut next = || numbers.next().unwrap_or(Err(()));
        let order = (next()?, next()?, next()?);
        if numbers.next().is_some() {
            return Err(());
        }
        let mark = Self { ledger: ledger.parse().map_err(|_| ())?, order };
        // What was written otherwise was not written here.
        if mark.to_string() == text { Ok(mark) } else { Err(()) }
    }
}

/// What such a text says: the ledger and the order of the newest fence; none for what is none.
pub fn mark_in(text: &str) -> Option<(String, (u64, u64, u64))> {
    let mark: Mark = text.parse().ok()?;
    Some((mark.ledger.to_string(), mark.order))
}

impl Mark {
    /// The ledger whose calls it orders.
    pub(super) const fn ledger(&self) -> &LedgerId {
        &self.ledger
    }

    /// Whether it is a mark of this ledger.
    pub(super) fn is_of(&self, ledger: &LedgerId) -> bool {
        self.ledger == *ledger
    }

    /// The mark of a call.
    pub(super) fn of_apply(apply: &ApplyRequest) -> Self {
        let fence = &apply.request.lease.fence;
        let attempt = apply.request.lease.attempt.get();
        let order = (fence.lease_epoch.get(), fence.fence_token.get(), attempt);
        Self { ledger: apply.ledger.id.clone(), order }
    }

    pub(super) fn of_fence(request: &FenceRequest) -> Result<Self, Refusal> {
        let Some(ledger) = &request.ledger else {
            let detail = "a fence without the identity of its ledger".to_owned();
            return Err(Refusal::terminal("incomplete_request", detail));
        };
        let order = (request.epoch.get(), request.token.get(), request.attempt.get());
        Ok(Self { ledger: ledger.id.clone(), order })
    }

    /// Whether a call or a fence at this mark is behind what a target has seen.
    pub(super) fn check(&self, seen: Option<&str>, kept: Kept) -> Result<Standing, Refusal> {
        let Some(text) = seen else { return Ok(Standing::Ahead) };
        let Ok(seen) = text.parse::<Self>() else {
            let detail = format!("{} is {text:?}, which is no fence", kept.at);
            return Err(Refusal::terminal("fence_unreadable", detail));
        };
        if seen.ledger != self.ledger {
            let detail = format!(
                "the object takes orders from ledger {}; {} frees it",
                seen.ledger, kept.freed_by
            );
            return Err(Refusal::terminal("other_ledger", detail));
        }
        match self.order.cmp(&seen.order) {
            Ordering::Less => {
                let detail = format!("{self} is behind the newest fence {seen}");
                Err(Refusal::terminal("stale_fence", detail))
            }
            Ordering::Equal => Ok(Standing::AtMark),
            Ordering::Greater => Ok(Standing::Ahead),
        }
    }
}

/// Where a mark stands to what an object has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The object has this very mark.
    AtMark,
    /// The object has a lower one, or none.
    Ahead,
}

#[cfg(test)]
mod tests {
    use super::Mark;

    #[test]
    fn a_mark_is_read_as_it_was_written_and_nothing_else_is_one() {
        for text in ["L1/1.7.2", "led:1/a/9007199254740991.1.8", "x/0.0.0"] {
            let mark: Mark = text.parse().expect(text);
            assert_eq!(mark.to_string(), text);
        }
        for text in [
            "",
            "L1",
            "L1/",
            "L1/1.7",
            "L1/1.7.2.9",
            "L1/1.7.-2",
            "/1.7.2",
            "L 1/1.7.2",
            " L1/1.7.2",
            "L1/+1.7.2",
            "L1/01.7.2",
        ] {
            assert!(text.parse::<Mark>().is_err(), "{text}");
        }
    }
}
