//! `help TOPIC`: what is about no single command.

/// A word behind `help`, and its text.
pub const TOPICS: [(&str, &str); 3] = [
    ("keys", include_str!("help/keys.txt")),
    ("unknown", include_str!("help/unknown.txt")),
    ("ledgers", include_str!("help/ledgers.txt")),
];

/// The text of a topic; none where it is none.
pub(super) fn topic(word: &str) -> Option<&'static str> {
    TOPICS.iter().find(|(name, _)| *name == word).map(|(_, text)| *text)
}
