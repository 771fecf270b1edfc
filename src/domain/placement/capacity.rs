//! Capacity: how much of what. A sum never wraps, and what is missing is never taken for zero.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::domain::id::{Amount, NUMBER_MAX};

/// What can be short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// Computing time, in thousandths of a core.
    CpuMillicores,
    /// Memory, in bytes.
    MemoryBytes,
    /// Storage, in bytes.
    StorageBytes,
}

impl Axis {
    /// Every axis, in the order in which they are told.
    pub const ALL: [Self; 3] = [Self::CpuMillicores, Self::MemoryBytes, Self::StorageBytes];

    /// The word for people, and in an amount that they write.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CpuMillicores => "cpu",
            Self::MemoryBytes => "memory",
            Self::StorageBytes => "storage",
        }
    }

    /// A number of it, with its unit: the largest one that says it exactly.
    pub fn shown(self, number: u128) -> String {
        match self {
            Self::CpuMillicores if number > 0 && number.is_multiple_of(1000) => {
                (number / 1000).to_string()
            }
            Self::CpuMillicores => format!("{number}m"),
            Self::MemoryBytes | Self::StorageBytes => {
                let (unit, word) = UNITS
                    .into_iter()
                    .rev()
                    .find(|(unit, _)| number >= *unit && number.is_multiple_of(*unit))
                    .unwrap_or((1, "B"));
                format!("{}{word}", number / unit)
            }
        }
    }
}

const UNITS: [(u128, &str); 5] =
    [(1, "B"), (1 << 10, "KiB"), (1 << 20, "MiB"), (1 << 30, "GiB"), (1 << 40, "TiB")];

/// An amount on every axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Amounts {
    /// Computing time, in thousandths of a core.
    pub cpu_millicores: Amount,
    /// Memory, in bytes.
    pub memory_bytes: Amount,
    /// Storage, in bytes.
    pub storage_bytes: Amount,
}

/// Why a text is no amount of everything.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAmounts {
    /// A word that names no axis, or no value.
    #[error("{0:?} is not AXIS=AMOUNT: cpu=500m,memory=512MiB,storage=10GiB")]
    Malformed(String),
    /// One axis twice.
    #[error("{0} is named twice")]
    Twice(&'static str),
    /// What is not named is not taken for zero.
    #[error("{0} is not named: write cpu=…,memory=…,storage=…, each with 0 where none is meant")]
    Missing(&'static str),
    /// Not a whole number with a unit.
    #[error("{value:?} is no amount of {axis}: {expected}")]
    Value {
        /// The axis.
        axis: &'static str,
        /// What was written.
        value: String,
        /// What could be written.
        expected: &'static str,
    },
}

impl Amounts {
    /// Nothing of anything.
    pub const ZERO: Self =
        Self { cpu_millicores: Amount::MIN, memory_bytes: Amount::MIN, storage_bytes: Amount::MIN };

    /// How much of one axis.
    pub const fn of(self, axis: Axis) -> u64 {
        match axis {
            Axis::CpuMillicores => self.cpu_millicores.get(),
            Axis::MemoryBytes => self.memory_bytes.get(),
            Axis::StorageBytes => self.storage_bytes.get(),
        }
    }

    /// Each axis by itself.
    fn each(number: impl Fn(Axis) -> u64) -> Self {
        let amount = |axis| Amount::new(number(axis).min(NUMBER_MAX)).unwrap_or(Amount::MAX);
        Self {
            cpu_millicores: amount(Axis::CpuMillicores),
            memory_bytes: amount(Axis::MemoryBytes),
            storage_bytes: amount(Axis::StorageBytes),
        }
    }

    /// Both together; an axis on which that is too much for a number has the largest one, so that
    /// it fits nowhere.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self::each(|axis| self.of(axis).saturating_add(other.of(axis)))
    }

    /// What this is more than another, axis by axis.
    #[must_use]
    pub fn beyond(self, other: Self) -> Self {
        Self::each(|axis| self.of(axis).saturating_sub(other.of(axis)))
    }

    /// The storage alone.
    #[must_use]
    pub const fn storage_alone(self) -> Self {
        Self { cpu_millicores: Amount::MIN, memory_bytes: Amount::MIN, ..self }
    }

    /// The first axis on which this is less than another.
    pub fn first_below(self, other: Self) -> Option<Axis> {
        Axis::ALL.into_iter().find(|axis| self.of(*axis) < other.of(*axis))
    }
}

