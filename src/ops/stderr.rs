//! What an actuator wrote for people: kept on this host, bounded, beside the call files.
//!
//! It is no part of the ledger: losing it loses nothing but words.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use super::clock::Clock;
use super::session::Session;
use crate::domain::scale::attempt::Call;
use crate::domain::time::DurationMs;
use crate::files;

/// How long the words are kept: long enough for somebody who comes back after a weekend.
const STDERR_AGE: DurationMs = DurationMs::from_secs(7 * 86_400);

impl Session {
    fn stderr_path(&self, call_id: &str) -> PathBuf {
        self.place.state_dir.join("stderr").join(call_id)
    }

    /// Keeps what a call wrote to stderr. A failure to keep it is only said.
    pub(crate) fn keep_stderr(&mut self, call: &Call, text: &str) {
        let path = self.stderr_path(call.call_id.as_str());
        let kept = path.parent().map_or(Ok(()), files::make_private_dirs);
        let kept = kept.and_then(|()| {
            let mut options = fs::OpenOptions::new();
            let mut file =
                options.write(true).create(true).truncate(true).mode(0o600).open(&path)?;
            file.write_all(text.as_bytes())
        });
        if let Err(error) = kept {
            self.notice("stderr_not_kept", format!("the actuator's stderr was not kept: {error}"));
        }
    }

    /// Removes what nobody has asked for in a long time. What cannot be removed stays.
    pub(crate) fn sweep_stderr(&self) {
        let until = Clock::system().now().minus(STDERR_AGE).as_micros() / 1_000_000;
        let Ok(entries) = fs::read_dir(self.place.state_dir.join("stderr")) else {
            return;
        };
        for entry in entries.flatten() {
            if entry.metadata().is_ok_and(|found| found.is_file() && found.mtime() < until) {
                drop(fs::remove_file(entry.path()));
            }
        }
    }

    /// What a call of this host wrote to stderr, if it is still there.
    pub fn kept_stderr(&self, call_id: &str) -> Option<String> {
        fs::read(self.stderr_path(call_id))
            .ok()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}
