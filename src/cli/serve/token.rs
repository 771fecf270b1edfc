//! The token that a client shows, where the server is reached from elsewhere.
//!
//! Never printed, and compared in a time that says nothing about it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use axum::http::{HeaderMap, header};

use crate::cli::fault::Fault;
use crate::cli::problem::Problem;
use crate::domain::digest::sha256_hex;
use crate::files::read_settings;

/// Shorter ones are guessed, and longer ones are no tokens.
const BYTES: std::ops::RangeInclusive<usize> = 16..=4096;

/// What must be shown. Only its hash is kept.
pub(super) struct Token(String);

impl Token {
    /// The token in a file: its one line.
    pub(super) fn read(file: &Path) -> Result<Self, Fault> {
        let name = file.display();
        let refuse = |why: String| {
            Fault::from(
                Problem::usage("token_unusable", format!("--token-file {name}: {why}"))
                    .hint("write 16 or more letters, digits and signs in one line, such as from")
                    .run(["openssl", "rand", "-hex", "32"].map(str::to_owned).to_vec()),
            )
        };
        let bytes = read_settings(file).map_err(|error| refuse(error.to_string()))?;
        let token = bytes.trim_ascii();
        if !BYTES.contains(&token.len()) {
            return Err(refuse(format!("it has {} bytes", token.len())));
        }
        if !token.iter().all(u8::is_ascii_graphic) {
            return Err(refuse("it has other characters than visible ASCII".to_owned()));
        }
        Ok(Self(sha256_hex(token)))
    }

    /// What is to be said of a file that everybody on the host may read. It is said and not
    /// refused, because secrets are often mounted so.
    pub(super) fn warning(file: &Path) -> Option<String> {
        let mode = std::fs::metadata(file).ok()?.permissions().mode();
        let name = file.display();
        (mode & 0o004 != 0)
            .then(|| format!("warning: everybody on this host may read {name}: chmod o-r {name}"))
    }

    /// Whether a request shows it: `Authorization: Bearer TOKEN`.
    pub(super) fn is_shown(&self, headers: &HeaderMap) -> bool {
        let mut all = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(only), None) = (all.next(), all.next()) else { return false };
        let (scheme, token) = only.as_bytes().split_at(only.len().min(7));
        // Two hashes of one length are compared as a whole, whatever was shown.
        let shown = sha256_hex(token.trim_ascii());
        let differing = shown.bytes().zip(self.0.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
        scheme.eq_ignore_ascii_case(b"bearer ") && differing == 0
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = Token(sha256_hex(b"0123456789abcdef"));
        let shows = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, HeaderValue::from_str(value).expect("text"));
            }
            token.is_shown(&headers)
        };
        assert!(shows(&["Bearer 0123456789abcdef"]));
        assert!(shows(&["bearer 0123456789abcdef"]));
        for not in ["", "Bearer", "Bearer ", "Bearer 0123456789abcde", "0123456789abcdef"] {
            assert!(!shows(&[not]), "{not}");
        }
        assert!(!shows(&["Basic 0123456789abcdef"]));
        assert!(!shows(&["Bearer 0123456789abcdef0"]));
        assert!(!shows(&[]));
        assert!(!shows(&["Bearer 0123456789abcdef", "Bearer 0123456789abcdef"]));
    }
}
