//! Counts in words, for every text that a person reads.

use std::fmt::Display;

/// `1 service`, `2 services`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) { format!("{count} {noun}") } else { format!("{count} {noun}s") }
}

/// The same where the word has a plural of its own, or a verb follows: `1 rule differs`.
pub fn number<N: Copy + Display + PartialEq + From<u8>>(count: N, one: &str, more: &str) -> String {
    if count == N::from(1) { format!("{count} {one}") } else { format!("{count} {more}") }
}

/// How many replicas run: `1 runs`, `2 run`.
pub fn runs<N: Copy + Display + PartialEq + From<u8>>(count: N) -> String {
    number(count, "runs", "run")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one_and_everything_else_is_more() {
        assert_eq!(counted(0_u64, "key"), "0 keys");
        assert_eq!(counted(1_usize, "key"), "1 key");
        assert_eq!(counted(2_u64, "key"), "2 keys");
        assert_eq!(number(1_u64, "rule differs", "rules differ"), "1 rule differs");
        assert_eq!(number(3_u64, "rule differs", "rules differ"), "3 rules differ");
    }
}
