//! Instants and durations. There is no `now` here: the clock is an argument of every rule.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};

/// An instant on the wall clock in UTC, in microseconds since 1970-01-01, from the year 1 to
/// the end of 9999. As text: RFC 3339 with `Z`, and six fraction digits or none (seed 000).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Timestamp(i64);

/// Why a text is not an instant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not an RFC 3339 instant with a zone and at most six fraction digits, such as 2026-01-01T12:00:00Z"
)]
pub struct InvalidTimestamp {
    /// What was found, at most 80 characters of it.
    pub text: String,
}

const MICROS_MIN: i64 = -62_135_596_800_000_000;
/// The last instant that the time library keeps: 9999-12-30T22:00:00Z.
const MICROS_MAX: i64 = 253_402_207_200_000_000;

impl Timestamp {
    /// The last instant that can be said.
    pub const MAX: Self = Self(MICROS_MAX);

    /// From microseconds since the epoch; none outside the years 1 to 9999.
    pub const fn from_micros(micros: i64) -> Option<Self> {
        if micros >= MICROS_MIN && micros <= MICROS_MAX { Some(Self(micros)) } else { None }
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Cut to whole milliseconds, as every minted instant is.
    #[must_use]
    pub const fn truncated_to_millis(self) -> Self {
        Self(self.0 - self.0.rem_euclid(1000))
    }

    /// Cut to whole seconds, for people.
    #[must_use]
    pub const fn truncated_to_seconds(self) -> Self {
        Self(self.0 - self.0.rem_euclid(1_000_000))
    }

    /// Later by a duration, at most at the end of the year 9999.
    #[must_use]
    pub fn plus(self, duration: DurationMs) -> Self {
        Self(self.0.saturating_add(duration.as_micros()).min(MICROS_MAX))
    }

    /// Earlier by a duration, at least at the start of the year 1.
    #[must_use]
    pub fn minus(self, duration: DurationMs) -> Self {
        Self(self.0.saturating_sub(duration.as_micros()).max(MICROS_MIN))
    }

    /// How far from another instant, whichever comes first.
    pub fn apart(self, other: Self) -> DurationMs {
        self.since(other).max(other.since(self))
    }

    /// How long after `earlier`; zero where it is not after.
    pub fn since(self, earlier: Self) -> DurationMs {
        let micros = self.0.saturating_sub(earlier.0).max(0);
        DurationMs(u64::try_from(micros / 1000).unwrap_or(0))
    }
}

/// Written where it goes: every event and every document holds several.
impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instant = jiff::Timestamp::from_microsecond(self.0).map_err(|_| fmt::Error)?;
        if self.0.rem_euclid(1_000_000) == 0 {
            write!(f, "{instant:.0}")
        } else {
            write!(f, "{instant:.6}")
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let refuse = || InvalidTimestamp { text: text.chars().take(80).collect() };
        if !has_rfc3339_shape(text) {
            return Err(refuse());
        }
        let instant: jiff::Timestamp = text.parse().map_err(|_| refuse())?;
        Self::from_micros(instant.as_microsecond()).ok_or_else(refuse)
    }
}

/// `YYYY-MM-DDTHH:MM:SS[.f{1,6}](Z|±HH:MM)`, seconds below 60, an offset below 24:00. The library
/// is laxer.
fn has_rfc3339_shape(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some((head, mut rest)) = bytes.split_at_checked(19) else {
        return false;
    };
    let pattern = b"dddd-dd-ddTdd:dd:dd";
    let head_ok = head.iter().zip(pattern).all(|(byte, want)| match want {
        b'd' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b't'),
        other => byte == other,
    });
    if !head_ok || head[17] > b'5' {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=6).contains(&digits) {
            return false;
        }
        rest = &fraction[digits..];
    }
    match rest {
        [b'Z' | b'z'] => true,
        [b'+' | b'-', a, b, b':', c, d] => {
            [a, b, c, d].iter().all(|x| x.is_ascii_digit()) && (*a, *b) <= (b'2', b'3') && *c < b'6'
        }
        _ => false,
    }
}

impl TryFrom<String> for Timestamp {
    type Error = InvalidTimestamp;
    fn try_from(text: String) -> Result<Self, InvalidTimestamp> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(instant: Timestamp) -> String {
        instant.to_string()
    }
}

