//! Measured numbers: what a signal, a target or a price is said in.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A measured number: finite. Two are equal where their bits are; minus zero is zero.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Measure(f64);

/// A number that nobody can have measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a finite number")]
pub struct NotFinite;

impl Measure {
    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Measure {
    type Error = NotFinite;
    fn try_from(value: f64) -> Result<Self, NotFinite> {
        // The sum turns minus zero into zero.
        if value.is_finite() { Ok(Self(value + 0.0)) } else { Err(NotFinite) }
    }
}

impl From<Measure> for f64 {
    fn from(measure: Measure) -> f64 {
        measure.0
    }
}

impl FromStr for Measure {
    type Err = NotFinite;
    fn from_str(text: &str) -> Result<Self, NotFinite> {
        text.parse::<f64>().map_err(|_| NotFinite)?.try_into()
    }
}

impl PartialEq for Measure {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Measure {}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finite_numbers_are_measured_and_they_come_back_as_they_were() {
        for text in ["0", "-0.0", "0.1", "1e-9", "3.141592653589793", "1e12", "-7.25"] {
            let measure: Measure = text.parse().expect("BUG: finite");
            let stored = serde_json::to_string(&measure).expect("BUG: is JSON");
            assert_eq!(serde_json::from_str::<Measure>(&stored).expect("own text"), measure);
        }
        assert_eq!("-0".parse::<Measure>(), "0".parse());
        for text in ["NaN", "inf", "-inf", "1e999", "", "1,5", "0x10"] {
            assert_eq!(text.parse::<Measure>(), Err(NotFinite), "{text}");
        }
    }
}