impl fmt::Display for Amounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, axis) in Axis::ALL.into_iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{}={}", axis.as_str(), axis.shown(u128::from(self.of(axis))))?;
        }
        Ok(())
    }
}

impl FromStr for Amounts {
    type Err = InvalidAmounts;

    fn from_str(text: &str) -> Result<Self, InvalidAmounts> {
        let mut named: [Option<Amount>; 3] = [None; 3];
        for word in text.split(',') {
            let malformed = || InvalidAmounts::Malformed(word.chars().take(80).collect());
            let (name, value) = word.trim().split_once('=').ok_or_else(malformed)?;
            let axis = Axis::ALL.into_iter().position(|axis| axis.as_str() == name);
            let at = axis.ok_or_else(malformed)?;
            if named[at].is_some() {
                return Err(InvalidAmounts::Twice(Axis::ALL[at].as_str()));
            }
            named[at] = Some(amount(Axis::ALL[at], value)?);
        }
        let of = |at: usize| named[at].ok_or(InvalidAmounts::Missing(Axis::ALL[at].as_str()));
        Ok(Self { cpu_millicores: of(0)?, memory_bytes: of(1)?, storage_bytes: of(2)? })
    }
}

/// Reads one amount with its unit.
fn amount(axis: Axis, value: &str) -> Result<Amount, InvalidAmounts> {
    let expected = match axis {
        Axis::CpuMillicores => "whole cores, such as 2, or thousandths of one, such as 500m",
        Axis::MemoryBytes | Axis::StorageBytes => {
            "a whole number and one of B, KiB, MiB, GiB, TiB, such as 512MiB"
        }
    };
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = value.split_at(digits);
    let factor = match (axis, unit) {
        (Axis::CpuMillicores, "") => Some(1000),
        (Axis::CpuMillicores, "m") => Some(1),
        (Axis::CpuMillicores, _) => None,
        // Kubernetes leaves the B out. Nothing of nothing needs no unit.
        (Axis::MemoryBytes | Axis::StorageBytes, "") if number == "0" => Some(1),
        (Axis::MemoryBytes | Axis::StorageBytes, unit) => UNITS
            .into_iter()
            .find(|(size, word)| {
                *word == unit || (*size > 1 && word.strip_suffix('B') == Some(unit))
            })
            .map(|(size, _)| size),
    };
    let number = number.parse::<u128>().ok().zip(factor);
    let number = number.and_then(|(number, factor)| number.checked_mul(factor));
    let number = number.and_then(|number| u64::try_from(number).ok());
    number.and_then(|number| Amount::new(number).ok()).ok_or_else(|| InvalidAmounts::Value {
        axis: axis.as_str(),
        value: value.chars().take(80).collect(),
        expected,
    })
}

/// A sum of amounts, which no number of them makes wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals([u128; 3]);

impl Totals {
    /// How much of one axis.
    pub const fn of(self, axis: Axis) -> u128 {
        match axis {
            Axis::CpuMillicores => self.0[0],
            Axis::MemoryBytes => self.0[1],
            Axis::StorageBytes => self.0[2],
        }
    }

    /// Adds an amount.
    pub fn add(&mut self, amounts: Amounts) {
        for (at, axis) in Axis::ALL.into_iter().enumerate() {
            self.0[at] = self.0[at].saturating_add(u128::from(amounts.of(axis)));
        }
    }

    /// What is left of a capacity beside this.
    pub fn left_of(self, capacity: Amounts) -> Amounts {
        Amounts::each(|axis| {
            let left = u128::from(capacity.of(axis)).saturating_sub(self.of(axis));
            u64::try_from(left).unwrap_or(NUMBER_MAX)
        })
    }

    /// The sum as an amount; what is too much for a number is the largest one, and fits nowhere.
    pub fn whole(self) -> Amounts {
        Amounts::each(|axis| u64::try_from(self.of(axis)).unwrap_or(NUMBER_MAX))
    }

