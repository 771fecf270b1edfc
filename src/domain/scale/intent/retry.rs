//! How often and how soon an attempt may follow another: in a record, and as a line asks for it.

use serde::{Deserialize, Serialize};

use crate::domain::id::MaxAttempts;
use crate::domain::time::DurationMs;

/// The longest wait between attempts: one hour (seed 000).
pub const BACKOFF_MAX: DurationMs = DurationMs::from_secs(3600);

/// How often and how soon an attempt may follow another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "RawRetryPolicy", into = "RawRetryPolicy")]
pub struct RetryPolicy {
    /// 1 to 8, default 3.
    pub max_attempts: MaxAttempts,
    /// 0 to one hour, default 5 s. On the wire `backoff_s`, a float of whole milliseconds.
    pub backoff: DurationMs,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: MaxAttempts::new(3).expect("BUG: 3 is within 1..=8"),
            backoff: DurationMs::from_secs(5),
        }
    }
}

/// What a line says of trying again; what it leaves out is the registration's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetryAsked {
    /// 1 to 8.
    pub max_attempts: Option<MaxAttempts>,
    /// 0 to one hour.
    pub backoff: Option<DurationMs>,
}

impl RetryAsked {
    /// What comes of it where this is registered; none where nothing is asked.
    #[must_use]
    pub fn over(self, registered: RetryPolicy) -> Option<RetryPolicy> {
        (self != Self::default()).then(|| RetryPolicy {
            max_attempts: self.max_attempts.unwrap_or(registered.max_attempts),
            backoff: self.backoff.unwrap_or(registered.backoff),
        })
    }

    /// Whether a policy is as asked, as far as anything is.
    #[must_use]
    pub fn agrees_with(self, policy: RetryPolicy) -> bool {
        self.max_attempts.is_none_or(|asked| asked == policy.max_attempts)
            && self.backoff.is_none_or(|asked| asked == policy.backoff)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawRetryPolicy {
    max_attempts: MaxAttempts,
    backoff_s: f64,
}

impl Default for RawRetryPolicy {
    fn default() -> Self {
        RetryPolicy::default().into()
    }
}

impl TryFrom<RawRetryPolicy> for RetryPolicy {
    type Error = String;
    fn try_from(raw: RawRetryPolicy) -> Result<Self, String> {
        let millis = raw.backoff_s * 1000.0;
        if !(0.0..=3_600_000.0).contains(&millis) {
            return Err(format!("backoff_s {} is outside 0..=3600", raw.backoff_s));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        let backoff = DurationMs::from_millis(millis.round() as u64);
        let whole = RawRetryPolicy::from(Self { max_attempts: raw.max_attempts, backoff });
        if whole.backoff_s.to_bits() == (raw.backoff_s + 0.0).to_bits() {
            Ok(Self { max_attempts: raw.max_attempts, backoff })
        } else {
            Err(format!("backoff_s {} is not a whole number of milliseconds", raw.backoff_s))
        }
    }
}

impl From<RetryPolicy> for RawRetryPolicy {
    fn from(policy: RetryPolicy) -> Self {
        let millis = u32::try_from(policy.backoff.as_millis()).unwrap_or(u32::MAX);
        Self { max_attempts: policy.max_attempts, backoff_s: f64::from(millis) / 1000.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_milliseconds_survive_the_float() {
        for millis in [0, 1, 10, 100, 333, 1001, 2000, 59_999, 3_600_000] {
            let policy =
                RetryPolicy { backoff: DurationMs::from_millis(millis), ..Default::default() };
            let text = serde_json::to_string(&policy).expect("BUG: is JSON");
            assert_eq!(serde_json::from_str::<RetryPolicy>(&text).expect("own text"), policy);
        }
    }
}