/// A duration in whole milliseconds.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct DurationMs(u64);

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDuration {
    /// A number alone.
    #[error("{0} what? write {0}s, {0}ms, {0}m or {0}h")]
    WithoutUnit(String),
    /// Neither a number with a unit.
    #[error("{0:?} is not a duration: a whole number and one of ms, s, m, h, d, such as 90s")]
    Malformed(String),
    /// More than a u64 of milliseconds.
    #[error("{0:?} is too long a duration")]
    TooLong(String),
}

impl DurationMs {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// From milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// From seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// Whole milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// This without so much, or nothing.
    #[must_use]
    pub const fn less(self, less: Self) -> Self {
        Self(self.0.saturating_sub(less.0))
    }

    /// As the standard library's type.
    pub const fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0)
    }

    fn as_micros(self) -> i64 {
        i64::try_from(self.0.saturating_mul(1000)).unwrap_or(i64::MAX)
    }
}

impl fmt::Display for DurationMs {
    /// The two largest units, as a person says it: `1h05m`, `2m03s`, `4.5s`, `120ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secs = self.0 / 1000;
        match self.0 {
            0 => f.write_str("0s"),
            1..1000 => write!(f, "{}ms", self.0),
            1000..60_000 if self.0.is_multiple_of(1000) => write!(f, "{secs}s"),
            1000..60_000 => write!(f, "{secs}.{}s", self.0 % 1000 / 100),
            60_000..3_600_000 if secs.is_multiple_of(60) => write!(f, "{}m", secs / 60),
            60_000..3_600_000 => write!(f, "{}m{:02}s", secs / 60, secs % 60),
            3_600_000..172_800_000 if secs % 3600 < 60 => write!(f, "{}h", secs / 3600),
            3_600_000..172_800_000 => write!(f, "{}h{:02}m", secs / 3600, secs / 60 % 60),
            _ => write!(f, "{}d", secs / 86_400),
        }
    }
}

impl FromStr for DurationMs {
    type Err = InvalidDuration;

    fn from_str(text: &str) -> Result<Self, InvalidDuration> {
        let short: String = text.chars().take(40).collect();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        if number.is_empty() {
            return Err(InvalidDuration::Malformed(short));
        }
        let factor = match unit {
            "" => return Err(InvalidDuration::WithoutUnit(short)),
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(InvalidDuration::Malformed(short)),
        };
        number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(factor))
            .map(Self)
            .ok_or(InvalidDuration::TooLong(short))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_read_and_write_as_the_contract_says() {
        for (text, out) in [
            ("2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z"),
            ("2026-01-01T12:00:00.123Z", "2026-01-01T12:00:00.123000Z"),
            ("2026-01-01T14:00:00.000001+02:00", "2026-01-01T12:00:00.000001Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
            ("9999-12-30T22:00:00.000Z", "9999-12-30T22:00:00Z"),
        ] {
            assert_eq!(text.parse::<Timestamp>().map(|t| t.to_string()), Ok(out.to_owned()));
        }
        for bad in [
            "",
            "2026-01-01",
            "2026-01-01T12:00:00",
            "2026-01-01 12:00:00Z",
            "2026-01-01T12:00:00.Z",
            "2026-01-01T12:00:00.1234567Z",
            "2026-01-01T12:00:60Z",
            "2026-02-30T12:00:00Z",
            "2026-01-01T25:00:00Z",
            "2026-01-01T12:00:00Z[UTC]",
            "2026-01-01T12:00:00+24:00",
            "2026-01-01T12:00:00-23:60",
            "+002026-01-01T12:00:00Z",
        ] {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!("90s".parse(), Ok(DurationMs::from_secs(90)));
        assert_eq!("0ms".parse(), Ok(DurationMs::ZERO));
        let error = "60".parse::<DurationMs>().expect_err("no unit").to_string();
        assert_eq!(error, "60 what? write 60s, 60ms, 60m or 60h");
        for bad in ["", "s", "-1s", "1.5s", "1 s", "1w", "99999999999999999999d"] {
            assert!(bad.parse::<DurationMs>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn durations_are_said_in_two_units() {
        for (millis, text) in [
            (0, "0s"),
            (120, "120ms"),
            (4500, "4.5s"),
            (60_000, "1m"),
            (123_000, "2m03s"),
            (3_900_000, "1h05m"),
            (259_200_000, "3d"),
        ] {
            assert_eq!(DurationMs::from_millis(millis).to_string(), text);
        }
    }
}
