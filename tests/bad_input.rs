//! Bad input: documents, lines and ledgers that are refused, with a word, and with nothing written.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod documents;
mod ledgers;
mod lines;