    /// The axes on which so much more does not fit into a capacity.
    pub fn shortages(self, more: Amounts, capacity: Amounts) -> Vec<Shortage> {
        let short = Axis::ALL.into_iter().filter_map(|axis| {
            let (needed, capacity) = (more.of(axis), u128::from(capacity.of(axis)));
            let missing = (self.of(axis) + u128::from(needed)).saturating_sub(capacity);
            let free = u64::try_from(capacity.saturating_sub(self.of(axis))).unwrap_or(NUMBER_MAX);
            // What takes nothing of an axis does not need any.
            (missing > 0 && needed > 0).then_some(Shortage {
                axis,
                needed,
                free,
                missing: needed.saturating_sub(free),
            })
        });
        short.collect()
    }

    /// How full a capacity is on its fullest axis, in millionths; all of it where there is none.
    pub fn fullness(self, capacity: Amounts) -> u128 {
        let parts = Axis::ALL.into_iter().map(|axis| match capacity.of(axis) {
            0 if self.of(axis) == 0 => 0,
            0 => u128::MAX,
            whole => self.of(axis).saturating_mul(1_000_000) / u128::from(whole),
        });
        parts.max().unwrap_or(0)
    }
}

/// What is missing of one axis in one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Shortage {
    /// The axis.
    pub axis: Axis,
    /// How much more is asked for.
    pub needed: u64,
    /// How much is free.
    pub free: u64,
    /// How much is missing.
    pub missing: u64,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |number: u64| self.axis.shown(u128::from(number));
        write!(
            f,
            "{} of {} missing ({} needed, {} free)",
            shown(self.missing),
            self.axis.as_str(),
            shown(self.needed),
            shown(self.free)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(text: &str) -> Amounts {
        text.parse().expect("amounts")
    }

    #[test]
    fn amounts_read_as_they_are_written() {
        for text in [
            "cpu=500m,memory=512MiB,storage=10GiB",
            "cpu=2,memory=1B,storage=3TiB",
            "cpu=0m,memory=0B,storage=9007199254740991B",
        ] {
            assert_eq!(amounts(text).to_string(), text);
        }
        let same = amounts("storage=10Gi, cpu=500m, memory=524288Ki");
        assert_eq!(same, amounts("cpu=500m,memory=512MiB,storage=10GiB"));
    }

    #[test]
    fn what_is_no_amount_is_refused_with_what_could_be_written() {
        for (text, said) in [
            ("", "is not AXIS=AMOUNT"),
            ("cpu", "is not AXIS=AMOUNT"),
            ("disk=1GiB", "is not AXIS=AMOUNT"),
            ("cpu=1,cpu=1,memory=1B,storage=1B", "cpu is named twice"),
            ("cpu=1,memory=1GiB", "storage is not named"),
            ("cpu=1.5,memory=1B,storage=1B", "\"1.5\" is no amount of cpu"),
            ("cpu=1,memory=1,storage=1B", "\"1\" is no amount of memory"),
            ("cpu=1,memory=1GB,storage=1B", "\"1GB\" is no amount of memory"),
            ("cpu=-1,memory=1B,storage=1B", "\"-1\" is no amount of cpu"),
            ("cpu=1,memory=9007199254740992B,storage=1B", "is no amount of memory"),
            ("cpu=1,memory=99999999999999999999999999999999999999TiB,storage=0", "no amount of"),
        ] {
            let error = text.parse::<Amounts>().expect_err(text).to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_sum_never_wraps_and_says_what_is_missing() {
        let most = Amounts::each(|_| NUMBER_MAX);
        assert_eq!(most.plus(most), most);
        let mut total = Totals::default();
        for _ in 0..10_000 {
            total.add(most);
        }
        assert_eq!(total.of(Axis::MemoryBytes), u128::from(NUMBER_MAX) * 10_000);
        assert_eq!(total.left_of(most), Amounts::ZERO);
        let capacity = amounts("cpu=4,memory=8GiB,storage=100GiB");
        let mut used = Totals::default();
        used.add(amounts("cpu=3,memory=7GiB,storage=10GiB"));
        let more = amounts("cpu=1,memory=2GiB,storage=1GiB");
        let short: Vec<String> =
            used.shortages(more, capacity).iter().map(Shortage::to_string).collect();
        assert_eq!(short, ["1GiB of memory missing (2GiB needed, 1GiB free)"]);
        assert_eq!(used.left_of(capacity), amounts("cpu=1,memory=1GiB,storage=90GiB"));
        assert!(used.shortages(Amounts::ZERO, Amounts::ZERO).is_empty());
    }
}
