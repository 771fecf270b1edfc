//! What an actuator wrote for people: kept on this host, bounded, beside the call files.
//!
//! It is no part of the ledger: losing it loses nothing but words.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use super::session::Session;
use crate::domain::scale::attempt::Call;

impl Session {
    fn stderr_path(&self, call_id: &str) -> PathBuf {
        self.place.state_dir.join("stderr").join(call_id)
    }

    /// Keeps what a call wrote to stderr. A failure to keep it is only said.
    pub(crate) fn keep_stderr(&mut self, call: &Call, text: &str) {
        let path = self.stderr_path(call.call_id.as_str());
        let kept = path
            .parent()
            .map_or(Ok(()), |dir| fs::DirBuilder::new().recursive(true).mode(0o700).create(dir));
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

    /// What a call of this host wrote to stderr, if it is still there.
    pub fn kept_stderr(&self, call_id: &str) -> Option<String> {
        fs::read(self.stderr_path(call_id))
            .ok()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}
