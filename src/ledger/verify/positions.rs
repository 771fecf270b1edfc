//! A set of positions in the ledger, one bit each where they lie close together.

use std::collections::BTreeMap;

const BITS: i64 = 4096;

/// Which rows are accounted for. A million of them in a row take 125 kB; a forged position costs
/// half a kilobyte, wherever it is.
#[derive(Default)]
pub(super) struct Positions {
    chunks: BTreeMap<i64, [u64; 64]>,
    count: u64,
}

impl Positions {
    pub(super) fn insert(&mut self, position: i64) {
        let (chunk, word, bit) = place(position);
        let word = &mut self.chunks.entry(chunk).or_insert([0; 64])[word];
        self.count += u64::from(*word & bit == 0);
        *word |= bit;
    }

    pub(super) fn contains(&self, position: i64) -> bool {
        let (chunk, word, bit) = place(position);
        self.chunks.get(&chunk).is_some_and(|words| words[word] & bit != 0)
    }

    /// How many there are.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }
}

fn place(position: i64) -> (i64, usize, u64) {
    let within = usize::try_from(position.rem_euclid(BITS)).expect("BUG: less than 4096");
    (position.div_euclid(BITS), within / 64, 1 << (within % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_is_one_of_its_own() {
        let some = [i64::MIN, -4097, -1, 0, 1, 63, 64, 4095, 4096, 1_000_000, i64::MAX];
        let mut set = Positions::default();
        for (at, position) in some.into_iter().enumerate() {
            assert!(!set.contains(position), "{position}");
            set.insert(position);
            set.insert(position);
            assert_eq!(set.count(), at as u64 + 1);
        }
        assert!(some.into_iter().all(|position| set.contains(position)));
    }
}
